// Every way from one version of a schema to a later one leads to the same content, and leaves nothing behind.
import MotteLiveObjects
import MotteSchemaModel
import MotteStorage
import MotteValues
import TestSupport
import Testing

@Suite struct SchemaHistoryTests {
    @Test func directlyAndStepByStepLeadToTheSameContent() throws {
        try PropertyTest.run(rounds: 1) { random, comment in
            let history = SchemaHistory(&random, count: 20)
            for index in 0 ..< 20 { _ = try SchemaText.parse(history.schemaText(index)).validated() }
            for from in 0 ..< 20 {
                let seed = random.next()
                let steps = try Chain(history, from, seed, comment)
                for to in from + 1 ..< 20 {
                    try steps.migrate(to - 1, to)
                    let direct = try Chain(history, from, seed, comment)
                    try direct.migrate(from, to)
                    let expected = try steps.dump()
                    let found = try direct.dump()
                    if found != expected {
                        let lines = zip(found.split(separator: "\n"), expected.split(separator: "\n"))
                        let first = lines.first { $0 != $1 }
                        Issue.record(
                            """
                            versions \(from) to \(to), \(comment)
                            directly: \(first?.0 ?? "less")
                            in steps: \(first?.1 ?? "less")
                            """)
                        return
                    }
                }
                #expect(try steps.strayPages() == [], "from version \(from), \(comment)")
                #expect(try steps.indexesAgree(), "from version \(from), \(comment)")
            }
        }
    }

    /// A database in memory that goes through versions; the last session keeps it alive.
    private final class Chain {
        private let history: SchemaHistory
        private let location: SessionOptions.Location
        private var session: Session
        private let comment: String

        init(_ history: SchemaHistory, _ first: Int, _ seed: UInt64, _ comment: String) throws {
            self.history = history
            self.comment = comment
            location = .memory("history-\(UInt64.random(in: 0 ... .max))")
            var options = SessionOptions(location, schema: try SchemaText.parse(history.schemaText(first)))
            options.schemaVersion = UInt64(first + 1)
            options.rowGroupSize = 3
            session = try Session.open(options)
            var random = SeededRandom(seed: seed)
            try history.fill(session, first, &random)
        }

        func migrate(_ from: Int, _ to: Int) throws {
            var options = SessionOptions(location)
            try history.migrate(from, to, &options)
            do {
                session = try Session.open(options)
            } catch {
                Issue.record("versions \(from) to \(to), \(comment): \(error)")
                throw error
            }
        }

        func dump() throws -> String { try StoreDump.text(session) }
        func strayPages() throws -> [String] { try session.database.strayPages() }

        /// Whether every indexed value is found where it is.
        func indexesAgree() throws -> Bool {
            for type in try session.schema.objectTypes {
                let table = try session.table(session.tableKey(type.name))
                for property in type.properties where property.hasIndex {
                    guard let column = property.columnKey else { return false }
                    for key in try session.objects(type.name).allKeys {
                        let value = try table.value(column, ObjectKey(key)).owned
                        var found: [Int64] = []
                        try value.withView { try table.indexKeys(column, equal: $0, into: &found) }
                        if !found.contains(key) { return false }
                    }
                }
            }
            return true
        }
    }
}
