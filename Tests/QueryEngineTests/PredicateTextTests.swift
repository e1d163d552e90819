/// Random predicates survive printing and parsing; random texts never crash the parser.
import MotteColumns
import MotteQueryEngine
import MotteValues
import TestSupport
import Testing

@Suite struct PredicateTextTests {
    @Test func parsingWhatIsPrintedGivesTheSame() throws {
        try PropertyTest.run(rounds: 2_000) { random, comment in
            let predicate = RandomPredicate.make(&random, depth: 4)
            let text = PredicateText.describe(predicate)
            do {
                let again = try ParsedQuery.parse(text).predicate
                #expect(again == predicate, "\(text) became \(PredicateText.describe(again)); \(comment)")
            } catch {
                Issue.record("\(error); \(comment)")
            }
        }
    }

    @Test func noTextCrashes() throws {
        let words = [
            "a", "and", "or", "not", "(", ")", "{", "}", "[c]", "[", "]", ".", ",", "==", "!=", "<", "between", "in",
            "like", "matches",
            "'x'", "\"", "'", "`", "$0", "%@", "$", "@count", "@", "1", "-", "1.5", "T1:2", "X'00'", "T-", "any", "all",
            "sort", "limit", "(3)", "null", "true", "self", "\\", "\u{1F600}", "\n", "\0", "e", "+inf",
            "subquery(", "distinct(", "$x", "$x.", "[cd]", "subquery(a, $x,",
        ]
        try PropertyTest.run(rounds: 4_000) { random, comment in
            var text = ""
            for _ in 0 ..< random.below(20) { text += random.pick(words) + (random.chance(50) ? " " : "") }
            do throws(DatabaseError) {
                _ = try ParsedQuery.parse(text)
            } catch {
                let offset = error.details.queryOffset ?? -1
                #expect(offset >= 0 && offset <= text.utf8.count, "\(text.debugDescription); \(comment)")
            }
        }
    }
}

/// Predicates in the form the parser gives: no `and` in an `and`, two parts or more.
enum RandomPredicate {
    static func make(_ random: inout SeededRandom, depth: Int) -> Predicate {
        switch depth <= 0 ? 0 : random.below(8) {
        case 0, 1, 2, 3: return random.chance(5) ? .constant(random.chance(50)) : comparison(&random)
        case 4: return .not(make(&random, depth: depth - 1))
        case 5, 6:
            return .and(parts(&random, depth).map { if case .and = $0 { .not($0) } else { $0 } })
        default:
            return .or(parts(&random, depth).map { if case .or = $0 { .not($0) } else { $0 } })
        }
    }

    private static func parts(_ random: inout SeededRandom, _ depth: Int) -> [Predicate] {
        var parts: [Predicate] = []
        for _ in 0 ..< 2 + random.below(3) { parts.append(make(&random, depth: depth - 1)) }
        return parts
    }

    private static func comparison(_ random: inout SeededRandom) -> Predicate {
        let sign = random.pick(Predicate.Operator.allCases)
        var options: TextOptions = []
        switch sign {
        case .equal, .notEqual, .beginsWith, .endsWith, .contains, .like, .in:
            if random.chance(30) { options = random.pick(RandomQueries.options) }
        default: break
        }
        let right: Predicate.Operand =
            switch sign {
            case .geoWithin:
                random.chance(50)
                    ? operand(&random)
                    : .shape(
                        .circle(center: .init(longitude: Double(random.below(180)), latitude: -1.5), radians: 0.25))
            case .between: random.chance(20) ? .argument(random.below(5)) : .list([value(&random), value(&random)])
            case .in: random.chance(50) ? .list((0 ..< random.below(4)).map { _ in value(&random) }) : operand(&random)
            default: operand(&random)
            }
        return .comparison(.init(operand(&random), sign, right, options: options))
    }

    private static func operand(_ random: inout SeededRandom) -> Predicate.Operand {
        if random.chance(8) {
            var inner = make(&random, depth: random.below(2))
            let variable = random.pick(["x", "_1", "größe"])
            if random.chance(50) { inner = inner.about(variable) }
            var collection = path(&random)
            collection.quantifier = nil
            return .subquery(.init(collection, variable, inner))
        }
        return random.chance(60) ? .path(path(&random)) : value(&random)
    }

    static func path(_ random: inout SeededRandom) -> Predicate.Path {
        let names = [
            "a", "bee", "any", "and", "null", "odd name", "tick`", "größe", "T", "X", "O", "_9", "9", "sort",
            "back\\slash",
        ]
        var path = Predicate.Path((0 ..< random.below(4)).map { _ in random.pick(names) })
        if random.chance(20) { path.quantifier = random.pick(Predicate.Quantifier.allCases) }
        if random.chance(20) { path.collectionOperator = random.pick(Predicate.CollectionOperator.allCases) }
        // By itself outside a SUBQUERY it would be an argument's name.
        if random.chance(10), !path.names.isEmpty { path.variable = random.pick(["x", "dog"]) }
        guard !path.names.isEmpty else { return path }
        while random.chance(15) {
            switch random.below(4) {
            case 0: path.subscripts.append(.key(.init(random.pick(names + ["", "\"", "*"]), position: .none)))
            case 1: path.subscripts.append(.index(random.pick([0, 1, -1, .max, .min])))
            case 2: path.subscripts.append(.argument(random.below(5)))
            default: path.subscripts.append(.all)
            }
        }
        if random.chance(10) {
            path.aspect = random.pick(Predicate.Aspect.allCases)
            if path.collectionOperator != .count { path.collectionOperator = nil }
        }
        return path
    }

    private static func value(_ random: inout SeededRandom) -> Predicate.Operand {
        let numbers: [Double] = [0, -0.0, 1.5, -1e300, 2.5e-308, 123456789.125, .infinity, -.infinity, .nan, 1e16, 0.1]
        switch random.below(12) {
        case 9: return .constant(.decimal(random.pick([.nan, .infinity, .zero, Decimal128(0.1), Decimal128(-1e300)])))
        case 10: return .constant(.objectID(ObjectID(low: random.next(), high: random.next())))
        case 11: return .constant(.uuid(UUIDBytes(low: random.next(), high: random.next())))
        case 0: return .argument(random.below(12))
        case 1: return .constant(.null)
        case 2: return .constant(.bool(random.chance(50)))
        case 3: return .constant(.int(random.pick([0, 1, -1, .max, .min, Int64(random.below(1000))])))
        case 4: return .constant(.double(random.pick(numbers)))
        case 5: return .constant(.string(random.pick(["", "x", "it's", "\"q\"", "a\\b", "\n\t\r\0", "é😀", "`"])))
        case 6: return .constant(.data((0 ..< random.below(5)).map { _ in UInt8(truncatingIfNeeded: random.next()) }))
        case 7:
            let seconds = random.pick([0, -1, .min, .max, Int64(random.below(1 << 40))])
            return .constant(.timestamp(.init(seconds: seconds, nanoseconds: UInt32(random.below(1_000_000_000)))))
        default:
            let (table, key) = (TableKey(UInt32(random.below(100))), ObjectKey(Int64(random.below(1 << 40))))
            return .constant(.link(ObjectLink(table: table, key: key)))
        }
    }
}
