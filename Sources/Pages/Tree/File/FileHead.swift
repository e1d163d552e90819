/// Page 0: what the file is. Written once, when the file is made. The rest of the page is zero:
///
///      0  "MOTTEDB\0"                            40  reserved, 24 bytes
///      8  u16 major, u16 minor format number     64  of an encrypted file the salt, 32 bytes
///     12  u32 page bytes                         96  of an encrypted file the key check, 32 bytes
///     16  u32 cipher: 0 none, 1 XAES-256-GCM    128  u64 XXH3-64 of the 128 bytes before
///     20  reserved, u32
///     24  file UUID, 16 bytes
///
/// What is reserved, and what a plain file does not have, is zero, and a file where it is not is refused.
import CMotteShim
import MotteValues

package struct FileHead {
    /// What an encrypted file says about its key.
    struct Sealing {
        var salt: [UInt8]
        /// The code of the 96 bytes before it, by a key that comes from the user's and the salt.
        var check: [UInt8]
        var checked: [UInt8]
    }

    /// Of the file format: a file has the one that this library writes, or is refused.
    static let major: UInt16 = 0
    static let minor: UInt16 = 1

    var pageBytes: Int
    var uuid: FileHeader.UUID
    var sealing: Sealing?

    package static let magic: [UInt8] = Array("MOTTEDB\0".utf8)
    package static let byteCount = 136
    static let saltOffset = 64
    private static let checkOffset = 96
    private static let checksumOffset = 128
    private static let sealed: UInt32 = 1

    init(pageBytes: Int, uuid: FileHeader.UUID) {
        self.pageBytes = pageBytes
        self.uuid = uuid
    }

    static func hasMagic(_ bytes: UnsafeRawBufferPointer) -> Bool {
        bytes.count >= magic.count && bytes.prefix(magic.count).elementsEqual(magic)
    }

    func encoded(_ cipher: PageCipher?) throws(DatabaseError) -> [UInt8] {
        var page = [UInt8](repeating: 0, count: pageBytes)
        page.withUnsafeMutableBytes { page in
            page.copyBytes(from: FileHead.magic)
            page.storeBytes(of: FileHead.major.littleEndian, toByteOffset: 8, as: UInt16.self)
            page.storeBytes(of: FileHead.minor.littleEndian, toByteOffset: 10, as: UInt16.self)
            page.storeBytes(of: UInt32(pageBytes).littleEndian, toByteOffset: 12, as: UInt32.self)
            if cipher != nil { page.storeBytes(of: FileHead.sealed.littleEndian, toByteOffset: 16, as: UInt32.self) }
            page.storeBytes(of: uuid.high.littleEndian, toByteOffset: 24, as: UInt64.self)
            page.storeBytes(of: uuid.low.littleEndian, toByteOffset: 32, as: UInt64.self)
        }
        if let cipher {
            page.replaceSubrange(FileHead.saltOffset ..< FileHead.checkOffset, with: cipher.salt)
            let check = try Array(page[..<FileHead.checkOffset]).withBytes { head throws(DatabaseError) in
                try cipher.check(of: head)
            }
            page.replaceSubrange(FileHead.checkOffset ..< FileHead.checksumOffset, with: check)
        }
        page.withUnsafeMutableBytes { page in
            let checksum = FileHead.checksum(UnsafeRawBufferPointer(page))
            page.storeBytes(of: checksum.littleEndian, toByteOffset: FileHead.checksumOffset, as: UInt64.self)
        }
        return page
    }

    /// Whether the checksum of a first page, of at least `byteCount` bytes, is right, whatever its format number is.
    static func hasChecksum(_ bytes: UnsafeRawBufferPointer) -> Bool {
        UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: checksumOffset, as: UInt64.self)) == checksum(bytes)
    }

    private static func checksum(_ bytes: UnsafeRawBufferPointer) -> UInt64 {
        motte_shim_xxh3(bytes.baseAddress, checksumOffset)
    }

    package init(decoding bytes: UnsafeRawBufferPointer, path: String) throws(DatabaseError) {
        guard FileHead.hasMagic(bytes) else { throw ForeignFile.error(bytes, path) }
        guard bytes.count >= FileHead.byteCount else { throw .corrupted("it ends within its first page") }
        func half(_ offset: Int) -> UInt32 {
            UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
        }
        func word(_ offset: Int) -> UInt64 {
            UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
        }
        // Another format may have anything behind these two numbers, so they are looked at before the checksum.
        let major = UInt16(truncatingIfNeeded: half(8)), minor = UInt16(truncatingIfNeeded: half(8) >> 16)
        guard major == FileHead.major, minor == FileHead.minor else {
            throw DatabaseError(
                .unsupportedFormat,
                "'\(path)' has file format \(major).\(minor), and this library reads and writes format"
                    + " \(FileHead.major).\(FileHead.minor) only; open it with a version of Motte that knows it",
                path: path)
        }
        guard FileHead.hasChecksum(bytes) else {
            throw .corrupted("the checksum of its first page is wrong")
        }
        let isSealed = half(16) == FileHead.sealed
        let unused = isSealed ? 40 ..< FileHead.saltOffset : 40 ..< FileHead.checksumOffset
        guard half(16) <= FileHead.sealed, half(20) == 0, bytes[unused].allSatisfy({ $0 == 0 }) else {
            throw DatabaseError(
                .unsupportedFormat,
                "the first page of '\(path)' has something that format \(major).\(minor) does not know (cipher"
                    + " \(half(16)))", path: path)
        }
        pageBytes = Int(half(12))
        uuid = FileHeader.UUID(high: word(24), low: word(32))
        guard TreeFormat.pageSizes.contains(pageBytes) else {
            throw .corrupted("its first page says \(pageBytes) bytes a page")
        }
        guard isSealed else { return }
        sealing = Sealing(
            salt: Array(bytes[FileHead.saltOffset ..< FileHead.checkOffset]),
            check: Array(bytes[FileHead.checkOffset ..< FileHead.checksumOffset]),
            checked: Array(bytes[..<FileHead.checkOffset]))
    }

    /// The cipher that the file is read with; nil for a plain one. Fails when the key is not the file's.
    func cipher(_ key: [UInt8]?, _ path: String) throws(DatabaseError) -> PageCipher? {
        guard let sealing else {
            guard key == nil else { throw FileHead.isPlain(path) }
            return nil
        }
        guard let key else { throw FileHead.isSealed(path) }
        let cipher = try PageCipher(key, salt: sealing.salt)
        let check = try sealing.checked.withBytes { head throws(DatabaseError) in try cipher.check(of: head) }
        guard check.withUnsafeBytes({ motte_shim_equal($0.baseAddress, sealing.check, $0.count) }) != 0 else {
            throw FileHead.isOther(path)
        }
        return cipher
    }

    static func isPlain(_ path: String) -> DatabaseError {
        DatabaseError(
            .wrongKey,
            "'\(path)' is not encrypted, so it has no key; 'motte copy --new-key-file' writes an encrypted copy",
            path: path)
    }

    static func isSealed(_ path: String) -> DatabaseError {
        DatabaseError(.wrongKey, "'\(path)' is encrypted; open it with its key of 64 bytes", path: path)
    }

    static func isOther(_ path: String) -> DatabaseError {
        DatabaseError(.wrongKey, "the key is not the one that '\(path)' is encrypted with", path: path)
    }
}
