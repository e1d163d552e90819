/// The first 24 bytes of a Realm file, which say where the newest state begins.
///
///      0  u64 x 2  top ref of slot 0 and 1        20  u8 x 2  file format of slot 0 and 1
///     16  "T-DB"                                   23  u8     bit 0: the slot that counts
///
/// A file written in one pass ("streaming form") has no top ref there: all bits of slot 0 are set, and the last 16
/// bytes of the file are the top ref and a cookie.
import MotteValues

struct RealmHeader {
    static let count = 24
    static let supported = 20 ... 24
    private static let footerBytes = 16
    private static let cookie: UInt64 = 0x3034_1252_37E5_26C8

    let format: Int
    /// 0: an empty database.
    let top: Int

    /// nil: not the first bytes of a Realm file.
    static func format(_ bytes: UnsafeRawBufferPointer) -> Int? {
        guard bytes.count >= count, bytes.loadUnaligned(fromByteOffset: 16, as: UInt32.self) == magic else {
            return nil
        }
        return Int(bytes[20 + Int(bytes[23] & 1)])
    }

    private static let magic = UInt32(0x4244_2D54).littleEndian

    /// Any bytes that `format` knows.
    init(_ bytes: UnsafeRawBufferPointer, of pages: PageSource) throws(DatabaseError) {
        guard pages.count % 8 == 0 else {
            throw Damage.found("the file is truncated: its size, \(pages.count) bytes, is no multiple of 8")
        }
        let slot = Int(bytes[23] & 1)
        let format = Int(bytes[20 + slot])
        var ref = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: 8 * slot, as: UInt64.self))
        if slot == 0, ref == .max { ref = try Self.footer(of: pages) }
        top = Int(truncatingIfNeeded: ref)
        self.format = format == 0 && ref == 0 ? Self.supported.upperBound : format
        guard Self.supported.contains(self.format) else { throw Self.unsupported(format) }
    }

    private static func footer(of pages: PageSource) throws(DatabaseError) -> UInt64 {
        let place = pages.count - footerBytes
        guard place >= count, try pages.word(place + 8) == cookie else {
            throw Damage.found("the file is truncated: it is a copy that was not finished")
        }
        return try pages.word(place)
    }

    private static func unsupported(_ format: Int) -> DatabaseError {
        let what =
            switch format {
            case ..<5:
                "open it once with a program that uses realm-core 5, and then with one that uses realm-core 13: "
                    + "each upgrades it"
            case ..<10: "open it once with a program that uses realm-core 13 (not 14), which upgrades it"
            case ..<supported.lowerBound: "open it once with a program that uses realm-core 13 or 14, which upgrades it"
            default: "it is newer: export its objects with the program that made it"
            }
        return DatabaseError(
            .unsupportedFormat,
            "its format is \(format), and formats \(supported.lowerBound) to \(supported.upperBound) can be read; "
                + what)
    }
}
