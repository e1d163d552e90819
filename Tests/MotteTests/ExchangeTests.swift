/// Whole databases as SQLite files and JSON, from models and back to models.
import Foundation
import Motte
import Testing

final class Pet: Object {
    @Persisted var name = ""
}

final class PetKeeper: Object {
    @Persisted(primaryKey: true) var id = 0
    @Persisted var name = ""
    @Persisted var pet: Pet?
    @Persisted var pets: List<Pet>
    @Persisted var seen: Date?
    @Persisted var any: AnyRealmValue
}

@Suite struct ExchangeOfDatabasesTests {
    private let folder = FileManager.default.temporaryDirectory.appendingPathComponent("motte-\(UUID().uuidString)")

    init() throws { try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true) }

    private func realm(_ name: String) throws -> Realm {
        var configuration = Realm.Configuration(fileURL: folder.appendingPathComponent(name))
        configuration.objectTypes = [Pet.self, PetKeeper.self]
        return try Realm(configuration: configuration)
    }

    private func fill(_ realm: Realm) throws {
        try realm.write {
            let rex = Pet()
            rex.name = "Rex"
            let ada = PetKeeper()
            ada.id = 2
            ada.name = "Ada"
            ada.pet = rex
            ada.pets.append(rex)
            ada.seen = Date(timeIntervalSince1970: 1_357_034_400.25)
            ada.any = .string("x")
            realm.add(ada)
            let bob = PetKeeper()
            bob.id = 1
            realm.add(bob)
        }
    }

    private func check(_ realm: Realm) {
        let keepers = realm.objects(PetKeeper.self)
        #expect(keepers.map(\.id) == [2, 1])
        #expect(keepers.first?.pet?.name == "Rex" && keepers.first?.pets.count == 1)
        #expect(keepers.first?.seen == Date(timeIntervalSince1970: 1_357_034_400.25))
        #expect(keepers.first?.any == .string("x"))
        #expect(realm.objects(Pet.self).count == 1)
    }

    @Test func databasesComeBackFromSQLiteAndJSON() throws {
        defer { _ = try? FileManager.default.removeItem(at: folder) }
        let original = try realm("original.motte")
        try fill(original)
        let sqlite = folder.appendingPathComponent("out.sqlite")
        let json = folder.appendingPathComponent("out.json")
        try original.writeSQLite(toFile: sqlite)
        try original.writeJSON(toFile: json)

        let notes = try Realm.convert(
            fromSQLiteFile: sqlite, toFile: folder.appendingPathComponent("sqlite.motte"))
        try Realm.convert(fromJSONFile: json, toFile: folder.appendingPathComponent("json.motte"))

        #expect(notes.isEmpty)
        check(try realm("sqlite.motte"))
        check(try realm("json.motte"))
    }

    @Test func whatIsThereStaysAndFailuresLeaveNothing() throws {
        defer { _ = try? FileManager.default.removeItem(at: folder) }
        let original = try realm("original.motte")
        try fill(original)
        let text = folder.appendingPathComponent("text")
        let target = folder.appendingPathComponent("target.motte")
        try Data("hello".utf8).write(to: text)

        for attempt in [
            { try original.writeSQLite(toFile: text) }, { try original.writeJSON(toFile: text) },
            { _ = try Realm.convert(fromSQLiteFile: text, toFile: text) },
        ] {
            let error = #expect(throws: Realm.Error.self) { try attempt() }
            #expect(error?.code == .fileExists)
        }
        #expect(throws: Realm.Error.self) { try Realm.convert(fromSQLiteFile: text, toFile: target) }
        #expect(throws: Realm.Error.self) { try Realm.convert(fromJSONFile: text, toFile: target) }
        // A row that does not fit: found when others have been imported.
        let broken = """
            {"$motte":1,"schema":"P { n: string }","objects":[{"$class":"P","n":"a"},{"$class":"P","n":1}]}
            """
        try Data(broken.utf8).write(to: folder.appendingPathComponent("broken.json"))
        #expect(throws: Realm.Error.self) {
            try Realm.convert(fromJSONFile: folder.appendingPathComponent("broken.json"), toFile: target)
        }

        #expect(try Data(contentsOf: text) == Data("hello".utf8))
        #expect(!FileManager.default.fileExists(atPath: target.path))
    }
}
