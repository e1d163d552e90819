// Uses of objects, realms, configurations, migrations, errors and hand-over (see SurfaceModels.swift).
import Dispatch
import Foundation
import Motte

func useObjects(_ track: Track, _ album: Album, _ base: ObjectBase, _ realm: Realm) {
    let _: Realm? = track.realm
    let _: Bool = track.isInvalidated || track.isFrozen || track.isSameObject(as: track) || track.isEqual(track)
    let _: Bool = album.sleeve?.isSameObject(as: nil) ?? (track == track && base == base)
    let _: Int = track.hash + track.hashValue
    let _: String = track.description + Track.className() + base.description
    let schema: ObjectSchema = track.objectSchema
    let _: Property? = schema["title"]
    let _: [Property] = schema.properties
    let _: (String, AnyClass, Bool, Bool, Property?) = (
        schema.className, schema.objectClass, schema.isEmbedded, schema.isAsymmetric, schema.primaryKeyProperty
    )
    if let property = schema.primaryKeyProperty {
        let _: (String, String, PropertyType, Bool, Bool, Bool, Bool, Bool, String?) = (
            property.name, property.columnName, property.type, property.isArray, property.isSet, property.isMap,
            property.isIndexed, property.isOptional, property.objectClassName
        )
        _ = property.type == .UUID || property.type == .any || property.type == .linkingObjects
    }
    let _: ObjectSchema? = realm.schema["Track"]
    let _: [ObjectSchema] = realm.schema.objectSchema
    track["title"] = "x"
    let _: Any? = track["title"]
    track.setValue(nil, forKey: "gain")
    track.setValue(1, forKeyPath: "album.id")
    let _: Any? = track.value(forKey: "title")
    let _: Any? = track.value(forKeyPath: "album.name")
    let _: List<DynamicObject> = album.dynamicList("tracks")
    let _: MutableSet<DynamicObject> = album.dynamicMutableSet("trackSet")
    let _: Map<String, DynamicObject?> = album.dynamicMap("trackMap")
    let _: Track = track.freeze()
    let _: Track? = track.thaw()
    let _: Sleeve? = album.sleeve?.freeze().thaw()
    let _: UInt64 = track.id.hashValue > 0 ? 0 : (album.sleeve?.id ?? 0)
    let dynamic = DynamicObject()
    dynamic.anything = 3
    let _: Any? = dynamic.anything
    let _: String = _name(for: \Track.title)
    _ = Track(value: ["title": "x"])
    _ = Sleeve(value: ["red"])

    let _: NotificationToken = track.observe { (change: ObjectChange<Track>) in
        switch change {
        case .change(let object, let properties):
            for property in properties { _ = (object.title, property.name, property.oldValue, property.newValue) }
        case .deleted: break
        case .error(let error): _ = error as NSError
        }
    }
    _ = track.observe(keyPaths: ["title"]) { (_: ObjectChange<Track>) in }
    _ = track.observe(keyPaths: [\.title, \Track.album?.name]) { _ in }
    _ = track.observe(on: DispatchQueue(label: "q")) { _ in }
    _ = track.observe(keyPaths: ["title"], on: .main) { _ in }
    _ = base.observe { (_: ObjectChange<Object>) in }
    _ = album.sleeve?.observe { _ in }
}

func useObjects(on actor: MainActor, _ track: Track) async {
    let _: NotificationToken = await track.observe(on: MainActor.shared) { (_, change: ObjectChange<Track>) in
        if case .change(let track, _) = change { _ = track.title }
    }
    _ = await track.observe(keyPaths: ["title"], on: MainActor.shared) { (_, _: ObjectChange<Track>) in }
    _ = await track.observe(keyPaths: [\Track.title], on: MainActor.shared) { (_, _: ObjectChange<Track>) in }
}

