/// What a program may set about a realm.
import Foundation
import MotteValues

/// Gets the migration and the version of the models that the file has. Runs once, in the call that opens the file.
public typealias MigrationBlock = @Sendable (_ migration: Migration, _ oldSchemaVersion: UInt64) -> Void

extension Realm {
    /// Which file to open, with which classes, and how.
    public struct Configuration: Sendable, Equatable, CustomStringConvertible {
        /// Where the file is. Setting it clears `inMemoryIdentifier`.
        public var fileURL: URL? {
            didSet { if fileURL != nil, inMemoryIdentifier != nil { inMemoryIdentifier = nil } }
        }
        /// A database in memory, shared by the process under this name and gone with its last user. Setting it clears
        /// `fileURL`.
        public var inMemoryIdentifier: String? {
            didSet { if inMemoryIdentifier != nil, fileURL != nil { fileURL = nil } }
        }
        /// The key of an encrypted file, 64 bytes; nil for a plain one. Opening with another key than the file has
        /// throws `invalidDatabase`, with one of another length `invalidInput`.
        public var encryptionKey: Data?
        /// Opens the file without the right to write; it must exist. Cannot be combined with
        /// `deleteRealmIfMigrationNeeded` and `shouldCompactOnLaunch`.
        public var readOnly: Bool
        /// The version of the models. Opening a file of a lower one calls `migrationBlock`.
        public var schemaVersion: UInt64
        /// Changes objects where the file has a lower ``schemaVersion`` than this; with nil only the schema changes. It
        /// runs before anybody can open the file, and what it does is committed with the new schema.
        public var migrationBlock: MigrationBlock?
        /// Starts over with an empty file where the present one would need a migration.
        public var deleteRealmIfMigrationNeeded: Bool
        /// Asked at the first opening in a process: size of the file and bytes in use; true compacts it.
        public var shouldCompactOnLaunch: (@Sendable (Int, Int) -> Bool)?
        /// The classes in the realm; nil takes every `Object` and `EmbeddedObject` subclass of the program.
        public var objectTypes: [ObjectBase.Type]?
        /// Beginning a write fails while more versions than this are in use.
        public var maximumNumberOfActiveVersions: UInt?
        /// Copied to the path when there is no file there yet.
        public var seedFilePath: URL?
        /// False: a commit does not wait for its flush, so that the last ones may be lost with the power; the file
        /// stays whole.
        public var isDurable = true
        /// Where the files that processes share are put, for a file in a directory that cannot be written.
        public var lockDirectory: URL?
        /// How many seconds opening waits for others: for who opens, compacts or deletes the file, and for a writer
        /// where the schema has to be changed. Negative: without limit; 0: not at all.
        public var openTimeout: TimeInterval = 30
        /// How many threads a query that goes through many objects may use, the one that asks among them; 1: no other.
        /// nil: as many as there are processors, and at most 4.
        public var queryThreads: Int?
        /// How many objects of a class a new file stores together, 1 to 65,536; nil: 1,904. Fewer make it larger, and
        /// cheaper to change one of many values. Classes with wide values get 480 where this is more.
        public var rowGroupSize: Int?
        /// How many bytes stored data may take in memory while the file is open, 64 KB or more; nil: the environment
        /// variable MOTTE_MEMORY, or an eighth of what the machine or the process has. What is in use may take more for
        /// a while. It is one number for all who have the file open in a process: that of the first.
        public var memory: Int?
        /// Commits also move up to 1 MB from the end of the file to free pages before it, as `compactOnline()` does,
        /// while more than half of the file, and 4 MB, are free. It is one choice for all who have the file open in a
        /// process: that of the first.
        public var compactsAutomatically = false
        /// The most bytes the file may grow to by what is added; a commit that needs more throws. Commits that make it
        /// no fuller may pass it: deleting works in a full file. nil: 16 TiB.
        public var maximumFileSize: Int?

