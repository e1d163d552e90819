/// The first line of a dump, which makes it a whole database: the form's number and the schema as text, with the number
/// that users gave it unless that is 0. In a dump that is one JSON document, the header has the objects as well.
///
///     {"$motte":1,"schema":"Person {\n    id: int key,\n}\n"}
///     {"$motte":1,"schema_version":3,"schema":"Person {\n    id: int key,\n}\n","objects":[
///      {"$class":"Person","id":1}
///     ]}
import MotteSchemaModel
import MotteValues

package struct StoreDumpHeader {
    package static let form: Int64 = 1
    package let schema: Schema
    package private(set) var schemaVersion: UInt64 = 0
    /// Of a document: stands before the first object.
    private(set) var objects: JSONReader?

    /// nil when the text does not begin with a header.
    package init?(_ text: UnsafeRawBufferPointer) throws(DatabaseError) {
        var reader = JSONReader(text)
        reader.skipByteOrderMark()
        guard !reader.isAtEnd, try reader.peek() == .object else { return nil }
        try self.init(beginning: reader)
    }

    init?(beginning reader: JSONReader) throws(DatabaseError) {
        var reader = reader
        try reader.beginObject()
        guard let first = try reader.nextKey(), first.raw.elementsEqual("$motte".utf8) else { return nil }
        guard try reader.peek() == .number, let form = try reader.number().int else {
            throw reader.failure("\"$motte\" is the number of the form")
        }
        guard form == Self.form else {
            throw DatabaseError(
                .unsupportedFormat, "this dump has form \(form), this library reads form \(Self.form); use a newer one")
        }
        let scalars = JSONScalarReader(arena: ByteArena())
        var text: String?
        while let key = try reader.nextKey() {
            // What later versions add to the header is passed over.
            switch (String(decoding: key.raw, as: UTF8.self), try reader.peek()) {
            case ("schema", .string): text = String(decoding: try scalars.text(&reader), as: UTF8.self)
            case ("schema_version", .number): schemaVersion = try Self.version(&reader)
            case ("objects", .array):
                guard text != nil else { throw reader.failure("\"objects\" stand behind the \"schema\" of a dump") }
                objects = reader
            default: _ = try reader.skip()
            }
            // They are read one by one.
            if objects != nil { break }
        }
        guard let text else { throw reader.failure("the header of a dump has no \"schema\"") }
        schema = try SchemaText.parse(text).validated()
    }

    private static func version(_ reader: inout JSONReader) throws(DatabaseError) -> UInt64 {
        guard let version = UInt64(try reader.number().string) else {
            throw reader.failure("\"schema_version\" is a whole number from 0 on")
        }
        return version
    }

    static func write(
        _ schema: Schema, version: UInt64 = 0, as form: JSONExport.Form = .lines, to sink: inout ByteSink
    ) {
        sink.append("{\"$motte\":")
        sink.append(Self.form)
        if version > 0 {
            sink.append(",\"schema_version\":")
            sink.append(text: "\(version)")
        }
        sink.append(",\"schema\":")
        JSONValueWriter.string(SchemaText.print(schema), to: &sink)
        form == .array ? sink.append(",\"objects\":[") : sink.append("}\n")
    }
}
