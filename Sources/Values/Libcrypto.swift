/// OpenSSL's libcrypto, which is loaded when a key is first given, and keys that are derived from that one.
import CMotteShim

package enum Libcrypto {
    /// Of a key that users give.
    package static let userKeyBytes = 64
    /// Of a derived one.
    package static let keyBytes = 32

    package static func load() throws(DatabaseError) {
        guard motte_shim_cipher_load() == 0 else {
            let why = String(cString: motte_shim_cipher_problem())
            throw DatabaseError(
                .unsupported,
                "encryption needs OpenSSL 3 or 1.1 (libcrypto.so.3, package libssl3, or libcrypto.so.1.1): \(why)")
        }
    }

    package static func checkKey(_ key: [UInt8]) throws(DatabaseError) {
        guard key.count == userKeyBytes else {
            throw DatabaseError(.invalidArgument, "an encryption key has \(userKeyBytes) bytes, this one \(key.count)")
        }
    }

    package static var failed: DatabaseError { DatabaseError(.internal, "libcrypto could not encrypt or decrypt") }

    /// HMAC-SHA-256.
    package static func code(
        _ key: UnsafeRawBufferPointer, _ bytes: UnsafeRawBufferPointer
    ) throws(DatabaseError) -> [UInt8] {
        var code = [UInt8](repeating: 0, count: keyBytes)
        let status = code.withUnsafeMutableBufferPointer {
            motte_shim_hmac(key.baseAddress, key.count, bytes.baseAddress, bytes.count, $0.baseAddress)
        }
        guard status == 0 else { throw failed }
        return code
    }

    /// So many keys one behind the other, by HKDF-SHA-256; whoever gets them wipes them.
    package static func derive(
        _ count: Int, from key: [UInt8], salt: [UInt8], for purpose: [UInt8]
    ) throws(DatabaseError) -> [UInt8] {
        var start = try code(salt, key)
        defer { wipe(&start) }
        var keys: [UInt8] = []
        keys.reserveCapacity(count * keyBytes)
        var last: [UInt8] = []
        for number in 1 ... max(1, count) {
            var message = last + purpose + [UInt8(truncatingIfNeeded: number)]
            wipe(&last)
            last = try code(start, message)
            wipe(&message)
            keys += last
        }
        wipe(&last)
        return keys
    }

    private static func code(_ key: [UInt8], _ bytes: [UInt8]) throws(DatabaseError) -> [UInt8] {
        try key.withBytes { key throws(DatabaseError) in
            try bytes.withBytes { bytes throws(DatabaseError) in try code(key, bytes) }
        }
    }

    package static func wipe(_ bytes: inout [UInt8]) {
        bytes.withUnsafeMutableBytes { motte_shim_wipe($0.baseAddress, $0.count) }
    }
}
