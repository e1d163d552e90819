/// Bounds-checked little-endian decoding of bytes that come from a file: short or absurd input is an error.
package struct ByteReader {
    @usableFromInline let bytes: UnsafeRawBufferPointer
    private let what: String
    @usableFromInline var place = 0

    /// `what` names the thing that is being read, for the error.
    package init(_ bytes: UnsafeRawBufferPointer, of what: String) {
        self.bytes = bytes
        self.what = what
    }

    package var offset: Int { place }
    @inlinable package var remaining: Int { bytes.count - place }

    @inlinable package mutating func read<T: FixedWidthInteger>(
        _ type: T.Type = T.self
    ) throws(DatabaseError) -> T {
        let size = MemoryLayout<T>.size
        guard remaining >= size else { throw tooShort }
        defer { place += size }
        return T(littleEndian: bytes.loadUnaligned(fromByteOffset: place, as: T.self))
    }

    @usableFromInline var tooShort: DatabaseError { .corrupted("\(what) is too short") }

    package mutating func readRaw(_ count: Int) throws(DatabaseError) -> UnsafeRawBufferPointer {
        guard count >= 0, remaining >= count else { throw tooShort }
        defer { place += count }
        return UnsafeRawBufferPointer(rebasing: bytes[place ..< place + count])
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
