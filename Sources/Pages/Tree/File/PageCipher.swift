/// Encryption of a page file: what is encrypted are units, as references name them (a node, a value over several
/// pages), root slots and records of the WAL, each with a random nonce and a tag at its end that authenticates the
/// unit and its place. XAES-256-GCM; why that is said in docs/decisions/0031-encryption.md.
///
/// Keys come from the 64 bytes of the user and the file's salt by HKDF-SHA-256. The nonce of a unit is its first page
/// and 16 random bytes, which are drawn again whenever it is written: so a page that is written again, by a later
/// commit, by one that starts from the same version after a power cut, or in a copy of the file, gets another key
/// stream.
///
/// The associated data of a node leave its birth out, so that salvage can open it without a reference; its birth is
/// inside. What an old unit was at the same place is refused by the checksum and the birth in the reference, which are
/// encrypted.
import CMotteShim
import MotteValues

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

// @unchecked: the handles of libcrypto are only used holding their locks.
package final class PageCipher: @unchecked Sendable {
    /// What the associated data begin with.
    package enum Kind: UInt64 {
        case slot = 1
        case node
        case value
        case record
    }

    package struct Unit {
        var kind: Kind
        var page: PageNumber
        var birth: Version
        var byteCount: Int

        package init(kind: Kind, page: PageNumber, birth: Version = .zero, byteCount: Int = 0) {
            self.kind = kind
            self.page = page
            self.birth = birth
            self.byteCount = byteCount
        }

        static func of(_ reference: PageRef) -> Unit {
            guard reference.byteCount > 0 else { return Unit(kind: .node, page: reference.page) }
            return Unit(
                kind: .value, page: reference.page, birth: reference.birth, byteCount: reference.byteCount)
        }

        fileprivate var label: (UInt64, UInt64, UInt64, UInt64) {
            (
                kind.rawValue.littleEndian, UInt64(page.rawValue).littleEndian, birth.rawValue.littleEndian,
                UInt64(byteCount).littleEndian
            )
        }
    }

    static let saltBytes = 32
    static let checkBytes = 32
    package static let randomBytes = 16
    static let tagBytes = 16
    /// What a unit ends with: the random part of its nonce, and the tag.
    package static let trailerBytes = randomBytes + tagBytes
    /// A root slot has the salt before it, in case the head is lost.
    static let slotTrailerBytes = saltBytes + trailerBytes
    private static let purpose = Array("motte page encryption".utf8)

    let salt: [UInt8]
    private let key: SecretBytes
    private let checkKey: SecretBytes
    /// Readers and the writer do not wait for each other.
    private let forReading: Locked<OpaquePointer>
    private let forWriting: Locked<OpaquePointer>

    package init(_ key: [UInt8], salt: [UInt8]) throws(DatabaseError) {
        try Libcrypto.checkKey(key)
        try Libcrypto.load()
        self.salt = salt
        self.key = SecretBytes(key)
        let keys = try PageCipher.derive(key, salt)
        checkKey = SecretBytes(keys.bytes[32 ..< 64])
        guard let reading = PageCipher.handle(keys) else { throw Libcrypto.failed }
        guard let writing = PageCipher.handle(keys) else {
            motte_shim_cipher_free(reading)
            throw Libcrypto.failed
        }
        forReading = Locked(reading)
        forWriting = Locked(writing)
    }

    /// For a new file.
    static func new(_ key: [UInt8]) throws(DatabaseError) -> PageCipher {
        var salt = [UInt8](repeating: 0, count: saltBytes)
        let status = salt.withUnsafeMutableBytes { motte_shim_random($0.baseAddress, $0.count) }
        guard status == 0 else { throw SystemError.error(status, "draw a salt for", "a new file") }
        return try PageCipher(key, salt: salt)
    }

    /// For bytes that nobody but this process is to read, and only while it has this.
    static func ofThisProcess() throws(DatabaseError) -> PageCipher {
        var key = [UInt8](repeating: 0, count: Libcrypto.userKeyBytes)
        defer { Libcrypto.wipe(&key) }
        let status = key.withUnsafeMutableBytes { motte_shim_random($0.baseAddress, $0.count) }
        guard status == 0 else { throw SystemError.error(status, "draw a key for", "a temporary file") }
        return try new(key)
    }

    deinit {
        forReading.withLock { motte_shim_cipher_free($0) }
        forWriting.withLock { motte_shim_cipher_free($0) }
    }

    private static func handle(_ keys: SecretBytes) -> OpaquePointer? {
        guard let base = keys.bytes.baseAddress?.assumingMemoryBound(to: UInt8.self) else { return nil }
        return motte_shim_cipher_make(base)
    }

    /// The key it was made from, for copies that get the same.
    var userKey: [UInt8] { [UInt8](key.bytes) }

    func isMade(from other: [UInt8]) -> Bool {
        other.count == key.bytes.count
            && other.withUnsafeBytes { motte_shim_equal($0.baseAddress, key.bytes.baseAddress, $0.count) != 0 }
    }

    /// The code that says, beside the salt in a file's head, whether a key is right; over the head's bytes, so that
    /// they are authentic as well.
    func check(of head: UnsafeRawBufferPointer) throws(DatabaseError) -> [UInt8] {
        try Libcrypto.code(UnsafeRawBufferPointer(checkKey.bytes), head)
    }

    // MARK: Keys.

    /// For encrypting, and for checking.
    private static func derive(_ key: [UInt8], _ salt: [UInt8]) throws(DatabaseError) -> SecretBytes {
        var keys = try Libcrypto.derive(2, from: key, salt: salt, for: purpose)
        defer { Libcrypto.wipe(&keys) }
        return SecretBytes(keys)
    }

    // MARK: Units.

    static var nothing: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: nil, count: 0) }

    /// Random bytes for so many units. Nothing of them is kept for later: a forked child would use the same again.
    static func drawRandom(_ unitCount: Int) throws(DatabaseError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: unitCount * randomBytes)
        let status = bytes.withUnsafeMutableBytes { motte_shim_random($0.baseAddress, $0.count) }
        guard status == 0 else {
            throw DatabaseError(.inputOutput, "the system gave no random numbers", systemError: status)
        }
        return bytes
    }

    /// Encrypts `count` bytes, of which the last `trailerBytes` are room for the trailer. `clear`: authenticated, not
    /// encrypted. `source` may be `target`.
    package func seal(
        _ unit: Unit, _ source: UnsafeRawPointer, count: Int, to target: UnsafeMutableRawPointer,
        random: ArraySlice<UInt8>, clear: UnsafeRawBufferPointer = PageCipher.nothing
    ) throws(DatabaseError) {
        let size = count - PageCipher.trailerBytes
        let trailer = target + size
        // Two machines that were restored from one snapshot may draw the same: what they encrypt makes the difference.
        var random = Array(random)
        let mark = motte_shim_xxh3(source, size)
        for index in 0 ..< 8 { random[random.count - 8 + index] ^= UInt8(truncatingIfNeeded: mark >> (8 * index)) }
        let status = PageCipher.withNonceAndData(unit, clear, random[...]) { nonce, data in
            forWriting.withLock { handle in
                motte_shim_seal(
                    handle, nonce, data, source, size, target,
                    (trailer + PageCipher.randomBytes).assumingMemoryBound(to: UInt8.self))
            }
        }
        guard status == 0 else { throw Libcrypto.failed }
        UnsafeMutableRawBufferPointer(start: trailer, count: PageCipher.randomBytes).copyBytes(from: random)
    }

    /// Decrypts in place and leaves zeros where the trailer was. False, and nothing left: it is not what was encrypted
    /// there.
    func unseal(
        _ unit: Unit, _ bytes: UnsafeMutableRawPointer, count: Int,
        clear: UnsafeRawBufferPointer = PageCipher.nothing
    ) throws(DatabaseError) -> Bool {
        let size = count - PageCipher.trailerBytes
        let trailer = bytes + size
        let random = [UInt8](UnsafeRawBufferPointer(start: trailer, count: PageCipher.randomBytes))
        let status = PageCipher.withNonceAndData(unit, clear, random[...]) { nonce, data in
            forReading.withLock { handle in
                motte_shim_unseal(
                    handle, nonce, data, bytes, size, bytes,
                    (trailer + PageCipher.randomBytes).assumingMemoryBound(to: UInt8.self))
            }
        }
        guard status >= 0 else { throw Libcrypto.failed }
        trailer.initializeMemory(as: UInt8.self, repeating: 0, count: PageCipher.trailerBytes)
        return status == 1
    }

    private static func withNonceAndData(
        _ unit: Unit, _ clear: UnsafeRawBufferPointer, _ random: ArraySlice<UInt8>,
        _ body: (UnsafePointer<UInt8>?, UnsafePointer<motte_shim_associated_data>) -> Int32
    ) -> Int32 {
        var nonce = (UInt64(unit.page.rawValue).littleEndian, UInt64(0), UInt64(0))
        withUnsafeMutableBytes(of: &nonce) { nonce in
            UnsafeMutableRawBufferPointer(rebasing: nonce[8...]).copyBytes(from: random)
        }
        var place = unit.label
        return withUnsafeBytes(of: &place) { place in
            var data = motte_shim_associated_data(
                first: place.baseAddress, first_size: place.count, second: clear.baseAddress,
                second_size: clear.count)
            return withUnsafeBytes(of: &nonce) { nonce in
                body(nonce.baseAddress?.assumingMemoryBound(to: UInt8.self), &data)
            }
        }
    }

    // MARK: Root slots, of which the beginning stays legible: whose turn it is to be written over.

    /// In place, without the checksum, which is over what comes of it.
    func sealSlot(_ page: UnsafeMutableRawBufferPointer, _ number: PageNumber) throws(DatabaseError) {
        guard let base = page.baseAddress else { return }
        let random = try PageCipher.drawRandom(1)
        let count = page.count - PageCipher.saltBytes - RootSlot.clearBytes
        try seal(
            Unit(kind: .slot, page: number), base + RootSlot.clearBytes, count: count,
            to: base + RootSlot.clearBytes, random: random[...], clear: PageCipher.clear(page))
        // The salt comes before the trailer.
        let trailer = base + page.count - PageCipher.slotTrailerBytes
        (trailer + PageCipher.saltBytes).copyMemory(from: trailer, byteCount: PageCipher.trailerBytes)
        UnsafeMutableRawBufferPointer(start: trailer, count: PageCipher.saltBytes).copyBytes(from: salt)
    }

    /// In place; false when it is no slot.
    func unsealSlot(_ page: UnsafeMutableRawBufferPointer, _ number: PageNumber) throws(DatabaseError) -> Bool {
        guard let base = page.baseAddress else { return false }
        let trailer = base + page.count - PageCipher.slotTrailerBytes
        memmove(trailer, trailer + PageCipher.saltBytes, PageCipher.trailerBytes)
        (trailer + PageCipher.trailerBytes).initializeMemory(
            as: UInt8.self, repeating: 0, count: PageCipher.saltBytes)
        return try unseal(
            Unit(kind: .slot, page: number), base + RootSlot.clearBytes,
            count: page.count - PageCipher.saltBytes - RootSlot.clearBytes, clear: PageCipher.clear(page))
    }

    /// What of a slot is not encrypted, but for the checksum.
    private static func clear(_ page: UnsafeMutableRawBufferPointer) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: page[8 ..< RootSlot.clearBytes])
    }

    /// Where a slot's page has the salt.
    static func saltOffset(pageBytes: Int) -> Int { pageBytes - slotTrailerBytes }
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
