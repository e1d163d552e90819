// Names that look alike, and names that begin with a combining mark, in JSON, CSV and SQLite files.
import MotteExchange
import MotteLiveObjects
import MotteSchemaModel
import MotteValues
import TestSupport
import Testing

@Suite struct NamesByBytesTests {
    private let composed = "\u{E9}"
    private let decomposed = "e\u{301}"

    /// A text as its bytes: == takes letters that look alike for the same.
    private func expectSame(_ text: String, _ expected: String) { #expect(text.hasSameBytes(as: expected), "\(text)") }

    @Test func chosenPropertiesOfJSON() throws {
        let session = try TestStore(schema: "Row { id: int key, \(composed): int, \(decomposed): int }").open()
        try session.importJSON("Row", "[{\"id\": 1, \"\(composed)\": 2, \"\(decomposed)\": 3}]")
        for (name, value) in [(composed, 2), (decomposed, 3)] {
            var options = JSONExport.Options()
            options.properties = [name]
            var export = try JSONExport(session, options)
            var sink = ByteSink()
            try export.collection(try session.objects("Row"), form: .lines, to: &sink)
            expectSame(sink.string, "{\"\(name)\":\(value)}\n")
        }
    }

    @Test func classesAndPropertiesInSQLite() throws {
        let session = try TestStore(
            schema: """
                \(composed) { id: int key, tags: list<int>, \(composed): int, \(decomposed): int }
                \(decomposed) { id: int key, tags: list<int>, \(composed): int, \(decomposed): int }
                """
        ).open()
        for (number, name) in [composed, decomposed].enumerated() {
            try session.importJSON(
                name,
                """
                [{"id": \(number), "tags": [\(number), 7], "\(composed)": 1\(number), "\(decomposed)": 2\(number)}]
                """)
        }
        let directory = TemporaryDirectory()
        let path = directory.file("names.sqlite")
        try SQLiteExport.write(session, to: path)

        #expect(try SQLiteSource(path).notes.isEmpty)
        expectSame(try imported(path).dumpJSON(), try session.dumpJSON())
        withExtendedLifetime(directory) {}
    }

    @Test func namesThatBeginWithACombiningMark() throws {
        let marked = "\u{301}x"
        let session = try TestStore(schema: "Row { id: int key, `\(marked)`: int, next: link<Row> }").open()
        try session.importJSON("Row", "[{\"id\": 1, \"\(marked)\": 2}, {\"id\": 3, \"next\": 1}]")
        let type = try session.schema.type(named: "Row")
        let path = try ColumnPath("next.\(marked)", of: type, in: try session.schema)
        expectSame(path.property.name, marked)
        let sections = try session.objects("Row").sectioned(by: "next.\(marked)")
        #expect(try sections.layout().count == 2)
    }
}
