/// Encryption of a page file: what is sealed are units, as references name them (a node, a value over several pages)
/// and root slots, each with AES-256 and a tag of 16 bytes at its end that authenticates the unit and its place.
///
/// Keys come from the 64 bytes of the user and the file's salt by HKDF-SHA-256. A unit's tag is HMAC-SHA-256 over a
/// label (kind, page, version of birth, byte count) and the plain bytes, cut to 16, and where the counter of
/// AES-256-CTR begins (SIV). So no nonce has to be unique: a page that is written again with other bytes, by a later
/// commit or by one that starts from the same version after a power cut, gets another key stream.
///
/// A node's label leaves its birth out, so that salvage can open it without a reference; its birth is inside. What an
/// old unit was at the same place is refused by the checksum and the birth in the reference, which are sealed.
import CMotteShim
import MotteValues

final class PageCipher: @unchecked Sendable {  // @unchecked: each handle is only used holding its lock
    /// What a label begins with.
    enum Kind: UInt64 {
        case slot = 1
        case node
        case value
    }

    struct Unit {
        var kind: Kind
        var page: Int
        var birth: UInt64 = 0
        var byteCount = 0

        static func of(_ reference: PageRef) -> Unit {
            guard reference.byteCount > 0 else { return Unit(kind: .node, page: reference.page) }
            return Unit(
                kind: .value, page: reference.page, birth: reference.birth, byteCount: reference.byteCount)
        }

        fileprivate var label: (UInt64, UInt64, UInt64, UInt64) {
            (
                kind.rawValue.littleEndian, UInt64(page).littleEndian, birth.littleEndian,
                UInt64(byteCount).littleEndian
            )
        }
    }

    static let keyBytes = 64
    static let saltBytes = 32
    static let checkBytes = 32
    static let tagBytes = 16
    static let slotTagBytes = tagBytes + saltBytes
    private static let purpose = Array("motte page cipher 1".utf8)

    let salt: [UInt8]
    private let key: SecretBytes
    private let checkKey: SecretBytes
    /// Readers and the writer do not wait for each other.
    private let forReading: OpaquePointer
    private let forWriting: OpaquePointer
    private let readLock = Lock()
    private let writeLock = Lock()

    init(_ key: [UInt8], salt: [UInt8]) throws(DatabaseError) {
        try PageCipher.checkKey(key)
        try PageCipher.load()
        self.salt = salt
        self.key = SecretBytes(key)
        let keys = try PageCipher.derive(key, salt)
        checkKey = SecretBytes(keys.bytes[64 ..< 96])
        guard let reading = PageCipher.handle(keys) else { throw PageCipher.failed }
        guard let writing = PageCipher.handle(keys) else {
            motte_shim_cipher_free(reading)
            throw PageCipher.failed
        }
        forReading = reading
        forWriting = writing
    }

    /// For a new file.
    static func new(_ key: [UInt8]) throws(DatabaseError) -> PageCipher {
        var salt = [UInt8](repeating: 0, count: saltBytes)
        let status = salt.withUnsafeMutableBytes { motte_shim_random($0.baseAddress, $0.count) }
        guard status == 0 else { throw SystemError.error(status, "draw a salt for", "a new file") }
        return try PageCipher(key, salt: salt)
    }

    deinit {
        motte_shim_cipher_free(forReading)
        motte_shim_cipher_free(forWriting)
    }

    static func checkKey(_ key: [UInt8]) throws(DatabaseError) {
        guard key.count == keyBytes else {
            throw DatabaseError(.invalidArgument, "an encryption key has \(keyBytes) bytes, this one \(key.count)")
        }
    }

    private static func load() throws(DatabaseError) {
        guard motte_shim_cipher_load() == 0 else {
            let why = String(cString: motte_shim_cipher_problem())
            throw DatabaseError(
                .unsupported, "encryption needs OpenSSL 3 (libcrypto.so.3, package libssl3), and \(why)")
        }
    }

    private static func handle(_ keys: SecretBytes) -> OpaquePointer? {
        guard let base = keys.bytes.baseAddress?.assumingMemoryBound(to: UInt8.self) else { return nil }
        return motte_shim_cipher_make(base, base + 32)
    }

    private static var failed: DatabaseError { DatabaseError(.internal, "libcrypto could not encrypt or decrypt") }

    /// The key it was made from, for copies that get the same.
    var userKey: [UInt8] { [UInt8](key.bytes) }

    func isMade(from other: [UInt8]) -> Bool {
        other.count == key.bytes.count
            && other.withUnsafeBytes { motte_shim_equal($0.baseAddress, key.bytes.baseAddress, $0.count) != 0 }
    }

    /// The code that says, beside the salt in a file's head, whether a key is right; over the head's bytes, so that
    /// they are authentic as well.
    func check(of head: UnsafeRawBufferPointer) throws(DatabaseError) -> [UInt8] {
        try PageCipher.code(UnsafeRawBufferPointer(checkKey.bytes), head)
    }

    // MARK: Keys.

