/// Values as JSON. Where a property's type says how to read a value, it is plain JSON; where it does not (in mixed),
/// what JSON has no form for is an object with one name that begins with '$':
///
///     {"$float": 1.5}  {"$double": "NaN"}  {"$decimal": "1.50"}  {"$date": "2013-01-01T10:00:00Z"}
///     {"$binary": "AQI="}  {"$oid": "..."}  {"$uuid": "..."}  {"$link": ["Person", 5]}
///
/// A map's own keys never begin with '$', so nothing else looks like these.
import MotteValues

enum JSONValueWriter {
    // MARK: Texts

    static func string(_ bytes: UnsafeRawBufferPointer, to sink: inout ByteSink) {
        sink.append(UInt8(ascii: "\""))
        var plain = 0
        for index in 0 ..< bytes.count {
            let byte = bytes[index]
            guard byte < 0x20 || byte == 0x22 || byte == 0x5C else { continue }
            sink.append(UnsafeRawBufferPointer(rebasing: bytes[plain ..< index]))
            plain = index + 1
            let short = JSONEscapes.short(byte)
            sink.append(UInt8(ascii: "\\"))
            if short != 0 {
                sink.append(short)
            } else {
                sink.append("u00")
                sink.append(Hexadecimal.character(byte >> 4))
                sink.append(Hexadecimal.character(byte & 15))
            }
        }
        sink.append(UnsafeRawBufferPointer(rebasing: bytes[plain...]))
        sink.append(UInt8(ascii: "\""))
    }

    static func string(_ text: String, to sink: inout ByteSink) {
        text.withUTF8Bytes { string($0, to: &sink) }
    }

    // MARK: Values of a declared type

    /// Everything but links, which need to know their target.
    static func plain(_ view: ValueView, to sink: inout ByteSink) {
        switch view.form {
        case .bool: view.boolValue ? sink.append("true") : sink.append("false")
        case .int: sink.append(view.intValue)
        case .float: number(view.floatValue, to: &sink)
        case .double: number(view.doubleValue, to: &sink)
        case .string: string(view.bytes, to: &sink)
        case .data: quoted(&sink) { Base64.encode(view.bytes, to: &$0) }
        case .timestamp: quoted(&sink) { TimeText.write(view.timestampValue, to: &$0) }
        case .decimal: quoted(&sink) { $0.append(text: DecimalText.text(view.decimalValue)) }
        case .identifier: quoted(&sink) { $0.append(text: view.kind?.identifier?.text(view) ?? "") }
        case .link, .list, .map, .null, nil: sink.append("null")
        }
    }

    private static func quoted(_ sink: inout ByteSink, _ body: (inout ByteSink) -> Void) {
        sink.append(UInt8(ascii: "\""))
        body(&sink)
        sink.append(UInt8(ascii: "\""))
    }

    /// The shortest text that reads as the same number, always with a point or an exponent, so that it differs from an
    /// int; what is no number in JSON is a string.
    static func number<Number: BinaryFloatingPoint & LosslessStringConvertible>(
        _ value: Number, to sink: inout ByteSink
    ) {
        if value.isFinite { return sink.append(text: value.description) }
        quoted(&sink) { notFinite(value, to: &$0) }
    }

    static func notFinite<Number: BinaryFloatingPoint>(_ value: Number, to sink: inout ByteSink) {
        value.isNaN ? sink.append("NaN") : value < 0 ? sink.append("-Infinity") : sink.append("Infinity")
    }

    // MARK: Mixed values

    /// Everything but links, lists and maps.
    static func mixed(_ view: ValueView, to sink: inout ByteSink) {
        guard let name = mark(view) else { return plain(view, to: &sink) }
        sink.append("{\"")
        sink.append(text: name)
        sink.append("\":")
        plain(view, to: &sink)
        sink.append("}")
    }

    private static func mark(_ view: ValueView) -> String? {
        // As it is written it is no int.
        if view.form == .double, view.doubleValue.isFinite { return nil }
        return view.kind?.jsonMark
    }
}
