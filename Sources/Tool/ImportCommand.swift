/// `motte import`: the rows of a CSV file as objects of one class, all of them or none.
import ArgumentParser
import Foundation
import MotteLiveObjects
import MotteSchemaModel
import MotteValues

struct ImportCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import", abstract: "Import a CSV file with a header line as objects of a class.",
        discussion: """
            A class that the file lacks is made, with types inferred from the rows. Everything is one transaction: a row
            that does not fit leaves the file as it was.
              motte import people.motte Person people.csv --key id
            """)

    @Argument(help: "The Motte file; made if it is not there.") var file: String
    @Argument(help: "The class.") var className: String
    @Argument(help: "The CSV file.") var csv: String
    @Option(help: "The column that becomes the primary key of a new class.") var key: String?
    @Option(help: "Text that stands for null, beside the empty field.") var null = "NA"
    @Option(help: "What separates fields, one character.") var delimiter = ","

    func run() throws {
        try reportingErrors {
            guard let separator = delimiter.utf8.first, delimiter.utf8.count == 1 else {
                throw DatabaseError(.invalidArgument, "the delimiter must be one ASCII character")
            }
            guard let bytes = try? Data(contentsOf: URL(fileURLWithPath: csv), options: .alwaysMapped) else {
                throw DatabaseError(
                    .fileNotFound, "cannot read '\(csv)'; check the path and its permissions", path: csv)
            }
            var reader = CSVReader(bytes, delimiter: separator)
            var header: [String] = []
            guard try reader.next(&header) else { throw DatabaseError(.invalidArgument, "'\(csv)' has no header line") }
            let session = try open(header, bytes, separator)
            let count = try insert(&reader, header, session)
            printLine("imported \(count) objects of \(className)")
        }
    }

    /// With a class for the rows; an existing one is taken as it is.
    private func open(_ header: [String], _ bytes: Data, _ separator: UInt8) throws -> Session {
        if FileManager.default.fileExists(atPath: file) {
            let session = try openFile(file, readOnly: false)
            if try session.schema[className] != nil { return session }
            _ = try session.close()
        }
        var reader = CSVReader(bytes, delimiter: separator)
        var fields: [String] = []
        var rows: [[String]] = []
        _ = try reader.next(&fields)
        while try reader.next(&fields) { rows.append(fields) }
        let types = ColumnTypes.infer(rows, columns: header.count, null: null)
        if let key, !header.contains(key) {
            throw DatabaseError(.unknownProperty, "the CSV file has no column '\(key)'")
        }
        let properties = zip(header, types).map { name, column in
            Property(
                name: name, type: column.type, isNullable: column.isNullable && name != key, isPrimaryKey: name == key)
        }
        return try Session.open(
            SessionOptions(path: file, schema: Schema([ObjectType(name: className, properties: properties)])))
    }

    private func insert(_ reader: inout CSVReader, _ header: [String], _ session: Session) throws -> Int {
        let type = try objectType(className, in: session)
        guard let table = type.tableKey else { return 0 }
        let properties = try header.map { try type.requiredProperty(named: $0) }
        let columns = properties.compactMap(\.columnKey)
        try session.beginWrite()
        do {
            var count = 0
            var fields: [String] = []
            let progress = Progress()
            while try reader.next(&fields) {
                guard fields.count == header.count else {
                    throw DatabaseError(
                        .invalidArgument,
                        "\(csv):\(reader.line): \(fields.count) fields where the header has \(header.count)")
                }
                let values = try zip(fields, properties).map { try value($0, $1, line: reader.line) }
                do throws(DatabaseError) {
                    try Self.withViews(values) { views throws(DatabaseError) in
                        _ = try session.insertBatch(table, columns: columns, rows: views, rowCount: 1)
                    }
                } catch { throw DatabaseError(error.code, "\(csv):\(reader.line): \(error.message)") }
                count += 1
                if count & 0x3FFF == 0 { progress.show(reader.fractionRead, count) }
            }
            _ = try session.commit()
            progress.finish()
            return count
        } catch {
            if session.isInWrite { try session.cancel() }
            throw error
        }
    }

    private func value(_ text: String, _ property: Property, line: Int) throws -> Value {
        if text.isEmpty || text == null {
            if property.isNullable { return .null }
            if property.type == .string { return .string(text) }
        }
        guard let value = ColumnTypes.value(text, property.type) else {
            throw DatabaseError(
                .wrongType, "\(csv):\(line): '\(text)' in column \(property.name) is not \(property.type.name)")
        }
        return value
    }

    /// Texts are copied to memory that outlives the call.
    private static func withViews(
        _ values: [Value], _ body: (UnsafePointer<ValueView>?) throws(DatabaseError) -> Void
    ) throws(DatabaseError) {
        var copies: [UnsafeMutableRawBufferPointer] = []
        defer { copies.forEach { $0.deallocate() } }
        let views: [ValueView] = values.map { value in
            value.withView { view in
                guard view.kind == .string || view.kind == .data else { return view }
                let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: view.bytes.count, alignment: 1)
                copy.copyBytes(from: view.bytes)
                copies.append(copy)
                return view.kind == .string
                    ? .string(UnsafeRawBufferPointer(copy)) : .data(UnsafeRawBufferPointer(copy))
            }
        }
        try views.withUnsafeBufferPointer { buffer throws(DatabaseError) in try body(buffer.baseAddress) }
    }
}

/// How far an import is, on a terminal only.
private struct Progress {
    private let isTerminal = isatty(2) == 1

    func show(_ fraction: Double, _ count: Int) {
        guard isTerminal else { return }
        let filled = Int(fraction * 40)
        let bar = String(repeating: "=", count: filled) + String(repeating: " ", count: 40 - filled)
        FileHandle.standardError.write(Data("\r[\(bar)] \(Int(fraction * 100)) % \(count) rows".utf8))
    }

    func finish() {
        if isTerminal { FileHandle.standardError.write(Data("\r\u{1B}[K".utf8)) }
    }
}
