/// Change batches of classes with unique properties: values that went from one object to another between the versions
/// of a batch, and values that somebody else has.
import MotteSchemaModel
import MotteStorage
import MotteValues
import TestSupport
import Testing

@Suite struct ChangeBatchUniqueTests {
    typealias Store = ChangeBatchTests.Store

    static let schema = "Person { id: int key, mail: string? unique, age: int }"

    /// The class, and its objects by one of their properties.
    private struct Persons {
        let table: TableKey
        let mail: ColumnKey
        let view: TableView

        init(_ write: WriteTransaction) throws {
            let type = try #require(write.catalog.schema["Person"])
            table = try #require(type.tableKey)
            mail = try #require(type.property(named: "mail")?.columnKey)
            view = try write.table(table)
        }

        func first(_ property: String, _ value: Value) throws -> ObjectKey? {
            let column = try #require(view.type.property(named: property)?.columnKey)
            return try ChangeBatchTests.liveKeys(view).first { try view.value(column, $0).owned == value }
        }
    }

    private static func put(_ write: WriteTransaction, _ id: Int64, _ mail: String?) throws {
        let persons = try Persons(write)
        let key = try persons.first("id", .int(id)) ?? write.create(persons.table, primaryKey: .int(id))
        let value = mail.map { Value.string($0) } ?? .null
        try value.withView { try write.set(persons.table, persons.mail, key, to: $0) }
    }

    private static func remove(_ write: WriteTransaction, _ id: Int64) throws {
        let persons = try Persons(write)
        if let key = try persons.first("id", .int(id)) { _ = try write.delete(persons.table, [key.rawValue]) }
    }

    @Test func valuesGoFromOneObjectToAnother() throws {
        let origin = try Store(Self.schema)
        try origin.write { try $0.keepChanges(since: Version(0)) }
        try origin.write { write in for id in Int64(1) ... 4 { try Self.put(write, id, "\(id)") } }
        let other = try Store()
        try other.apply(try origin.batch(from: Version(0)))
        let start = origin.version
        try origin.write { write in
            // 1 and 2 exchange theirs; that of 3, which goes, is that of a new one; 4 gets the former one of 5.
            try Self.put(write, 1, nil)
            try Self.put(write, 2, "1")
            try Self.put(write, 1, "2")
            try Self.remove(write, 3)
            try Self.put(write, 5, "3")
        }
        #expect(try other.apply(try origin.batch(from: start)) == .applied)
        #expect(try ChangeBatchTests.dump(other.snapshot) == ChangeBatchTests.dump(origin.snapshot))
        // The rule holds as before.
        let error = #expect(throws: DatabaseError.self) { try other.write { try Self.put($0, 9, "3") } }
        #expect(error?.code == .duplicateValue)
    }

    @Test func aValueThatSomebodyElseHasIsRefused() throws {
        let origin = try Store(Self.schema)
        try origin.write { try $0.keepChanges(since: Version(0)) }
        try origin.write { try Self.put($0, 1, "a") }
        let other = try Store()
        try other.apply(try origin.batch(from: Version(0)))
        try other.write { try Self.put($0, 70, "b") }
        let start = origin.version
        try origin.write { write in
            try Self.put(write, 2, "b")
            try Self.put(write, 1, "c")
        }
        let before = try ChangeBatchTests.dump(other.snapshot)
        #expect(try other.code(applying: try origin.batch(from: start)) == .duplicateValue)
        #expect(try ChangeBatchTests.dump(other.snapshot) == before)
        // What is in the way goes, and the same batch is applied.
        try other.write { try Self.remove($0, 70) }
        #expect(try other.apply(try origin.batch(from: start)) == .applied)
        #expect(try ChangeBatchTests.dump(other.snapshot) == ChangeBatchTests.dump(origin.snapshot))
    }

    @Test func randomHistoriesOfUniqueValues() throws {
        try PropertyTest.run(rounds: 60) { random, comment in
            let origin = try Store(Self.schema)
            try origin.write { try $0.keepChanges(since: Version(0)) }
            let other = try Store()
            var known = Version(0)
            for _ in 0 ..< 12 {
                try origin.write { write in
                    for _ in 0 ..< 1 + random.below(8) {
                        let id = Int64(random.below(7))
                        if random.chance(25) {
                            try Self.remove(write, id)
                        } else {
                            let mail = random.chance(20) ? nil : "\(random.below(7))"
                            // Whoever has it loses it, so that values go round.
                            if let mail { try Self.take(write, mail) }
                            try Self.put(write, id, mail)
                        }
                    }
                }
                guard random.chance(50) else { continue }
                try other.apply(try origin.batch(from: known))
                known = origin.version
                let (one, two) = (
                    try ChangeBatchTests.dump(other.snapshot), try ChangeBatchTests.dump(origin.snapshot)
                )
                #expect(one == two, "\(comment)")
            }
        }
    }

    private static func take(_ write: WriteTransaction, _ mail: String) throws {
        let persons = try Persons(write)
        guard let key = try persons.first("mail", .string(mail)) else { return }
        try Value.null.withView { try write.set(persons.table, persons.mail, key, to: $0) }
    }
}
