/// Query semantics, object by object and value by value, written from docs/query-language.md for reading and not for
/// speed. It computes exactly (`ExactNumbers`) and asks the engine nothing: what both round alike no test would find.
import MotteColumns
import MotteQueryEngine
import MotteSchemaModel
import MotteValues

struct NaiveEvaluator {
    let rows: [String: [Int64: [String: QueryWorld.Cell]]]
    let schema: Schema
    var arguments: [Argument] = []

    init(_ world: QueryWorld) {
        rows = world.rows
        schema = world.schema
    }

    /// Ascending.
    func keys(_ name: String, _ predicate: Predicate) -> [Int64] {
        (rows[name] ?? [:]).keys.sorted().filter { passes(predicate, name, $0) }
    }

    func passes(_ predicate: Predicate, _ name: String, _ key: Int64) -> Bool {
        switch predicate {
        case .constant(let value): value
        case .not(let inner): !passes(inner, name, key)
        case .and(let parts): parts.allSatisfy { passes($0, name, key) }
        case .or(let parts): parts.contains { passes($0, name, key) }
        case .comparison(let comparison): passes(comparison, name, key)
        }
    }

    // MARK: Paths

    struct Reached {
        var values: [Value]
        var isMany: Bool
        var type: PropertyType
    }

    func reach(_ name: String, _ key: Int64?, _ names: ArraySlice<Predicate.Name>) -> Reached {
        guard let type = schema[name] else { return Reached(values: [], isMany: false, type: .int) }
        guard let first = names.first, let property = type.property(named: first.text) else {
            let selfValue = key.flatMap { key in
                type.tableKey.map { Value.link(ObjectLink(table: $0, key: ObjectKey(key))) }
            }
            return Reached(values: [selfValue ?? .null], isMany: false, type: .link)
        }
        let rest = names.dropFirst()
        let here = cell(type, key, property)
        let target = property.target ?? ""
        switch (property.type, here) {
        case (.linkingObjects, .list(let values)), (.link, .list(let values)):
            if rest.isEmpty { return Reached(values: values, isMany: true, type: .link) }
            var result = Reached(values: [], isMany: true, type: reach(target, nil, rest).type)
            for case .link(let link) in values { result.values += reach(target, link.key.rawValue, rest).values }
            return result
        case (.link, .value(let value)):
            if rest.isEmpty { return Reached(values: [value], isMany: false, type: .link) }
            if case .link(let link) = value { return reach(target, link.key.rawValue, rest) }
            return reach(target, nil, rest)
        case (_, .map(let entries)): return Reached(values: entries.map(\.value), isMany: true, type: property.type)
        case (_, .list(let values)): return Reached(values: values, isMany: true, type: property.type)
        case (_, .value(let value)): return Reached(values: [value], isMany: false, type: property.type)
        }
    }

    private func cell(_ type: ObjectType, _ key: Int64?, _ property: Property) -> QueryWorld.Cell {
        if property.type == .linkingObjects {
            guard let key, let table = type.tableKey else { return .list([]) }
            let wanted = Value.link(ObjectLink(table: table, key: ObjectKey(key)))
            let origin = property.target ?? ""
            var linking: [Value] = []
            for other in (rows[origin] ?? [:]).keys.sorted() {
                guard let cell = rows[origin]?[other]?[property.origin ?? ""], let table = schema[origin]?.tableKey
                else { continue }
                let me = Value.link(ObjectLink(table: table, key: ObjectKey(other)))
                switch cell {
                case .value(let value): if DocumentedOrder.areEqual(value, wanted) { linking.append(me) }
                case .list(let values):
                    for value in values where DocumentedOrder.areEqual(value, wanted) { linking.append(me) }
                case .map: break
                }
            }
            return .list(linking)
        }
        guard let key, let cell = rows[type.name]?[key]?[property.name] else {
            // Behind a null link: single values are null, collections empty.
            return property.isCollection ? .list([]) : .value(.null)
        }
        return cell
    }

    // MARK: Comparisons

