/// Single values of Arrow arrays as the store takes them: what each type of theirs is for each type of ours.
import MotteColumns
import MotteSchemaModel
import MotteValues

/// Which times an import takes. Some languages show those of the years 1 to 9999, and no others.
package enum ArrowYears: Sendable {
    case all, oneTo9999

    /// 0001-01-01 to 9999-12-31 in UTC.
    private static let seconds = Int64(-62_135_596_800) ... 253_402_300_799

    @inline(__always)
    func contain(_ time: Timestamp) -> Bool { self == .all || Self.seconds.contains(time.seconds) }
}

struct ArrowCells {
    let property: Property
    /// What values borrow while they are read.
    let arena: ByteArena
    /// Mixed values that are JSON.
    let json: JSONImport?
    /// Times outside of these are refused.
    let years: ArrowYears

    /// Views borrow from the arrays.
    func read(_ input: ArrowInput, _ index: Int) throws(DatabaseError) -> ValueView {
        if input.isNull(index) { return .null }
        if let dictionary = input.dictionary { return try read(dictionary, try input.code(index)) }
        switch input.field.type {
        case .null: return .null
        case .bool:
            guard property.type == .bool || property.type == .mixed else { throw refused(input) }
            return .bool(input.bool(index))
        case .int: return try int(input, index)
        case .float: return try number(input, input.double(index))
        case .decimal(let bytes, let scale): return try decimal(input, index, bytes, scale)
        case .text, .textView: return try text(input, try input.bytes(index))
        case .binary, .binaryView, .fixed: return try data(input, try input.bytes(index))
        case .timestamp(let unitsPerSecond):
            return try time(input, Self.timestamp(input.load(index, Int64.self), unitsPerSecond))
        case .date(let unitsPerDay):
            let count = unitsPerDay == 1 ? Int64(input.load(index, Int32.self)) : input.load(index, Int64.self)
            return try time(
                input,
                unitsPerDay == 1
                    ? Timestamp(seconds: count * 86_400, nanoseconds: 0) : Self.timestamp(count, 1_000))
        case .list, .fixedList, .structure, .map, .other: throw refused(input)
        }
    }

    /// Rounded towards the past, so that the nanoseconds count forward before 1970 too.
    @inline(__always)
    static func timestamp(_ count: Int64, _ unitsPerSecond: Int64) -> Timestamp {
        var (seconds, rest) = count.quotientAndRemainder(dividingBy: unitsPerSecond)
        if rest < 0 {
            seconds -= 1
            rest += unitsPerSecond
        }
        return Timestamp(
            seconds: seconds, nanoseconds: UInt32(truncatingIfNeeded: rest * (1_000_000_000 / unitsPerSecond)))
    }

    func refused(_ input: ArrowInput) -> DatabaseError {
        DatabaseError(
            .wrongType,
            "'\(property.name)' is \(property.type.name), and the column is \(input.field.type.name); cast it",
            propertyName: property.name)
    }

    private func error(_ code: ErrorCode, _ what: String) -> DatabaseError {
        DatabaseError(code, "'\(property.name)': \(what)", propertyName: property.name)
    }

    // MARK: By what they are in Arrow

    private func int(_ input: ArrowInput, _ index: Int) throws(DatabaseError) -> ValueView {
        guard let value = input.int(index) else { throw error(.overflow, "a number does not fit in 64 bits") }
        switch property.type {
        case .int, .double, .float, .decimal, .mixed: return .int(value)
        case .link:
            guard value >= 0 else {
                if value == -1 { return .null }
                throw error(.invalidArgument, "\(value) is no object key")
            }
            // The class is the property's.
            return ValueView(kindNumber: ValueKind.link.rawValue, low: UInt64(bitPattern: value))
        default: throw refused(input)
        }
    }

    private func number(_ input: ArrowInput, _ value: Double) throws(DatabaseError) -> ValueView {
        switch property.type {
        case .double, .mixed: return .double(value)
        case .decimal: return .decimal(Decimal128(value))
        case .float:
            let narrow = Float(value)
            guard narrow.isFinite || !value.isFinite else {
                throw error(.overflow, "\(value) is too large for a float of 32 bits")
            }
            return .float(narrow)
        case .int:
            // What a table library makes of ints with gaps.
            guard let whole = Int64(exactly: value) else { throw error(.wrongType, "\(value) is no int") }
            return .int(whole)
        default: throw refused(input)
        }
    }

