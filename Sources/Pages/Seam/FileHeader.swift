/// The record under key 0x00: what the file is, and the number of its latest commit. 128 bytes, little-endian:
///
///       0  "MOTTE\0"                     40  file UUID, 16 bytes
///       6  u16 endianness mark 0x0102    56  history epoch UUID, 16 bytes (new for every copy)
///       8  u16 major                     72  u32 page bytes
///      10  u16 minor                     76  u32 checksum kind (1: CRC-32C)
///      12  u32 rows per cluster          80  u32 Unicode version of folded indexes (0: none)
///      16  u64 incompatible features     84  u32 zero
///      24  u64 read-only-compatible      88  u64 version of the latest commit
///      32  u64 compatible                96  i64 wall time of that commit, ns since 1970
///                                       104  20 bytes zero
///                                       124  u32 CRC-32C of the 124 bytes before
///
/// A reader that does not know an incompatible bit, or a newer major number, refuses the file; one that does not know
/// a read-only-compatible bit opens it for reading only; it may ignore compatible bits and a newer minor number.
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

    package var major = FileHeader.currentMajor
    package var minor = FileHeader.currentMinor
    package var rowsPerCluster: Int
    package var incompatibleFeatures: UInt64 = 0
    package var readOnlyCompatibleFeatures: UInt64 = 0
    package var compatibleFeatures: UInt64 = 0
    package var fileUUID: UUID
    package var historyEpoch: UUID
    package var pageBytes: Int
    package var checksumKind = FileHeader.checksumCRC32C
    package var unicodeVersion: UInt32 = 0
    package var version: Version
    /// When that version was committed, by the committer's clock.
    package var wallTimeNanoseconds: Int64

    package static let key: [UInt8] = [KeySpace.header]
    package static let byteCount = 128
    package static let currentMajor: UInt16 = 1
    package static let currentMinor: UInt16 = 0
    package static let checksumCRC32C: UInt32 = 1
    /// 480 values of 8 bytes, their validity bits and the chunk header fill one overflow page of LMDB: 4,080 bytes.
    package static let defaultRowsPerCluster = 480
    /// Of our own page files: 1,904 values of 2 bytes, their validity bits, the chunk header and the tag of an
    /// encrypted page fill a page, so 4 bytes take two and 8 bytes four.
    package static let defaultRowsPerClusterOfOwnPages = 1_904
    package static let mostRowsPerCluster = 65_536
    private static let magic: [UInt8] = [0x4D, 0x4F, 0x54, 0x54, 0x45, 0x00]
    private static let endiannessMark: UInt16 = 0x0102
    /// There have been long values (key space 0x08), so chunks may refer to them.
    package static let longValuesFeature: UInt64 = 1
    /// There have been lists whose lengths take less than four bytes each.
    package static let packedLengthsFeature: UInt64 = 2
    /// There have been tables with a number of rows per cluster of their own.
    package static let rowsOfTablesFeature: UInt64 = 4
    /// There has been a journal.
    package static let journalFeature: UInt64 = 8
    private static let knownIncompatible =
        longValuesFeature | packedLengthsFeature | rowsOfTablesFeature | journalFeature
    /// What entries of a commit tell of.
    private static let featuresOfEntries = longValuesFeature | packedLengthsFeature | rowsOfTablesFeature
    private static let knownReadOnlyCompatible: UInt64 = 0

    /// The header of a new, empty file.
    static func new(rowsPerCluster: Int, pageBytes: Int) throws(DatabaseError) -> FileHeader {
        guard (1 ... mostRowsPerCluster).contains(rowsPerCluster) else {
            throw DatabaseError(
                .invalidArgument, "rows_per_cluster is \(rowsPerCluster); 1 to \(mostRowsPerCluster) are possible")
        }
        return FileHeader(
            rowsPerCluster: rowsPerCluster, fileUUID: try .random(), historyEpoch: try .random(), pageBytes: pageBytes,
            version: Version(0), wallTimeNanoseconds: motte_shim_wall_time_ns())
    }

    private init(
        rowsPerCluster: Int, fileUUID: UUID, historyEpoch: UUID, pageBytes: Int, version: Version,
        wallTimeNanoseconds: Int64
    ) {
        self.rowsPerCluster = rowsPerCluster
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
        guard bytes.loadUnaligned(fromByteOffset: 6, as: UInt16.self).littleEndian == FileHeader.endiannessMark else {
            throw DatabaseError(.unsupportedFormat, "'\(path)' was written with another byte order", path: path)
        }
        // A newer format may have moved anything behind these two numbers, so they are looked at before the checksum.
        major = bytes.loadUnaligned(fromByteOffset: 8, as: UInt16.self).littleEndian
        minor = bytes.loadUnaligned(fromByteOffset: 10, as: UInt16.self).littleEndian
        guard major <= FileHeader.currentMajor else {
            throw DatabaseError(
                .unsupportedFormat,
                "'\(path)' has format \(major).\(minor), this library reads up to \(FileHeader.currentMajor).x;"
                    + " update Motte",
                path: path)
        }
        let crc = bytes.loadUnaligned(fromByteOffset: 124, as: UInt32.self).littleEndian
        guard crc == motte_shim_crc32c(0, bytes.baseAddress, 124) else {
            throw .corrupted("the checksum of the header record is wrong")
        }
        func word(_ offset: Int) -> UInt64 { bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self).littleEndian }
        func half(_ offset: Int) -> UInt32 { bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self).littleEndian }
        rowsPerCluster = Int(half(12))
        incompatibleFeatures = word(16)
        readOnlyCompatibleFeatures = word(24)
        compatibleFeatures = word(32)
        fileUUID = UUID(high: word(40), low: word(48))
        historyEpoch = UUID(high: word(56), low: word(64))
        pageBytes = Int(half(72))
        checksumKind = half(76)
        unicodeVersion = half(80)
        version = Version(word(88))
        wallTimeNanoseconds = Int64(bitPattern: word(96))
        guard (1 ... FileHeader.mostRowsPerCluster).contains(rowsPerCluster) else {
            throw .corrupted("the header record says \(rowsPerCluster) rows per cluster")
        }
        let unknown = incompatibleFeatures & ~FileHeader.knownIncompatible
        guard unknown == 0, checksumKind == FileHeader.checksumCRC32C else {
            throw DatabaseError(
                .unsupportedFormat, "'\(path)' uses features this library does not know; update Motte", path: path)
        }
    }

    /// A feature this library does not know forbids writing.
    var isReadOnlyForUs: Bool { readOnlyCompatibleFeatures & ~FileHeader.knownReadOnlyCompatible != 0 }

    func encoded() -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: FileHeader.byteCount)
        bytes.withUnsafeMutableBytes { bytes in
            func store<T: FixedWidthInteger>(_ value: T, _ offset: Int) {
                bytes.storeBytes(of: value.littleEndian, toByteOffset: offset, as: T.self)
            }
            bytes.copyBytes(from: FileHeader.magic)
            store(FileHeader.endiannessMark, 6)
            store(major, 8)
            store(minor, 10)
            store(UInt32(rowsPerCluster), 12)
            store(incompatibleFeatures, 16)
            store(readOnlyCompatibleFeatures, 24)
            store(compatibleFeatures, 32)
            store(fileUUID.high, 40)
            store(fileUUID.low, 48)
            store(historyEpoch.high, 56)
            store(historyEpoch.low, 64)
            store(UInt32(pageBytes), 72)
            store(checksumKind, 76)
            store(unicodeVersion, 80)
            store(version.rawValue, 88)
            store(wallTimeNanoseconds, 96)
            store(motte_shim_crc32c(0, bytes.baseAddress, 124), 124)
        }
        return bytes
    }

    /// The same file after a commit of these entries.
    func advanced(to version: Version, by entries: [PageBatch.Entry]) -> FileHeader {
        var next = self
        if incompatibleFeatures & FileHeader.featuresOfEntries != FileHeader.featuresOfEntries {
            for entry in entries where !entry.isDelete {
                next.incompatibleFeatures |= FileHeader.features(key: entry.key, value: entry.value)
            }
        }
        next.version = version
        next.wallTimeNanoseconds = motte_shim_wall_time_ns()
        return next
    }

    /// What a reader must know to understand the entry.
    static func features(key: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer) -> UInt64 {
        switch key.first {
        case KeySpace.longValues: longValuesFeature
        // The kind says that it is lists, the width that it is not that of the first files.
        case KeySpace.chunks where value.count >= 3:
            value[0] & ChunkMark.list != 0 && value[2] != 0 ? packedLengthsFeature : 0
        case KeySpace.tableStates where value.count == 40:
            value[36...].contains { $0 != 0 } ? rowsOfTablesFeature : 0
        default: 0
        }
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
