/// From a configuration to a session: one for each file and thread, queue or actor, shared by all `Realm` values there.
import Dispatch
import Foundation
import MotteExchange
import MotteLiveObjects
import MotteSchemaModel
import MotteStorage
import MotteValues

package enum RealmOpening {
    struct Key: Hashable, Sendable {
        let place: Confinement.Identity
        let name: NameKey
    }

    private static let sessions = WeakRegistry<Key, RealmSession>()

    /// The session of this place, opened if there is none: at the newest version, or at that of a reference.
    package static func open(
        _ configuration: Realm.Configuration, _ place: Confinement, at reference: LiveReference? = nil
    ) throws -> RealmSession {
        let confinement = place.orMain
        if case .queue(let queue) = confinement { try queue.checkIsSerial() }
        let name = try checkedName(configuration)
        let key = Key(place: confinement.identity, name: NameKey(name))
        if let known = sessions[key], !known.session.isClosed {
            try check(known.configuration, fits: configuration)
            return known
        }
        makeDefaultFolder(configuration)
        let session =
            try reference?.openSession(confinement: confinement.engine) ?? openSession(configuration, confinement)
        let made = RealmSession(session, configuration, confinement)
        made.sharing = key
        sessions.set(key, made)
        made.startDeliveryWhenItsPlaceTurns()
        return made
    }

    static func hasGone(_ session: RealmSession, _ key: Key) { sessions.remove(key, session) }

    static func openSession(_ configuration: Realm.Configuration, _ confinement: Confinement) throws -> Session {
        let name = try checkedName(configuration)
        return try translatingOpening(configuration) {
            let session = try Session.open(
                try openingOptions(configuration, name), confinement: confinement.engine)
            if let passed = try session.database.pages.firstWarning() {
                Logger.write(.warn, .storage) { "\(name): \(passed)" }
            }
            return session
        }
    }

    /// Opens what takes long to open, such as a file to be migrated, where nobody waits for it. The session keeps the
    /// file open until it is let go.
    package static func prepare(_ configuration: Realm.Configuration) throws -> Session {
        let name = try checkedName(configuration)
        makeDefaultFolder(configuration)
        return try translatingOpening(configuration) {
            // Nobody but its only owner uses it.
            try Session.open(
                try openingOptions(configuration, name), confinement: .custom(name: "nobody", isHere: { true }))
        }
    }

    package static func options(
        _ configuration: Realm.Configuration, _ name: String
    ) throws -> SessionOptions {
        let types = declaredTypes(configuration)
        let schema = try declaredSchema(types)
        var options =
            configuration.inMemoryIdentifier != nil
            ? SessionOptions(.memory(name), schema: schema) : SessionOptions(path: name, schema: schema)
        options.isReadOnly = configuration.readOnly
        options.encryptionKey = configuration.encryptionKey.map { [UInt8]($0) }
        options.noCreate = configuration.readOnly
        options.schemaVersion = configuration.readOnly ? nil : configuration.schemaVersion
        options.migration.deletesInsteadOfMigrating = configuration.deleteRealmIfMigrationNeeded
        options.migration.fixesProperties = true
        options.compactOnLaunch = configuration.shouldCompactOnLaunch
        options.seedPath = configuration.seedFilePath?.path
        options.rowGroupSize = configuration.rowGroupSize
        options.memoryBytes = configuration.memory
        options.compactsAutomatically = configuration.compactsAutomatically
        options.mostFileBytes = configuration.maximumFileSize
        options.lockDirectory = configuration.lockDirectory?.path
        options.queryThreads = configuration.queryThreads
        options.openTimeoutMilliseconds = openTimeout(configuration)
        options.maximumLiveVersions = configuration.maximumNumberOfActiveVersions.map { Int(clamping: $0) }
        if !configuration.isDurable { options.durability = .relaxed }
        options.openingNote = { note(name, $0) }
        options.queriesEndInScopesOnly = true
        options.migration.step = { (step) throws(DatabaseError) in
            try Migration.run(step, configuration)
        }
        return options
    }

    /// The same for opening, where that may convert a Realm file.
    private static func openingOptions(
        _ configuration: Realm.Configuration, _ name: String
    ) throws -> SessionOptions {
        let options = try options(configuration, name)
        guard configuration.convertRealmFiles else { return options }
        let (opening, summary) = try RealmFileOpening.prepare(options)
        if let summary {
            Logger.write(.info, .storage) {
                "\(name): converted \(summary.created) objects to \(opening.name)"
            }
            for note in summary.notes { Logger.write(.warn, .storage) { "\(name): \(note.text)" } }
        }
        return opening
    }

    private static func openTimeout(_ configuration: Realm.Configuration) -> Int64 {
        let milliseconds = (configuration.openTimeout * 1000).rounded()
        // More than that many milliseconds, or no number, is no limit.
        return milliseconds >= 0 && milliseconds < 1e15 ? Int64(milliseconds) : -1
    }

    /// Changes that take long, or take something away, are for everybody who operates the program to know of.
    private static func note(_ name: String, _ note: OpeningNote) {
        switch note {
        case .compacted(let outcome):
            Logger.write(.info, .storage) {
                "\(name): compacted from \(outcome.bytesBefore) to \(outcome.bytesAfter) bytes"
            }
        case .schema(let plan):
            let takesAway = plan.action == .migrate || plan.action == .reset
            Logger.write(takesAway ? .info : .debug, .storage) { "\(name): \(plan.text)" }
        case .opened(let version): Logger.write(.detail, .storage) { "\(name): opened at version \(version.rawValue)" }
        }
    }

    static func declaredTypes(_ configuration: Realm.Configuration) -> [ObjectBase.Type] {
        DeclaredClasses.distinct(
            configuration.objectTypes ?? ClassDiscovery.objectTypes().filter { $0.shouldIncludeInDefaultSchema() })
    }

    static func declaredSchema(_ types: [ObjectBase.Type]) throws -> MotteSchemaModel.Schema {
        try DeclaredClasses.schema(types)
    }

    // MARK: Checks

    /// A folder in place of the file, or a file in place of a folder, is an operation that fails, as in RealmSwift.
    /// What concerns the file is said in its words.
    private static func translatingOpening<T>(
        _ configuration: Realm.Configuration, _ body: () throws -> T
    ) throws -> T {
        let path = configuration.fileURL?.path
        do { return try translating(path, body) } catch let error as Realm.Error {
            guard let path else { throw error }
            var code = error.code
            var reason = error.message
            switch code {
            case .invalidDatabase, .fileNotFound:
                var isFolder: ObjCBool = false
                let exists = FileManager.default.fileExists(atPath: path, isDirectory: &isFolder)
                if exists ? isFolder.boolValue : hasFileInPlaceOfFolder(path) {
                    code = .fileOperationFailed
                } else if code == .fileNotFound {
                    reason = "No such file or directory: \(reason)"
                }
            case .filePermissionDenied:
                let permissions = configuration.readOnly ? "read" : "read-write"
                reason += ". Please use a path where your app has \(permissions) permissions."
            case .unsupportedFileFormatVersion, .fileOperationFailed, .outOfDiskSpace: break
            default: throw error
            }
            throw Realm.Error(
                code, "Failed to open Realm file at path '\(path)': \(reason)", path: error.fileURL?.path ?? path)
        }
    }

    private static func hasFileInPlaceOfFolder(_ path: String) -> Bool {
        var folder = URL(fileURLWithPath: path)
        var isFolder: ObjCBool = false
        repeat {
            folder.deleteLastPathComponent()
        } while folder.path != "/" && !FileManager.default.fileExists(atPath: folder.path, isDirectory: &isFolder)
        return folder.path != "/" && !isFolder.boolValue
    }

    private static func checkedName(_ configuration: Realm.Configuration) throws -> String {
        guard let name = configuration.name else {
            throw Realm.Error(.invalidInput, "A Realm Configuration must specify a path or an in-memory identifier.")
        }
        if let key = configuration.encryptionKey {
            guard key.count == 64 else {
                throw Realm.Error(
                    .invalidInput, "Encryption key must be exactly 64 bytes long; this one has \(key.count)")
            }
        }
        if configuration.readOnly {
            guard !configuration.deleteRealmIfMigrationNeeded else {
                throw Realm.Error(
                    .invalidInput, "Cannot set `deleteRealmIfMigrationNeeded` when `readOnly` is set.")
            }
            guard configuration.shouldCompactOnLaunch == nil else {
                throw Realm.Error(.invalidInput, "Cannot set `shouldCompactOnLaunch` when `readOnly` is set.")
            }
        }
        return name
    }

    /// Realms of one place are one session, which cannot be two things.
    private static func check(_ known: Realm.Configuration, fits wanted: Realm.Configuration) throws {
        guard known.readOnly == wanted.readOnly else {
            throw Realm.Error(
                .invalidInput, "Realm at path '\(known.name ?? "")' already opened with different read permissions")
        }
        guard known.encryptionKey == wanted.encryptionKey else {
            throw Realm.Error(
                .invalidInput, "Realm at path '\(known.name ?? "")' already opened with different encryption key")
        }
        guard known.schemaVersion == wanted.schemaVersion else {
            throw Realm.Error(
                .invalidInput,
                "Realm at path '\(known.name ?? "")' already opened with different schema version")
        }
    }

    /// Nobody else makes the folder for application data.
    private static func makeDefaultFolder(_ configuration: Realm.Configuration) {
        guard let url = configuration.fileURL, url == Realm.Configuration.defaultFileURL else { return }
        // Where there is none and none can be made, opening the file says why.
        try? FileManager.default.createDirectory(
            at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
    }
}
