/// The first line of a dump, which makes it a whole database: the form's number and the schema as text.
///
///     {"$motte":1,"schema":"Person {\n    id: int key,\n}\n"}
import MotteSchemaModel
import MotteValues

package struct StoreDumpHeader {
    package static let form: Int64 = 1
    package let schema: Schema

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
            if key.raw.elementsEqual("schema".utf8), try reader.peek() == .string {
                text = String(decoding: try scalars.text(&reader), as: UTF8.self)
            } else {
                _ = try reader.skip()
            }
        }
        guard let text else { throw reader.failure("the header of a dump has no \"schema\"") }
        schema = try SchemaText.parse(text).validated()
    }

    static func write(_ schema: Schema, to sink: inout ByteSink) {
        sink.append("{\"$motte\":")
        sink.append(form)
        sink.append(",\"schema\":")
        JSONValueWriter.string(SchemaText.print(schema), to: &sink)
        sink.append("}\n")
    }
}
