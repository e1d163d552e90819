/// Text and bytes across the boundary: pointer and length in, views and owned buffers out.
import CMotte
import Glibc
import MotteSchemaModel
import MotteValues

/// The bytes of a text argument; nil for an absent one (NULL with length 0). Checked to be UTF-8.
func textBytes(_ text: UnsafePointer<CChar>?, _ size: Int) throws(DatabaseError) -> UnsafeRawBufferPointer? {
    guard let text else {
        // MOTTE_NTS is -1 here: an absent C string is absent too.
        if size == 0 || size == -1 { return nil }
        throw DatabaseError(.nullArgument, "a text of \(size) bytes is NULL")
    }
    let count = size == -1 ? strlen(text) : size
    try checkCount(count, of: text, "a text length")
    let bytes = UnsafeRawBufferPointer(start: text, count: count)
    try checkUTF8(bytes)
    return bytes
}

/// The same of one that must be there.
func requiredBytes(
    _ text: UnsafePointer<CChar>?, _ size: Int, _ what: StaticString
) throws(DatabaseError) -> UnsafeRawBufferPointer {
    guard let bytes = try textBytes(text, size) else { throw DatabaseError(.nullArgument, "\(what) is NULL") }
    return bytes
}

/// A text argument that must be there.
func requiredText(_ text: UnsafePointer<CChar>?, _ size: Int, _ what: StaticString) throws(DatabaseError) -> String {
    guard let bytes = try textBytes(text, size) else { throw DatabaseError(.nullArgument, "\(what) is NULL") }
    return String(decoding: bytes, as: UTF8.self)
}

/// A name that must be there and have bytes.
func requiredName(_ text: UnsafePointer<CChar>?, _ size: Int, _ what: StaticString) throws(DatabaseError) -> String {
    let name = try requiredText(text, size, what)
    guard !name.isEmpty else { throw DatabaseError(.invalidArgument, "\(what) is empty") }
    return name
}

/// Copies of several texts that must all be there.
func texts(
    _ start: UnsafePointer<motte_str>?, _ count: Int, _ what: StaticString
) throws(DatabaseError) -> [String] {
    var texts: [String] = []
    for text in try input(start, count) { texts.append(try requiredText(text.data, Int(text.size), what)) }
    return texts
}

/// The same where NULL means none given; an array without any is a mistake.
func optionalTexts(
    _ start: UnsafePointer<motte_str>?, _ count: Int, _ what: StaticString
) throws(DatabaseError) -> [String]? {
    let texts = try texts(start, count, what)
    guard start != nil else { return nil }
    guard !texts.isEmpty else {
        throw DatabaseError(
            .invalidArgument, "the list of names is empty; leave it out for all columns, and for the names they have")
    }
    return texts
}

func optionalText(_ text: UnsafePointer<CChar>?, _ size: Int) throws(DatabaseError) -> String? {
    try textBytes(text, size).map { String(decoding: $0, as: UTF8.self) }
}

func dataBytes(_ start: UnsafeRawPointer?, _ count: Int) throws(DatabaseError) -> UnsafeRawBufferPointer {
    guard isAddressable(start, count, stride: 1) else {
        throw DatabaseError(.invalidArgument, "a byte count is larger than memory")
    }
    guard start != nil || count == 0 else { throw DatabaseError(.nullArgument, "\(count) bytes are NULL") }
    return UnsafeRawBufferPointer(start: start, count: count)
}

func checkUTF8(_ bytes: UnsafeRawBufferPointer) throws(DatabaseError) {
    if let offset = UTF8Validation.firstInvalidByte(of: bytes) {
        throw DatabaseError(.invalidUTF8, "the text is not valid UTF-8 at byte \(offset)")
    }
}