func useRealms(_ track: Track, _ album: Album, _ url: URL) throws {
    var configuration = Realm.Configuration()
    configuration = Realm.Configuration(
        fileURL: url, inMemoryIdentifier: nil, encryptionKey: nil, readOnly: false, schemaVersion: 3,
        migrationBlock: { migration, old in
            let _: UInt64 = old
            let _: (Schema, Schema) = (migration.oldSchema, migration.newSchema)
            migration.enumerateObjects(ofType: "Track") { old, new in
                new?["title"] = old?["title"]
                new!.title = "\(old!.title!)"
            }
            migration.enumerateObjects(ofType: Track.className()) { (_: MigrationObject?, _: MigrationObject?) in }
            let made: MigrationObject = migration.create("Track", value: ["title": "x"])
            _ = migration.create("Track")
            migration.delete(made)
            let _: Bool = migration.deleteData(forType: "Old")
            migration.renameProperty(onType: "Track", from: "a", to: "title")
        }, deleteRealmIfMigrationNeeded: false, shouldCompactOnLaunch: { total, used in total > used * 2 },
        objectTypes: [Track.self, Album.self, Sleeve.self], seedFilePath: url)
    configuration.maximumNumberOfActiveVersions = 5
    configuration.readOnly = false
    configuration.schemaVersion = 4
    let block: MigrationBlock? = configuration.migrationBlock
    configuration.migrationBlock = block
    _ = configuration == .defaultConfiguration
    let _: String = configuration.description
    Realm.Configuration.defaultConfiguration = configuration

    let realm = try Realm(configuration: configuration, queue: nil)
    _ = try Realm()
    _ = try Realm(queue: DispatchQueue(label: "r"))
    _ = try Realm(fileURL: url)
    _ = realm == realm
    let _: (Schema, Realm.Configuration, Bool, Bool, Bool, Bool) = (
        realm.schema, realm.configuration, realm.isEmpty, realm.isFrozen, realm.isInWriteTransaction,
        realm.isPerformingAsynchronousWriteOperations
    )
    realm.autorefresh = false
    let _: Bool = realm.refresh()
    realm.invalidate()
    let _: Realm = realm.freeze().thaw()
    let _: (Track, Track?) = (realm.freeze(track), realm.thaw(track))
    let _: (List<Track>, List<Track>?) = (realm.freeze(album.tracks), realm.thaw(album.tracks))
    let number: Int = try realm.write { 3 }
    try realm.write(withoutNotifying: []) { _ = number }
    realm.beginWrite()
    try realm.commitWrite()
    try realm.commitWrite(withoutNotifying: [])
    realm.cancelWrite()
    let id: AsyncTransactionId = realm.writeAsync({}, onComplete: { error in _ = error?.localizedDescription })
    realm.writeAsync {}
    let _: AsyncTransactionId = realm.beginAsyncWrite { realm.commitAsyncWrite() }
    realm.commitAsyncWrite(allowGrouping: true) { (_: Swift.Error?) in }
    try realm.cancelAsyncWrite(id)
    realm.add(track)
    realm.add(track, update: .modified)
    realm.add([track], update: .all)
    let _: Track = realm.create(Track.self)
    realm.create(Track.self, value: ["title": "x"], update: .error)
    let _: DynamicObject = realm.dynamicCreate("Track", value: ["title": "x"], update: .all)
    realm.delete(track)
    realm.delete([track])
    realm.delete(album.tracks)
    realm.delete(realm.objects(Track.self))
    realm.delete(realm.objects(Track.self).filter { $0.plays > 3 })
    realm.delete(album.trackMap)
    realm.deleteAll()
    let _: Results<Track> = realm.objects(Track.self)
    let _: Results<DynamicObject> = realm.dynamicObjects("Track")
    let _: Track? = realm.object(ofType: Track.self, forPrimaryKey: ObjectId.generate())
    let _: DynamicObject? = realm.dynamicObject(ofType: "Track", forPrimaryKey: 3)
    let _: NotificationToken = realm.observe { notification, realm in
        switch notification {
        case .didChange: _ = realm.isEmpty
        case .refreshRequired: _ = notification.rawValue
        }
    }
    let received: NotificationBlock = { _, _ in }
    let token = realm.observe(received)
    token.invalidate()
    try realm.writeCopy(toFile: url)
    try realm.writeCopy(toFile: url, encryptionKey: nil)
    try realm.writeCopy(configuration: configuration)
    let _: Bool = Realm.fileExists(for: configuration)
    let _: Bool = try Realm.deleteFiles(for: configuration)
    try Realm.performMigration(for: configuration)
    try Realm.performMigration()
    let _: UInt64 = try schemaVersionAtURL(url)
    _ = try schemaVersionAtURL(url, encryptionKey: nil)
    let reference = ThreadSafeReference(to: track)
    let _: Bool = reference.isInvalidated
    let _: Track? = realm.resolve(reference)
    _ = realm.resolve(ThreadSafeReference(to: album.tracks))
    _ = realm.resolve(ThreadSafeReference(to: album.counts))
    @ThreadSafe var shared: Track? = track
    let _: Track? = shared
    let task: Realm.AsyncOpenTask = Realm.asyncOpen(configuration: configuration, callbackQueue: .main) { result in
        switch result {
        case .success(let realm): _ = realm.isEmpty
        case .failure(let error): _ = error.localizedDescription
        }
    }
    task.cancel()
    Realm.asyncOpen { _ in }
}

