/// Columns as the metadata of Arrow's own format describe them: tables of FlatBuffers, whose fields and numbers are
/// those of Schema.fbs and Message.fbs of Arrow.
enum ArrowFileSchema {
    /// Version 5 of the metadata.
    static let version: Int16 = 4

    enum Message: UInt8 {
        case schema = 1
        case batch = 3
    }

    /// The rows: a struct without a name of its own.
    static func place(of rows: ArrowField, in buffer: inout FlatBuffer) -> FlatBuffer.Place {
        let fields = vector(rows.children, &buffer)
        let littleEndian: Int16 = 0
        return buffer.table([.short(littleEndian), .place(fields)])
    }

    private static func vector(_ fields: [ArrowField], _ buffer: inout FlatBuffer) -> FlatBuffer.Place {
        var places: [FlatBuffer.Place] = []
        for field in fields { places.append(place(field, &buffer)) }
        return buffer.vector(of: places)
    }

    private static func place(_ field: ArrowField, _ buffer: inout FlatBuffer) -> FlatBuffer.Place {
        let children = vector(field.children, &buffer)
        let name = buffer.string(field.name)
        let (number, type) = type(field.format, &buffer)
        var pairs: [FlatBuffer.Place] = []
        for (key, value) in field.metadata {
            let key = buffer.string(key), value = buffer.string(value)
            pairs.append(buffer.table([.place(key), .place(value)]))
        }
        let metadata: FlatBuffer.Field = pairs.isEmpty ? .absent : .place(buffer.vector(of: pairs))
        let noDictionary = FlatBuffer.Field.absent
        return buffer.table([
            .place(name), .byte(field.isNullable ? 1 : 0), .byte(number), .place(type), noDictionary, .place(children),
            metadata,
        ])
    }

    /// Its number in the union of types, and the table of that type. Of the formats that exports have.
    private static func type(_ format: String, _ buffer: inout FlatBuffer) -> (UInt8, FlatBuffer.Place) {
        func int(_ bits: Int32) -> (UInt8, FlatBuffer.Place) { (2, buffer.table([.int(bits), .byte(1)])) }
        switch format {
        case "b": return (6, buffer.table([]))
        case "c": return int(8)
        case "s": return int(16)
        case "i": return int(32)
        case "l": return int(64)
        case "f": return (3, buffer.table([.short(1)]))
        case "g": return (3, buffer.table([.short(2)]))
        case "u": return (5, buffer.table([]))
        case "z": return (4, buffer.table([]))
        case "+l": return (12, buffer.table([]))
        case "+s": return (13, buffer.table([]))
        case "+m": return (17, buffer.table([]))
        default: return parameterized(format, &buffer)
        }
    }

    private static func parameterized(_ format: String, _ buffer: inout FlatBuffer) -> (UInt8, FlatBuffer.Place) {
        let parts = format.parts(between: ":", most: 1)
        let parameter = parts.count > 1 ? parts[1] : ""
        switch parts[0] {
        case "w": return (15, buffer.table([.int(Int32(parameter) ?? 0)]))
        default:
            let units: [String: Int16] = ["tss": 0, "tsm": 1, "tsu": 2, "tsn": 3]  // names: ASCII
            let zone = buffer.string(parameter)
            return (10, buffer.table([.short(units[parts[0]] ?? 0), .place(zone)]))
        }
    }
}
