/// Objects as CSV by RFC 4180, in the form that `CSVImport` reads: a header, then a line an object.
///
/// Null is an empty field, an empty string a quoted one. A link is the primary key of its target, `#` and a number
/// where there is none; collections, embedded objects and mixed values are JSON.
import MotteLiveObjects
import MotteSchemaModel
import MotteStorage
import MotteValues

package struct CSVExport {
    package struct Options: Sendable {
        package var delimiter = UInt8(ascii: ",")
        /// Texts that are quoted, because an import takes them for null.
        package var null = "NA"

        package init() {}
    }

    private let session: Session
    private let columns: [ColumnPath]
    private let options: Options
    private var json: JSONExport

    package init(_ session: Session, _ columns: [ColumnPath], _ options: Options = Options()) throws(DatabaseError) {
        self.session = session
        self.columns = columns
        self.options = options
        json = try JSONExport(session)
    }

    package func header(to sink: inout ByteSink) {
        for (index, column) in columns.enumerated() {
            if index > 0 { sink.append(options.delimiter) }
            column.text.withUTF8Bytes { field($0, to: &sink) }
        }
        sink.append("\n")
    }

    package mutating func collection(
        _ collection: LiveCollection, to sink: inout ByteSink,
        progress: ((Int) throws(DatabaseError) -> Void)? = nil
    ) throws(DatabaseError) {
        guard let table = collection.target else {
            throw DatabaseError(.wrongType, "only objects are written as CSV; this holds plain values")
        }
        let progress = session.reading(by: progress)
        header(to: &sink)
        let count = try collection.count()
        for index in 0 ..< count {
            session.releaseMemory()
            if (index + 1) & 0xFFF == 0 { try progress?(index + 1) }
            guard let object = try collection.object(at: index) else { continue }
            try row(ObjectLink(table: table, key: object.key), to: &sink)
            try sink.flushIfFull()
        }
        try progress?(count)
    }

    package mutating func row(_ object: ObjectLink, to sink: inout ByteSink) throws(DatabaseError) {
        for (index, column) in columns.enumerated() {
            if index > 0 { sink.append(options.delimiter) }
            guard let owner = try column.owner(of: object, in: session) else { continue }
            try cell(owner, column.property, to: &sink)
        }
        sink.append("\n")
    }

    private mutating func cell(
        _ owner: ObjectLink, _ property: Property, to sink: inout ByteSink
    ) throws(DatabaseError) {
        guard property.collection == .none, property.type != .mixed, let column = property.columnKey,
            try !holdsEmbedded(property)
        else {
            // Null is an empty field, whatever stands in others.
            if property.collection == .none, property.type == .link, let column = property.columnKey,
                try session.value(owner.table, column, owner.key).isNull
            {
                return
            }
            var text = ByteSink()
            try json.property(owner, property, to: &text)
            return text.bytes.withUnsafeBytes { field($0, to: &sink) }
        }
        let view = try session.value(owner.table, column, owner.key)
        if view.isNull { return }
        var text = ByteSink()
        try PlainText.write(view, in: session, to: &text)
        if view.kind == .link, text.bytes.isEmpty { try requireName(of: view.linkValue, property) }
        text.bytes.withUnsafeBytes { field($0, to: &sink) }
    }

    /// An empty field is null, and an empty text may be another object's key.
    private func requireName(of link: ObjectLink, _ property: Property) throws(DatabaseError) {
        guard let target = try session.schema[link.table], let key = target.primaryKey?.columnKey,
            try session.value(link.table, key, link.key).isNull
        else { return }
        throw DatabaseError(
            .invalidArgument,
            "'\(property.name)' links to the \(target.name) whose primary key is null, which CSV has no name for; "
                + "export JSON, or leave the column out", propertyName: property.name)
    }

    /// An embedded object has no key to be named by; it is written in place, as JSON does.
    private func holdsEmbedded(_ property: Property) throws(DatabaseError) -> Bool {
        guard property.type == .link, let target = property.target else { return false }
        return try session.schema[target]?.isEmbedded ?? false
    }

    func field(_ text: UnsafeRawBufferPointer, to sink: inout ByteSink) {
        var needsQuotes = text.isEmpty || text.elementsEqual(options.null.utf8)
        for byte in text where byte == options.delimiter || byte == 0x22 || byte == 0x0A || byte == 0x0D {
            needsQuotes = true
            break
        }
        guard needsQuotes else { return sink.append(text) }
        sink.append("\"")
        for byte in text {
            if byte == 0x22 { sink.append(byte) }
            sink.append(byte)
        }
        sink.append("\"")
    }
}