func useErrors(_ configuration: Realm.Configuration) -> String? {
    do {
        _ = try Realm(configuration: configuration)
    } catch Realm.Error.fileNotFound {
    } catch Realm.Error.schemaMismatch, Realm.Error.invalidDatabase, Realm.Error.filePermissionDenied {
    } catch Realm.Error.fileAccess, Realm.Error.fileExists, Realm.Error.alreadyOpen, Realm.Error.invalidInput {
    } catch Realm.Error.fileOperationFailed, Realm.Error.unsupportedFileFormatVersion, Realm.Error.outOfDiskSpace {
    } catch Realm.Error.addressSpaceExhausted, Realm.Error.incompatibleLockFile, Realm.Error.fileFormatUpgradeRequired {
    } catch let error as Realm.Error where error.code == .fail {
        let _: URL? = error.fileURL
        return error.errorDescription
    } catch {
        return "\((error as NSError).code) \(Realm.Error(.fail) == Realm.Error.callFailed)"
    }
    return nil
}

@MainActor func useRealmsOnActors(_ configuration: Realm.Configuration) async throws {
    _ = try await Realm()
    _ = try await Realm(configuration: configuration)
    _ = try await Realm(configuration: configuration, downloadBeforeOpen: .never)
    _ = try await Realm(configuration: configuration, actor: MainActor.shared)
    let realm = try await Realm.open(configuration: configuration)
    _ = try await Realm.open(configuration: configuration, downloadBeforeOpen: .once)
    let three: Int = try await realm.asyncWrite { 3 }
    try await realm.asyncWrite { realm.deleteAll() }
    let _: Bool = await realm.asyncRefresh()
    _ = three
}

actor Librarian {
    var realm: Realm!
    func open(_ configuration: Realm.Configuration) async throws {
        realm = try await Realm(configuration: configuration, actor: self)
        realm = try await Realm.open(configuration: configuration)
        try await realm.asyncWrite { _ = realm.create(Track.self, value: ["title": "x"]) }
        await realm.asyncRefresh()
    }
}

func useLogging() {
    Logger.shared = Logger(level: .info) { level, message in print(level, message) }
    Logger.shared.level = .off
    Logger.shared.log(level: .warn, message: "x")
    let _: [LogLevel] = [.off, .fatal, .error, .warn, .info, .detail, .debug, .trace, .all]
    Logger.setLogLevel(.debug, for: .realm)
    Logger.setLogLevel(.debug)
    let _: LogLevel = Logger.logLevel()
    _ = Logger { (level: LogLevel, category: LogCategory, message: String) in _ = (level.description, category, message)
    }
}
