/// Imports read the usual forms in place and large texts on a thread of their own: the objects, the classes and the
/// mistakes are those of the plain way, whatever the text is.
import MotteExchange
import MotteLiveObjects
import MotteSchemaModel
import MotteValues
import TestSupport
import Testing

@Suite struct ImportPathsTests {
    private static let schema = """
        T { name: string, age: int, score: double?, active: bool, at: timestamp?, small: int16?, note: string?,
            tags: list<int> }
        """
    private static let columns = ["name", "age", "score", "active", "at", "small", "note", "tags"]

    // MARK: Random texts

    private func digits(_ count: Int, _ random: inout SeededRandom) -> String {
        (0 ..< max(count, 1)).map { _ in String(random.below(10)) }.joined()
    }

    private func number(_ random: inout SeededRandom) -> String {
        switch random.below(8) {
        case 0: return "0"
        case 1: return "-\(random.below(1_000))"
        case 2: return "\(Double(random.below(1_000_000)) / 997)"
        case 3: return "\(random.below(100)).\(digits(random.below(20), &random))"
        case 4: return digits(random.below(21), &random)
        case 5: return "-0.\(digits(random.below(18), &random))"
        case 6: return "\(random.below(100))e\(random.below(30) - 15)"
        default: return "\(random.below(100))"
        }
    }

    private func word(_ random: inout SeededRandom) -> String {
        let letters = ["a", "Z", " ", "é", "\t", "ж", "日", "0", "-", ".", "😀"]
        return (0 ..< random.below(20)).map { _ in random.chance(80) ? "x" : random.pick(letters) }.joined()
    }

    /// A cell's text and the JSON of the same; of a sound one, a value that the column takes.
    private func cell(_ column: String, isSound: Bool, _ random: inout SeededRandom) -> (csv: String, json: String) {
        let mayBeNull = !isSound || ["score", "at", "note", "tags"].contains(column)
        if mayBeNull, random.chance(4) { return ("", "null") }
        switch column {
        case "name", "note":
            let word = word(&random)
            let isQuoted = random.chance(20) || word.isEmpty
            let json = word.split(separator: "\t", omittingEmptySubsequences: false).joined(separator: "\\t")
            return (isQuoted ? "\"\(word)\(random.chance(30) ? "\n" : "")\"" : word, "\"\(json)\"")
        case "age" where isSound || random.chance(95), "small" where isSound || random.chance(95):
            let int = "\(random.below(200) - 100)"
            return (int, int)
        case "active":
            let word = random.chance(50) ? "true" : "false"
            return (random.chance(10) ? word.uppercased() : word, word)
        case "at":
            let day = "2013-01-0\(random.below(9) + 1)"
            return (day, "\"\(day)\"")
        case "tags":
            let list = "[\(random.below(9))]"
            return (list, list)
        default:
            let number = number(&random)
            return JSONNumber.takes(number) || !isSound ? (number, number) : ("1.5", "1.5")
        }
    }

    private func csv(_ rows: Int, _ random: inout SeededRandom) -> String {
        let isSound = random.chance(60)
        let end = random.chance(70) ? "\n" : "\r\n"
        var lines = [Self.columns.joined(separator: ",")]
        for _ in 0 ..< rows {
            lines.append(Self.columns.map { cell($0, isSound: isSound, &random).csv }.joined(separator: ","))
            if random.chance(1) { lines.append("") }
        }
        return lines.joined(separator: end) + (random.chance(50) ? end : "")
    }

    /// Ornamented means the same and is read by the whole grammar.
    private func json(_ rows: Int, _ random: inout SeededRandom) -> (plain: String, ornamented: String) {
        let isSound = random.chance(60)
        var plain = ""
        var ornamented = ""
        for _ in 0 ..< rows {
            var names = Self.columns.filter { _ in !random.chance(5) }
            if random.chance(5) { names.shuffle(using: &random) }
            let values = names.map { ($0, cell($0, isSound: isSound, &random).json) }
            let space = random.chance(30) ? " " : ""
            plain += "{" + values.map { "\"\($0)\":\(space)\($1)" }.joined(separator: ",\(space)") + "}\n"
            ornamented +=
                "{ "
                + values.map { name, value in
                    "\"\\u00" + String(name.utf8.first ?? 0, radix: 16) + "\(name.dropFirst())\" : \(value) "
                }.joined(separator: " , ") + "}\n"
        }
        return (plain, ornamented)
    }

    private func spoiled(_ text: String, _ random: inout SeededRandom) -> [UInt8] {
        var bytes = Array(text.utf8)
        guard !bytes.isEmpty, random.chance(60) else { return bytes }
        let index = random.below(bytes.count)
        switch random.below(3) {
        case 0: bytes.remove(at: index)
        case 1: bytes[index] = random.pick(Array("\"\\,\n\r{}[]x5-. \u{1}".utf8) + [0xC3, 0xFF])
        default: bytes.insert(random.pick(Array("\",\n}7".utf8)), at: index)
        }
        return bytes
    }

    // MARK: Ways to read them

    /// What became of it: the whole database, or the mistake.
    private func outcome(_ body: (Session) throws -> ImportOutcome) throws -> String {
        let session = try TestStore(schema: Self.schema).open()
        defer { _ = try? session.close() }
        do {
            let outcome = try session.inWrite { try body(session) }
            return "\(outcome) \(try session.dumpJSON())"
        } catch let error as DatabaseError {
            #expect(try session.objects("T").count() == 0)
            return "\(error.code) \(error.message)"
        }
    }

