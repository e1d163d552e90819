/// Queries asked of objects and values that are at hand, without a store: elements of unmanaged collections, and
/// `NSPredicate.evaluate(with:)`.
///
/// The answers are those of the engine for the same data. What cannot be compared is not equal; links are the same when
/// they are one object.
import Foundation
import MotteColumns
import MotteQueryEngine
import MotteValues

struct PredicateEvaluation {
    private let arguments: [Any?]
    /// Constants as the program gave them, by their positions.
    private let given: [Int: Any]
    private let now = Timestamp.now
    private let patterns = Patterns()
    /// What the variables of the subqueries around stand for.
    private var variables: [String: Any?] = [:]

    init(_ arguments: [Any?], given: [Int: Any] = [:]) {
        self.arguments = arguments
        self.given = given
    }

    func holds(_ predicate: QueryPredicate, for element: Any?) -> Bool {
        switch predicate {
        case .constant(let isTrue): isTrue
        case .not(let inner): !holds(inner, for: element)
        case .and(let parts): parts.allSatisfy { holds($0, for: element) }
        case .or(let parts): parts.contains { holds($0, for: element) }
        case .comparison(let comparison): holds(comparison, element)
        }
    }

    private func holds(_ comparison: QueryPredicate.Comparison, _ element: Any?) -> Bool {
        var right = values(comparison.right, element)
        let left = values(comparison.left, element)
        if case .path(let path) = comparison.left, path.aspect == .type {
            right = right.flatMap { name in
                (name as? String).flatMap { KindNames.kinds($0) }.map { $0.map { $0.name as Any? } } ?? [name]
            }
        }
        let passes = { (value: Any?) -> Bool in
            switch comparison.operator {
            case .in: right.contains { Self.compare(value, .equal, $0) }
            case .geoWithin: right.contains { Self.isPoint(value, within: $0) }
            case .between:
                right.count == 2 && Self.compare(value, .greaterOrEqual, right[0])
                    && Self.compare(value, .lessOrEqual, right[1])
            case .matches: right.contains { patterns.matches(value, $0, comparison.options) }
            default: right.contains { Self.matches(value, comparison.operator, $0, comparison.options) }
            }
        }
        guard case .path(let path) = comparison.left else { return left.contains(where: passes) }
        switch path.quantifier {
        case .all?: return left.allSatisfy(passes)
        case .none?: return !left.contains(where: passes)
        case .any?, nil: return left.contains(where: passes)
        }
    }

    // MARK: Operands

    /// One value, or those of a collection or list.
    private func values(_ operand: QueryPredicate.Operand, _ element: Any?) -> [Any?] {
        switch operand {
        case .constant(let value, let position):
            return [position.utf8Offset.flatMap { given[$0] } ?? AnyRealmValue.dynamicValue(of: value)]
        case .argument(let number, _):
            let argument = number < arguments.count ? arguments[number] : nil
            return Dynamic.elements(argument) ?? [argument]
        case .list(let elements, _): return elements.flatMap { values($0, element) }
        case .shape(let shape, _): return [shape]
        case .path(let path): return values(path, element)
        case .now: return [AnyRealmValue.dynamicValue(of: .timestamp(now))]
        case .arithmetic(let arithmetic):
            let result = Quantity.compute(
                quantity(arithmetic.left, element), arithmetic.operator, quantity(arithmetic.right, element))
            return [AnyRealmValue.dynamicValue(of: result.value)]
        case .subquery(let subquery):
            let candidates = values(subquery.collection, element)
            let count = candidates.count { candidate in
                var inner = self
                inner.variables[subquery.variable] = .some(candidate)
                return inner.holds(subquery.predicate, for: candidate)
            }
            return [count]
        }
    }

    /// Null for what is no number or time.
    private func quantity(_ operand: QueryPredicate.Operand, _ element: Any?) -> Quantity {
        values(operand, element).first.flatMap { Dynamic.storedValue($0) }.flatMap { Quantity($0) } ?? .null
    }

