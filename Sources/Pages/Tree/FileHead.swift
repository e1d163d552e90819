/// Page 0: what the file is. Written once, when the file is made. The rest of the page is zero:
///
///      0  "MOTTEDB\0"            12  u32 page bytes          20  u32 zero         40  20 bytes zero
///      8  u16 major, u16 minor   16  u32 cipher, 0: none     24  UUID, 16 bytes   60  u32 CRC-32C of the 60 before
///     with cipher 1:             64  salt, 32 bytes          96  key check, 32    128 u32 CRC-32C of the 64 before
import CMotteShim
import MotteValues

struct FileHead {
    /// What an encrypted file says about its key.
    struct Sealing {
        var salt: [UInt8]
        /// The code of the 96 bytes before it, by a key that comes from the user's and the salt.
        var check: [UInt8]
        var checked: [UInt8]
    }

    var pageBytes: Int
    var uuid: FileHeader.UUID
    var sealing: Sealing?

    static let magic: [UInt8] = Array("MOTTEDB\0".utf8)
    static let major: UInt16 = 1
    static let byteCount = 64
    /// Of an encrypted file.
    static let longestByteCount = 132
    static let saltOffset = 64
    private static let checkOffset = 96
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
            page.storeBytes(of: UInt32(pageBytes).littleEndian, toByteOffset: 12, as: UInt32.self)
            if cipher != nil { page.storeBytes(of: FileHead.sealed.littleEndian, toByteOffset: 16, as: UInt32.self) }
            page.storeBytes(of: uuid.high.littleEndian, toByteOffset: 24, as: UInt64.self)
            page.storeBytes(of: uuid.low.littleEndian, toByteOffset: 32, as: UInt64.self)
            page.storeBytes(
                of: motte_shim_crc32c(0, page.baseAddress, 60).littleEndian, toByteOffset: 60, as: UInt32.self)
        }
        guard let cipher else { return page }
        page.replaceSubrange(FileHead.saltOffset ..< FileHead.checkOffset, with: cipher.salt)
        let check = try Array(page[..<FileHead.checkOffset]).withBytes { head throws(DatabaseError) in
            try cipher.check(of: head)
        }
        page.replaceSubrange(FileHead.checkOffset ..< FileHead.checkOffset + PageCipher.checkBytes, with: check)
        page.withUnsafeMutableBytes { page in
            let crc = motte_shim_crc32c(0, page.baseAddress.map { $0 + FileHead.saltOffset }, 64)
            page.storeBytes(of: crc.littleEndian, toByteOffset: FileHead.longestByteCount - 4, as: UInt32.self)
        }
        return page
    }

    init(decoding bytes: UnsafeRawBufferPointer, path: String) throws(DatabaseError) {
        guard FileHead.hasMagic(bytes) else {
            throw DatabaseError(.notAMotteFile, "'\(path)' is not a Motte file", path: path)
        }
        guard bytes.count >= FileHead.byteCount else { throw .corrupted("it ends within its first page") }
        func half(_ offset: Int) -> UInt32 {
            UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
        }
        let major = UInt16(littleEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt16.self))
        guard half(60) == motte_shim_crc32c(0, bytes.baseAddress, 60) else {
            throw .corrupted("the checksum of its first page is wrong")
        }
        guard major == FileHead.major, half(16) <= FileHead.sealed else {
            throw DatabaseError(
                .unsupportedFormat,
                "'\(path)' has page format \(major), cipher \(half(16)), which this library does not know;"
                    + " update Motte",
                path: path)
        }
        pageBytes = Int(half(12))
        uuid = FileHeader.UUID(
            high: UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: 24, as: UInt64.self)),
            low: UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: 32, as: UInt64.self)))
        guard TreeFormat.pageSizes.contains(pageBytes) else {
            throw .corrupted("its first page says \(pageBytes) bytes a page")
        }
        guard half(16) == FileHead.sealed else { return }
        guard bytes.count >= FileHead.longestByteCount,
            half(FileHead.longestByteCount - 4)
                == motte_shim_crc32c(0, bytes.baseAddress.map { $0 + FileHead.saltOffset }, 64)
        else { throw .corrupted("the checksum of its first page is wrong") }
        sealing = Sealing(
            salt: Array(bytes[FileHead.saltOffset ..< FileHead.checkOffset]),
            check: Array(bytes[FileHead.checkOffset ..< FileHead.checkOffset + PageCipher.checkBytes]),
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
