/// Values as PostgreSQL has them: single ones in the text format of COPY, collections and what is nested as JSON.
///
///     bool boolean, int bigint, float real, double double precision, string text, data bytea, decimal numeric,
///     object id text, UUID uuid, link bigint (the `_key` of its target), mixed, lists, sets and maps jsonb
///
/// PostgreSQL stores times to the microsecond, and none before 4713 BC or after 294276 AD: those are infinite. Its
/// texts are UTF-8 without U+0000: that, and what is not UTF-8, becomes U+FFFD.
import MotteSchemaModel
import MotteStorage
import MotteValues

enum FeedValue {
    static func type(_ column: StoredColumn) -> String {
        guard !column.isList else { return "jsonb" }
        return switch column.type {
        case .bool: "boolean"
        case .int, .link: "bigint"
        case .float: "real"
        case .double: "double precision"
        case .string, .objectID: "text"
        case .data: "bytea"
        case .timestamp: "timestamp with time zone"
        case .decimal: "numeric"
        case .uuid: "uuid"
        default: "jsonb"
        }
    }

    // MARK: Single values

    static let null = Array("\\N".utf8)

    /// As a field of COPY.
    static func append(_ value: ValueView, to bytes: inout [UInt8]) {
        switch value.kind {
        case .null: bytes += null
        case .bool: bytes.append(UInt8(ascii: value.boolValue ? "t" : "f"))
        case .int: bytes += String(value.intValue).utf8
        case .float: bytes += String(value.floatValue).utf8
        case .double: bytes += String(value.doubleValue).utf8
        case .link: bytes += String(value.linkValue.key.rawValue).utf8
        case .timestamp: bytes += text(value.timestampValue).utf8
        case .string: appendEscaped(text(value.bytes).utf8, to: &bytes)
        case .data:
            bytes += "\\\\x".utf8
            appendHex(value.bytes, to: &bytes)
        default: appendEscaped(value.owned.text.utf8, to: &bytes)
        }
    }

    /// What COPY would take for the end of a field or a row.
    static func appendEscaped(_ text: some Sequence<UInt8>, to bytes: inout [UInt8]) {
        for byte in text {
            switch byte {
            case UInt8(ascii: "\\"): bytes += "\\\\".utf8
            case UInt8(ascii: "\n"): bytes += "\\n".utf8
            case UInt8(ascii: "\r"): bytes += "\\r".utf8
            case UInt8(ascii: "\t"): bytes += "\\t".utf8
            default: bytes.append(byte)
            }
        }
    }

    static func text(_ bytes: UnsafeRawBufferPointer) -> String {
        let text = String(decoding: bytes, as: UTF8.self)
        guard text.utf8.contains(0) else { return text }
        return String(String.UnicodeScalarView(text.unicodeScalars.map { $0 == "\0" ? "\u{FFFD}" : $0 }))
    }

    private static let digits = Array("0123456789abcdef".utf8)

    private static func appendHex(_ data: UnsafeRawBufferPointer, to bytes: inout [UInt8]) {
        for byte in data {
            bytes.append(digits[Int(byte >> 4)])
            bytes.append(digits[Int(byte & 15)])
        }
    }

    /// 4713-01-01 BC of the Julian calendar, and 294277-01-01.
    private static let times: Range<Int64> = -210_866_803_200 ..< 9_224_318_016_000

    static func text(_ time: Timestamp) -> String {
        guard times.contains(time.seconds) else { return time.seconds < 0 ? "-infinity" : "infinity" }
        let (days, seconds) = TimeText.floorDivided(time.seconds, 86_400)
        let (year, month, day) = TimeText.date(days)
        func padded(_ number: Int64, _ width: Int) -> String {
            let text = String(number)
            return String(repeating: "0", count: max(0, width - text.count)) + text
        }
        let date = "\(padded(year > 0 ? year : 1 - year, 4))-\(padded(month, 2))-\(padded(day, 2))"
        let clock = "\(padded(seconds / 3_600, 2)):\(padded(seconds / 60 % 60, 2)):\(padded(seconds % 60, 2))"
        return "\(date) \(clock).\(padded(Int64(time.nanoseconds / 1_000), 6))+00" + (year > 0 ? "" : " BC")
    }

    // MARK: JSON

    static func json(_ value: Value, _ className: (TableKey) -> String?, to bytes: inout [UInt8]) {
        switch value {
        case .null: bytes += "null".utf8
        case .bool(let value): bytes += (value ? "true" : "false").utf8
        case .int(let value): bytes += String(value).utf8
        case .float(let value): append(number: Double(value), String(value), to: &bytes)
        case .double(let value): append(number: value, String(value), to: &bytes)
        case .decimal(let value):
            // Infinite ones and what is no number have letters.
            let text = value.text
            let isNumber = text.utf8.allSatisfy { $0 < UInt8(ascii: "A") || $0 == UInt8(ascii: "E") }
            isNumber ? bytes += text.utf8 : quote(text, to: &bytes)
        case .string(let text):
            quote(text.withUTF8Bytes { Self.text($0) }, to: &bytes)
        case .data(let data):
            bytes += "\"\\\\x".utf8
            data.withUnsafeBytes { appendHex($0, to: &bytes) }
            bytes.append(UInt8(ascii: "\""))
        case .link(let link):
            bytes += "{\"class\": ".utf8
            quote(className(link.table) ?? "", to: &bytes)
            bytes += ", \"key\": \(link.key.rawValue)}".utf8
        case .timestamp(let time): quote(text(time), to: &bytes)
        case .list(let elements):
            bytes.append(UInt8(ascii: "["))
            for (index, element) in elements.enumerated() {
                if index > 0 { bytes += ", ".utf8 }
                json(element, className, to: &bytes)
            }
            bytes.append(UInt8(ascii: "]"))
        case .map(let entries):
            bytes.append(UInt8(ascii: "{"))
            let names = names(entries.map { $0.key.withUTF8Bytes { [UInt8]($0) } })
            for (index, entry) in entries.enumerated() {
                if index > 0 { bytes += ", ".utf8 }
                quote(names[index], to: &bytes)
                bytes += ": ".utf8
                json(entry.value, className, to: &bytes)
            }
            bytes.append(UInt8(ascii: "}"))
        default: quote(value.text, to: &bytes)
        }
    }

    private static func append(number: Double, _ text: String, to bytes: inout [UInt8]) {
        guard !number.isFinite else { return bytes += text.utf8 }
        quote(number.isNaN ? "NaN" : number < 0 ? "-Infinity" : "Infinity", to: &bytes)
    }

    /// Of the keys of a map, which stay different from each other where PostgreSQL lacks a character of them.
    static func names(_ keys: [[UInt8]]) -> [String] {
        var names = keys.map { key in key.withUnsafeBytes { text($0) } }
        var taken: Set<[UInt8]> = []
        var changed: [Int] = []
        for (index, name) in names.enumerated() {
            if name.utf8.elementsEqual(keys[index]) { taken.insert(keys[index]) } else { changed.append(index) }
        }
        for index in changed {
            while !taken.insert(Array(names[index].utf8)).inserted { names[index] += "\u{FFFD}" }
        }
        return names
    }

    static func quote(_ text: String, to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "\""))
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"):
                bytes.append(UInt8(ascii: "\\"))
                bytes.append(byte)
            case 0 ..< 0x20:
                bytes += "\\u00".utf8
                bytes.append(digits[Int(byte >> 4)])
                bytes.append(digits[Int(byte & 15)])
            default: bytes.append(byte)
            }
        }
        bytes.append(UInt8(ascii: "\""))
    }
}
