/// Page 0: what the file is. Written once, when the file is made. 64 bytes, the rest of the page is zero:
///
///      0  "MOTTEDB\0"            12  u32 page bytes          20  u32 zero         40  20 bytes zero
///      8  u16 major, u16 minor   16  u32 cipher, 0: none     24  UUID, 16 bytes   60  u32 CRC-32C of the 60 before
import CMotteShim
import MotteValues

struct FileHead {
    var pageBytes: Int
    var uuid: FileHeader.UUID

    static let magic: [UInt8] = Array("MOTTEDB\0".utf8)
    static let major: UInt16 = 1
    static let byteCount = 64

    init(pageBytes: Int, uuid: FileHeader.UUID) {
        self.pageBytes = pageBytes
        self.uuid = uuid
    }

    static func hasMagic(_ bytes: UnsafeRawBufferPointer) -> Bool {
        bytes.count >= magic.count && bytes.prefix(magic.count).elementsEqual(magic)
    }

    func encoded() -> [UInt8] {
        var page = [UInt8](repeating: 0, count: pageBytes)
        page.withUnsafeMutableBytes { page in
            page.copyBytes(from: FileHead.magic)
            page.storeBytes(of: FileHead.major.littleEndian, toByteOffset: 8, as: UInt16.self)
            page.storeBytes(of: UInt32(pageBytes).littleEndian, toByteOffset: 12, as: UInt32.self)
            page.storeBytes(of: uuid.high.littleEndian, toByteOffset: 24, as: UInt64.self)
            page.storeBytes(of: uuid.low.littleEndian, toByteOffset: 32, as: UInt64.self)
            page.storeBytes(
                of: motte_shim_crc32c(0, page.baseAddress, 60).littleEndian, toByteOffset: 60, as: UInt32.self)
        }
        return page
    }

    init(decoding bytes: UnsafeRawBufferPointer, path: String) throws(DatabaseError) {
        guard FileHead.hasMagic(bytes) else {
            throw DatabaseError(.notAMotteFile, "'\(path)' is not a Motte file", path: path)
        }
        guard bytes.count >= FileHead.byteCount else { throw .corrupted("it ends within its first page") }
        let major = UInt16(littleEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt16.self))
        guard
            UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: 60, as: UInt32.self))
                == motte_shim_crc32c(0, bytes.baseAddress, 60)
        else { throw .corrupted("the checksum of its first page is wrong") }
        guard major == FileHead.major, bytes.loadUnaligned(fromByteOffset: 16, as: UInt32.self) == 0 else {
            throw DatabaseError(
                .unsupportedFormat,
                "'\(path)' has page format \(major), which this library does not know; update Motte",
                path: path)
        }
        pageBytes = Int(UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: 12, as: UInt32.self)))
        uuid = FileHeader.UUID(
            high: UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: 24, as: UInt64.self)),
            low: UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: 32, as: UInt64.self)))
        guard TreeFormat.pageSizes.contains(pageBytes) else {
            throw .corrupted("its first page says \(pageBytes) bytes a page")
        }
    }
}
