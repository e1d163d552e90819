// The numbered behaviours of the semantics list that concern files, migrations and coding. Numbers are in the names.
import Foundation
import Motte
import Testing

class Letter: Object, Codable {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var text: String?
    @Persisted var sent: Date?
    @Persisted var pages: List<Int>
    @Persisted var labels: MutableSet<String>
    @Persisted var counts: Map<String, Int>
    @Persisted var price: Decimal128
    @Persisted var reply: Letter?
}

private let trains: [ObjectBase.Type] = [Train.self, Driver.self]

@Suite(.serialized) struct FileRulesTests {
    private func fresh(url: URL? = nil) throws -> Realm { try makeRealm(trains, url: url) }

    private func train(_ realm: Realm, _ number: Int) throws {
        try realm.write { _ = realm.create(Train.self, value: ["number": number]) }
    }

    // MARK: Files

    @Test func openingWaitsForAWriterAsLongAsItMay() throws {
        let realm = try fresh()
        var other = realm.configuration
        other.objectTypes = [Train.self, Driver.self, Letter.self]
        realm.beginWrite()
        // On this thread the session there is would be found: so on another, which waits.
        for timeout in [0, 0.05] {
            other.openTimeout = timeout
            let configuration = other
            let code = try inAThread { () -> Realm.Error.Code? in
                do {
                    _ = try Realm(configuration: configuration)
                    return nil
                } catch let error as Realm.Error { return error.code }
            }
            #expect(code == .fail)
        }
        realm.cancelWrite()
        let configuration = other
        #expect(try inAThread { try Realm(configuration: configuration).schema["Letter"] != nil })
    }

    @Test func aFileGivesBackSpaceWhileOthersHaveItOpen() throws {
        let realm = try makeRealm([Letter.self])
        let url = try #require(realm.configuration.fileURL)
        func bytes() throws -> Int {
            // A URL keeps the answer.
            try URL(fileURLWithPath: url.path).resourceValues(forKeys: [.fileSizeKey]).fileSize ?? 0
        }
        try realm.write {
            for id in 0 ..< 2_000 {
                let text = String(repeating: "\(id) ", count: 300)
                _ = realm.create(Letter.self, value: ["id": id, "text": text] as [String: Any])
            }
        }
        try realm.write { realm.delete(realm.objects(Letter.self).where { $0.id < 1_800 }) }
        let configuration = realm.configuration
        let isAtNewest = DispatchSemaphore(value: 0), goesOn = DispatchSemaphore(value: 0)
        let other = Thread {
            let realm = try? Realm(configuration: configuration)
            isAtNewest.signal()
            goesOn.wait()
            _ = realm?.refresh()
            isAtNewest.signal()
            goesOn.wait()
            withExtendedLifetime(realm) {}
        }
        other.start()
        isAtNewest.wait()
        defer { goesOn.signal() }
        #expect(throws: Realm.Error.self) { try realm.compactOnline(maxBytes: 0) }
        // What the other one shows lies where it lay.
        let held = try realm.compactOnline()
        #expect(held.bytesMoved > 0 && held.bytesHeld > 0)
        goesOn.signal()
        isAtNewest.wait()
        let result = try realm.compactOnline()
        #expect(held.bytesBefore > 2 * result.bytesAfter && result.bytesHeld == 0)
        #expect(try bytes() == result.bytesAfter)
        #expect(realm.objects(Letter.self).count == 200)
        try realm.write {
            #expect(throws: Realm.Error.self) { try realm.compactOnline() }
        }
        #expect(throws: Realm.Error.self) { try realm.freeze().compactOnline() }
    }

    @Test func aFileMayBeLargerThanItsMemory() throws {
        func open(_ memory: Int) throws -> Realm { try makeRealm([Letter.self]) { $0.memory = memory } }
        #expect(throws: Realm.Error.self) { try open(1_000) }
        let realm = try open(64 << 10)
        let count = 400
        try realm.write {
            for id in 0 ..< count {
                let text = String(repeating: "\(id % 7)", count: 3_000)
                _ = realm.create(Letter.self, value: ["id": id, "text": text] as [String: Any])
            }
        }
        let letters = realm.objects(Letter.self)
        #expect(letters.reduce(0) { $0 + ($1.text?.count ?? 0) } == count * 3_000)
        let sorted = letters.sorted(by: [
            SortDescriptor(keyPath: "text", ascending: false), SortDescriptor(keyPath: "id", ascending: true),
        ])
        let expected = (0 ..< count).sorted { ($1 % 7, $0) < ($0 % 7, $1) }
        #expect(sorted.map(\.id) == expected)
        #expect(letters.distinct(by: ["text"]).count == 7)
    }

