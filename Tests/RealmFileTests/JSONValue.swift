// JSON as the files beside the .realm files have it: a tree, with ints exact to 64 bits. Sound text only.

enum JSONValue: Equatable {
    case null, bool(Bool), int(Int64), string(String), array([JSONValue]), object([(key: String, value: JSONValue)])

    static func == (left: JSONValue, right: JSONValue) -> Bool {
        switch (left, right) {
        case (.null, .null): true
        case (.bool(let one), .bool(let two)): one == two
        case (.int(let one), .int(let two)): one == two
        // By their bytes: composed and decomposed forms differ.
        case (.string(let one), .string(let two)): one.utf8.elementsEqual(two.utf8)
        case (.array(let one), .array(let two)): one == two
        case (.object(let one), .object(let two)):
            one.count == two.count
                && zip(one, two).allSatisfy { $0.key.utf8.elementsEqual($1.key.utf8) && $0.value == $1.value }
        default: false
        }
    }

    init(_ text: [UInt8]) throws {
        var parser = Parser(text: text)
        self = try parser.value()
    }

    subscript(key: String) -> JSONValue? {
        guard case .object(let members) = self else { return nil }
        return members.first { $0.key == key }?.value
    }

    var elements: [JSONValue] {
        if case .array(let elements) = self { elements } else { [] }
    }
    var members: [(key: String, value: JSONValue)] {
        if case .object(let members) = self { members } else { [] }
    }
    var text: String? {
        if case .string(let text) = self { text } else { nil }
    }
    var number: Int64? {
        if case .int(let number) = self { number } else { nil }
    }
}

private struct Malformed: Error {
    let place: Int
}

private struct Parser {
    let text: [UInt8]
    var place = 0

    private mutating func skipSpace() {
        while place < text.count, text[place] <= 0x20 { place += 1 }
    }

    private mutating func take(_ wanted: Unicode.Scalar) -> Bool {
        skipSpace()
        guard place < text.count, text[place] == UInt8(ascii: wanted) else { return false }
        place += 1
        return true
    }

    private mutating func require(_ wanted: Unicode.Scalar) throws {
        guard take(wanted) else { throw Malformed(place: place) }
    }

    mutating func value() throws -> JSONValue {
        if take("{") {
            var members: [(key: String, value: JSONValue)] = []
            if take("}") { return .object([]) }
            repeat {
                try require("\"")
                let key = try string()
                try require(":")
                members.append((key, try value()))
            } while take(",")
            try require("}")
            return .object(members)
        }
        if take("[") {
            var elements: [JSONValue] = []
            if take("]") { return .array([]) }
            repeat { elements.append(try value()) } while take(",")
            try require("]")
            return .array(elements)
        }
        if take("\"") { return .string(try string()) }
        let start = place
        while place < text.count, !",]} \n".utf8.contains(text[place]) { place += 1 }
        switch String(decoding: text[start ..< place], as: UTF8.self) {
        case "null": return .null
        case "true": return .bool(true)
        case "false": return .bool(false)
        case let number:
            guard let number = Int64(number) ?? UInt64(number).map({ Int64(bitPattern: $0) }) else {
                throw Malformed(place: start)
            }
            return .int(number)
        }
    }

    private mutating func string() throws -> String {
        var bytes: [UInt8] = []
        while place < text.count, text[place] != UInt8(ascii: "\"") {
            guard text[place] == UInt8(ascii: "\\") else {
                bytes.append(text[place])
                place += 1
                continue
            }
            place += 2
            switch text[place - 1] {
            case UInt8(ascii: "u"):
                let digits = String(decoding: text[place ..< place + 4], as: UTF8.self)
                guard let number = UInt32(digits, radix: 16), let scalar = Unicode.Scalar(number) else {
                    throw Malformed(place: place)
                }
                bytes.append(contentsOf: String(Character(scalar)).utf8)
                place += 4
            case UInt8(ascii: "n"): bytes.append(10)
            case UInt8(ascii: "t"): bytes.append(9)
            case UInt8(ascii: "r"): bytes.append(13)
            case UInt8(ascii: "b"): bytes.append(8)
            case UInt8(ascii: "f"): bytes.append(12)
            case let other: bytes.append(other)
            }
        }
        place += 1
        return String(decoding: bytes, as: UTF8.self)
    }
}