        /// A Realm file (`app.realm`) is converted on the first opening to a file beside it (`app.motte`), and that one
        /// is opened, then and later; the Realm file stays as it is. Without this, opening it throws `invalidDatabase`.
        /// Should the Realm file change after that, opening throws, for nobody can tell which of the two counts.
        public var convertRealmFiles = false

        // RealmSwift's, whose programs name these.
        /// A configuration with these values; everything else is set afterwards. `inMemoryIdentifier` wins over
        /// `fileURL`.
        public init(
            fileURL: URL? = Configuration.defaultFileURL, inMemoryIdentifier: String? = nil,
            encryptionKey: Data? = nil, readOnly: Bool = false, schemaVersion: UInt64 = 0,
            migrationBlock: MigrationBlock? = nil, deleteRealmIfMigrationNeeded: Bool = false,
            shouldCompactOnLaunch: (@Sendable (Int, Int) -> Bool)? = nil, objectTypes: [ObjectBase.Type]? = nil,
            seedFilePath: URL? = nil
        ) {
            self.fileURL = inMemoryIdentifier == nil ? fileURL : nil
            self.inMemoryIdentifier = inMemoryIdentifier
            self.encryptionKey = encryptionKey
            self.readOnly = readOnly
            self.schemaVersion = schemaVersion
            self.migrationBlock = migrationBlock
            self.deleteRealmIfMigrationNeeded = deleteRealmIfMigrationNeeded
            self.shouldCompactOnLaunch = shouldCompactOnLaunch
            self.objectTypes = objectTypes
            self.seedFilePath = seedFilePath
        }

        /// `default.realm` in the folder for application data.
        public static var defaultFileURL: URL? {
            let folder =
                FileManager.default.urls(for: .applicationSupportDirectory, in: .userDomainMask).first
                ?? URL(fileURLWithPath: FileManager.default.currentDirectoryPath)
            return folder.appendingPathComponent("default.realm")
        }

        private static let shared = Locked<Configuration?>(ofProcess: nil)

        /// What `Realm()` opens. Changing a copy changes nothing until it is assigned.
        public static var defaultConfiguration: Configuration {
            get { shared.withLock { $0 } ?? Configuration() }
            set { shared.withLock { $0 = newValue } }
        }

        /// Whether both name the same database, opened in the same way: file or identifier, key, `readOnly` and
        /// `schemaVersion` count.
        public static func == (left: Configuration, right: Configuration) -> Bool {
            left.encryptionKey == right.encryptionKey && left.fileURL == right.fileURL
                && left.inMemoryIdentifier.hasSameBytes(as: right.inMemoryIdentifier)
                && left.readOnly == right.readOnly && left.schemaVersion == right.schemaVersion
        }

        /// The values, for people to read; of the key only its length.
        public var description: String {
            let entries: [(String, Any?)] = [
                ("fileURL", fileURL), ("inMemoryIdentifier", inMemoryIdentifier),
                ("encryptionKey", encryptionKey.map { "\($0.count) bytes" }), ("readOnly", readOnly),
                ("schemaVersion", schemaVersion), ("migrationBlock", migrationBlock.map { _ in "set" }),
                ("deleteRealmIfMigrationNeeded", deleteRealmIfMigrationNeeded),
                ("shouldCompactOnLaunch", shouldCompactOnLaunch.map { _ in "set" }),
                ("maximumNumberOfActiveVersions", maximumNumberOfActiveVersions), ("seedFilePath", seedFilePath),
                ("objectTypes", objectTypes.map { $0.map { $0.className() } }),
            ]
            let lines = entries.map { "\t\($0.0) = \($0.1.map { "\($0)" } ?? "(null)");\n" }
            return "Realm.Configuration {\n\(lines.joined())}"
        }

        /// The file's path, or the name of a database in memory.
        package var name: String? { inMemoryIdentifier ?? fileURL?.path }
    }
}
