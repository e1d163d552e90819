/// Arrow data that comes in: what a schema says, and the arrays of a batch, checked before anything of them is read.
///
/// How large a buffer is nobody says; what is said is held against itself: lengths, offsets, numbers of buffers and
/// children, ends that descend, places outside of what a view names.
import MotteColumns
import MotteValues

package enum ArrowType: Equatable, Sendable {
    case null, bool
    case int(bits: Int, isSigned: Bool)
    case float(bits: Int)
    case decimal(bytes: Int, scale: Int)
    case text(offsetBytes: Int), binary(offsetBytes: Int)
    case textView, binaryView
    case fixed(width: Int)
    case date(unitsPerDay: Int64)
    case timestamp(unitsPerSecond: Int64)
    case list(offsetBytes: Int), fixedList(count: Int)
    case structure, map
    /// What no property takes.
    case other(String)

    package init(format: String) {
        switch format {
        case "n": self = .null
        case "b": self = .bool
        case "c", "s", "i", "l": self = .int(bits: Self.bits(format), isSigned: true)
        case "C", "S", "I", "L": self = .int(bits: Self.bits(format), isSigned: false)
        case "e": self = .float(bits: 16)
        case "f": self = .float(bits: 32)
        case "g": self = .float(bits: 64)
        case "u": self = .text(offsetBytes: 4)
        case "U": self = .text(offsetBytes: 8)
        case "vu": self = .textView
        case "z": self = .binary(offsetBytes: 4)
        case "Z": self = .binary(offsetBytes: 8)
        case "vz": self = .binaryView
        case "tdD": self = .date(unitsPerDay: 1)
        case "tdm": self = .date(unitsPerDay: 86_400_000)
        case "+l": self = .list(offsetBytes: 4)
        case "+L": self = .list(offsetBytes: 8)
        case "+s": self = .structure
        case "+m": self = .map
        default: self = Self.withParameters(format)
        }
    }

    private static func bits(_ format: String) -> Int {
        switch format {
        case "c", "C": 8
        case "s", "S": 16
        case "i", "I": 32
        default: 64
        }
    }

    private static func withParameters(_ format: String) -> ArrowType {
        let parts = format.parts(between: ":", most: 1)
        guard parts.count == 2 else { return .other(format) }
        switch parts[0] {
        case "tss": return .timestamp(unitsPerSecond: 1)
        case "tsm": return .timestamp(unitsPerSecond: 1_000)
        case "tsu": return .timestamp(unitsPerSecond: 1_000_000)
        case "tsn": return .timestamp(unitsPerSecond: 1_000_000_000)
        case "w":
            guard let width = Int(parts[1]), (0 ... 1 << 20).contains(width) else { return .other(format) }
            return .fixed(width: width)
        case "+w":
            guard let count = Int(parts[1]), (0 ... 1 << 30).contains(count) else { return .other(format) }
            return .fixedList(count: count)
        case "d":
            let numbers = parts[1].parts(between: ",").map { Int($0) }
            guard numbers.count >= 2, let scale = numbers[1], (-6_000 ... 6_000).contains(scale) else {
                return .other(format)
            }
            let bits = numbers.count > 2 ? numbers[2] ?? 0 : 128
            guard [32, 64, 128, 256].contains(bits) else { return .other(format) }
            return .decimal(bytes: bits / 8, scale: scale)
        default: return .other(format)
        }
    }

    /// As messages name it.
    package var name: String {
        switch self {
        case .null: "null"
        case .bool: "bool"
        case .int(let bits, let isSigned): (isSigned ? "int" : "uint") + "\(bits)"
        case .float(let bits): "float\(bits)"
        case .decimal(let bytes, _): "decimal\(bytes * 8)"
        case .text(let bytes): bytes == 4 ? "utf8" : "large_utf8"
        case .binary(let bytes): bytes == 4 ? "binary" : "large_binary"
        case .textView: "utf8_view"
        case .binaryView: "binary_view"
        case .fixed(let width): "fixed_size_binary(\(width))"
        case .date: "date"
        case .timestamp: "timestamp"
        case .list: "list"
        case .fixedList: "fixed_size_list"
        case .structure: "struct"
        case .map: "map"
        case .other(let format): "'\(format)' (in the letters of the C data interface)"
        }
    }

    /// Bytes of an element, of those with one buffer of values; 0 for the others.
    fileprivate var elementBytes: Int {
        switch self {
        case .int(let bits, _), .float(let bits): bits / 8
        case .decimal(let bytes, _): bytes
        case .fixed(let width): width
        case .date(let units): units == 1 ? 4 : 8
        case .timestamp: 8
        default: 0
        }
    }

    /// Nulls are something else than bits of a buffer, or nothing is read at all.
    fileprivate var hasNoBitmap: Bool {
        switch self {
        case .null, .other: true
        default: false
        }
    }

    /// Buffers beside those of the texts of views.
    fileprivate var bufferCount: Int {
        switch self {
        case .null: 0
        case .bool, .int, .float, .decimal, .fixed, .date, .timestamp: 2
        case .text, .binary, .textView, .binaryView: 3
        case .list, .map: 2
        case .structure, .fixedList: 1
        case .other: 0
        }
    }
}

