/// A Realm database file (`.realm`, formats 20 to 24), open for reading.
///
/// One thread at a time uses it and all that comes from it. Nothing is ever written: a file that another process commits
/// to meanwhile is noticed by `checkUnchanged`.
import MotteValues

package final class RealmFile {
    package let path: String
    /// 20 to 24.
    package let format: Int
    /// Of the state that is read: counts commits.
    package let version: UInt64
    /// UInt64.max: the program that made the file has given none.
    package let schemaVersion: UInt64
    package let isEncrypted: Bool
    /// Logical bytes.
    package let size: Int
    /// Classes that a user declared, in the order of the file.
    package let tables: [RealmTable]

    /// The format by what the first bytes of a file say; nil when they are not those of a Realm file. Of an encrypted one
    /// they say nothing without its key.
    package static func format(at path: String) throws(DatabaseError) -> Int? {
        throw DatabaseError(.unsupported, "not yet")
    }

    /// `key`: the 64 bytes of an encrypted file.
    package init(_ path: String, key: [UInt8]? = nil) throws(DatabaseError) {
        self.path = path
        (format, version, schemaVersion, isEncrypted, size, tables) = (24, 0, .max, key != nil, 0, [])
        throw DatabaseError(.unsupported, "not yet")
    }

    /// Throws `.busy` when the header changed since the file was opened: somebody committed meanwhile.
    package func checkUnchanged() throws(DatabaseError) {}

    /// Compares all links with all backlinks of the file, in one pass over its tables.
    package func checkBacklinks() throws(DatabaseError) {}
}
