/// Batches of an encrypted file as they are in a folder or a stream: encrypted with the file's key, as the file itself
/// (XAES-256-GCM, docs/decisions/0031-encryption.md), and authenticated together with what they say of themselves.
///
///     u32 "MBX1", u32 CRC-32C of all that follows, origin 16 bytes, u64 version after which the batch is, u64 version
///     up to which it is, nonce 24 bytes, the batch encrypted, tag 16 bytes
///
/// Numbers are little-endian. The key is the first 32 bytes of HKDF-SHA-256 of the file's key, with the origin's 16
/// bytes as salt and "motte batch encryption" as info; authenticated beside the batch are bytes 8 to 39. The nonce is
/// random, and drawn for each batch.
///
///     B1  who has a key takes nothing that is not encrypted with it, unless that was asked for
///     B2  a batch opens only as that of its origin and versions
import CMotteShim
import MotteStorage
import MotteValues

package final class BatchKey {
    private var userKey: [UInt8]?
    /// Changes of an encrypted file are there as they are.
    package var isPlain = false
    private var cipher: (origin: ChangeOrigin, handle: OpaquePointer)?

    private static let mark: UInt32 = 0x3158_424D
    private static let purpose = Array("motte batch encryption".utf8)
    private static let clearRange = 8 ..< 40
    private static let headerSize = 64
    private static let nonceSize = Int(MOTTE_SHIM_CIPHER_NONCE)
    private static let tagSize = Int(MOTTE_SHIM_CIPHER_TAG)

    package init() {}

    /// A snapshot as a new file. B1.
    func copySnapshot(_ snapshot: String, to path: String, _ place: String) throws(DatabaseError) {
        let mustBeEncrypted = userKey != nil && !isPlain
        do throws(DatabaseError) {
            try Database.copySeed(snapshot, to: path, encryptionKey: userKey, mustBeEncrypted: mustBeEncrypted)
        } catch {
            guard mustBeEncrypted, error.code == .wrongKey, try !Database.isEncrypted(snapshot) else { throw error }
            throw notEncrypted("a snapshot in '\(place)'", place)
        }
    }

    private func notEncrypted(_ what: String, _ place: String) -> DatabaseError {
        DatabaseError(
            .invalidArgument,
            "\(what) is not encrypted, though the file is: if its leader ships so, say --plain", path: place)
    }

    /// Of the file, with which its snapshots are encrypted; nil: they are not.
    var fileKey: [UInt8]? { userKey }

    deinit { forget() }

    private func forget() {
        if let cipher { motte_shim_cipher_free(cipher.handle) }
        cipher = nil
    }

    /// The key of the file that is shipped or that follows; nil: it is not encrypted.
    package func use(_ key: [UInt8]?) throws(DatabaseError) {
        forget()
        userKey = key
        guard let key else { return }
        try Libcrypto.checkKey(key)
        try Libcrypto.load()
    }

    private func handle(_ key: [UInt8], _ origin: ChangeOrigin) throws(DatabaseError) -> OpaquePointer {
        if let cipher, cipher.origin == origin { return cipher.handle }
        forget()
        var salt: [UInt8] = []
        salt.append(le: origin.high)
        salt.append(le: origin.low)
        var derived = try Libcrypto.derive(1, from: key, salt: salt, for: Self.purpose)
        defer { Libcrypto.wipe(&derived) }
        guard let made = motte_shim_cipher_make(derived) else { throw Libcrypto.failed }
        cipher = (origin, made)
        return made
    }

    private static func checksum(_ bytes: [UInt8]) -> UInt32 {
        bytes.withUnsafeBytes { motte_shim_crc32c(0, $0.baseAddress.map { $0 + 8 }, $0.count - 8) }
    }

    // MARK: Writing

    /// A batch as it goes to a folder or a stream.
    package func encoded(_ batch: ChangeBatch) throws(DatabaseError) -> [UInt8] {
        guard let userKey, !isPlain else { return batch.bytes }
        let handle = try handle(userKey, batch.origin)
        var nonce = [UInt8](repeating: 0, count: Self.nonceSize)
        let drawn = nonce.withUnsafeMutableBytes { motte_shim_random($0.baseAddress, $0.count) }
        guard drawn == 0 else {
            throw DatabaseError(.inputOutput, "the system gave no random numbers", systemError: drawn)
        }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(Self.headerSize + batch.bytes.count + Self.tagSize)
        bytes.append(le: Self.mark)
        bytes.append(le: UInt32(0))
        for number in [batch.origin.high, batch.origin.low, batch.from.rawValue, batch.to.rawValue] {
            bytes.append(le: number)
        }
        bytes += nonce
        let clear = Array(bytes[Self.clearRange])
        bytes += batch.bytes
        bytes += [UInt8](repeating: 0, count: Self.tagSize)
        let size = batch.bytes.count
        let status = Self.withData(clear) { data in
            bytes.withUnsafeMutableBytes { space in
                guard let text = space.baseAddress.map({ $0 + Self.headerSize }) else { return -1 }
                return motte_shim_seal(
                    handle, nonce, data, text, size, text, (text + size).assumingMemoryBound(to: UInt8.self))
            }
        }
        guard status == 0 else { throw Libcrypto.failed }
        let sum = Self.checksum(bytes)
        withUnsafeBytes(of: sum.littleEndian) { bytes.replaceSubrange(4 ..< 8, with: $0) }
        return bytes
    }

    private static func withData(
        _ clear: [UInt8], _ body: (UnsafePointer<motte_shim_associated_data>) -> Int32
    ) -> Int32 {
        clear.withUnsafeBytes { clear in
            var data = motte_shim_associated_data(
                first: clear.baseAddress, first_size: clear.count, second: nil, second_size: 0)
            return body(&data)
        }
    }

    // MARK: Reading

    /// The batch in bytes of a folder or a stream, which `place` names in errors.
    package func decoded(_ bytes: [UInt8], _ place: String) throws(DatabaseError) -> ChangeBatch {
        guard bytes.count >= 4, bytes.le(0, as: UInt32.self) == Self.mark else {
            // B1.
            guard userKey == nil || isPlain else { throw notEncrypted(place, place) }
            return try ChangeBatch(bytes)
        }
        guard bytes.count >= Self.headerSize + Self.tagSize, bytes.le(4, as: UInt32.self) == Self.checksum(bytes) else {
            throw LogText.damaged(place)
        }
        guard let userKey else {
            throw DatabaseError(
                .wrongKey, "\(place) is encrypted: name the key of its leader's file with --key-file", path: place)
        }
        let origin = ChangeOrigin(high: bytes.le(8), low: bytes.le(16))
        let batch = try ChangeBatch(try opened(bytes, try handle(userKey, origin), place))
        // B2.
        guard batch.origin == origin, batch.from == Version(bytes.le(24)), batch.to == Version(bytes.le(32)) else {
            throw DatabaseError(.corrupted, "\(place) says that it is another batch than it is", path: place)
        }
        return batch
    }

    private func opened(_ bytes: [UInt8], _ handle: OpaquePointer, _ place: String) throws(DatabaseError) -> [UInt8] {
        let clear = Array(bytes[Self.clearRange])
        let nonce = Array(bytes[Self.clearRange.upperBound ..< Self.headerSize])
        let tag = Array(bytes[(bytes.count - Self.tagSize)...])
        var plain = Array(bytes[Self.headerSize ..< bytes.count - Self.tagSize])
        let size = plain.count
        let status = Self.withData(clear) { data in
            plain.withUnsafeMutableBytes {
                motte_shim_unseal(handle, nonce, data, $0.baseAddress, size, $0.baseAddress, tag)
            }
        }
        guard status >= 0 else { throw Libcrypto.failed }
        guard status == 1 else {
            throw DatabaseError(
                .wrongKey, "\(place) was encrypted with another key, or changed by somebody who has none", path: place)
        }
        return plain
    }
}