package final class ArrowInputField: Sendable {
    package let name: String
    package let type: ArrowType
    package let children: [ArrowInputField]
    package let dictionary: ArrowInputField?
    /// What Motte has written there, or the name of an extension type.
    package let note: String?

    package init(
        name: String, format: String, children: [ArrowInputField], dictionary: ArrowInputField?, note: String?
    ) throws(DatabaseError) {
        self.name = name
        type = ArrowType(format: format)
        self.children = children
        self.dictionary = dictionary
        self.note = note
        let wanted: Int? =
            switch type {
            case .list, .fixedList, .map: 1
            case .structure, .other: nil
            default: 0
            }
        if let wanted, children.count != wanted {
            throw Self.malformed(name, "has \(children.count) children for its type \(type.name)")
        }
        if type == .map, children[0].type != .structure || children[0].children.count != 2 {
            throw Self.malformed(name, "is a map whose entries are no pairs")
        }
        if dictionary != nil {
            guard case .int = type else { throw Self.malformed(name, "has a dictionary, and codes that are no ints") }
        }
    }

    static func malformed(_ name: String, _ what: String) -> DatabaseError {
        DatabaseError(.invalidArgument, "the Arrow column '\(name)' \(what)", propertyName: name.isEmpty ? nil : name)
    }

    func malformed(_ what: String) -> DatabaseError { Self.malformed(name, what) }
}