    /// HKDF-SHA-256 to three keys: for encrypting, for tags, for checking.
    private static func derive(_ key: [UInt8], _ salt: [UInt8]) throws(DatabaseError) -> SecretBytes {
        func code(_ key: [UInt8], _ bytes: [UInt8]) throws(DatabaseError) -> [UInt8] {
            try key.withBytes { key throws(DatabaseError) in
                try bytes.withBytes { bytes throws(DatabaseError) in try PageCipher.code(key, bytes) }
            }
        }
        let start = try code(salt, key)
        var keys: [UInt8] = []
        var last: [UInt8] = []
        for number in 1 ... 3 as ClosedRange<UInt8> {
            last = try code(start, last + purpose + [number])
            keys += last
        }
        return SecretBytes(keys)
    }

    private static func code(
        _ key: UnsafeRawBufferPointer, _ bytes: UnsafeRawBufferPointer
    ) throws(DatabaseError) -> [UInt8] {
        var code = [UInt8](repeating: 0, count: 32)
        let status = code.withUnsafeMutableBufferPointer {
            motte_shim_hmac(key.baseAddress, key.count, bytes.baseAddress, bytes.count, $0.baseAddress)
        }
        guard status == 0 else { throw failed }
        return code
    }

    // MARK: Units. `count` bytes, the tag at the end included.

    func seal(
        _ unit: Unit, _ plain: UnsafeRawPointer, count: Int, to target: UnsafeMutableRawPointer
    ) throws(DatabaseError) {
        let tag = target + count - PageCipher.tagBytes
        writeLock.lock()
        defer { writeLock.unlock() }
        var label = unit.label
        let status = withUnsafeBytes(of: &label) { label in
            motte_shim_seal(
                forWriting, label.baseAddress?.assumingMemoryBound(to: UInt8.self), plain,
                count - PageCipher.tagBytes, target, tag.assumingMemoryBound(to: UInt8.self))
        }
        guard status == 0 else { throw PageCipher.failed }
    }

    /// Decrypts in place and leaves zeros where the tag was. False, and nothing left: it is not what was sealed there.
    func unseal(
        _ unit: Unit, _ bytes: UnsafeMutableRawPointer, count: Int
    ) throws(DatabaseError) -> Bool {
        let tag = bytes + count - PageCipher.tagBytes
        readLock.lock()
        defer { readLock.unlock() }
        var label = unit.label
        let status = withUnsafeBytes(of: &label) { label in
            motte_shim_unseal(
                forReading, label.baseAddress?.assumingMemoryBound(to: UInt8.self), bytes,
                count - PageCipher.tagBytes, bytes, tag.assumingMemoryBound(to: UInt8.self))
        }
        guard status >= 0 else { throw PageCipher.failed }
        tag.initializeMemory(as: UInt8.self, repeating: 0, count: PageCipher.tagBytes)
        return status == 1
    }

    // MARK: Root slots, which have the salt before the tag, in case the head is lost.

    func sealSlot(_ page: [UInt8], _ number: Int) throws(DatabaseError) -> [UInt8] {
        var sealed = page
        let count = page.count - PageCipher.saltBytes
        let result: Result<Void, DatabaseError> = sealed.withUnsafeMutableBytes { target in
            page.withUnsafeBytes { plain in
                guard let from = plain.baseAddress, let to = target.baseAddress else { return .success(()) }
                do throws(DatabaseError) {
                    try seal(Unit(kind: .slot, page: number), from, count: count, to: to)
                    return .success(())
                } catch {
                    return .failure(error)
                }
            }
        }
        try result.get()
        let tag = sealed[(count - PageCipher.tagBytes) ..< count]
        return sealed[..<(count - PageCipher.tagBytes)] + salt + tag
    }

    /// In place; false when it is no slot.
    func unsealSlot(_ page: UnsafeMutableRawBufferPointer, _ number: Int) throws(DatabaseError) -> Bool {
        guard let base = page.baseAddress else { return false }
        let count = page.count - PageCipher.saltBytes
        (base + count - PageCipher.tagBytes).copyMemory(
            from: base + page.count - PageCipher.tagBytes, byteCount: PageCipher.tagBytes)
        (base + count).initializeMemory(as: UInt8.self, repeating: 0, count: PageCipher.saltBytes)
        return try unseal(Unit(kind: .slot, page: number), base, count: count)
    }

    /// Where a slot's page has the salt.
    static func saltOffset(pageBytes: Int) -> Int { pageBytes - slotTagBytes }
}

/// Bytes that are overwritten when they are no longer needed.
private final class SecretBytes: @unchecked Sendable {  // @unchecked: never change
    let bytes: UnsafeMutableRawBufferPointer

    init(_ source: some Collection<UInt8>) {
        bytes = .allocate(byteCount: source.count, alignment: 16)
        bytes.copyBytes(from: source)
    }

    deinit {
        motte_shim_wipe(bytes.baseAddress, bytes.count)
        bytes.deallocate()
    }
}
