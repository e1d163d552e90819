// Writes the file with ordered indexes of several properties, descending, unique and folded, and what is in it as text.
// Part of no target here: Tests/Compatibility/make-files.sh copies it among the tests and runs it.
import MotteLiveObjects
import MotteSchemaModel
import MotteStorage
import MotteValues
import TestSupport
import Testing

@Suite struct IndexesFileWriter {
    let schema = """
        Person { id: int key, name: string?, age: int, mail: string? unique, at: timestamp, price: decimal?,
            indexed(name, age desc), indexed(name [c], age), indexed(name [cd]), indexed(at desc), indexed(price, at),
            unique(age, id) }
        """

    @Test func write() throws { try CompatibilityText.makeFile("indexes", schema, fill) }

    private func fill(_ session: Session) throws {
        let names = [
            "Ada", "ADA", "ada", "\u{C1}da", "Bob", "\u{130}zmir", "a\0b", String(repeating: "long ", count: 120),
        ]
        var made: [LiveObject] = []
        try session.inWrite {
            for n in 0 ..< 3_000 {
                made.append(
                    try session.add(
                        "Person",
                        [
                            "id": .int(Int64(n)), "name": n % 9 == 0 ? .null : .string(names[n % 8]),
                            "age": .int(Int64(n % 90)), "mail": n % 5 == 0 ? .null : .string("mail \(n * 7 % 3_000)"),
                            "at": .timestamp(Timestamp(seconds: Int64(n % 40), nanoseconds: UInt32(n % 3))),
                            "price": n % 4 == 0 ? .null : .decimal(Decimal128(Int64(n % 25))),
                        ]))
            }
        }
        // Entries that come and go in blocks that are there.
        try session.inWrite {
            for n in stride(from: 0, to: 3_000, by: 11) { try made[n].set("name", to: .string("late \(n % 4)")) }
            for n in stride(from: 5, to: 3_000, by: 301) { try made[n].delete() }
            try session.add("Person", ["id": .int(-1), "name": .string("aDA"), "mail": .string("last")])
        }
    }
}
