/// Random schemas, values and queries that fit them.
import MotteColumns
import MotteQueryEngine
import MotteSchemaModel
import MotteValues

/// What a generator has to know of a store.
package protocol QuerySubjects {
    func type(_ name: String) throws -> ObjectType
    /// Of the objects of a class, ascending.
    func keys(of name: String) -> [Int64]
    func link(_ name: String, _ key: Int64) throws -> Value
}

package struct RandomQueries {
    package let classes = ["Alpha", "Beta", "Gamma"]

    package init() {}

    // MARK: Schemas

    /// `more` are properties of every class, and classes behind them.
    package func schema(_ random: inout SeededRandom, more: [String] = [], classes others: String = "") -> String {
        var text = others
        var inverses: [String: [String]] = [:]
        var bodies: [String: [String]] = [:]
        for name in classes {
            var properties: [String] = []
            switch random.below(4) {
            case 0: properties.append("id: int key")
            case 1: properties.append("id: string key")
            case 2: properties.append("id: uuid key")
            default: break
            }
            let types = [
                "bool", "int", "float", "double", "string", "data", "timestamp", "int", "string",
                "decimal", "objectId", "uuid", "mixed", "mixed",
            ]
            let indexed = ["bool", "int", "string", "timestamp", "objectId", "uuid", "mixed"]
            for (index, type) in types.enumerated() {
                let mark = indexed.contains(type) && random.chance(40) ? " indexed" : ""
                properties.append("p\(index): \(type)\(random.chance(60) ? "?" : "")\(mark)")
            }
            let elements = ["int", "string", "double", "timestamp", "decimal", "uuid", "mixed"]
            for (index, type) in elements.enumerated() where random.chance(60) {
                properties.append("l\(index): list<\(type)\(random.chance(50) ? "?" : "")>")
            }
            for (index, type) in ["int", "string", "mixed"].enumerated() {
                if random.chance(40) { properties.append("s\(index): set<\(type)>") }
                if random.chance(40) { properties.append("m\(index): map<\(type)>") }
            }
            for index in 0 ..< 2 + random.below(2) {
                let target = random.pick(classes)
                let isList = random.chance(40)
                properties.append("r\(index): \(isList ? "list" : "link")<\(target)>")
                if random.chance(70) { inverses[target, default: []].append("inverse<\(name).r\(index)>") }
            }
            properties += indexes(types, hasKey: properties.first?.hasPrefix("id:") ?? false, &random)
            bodies[name] = properties + more
        }
        for name in classes {
            var properties = bodies[name] ?? []
            for (index, inverse) in (inverses[name] ?? []).enumerated() { properties.append("b\(index): \(inverse)") }
            text += "\(name) { \(properties.joined(separator: ", ")) }\n"
        }
        return text
    }

    /// Ordered ones of one property or several, descending, folded and unique.
    private func indexes(_ types: [String], hasKey: Bool, _ random: inout SeededRandom) -> [String] {
        let orderable = types.indices.filter { types[$0] != "mixed" }
        var texts: [String] = []
        for _ in 0 ..< random.below(5) {
            var parts: [String] = []
            for index in (0 ..< 1 + random.below(3)).map({ _ in random.pick(orderable) })
            where !parts.contains(where: { $0.split(separator: " ").first == "p\(index)" }) {
                let isFolded = types[index] == "string" && random.chance(50)
                let mark = isFolded ? " [\(random.pick(Self.options).letters)]" : random.chance(30) ? " desc" : ""
                parts.append("p\(index)\(mark)")
            }
            // Whatever else is in it, the key makes it unique.
            let isUnique = hasKey && random.chance(20) && !parts.contains { $0.contains("[") }
            let text =
                "\(isUnique ? "unique" : "indexed")(\((parts + (isUnique ? ["id"] : [])).joined(separator: ", ")))"
            if !texts.contains(text) { texts.append(text) }
        }
        return texts
    }

    // MARK: Values

    package static let texts = [
        "", "a", "A", "ab", "aB", "abc", "abcdefg", "abcdefgh", "abcdefghi", "abcdefgh\0", "Über", "über", "ÜBER",
        "zz", "a*b", "a?b", "long text that shares its start 1", "long text that shares its start 2",
        "\u{1F600}", "e\u{301}", "é", "É", "uber", "\u{301}", "Ǖ", "e",
    ]
    package static let options: [TextOptions] = [.ignoresCase, .ignoresDiacritics, [.ignoresCase, .ignoresDiacritics]]
    package static let doubles: [Double] = [
        0, -0.0, 1, 1.5, -1.5, 0.1, 1e300, -1e300, .infinity, -.infinity, .nan, 3, 16_777_217,
    ]
    package static let ints: [Int64] = [0, 1, 2, 3, 4, 5, -1, -2, 100, 70_000, 5_000_000_000, .max, .min, 1 << 53 + 1]

    package func value(_ world: some QuerySubjects, _ property: Property, _ random: inout SeededRandom) -> Value {
        if property.isNullable, random.chance(20) { return .null }
        if property.type == .link {
            guard let target = property.target, case let keys = world.keys(of: target), !keys.isEmpty,
                let link = try? world.link(target, random.pick(keys))
            else { return .null }
            return link
        }
        return Self.plain(property.type, &random)
    }

    package static func plain(_ type: PropertyType, _ random: inout SeededRandom) -> Value {
        switch type {
        case .bool: .bool(random.chance(50))
        case .int: .int(random.chance(80) ? Int64(random.below(8)) : random.pick(ints))
        case .float: .float(Float(random.pick(doubles)))
        case .double: .double(random.pick(doubles))
        case .string: .string(random.pick(texts))
        case .data: .data(Array(random.pick(texts).utf8.prefix(4)) + (random.chance(20) ? [0xFF] : []))
        case .timestamp:
            .timestamp(
                Timestamp(
                    seconds: Int64(random.below(5)) - 2, nanoseconds: random.chance(60) ? 0 : UInt32(random.below(3))))
        case .decimal: .decimal(Decimal128(random.pick(doubles)))
        case .objectID: .objectID(ObjectID(low: UInt64(random.below(4)), high: 0))
        case .uuid: .uuid(UUIDBytes(low: UInt64(random.below(4)), high: 0))
        case .mixed:
            random.chance(25)
                ? nested(&random, depth: 1)
                : plain(
                    random.pick([.bool, .int, .double, .string, .decimal, .data, .uuid, .timestamp]), &random)
        case .link, .linkingObjects: .null
        }
    }

    package static let keys = ["k", "x", "", "key"]

    private static func nested(_ random: inout SeededRandom, depth: Int) -> Value {
        var values: [Value] = []
        for _ in 0 ..< random.below(4) {
            let isDeeper = depth < 3 && random.chance(40)
            values.append(
                random.chance(10)
                    ? .null
                    : isDeeper
                        ? nested(&random, depth: depth + 1)
                        : plain(random.pick([.int, .double, .string, .decimal]), &random))
        }
        if random.chance(50) { return .list(values) }
        return .map(zip(keys, values).map { MapEntry(key: $0.0, value: $0.1) })
    }

    // MARK: Queries

    package struct Query {
        package var predicate: Predicate
        package var ordering: Ordering
        package var arguments: [Argument]
    }

    struct State {
        var arguments: [Argument] = []
        var subqueries = 0
    }

    package func query(_ world: some QuerySubjects, _ name: String, _ random: inout SeededRandom) throws -> Query {
        var state = State()
        let predicate = try predicate(world, name, &random, depth: random.below(3), &state)
        var ordering = Ordering.none
        for _ in 0 ..< random.pick([0, 0, 1, 1, 2, 4]) {
            if let clause = try clause(world, name, &random) { ordering.clauses.append(clause) }
        }
        return Query(predicate: predicate, ordering: ordering, arguments: state.arguments)
    }

    private func predicate(
        _ world: some QuerySubjects, _ name: String, _ random: inout SeededRandom, depth: Int, _ state: inout State
    ) throws -> Predicate {
        if depth <= 0 || random.chance(20) { return try comparison(world, name, &random, &state) }
        var parts: [Predicate] = []
        for _ in 0 ..< 2 + random.below(2) {
            parts.append(try predicate(world, name, &random, depth: depth - 1, &state))
        }
        switch random.below(5) {
        case 0: return .not(parts[0])
        case 1, 2: return .and(parts)
        default: return .or(parts)
        }
    }

    struct Walk {
        var names: [String] = []
        var collections = 0
        var property: Property
    }

    func walk(
        _ world: some QuerySubjects, _ name: String, _ random: inout SeededRandom, toOne: Bool = false
    ) throws -> Walk? {
        var type = try world.type(name)
        var names: [String] = []
        var collections = 0
        while true {
            let choices = type.properties.filter { !toOne || !($0.isCollection || $0.type == .linkingObjects) }
            guard !choices.isEmpty else { return nil }
            let property = random.pick(choices)
            names.append(property.name)
            let isMany = property.isCollection || property.type == .linkingObjects
            if isMany { collections += 1 }
            if property.target != nil, names.count < 4, random.chance(75) {
                type = try world.type(property.target ?? "")
                continue
            }
            return Walk(names: names, collections: collections, property: property)
        }
    }

    private func clause(
        _ world: some QuerySubjects, _ name: String, _ random: inout SeededRandom
    ) throws -> Ordering.Clause? {
        switch random.below(5) {
        case 0, 1:
            var keys: [Ordering.SortKey] = []
            for _ in 0 ..< 1 + random.below(2) {
                guard let path = try sortPath(world, name, &random) else { continue }
                keys.append(.init(path, isAscending: random.chance(50)))
            }
            return keys.isEmpty ? nil : .sort(keys)
        case 2, 3:
            if random.chance(10) { return .distinct([Predicate.Path([])]) }
            var paths: [Predicate.Path] = []
            for _ in 0 ..< 1 + random.below(2) {
                if let walk = try walk(world, name, &random, toOne: true) { paths.append(Predicate.Path(walk.names)) }
            }
            return paths.isEmpty ? nil : .distinct(paths)
        default: return random.chance(40) ? .offset(.count(random.below(14))) : .limit(.count(random.below(14)))
        }
    }

    private func sortPath(
        _ world: some QuerySubjects, _ name: String, _ random: inout SeededRandom
    ) throws -> Predicate.Path? {
        guard let walk = try walk(world, name, &random, toOne: true), walk.property.target == nil else { return nil }
        return Predicate.Path(walk.names)
    }

    private func comparison(
        _ world: some QuerySubjects, _ name: String, _ random: inout SeededRandom, _ state: inout State
    ) throws -> Predicate {
        guard let walk = try walk(world, name, &random) else { return .constant(true) }
        var path = Predicate.Path(walk.names)
        let property = walk.property
        if random.chance(10), let pair = try pair(world, name, &random) { return pair }
        if random.chance(10), let computed = try arithmetic(world, name, &random, &state) { return computed }
        if random.chance(12), let subquery = try subquery(world, name, &random, &state) { return subquery }
        if property.type == .mixed, walk.collections == 0 || random.chance(30), random.chance(40) {
            return inside(world, walk, path, &random, &state)
        }
        if walk.collections == 1, random.chance(40), let aggregate = aggregate(walk, &path, &random) {
            return aggregate
        }
        if walk.collections > 0 { path.quantifier = random.pick(Predicate.Quantifier.allCases) }
        let isObject = property.target != nil
        let type = isObject ? PropertyType.link : property.type
        var constantSource = property
        constantSource.type = type
        constantSource.isNullable = random.chance(20)
        var signs: [Predicate.Operator] = [.equal, .notEqual, .in]
        if !isObject { signs += [.less, .lessOrEqual, .greater, .greaterOrEqual] }
        if type.isNumeric || type == .timestamp || type == .mixed { signs.append(.between) }
        if type == .string || type == .data || type == .mixed { signs += [.beginsWith, .endsWith, .contains] }
        if type == .string { signs += [.like, .matches] }
        let sign = random.pick(signs)
        var options: TextOptions = []
        switch sign {
        case .equal, .notEqual, .beginsWith, .endsWith, .contains, .like, .in:
            if type == .string, random.chance(50) { options = random.pick(Self.options) }
        case .matches: if random.chance(30) { options = .ignoresCase }
        default: break
        }
        let right: Predicate.Operand
        switch sign {
        case .in:
            let values = (0 ..< random.below(6)).map { _ in constant(world, constantSource, &random) }
            right = list(values, &random, &state)
        case .between:
            constantSource.isNullable = false
            let bounds = [constant(world, constantSource, &random), constant(world, constantSource, &random)]
            right = list(bounds, &random, &state)
        case .like where random.chance(70):
            let patterns = ["*", "?", "a*", "*b", "a?", "*a*b*", "", "A\\*", "??", "*é", "Ü*"]
            right = operand(.string(random.pick(patterns)), &random, &state)
        case .matches where random.chance(90):
            let patterns = [".*", "a.*", ".*b", "a.", "", "[a-c].*", "(a|b|é)+", ".?.?", ".*[^a-z].*", "Ü.*|A.*"]
            right = operand(.string(random.pick(patterns)), &random, &state)
        case .matches: right = operand(.null, &random, &state)
        case .beginsWith, .endsWith, .contains:
            if type == .mixed { constantSource.type = .string }
            right = operand(constant(world, constantSource, &random), &random, &state)
        default:
            right = operand(constant(world, constantSource, &random), &random, &state)
            let canMirror = sign.rawValue < Predicate.Operator.between.rawValue
            if canMirror, random.chance(15) {
                return .comparison(.init(right, sign, .path(path), options: options))
            }
        }
        if path.quantifier == .any, sign == .equal, options.isEmpty, random.chance(20), case .argument = right {
            path.quantifier = nil
            return .comparison(.init(right, .in, .path(path)))
        }
        return .comparison(.init(.path(path), sign, right, options: options))
    }

    /// At most three in each other.
    private func subquery(
        _ world: some QuerySubjects, _ name: String, _ random: inout SeededRandom, _ state: inout State
    ) throws -> Predicate? {
        guard state.subqueries < 3 else { return nil }
        for _ in 0 ..< 20 {
            guard let walk = try walk(world, name, &random), walk.collections == 1, let target = walk.property.target,
                walk.property.isCollection || walk.property.type == .linkingObjects
            else { continue }
            state.subqueries += 1
            defer { state.subqueries -= 1 }
            let inner = try predicate(world, target, &random, depth: random.below(3), &state)
            let variable = random.pick(["x", "it", "größe"])
            let operand = Predicate.Operand.subquery(.init(Predicate.Path(walk.names), variable, inner.about(variable)))
            if random.chance(10) {
                return .comparison(.init(operand, .in, .list([.constant(.int(0)), .constant(.int(2))])))
            }
            let signs: [Predicate.Operator] = [.equal, .notEqual, .less, .lessOrEqual, .greater, .greaterOrEqual]
            let count = Predicate.Operand.constant(.int(Int64(random.pick([0, 0, 1, 1, 2, -1]))))
            if random.chance(20) { return .comparison(.init(count, random.pick(signs), operand)) }
            return .comparison(.init(operand, random.pick(signs), count))
        }
        return nil
    }

    /// What mixed values hold.
    private func inside(
        _ world: some QuerySubjects, _ walk: Walk, _ written: Predicate.Path, _ random: inout SeededRandom,
        _ state: inout State
    ) -> Predicate {
        var path = written
        var isMany = walk.collections > 0
        if walk.property.isCollection {
            path.subscripts.append(.all)
            isMany = true
        }
        for _ in 0 ..< random.below(3) {
            switch random.below(4) {
            case 0: path.subscripts.append(.key(.init(random.pick(Self.keys), position: .none)))
            case 1: path.subscripts.append(.index(random.below(4) - 2))
            case 2:
                path.subscripts.append(.all)
                isMany = true
            default:
                state.arguments.append(.value(random.chance(50) ? .int(0) : .string(random.pick(Self.keys))))
                path.subscripts.append(.argument(state.arguments.count - 1))
            }
        }
        var constant = Self.plain(random.pick([.int, .double, .string, .decimal, .mixed]), &random)
        var signs: [Predicate.Operator] = [.equal, .notEqual, .less, .lessOrEqual, .greater, .greaterOrEqual]
        if isMany { path.quantifier = random.pick(Predicate.Quantifier.allCases) }
        switch random.below(5) {
        case 0:
            path.aspect = .type
            constant = .string(random.pick(["int", "string", "null", "list", "map", "decimal"]))
            signs = [.equal, .notEqual]
        case 1 where !path.subscripts.isEmpty || !walk.property.isCollection:
            path.collectionOperator = .count
            constant = .int(Int64(random.below(4)))
        default: break
        }
        if random.chance(10) { constant = .null }
        if path.quantifier == nil, isMany { path.quantifier = .any }
        return .comparison(.init(.path(path), random.pick(signs), operand(constant, &random, &state)))
    }

    private func constant(_ world: some QuerySubjects, _ property: Property, _ random: inout SeededRandom) -> Value {
        switch value(world, property, &random) {
        // Ints are compared with whole doubles too, floating columns with ints.
        case .int(let value) where random.chance(10) && abs(value / 2) < 1 << 50: return .double(Double(value))
        case .float(let value): return .double(Double(value))
        case .double where random.chance(20): return .int(Int64(random.below(4)))
        case let value: return value
        }
    }

    func operand(_ value: Value, _ random: inout SeededRandom, _ state: inout State) -> Predicate.Operand {
        if random.chance(50), value.kind != .list, value.kind != .map { return .constant(value) }
        state.arguments.append(.value(value))
        return .argument(state.arguments.count - 1)
    }

    func list(_ values: [Value], _ random: inout SeededRandom, _ state: inout State) -> Predicate.Operand {
        if random.chance(50), !values.contains(where: { $0.kind == .list || $0.kind == .map }) {
            return .list(values.map { .constant($0) })
        }
        state.arguments.append(.list(values))
        return .argument(state.arguments.count - 1)
    }

    private func pair(_ world: some QuerySubjects, _ name: String, _ random: inout SeededRandom) throws -> Predicate? {
        for _ in 0 ..< 30 {
            guard let left = try walk(world, name, &random, toOne: true),
                let right = try walk(world, name, &random, toOne: true)
            else { continue }
            let (one, two) = (left.property, right.property)
            let isLinks = one.type == .link && two.type == .link && one.target.hasSameBytes(as: two.target)
            let isMixed = one.type == .mixed && two.type != .link || two.type == .mixed && one.type != .link
            guard
                isLinks || isMixed || (one.type != .link && one.type == two.type)
                    || (one.type.isNumeric && two.type.isNumeric)
            else { continue }
            let areTexts = one.type == .string && (two.type == .string || two.type == .mixed)
            if areTexts || (one.type == .data && two.type == .data), random.chance(60) {
                let signs: [Predicate.Operator] =
                    one.type == .data
                    ? [.beginsWith, .endsWith, .contains]
                    : [.equal, .notEqual, .beginsWith, .endsWith, .contains, .like]
                let options = one.type == .data ? [] : random.pick(Self.options)
                return .comparison(
                    .init(.path(.init(left.names)), random.pick(signs), .path(.init(right.names)), options: options))
            }
            let signs: [Predicate.Operator] =
                isLinks
                ? [.equal, .notEqual]
                : [.equal, .notEqual, .less, .lessOrEqual, .greater, .greaterOrEqual]
            return .comparison(.init(.path(.init(left.names)), random.pick(signs), .path(.init(right.names))))
        }
        return nil
    }

    private func aggregate(_ walk: Walk, _ path: inout Predicate.Path, _ random: inout SeededRandom) -> Predicate? {
        let property = walk.property
        let endsInCollection = property.isCollection || property.type == .linkingObjects
        var functions: [Predicate.CollectionOperator] = endsInCollection ? [.count] : []
        if property.target == nil {
            if property.type.isNumeric || property.type == .mixed { functions += [.min, .max, .sum, .avg] }
            if property.type == .timestamp { functions += [.min, .max] }
        }
        guard !functions.isEmpty else { return nil }
        let function = random.pick(functions)
        path.collectionOperator = function
        var constant: Value = random.chance(50) ? .int(Int64(random.below(6))) : .double(random.pick(Self.doubles))
        if property.type == .timestamp, function != .count { constant = Self.plain(.timestamp, &random) }
        if random.chance(15) { constant = .null }
        let signs: [Predicate.Operator] = [.equal, .notEqual, .less, .lessOrEqual, .greater, .greaterOrEqual]
        return .comparison(.init(.path(path), random.pick(signs), .constant(constant)))
    }
}

extension Predicate {
    /// With its paths starting at the element of a SUBQUERY; those inside its own SUBQUERYs have theirs.
    package func about(_ variable: String) -> Predicate {
        switch self {
        case .constant: return self
        case .not(let inner): return .not(inner.about(variable))
        case .and(let parts): return .and(parts.map { $0.about(variable) })
        case .or(let parts): return .or(parts.map { $0.about(variable) })
        case .comparison(var comparison):
            comparison.left = comparison.left.about(variable)
            comparison.right = comparison.right.about(variable)
            return .comparison(comparison)
        }
    }
}

private extension Predicate.Operand {
    func about(_ variable: String) -> Predicate.Operand {
        switch self {
        case .path(var path):
            path.variable = variable
            return .path(path)
        case .subquery(var subquery):
            subquery.collection.variable = variable
            return .subquery(subquery)
        case .arithmetic(var arithmetic):
            arithmetic.left = arithmetic.left.about(variable)
            arithmetic.right = arithmetic.right.about(variable)
            return .arithmetic(arithmetic)
        default: return self
        }
    }
}