    @Test func aFileThatGoesTakesNoWrites() throws {
        let realm = try fresh()
        try train(realm, 1)
        try FileManager.default.removeItem(at: try #require(realm.configuration.fileURL))
        do {
            try train(realm, 2)
            Issue.record("wrote")
        } catch let error as Realm.Error {
            #expect(error.code == .fileOperationFailed && error.localizedDescription.contains("deleted or renamed"))
        }
        #expect(!realm.isInWriteTransaction && realm.objects(Train.self).count == 1)
    }

    @Test func rules271To276OpeningAndCopying() throws {
        let missing = URL(fileURLWithPath: "/nonexistent-folder/file.realm")
        do {
            _ = try makeRealm(trains, url: missing)
            Issue.record("opened")
        } catch Realm.Error.fileNotFound {}
        #expect(throws: Realm.Error.self) { try makeRealm(trains) { $0.readOnly = true } }
        let folder = temporaryURL(), file = temporaryURL()
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try Data("text".utf8).write(to: file)
        for url in [folder, file.appendingPathComponent("inside.realm")] {
            do {
                _ = try makeRealm(trains, url: url)
                Issue.record("opened")
            } catch Realm.Error.fileOperationFailed {}
        }
        do {
            _ = try makeRealm(trains, url: file)
            Issue.record("opened")
        } catch let error as Realm.Error { #expect(error.code == .invalidDatabase && error.fileURL?.path == file.path) }
        let realm = try fresh()
        try train(realm, 1)
        let copy = temporaryURL()
        try realm.writeCopy(toFile: copy)
        do {
            try realm.writeCopy(toFile: copy)
            Issue.record("overwrote")
        } catch Realm.Error.fileExists {}
        do {
            try realm.writeCopy(toFile: missing)
            Issue.record("wrote")
        } catch let error as Realm.Error { #expect(error.code == .fileNotFound || error.code == .fileOperationFailed) }
        let seeded = try makeRealm(trains) { $0.seedFilePath = copy }
        #expect(seeded.objects(Train.self).count == 1, "276")
        #expect(throws: Realm.Error.self) { try makeRealm(trains) { $0.encryptionKey = Data(repeating: 1, count: 5) } }
        let closed = Realm.Configuration(fileURL: copy)
        #expect(
            try Realm.deleteFiles(for: closed) && !Realm.fileExists(for: closed)
                && !(try Realm.deleteFiles(for: closed)))
        do {
            _ = try Realm.deleteFiles(for: realm.configuration)
            Issue.record("deleted")
        } catch Realm.Error.alreadyOpen {}
    }

    @Test func aNewFileStoresAsManyObjectsTogetherAsAsked() throws {
        func bytes(_ rows: Int?) throws -> Int {
            let url = temporaryURL()
            let realm = try makeRealm(trains, url: url) { $0.rowGroupSize = rows }
            try realm.write { for number in 0 ..< 1_000 { realm.create(Train.self, value: ["number": number]) } }
            #expect(realm.objects(Train.self).sum(of: \.number) == 499_500)
            return try #require(url.resourceValues(forKeys: [.fileSizeKey]).fileSize)
        }
        #expect(try bytes(2) > 2 * bytes(nil), "each row group has a chunk of each column")
        for wrong in [0, -1, 65_537] {
            #expect(throws: Realm.Error.self) { try makeRealm(trains) { $0.rowGroupSize = wrong } }
        }
    }

    @Test func rule277CompactionIsAskedOnce() throws {
        let url = temporaryURL()
        try inAThread {
            let realm = try fresh(url: url)
            for number in 0 ..< 200 { try train(realm, number) }
        }
        nonisolated(unsafe) var asked: [(Int, Int)] = []
        let realm = try makeRealm(trains, url: url) {
            $0.shouldCompactOnLaunch = { total, used in
                asked.append((total, used))
                return true
            }
        }
        #expect(asked.count == 1 && asked[0].0 >= asked[0].1 && asked[0].1 > 0)
        #expect(realm.objects(Train.self).map(\.number) == Array(0 ..< 200))
    }

    // MARK: Migrations

    @Test func rules281To288Migrations() throws {
        let url = temporaryURL()
        try inAThread {
            nonisolated(unsafe) var called = 0
            let realm = try makeRealm([ThingBefore.self], version: 3, url: url) {
                $0.migrationBlock = { _, _ in called += 1 }
            }
            #expect(called == 0, "not for a new file (281)")
            try realm.write {
                realm.create(ThingBefore.self, value: ["Ada", "Byron", 1] as [Any])
                realm.create(ThingBefore.self, value: ["Alan", "Turing"])
            }
        }
        #expect(try schemaVersionAtURL(url) == 3)
        do {
            _ = try makeRealm([ThingAfter.self], version: 3, url: url)
            Issue.record("opened without migration")
        } catch Realm.Error.schemaMismatch {}
        #expect(throws: Realm.Error.self, "a lower version (284)") {
            try makeRealm([ThingBefore.self], version: 2, url: url)
        }
        nonisolated(unsafe) var versions: [UInt64] = []
        let realm = try makeRealm([ThingAfter.self], version: 4, url: url) {
            $0.migrationBlock = { migration, version in
                versions.append(version)
                migration.enumerateObjects(ofType: "Thing") { old, new in
                    new?["full"] = "\(old?["first"] ?? "") \(old?["last"] ?? "")"
                    migration.create("Thing", value: ["full": "made"])
                }
                migration.enumerateObjects(ofType: "Unknown") { _, _ in Issue.record("unknown") }
            }
        }
        #expect(versions == [3])
        #expect(realm.objects(ThingAfter.self).map(\.full).sorted() == ["Ada Byron", "Alan Turing", "made", "made"])
        #expect(realm.objects(ThingAfter.self).map(\.size).allSatisfy { $0 == 0 }, "required again: defaults (285)")
    }

    @Test func rules290And293RenamingAndDeleting() throws {
        let url = temporaryURL()
        try inAThread {
            let realm = try makeRealm([ThingBefore.self], url: url)
            try realm.write { _ = realm.create(ThingBefore.self, value: ["first": "Ada"]) }
        }
        try inAThread {
            #expect(throws: Realm.Error.self) {
                try makeRealm([ThingAfter.self], version: 1, url: url) {
                    $0.migrationBlock = {
                        $0.renameProperty(onType: "Thing", from: "nothing", to: "full")
                        _ = $1
                    }
                }
            }
            let realm = try makeRealm([ThingAfter.self], version: 1, url: url) {
                $0.migrationBlock = { migration, _ in
                    migration.renameProperty(onType: "Thing", from: "first", to: "full")
                }
            }
            #expect(realm.objects(ThingAfter.self).map(\.full) == ["Ada"], "a failed one changed nothing (287)")
        }
        let realm = try makeRealm([ThingBefore.self], version: 1, url: url) { $0.deleteRealmIfMigrationNeeded = true }
        #expect(realm.isEmpty, "293")
    }