    private func importCSV(_ text: [UInt8], ahead: Int, batch: Int, null: String = "NA") throws -> String {
        var options = CSVImport.Options()
        options.readsAheadFrom = ahead
        options.batchRows = batch
        options.null = null
        return try outcome { session in
            let importer = try CSVImport(session, into: try session.tableKey("T"), options)
            try text.withUnsafeBytes { try importer.run($0) }
            return importer.outcome
        }
    }

    private func importJSON(_ text: [UInt8], ahead: Int, batch: Int, parts: Int = 1) throws -> String {
        var options = JSONImport.Options()
        options.readsAheadFrom = ahead
        options.batchRows = batch
        return try outcome { session in
            let importer = try JSONImport(session, into: try session.tableKey("T"), options)
            guard parts > 1 else {
                try text.withUnsafeBytes { try importer.run($0) }
                return importer.outcome
            }
            for start in stride(from: 0, to: text.count, by: text.count / parts + 1) {
                let part = text[start ..< min(start + text.count / parts + 1, text.count)]
                try part.withUnsafeBytes { try importer.feed($0) }
            }
            try importer.finish()
            return importer.outcome
        }
    }

    private func inferred(_ text: [UInt8], ahead: Int, null: String = "NA") throws -> String {
        var options = CSVImport.Options()
        options.readsAheadFrom = ahead
        options.null = null
        do {
            let type = try text.withUnsafeBytes { try CSVInference.objectType(named: "T", $0, options) }
            return type.properties.map(SchemaText.print).joined(separator: ", ")
        } catch let error as DatabaseError {
            return "\(error.code) \(error.message)"
        }
    }

    // MARK: Tests

    @Test func allWaysToReadCSVAgree() throws {
        try PropertyTest.run(rounds: 60) { random, comment in
            let text = spoiled(csv(random.below(120), &random), &random)
            let batch = 1 + random.below(40)
            let plain = try importCSV(text, ahead: .max, batch: batch)
            #expect(try importCSV(text, ahead: 0, batch: batch) == plain, "\(comment)")
            // No cell is just that, and numbers are not read in place beside it.
            #expect(try importCSV(text, ahead: .max, batch: batch, null: "-.-") == plain, "\(comment)")
        }
    }

    @Test func allWaysToReadJSONAgree() throws {
        try PropertyTest.run(rounds: 60) { random, comment in
            let (plain, ornamented) = json(random.below(120), &random)
            let batch = 1 + random.below(40)
            let whole = try importJSON(Array(plain.utf8), ahead: .max, batch: batch)
            let other = try importJSON(Array(ornamented.utf8), ahead: .max, batch: batch)
            // A mistake is in another column there, and lines are the same.
            let isRead = whole.hasPrefix("ImportOutcome")
            #expect(isRead ? whole == other : !other.hasPrefix("ImportOutcome"), "\(comment)")
            let text = spoiled(plain, &random)
            let read = try importJSON(text, ahead: .max, batch: batch)
            #expect(try importJSON(text, ahead: 0, batch: batch) == read, "\(comment)")
        }
    }

    @Test func partsOfJSONAreReadAheadToo() throws {
        try PropertyTest.run(rounds: 10) { random, comment in
            let text = Array(json(300, &random).plain.utf8)
            let whole = try importJSON(text, ahead: .max, batch: 1_000)
            let parts = try importJSON(text, ahead: 0, batch: 1_000, parts: 3)
            if whole.hasPrefix("ImportOutcome") { #expect(parts == whole, "\(comment)") }
        }
    }

    @Test func partsOfCSVAreInferredAsAWhole() throws {
        try PropertyTest.run(rounds: 100) { random, comment in
            let text = spoiled(csv(random.below(100), &random), &random)
            let whole = try inferred(text, ahead: .max)
            #expect(try inferred(text, ahead: 0) == whole, "\(comment)")
            #expect(try inferred(text, ahead: .max, null: "-.-") == whole, "\(comment)")
        }
    }

    /// A progress callback may end the import; the thread that reads ahead ends with it.
    @Test func progressIsNotifiedAndMayEndIt() throws {
        let text = Array(("name,age\n" + String(repeating: "x,1\n", count: 5_000)).utf8)
        let session = try TestStore(schema: "T { name: string, age: int }").open()
        var options = CSVImport.Options()
        options.readsAheadFrom = 0
        options.batchRows = 100
        var notified: [Int] = []
        options.progress = { rows, position throws(DatabaseError) in
            #expect(position == 9 + rows * 4)
            notified.append(rows)
            if rows == 2_000 { throw DatabaseError(.callback, "enough") }
        }
        let importer = try CSVImport(session, into: try session.tableKey("T"), options)
        let error = #expect(throws: DatabaseError.self) {
            try session.inWrite { try text.withUnsafeBytes { try importer.run($0) } }
        }
        #expect(error?.code == .callback)
        #expect(notified == Array(stride(from: 100, through: 2_000, by: 100)))
        #expect(try session.objects("T").count() == 0)
    }
}

extension JSONNumber {
    fileprivate static func takes(_ text: String) -> Bool {
        Array(text.utf8).withUnsafeBytes { JSONNumber(exactly: $0)?.double != nil }
    }
}