    private func passes(_ comparison: Predicate.Comparison, _ name: String, _ key: Int64) -> Bool {
        if let holds = arithmeticHolds(comparison, name, key) { return holds }
        switch (comparison.left, comparison.right) {
        case (.path(let left), .path(let right)):
            let leftValue = reach(name, key, left.names[...]), rightValue = reach(name, key, right.names[...])
            guard let first = leftValue.values.first, let second = rightValue.values.first else { return false }
            let isText = comparison.operator.rawValue >= Predicate.Operator.beginsWith.rawValue
            if isText || !comparison.options.isEmpty {
                return Self.textPairHolds(comparison.operator, first, second, comparison.options)
            }
            return Self.pairHolds(comparison.operator, first, second)
        case (.subquery(let subquery), let constant):
            let count = count(subquery, name, key)
            return holds(comparison.operator, count, constant, nil, [])
        case (let constant, .subquery(let subquery)):
            let count = count(subquery, name, key)
            return holds(Self.mirrored(comparison.operator), count, constant, nil, [])
        case (.path(let path), let constant):
            return passes(path, comparison.operator, constant, comparison.options, name, key)
        case (let constant, .path(var path)):
            if comparison.operator == .in {
                path.quantifier = path.quantifier ?? .any
                return passes(path, .equal, constant, comparison.options, name, key)
            }
            let mirrored = Self.mirrored(comparison.operator)
            return passes(path, mirrored, constant, comparison.options, name, key)
        default: return false
        }
    }

    private static func mirrored(_ sign: Predicate.Operator) -> Predicate.Operator {
        switch sign {
        case .less: .greater
        case .lessOrEqual: .greaterOrEqual
        case .greater: .less
        case .greaterOrEqual: .lessOrEqual
        default: sign
        }
    }

    /// Null behind a null link.
    private func count(_ subquery: Predicate.Subquery, _ name: String, _ key: Int64) -> Value {
        if hasNullPrefix(subquery.collection, name, key) { return .null }
        let elements = reach(name, key, subquery.collection.names[...]).values
        let passing = elements.filter { element in
            guard case .link(let link) = element,
                let type = schema.objectTypes.first(where: { $0.tableKey == link.table })
            else { return false }
            return passes(subquery.predicate, type.name, link.key.rawValue)
        }
        return .int(Int64(passing.count))
    }

    private static func textPairHolds(
        _ sign: Predicate.Operator, _ left: Value, _ right: Value, _ options: TextOptions
    ) -> Bool {
        let bothNull = left.isNull && right.isNull
        let isEither = left.isNull || right.isNull
        switch sign {
        case .equal, .notEqual:
            let areEqual =
                isEither
                ? bothNull
                : left.kind == right.kind && left.kind == .string && fold(left, options) == fold(right, options)
            return areEqual == (sign == .equal)
        case .like: return isEither ? bothNull : textHolds(sign, left, right, options)
        default: return !isEither && textHolds(sign, left, right, options)
        }
    }

    private func passes(
        _ path: Predicate.Path, _ sign: Predicate.Operator, _ constant: Predicate.Operand, _ options: TextOptions,
        _ name: String, _ key: Int64
    ) -> Bool {
        var reached = reach(name, key, path.names[...])
        // Of one mixed value, or with ALL and the like of each, it is what is nested there that is counted.
        let countsNested =
            path.collectionOperator == .count && reached.type == .mixed && (!reached.isMany || path.quantifier != nil)
        if !path.subscripts.isEmpty || path.aspect != nil || countsNested {
            // The subscript of a collection only says that all of its elements are meant.
            let subscripts = isCollection(path, name) ? path.subscripts.dropFirst() : path.subscripts[...]
            reached.values = reached.values.flatMap { inside($0, subscripts) }
            if path.collectionOperator == .count {
                reached.values = reached.values.map(Self.nestedCount)
                reached.type = .int
            } else if path.aspect == .type {
                reached.values = reached.values.map { .string($0.kind.name) }
                reached.type = .string
            }
        } else if let function = path.collectionOperator {
            let value =
                hasNullPrefix(path, name, key) ? Value.null : Self.aggregate(function, reached.values, reached.type)
            return holds(sign, value, constant, nil, [])
        }
        switch path.quantifier {
        case nil: return reached.values.contains { holds(sign, $0, constant, reached.type, options) }
        case .any?: return reached.values.contains { holds(sign, $0, constant, reached.type, options) }
        case .all?: return reached.values.allSatisfy { holds(sign, $0, constant, reached.type, options) }
        case .some(.none): return !reached.values.contains { holds(sign, $0, constant, reached.type, options) }
        }
    }