package final class ArrowInput {
    let field: ArrowInputField
    let length: Int
    private let offset: Int
    private let validity: UnsafeRawPointer?
    private let buffers: [UnsafeRawPointer?]
    let children: [ArrowInput]
    let dictionary: ArrowInput?
    /// Elements of fixed width, views, or ends.
    private let values: UnsafeRawPointer?
    private let heap: UnsafeRawPointer?
    let hasNulls: Bool

    /// Lengths above Int.max arrive negative.
    package init(
        _ field: ArrowInputField, length: Int64, nullCount: Int64, offset: Int64, buffers: [UnsafeRawPointer?],
        children: [ArrowInput], dictionary: ArrowInput?
    ) throws(DatabaseError) {
        let (end, overflows) = length.addingReportingOverflow(offset)
        guard length >= 0, offset >= 0, !overflows, end < 1 << 40, nullCount >= -1, nullCount <= length else {
            throw field.malformed(
                "has a length of \(length), an offset of \(offset) and a null count of \(nullCount)")
        }
        let views = field.type == .textView || field.type == .binaryView
        if case .other = field.type {
        } else {
            // Some write a bitmap beside a column of nulls.
            let isFine =
                views
                ? buffers.count >= 3
                : buffers.count == field.type.bufferCount || field.type == .null && buffers.count == 1
            guard isFine else {
                throw field.malformed("has \(buffers.count) buffers for its type \(field.type.name)")
            }
        }
        guard children.count == field.children.count, (dictionary != nil) == (field.dictionary != nil) else {
            throw field.malformed("differs from its schema")
        }
        self.field = field
        self.length = Int(length)
        self.offset = Int(offset)
        self.buffers = buffers
        self.children = children
        self.dictionary = dictionary
        // Of a type that no property takes, the first buffer may be something else, as a union's.
        if case .other = field.type { validity = nil } else { validity = nullCount == 0 ? nil : buffers.first ?? nil }
        guard validity != nil || nullCount <= 0 || field.type.hasNoBitmap else {
            throw field.malformed("has \(nullCount) nulls and no bitmap of them")
        }
        hasNulls = validity != nil || field.type == .null && length > 0
        values = buffers.count > 1 ? buffers[1] : nil
        heap = buffers.count > 2 ? buffers[2] : nil
        if end > 0 {
            switch field.type {
            case .null, .structure, .fixedList, .other: break
            default:
                guard values != nil || field.type == .fixed(width: 0) else {
                    throw field.malformed("has no buffer of values")
                }
            }
        }
        try checkChildren(Int(end))
    }

    private func checkChildren(_ end: Int) throws(DatabaseError) {
        switch field.type {
        case .structure:
            for child in children where child.length < end {
                throw field.malformed("has fewer values of '\(child.field.name)' than rows")
            }
        case .fixedList(let count):
            let (needed, overflows) = end.multipliedReportingOverflow(by: count)
            guard !overflows, children[0].length >= needed else {
                throw field.malformed("has fewer elements than rows")
            }
        case .map:
            guard !children[0].children.isEmpty else { throw field.malformed("has no keys") }
        default: break
        }
    }

    // MARK: Elements

    @inline(__always)
    func isNull(_ index: Int) -> Bool {
        guard let validity, field.type != .null else { return field.type == .null }
        return !BitRuns.bit(validity, offset &+ index)
    }

    /// Whether none of some elements is null.
    func isComplete(_ range: Range<Int>) -> Bool {
        guard let validity, field.type != .null else { return field.type != .null || range.isEmpty }
        return BitRuns.countOnes(validity, from: offset + range.lowerBound, count: range.count) == range.count
    }

    /// The place of an element of fixed width.
    @inline(__always)
    func place(_ index: Int, width: Int) -> UnsafeRawPointer {
        // unsafelyUnwrapped: checked when there are elements.
        values.unsafelyUnwrapped + (offset &+ index) &* width
    }

    // unsafelyUnwrapped: checked when there are elements.
    func bool(_ index: Int) -> Bool { BitRuns.bit(values.unsafelyUnwrapped, offset &+ index) }

    @inline(__always)
    func load<T: BitwiseCopyable>(_ index: Int, _ type: T.Type) -> T {
        place(index, width: MemoryLayout<T>.stride).loadUnaligned(as: T.self)
    }

    /// nil for an unsigned number of 64 bits above the range.
    func int(_ index: Int) -> Int64? {
        guard case .int(let bits, let isSigned) = field.type else { return nil }
        switch (bits, isSigned) {
        case (8, true): return Int64(load(index, Int8.self))
        case (16, true): return Int64(load(index, Int16.self))
        case (32, true): return Int64(load(index, Int32.self))
        case (64, true): return load(index, Int64.self)
        case (8, false): return Int64(load(index, UInt8.self))
        case (16, false): return Int64(load(index, UInt16.self))
        case (32, false): return Int64(load(index, UInt32.self))
        default: return Int64(exactly: load(index, UInt64.self))
        }
    }

    func double(_ index: Int) -> Double {
        switch field.type {
        case .float(16): Double(Self.half(load(index, UInt16.self)))
        case .float(32): Double(load(index, Float.self))
        default: load(index, Double.self)
        }
    }

    /// Of half a word, by hand: not every processor has the type.
    private static func half(_ bits: UInt16) -> Float {
        let sign: UInt32 = UInt32(bits & 0x8000) << 16
        let exponent = UInt32(bits >> 10 & 0x1F), fraction = UInt32(bits & 0x3FF)
        switch exponent {
        case 0:
            let value = Float(fraction) / 16_777_216
            return sign == 0 ? value : -value
        case 31: return Float(bitPattern: sign | 0x7F80_0000 | fraction << 13)
        default: return Float(bitPattern: sign | (exponent + 112) << 23 | fraction << 13)
        }
    }

    // MARK: Texts and lists

    /// The texts of some elements as they lie in memory, with ends of 64 bits; nil where they are laid out otherwise.
    func texts(
        _ range: Range<Int>, into scratch: UnsafeMutablePointer<Int64>
    ) throws(DatabaseError) -> (heap: UnsafeRawPointer, offsets: UnsafePointer<Int64>)? {
        let bytes: Int
        switch field.type {
        case .text(let width), .binary(let width): bytes = width
        default: return nil
        }
        let first = offset + range.lowerBound
        // unsafelyUnwrapped: checked when there are elements.
        let values = values.unsafelyUnwrapped
        if bytes == 4 {
            for index in 0 ... range.count {
                scratch[index] = Int64(values.loadUnaligned(fromByteOffset: (first &+ index) &* 4, as: Int32.self))
            }
        } else {
            for index in 0 ... range.count {
                scratch[index] = values.loadUnaligned(fromByteOffset: (first &+ index) &* 8, as: Int64.self)
            }
        }
        var isDisordered = scratch[0] < 0
        for index in 0 ..< range.count { isDisordered = isDisordered || scratch[index &+ 1] < scratch[index] }
        guard !isDisordered, scratch[range.count] < 1 << 40 else { throw field.malformed("has offsets that descend") }
        guard heap != nil || scratch[range.count] == scratch[0] else { throw field.malformed("has no bytes") }
        return (heap ?? UnsafeRawPointer(scratch), UnsafePointer(scratch))
    }

    /// The bytes of a text or of data.
    func bytes(_ index: Int) throws(DatabaseError) -> UnsafeRawBufferPointer {
        switch field.type {
        case .text(let width), .binary(let width):
            let range = try range(index, width)
            guard let heap else {
                guard range.isEmpty else { throw field.malformed("has no bytes") }
                return UnsafeRawBufferPointer(start: nil, count: 0)
            }
            return UnsafeRawBufferPointer(start: heap + range.lowerBound, count: range.count)
        case .textView, .binaryView: return try viewed(index)
        // Values without bytes need no buffer of them.
        case .fixed(0): return UnsafeRawBufferPointer(start: nil, count: 0)
        case .fixed(let width): return UnsafeRawBufferPointer(start: place(index, width: width), count: width)
        default: throw field.malformed("has no texts")
        }
    }

    @inline(__always)
    private func range(_ index: Int, _ width: Int) throws(DatabaseError) -> Range<Int> {
        // unsafelyUnwrapped: checked when there are elements.
        let place = values.unsafelyUnwrapped + (offset &+ index) &* width
        let start = width == 4 ? Int(place.loadUnaligned(as: Int32.self)) : place.loadUnaligned(as: Int.self)
        let end =
            width == 4
            ? Int(place.loadUnaligned(fromByteOffset: 4, as: Int32.self))
            : place.loadUnaligned(fromByteOffset: 8, as: Int.self)
        guard start >= 0, end >= start, end < 1 << 40 else { throw field.malformed("has offsets that descend") }
        return start ..< end
    }

    private func viewed(_ index: Int) throws(DatabaseError) -> UnsafeRawBufferPointer {
        let view = place(index, width: 16)
        let size = Int(view.loadUnaligned(as: Int32.self))
        guard size >= 0 else { throw field.malformed("has a view of \(size) bytes") }
        if size <= TextView.mostInPlace { return UnsafeRawBufferPointer(start: view + 4, count: size) }
        let number = Int(view.loadUnaligned(fromByteOffset: 8, as: Int32.self))
        let start = Int(view.loadUnaligned(fromByteOffset: 12, as: Int32.self))
        let variadic = buffers.count - 3
        guard number >= 0, number < variadic, start >= 0, let buffer = buffers[2 + number],
            let sizes = buffers[buffers.count - 1]
        else { throw field.malformed("has a view of a buffer that is not there") }
        let available = sizes.loadUnaligned(fromByteOffset: number * 8, as: Int64.self)
        guard Int64(start) + Int64(size) <= available else {
            throw field.malformed("has a view that leaves its buffer")
        }
        return UnsafeRawBufferPointer(start: buffer + start, count: size)
    }

    /// The elements of a list or the entries of a map, in the only child.
    func elements(_ index: Int) throws(DatabaseError) -> Range<Int> {
        let range: Range<Int>
        switch field.type {
        case .list(let width): range = try self.range(index, width)
        case .map: range = try self.range(index, 4)
        case .fixedList(let count):
            let start = (offset + index) * count
            range = start ..< start + count
        default: throw field.malformed("has no elements")
        }
        guard range.upperBound <= children[0].length else {
            throw field.malformed("has a list that leaves its elements")
        }
        return range
    }

    /// Where in its children the fields of an element of a struct are.
    @inline(__always)
    func fieldIndex(_ index: Int) -> Int { offset &+ index }

    /// Where in the dictionary an element's value is.
    func code(_ index: Int) throws(DatabaseError) -> Int {
        guard let dictionary, let code = int(index), code >= 0, code < Int64(dictionary.length) else {
            throw field.malformed("has a code outside of its dictionary")
        }
        return Int(code)
    }
}
