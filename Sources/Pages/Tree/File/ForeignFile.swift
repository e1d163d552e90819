/// What is said of a file that is not ours: a Realm database can be converted.
import MotteValues

enum ForeignFile {
    /// Behind the two references with which a Realm file begins.
    private static let realmMagic = Array("T-DB".utf8)
    private static let realmHeaderBytes = 24

    /// `bytes` are the first ones of the file.
    static func error(_ bytes: UnsafeRawBufferPointer, _ path: String) -> DatabaseError {
        guard let format = realmFormat(bytes) else {
            return DatabaseError(.notAMotteFile, "'\(path)' is not a Motte file", path: path)
        }
        return DatabaseError(
            .notAMotteFile,
            "'\(path)' is a Realm file (format \(format)), not a Motte file; convert it with 'motte import', "
                + "'motte.convert()' or 'Realm.convert(fromRealmFile:to:)'", path: path)
    }

    /// An encrypted Realm file looks like anything.
    static func withKey(_ error: DatabaseError) -> DatabaseError {
        guard error.code == .notAMotteFile, error.message.hasSuffix("is not a Motte file") else { return error }
        return DatabaseError(
            error.code,
            error.message + "; should it be an encrypted Realm file, convert it with 'motte import "
                + "--source-key-file', 'motte.convert()' or 'Realm.convert(fromRealmFile:to:)'",
            path: error.details.path)
    }

    private static func realmFormat(_ bytes: UnsafeRawBufferPointer) -> UInt8? {
        guard bytes.count >= realmHeaderBytes, bytes[16 ..< 20].elementsEqual(realmMagic) else { return nil }
        // The last bit says which of two references and formats counts.
        return bytes[20 + Int(bytes[23] & 1)]
    }
}