    private func isCollection(_ path: Predicate.Path, _ name: String) -> Bool {
        var type = schema[name]
        for part in path.names.dropLast() {
            type = type?.property(named: part.text)?.target.flatMap { schema[$0] }
        }
        return type?.property(named: path.names.last?.text ?? "")?.isCollection ?? false
    }

    private func inside(_ value: Value, _ subscripts: ArraySlice<Predicate.Subscript>) -> [Value] {
        guard let first = subscripts.first else { return [value] }
        let rest = subscripts.dropFirst()
        func element(_ index: Int) -> [Value] {
            guard case .list(let elements) = value else { return [.null] }
            let place = index < 0 ? elements.count + index : index
            return elements.indices.contains(place) ? inside(elements[place], rest) : [.null]
        }
        func entry(_ key: String) -> [Value] {
            guard case .map(let entries) = value else { return [.null] }
            return entries.first { $0.key == key }.map { inside($0.value, rest) } ?? [.null]
        }
        switch first {
        case .index(let index): return element(index)
        case .key(let key): return entry(key.text)
        case .argument(let number, _):
            if case .value(.int(let index)) = arguments[number] { return element(Int(index)) }
            if case .value(.string(let key)) = arguments[number] { return entry(key) }
            return [.null]
        case .all:
            switch value {
            case .list(let elements): return elements.flatMap { inside($0, rest) }
            case .map(let entries): return entries.flatMap { inside($0.value, rest) }
            default: return []
            }
        }
    }

    private static func nestedCount(_ value: Value) -> Value {
        switch value {
        case .list(let elements): .int(Int64(elements.count))
        case .map(let entries): .int(Int64(entries.count))
        default: .null
        }
    }

    /// Whether a to-one link before the collection is null.
    private func hasNullPrefix(_ path: Predicate.Path, _ name: String, _ key: Int64) -> Bool {
        var prefix: [Predicate.Name] = []
        for part in path.names {
            prefix.append(part)
            let reached = reach(name, key, prefix[...])
            if reached.isMany { return false }
            if reached.values.first?.isNull ?? true { return true }
        }
        return false
    }

    static func aggregate(
        _ function: Predicate.CollectionOperator, _ all: [Value], _ type: PropertyType
    ) -> Value {
        // Of mixed values only the numbers take part.
        let values = all.filter { !$0.isNull && (type != .mixed || $0.kind.isNumeric) }
        switch function {
        case .count: return .int(Int64(all.count))
        case .min: return values.min { DocumentedOrder.compare($0, $1) < 0 } ?? .null
        case .max: return values.max { DocumentedOrder.compare($0, $1) < 0 } ?? .null
        case .sum:
            if type == .int {
                let sum = values.reduce(Int128(0)) { sum, value in
                    if case .int(let int) = value { sum + Int128(int) } else { sum }
                }
                return Int64(exactly: sum).map(Value.int) ?? .decimal(Exact(sum).decimal)
            }
            return type.isFloating ? .double(doubleSum(values)) : .decimal(decimalSum(values).decimal)
        case .avg:
            if values.isEmpty { return .null }
            if type.isFloating { return .double(doubleSum(values) / Double(values.count)) }
            let sum = type == .int ? exactSum(values) : decimalSum(values)
            let average = sum / Exact(Int128(values.count))
            return type == .int ? .double(average.double) : .decimal(average.decimal)
        }
    }

    /// Floating numbers are added one after another.
    private static func doubleSum(_ values: [Value]) -> Double { values.reduce(0) { $0 + number($1) } }

    /// So are decimals and what stands beside them, each sum rounded to 34 digits.
    private static func decimalSum(_ values: [Value]) -> Exact {
        values.reduce(Exact.zero) { Exact(($0 + (asDecimal($1) ?? .zero)).decimal) }
    }

    private static func exactSum(_ values: [Value]) -> Exact {
        values.reduce(Exact.zero) { $0 + (asDecimal($1) ?? .zero) }
    }

    /// Beside a decimal a double is the shortest decimal that reads as the same double. nil for what is no number.
    static func asDecimal(_ value: Value) -> Exact? {
        switch value {
        case .float(let value): .asDecimal(Double(value))
        case .double(let value): .asDecimal(value)
        default: Exact(value)
        }
    }

