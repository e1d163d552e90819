// Files of Realm itself: what opening says, their conversion, and opening with it.
import Foundation
import Motte
import Testing

/// The classes of Tests/RealmFiles/tiny.realm.
private enum Tiny {
    class Person: Object {
        @Persisted(primaryKey: true) var id: Int
        @Persisted var born: Date?
        @Persisted(originProperty: "owner") var dogs: LinkingObjects<Dog>
        override class func _realmObjectName() -> String? { "Person" }
        override class func shouldIncludeInDefaultSchema() -> Bool { false }
    }

    class Dog: Object {
        @Persisted var name: String
        @Persisted var age: Int?
        @Persisted var weight: Double
        @Persisted var any: AnyRealmValue
        @Persisted var toys: List<String>
        @Persisted var owner: Person?
        override class func _realmObjectName() -> String? { "Dog" }
        override class func shouldIncludeInDefaultSchema() -> Bool { false }
    }

    class OtherPerson: Object {
        @Persisted var id: String
        override class func _realmObjectName() -> String? { "Person" }
        override class func shouldIncludeInDefaultSchema() -> Bool { false }
    }

    static let classes: [ObjectBase.Type] = [Person.self, Dog.self]
}

@Suite(.serialized) struct RealmFileTests {
    private static let fixtures = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().appendingPathComponent("RealmFiles")

    private func folder() throws -> URL {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("realm-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        return folder
    }

    private func configuration(_ url: URL) -> Realm.Configuration {
        Realm.Configuration(fileURL: url, schemaVersion: 1, objectTypes: Tiny.classes)
    }

    private func check(_ realm: Realm) {
        let dogs = realm.objects(Tiny.Dog.self)
        #expect(dogs.map(\.name) == ["Rex", "Lassie", "Rex"])
        #expect(dogs.map(\.age) == [3, nil, 11])
        #expect(Array(dogs[2].toys) == ["ball", "stick"])
        #expect(dogs[1].any == .string("bone"))
        let person = realm.object(ofType: Tiny.Person.self, forPrimaryKey: 7)
        #expect(person?.dogs.count == 2)
        #expect(person?.born == Date(timeIntervalSince1970: -1.5))
    }

    @Test func aRealmFileIsConverted() throws {
        let folder = try folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let source = Self.fixtures.appendingPathComponent("tiny.realm")
        let url = folder.appendingPathComponent("tiny.motte")
        var steps: [Int] = []

        let summary = try Realm.convert(
            fromRealmFile: source, to: url, objectTypes: Tiny.classes,
            progress: { done, total in
                steps.append(done)
                return total == 8
            })

        #expect(summary.objectCount == 4)
        #expect(summary.classes.map(\.name) == ["Dog", "Person"])
        #expect(summary.notes.isEmpty)
        #expect(summary.description == "Dog: 3 objects\nPerson: 1 objects")
        #expect(steps.last == 8)
        try autoreleasingRealm(configuration(url)) { check($0) }
        // Nothing is replaced.
        let error = #expect(throws: Realm.Error.self) { try Realm.convert(fromRealmFile: source, to: url) }
        #expect(error?.code == .fileExists)
    }

    @Test func aStopAndAWrongSchemaLeaveNothing() throws {
        let folder = try folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let source = Self.fixtures.appendingPathComponent("tiny.realm")
        let url = folder.appendingPathComponent("tiny.motte")
        #expect(throws: (any Error).self) {
            try Realm.convert(fromRealmFile: source, to: url, progress: { _, _ in false })
        }
        #expect(throws: (any Error).self) {
            try Realm.convert(fromRealmFile: source, to: url, objectTypes: [Tiny.OtherPerson.self])
        }
        #expect(throws: Realm.Error(.invalidInput)) {
            try Realm.convert(fromRealmFile: source, to: url, sourceKey: Data(count: 3))
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
    }

    @Test func openingSaysWhatToDoOrDoesIt() throws {
        let folder = try folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let url = folder.appendingPathComponent("app.realm")
        let bytes = try Data(contentsOf: Self.fixtures.appendingPathComponent("tiny.realm"))
        try bytes.write(to: url)

        do {
            _ = try Realm(configuration: configuration(url))
            Issue.record("a Realm file was opened")
        } catch let error as Realm.Error {
            #expect(error.code == .invalidDatabase)
            #expect(error.message.contains("Realm.convert(fromRealmFile:to:)"))
        }

        var converting = configuration(url)
        converting.convertRealmFiles = true
        try autoreleasingRealm(converting) { realm in
            check(realm)
            try realm.write { realm.add(Tiny.Person(value: ["id": 9])) }
        }
        try autoreleasingRealm(converting) { realm in #expect(realm.objects(Tiny.Person.self).count == 2) }
        #expect(try Data(contentsOf: url) == bytes)
        #expect(FileManager.default.fileExists(atPath: folder.appendingPathComponent("app.motte").path))
    }

    /// The realm is gone afterwards, so that the next opening is one.
    private func autoreleasingRealm(_ configuration: Realm.Configuration, _ body: (Realm) throws -> Void) throws {
        try body(try Realm(configuration: configuration))
    }
}
