// Writes the file with lengths of lists in one and two bytes and ints of declared widths, and what is in it as text.
// Part of no target here: Tests/Compatibility/make-files.sh copies
// it among the tests and runs it.
import MotteLiveObjects
import MotteSchemaModel
import MotteStorage
import MotteValues
import TestSupport
import Testing

@Suite struct PackedFileWriter {
    let schema = """
        Item { id: int key, small: int8?, half: int16, word: int32, name: string, ls: list<string?>, li: list<int>,
               lt: list<timestamp>, si: set<int>, ms: map<string?>, next: link<Item>, some: list<Item>,
               back: inverse<Item.next> }
        Many { l: list<bool> }
        """

    @Test func write() throws { try CompatibilityText.makeFile("packed", schema, fill) }

    private func fill(_ session: Session) throws {
        var made: [LiveObject] = []
        try session.inWrite {
            for n in 0 ..< 200 {
                let item = try session.add(
                    "Item",
                    [
                        "id": .int(Int64(n) - 50), "small": n % 7 == 0 ? .null : .int(Int64(n % 200) - 100),
                        "half": .int(Int64(n) * 100 - 10_000), "word": .int(Int64(n) * 1_000_003 - 100_000_000),
                        "name": .string("item \(n % 11)"),
                    ])
                made.append(item)
                if n > 2 { try item.set("next", to: .link(made[n / 3])) }
                try fill(item, n, made)
            }
        }
        // More than two clusters in either form; most lists empty, so that lengths are a byte.
        try session.inWrite {
            for n in 0 ..< 2_000 {
                let many = try session.add("Many")
                let list = try #require(try many.collection("l") as? LiveList)
                for bit in 0 ..< n % 5 / 2 { try list.append(.bool(n % 3 == bit)) }
            }
        }
        // A list in a tree of its own, whose length says so; lists of more elements than a byte counts; and gaps.
        try session.inWrite {
            let list = try #require(try made[9].collection("li") as? LiveList)
            for n in 0 ..< 700 { try list.append(.int(Int64(n) << 20)) }
            let strings = try #require(try made[11].collection("ls") as? LiveList)
            for n in 0 ..< 256 { try strings.append(n % 9 == 0 ? .null : .string("e\(n)")) }
            for n in 30 ..< 36 { try made[n].delete() }
        }
    }

    private func fill(_ item: LiveObject, _ n: Int, _ made: [LiveObject]) throws {
        let lists: [(String, Value)] = [
            ("ls", n % 4 == 0 ? .null : .string("text \(n)")), ("li", .int(Int64(n))),
            ("lt", .timestamp(Timestamp(seconds: Int64(n) * 86_400 - 1_000_000, nanoseconds: n % 2 == 0 ? 0 : 7))),
        ]
        for (place, (name, value)) in lists.enumerated() {
            let list = try #require(try item.collection(name) as? LiveList)
            for _ in 0 ..< (n + place) % 4 { try list.append(value) }
        }
        let set = try #require(try item.collection("si") as? LiveSet)
        for number in 0 ..< n % 3 { try set.put(.int(Int64(number * n))) }
        let map = try #require(try item.collection("ms") as? LiveMap)
        if n % 2 == 0 { _ = try map.put("key", .string("value \(n)")) }
        if n % 5 == 0 { _ = try map.put("none", .null) }
        let some = try #require(try item.collection("some") as? LiveList)
        for friend in made.suffix(n % 3) { try some.append(friend) }
    }
}
