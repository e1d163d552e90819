/// Names of columns in one text, as `--columns` and the shell's `select` have them: with commas between them, and links
/// followed by dots. A name that has a comma, or a space at one of its ends, stands in backquotes, as in queries.
import ArgumentParser
import MotteExchange
import MotteQueryEngine
import MotteSchemaModel
import MotteValues

struct ColumnList {
    /// Names with dots between them, which no name has in it.
    private(set) var paths: [String] = []
    private(set) var hasQuotes = false
    private let bytes: [UInt8]
    private let source: QuerySource
    private var position = 0

    init(_ text: String) throws(DatabaseError) {
        bytes = Array(text.utf8)
        source = QuerySource(text)
        repeat {
            let path = try path()
            if !path.isEmpty { paths.append(path) }
        } while take(",")
    }

    func columns(of type: ObjectType, in schema: Schema) throws(DatabaseError) -> [ColumnPath] {
        var columns: [ColumnPath] = []
        for path in paths { columns.append(try ColumnPath(path, of: type, in: schema)) }
        return columns
    }

    private mutating func path() throws(DatabaseError) -> String {
        skipSpaces()
        var steps: [String] = []
        repeat { steps.append(try step()) } while take(".")
        return steps.joined(separator: ".")
    }

    private mutating func step() throws(DatabaseError) -> String {
        let start = position
        guard position < bytes.count, bytes[position] == UInt8(ascii: "`") else {
            while position < bytes.count, !",.".utf8.contains(bytes[position]) { position += 1 }
            let step = String(decoding: bytes[start ..< position], as: UTF8.self)
            return position < bytes.count && bytes[position] == UInt8(ascii: ".") ? step : step.withoutSpacesAtEnd
        }
        let read = try QuotedText(bytes, at: position, in: source)
        position = read.end
        skipSpaces()
        hasQuotes = true
        guard position == bytes.count || ",.".utf8.contains(bytes[position]) else {
            throw source.error(
                .invalidArgument, "behind a name in backquotes stands a comma or a dot", at: SourcePosition(position))
        }
        return read.text
    }

    private mutating func skipSpaces() {
        while position < bytes.count, bytes[position] <= 0x20 { position += 1 }
    }

    private mutating func take(_ mark: Unicode.Scalar) -> Bool {
        guard position < bytes.count, UInt32(bytes[position]) == mark.value else { return false }
        position += 1
        return true
    }
}

struct ColumnOption: ParsableArguments {
    @Option(
        name: .customLong("columns"),
        help: ArgumentHelp(
            "Columns, separated by commas; links are followed by dots, and a name with a comma stands in backquotes.",
            valueName: "columns"))
    var text: String?

    func validate() throws {
        guard let text else { return }
        let list: ColumnList
        do { list = try ColumnList(text) } catch { throw ValidationError("--columns: \(error.message)") }
        guard !list.paths.isEmpty else {
            throw ValidationError("--columns names none; leave it out for all that are stored")
        }
    }

    /// nil: all that are stored.
    func list() throws(DatabaseError) -> ColumnList? {
        try text.map { text throws(DatabaseError) in try ColumnList(text) }
    }
}
