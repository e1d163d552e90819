/// Any text as a query: an error with a place in the text, or a query that prints, parses to the same and that runs on
/// a store or says why it does not fit its classes.
import MotteLiveObjects
import MotteQueryEngine
import MotteSchemaModel
import MotteStorage
import MotteValues

extension FuzzTarget {
    package static let queryText = FuzzTarget(name: "queryText", seeds: QueryTextFuzz.seeds, run: QueryTextFuzz.run)
}

enum QueryTextFuzz {
    /// Kept for all inputs, on the one thread there is.
    nonisolated(unsafe) private static let world = try? StoreContentFuzz.soundSnapshot()  // one thread, as above
    private static let arguments = Arguments([
        Value.int(3), .string("person 1"), .null, .double(1.5), .list([.int(1), .int(2)]),
    ])

    private static let unfit: [ErrorCode] = [
        .querySyntax, .queryInvalid, .queryArgument, .unknownProperty, .unknownClass, .overflow,
    ]

    @Sendable static func run(_ bytes: UnsafeRawBufferPointer) throws {
        guard let world else { throw Finding("the store could not be made") }
        let text = String(decoding: bytes, as: UTF8.self)
        let parsed: ParsedQuery
        do throws(DatabaseError) {
            parsed = try ParsedQuery.parse(text)
        } catch {
            let offset = error.details.queryOffset ?? -1
            try Finding.require(
                offset >= 0 && offset <= text.utf8.count
                    && (error.code.category == .query || error.code == .unsupported),
                "an error without a place in the text: \(error)")
            return
        }
        let printed = PredicateText.describe(parsed)
        let again: ParsedQuery
        do throws(DatabaseError) {
            again = try ParsedQuery.parse(printed)
        } catch {
            throw Finding("what is printed does not parse: \(printed): \(error.message)")
        }
        try Finding.require(
            PredicateText.describe(again).utf8.elementsEqual(printed.utf8),
            "\(printed) is printed as \(PredicateText.describe(again))")
        for name in ["Person", "Mark"] {
            guard let table = world.schema[name]?.tableKey else { continue }
            _ = try politely(unfit) {
                let bound = try BoundQuery.bind(parsed, table: table, schema: world.schema, arguments: arguments)
                let keys = try Executor(bound, world).keys()
                let count = try Executor(bound, world).count()
                try Finding.require(count == keys.count, "\(count) objects counted, \(keys.count) found by \(printed)")
                let first = try Executor(bound, world).first()
                try Finding.require(first == keys.first, "the first object is another one by \(printed)")
            }
        }
    }

    @Sendable static func seeds() throws -> [[UInt8]] {
        [
            "name == 'person 1'", "id between {1, 5} and not (name beginswith[c] \"P\" or tags.@count > 2)",
            "any friends.name == $1 or none marks > 3", "any == 3 and any.k[0] == true", "names['de'] == 'eins'",
            "friend.friend.id != null sort(when desc, id asc) limit(3)", "id in {1, 2, $0} distinct(name)",
            "subquery(friends, $x, $x.id > 3).@count > 1", "lovers.@count == 0", "home.city like 'R*e?'",
            "oid == oid(507f1f77bcf86cd799439011) or uuid == uuid(00112233-4455-6677-8899-aabbccddeeff)",
            "when > 2024-01-01@00:00:00:0 and data == X'00ff' or decimal > 1.25e3", "friends.@sum.id >= 2.5",
            "id * 2 + 1 > friend.id - $0 and -(d / f) != decimal * 1.5",
            "when - now() > -7d and when < 2024-02-29T23:59:59.5+01:30 offset(1) limit($n)",
            "now() - 2h between {when, 2013-12-31@1:2:3:4} or id in {1 + 2, (3)}",
            "id > $low and id < $low + $1",
            "truepredicate", "self == $2", "d == +inf || f == nan && !flag", "any.@type == 'list'",
        ].map { Array($0.utf8) }
    }
}