    // MARK: Coding

    @Test func rules296And297Coding() throws {
        let json =
            #"{"id": 1, "pages": [1, 2], "labels": ["a", "a"], "counts": {"x": 1}, "price": "1.5", "more": true}"#
        let letter = try JSONDecoder().decode(Letter.self, from: Data(json.utf8))
        #expect(letter.id == 1 && letter.text == nil && Array(letter.pages) == [1, 2] && letter.labels.count == 1)
        #expect(letter.counts["x"] == 1 && letter.price == 1.5 && letter.reply == nil, "296")
        #expect(throws: DecodingError.self) { try JSONDecoder().decode(Letter.self, from: Data(#"{"id": 1}"#.utf8)) }
        letter.reply = Letter(value: ["id": 2, "text": "yes"])
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        let text = String(decoding: try encoder.encode(letter), as: UTF8.self)
        #expect(
            text.contains(#""text":null"#) && text.contains(#""sent":null"#) && text.contains(#""labels":["a"]"#), "297"
        )
        #expect(text.contains(#""reply":{"#) && text.contains(#""text":"yes""#))
        let realm = try makeRealm([Letter.self])
        try realm.write { realm.add(letter) }
        #expect(throws: EncodingError.self) { try encoder.encode(letter) }
        #expect(String(decoding: try encoder.encode(letter.pages), as: UTF8.self) == "[1,2]")
    }
}

class ThingBefore: Object {
    @Persisted var first: String
    @Persisted var last: String
    @Persisted var size: Int?
    override class func _realmObjectName() -> String? { "Thing" }
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

class ThingAfter: Object {
    @Persisted var full: String
    @Persisted var size: Int
    override class func _realmObjectName() -> String? { "Thing" }
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}
