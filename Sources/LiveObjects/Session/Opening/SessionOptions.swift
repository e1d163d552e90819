/// What a session opens and how.
import MotteSchemaModel
import MotteStorage
import MotteValues

package struct SessionOptions: Sendable {
    package enum Location: Sendable {
        case file(String)
        /// Shared by all sessions of the process with this identifier, gone with the last of them.
        case memory(String)
    }

    package var location: Location
    /// The classes wanted; opening adds what the file lacks. nil: the file's own.
    package var schema: Schema?
    /// Higher than that of the file: the file is migrated. nil: that of the file.
    package var schemaVersion: UInt64?
    package var migration = MigrationOptions()
    /// Runs in the write that gives a new file its schema.
    package var firstOpen: (@Sendable (Session) throws(DatabaseError) -> Void)?
    /// `firstOpen` also runs in a write that adds to the schema of a file that is there.
    package var fillsAdditions = false
    package var isReadOnly = false
    package var noCreate = false
    /// 64 bytes: the file is encrypted with them.
    package var encryptionKey: [UInt8]?
    package var durability = DatabaseOptions.Durability.full
    /// False: the system writes when it likes, for data that can be made again.
    package var isDurable: Bool {
        get { durability == .full }
        set { durability = newValue ? .full : .none }
    }
    /// The file cannot change while it is open: nothing is written beside it. Implies reading only.
    package var isImmutable = false
    /// For the files that processes share, where the file's own directory cannot be written.
    package var lockDirectory: String?
    /// The most bytes a file may grow to by what is added.
    package var mostFileBytes: Int?
    /// Bytes that pages of the file may take in memory; who opens it first says it for the process. nil: a share of
    /// what there is.
    package var memoryBytes: Int?
    /// Commits give back space of a file that is mostly free.
    package var compactsAutomatically = false
    package static let leastMemory = DatabaseOptions.leastMemory
    /// A number of bytes as people write it; nil if it is none, or too small.
    package static func memoryBytes(_ text: String) -> Int? { DatabaseOptions.memoryBytes(text) }
    /// The same of any size but 0.
    package static func byteCount(_ text: String) -> Int? { DatabaseOptions.byteCount(text) }
    /// Nobody uses what the session lends longer than until the next call, so that its memory can be given back then.
    package var viewsAreShort = true
    /// Beginning a write fails while more versions than this are pinned. nil: any number may be.
    package var maximumLiveVersions: Int?
    /// How long opening waits for others: for who opens, compacts or deletes the file, and for a writer where the
    /// schema has to be changed. Negative: no limit; 0: not at all.
    package var openTimeoutMilliseconds: Int64 = 30_000
    /// How long a query may take. Negative: no limit.
    package var queryTimeoutMilliseconds: Int64 = -1
    /// How many threads a query may use, the one that asks among them. nil: `QueryThreads.standardCount`.
    package var queryThreads: Int?
    /// Queries end early in a `QueryScope` alone: where whoever asks cannot be given an error.
    package var queriesEndInScopesOnly = false
    /// Copied to the path when there is no file there yet.
    package var seedPath: String?
    /// Asked when the file is opened and nobody else has it open: size of the file and bytes in use; true compacts it.
    package var compactOnLaunch: (@Sendable (_ totalBytes: Int, _ usedBytes: Int) throws(DatabaseError) -> Bool)?
    /// Called with what opening does to the file.
    package var openingNote: (@Sendable (OpeningNote) -> Void)?
    /// Only of a new file.
    package var rowGroupSize: Int?
    /// What a language binding knows of the program's own names, for functions that are called with a session.
    package var programNames: (any Sendable)?

    package init(_ location: Location, schema: Schema? = nil) {
        self.location = location
        self.schema = schema
    }

    /// Lets go of what only opening called: a session must not keep alive what a caller's closures hold.
    mutating func forgetOpening() {
        migration.step = nil
        migration.progress = nil
        firstOpen = nil
        compactOnLaunch = nil
        openingNote = nil
    }

    package init(path: String, schema: Schema? = nil) { self.init(.file(path), schema: schema) }

    /// The path, or the identifier of a database in memory.
    package var name: String {
        switch location {
        case .file(let path): path
        case .memory(let identifier): identifier
        }
    }
}
