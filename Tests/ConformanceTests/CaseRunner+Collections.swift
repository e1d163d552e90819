/// Steps of sets, maps, embedded objects, and lists and maps inside mixed values.
///
/// Lists of properties and nested ones take the same words; `EditedList` is either.
import MotteLiveObjects
import MotteSchemaModel
import MotteStorage
import MotteValues

/// A list that can be changed.
enum EditedList: CaseList {
    case stored(LiveList)
    case nested(LiveNested)

    init(_ collection: LiveCollection) throws {
        if let list = collection as? LiveList {
            self = .stored(list)
        } else if let list = collection as? LiveNested, !list.isMap {
            self = .nested(list)
        } else {
            throw CaseFailure("this is no list")
        }
    }

    func count() throws -> Int {
        switch self {
        case .stored(let list): try list.count()
        case .nested(let list): try list.count()
        }
    }

    func insert(_ values: [ValueView], at index: Int) throws {
        switch self {
        case .stored(let list):
            if values.count == 1 {
                try list.insert(values[0], at: index)
            } else {
                try list.splice(at: index, removing: 0, inserting: values)
            }
        case .nested(let list):
            for (offset, value) in values.enumerated() { try list.insert(value.owned, at: index + offset) }
        }
    }

    func set(_ index: Int, to value: ValueView) throws {
        switch self {
        case .stored(let list): try list.set(index, to: value)
        case .nested(let list): try list.set(index, to: value.owned)
        }
    }

    func remove(at index: Int, count: Int) throws {
        switch self {
        case .stored(let list): try list.remove(at: index, count: count)
        case .nested(let list): try list.remove(at: index, count: count)
        }
    }

    func move(from index: Int, to target: Int) throws {
        switch self {
        case .stored(let list): try list.move(from: index, to: target)
        case .nested(let list): try list.move(from: index, to: target)
        }
    }

    func swap(_ index: Int, _ other: Int) throws {
        switch self {
        case .stored(let list): try list.swap(index, other)
        case .nested(let list):
            try list.move(from: min(index, other), to: max(index, other))
            if abs(index - other) > 1 { try list.move(from: max(index, other) - 1, to: min(index, other)) }
        }
    }

    func splice(at index: Int, removing count: Int, inserting values: [ValueView]) throws {
        switch self {
        case .stored(let list): try list.splice(at: index, removing: count, inserting: values)
        case .nested(let list):
            try insert(values, at: index)
            if count > 0 { try list.remove(at: index + values.count, count: count) }
        }
    }
}

extension CaseRunner {
    func stepOfCollections(_ input: inout CaseCursor) throws -> Bool {
        if input.accept("add") {
            try add(&input)
        } else if input.accept("discard") {
            let set = try needSet(&input)
            try expectOutcome(&input, try driver.remove(set, try input.needValue(resolve)))
        } else if input.accept("unite") {
            try combine(&input) { try driver.unite($0, $1) }
        } else if input.accept("intersect") {
            try combine(&input) { try driver.intersect($0, $1) }
        } else if input.accept("subtract") {
            try combine(&input) { try driver.subtract($0, $1) }
        } else if input.accept("differ") {
            try combine(&input) { try $0.formSymmetricDifference($1) }
        } else if input.accept("assign") {
            let collection = try needCollection(&input)
            guard case .list(let values) = try input.needLiteral(resolve) else { throw CaseFailure("expected a list") }
            try driver.assign(collection, values)
        } else if input.accept("put") {
            try put(&input)
        } else if input.accept("drop") {
            try drop(&input)
        } else if input.accept("embed") {
            try embed(&input)
        } else if input.accept("clear") {
            try driver.clear(try needCollection(&input))
        } else {
            return false
        }
        return true
    }

    /// `yes` or `no` behind a step, where it is there: whether something changed.
    private func expectOutcome(_ input: inout CaseCursor, _ changed: Bool) throws {
        if !input.isAtEnd() { try expectFlag(&input, changed) }
    }

    // MARK: Sets

    func needSet(_ input: inout CaseCursor) throws -> LiveSet {
        guard let set = try needCollection(&input) as? LiveSet else { throw CaseFailure("this is no set") }
        return set
    }

    private func add(_ input: inout CaseCursor) throws {
        let set = try needSet(&input)
        switch try input.needLiteral(resolve) {
        case .single(let value): try expectOutcome(&input, try driver.add(set, [value]) == 1)
        case .list(let values):
            let added = try driver.add(set, values)
            if !input.isAtEnd(), try input.needInteger() != Int64(added) { throw CaseFailure("\(added) were new") }
        }
    }

    private func combine(_ input: inout CaseCursor, _ change: (LiveSet, LiveCollection) throws -> Void) throws {
        let set = try needSet(&input)
        try input.need("with")
        try change(set, try needCollection(&input))
    }

