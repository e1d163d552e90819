/// Files: copies, deletion, versions, and opening for a migration alone.
import Foundation
import MotteLiveObjects
import MotteStorage
import MotteValues

extension Realm {
    /// A compacted copy of what the realm shows, within a write also of what is not committed yet, encrypted with the
    /// key if there is one. An existing destination is an error.
    public func writeCopy(toFile fileURL: URL, encryptionKey: Data? = nil) throws {
        var configuration = Configuration(fileURL: fileURL)
        configuration.encryptionKey = encryptionKey
        try writeCopy(configuration: configuration)
    }

    /// Writes a compacted copy to the configuration's file, encrypted with its key if it has one; nothing else of the
    /// configuration counts. Throws `fileExists` where there is a file already, and what writing fails with.
    public func writeCopy(configuration: Configuration) throws {
        guard let url = configuration.fileURL else {
            throw Error(.invalidInput, "a copy needs a file to be written to")
        }
        guard !FileManager.default.fileExists(atPath: url.path) else {
            throw Error(.fileExists, "there is a file at '\(url.path)' already", path: url.path)
        }
        try translating(url.path) {
            try core.session.copy(
                to: url.path, encryption: configuration.encryptionKey.map { .key([UInt8]($0)) } ?? .plain)
        }
    }

    /// What `compactOnline()` has done, in bytes.
    public struct OnlineCompaction: Sendable, Equatable {
        /// How large the file was.
        public let bytesBefore: Int
        /// How large it is.
        public let bytesAfter: Int
        /// What got another place in it.
        public let bytesMoved: Int
        /// Needed by older versions alone, which somebody shows; once they are not shown a later call gives it back.
        public let bytesHeld: Int
    }

    /// Gives back space while others read and write: moves what is at the end of the file to free pages before it, in
    /// commits of up to 4 MB in which no object changes, and shortens the file. With `maxBytes` about so much is moved
    /// at most. Throws within a write, for a frozen or read-only realm and for one in memory.
    @discardableResult
    public func compactOnline(maxBytes: Int? = nil) throws -> OnlineCompaction {
        if let maxBytes, maxBytes < 1 { throw Error(.invalidInput, "maxBytes is \(maxBytes); 1 or more is possible") }
        return try translating(core.session.path) {
            let outcome = try core.session.compactOnline(mostBytes: maxBytes)
            return OnlineCompaction(
                bytesBefore: outcome.bytesBefore, bytesAfter: outcome.bytesAfter, bytesMoved: outcome.movedBytes,
                bytesHeld: outcome.heldBytes)
        }
    }

    /// Whether the configuration's file is there. False for a database in memory.
    public static func fileExists(for configuration: Configuration) -> Bool {
        guard let url = configuration.fileURL else { return false }
        return FileManager.default.fileExists(atPath: url.path)
    }

    /// Deletes the file and what is beside it. False when nothing was there; an error while it is open.
    public static func deleteFiles(for configuration: Configuration) throws -> Bool {
        guard let url = configuration.fileURL else { return false }
        guard fileExists(for: configuration) else { return false }
        return try translating(url.path) { try Session.deleteFile(SessionOptions(path: url.path)) }
    }

    /// Opens the file, which migrates it if need be, and closes it. Throws what opening throws.
    public static func performMigration(for configuration: Configuration = .defaultConfiguration) throws {
        let session = try RealmOpening.prepare(configuration)
        try translating(configuration.fileURL?.path) { _ = try session.close() }
    }
}

/// The version of the models that wrote a file. Throws where there is none.
public func schemaVersionAtURL(_ fileURL: URL, encryptionKey: Data? = nil) throws -> UInt64 {
    try translating(fileURL.path) {
        var options = SessionOptions(path: fileURL.path)
        options.isReadOnly = true
        options.noCreate = true
        options.encryptionKey = encryptionKey.map { [UInt8]($0) }
        let session = try Session.open(options)
        // It has no write open that closing could lose.
        defer { _ = try? session.close() }
        return try session.schemaVersion
    }
}