enum UTF8Validation {
    /// Offset of the first sequence that is not well-formed UTF-8 (Unicode table 3-7), nil if all are.
    static func firstInvalidByte(of bytes: UnsafeRawBufferPointer) -> Int? {
        guard let start = bytes.baseAddress else { return nil }
        let count = bytes.count
        var index = 0
        while index < count {
            if index + 8 <= count,
                (start + index).loadUnaligned(as: UInt64.self) & 0x8080_8080_8080_8080 == 0
            {
                index += 8
                continue
            }
            let first = start.load(fromByteOffset: index, as: UInt8.self)
            if first < 0x80 {
                index += 1
                continue
            }
            let length: Int
            var second: ClosedRange<UInt8> = 0x80 ... 0xBF
            switch first {
            case 0xC2 ... 0xDF: length = 2
            case 0xE0: (length, second) = (3, 0xA0 ... 0xBF)
            case 0xED: (length, second) = (3, 0x80 ... 0x9F)
            case 0xE1 ... 0xEF: length = 3
            case 0xF0: (length, second) = (4, 0x90 ... 0xBF)
            case 0xF4: (length, second) = (4, 0x80 ... 0x8F)
            case 0xF1 ... 0xF3: length = 4
            default: return index
            }
            guard index + length <= count,
                second.contains(start.load(fromByteOffset: index + 1, as: UInt8.self))
            else { return index }
            for offset in stride(from: 2, to: length, by: 1)
            where start.load(fromByteOffset: index + offset, as: UInt8.self) & 0xC0 != 0x80 { return index }
            index += length
        }
        return nil
    }
}

// MARK: Out

/// A terminated copy that `free` releases.
func copyCString(_ text: String) -> UnsafeMutablePointer<CChar>? {
    text.withUTF8Bytes { bytes in
        let copy = UnsafeMutablePointer<CChar>(OpaquePointer(malloc(bytes.count + 1)))
        guard let copy else { return nil }
        if let start = bytes.baseAddress { memcpy(copy, start, bytes.count) }
        copy[bytes.count] = 0
        return copy
    }
}

/// Fills an owned buffer, which the caller gives up with motte_buf_dispose().
func makeBuffer(_ text: String) throws(DatabaseError) -> motte_buf {
    try text.withUTF8Bytes { bytes throws(DatabaseError) in try makeBuffer(bytes) }
}

func makeBuffer(_ bytes: UnsafeRawBufferPointer) throws(DatabaseError) -> motte_buf {
    let (size, overflow) = bytes.count.addingReportingOverflow(1)
    guard !overflow, let copy = malloc(size) else {
        throw DatabaseError(.outOfMemory, "no memory for a buffer of \(bytes.count) bytes")
    }
    if let start = bytes.baseAddress { memcpy(copy, start, bytes.count) }
    copy.storeBytes(of: 0, toByteOffset: bytes.count, as: UInt8.self)
    return motte_buf(data: copy.assumingMemoryBound(to: CChar.self), size: bytes.count)
}

var emptyBuffer: motte_buf { motte_buf(data: nil, size: 0) }

/// Terminated names that live as long as their owner: what `H` results point to. Any thread.
final class NameCache: Sendable {
    // @unchecked: the bytes never change once they are in here.
    private struct Names: @unchecked Sendable {
        var known: [NameKey: UnsafeMutablePointer<CChar>] = [:]
    }
    private let names = Locked(Names())

    func pointer(to name: String) throws(DatabaseError) -> UnsafePointer<CChar> {
        let address = names.withLock { names -> UInt in
            if let known = names.known[NameKey(name)] { return UInt(bitPattern: known) }
            guard let copy = copyCString(name) else { return 0 }
            names.known[NameKey(name)] = copy
            return UInt(bitPattern: copy)
        }
        guard let pointer = UnsafePointer<CChar>(bitPattern: address) else {
            throw DatabaseError(.outOfMemory, "no memory for a name")
        }
        return pointer
    }

    func pointer(toOptional name: String?) throws(DatabaseError) -> UnsafePointer<CChar>? {
        guard let name else { return nil }
        return try pointer(to: name)
    }

    deinit {
        names.withLock { names in
            for copy in names.known.values { free(copy) }
        }
    }
}