    func expectRelation(_ input: inout CaseCursor, _ relation: LiveSet.Relation) throws {
        let set = try needSet(&input)
        try input.need("of")
        let actual = try driver.relation(set, try needCollection(&input))
        try expectFlag(&input, actual.contains(relation))
    }

    // MARK: Maps

    private func key(_ input: inout CaseCursor) throws -> UnsafeRawBufferPointer {
        let key = try input.needValue(resolve)
        guard key.kind == .string else { throw CaseFailure("expected a key") }
        return key.bytes
    }

    private func put(_ input: inout CaseCursor) throws {
        let collection = try needCollection(&input)
        let first = try input.needValue(resolve)
        if first.kind == .map {
            let document = NestedDocument(trusted: first.bytes)
            let entries = (0 ..< document.count).map { (key: document.key(at: $0), value: document.value(at: $0)) }
            if let map = collection as? LiveMap { return try map.putMany(entries) }
            for entry in entries { _ = try put(entry.key, entry.value, in: collection) }
            return
        }
        let isNew = try put(first.bytes, try input.needValue(resolve), in: collection)
        try expectOutcome(&input, isNew)
    }

    private func put(
        _ key: UnsafeRawBufferPointer, _ value: ValueView, in collection: LiveCollection
    ) throws -> Bool {
        if let map = collection as? LiveMap { return try driver.put(map, key, value) }
        guard let map = collection as? LiveNested, map.isMap else { throw CaseFailure("this is no map") }
        let isNew = try map.position(of: key) == nil
        try map.put(String(decoding: key, as: UTF8.self), value.owned)
        return isNew
    }

    private func drop(_ input: inout CaseCursor) throws {
        let collection = try needCollection(&input)
        let key = try key(&input)
        if let map = collection as? LiveMap { return try expectOutcome(&input, try driver.remove(map, key)) }
        guard let map = collection as? LiveNested, map.isMap else { throw CaseFailure("this is no map") }
        try expectOutcome(&input, try map.remove(String(decoding: key, as: UTF8.self)))
    }

    func expectKey(_ input: inout CaseCursor) throws {
        let key = try key(&input)
        try input.need("in")
        switch try needCollection(&input) {
        case let map as LiveMap: try expectFlag(&input, try driver.has(map, key))
        case let map as LiveNested: try expectFlag(&input, try map.position(of: key) != nil)
        default: throw CaseFailure("this is no map")
        }
    }

    /// A map as one value, from its keys and values; nil for other collections.
    func entries(_ collection: LiveCollection) throws -> Value? {
        guard collection.kind == .map || collection.kind == .nestedMap else { return nil }
        return .map(try driver.entries(collection))
    }

    // MARK: Nested

    /// What follows `at`: a position or a key.
    func nested(_ input: inout CaseCursor, in collection: LiveCollection) throws -> LiveNested {
        let place = try input.needKey(resolve)
        let index: Int
        if place.kind == .string {
            let position: Int?
            switch collection {
            case let map as LiveMap: position = try map.position(of: place.bytes)
            case let map as LiveNested: position = try map.position(of: place.bytes)
            default: throw CaseFailure("this is no map")
            }
            guard let position else { throw CaseFailure("there is no such key") }
            index = position
        } else {
            index = Int(place.intValue)
        }
        let found: LiveNested?
        switch collection {
        case let elements as LiveElements: found = try elements.nested(at: index)
        case let nested as LiveNested: found = try nested.nested(at: index)
        default: found = nil
        }
        guard let found else { throw DatabaseError(.wrongType, "there is no list or map there") }
        return found
    }

    // MARK: Embedded objects

    /// `embed [@name] OBJECT.property [insert i | replace i | key "k"] a=1`
    private func embed(_ input: inout CaseCursor) throws {
        var name: String?
        let start = input
        if input.accept("@") {
            name = try input.needName()
            // `@owner.home`: this was the owner.
            if input.accept(".") {
                input = start
                name = nil
            }
        }
        let owner = try needObject(&input)
        try input.need(".")
        let property = try property(try objectType(owner), try input.needName())
        guard let column = property.columnKey else { throw CaseFailure("\(property.name) has no column") }
        let made: LiveObject
        if input.accept("insert") {
            made = try owner.list(column).embeddedInsert(at: Int(try input.needInteger()))
        } else if input.accept("replace") {
            made = try owner.list(column).embeddedSet(at: Int(try input.needInteger()))
        } else if input.accept("key") {
            made = try owner.map(column).embeddedPut(try key(&input))
        } else {
            made = try owner.embeddedPut(column)
        }
        let given = try assignments(&input, try objectType(made))
        try given.values.withUnsafeBufferPointer { buffer in try made.setMany(given.columns, values: buffer) }
        if let name { objects[name] = made }
    }

    func expectParent(_ input: inout CaseCursor) throws {
        let place = try needObject(&input).embeddedPlace()
        try expectEqual(&input, .single(place.map { .link($0.owner.link) } ?? .null))
    }
}
