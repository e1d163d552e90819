// Writes the file with all kinds of values that can be long, and with long ones, some in a WAL, and what is in it as
// text. Part of no target here: Tests/Compatibility/make-files.sh copies it among the tests and runs it.
import MotteLiveObjects
import MotteSchemaModel
import MotteStorage
import MotteValues
import TestSupport
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

@Suite struct LongFileWriter {
    let schema = """
        Doc { id: objectId key, s: string? indexed, x: data?, d: decimal?, u: uuid indexed, m: mixed,
              ls: list<string?>, lx: list<data>, lm: list<mixed>, ss: set<string>, si: set<int>, sm: set<mixed>,
              md: map<decimal?>, ms: map<string>, mm: map<mixed>, other: link<Doc>, home: link<Home>,
              homes: list<Home>, back: inverse<Doc.other> }
        embedded Home { street: string, plan: data }
        """

    @Test func write() throws {
        // Files get one by themselves when they are larger than what is to be kept here.
        setenv("MOTTE_WAL_PAGES", "16", 1)
        defer { unsetenv("MOTTE_WAL_PAGES") }
        try CompatibilityText.makeFile("long", schema, fill)
    }

    private func text(_ n: Int, _ size: Int) -> String { String(repeating: "doc \(n) ", count: size / 6 + 1) }

    private func fill(_ session: Session) throws {
        // Around the limit of 4,000 bytes, far above it, and short ones between them.
        let sizes = [0, 5, 3_990, 4_000, 4_001, 9_000, 30]
        var made: [LiveObject] = []
        let homeColumn = try session.schema.type(named: "Doc").property(named: "home")?.columnKey
        try session.inWrite {
            for n in 0 ..< 70 {
                let size = sizes[n % sizes.count]
                let bytes = (0 ..< size).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ n) }
                let doc = try session.add(
                    "Doc",
                    [
                        "id": .objectID(ObjectID(low: UInt64(n) << 8, high: 0x0102_0304)),
                        "s": n % 5 == 0 ? .null : .string(text(n, n < 7 ? size : n % 40)),
                        "x": n % 4 == 0 ? .null : .data(n < 14 ? bytes : [UInt8(n)]),
                        "d": n % 3 == 0 ? .null : .decimal(Decimal128(Double(n) / 8)),
                        "u": .uuid(UUIDBytes(low: UInt64(n), high: UInt64(n * n))),
                        "m": mixed(n, size, bytes),
                    ])
                made.append(doc)
                try collections(doc, n, n < 14 ? size : 20, n < 14 ? bytes : [1])
                if n > 0 { try doc.set("other", to: .link(made[n / 2])) }
                if n % 6 == 1 {
                    let home = try doc.embeddedPut(try #require(homeColumn))
                    try home.set("street", to: .string("street \(n)"))
                    try home.set("plan", to: .data(n == 1 ? Array(repeating: 3, count: 5_000) : [2]))
                }
            }
        }
        // A list in a tree of its own with long elements, deleted and changed long values, and a cluster that is gone.
        try session.inWrite {
            let list = try #require(try made[9].collection("ls") as? LiveList)
            for n in 0 ..< 700 { try list.append(.string(n % 250 == 9 ? text(n, 4_200) : "e\(n)")) }
            try made[4].delete()
            try made[12].set("m", to: .string(text(12, 6_000)))
            try made[5].set("x", to: .data([5]))
        }
        try session.inWrite { for n in 30 ..< 36 { try made[n].delete() } }
    }

    private func mixed(_ n: Int, _ size: Int, _ bytes: [UInt8]) -> Value {
        switch n % 7 {
        case 0: return .null
        case 1: return .string(text(n, n < 21 ? size : 10))
        case 2: return .data(n < 21 ? bytes : [9])
        case 3: return .list([.int(Int64(n)), .string(text(n, n < 21 ? 4_100 : 8)), .null, .list([.bool(true)])])
        case 4: return .map([MapEntry(key: "a", value: .double(Double(n) / 4)), MapEntry(key: "zoë", value: .null)])
        case 5: return .decimal(Decimal128(Int64(n) << 40))
        default: return .timestamp(Timestamp(seconds: Int64(n) - 40, nanoseconds: 7))
        }
    }

    private func collections(_ doc: LiveObject, _ n: Int, _ size: Int, _ bytes: [UInt8]) throws {
        for (name, value) in [
            ("ls", n % 4 == 0 ? Value.null : .string(text(n, size))), ("lx", .data(bytes)),
            ("lm", mixed(n, size, bytes)),
        ] {
            let list = try #require(try doc.collection(name) as? LiveList)
            for _ in 0 ..< n % 3 { try value.withView { view throws(DatabaseError) in try list.append([view]) } }
        }
        for (name, value) in [("ss", Value.string(text(n, size))), ("si", .int(Int64(n))), ("sm", mixed(n, 9, [4]))] {
            let set = try #require(try doc.collection(name) as? LiveSet)
            try set.put(value)
            if name == "si" { try set.put(.int(-1)) }
        }
        for (name, value) in [
            ("md", Value.decimal(Decimal128(Int64(n)))), ("ms", .string(text(n, size))), ("mm", mixed(n, size, bytes)),
        ] {
            let map = try #require(try doc.collection(name) as? LiveMap)
            _ = try map.put("key", value)
            if name == "md" { _ = try map.put("null", .null) }
        }
        if n % 9 == 2 {
            let homes = try #require(try doc.collection("homes") as? LiveList)
            for _ in 0 ..< 3 { _ = try homes.embeddedAppend().set("street", to: .string("row \(n)")) }
        }
    }
}