    private func values(_ path: QueryPredicate.Path, _ element: Any?) -> [Any?] {
        var current: [Any?] = [path.variable.map { variables[$0] ?? nil } ?? element]
        for name in path.names { current = current.flatMap { Self.member(name.text, of: $0) } }
        // A collection at the end stands for its elements, except where something looks into it as a whole.
        for place in path.subscripts { current = current.flatMap { inside($0, place) } }
        switch path.aspect {
        case .keys?: current = current.flatMap { Dynamic.entries($0)?.map { $0.key as Any? } ?? [] }
        case .type?:
            current = current.map { value in
                let kind = Dynamic.storedValue(AnyRealmValue._convert(value))?.kind ?? .null
                return Dynamic.flattened(value) is ObjectBase ? ValueKind.link.name : kind.name
            }
        case .values?, nil: current = current.flatMap(Self.elements)
        }
        guard let total = path.collectionOperator else { return current }
        return [Self.total(total, current)]
    }

    /// Of every object that a collection holds, where there is one on the way.
    private static func member(_ name: String, of value: Any?) -> [Any?] {
        guard let value = Dynamic.flattened(value) else { return [nil] }
        if let object = value as? ObjectBase {
            let fields = ClassFields.of(type(of: object))
            // Key paths name columns, texts may name properties.
            guard let field = fields.field(named: name) ?? fields.field(inColumn: name) else {
                return [object.value(forKey: name)]
            }
            return [field.value(of: object)]
        }
        return elements(value).flatMap { $0 is ObjectBase ? member(name, of: $0) : [] }
    }

    private static func elements(_ value: Any?) -> [Any?] {
        if let entries = Dynamic.entries(value) { return entries.map(\.value) }
        return Dynamic.elements(value) ?? [value]
    }

    private func inside(_ value: Any?, _ place: QueryPredicate.Subscript) -> [Any?] {
        switch place {
        case .all: return Self.elements(value)
        case .key(let name): return Self.entry(name.text, of: value)
        case .index(let index): return Self.item(index, of: value)
        case .argument(let number, _):
            let argument = number < arguments.count ? Dynamic.flattened(arguments[number]) : nil
            if let key = argument as? String { return Self.entry(key, of: value) }
            return (argument as? Int).map { Self.item($0, of: value) } ?? []
        }
    }

    /// What a map does not have is null.
    private static func entry(_ key: String, of value: Any?) -> [Any?] {
        [Dynamic.entries(value)?.first { $0.key.hasSameBytes(as: key) }?.value]
    }

    private static func item(_ index: Int, of value: Any?) -> [Any?] {
        guard let elements = Dynamic.elements(value) else { return [nil] }
        let position = index < 0 ? elements.count + index : index
        return elements.indices.contains(position) ? [elements[position]] : [nil]
    }

    private static func total(_ operation: QueryPredicate.CollectionOperator, _ values: [Any?]) -> Any? {
        if operation == .count { return values.count }
        let present = values.compactMap { Dynamic.storedValue($0) }.filter { !$0.isNull }
        var total = Accumulator(
            present.first.map { first in
                switch first {
                case .int where present.allSatisfy({ $0.kind == .int }): .int
                case .float, .double:
                    present.allSatisfy { $0.kind == .float || $0.kind == .double } ? .double : .mixed
                case .timestamp: .timestamp
                default: .mixed
                }
            } ?? .double)
        for value in present { value.withView { total.add($0) } }
        return AnyRealmValue.dynamicValue(total.view(operation), nil)
    }

    // MARK: Comparing

    private static func matches(
        _ left: Any?, _ operation: QueryPredicate.Operator, _ right: Any?, _ options: TextOptions
    ) -> Bool {
        let mode: TextMatcher.Mode? =
            switch operation {
            case .beginsWith: .beginsWith
            case .endsWith: .endsWith
            case .contains: .contains
            case .like: .like
            case .equal, .notEqual: options.isEmpty ? nil : .equal
            default: nil
            }
        guard let mode else {
            switch operation {
            case .notEqual: return compare(left, .notEqual, right)
            case .less: return compare(left, .less, right)
            case .lessOrEqual: return compare(left, .lessOrEqual, right)
            case .greater: return compare(left, .greater, right)
            case .greaterOrEqual: return compare(left, .greaterOrEqual, right)
            default: return compare(left, .equal, right)
            }
        }
        return text(left, mode, right, options) != (operation == .notEqual)
    }

