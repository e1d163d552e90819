/// The pages of an encrypted Realm file: 4,096 bytes each, by AES-256-CBC, with an HMAC-SHA-224 of the encrypted
/// bytes.
///
///     table page | 64 data pages | table page | 64 data pages | ...
///     entry of a data page: iv u32, HMAC 28 bytes, and both again for what the page was before
///
/// The older pair counts where the newer one does not fit: a write was cut off between the entry and the page. A page
/// that was never written is damage only to who asks for it. Nothing is decrypted before its HMAC was compared.
import CMotteShim
import MotteValues

final class PageDecryption {
    static let pageBytes = 4096
    private static let pagesPerTable = 64
    private static let entryBytes = 64
    private static let codeBytes = Int(MOTTE_SHIM_REALM_CODE)

    private let handle: OpaquePointer
    /// The newest table page, and encrypted bytes of the page that is read.
    private let table = UnsafeMutableRawPointer.allocate(byteCount: PageDecryption.pageBytes, alignment: 16)
    private let sealed = UnsafeMutableRawPointer.allocate(byteCount: PageDecryption.pageBytes, alignment: 16)
    private let vector = UnsafeMutableRawBufferPointer.allocate(byteCount: 16, alignment: 16)
    private var tableNumber = -1

    init(key: [UInt8]) throws(DatabaseError) {
        guard key.count == Int(MOTTE_SHIM_REALM_KEY) else {
            throw DatabaseError(
                .invalidArgument, "the key of a Realm file has \(MOTTE_SHIM_REALM_KEY) bytes, this one \(key.count)")
        }
        try Libcrypto.load()
        let made = key.withUnsafeBufferPointer { motte_shim_realm_pages_make($0.baseAddress) }
        guard let made else { throw Self.failed }
        handle = made
        vector.initializeMemory(as: UInt8.self, repeating: 0)
    }

    deinit {
        motte_shim_realm_pages_free(handle)
        motte_shim_wipe(sealed, Self.pageBytes)
        sealed.deallocate()
        table.deallocate()
        vector.deallocate()
    }

    /// Of the decrypted file; a last page that is not whole is ignored.
    static func dataBytes(in fileBytes: Int) -> Int {
        let pages = fileBytes / pageBytes
        return (pages - (pages + pagesPerTable) / (pagesPerTable + 1)) * pageBytes
    }

    func read(page: Int, of file: FileBytes, to target: UnsafeMutableRawPointer) throws(DatabaseError) {
        let group = page / Self.pagesPerTable
        if group != tableNumber {
            tableNumber = -1
            try file.read(group * (Self.pagesPerTable + 1) * Self.pageBytes, Self.pageBytes, to: table)
            tableNumber = group
        }
        let entry = UnsafeRawPointer(table) + page % Self.pagesPerTable * Self.entryBytes
        guard entry.load(as: UInt32.self) != 0 else { throw absent(page) }
        try file.read((page + group + 1) * Self.pageBytes, Self.pageBytes, to: sealed)
        let start = try usedPair(of: entry, page)
        // The page's offset in the decrypted file stands between four bytes of the entry and zeros.
        vector.storeBytes(of: start.load(as: UInt32.self), as: UInt32.self)
        vector.storeBytes(of: UInt64(page * Self.pageBytes).littleEndian, toByteOffset: 4, as: UInt64.self)
        let status = motte_shim_realm_page_decrypt(
            handle, vector.baseAddress?.assumingMemoryBound(to: UInt8.self), sealed, Self.pageBytes, target)
        guard status == 0 else { throw Self.failed }
    }

    /// Where the vector begins that the page's bytes belong to.
    private func usedPair(of entry: UnsafeRawPointer, _ page: Int) throws(DatabaseError) -> UnsafeRawPointer {
        var code = (UInt64(0), UInt64(0), UInt64(0), UInt32(0))
        let status = withUnsafeMutableBytes(of: &code) {
            motte_shim_realm_page_code(
                handle, sealed, Self.pageBytes, $0.baseAddress?.assumingMemoryBound(to: UInt8.self))
        }
        guard status == 0 else { throw Self.failed }
        let older = entry + 4 + Self.codeBytes
        let fits = withUnsafeBytes(of: &code) { code in
            (
                motte_shim_equal(code.baseAddress, entry + 4, Self.codeBytes) != 0,
                motte_shim_equal(code.baseAddress, older + 4, Self.codeBytes) != 0
            )
        }
        if fits.0 { return entry }
        if fits.1, older.load(as: UInt32.self) != 0 { return older }
        if UnsafeRawBufferPointer(start: sealed, count: Self.pageBytes).allSatisfy({ $0 == 0 }) { throw absent(page) }
        throw page == 0 ? Self.wrongKey : Damage.found("encrypted page \(page) is not what was written")
    }

    private func absent(_ page: Int) -> DatabaseError {
        page == 0 ? Self.wrongKey : Damage.found("encrypted page \(page), which is referred to, was never written")
    }

    static var wrongKey: DatabaseError {
        DatabaseError(.wrongKey, "this is not its key, or it is not an encrypted Realm file")
    }

    private static var failed: DatabaseError { DatabaseError(.internal, "libcrypto could not decrypt") }
}
