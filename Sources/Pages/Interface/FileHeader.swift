/// The record under key 0x00: what the file is, and the number of its latest commit. 128 bytes, little-endian:
///
///       0  "MOTTE\0"                     72  u32 page bytes
///       6  reserved, 6 bytes             76  reserved, 12 bytes
///      12  u32 rows per row group          88  u64 version of the latest commit
///      16  reserved, 16 bytes: the       96  i64 wall time of that commit, ns since 1970
///          replica's identity
///      32  reserved, u64
///      40  file UUID, 16 bytes          104  reserved, 20 bytes
///      56  history UUID, 16 bytes       124  u32 CRC-32C of the 124 bytes before
///          (new for every copy)
///
/// What is reserved is zero, and a file where it is not is refused. The format number is in the head of the file
/// (`FileHead`).
import CMotteShim
import MotteValues

package struct FileHeader: Sendable, Equatable {
    package struct UUID: Sendable, Hashable {
        package var high: UInt64
        package var low: UInt64
        package init(high: UInt64, low: UInt64) {
            self.high = high
            self.low = low
        }
    }

    package var rowGroupSize: Int
    package var fileUUID: UUID
    package var historyEpoch: UUID
    package var pageBytes: Int
    package var version: Version
    /// When that version was committed, by the committer's clock.
    package var wallTimeNanoseconds: Int64

    package static let key: [UInt8] = [KeySpace.header]
    package static let byteCount = 128
    /// Of every file, for messages.
    package static let format = "\(FileHead.major).\(FileHead.minor)"
    /// 1,904 values of 2 bytes, their validity bits, the chunk header and the trailer of an encrypted page fill a page,
    /// so 4 bytes take two and 8 bytes four.
    package static let defaultRowGroupSize = 1_904
    /// Of tables with wide values: 480 values of 8 bytes with all that fill a page.
    package static let fewRowsPerRowGroup = 480
    package static let mostRowGroupSize = 65_536
    private static let magic: [UInt8] = [0x4D, 0x4F, 0x54, 0x54, 0x45, 0x00]
    private static let reserved = [6 ..< 12, 16 ..< 40, 76 ..< 88, 104 ..< 124]

    /// The header of a new, empty file.
    package static func new(rowGroupSize: Int, pageBytes: Int) throws(DatabaseError) -> FileHeader {
        guard (1 ... mostRowGroupSize).contains(rowGroupSize) else {
            throw DatabaseError(
                .invalidArgument, "row_group_size is \(rowGroupSize); 1 to \(mostRowGroupSize) are possible")
        }
        return FileHeader(
            rowGroupSize: rowGroupSize, fileUUID: try .random(), historyEpoch: try .random(), pageBytes: pageBytes,
            version: Version(0), wallTimeNanoseconds: motte_shim_wall_time_ns())
    }

    private init(
        rowGroupSize: Int, fileUUID: UUID, historyEpoch: UUID, pageBytes: Int, version: Version,
        wallTimeNanoseconds: Int64
    ) {
        self.rowGroupSize = rowGroupSize
        self.fileUUID = fileUUID
        self.historyEpoch = historyEpoch
        self.pageBytes = pageBytes
        self.version = version
        self.wallTimeNanoseconds = wallTimeNanoseconds
    }

    /// Whether the bytes could be a header of ours at all, whatever its state.
    static func hasMagic(_ bytes: UnsafeRawBufferPointer) -> Bool {
        bytes.count >= magic.count && bytes.prefix(magic.count).elementsEqual(magic)
    }

    /// Reads a record; `path` is for messages.
    package init(decoding bytes: UnsafeRawBufferPointer, path: String) throws(DatabaseError) {
        guard FileHeader.hasMagic(bytes) else {
            throw DatabaseError(.notAMotteFile, "'\(path)' is not a Motte file", path: path)
        }
        guard bytes.count >= FileHeader.byteCount else { throw .corrupted("the header record is cut short") }
        let crc = bytes.loadUnaligned(fromByteOffset: 124, as: UInt32.self).littleEndian
        guard crc == motte_shim_crc32c(0, bytes.baseAddress, 124) else {
            throw .corrupted("the checksum of the header record is wrong")
        }
        func word(_ offset: Int) -> UInt64 { bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self).littleEndian }
        func half(_ offset: Int) -> UInt32 { bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self).littleEndian }
        rowGroupSize = Int(half(12))
        fileUUID = UUID(high: word(40), low: word(48))
        historyEpoch = UUID(high: word(56), low: word(64))
        pageBytes = Int(half(72))
        version = Version(word(88))
        wallTimeNanoseconds = Int64(bitPattern: word(96))
        guard (1 ... FileHeader.mostRowGroupSize).contains(rowGroupSize) else {
            throw .corrupted("the header record says \(rowGroupSize) rows per row group")
        }
        guard FileHeader.reserved.allSatisfy({ bytes[$0].allSatisfy { $0 == 0 } }) else {
            throw DatabaseError(
                .unsupportedFormat, "the header record of '\(path)' has something that this library does not know",
                path: path)
        }
    }

    package func encoded() -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: FileHeader.byteCount)
        bytes.withUnsafeMutableBytes { bytes in
            func store<T: FixedWidthInteger>(_ value: T, _ offset: Int) {
                bytes.storeBytes(of: value.littleEndian, toByteOffset: offset, as: T.self)
            }
            bytes.copyBytes(from: FileHeader.magic)
            store(UInt32(rowGroupSize), 12)
            store(fileUUID.high, 40)
            store(fileUUID.low, 48)
            store(historyEpoch.high, 56)
            store(historyEpoch.low, 64)
            store(UInt32(pageBytes), 72)
            store(version.rawValue, 88)
            store(wallTimeNanoseconds, 96)
            store(motte_shim_crc32c(0, bytes.baseAddress, 124), 124)
        }
        return bytes
    }

    /// The same file after a commit.
    package func advanced(to version: Version) -> FileHeader {
        var next = self
        next.version = version
        next.wallTimeNanoseconds = motte_shim_wall_time_ns()
        return next
    }

    /// The version in a record, without the rest of the checks; nil when it cannot be one.
    static func version(in bytes: UnsafeRawBufferPointer) -> Version? {
        guard bytes.count >= byteCount, hasMagic(bytes),
            bytes.loadUnaligned(fromByteOffset: 124, as: UInt32.self).littleEndian
                == motte_shim_crc32c(0, bytes.baseAddress, 124)
        else { return nil }
        return Version(bytes.loadUnaligned(fromByteOffset: 88, as: UInt64.self).littleEndian)
    }
}

extension FileHeader.UUID: CustomStringConvertible {
    static func random() throws(DatabaseError) -> FileHeader.UUID {
        var words = (UInt64(0), UInt64(0))
        let status = withUnsafeMutableBytes(of: &words) { motte_shim_random($0.baseAddress, $0.count) }
        guard status == 0 else {
            throw DatabaseError(.inputOutput, "the system gave no random numbers", systemError: status)
        }
        // The marks of a version 4 UUID, so that other tools print it as one.
        return FileHeader.UUID(
            high: words.0 & ~0xF000 | 0x4000, low: words.1 & ~(0xC0 << 56) | 0x80 << 56)
    }

    package var description: String {
        func hex(_ value: UInt64, _ digits: Int) -> String {
            let text = String(value, radix: 16)
            return String(repeating: "0", count: max(0, digits - text.utf8.count)) + text
        }
        return hex(high >> 32, 8) + "-" + hex(high >> 16 & 0xFFFF, 4) + "-" + hex(high & 0xFFFF, 4) + "-"
            + hex(low >> 48, 4) + "-" + hex(low & 0xFFFF_FFFF_FFFF, 12)
    }
}
