/// Arrow data of an export as an import takes it, without the structs of C between them.
import Glibc
import MotteExchange
import MotteValues

enum ArrowLoop {
    static func field(_ field: ArrowField) throws(DatabaseError) -> ArrowInputField {
        var children: [ArrowInputField] = []
        for child in field.children { children.append(try self.field(child)) }
        let note = field.metadata.first { $0.key == ArrowField.typeKey || $0.key == "ARROW:extension:name" }
        return try ArrowInputField(
            name: field.name, format: field.format, children: children, dictionary: nil, note: note?.value)
    }

    /// For as long as `body` runs.
    static func lend(
        _ data: ArrowData, _ field: ArrowInputField, _ body: (ArrowInput) throws(DatabaseError) -> Void
    ) throws(DatabaseError) {
        var taken: [UnsafeMutableRawPointer?] = []
        defer { for buffer in taken { free(buffer) } }
        try body(try input(data, field, &taken))
    }

    private static func input(
        _ data: ArrowData, _ field: ArrowInputField, _ taken: inout [UnsafeMutableRawPointer?]
    ) throws(DatabaseError) -> ArrowInput {
        let buffers = data.takeBuffers()
        taken += buffers
        var children: [ArrowInput] = []
        for (child, childField) in zip(data.children, field.children) {
            children.append(try input(child, childField, &taken))
        }
        return try ArrowInput(
            field, length: Int64(data.length), nullCount: Int64(data.nullCount), offset: 0,
            buffers: buffers.map { UnsafeRawPointer($0) }, children: children, dictionary: nil)
    }
}
