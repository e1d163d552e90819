// Opening, versions, threads, migrations, files and asynchronous writes.
import Dispatch
import Foundation
import Motte
import MotteValues
import Testing

class Counter: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var value: Int
}

enum VersionOne {
    class Person: Object {
        @Persisted var name: String
        @Persisted var years: String
    }
}

enum VersionTwo {
    class Person: Object {
        @Persisted var name: String
        @Persisted var age: Int
        @Persisted var fullName: String
        override class func _realmObjectName() -> String? { "VersionOne_Person" }
        override class func shouldIncludeInDefaultSchema() -> Bool { false }
    }
}

@Suite struct RealmLifeTests {
    @Test func realmsOfAThreadAreTheSame() throws {
        let realm = try makeRealm([Counter.self])
        #expect(try Realm(configuration: realm.configuration) == realm)
        var readOnly = realm.configuration
        readOnly.readOnly = true
        #expect(throws: Realm.Error.self) { try Realm(configuration: readOnly) }
    }

    @Test func configurationsAreChecked() throws {
        var configuration = Realm.Configuration(inMemoryIdentifier: "x")
        #expect(configuration.fileURL == nil)
        configuration.fileURL = temporaryURL()
        #expect(configuration.inMemoryIdentifier == nil)
        configuration.readOnly = true
        #expect { try Realm(configuration: configuration) } throws: { error in
            if case Realm.Error.fileNotFound = error { true } else { false }
        }
        configuration.deleteRealmIfMigrationNeeded = true
        #expect(throws: Realm.Error.self) { try Realm(configuration: configuration) }
        configuration = Realm.Configuration(fileURL: temporaryURL(), encryptionKey: Data(count: 3))
        #expect(throws: Realm.Error.self) { try Realm(configuration: configuration) }
    }

    @Test func inMemoryRealmsAreShared() throws {
        let configuration = Realm.Configuration(
            inMemoryIdentifier: UUID().uuidString, objectTypes: [Counter.self])
        let realm = try Realm(configuration: configuration)
        try realm.write { realm.create(Counter.self, value: ["id": 1]) }
        let seen = Locked(0)
        onAnotherThread {
            let other = try? Realm(configuration: configuration)
            seen.withLock { $0 = other?.objects(Counter.self).count ?? -1 }
        }
        #expect(seen.withLock { $0 } == 1)
    }

    @Test func frozenThingsStayAndAreUsedEverywhere() throws {
        let realm = try makeRealm([Counter.self])
        try realm.write { realm.create(Counter.self, value: ["id": 1, "value": 5]) }
        let live = try #require(realm.object(ofType: Counter.self, forPrimaryKey: 1))
        let frozen = live.freeze()
        let results = realm.objects(Counter.self).freeze()
        try realm.write { live.value = 6 }
        #expect(frozen.value == 5 && frozen.isFrozen && results.first?.value == 5 && live.value == 6)
        nonisolated(unsafe) let handed = (frozen, results)
        let sum = Locked(0)
        onAnotherThread {
            let value = handed.0.value + (handed.1.first?.value ?? 0)
            sum.withLock { $0 = value }
        }
        #expect(sum.withLock { $0 } == 10)
        #expect(frozen.thaw()?.value == 6 && results.thaw()?.first?.value == 6)
        #expect(try misuses { try realm.write { frozen.value = 1 } }.count == 1)
    }

    @Test func theWrongThreadIsMisuse() throws {
        let realm = try makeRealm([Counter.self])
        let object = try realm.write { realm.create(Counter.self, value: ["id": 1]) }
        nonisolated(unsafe) let handed = object
        let messages = Locked<[String]>([])
        onAnotherThread {
            let found = misuses { _ = handed.value }
            messages.withLock { $0 = found }
        }
        #expect(messages.withLock { $0 }.first?.contains("thread") == true)
    }

    @Test func referencesCrossThreads() throws {
        let realm = try makeRealm([Counter.self])
        let object = try realm.write { realm.create(Counter.self, value: ["id": 1, "value": 3]) }
        let reference = ThreadSafeReference(to: object)
        let results = ThreadSafeReference(to: realm.objects(Counter.self).filter("value > 2"))
        let box = ThreadSafe(wrappedValue: object)
        let configuration = realm.configuration
        let seen = Locked<[Int]>([])
        onAnotherThread {
            guard let other = try? Realm(configuration: configuration) else { return }
            let values = [
                other.resolve(reference)?.value ?? -1, other.resolve(results)?.count ?? -1,
                box.wrappedValue?.value ?? -1,
            ]
            seen.withLock { $0 = values }
        }
        #expect(seen.withLock { $0 } == [3, 1, 3])
        #expect(misuses { _ = realm.resolve(reference) }.count == 1, "a reference resolves once")
    }

    @Test func queuesAndActorsHaveRealmsOfTheirOwn() async throws {
        let configuration = Realm.Configuration(fileURL: temporaryURL(), objectTypes: [Counter.self])
        let queue = DispatchQueue(label: "confined")
        let count = try queue.sync {
            let realm = try Realm(configuration: configuration, queue: queue)
            try realm.write { realm.create(Counter.self, value: ["id": 1]) }
            return realm.objects(Counter.self).count
        }
        #expect(count == 1)
        let keeper = Keeper1()
        #expect(try await keeper.count(configuration) == 1)
        #expect(try await keeper.addAndCount(configuration) == 2)
    }

    @Test func migrationsChangeObjects() throws {
        let url = temporaryURL()
        do {
            let realm = try makeRealm([VersionOne.Person.self], version: 1, url: url)
            try realm.write {
                realm.create(VersionOne.Person.self, value: ["name": "Ada", "years": "36"])
                realm.create(VersionOne.Person.self, value: ["name": "Bob", "years": "20"])
            }
            realm.invalidate()
        }
        let migrated = try makeRealm([VersionTwo.Person.self], version: 2, url: url) { configuration in
            configuration.migrationBlock = { migration, oldVersion in
                #expect(oldVersion == 1)
                migration.enumerateObjects(ofType: "VersionOne_Person") { old, new in
                    new?["age"] = Int(old?["years"] as? String ?? "") ?? 0
                    new?["fullName"] = "\(old?["name"] as? String ?? "") L."
                }
                migration.create("VersionOne_Person", value: ["name": "New", "age": 1, "fullName": "N"])
            }
        }
        let people = migrated.objects(VersionTwo.Person.self).sorted(byKeyPath: "age")
        #expect(people.map(\.age) == [1, 20, 36] && people.last?.fullName == "Ada L.")
        #expect(try schemaVersionAtURL(url) == 2)
    }

    @Test func copiesAndDeletion() throws {
        let realm = try makeRealm([Counter.self])
        try realm.write { realm.create(Counter.self, value: ["id": 4]) }
        let copy = temporaryURL()
        try realm.writeCopy(toFile: copy)
        #expect(throws: Realm.Error.self) { try realm.writeCopy(toFile: copy) }
        let configuration = Realm.Configuration(fileURL: copy, objectTypes: [Counter.self])
        #expect(try Realm(configuration: configuration).objects(Counter.self).first?.id == 4)
        #expect(Realm.fileExists(for: configuration))
    }

    @Test func copiesOfAWriteHoldWhatIsNotCommitted() throws {
        let realm = try makeRealm([Counter.self])
        try realm.write { realm.create(Counter.self, value: ["id": 1, "value": 1]) }
        let (copy, second) = (temporaryURL(), temporaryURL())
        realm.beginWrite()
        realm.create(Counter.self, value: ["id": 2, "value": 2])
        realm.object(ofType: Counter.self, forPrimaryKey: 1)?.value = 5
        try realm.writeCopy(toFile: copy)
        realm.create(Counter.self, value: ["id": 3])
        try realm.writeCopy(toFile: second, encryptionKey: Data(repeating: 7, count: 64))
        realm.cancelWrite()
        #expect(realm.objects(Counter.self).map(\.value) == [1])
        #expect(try makeRealm([Counter.self], url: copy).objects(Counter.self).map(\.value).sorted() == [2, 5])
        let sealed = try makeRealm([Counter.self], url: second) { $0.encryptionKey = Data(repeating: 7, count: 64) }
        #expect(sealed.objects(Counter.self).count == 3)
    }

    @Test func encryptedFiles() throws {
        let (key, other) = (Data(repeating: 7, count: 64), Data(repeating: 8, count: 64))
        let url = temporaryURL()
        let realm = try makeRealm([Counter.self], url: url) { $0.encryptionKey = key }
        try realm.write { realm.create(Counter.self, value: ["id": 11, "value": 12]) }
        let copy = temporaryURL()
        try realm.writeCopy(toFile: copy, encryptionKey: other)
        let read = try makeRealm([Counter.self], url: copy) { $0.encryptionKey = other }
        #expect(read.object(ofType: Counter.self, forPrimaryKey: 11)?.value == 12)
        let again = temporaryURL()
        try realm.writeCopy(toFile: again, encryptionKey: other)
        for wrong in [key, nil] {
            #expect(throws: Realm.Error.self) { try makeRealm([Counter.self], url: again) { $0.encryptionKey = wrong } }
        }
        #expect(try schemaVersionAtURL(again, encryptionKey: other) == 0)
    }

    @Test func errorsRollBack() throws {
        struct Stop: Error {}
        let realm = try makeRealm([Counter.self])
        #expect(throws: Stop.self) {
            try realm.write {
                realm.create(Counter.self, value: ["id": 1])
                throw Stop()
            }
        }
        #expect(realm.isEmpty && !realm.isInWriteTransaction)
        #expect(misuses { realm.add(Counter()) }.count == 1)
        #expect(try misuses { try realm.commitWrite() }.count == 1)
    }

    @Test func queuedWrites() async throws {
        let configuration = Realm.Configuration(fileURL: temporaryURL(), objectTypes: [Counter.self])
        let queue = DispatchQueue(label: "writer")
        let done = Locked<[String]>([])
        queue.async {
            guard let realm = try? Realm(configuration: configuration, queue: queue) else { return }
            nonisolated(unsafe) let kept = realm
            for id in 0 ..< 3 {
                realm.writeAsync {
                    kept.create(Counter.self, value: ["id": id])
                } onComplete: { error in
                    done.withLock { $0.append(error == nil ? "\(id)" : "failed") }
                }
            }
            realm.beginAsyncWrite {
                kept.create(Counter.self, value: ["id": 100])
                kept.commitAsyncWrite { _ in done.withLock { $0.append("begun") } }
            }
        }
        try await eventually { done.withLock { $0 } == ["0", "1", "2", "begun"] }
    }

    /// They become durable together; each is notified by itself, before its completion is called.
    @Test func queuedWritesAreGrouped() async throws {
        let configuration = Realm.Configuration(fileURL: temporaryURL(), objectTypes: [Counter.self])
        let queue = DispatchQueue(label: "writer")
        let received = Locked<[Int]>([])
        let done = Locked<[String]>([])
        nonisolated(unsafe) var token: NotificationToken?
        queue.async {
            guard let realm = try? Realm(configuration: configuration, queue: queue) else { return }
            nonisolated(unsafe) let kept = realm
            token = realm.objects(Counter.self).observe { change in
                if case .update(_, _, let insertions, _) = change { received.withLock { $0.append(insertions.count) } }
                guard case .initial = change else { return }
                for id in 0 ..< 20 {
                    let number = kept.writeAsync {
                        kept.create(Counter.self, value: ["id": id])
                        if id == 7 { kept.cancelWrite() }
                    } onComplete: { error in
                        let notified = received.withLock { $0.count }
                        done.withLock { $0.append(error == nil ? "\(id) of \(notified)" : "failed") }
                    }
                    if id == 9 { try? kept.cancelAsyncWrite(number) }
                }
                kept.beginAsyncWrite {
                    kept.create(Counter.self, value: ["id": 100])
                    kept.commitAsyncWrite(allowGrouping: true) { _ in done.withLock { $0.append("grouped") } }
                }
                kept.beginAsyncWrite {
                    kept.create(Counter.self, value: ["id": 101])
                    try? kept.commitWrite()
                    done.withLock { $0.append("durable \(kept.objects(Counter.self).count)") }
                }
                kept.beginAsyncWrite { kept.create(Counter.self, value: ["id": 102]) }
                kept.writeAsync {
                    kept.create(Counter.self, value: ["id": 103])
                } onComplete: { _ in
                    done.withLock { $0.append("last \(kept.objects(Counter.self).count)") }
                }
            }
        }
        try await eventually { done.withLock { $0.last } == "last 21" }
        #expect(received.withLock { $0 } == [Int](repeating: 1, count: 21))
        let expected = (0 ..< 20).filter { $0 != 9 }.map { "\($0) of 20" }
        #expect(done.withLock { $0 }.filter { $0.hasSuffix("of 20") } == expected)
        #expect(done.withLock { $0 }.contains("grouped") && done.withLock { $0 }.contains("durable 20"))
        queue.sync { _ = token?.invalidate() }
    }

    @Test func tasksOfAnActorWriteTogether() async throws {
        let configuration = Realm.Configuration(fileURL: temporaryURL(), objectTypes: [Counter.self])
        let keeper = Keeper2()
        let versions = try await withThrowingTaskGroup(of: Int?.self) { group in
            for id in 0 ..< 40 { group.addTask { try? await keeper.add(id, configuration) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        // Those that throw are rolled back, each by itself.
        #expect(versions.compactMap { $0 }.count == 36)
        #expect(try await keeper.count(configuration) == 36)
    }

    @MainActor @Test func theMainActorWritesAsynchronously() async throws {
        let realm = try await Realm(
            configuration: Realm.Configuration(fileURL: temporaryURL(), objectTypes: [Counter.self]))
        let object = try await realm.asyncWrite { realm.create(Counter.self, value: ["id": 9]) }
        #expect(object.id == 9 && realm.objects(Counter.self).count == 1)
        #expect(await realm.asyncRefresh() == false)
    }

    @Test func codableModels() throws {
        let object = try JSONDecoder().decode(Draft.self, from: Data(#"{"title": "t", "scores": [1, 2]}"#.utf8))
        #expect(object.title == "t" && Array(object.scores) == [1, 2] && object.note == nil)
        object.note = "n"
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        #expect(
            String(decoding: try encoder.encode(object), as: UTF8.self) == #"{"note":"n","scores":[1,2],"title":"t"}"#)
        let realm = try makeRealm([Draft.self])
        try realm.write { realm.add(object) }
        #expect(throws: EncodingError.self) { try encoder.encode(object) }
    }
}

class Draft: Object, Codable {
    @Persisted var title: String
    @Persisted var note: String?
    @Persisted var scores: List<Int>
}

private actor Keeper1 {
    private var realm: Realm?

    func count(_ configuration: Realm.Configuration) async throws -> Int {
        let realm = try await Realm(configuration: configuration, actor: self)
        self.realm = realm
        return realm.objects(Counter.self).count
    }

    func addAndCount(_ configuration: Realm.Configuration) async throws -> Int {
        let realm = try await Realm.open(configuration: configuration)
        #expect(realm == self.realm)
        try await realm.asyncWrite { realm.create(Counter.self, value: ["id": 2]) }
        return realm.objects(Counter.self).count
    }
}

private actor Keeper2 {
    struct Refusal: Swift.Error {}

    func count(_ configuration: Realm.Configuration) async throws -> Int {
        try await Realm(configuration: configuration, actor: self).objects(Counter.self).count
    }

    /// Answers how many there were then.
    func add(_ id: Int, _ configuration: Realm.Configuration) async throws -> Int {
        let realm = try await Realm(configuration: configuration, actor: self)
        return try await realm.asyncWrite {
            realm.create(Counter.self, value: ["id": id])
            if id % 10 == 3 { throw Refusal() }
            return realm.objects(Counter.self).count
        }
    }
}

/// A queue would run the block on the calling thread.
private func onAnotherThread(_ body: @escaping @Sendable () -> Void) {
    let done = DispatchSemaphore(value: 0)
    Thread {
        body()
        done.signal()
    }.start()
    done.wait()
}