    /// `magnitude`: the sum of the magnitudes of what was added up; 0 where nothing is rounded.
    static func isClose(_ found: Value, _ wanted: Value, _ magnitude: Double) -> Bool {
        if found.kind == wanted.kind, DocumentedOrder.areEqual(found, wanted) { return true }
        guard let one = Exact(found), let two = Exact(wanted) else { return false }
        // Whether a sum is beyond all doubles depends on the order of addition as well.
        if magnitude > 1e150 || !magnitude.isFinite { return true }
        guard one.isFinite, two.isFinite else { return false }
        let digits = found.kind == .decimal && wanted.kind == .decimal ? "1e-30" : "1e-12"
        return Exact.compare((one - two).magnitude, Exact(magnitude) * Exact(decimal: digits)) <= 0
    }

    static func number(_ value: Value) -> Double {
        switch value {
        case .int(let value): Double(value)
        case .float(let value): Double(value)
        case .double(let value): value
        case .decimal(let value): value.doubleValue
        default: .nan
        }
    }

    // MARK: One value

    func single(_ operand: Predicate.Operand) -> Value {
        switch operand {
        case .constant(let value, _): return value
        case .argument(let number, _):
            if case .value(let value) = arguments[number] { return value }
            return .null
        default: return .null
        }
    }

    func several(_ operand: Predicate.Operand) -> [Value] {
        switch operand {
        case .list(let elements, _): return elements.map(single)
        case .argument(let number, _):
            if case .list(let values) = arguments[number] { return values }
            return []
        default: return []
        }
    }

    /// `type` nil for aggregates, whose constants are not converted.
    private func holds(
        _ sign: Predicate.Operator, _ value: Value, _ constant: Predicate.Operand, _ type: PropertyType?,
        _ options: TextOptions
    ) -> Bool {
        switch sign {
        case .in: return several(constant).contains { Self.holds(.equal, value, $0, type, options) }
        case .between:
            let bounds = several(constant)
            return Self.holds(.greaterOrEqual, value, bounds[0], type, [])
                && Self.holds(.lessOrEqual, value, bounds[1], type, [])
        default: return Self.holds(sign, value, single(constant), type, options)
        }
    }

    static func holds(
        _ sign: Predicate.Operator, _ value: Value, _ constant: Value, _ type: PropertyType?, _ options: TextOptions
    ) -> Bool {
        if constant.isNull {
            switch sign {
            case .equal, .like, .matches, .lessOrEqual, .greaterOrEqual: return value.isNull
            case .notEqual: return !value.isNull
            default: return false
            }
        }
        if value.isNull { return sign == .notEqual }
        if type == .decimal, let left = Exact(value), let right = asDecimal(constant) {
            return compares(sign, Exact.compare(left, right), isNaN: left.isNaN || right.isNaN)
        }
        switch sign {
        case .beginsWith, .endsWith, .contains, .like: return textHolds(sign, value, constant, options)
        case .matches:
            guard case .string(let text) = value, case .string(let pattern) = constant else { return false }
            let expression = try? Regex(pattern).matchingSemantics(.unicodeScalar).ignoresCase(!options.isEmpty)
            return expression.map { (try? $0.wholeMatch(in: text)) != nil } ?? false
        case .equal, .notEqual:
            if !options.isEmpty { return (fold(value, options) == fold(constant, options)) == (sign == .equal) }
            return pairHolds(sign, value, constant)
        default: return pairHolds(sign, value, constant)
        }
    }

    static func pairHolds(_ sign: Predicate.Operator, _ left: Value, _ right: Value) -> Bool {
        if left.isNull || right.isNull {
            let bothNull = left.isNull && right.isNull
            switch sign {
            case .equal, .lessOrEqual, .greaterOrEqual: return bothNull
            case .notEqual: return !bothNull
            default: return false
            }
        }
        // Between different kinds only `!=` holds.
        if DocumentedOrder.kind(left) != DocumentedOrder.kind(right) { return sign == .notEqual }
        let isNaN = Exact(left)?.isNaN ?? false || Exact(right)?.isNaN ?? false
        return compares(sign, DocumentedOrder.compare(left, right), isNaN: isNaN)
    }

    /// NaN equals NaN, and is neither above nor below anything.
    private static func compares(_ sign: Predicate.Operator, _ order: Int, isNaN: Bool) -> Bool {
        switch sign {
        case .equal: order == 0
        case .notEqual: order != 0
        case .less: !isNaN && order < 0
        case .lessOrEqual: !isNaN && order <= 0
        case .greater: !isNaN && order > 0
        case .greaterOrEqual: !isNaN && order >= 0
        default: false
        }
    }