    private static func text(_ left: Any?, _ mode: TextMatcher.Mode, _ right: Any?, _ options: TextOptions) -> Bool {
        guard let left = Dynamic.storedValue(left), let right = Dynamic.storedValue(right) else { return false }
        if left.isNull || right.isNull {
            // `LIKE nil` and equality find nulls; the others nothing.
            return left.isNull && right.isNull && (mode == .like || mode == .equal)
        }
        guard left.kind == right.kind, left.kind == .string || left.kind == .data else { return false }
        return left.withView { left in
            right.withView { TextMatcher.matches(mode, left.bytes, $0.bytes, options) }
        }
    }

    private static func compare(_ left: Any?, _ operation: ComparisonOperator, _ right: Any?) -> Bool {
        let (one, two) = (Dynamic.flattened(left), Dynamic.flattened(right))
        if one is ObjectBase || two is ObjectBase {
            let isSame = (one as? ObjectBase).map { one in (two as? ObjectBase).map { one == $0 } ?? false } ?? false
            return operation == .equal ? isSame : operation == .notEqual && !isSame
        }
        guard let left = Dynamic.storedValue(one), let right = Dynamic.storedValue(two) else {
            return operation == .notEqual
        }
        return left.withView { left in right.withView { ValueComparison.holds(operation, left, $0) } }
    }

    /// An object in the form of a GeoJSON point; a shape, or its text. What is neither is nowhere.
    private static func isPoint(_ value: Any?, within shape: Any?) -> Bool {
        guard let place = Dynamic.flattened(value) as? ObjectBase else { return false }
        let fields = ClassFields.of(type(of: place))
        let coordinates = Dynamic.elements(fields.field(named: "coordinates")?.value(of: place)) ?? []
        guard fields.field(named: "type")?.value(of: place) as? String == "Point", coordinates.count >= 2,
            let longitude = coordinates[0] as? Double, let latitude = coordinates[1] as? Double
        else { return false }
        return attempt(or: false) { () throws(DatabaseError) in
            var found = shape as? GeoShape ?? GeoShape(shape)
            if found == nil, let text = shape as? String { found = try GeoShape.parse(text) }
            guard let found else { return false }
            return try GeoRegion(found).contains(MotteQueryEngine.GeoPoint(longitude: longitude, latitude: latitude))
        }
    }
}

// MARK: - Who asks

extension ObjectBase: PredicateTested {
    package final func _isIncluded(by query: PredicateQuery) -> Bool {
        attempt(or: false) { () throws(DatabaseError) in try PredicateContents.query(query).test()?(self) ?? false }
    }
}

extension RealmCollection {
    /// Of an unmanaged collection.
    func _firstIndex(matching predicate: NSPredicate) -> Int? {
        let test = attempt { () throws(DatabaseError) in
            try predicate.contents.test() ?? { predicate.evaluate(with: $0) }
        }
        return test.flatMap { test in _unmanaged.firstIndex { test($0._dynamic) } }
    }

    func _firstIndex(matching query: Query<Bool>) -> Int? {
        let parsed = attempt { () throws(DatabaseError) in try query.parsed(for: nil) }
        let evaluation = PredicateEvaluation([], given: query.reach.given)
        return parsed.flatMap { parsed in
            _unmanaged.firstIndex { evaluation.holds(parsed.predicate, for: $0._dynamic) }
        }
    }
}

/// The regular expressions of a predicate, each made once.
private final class Patterns {
    private struct Key: Hashable {
        let pattern: NameKey
        let ignoresCase: Bool
    }

    private var known: [Key: RegularExpression?] = [:]

    /// A pattern that cannot be used matches nothing; null matches null, as with LIKE.
    func matches(_ left: Any?, _ right: Any?, _ options: TextOptions) -> Bool {
        guard let left = Dynamic.storedValue(left), let right = Dynamic.storedValue(right) else { return false }
        if left.isNull || right.isNull { return left.isNull && right.isNull }
        guard left.kind == .string, case .string(let pattern) = right else { return false }
        let key = Key(pattern: NameKey(pattern), ignoresCase: options.contains(.ignoresCase))
        // Evaluation does not throw; what cannot be used matches nothing.
        let expression = known[key] ?? (try? RegularExpression(pattern, ignoresCase: key.ignoresCase))
        known[key] = .some(expression)
        return left.withView { view in expression?.matches(view.bytes) ?? false }
    }
}
