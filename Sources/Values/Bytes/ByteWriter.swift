/// Appends little-endian numbers and length-prefixed byte runs: the mirror image of `ByteReader`.
package struct ByteWriter {
    package private(set) var bytes: [UInt8] = []

    package init() {}

    package mutating func write<T: FixedWidthInteger>(_ value: T) {
        withUnsafeBytes(of: value.littleEndian) { bytes.append(contentsOf: $0) }
    }

    package mutating func write(run: UnsafeRawBufferPointer) {
        write(UInt32(run.count))
        bytes.append(contentsOf: run)
    }

    package mutating func write(text: String) {
        text.withUTF8Bytes { write(run: $0) }
    }

    package mutating func write(raw: UnsafeRawBufferPointer) {
        bytes.append(contentsOf: raw)
    }
}
