// Rows in any order as Arrow columns: a large batch is read in the order of its keys and arranged, small ones are read
// as they come.
import Glibc
import MotteColumns
import MotteExchange
import MotteLiveObjects
import MotteValues
import TestSupport
import Testing

@Suite struct ArrowOrderTests {
    private static let schema = """
        P { id: int key, at: double, small: int8, short: int16, middle: int32, flag: bool?, real: double?,
            single: float, text: string?, data: data, when: timestamp?, price: decimal?, code: uuid?, oid: objectId?,
            any: mixed, friend: link<P>, tags: list<string?>, flags: list<bool>, prices: map<double>,
            home: link<Home>, homes: list<Home> }
        embedded Home { city: string?, no: int, marks: set<int> }
        """

    @Test func largeBatchesAreThoseOfSmallOnes() throws {
        try PropertyTest.run(rounds: 4) { random, repetition in
            let comment = Comment(rawValue: repetition)
            let session = try TestStore(rowGroupSize: [3, 50][random.below(2)], schema: Self.schema).open()
            try session.importJSON("P", Self.rows(300 + random.below(400), &random))
            let table = try session.tableKey("P")
            try session.inWrite {
                for key in try session.query(table, "small == 7").results().allKeys {
                    try session.delete(table, ObjectKey(key))
                }
            }
            let sorted = try session.query(table, "").results().sorted(by: "at")
            for columns in [nil, ["friend.text", "friend.homes", "id"]] {
                let arranged = try Self.texts(sorted, columns, batchRows: 1 << 17)
                #expect(arranged == (try Self.texts(sorted, columns, batchRows: 100)), comment)
                #expect(arranged.count == (try sorted.count()), comment)
            }
        }
    }

