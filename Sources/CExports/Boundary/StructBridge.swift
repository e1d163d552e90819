/// Structs that begin with `struct_size`: a caller may be older or newer than the library.
import MotteValues

/// The first version of each struct is the smallest that is accepted; this bounds nonsense from above.
private let largestStruct = 4096

/// A struct that goes out: filled up to the caller's size, which is at most this library's. A larger size is refused,
/// because nothing tells a newer caller from one who forgot to set `struct_size`, whose stack would be written over.
/// Calls `make` after the check.
func fillStruct<T>(
    _ out: UnsafeMutablePointer<T>?, smallest: Int = MemoryLayout<T>.size, _ make: () throws(DatabaseError) -> T
) throws(DatabaseError) {
    guard let out else { throw DatabaseError(.nullArgument, "a required output is NULL") }
    let raw = UnsafeMutableRawPointer(out)
    let callerSize = Int(raw.load(as: UInt32.self))
    guard callerSize >= smallest, callerSize <= MemoryLayout<T>.size else {
        throw DatabaseError(
            .badStructSize,
            "struct_size is \(callerSize), and the struct has \(smallest) to \(MemoryLayout<T>.size) bytes in this "
                + "library; set it to sizeof before the call")
    }
    let header = MemoryLayout<UInt32>.size
    (raw + header).initializeMemory(as: UInt8.self, repeating: 0, count: callerSize - header)
    var value = try make()
    withUnsafeMutableBytes(of: &value) { bytes in
        bytes.storeBytes(of: UInt32(callerSize), as: UInt32.self)
        // unsafelyUnwrapped: a struct has bytes.
        raw.copyMemory(from: bytes.baseAddress.unsafelyUnwrapped, byteCount: min(callerSize, MemoryLayout<T>.size))
    }
}

/// A struct that comes in: a missing tail reads as zero, an unknown tail must be zero.
func readStruct<T>(
    _ input: UnsafePointer<T>?, smallest: Int = MemoryLayout<T>.size, empty: T
) throws(DatabaseError) -> T {
    guard let input else { throw DatabaseError(.nullArgument, "a struct is NULL") }
    let raw = UnsafeRawPointer(input)
    let callerSize = Int(raw.load(as: UInt32.self))
    guard callerSize >= smallest, callerSize <= largestStruct else {
        throw DatabaseError(.badStructSize, "struct_size is \(callerSize); set it to sizeof before the call")
    }
    for offset in stride(from: MemoryLayout<T>.size, to: callerSize, by: 1)
    where raw.load(fromByteOffset: offset, as: UInt8.self) != 0 {
        throw DatabaseError(.unsupported, "the struct has a field at offset \(offset) that this library does not know")
    }
    var value = empty
    withUnsafeMutableBytes(of: &value) { bytes in
        // unsafelyUnwrapped: a struct has bytes.
        bytes.baseAddress.unsafelyUnwrapped.copyMemory(from: raw, byteCount: min(callerSize, MemoryLayout<T>.size))
    }
    return value
}
