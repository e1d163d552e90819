// However a program reads, a realm keeps to its budget of memory: by primary key, by loops and by index, within a write
// too, of what is frozen, and in a migration.
import Foundation
import Motte
import Testing

class Folio: Object {
    @Persisted(primaryKey: true) var number: Int
    @Persisted var text: String
    @Persisted var lines: List<String>
}

@Suite(.serialized) struct MemoryRulesTests {
    private static let count = 20_000
    private static let budget = 256 << 10

    private func text(_ number: Int) -> String { String(repeating: "text \(number) ", count: 50) }

    /// 12 MB.
    private func configuration(_ folder: URL) throws -> Realm.Configuration {
        var configuration = Realm.Configuration(
            fileURL: folder.appendingPathComponent("folios.motte"), objectTypes: [Folio.self])
        configuration.memory = Self.budget
        let realm = try Realm(configuration: configuration)
        for first in stride(from: 0, to: Self.count, by: 1_000) {
            try realm.write {
                for number in first ..< first + 1_000 {
                    let folio = realm.create(Folio.self, value: ["number": number, "text": text(number)])
                    if number % 10 == 0 { folio.lines.append("line \(number)") }
                }
            }
        }
        return configuration
    }

    /// Every way to read all of them.
    private func read(_ realm: Realm) throws {
        for number in stride(from: 0, to: Self.count, by: 7) {
            let folio = try #require(realm.object(ofType: Folio.self, forPrimaryKey: number))
            #expect(folio.text == text(number))
        }
        let folios = realm.objects(Folio.self)
        var wrong = 0
        for folio in folios where folio.text.hasPrefix("text \(folio.number) ") == false { wrong += 1 }
        for index in stride(from: 0, to: Self.count, by: 3) where folios[index].text != text(index) { wrong += 1 }
        let kept = Array(folios)
        for (index, folio) in kept.enumerated() where folio.text.utf8.count != text(index).utf8.count { wrong += 1 }
        for folio in kept where folio.number % 10 == 0 && folio.lines.first != "line \(folio.number)" { wrong += 1 }
        #expect(wrong == 0)
        #expect(folios.where { $0.text.contains("text 77 ") }.count == 1)
    }

    private func expectLittle(_ realm: Realm, _ what: String) throws {
        let most = try realm.core.session.database.pages.statistics().mostMemoryBytes
        #expect(most < 2 << 20, "\(what): \(most)")
    }

    private func inFolder(_ body: (URL) throws -> Void) throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("motte-memory-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }  // What is left there is the system's to remove.
        try body(folder)
    }

    @Test func readsFromRealmsWritesAndWhatIsFrozen() throws {
        try inFolder { folder in
            let configuration = try configuration(folder)
            let realm = try Realm(configuration: configuration)
            let before = try realm.core.session.database.pages.statistics().mostMemoryBytes
            try #require(before < 1 << 20)
            try read(realm)
            try expectLittle(realm, "a realm")
            realm.beginWrite()
            try read(realm)
            try expectLittle(realm, "a write")
            for number in stride(from: 0, to: Self.count, by: 500) {
                try #require(realm.object(ofType: Folio.self, forPrimaryKey: number)).text = "changed"
            }
            #expect(realm.objects(Folio.self).where { $0.text == "changed" }.count == Self.count / 500)
            realm.cancelWrite()
            try read(realm)
            try read(realm.freeze())
            try expectLittle(realm, "what is frozen")
        }
    }

    @Test func readsInAMigration() throws {
        try inFolder { folder in
            var configuration = try configuration(folder)
            configuration.schemaVersion = 1
            nonisolated(unsafe) var wrong = 0, seen = 0
            configuration.migrationBlock = { migration, _ in
                migration.enumerateObjects(ofType: "Folio") { old, new in
                    seen += 1
                    if old?["text"] as? String != new?["text"] as? String { wrong += 1 }
                }
            }
            let realm = try Realm(configuration: configuration)
            #expect(seen == Self.count && wrong == 0)
            try expectLittle(realm, "a migration")
            try read(realm)
        }
    }
}