    @Test func anObjectMayBeThereMoreThanOnce() throws {
        let schema = "P { id: int key, text: string, tags: list<int> } L { id: int key, all: list<P> }"
        let session = try TestStore(schema: schema).open()
        var random = SeededRandom(seed: PropertyTest.firstSeed)
        var rows = ""
        for id in 0 ..< 50 { rows += #"{"id": \#(id), "text": "\#(id) is long enough", "tags": [\#(id), 7]}"# + "\n" }
        try session.importJSON("P", rows)
        let ids = (0 ..< 400).map { _ in random.below(50) }
        try session.importJSON("L", #"{"id": 1, "all": \#(ids)}"#)
        let owner = try #require(try session.find(try session.tableKey("L"), primaryKey: .int(1)))
        let list = try owner.collection("all")
        let found = try Self.texts(list, nil, batchRows: 1 << 17)
        #expect(found == ids.map { "\($0) \($0) is long enough [\($0),7]" })
    }

    // MARK: How

    private static func rows(_ count: Int, _ random: inout SeededRandom) -> String {
        var text = ""
        for id in 0 ..< count {
            var fields = ["\"id\": \(id)", "\"at\": \(random.below(1_000_000))", "\"small\": \(random.below(100))"]
            fields += ["\"short\": \(id)", "\"middle\": \(-id * 1_000)", "\"single\": \(random.below(64)).5"]
            let long = String(repeating: "ä", count: random.below(20))
            for (name, value) in [
                ("flag", "\(random.chance(50))"), ("real", "\(random.below(9_999)).25"), ("text", "\"\(long)\""),
                ("when", "\"20\(10 + random.below(80))-01-01T00:00:00.\(100 + random.below(900))Z\""),
                ("price", "\"\(random.below(1_000)).50\""), ("any", "[\(id), {\"a\": \"\(long)\"}]"),
                ("code", "\"00000000-0000-0000-0000-\(100_000_000_000 + random.below(1_000_000))\""),
                ("oid", "\"000000000000\(100_000_000_000 + random.below(1_000_000))\""),
                ("friend", "\(random.below(id + 1))"),
                ("home", "{\"city\": \"\(long)\", \"no\": \(id), \"marks\": [\(id), 3]}"),
            ] where random.chance(70) { fields.append("\"\(name)\": \(value)") }
            fields.append("\"tags\": [" + ["", "\"a\"", "null, \"\(long)\", \"c\""][random.below(3)] + "]")
            fields.append("\"flags\": [" + ["", "true", "false, true, true"][random.below(3)] + "]")
            fields.append("\"prices\": {" + ["", "\"k\": 1.5", "\"a\": 0.5, \"\(id)\": 2.0"][random.below(3)] + "}")
            let homes = ["", "{\"no\": 1}", "{\"no\": 2, \"marks\": [5]}, {\"no\": \(id), \"city\": \"x\"}"]
            fields.append("\"homes\": [" + homes[random.below(3)] + "]")
            fields.append("\"data\": \"AQI=\"")
            text += "{" + fields.joined(separator: ", ") + "}\n"
        }
        return text
    }

    /// Each row of all batches.
    private static func texts(
        _ collection: LiveCollection, _ columns: [String]?, batchRows: Int
    ) throws -> [String] {
        var options = ArrowExport.Options()
        options.columns = columns
        options.batchRows = batchRows
        let export = try ArrowExport(collection, options)
        var rows: [String] = []
        while let batch = try export.next() {
            let columns = zip(batch.children, export.schema.children).map { Column($0, $1) }
            for row in 0 ..< batch.length { rows.append(columns.map { $0.text(row) }.joined(separator: " ")) }
        }
        return rows
    }

    /// A column as a reader of the C data interface sees it.
    private final class Column {
        private let format: String
        private let hasNulls: Bool
        private let buffers: [UnsafeMutableRawPointer?]
        private let children: [Column]

        init(_ data: ArrowData, _ field: ArrowField) {
            format = field.format
            hasNulls = data.nullCount > 0
            buffers = data.takeBuffers()
            children = zip(data.children, field.children).map { Column($0, $1) }
        }

        deinit { for buffer in buffers { free(buffer) } }

        private func load<T: BitwiseCopyable>(_ index: Int, _ type: T.Type) -> T? {
            buffers[1]?.loadUnaligned(fromByteOffset: index * MemoryLayout<T>.stride, as: type)
        }

        private func range(_ index: Int) -> Range<Int> {
            Int(load(index, Int32.self) ?? 0) ..< Int(load(index + 1, Int32.self) ?? 0)
        }

        private func hexadecimal(_ start: UnsafeRawPointer?, _ count: Int) -> String {
            UnsafeRawBufferPointer(start: start, count: count).map { String($0, radix: 16) }.joined(separator: ".")
        }

        func text(_ index: Int) -> String {
            if hasNulls, let bitmap = buffers[0], !BitRuns.bit(bitmap, index) { return "null" }
            switch format {
            case "b": return buffers[1].map { "\(BitRuns.bit($0, index))" } ?? "none"
            case "c": return "\(load(index, Int8.self) ?? -1)"
            case "s": return "\(load(index, Int16.self) ?? -1)"
            case "i", "f": return "\(load(index, Int32.self) ?? -1)"
            case "u": return String(decoding: bytes(range(index)), as: UTF8.self)
            case "z": return hexadecimal(bytes(range(index)).baseAddress, range(index).count)
            case "w:12": return hexadecimal(buffers[1].map { UnsafeRawPointer($0 + index * 12) }, 12)
            case "w:16": return hexadecimal(buffers[1].map { UnsafeRawPointer($0 + index * 16) }, 16)
            case "+s": return "{" + children.map { $0.text(index) }.joined(separator: ",") + "}"
            case "+l", "+m": return "[" + range(index).map { children[0].text($0) }.joined(separator: ",") + "]"
            default: return "\(load(index, Int64.self) ?? -1)"
            }
        }

        private func bytes(_ range: Range<Int>) -> UnsafeRawBufferPointer {
            UnsafeRawBufferPointer(start: buffers[2].map { $0 + range.lowerBound }, count: range.count)
        }
    }
}