    private func decimal(
        _ input: ArrowInput, _ index: Int, _ bytes: Int, _ scale: Int
    ) throws(DatabaseError) -> ValueView {
        let place = input.place(index, width: bytes)
        let coefficient: Int128
        switch bytes {
        case 4: coefficient = Int128(place.loadUnaligned(as: Int32.self))
        case 8: coefficient = Int128(place.loadUnaligned(as: Int64.self))
        default:
            let low = UInt128(place.loadUnaligned(as: UInt64.self))
            let high = UInt128(place.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
            coefficient = Int128(truncatingIfNeeded: high << 64 | low)
            if bytes == 32 {
                let sign: UInt64 = coefficient < 0 ? .max : 0
                guard place.loadUnaligned(fromByteOffset: 16, as: UInt64.self) == sign,
                    place.loadUnaligned(fromByteOffset: 24, as: UInt64.self) == sign
                else { throw error(.overflow, "a number has more digits than a decimal") }
            }
        }
        if property.type == .int { return .int(try whole(coefficient, scale)) }
        // Numbers of columns with many digits behind the point end in zeros that a decimal has no place for.
        var (digits, places) = (coefficient, scale)
        while places > 0, digits % 10 == 0, digits.magnitude > Self.mostOfDecimal {
            (digits, places) = (digits / 10, places - 1)
        }
        let text = Array("\(digits)E\(-places)".utf8)
        guard let value = text.withUnsafeBytes({ DecimalText.parse($0) }) else {
            throw error(.overflow, "a number has more digits than a decimal")
        }
        switch property.type {
        case .decimal, .mixed: return .decimal(value)
        case .double, .float:
            let double = value.doubleValue
            // From the digits: by way of a double it would be rounded twice.
            let float = property.type == .float ? Float("\(digits)e\(-places)") ?? .infinity : 0
            guard double.isFinite, float.isFinite else {
                throw error(.overflow, "\(DecimalText.text(value)) is too large for a float")
            }
            return property.type == .double ? .double(double) : .float(float)
        default: throw refused(input)
        }
    }

    /// Of 34 digits.
    private static let mostOfDecimal: UInt128 = 9_999_999_999_999_999_999_999_999_999_999_999

    private func whole(_ coefficient: Int128, _ scale: Int) throws(DatabaseError) -> Int64 {
        var whole = coefficient
        for _ in 0 ..< max(scale, 0) where whole != 0 {
            guard whole % 10 == 0 else { throw error(.wrongType, "\(coefficient)E\(-scale) is no int") }
            whole /= 10
        }
        for _ in 0 ..< max(-scale, 0) where whole != 0 {
            let (next, overflows) = whole.multipliedReportingOverflow(by: 10)
            guard !overflows else { throw error(.overflow, "a number does not fit in 64 bits") }
            whole = next
        }
        guard let exact = Int64(exactly: whole) else { throw error(.overflow, "a number does not fit in 64 bits") }
        return exact
    }

    private func text(_ input: ArrowInput, _ bytes: UnsafeRawBufferPointer) throws(DatabaseError) -> ValueView {
        switch property.type {
        case .string: return .string(bytes)
        case .mixed:
            guard UTF8Validation.isValid(bytes) else { throw error(.invalidUTF8, "a text is not valid UTF-8") }
            guard input.field.note == "mixed", let json else { return .string(bytes) }
            var reader = JSONReader(bytes)
            let read = try JSONMixedReader(importer: json, arena: arena, isLast: true, cells: self).read(&reader)
            guard let read else { throw error(.wrongType, "a value links to an object that is not there") }
            guard reader.isAtEnd else {
                throw error(.wrongType, "text follows the JSON value in \(Self.cut(bytes))")
            }
            return read
        case .decimal:
            guard let value = DecimalText.parse(bytes) else {
                throw error(.wrongType, "\(Self.cut(bytes)) is no decimal")
            }
            return .decimal(value)
        case .uuid, .objectID:
            guard UTF8Validation.isValid(bytes), bytes.count <= 64, let type = property.type.valueKind?.identifier,
                let value = type.value(String(decoding: bytes, as: UTF8.self))
            else {
                throw error(.wrongType, "\(Self.cut(bytes)) is no \(property.type.name)")
            }
            return value
        default: throw refused(input)
        }
    }

    private static func cut(_ bytes: UnsafeRawBufferPointer) -> String {
        "'" + String(decoding: bytes.prefix(60), as: UTF8.self) + "'"
    }

    private func data(_ input: ArrowInput, _ bytes: UnsafeRawBufferPointer) throws(DatabaseError) -> ValueView {
        switch property.type {
        case .data: return .data(bytes)
        case .uuid, .objectID:
            guard let kind = property.type.valueKind, bytes.count == kind.byteCount, let start = bytes.baseAddress
            else {
                throw error(.wrongType, "\(bytes.count) bytes are no \(property.type.name)")
            }
            return ValueView(kind, bytes: start)
        case .mixed:
            let kind: ValueKind? =
                switch input.field.note {
                case "arrow.uuid": .uuid
                case "objectId": .objectID
                default: nil
                }
            if let kind, bytes.count == kind.byteCount, let start = bytes.baseAddress {
                return ValueView(kind, bytes: start)
            }
            return .data(bytes)
        default: throw refused(input)
        }
    }

    private func time(_ input: ArrowInput, _ time: Timestamp) throws(DatabaseError) -> ValueView {
        guard property.type == .timestamp || property.type == .mixed else { throw refused(input) }
        try check(time)
        return .timestamp(time)
    }

    @inline(__always)
    func check(_ time: Timestamp) throws(DatabaseError) {
        guard years.contain(time) else {
            throw error(.overflow, "\(time.seconds) s since 1970 lie outside of the years 1 to 9999")
        }
    }
}
