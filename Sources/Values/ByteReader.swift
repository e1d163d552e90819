/// Bounds-checked little-endian decoding of bytes that come from a file: short or absurd input is an error.
package struct ByteReader {
    private let bytes: UnsafeRawBufferPointer
    private let what: String
    package private(set) var offset = 0

    /// `what` names the thing that is being read, for the error.
    package init(_ bytes: UnsafeRawBufferPointer, of what: String) {
        self.bytes = bytes
        self.what = what
    }

    package var remaining: Int { bytes.count - offset }

    package mutating func read<T: FixedWidthInteger>(_ type: T.Type = T.self) throws(DatabaseError) -> T {
        let size = MemoryLayout<T>.size
        guard remaining >= size else { throw .corrupted("\(what) is too short") }
        defer { offset += size }
        return T(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: T.self))
    }

    package mutating func readRaw(_ count: Int) throws(DatabaseError) -> UnsafeRawBufferPointer {
        guard count >= 0, remaining >= count else { throw .corrupted("\(what) is too short") }
        defer { offset += count }
        return UnsafeRawBufferPointer(rebasing: bytes[offset ..< offset + count])
    }

    package mutating func readRun() throws(DatabaseError) -> UnsafeRawBufferPointer {
        let count: UInt32 = try read()
        return try readRaw(Int(count))
    }

    package mutating func readText() throws(DatabaseError) -> String {
        let run = try readRun()
        guard let text = String(validating: run, as: UTF8.self) else {
            throw .corrupted("\(what) has text that is not UTF-8")
        }
        return text
    }
}