    private static func fold(_ value: Value, _ options: TextOptions) -> [UInt8] {
        guard case .string(var text) = value else { return [] }
        if options.contains(.ignoresCase) {
            text = text.unicodeScalars.map(\.properties.lowercaseMapping).joined()
        }
        guard options.contains(.ignoresDiacritics) else { return Array(text.utf8) }
        return Decomposition.withoutMarks(text)
    }

    private static func textHolds(
        _ sign: Predicate.Operator, _ value: Value, _ constant: Value, _ options: TextOptions
    ) -> Bool {
        let text: [UInt8], part: [UInt8]
        switch (value, constant) {
        case (.string(let value), .string(let constant)):
            text = options.isEmpty ? Array(value.utf8) : fold(.string(value), options)
            part = options.isEmpty ? Array(constant.utf8) : fold(.string(constant), options)
        case (.data(let value), .data(let constant)) where sign != .like: (text, part) = (value, constant)
        default: return false
        }
        switch sign {
        case .beginsWith: return !part.isEmpty && text.starts(with: part)
        case .endsWith: return !part.isEmpty && text.reversed().starts(with: part.reversed())
        case .contains:
            guard !part.isEmpty, text.count >= part.count else { return false }
            return (0 ... text.count - part.count).contains { text[$0...].starts(with: part) }
        default:
            return like(
                Array(String(decoding: text, as: UTF8.self).unicodeScalars)[...],
                Array(String(decoding: part, as: UTF8.self).unicodeScalars)[...])
        }
    }

    private static func like(_ text: ArraySlice<Unicode.Scalar>, _ pattern: ArraySlice<Unicode.Scalar>) -> Bool {
        guard let first = pattern.first else { return text.isEmpty }
        if first == "*" { return like(text, pattern.dropFirst()) || (!text.isEmpty && like(text.dropFirst(), pattern)) }
        guard let head = text.first, first == "?" || first == head else { return false }
        return like(text.dropFirst(), pattern.dropFirst())
    }

    // MARK: Order

    /// What the clauses leave, one after another.
    func arranged(_ keys: [Int64], _ name: String, _ ordering: Ordering) -> [Int64] {
        var keys = keys
        for clause in ordering.clauses {
            switch clause {
            case .sort(let sort): keys = sorted(keys, name, sort)
            case .limit(.count(let limit)): keys = Array(keys.prefix(limit))
            case .offset(.count(let offset)): keys = Array(keys.dropFirst(offset))
            case .limit(.argument), .offset(.argument): break
            case .distinct(let paths):
                var kept: [[Value]] = []
                keys = keys.filter { key in
                    let leadsSomewhere = paths.allSatisfy { path in
                        path.names.count < 2
                            || reach(name, key, path.names.dropLast()).values.first.map { !$0.isNull } ?? false
                    }
                    guard leadsSomewhere else { return false }
                    let values = paths.map { reach(name, key, $0.names[...]).values.first ?? .null }
                    if kept.contains(where: { zip($0, values).allSatisfy(DocumentedOrder.areEqual) }) { return false }
                    kept.append(values)
                    return true
                }
            }
        }
        return keys
    }

    func sorted(_ keys: [Int64], _ name: String, _ sort: [Ordering.SortKey]) -> [Int64] {
        keys.enumerated().sorted { left, right in
            for key in sort {
                let order = compare(left.element, right.element, name, key)
                if order != 0 { return order < 0 }
            }
            return left.offset < right.offset
        }.map(\.element)
    }

    func compare(_ left: Int64, _ right: Int64, _ name: String, _ key: Ordering.SortKey) -> Int {
        let (leftRank, leftValue) = ranked(left, name, key.path)
        let (rightRank, rightValue) = ranked(right, name, key.path)
        let order =
            leftRank != rightRank ? leftRank - rightRank : DocumentedOrder.compare(leftValue, rightValue)
        return key.isAscending ? order : -order
    }

    private func ranked(_ key: Int64, _ name: String, _ path: Predicate.Path) -> (Int, Value) {
        for length in 1 ..< max(1, path.names.count) {
            if reach(name, key, path.names.prefix(length)).values.first?.isNull ?? true { return (2, .null) }
        }
        let value = reach(name, key, path.names[...]).values.first ?? .null
        return (value.isNull ? 0 : 1, value)
    }
}

private extension PropertyType {
    var isFloating: Bool { self == .float || self == .double }
}
