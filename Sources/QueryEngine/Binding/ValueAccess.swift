/// A value inside a property: an entry of a map, an element of a list, or what a mixed value holds at some depth.
///
///     prices['low']     entry of a map
///     tags[0]           element of a list or set
///     any['a'][1]       a step at a time into a mixed value; `[*]` takes every element or value
///     any.@count        how many a nested list or map has; null for what is neither
///     any.@type         what kind of value it is, as text
import MotteColumns
import MotteSchemaModel
import MotteValues

package struct ValueAccess: Sendable {
    package enum Start: Sendable {
        /// The property's only value.
        case single
        /// Of a list or set; -1 is the last.
        case element(Int)
        /// Of a map, by the bytes of its key.
        case entry([UInt8])
        /// Every element of a list or set, every value of a map.
        case everything
    }

    package enum Step: Sendable {
        case key([UInt8])
        case index(Int)
        case all
    }

    package enum Measure: Sendable {
        case value, count, type
    }

    package var column: ColumnKey
    package var start: Start
    package var steps: [Step] = []
    package var measure = Measure.value
    /// Of the values before `measure`.
    package var type: PropertyType

    /// Whether there can be several values, or none.
    package var isMany: Bool {
        if case .everything = start { return true }
        return steps.contains { if case .all = $0 { true } else { false } }
    }

    /// What is compared.
    package var comparedType: PropertyType {
        switch measure {
        case .value: type
        case .count: .int
        case .type: .string
        }
    }
}

extension ValueAccess {
    /// Whether a null link on the way passes: as if there were null where it leads.
    func nullPasses(_ test: ColumnTest) -> Bool {
        // A collection behind a null link has no elements; below null there may be one null, or nothing.
        if case .everything = start { return false }
        var passes = false
        forEach(below: .null) {
            passes = test.holds($0)
            return false
        }
        return passes
    }

    /// What there is below `view`, one value after another, until `body` says that it is enough. Something that is not
    /// there is null, unless a step asks for all.
    func forEach(below view: ValueView, _ body: (ValueView) -> Bool) {
        _ = walk(view, steps[...], body)
    }

    /// false to stop.
    private func walk(_ view: ValueView, _ rest: ArraySlice<Step>, _ body: (ValueView) -> Bool) -> Bool {
        guard let step = rest.first else { return measured(view, body) }
        let document = Self.document(view)
        switch step {
        case .all:
            guard let document else { return true }
            for index in 0 ..< document.count where !walk(document.value(at: index), rest.dropFirst(), body) {
                return false
            }
            return true
        case .index(let index):
            guard let document, !document.isMap else { return walk(.null, [], body) }
            let place = index < 0 ? document.count + index : index
            guard place >= 0, place < document.count else { return walk(.null, [], body) }
            return walk(document.value(at: place), rest.dropFirst(), body)
        case .key(let key):
            guard let document, document.isMap else { return walk(.null, [], body) }
            let found = key.withBytes { document.find($0) }
            return found.isThere
                ? walk(document.value(at: found.index), rest.dropFirst(), body) : walk(.null, [], body)
        }
    }

    private static func document(_ view: ValueView) -> NestedDocument? {
        view.kind == .list || view.kind == .map ? NestedDocument(trusted: view.bytes) : nil
    }

    private func measured(_ view: ValueView, _ body: (ValueView) -> Bool) -> Bool {
        switch measure {
        case .value: return body(view)
        case .count: return body(Self.document(view).map { .int(Int64($0.count)) } ?? .null)
        case .type:
            let name = (view.kind ?? .null).name
            return name.withUTF8Bytes { body(.string($0)) }
        }
    }
}

extension BoundPath {
    /// Whether comparisons are about what it leads to, and not about an aggregate of it.
    func isRead(_ written: Predicate.Path) -> Bool {
        if case .access(let access) = end, access.measure == .count { return true }
        return written.collectionOperator == nil
    }
}

extension PathResolver {
    /// The end of a path with subscripts, or with `@keys`, `@values` or `@type`, on a property of `path.table`.
    func access(
        _ path: inout BoundPath, _ written: Predicate.Path, _ property: Property, _ column: ColumnKey
    ) throws(DatabaseError) {
        var access = ValueAccess(column: column, start: .single, type: property.type)
        var rest = written.subscripts[...]
        if let aspect = written.aspect, aspect != .type {
            guard aspect == .keys, rest.isEmpty, let keys = property.keyColumn else {
                throw refused("@\(aspect.rawValue) is for maps, \(path.name) is none", written)
            }
            path.end = .keys(column, keys)
            path.targetTable = nil
            return
        }
        if property.isCollection {
            switch try rest.first.map({ place throws(DatabaseError) in try step(place) }) {
            case .key(let key)?:
                guard property.isMap else {
                    throw refused("\(path.name) is a \(property.collection.name) and has no keys", written)
                }
                access.start = .entry(key)
            case .index(let index)?:
                guard !property.isMap else { throw refused("\(path.name) is a map; its keys are text", written) }
                access.start = .element(index)
            case .all?, nil: access.start = .everything
            }
            rest = rest.dropFirst()
        }
        if !rest.isEmpty, property.type != .mixed {
            throw refused("\(path.name) is \(property.type.name); only mixed values hold others", written)
        }
        for place in rest { access.steps.append(try step(place)) }
        if written.aspect == .type {
            access.measure = .type
        } else if written.collectionOperator == .count, property.type == .mixed {
            access.measure = .count
        }
        path.end = .access(access)
    }

    private func step(_ place: Predicate.Subscript) throws(DatabaseError) -> ValueAccess.Step {
        switch place {
        case .key(let key): return .key(Array(key.text.utf8))
        case .index(let index): return .index(index)
        case .all: return .all
        case .argument(let number, let position):
            switch try arguments.argument(number, at: position, in: source) {
            case .value(.string(let key)): return .key(Array(key.utf8))
            case .value(.int(let index)):
                guard let index = Int(exactly: index) else { break }
                return .index(index)
            default: break
            }
            throw source.error(.queryArgument, "argument $\(number) must be a key or an index", at: position)
        }
    }

    private func refused(_ why: String, _ written: Predicate.Path) -> DatabaseError {
        source.error(.queryInvalid, why, at: written.position)
    }
}
