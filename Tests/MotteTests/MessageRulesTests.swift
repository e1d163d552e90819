// The phrases that RealmSwift's messages begin with, word by word: programs and tests match on them.
import Foundation
import Motte
import MotteValues
import Testing

class Lighthouse: Object {
    @Persisted(primaryKey: true) var number: Int
    @Persisted var name = ""
    @Persisted var heights: List<Int>
    @Persisted var others: List<Int>
    @Persisted var colours: MutableSet<String>
    @Persisted var ranges: Map<String, Double>
    @Persisted var keepers: List<LightKeeper>
    @Persisted var byName: Map<String, LightKeeper?>
    @Persisted var place: LighthousePlace?
}

class LightKeeper: Object {
    @Persisted var name = ""
    @Persisted(originProperty: "keepers") var lighthouses: LinkingObjects<Lighthouse>
}

class LighthousePlace: EmbeddedObject {
    @Persisted var type = "Point"
    @Persisted var coordinates: List<Double>
}

@Suite(.serialized) struct MessageRulesTests {
    private func fresh() throws -> (realm: Realm, lighthouse: Lighthouse) {
        let realm = try makeRealm([Lighthouse.self, LightKeeper.self, LighthousePlace.self])
        let lighthouse = try realm.write {
            realm.create(
                Lighthouse.self,
                value: [
                    "number": 1, "name": "l", "heights": [3, 4], "colours": ["red"], "ranges": ["n": 1.5],
                    "keepers": [["name": "a"]], "byName": ["a": ["name": "b"]],
                ])
        }
        return (realm, lighthouse)
    }

    /// The first of the messages begins so, and there is one.
    private func says(
        _ phrase: String, at location: SourceLocation = #_sourceLocation, _ body: () throws -> Void
    ) rethrows {
        let messages = try misuses(body)
        #expect(messages.count == 1 && messages[0].hasPrefix(phrase), "\(messages)", sourceLocation: location)
    }

    @Test func indexes() throws {
        let (realm, lighthouse) = try fresh()
        try realm.write {
            for list in [lighthouse.heights, Lighthouse(value: ["heights": [3, 4]]).heights] {
                let tooFar = "Index 2 is out of bounds (must be less than 2)."
                says(tooFar) { _ = list[2] }
                says(tooFar) { list[2] = 1 }
                says(tooFar) { list.remove(at: 2) }
                says(tooFar) { list.replace(index: 2, object: 1) }
                says(tooFar) { list.swapAt(0, 2) }
                says(tooFar) { list.move(from: 0, to: 2) }
                says("Index 3 is out of bounds (must be less than 3).") { list.insert(1, at: 3) }
                let negative = "Cannot pass a negative value for 'index'"
                says(negative) { _ = list[-1] }
                says(negative) { list[-1] = 1 }
                says(negative) { list.insert(1, at: -1) }
                says(negative) { list.remove(at: -1) }
                says(negative) { list.replace(index: -1, object: 1) }
                says(negative) { list.removeFirst(-1) }
                says(negative) { list.removeLast(-1) }
                says("It is not possible to remove more objects (3) from a list than it already contains (2)") {
                    list.removeFirst(3)
                }
                #expect(Array(list) == [3, 4])
            }
        }
        says("Index 5 is out of bounds (must be less than 1).") { _ = realm.objects(Lighthouse.self)[5] }
        says("Cannot pass a negative value for 'index'") { _ = realm.objects(Lighthouse.self)[-1] }
    }

    @Test func orderings() throws {
        let (realm, lighthouse) = try fresh()
        let all = realm.objects(Lighthouse.self)
        says("Cannot sort on key path 'hight': property 'Lighthouse.hight' does not exist.") {
            _ = all.sorted(byKeyPath: "hight")
        }
        says("Cannot sort on key path 'nothing': property 'LightKeeper.nothing' does not exist.") {
            _ = lighthouse.keepers.sorted(by: [
                SortDescriptor(keyPath: "name"), SortDescriptor(keyPath: "nothing", ascending: false),
            ])
        }
        says("Cannot sort on key path 'keepers.@count': KVC collection operators are not supported.") {
            _ = all.sorted(byKeyPath: "keepers.@count")
        }
        says("Cannot distinct on key path 'nothing': property 'Lighthouse.nothing' does not exist.") {
            _ = all.distinct(by: ["nothing"])
        }
    }

    @Test func primaryKeys() throws {
        let (realm, lighthouse) = try fresh()
        let phrase = "Primary key can't be changed after an object is inserted"
        try realm.write {
            says(phrase) { lighthouse.number = 2 }
            says(phrase) { lighthouse["number"] = 2 }
            says(phrase) { lighthouse.setValue(2, forKey: "number") }
            says(phrase) { realm.dynamicObjects("Lighthouse")[0]["number"] = 2 }
            says(phrase) { realm.objects(Lighthouse.self).setValue(2, forKey: "number") }
        }
        #expect(lighthouse.number == 1)
    }

    @Test func unknownProperties() throws {
        let (realm, lighthouse) = try fresh()
        let all = realm.objects(Lighthouse.self)
        let byName = "Invalid property name 'hight' for class 'Lighthouse'."
        says(byName) { _ = lighthouse["hight"] }
        says(byName) { _ = Lighthouse().value(forKey: "hight") }
        says(byName) { _ = realm.dynamicObjects("Lighthouse")[0]["hight"] }
        try realm.write {
            says(byName) { lighthouse["hight"] = 1 }
            says(byName) { realm.dynamicObjects("Lighthouse")[0]["hight"] = 1 }
        }
        let inQueries = "Property 'hight' not found in object of type 'Lighthouse'"
        says(inQueries) { _ = all.filter("hight == 1") }
        says(inQueries) { _ = all.filter(NSPredicate(format: "hight == 1")) }
        says("Property 'nme' not found in object of type 'LightKeeper'") { _ = all.filter("ANY keepers.nme == ''") }
        says(inQueries) { let _: Int? = all.max(ofProperty: "hight") }
        let observed = "Invalid property name: property 'hight' not found in object of type 'Lighthouse'"
        says(observed) { _ = lighthouse.observe(keyPaths: ["hight"]) { (_: ObjectChange<Lighthouse>) in } }
        says(observed) { _ = all.observe(keyPaths: ["hight"]) { _ in } }
    }

    @Test func frozenThings() throws {
        let (realm, lighthouse) = try fresh()
        let frozen = lighthouse.freeze()
        let phrase = "Attempting to modify a frozen object - call thaw on the Object instance first"
        try realm.write {
            says(phrase) { frozen.name = "n" }
            says(phrase) { frozen["name"] = "n" }
            says(phrase) { frozen.heights.append(1) }
            says(phrase) { frozen.colours.insert("c") }
            says(phrase) { frozen.ranges["r"] = 1 }
            says(phrase) { frozen.keepers[0].name = "n" }
        }
        says("Can't perform transactions on a frozen Realm") { frozen.realm?.beginWrite() }
    }

    @Test func queriesThatCannotBeAsked() throws {
        let (realm, _) = try fresh()
        says("Comparing two collection columns is not permitted.") {
            _ = realm.objects(Lighthouse.self).where { $0.heights == $0.others }
        }
        let points = [(0, 0), (0, 1), (1, 1), (1, 0), (0, 0)].compactMap { GeoPoint(latitude: $0.0, longitude: $0.1) }
        let hole = [(2, 2), (2, 3), (3, 3), (3, 2), (2, 2)].compactMap { GeoPoint(latitude: $0.0, longitude: $0.1) }
        let polygon = try #require(GeoPolygon(outerRing: points, holes: hole))
        says("Invalid region in GEOWITHIN query for parameter 'geoPolygon(") {
            _ = realm.objects(Lighthouse.self).where { $0.place.geoWithin(polygon) }
        }
    }

    // MARK: Opening

    @Test func filesThatCannotBeOpened() throws {
        func failure(_ url: URL, _ change: (inout Realm.Configuration) -> Void = { _ in }) throws -> Realm.Error {
            var outcome: Realm.Error?
            do {
                _ = try makeRealm([LightKeeper.self, Lighthouse.self, LighthousePlace.self], url: url, change)
            } catch {
                outcome = error as? Realm.Error
            }
            return try #require(outcome)
        }
        let missing = temporaryURL()
        var error = try failure(missing) { $0.readOnly = true }
        #expect(
            error.code == .fileNotFound
                && error.localizedDescription.hasPrefix(
                    "Failed to open Realm file at path '\(missing.path)': No such file or directory"),
            "\(error)")
        #expect(error.fileURL?.path == missing.path)

        let noRealm = temporaryURL()
        try Data("a".utf8).write(to: noRealm)
        error = try failure(noRealm)
        #expect(
            error.code == .invalidDatabase
                && error.localizedDescription.hasPrefix("Failed to open Realm file at path '\(noRealm.path)': "))

        let folder = FileManager.default.temporaryDirectory
        error = try failure(folder)
        #expect(error.code == .fileOperationFailed)
        #expect(error.localizedDescription.hasPrefix("Failed to open Realm file at path '\(folder.path)"), "\(error)")

        let key = Data(repeating: 7, count: 64)
        let encrypted = temporaryURL()
        _ = try inAThread {
            try makeRealm([LightKeeper.self, Lighthouse.self, LighthousePlace.self], url: encrypted) {
                $0.encryptionKey = key
            }
        }
        error = try failure(encrypted)
        #expect(error.localizedDescription.hasPrefix("Failed to open Realm file at path '\(encrypted.path)': "))
        #expect(error.code == .invalidDatabase)
    }

    // MARK: Descriptions

    @Test func descriptionsOfCollections() throws {
        let (realm, lighthouse) = try fresh()
        func shown(_ value: some CustomStringConvertible) -> String {
            value.description.replacing(#/<0x[0-9a-f]+>/#, with: "<0x>")
        }
        #expect(shown(lighthouse.heights) == "List<int> <0x> (\n\t[0] 3,\n\t[1] 4\n)")
        #expect(shown(lighthouse.colours) == "MutableSet<string> <0x> (\n\t[0] red\n)")
        #expect(shown(lighthouse.ranges) == "Map<string, double> <0x> (\n[n]: 1.5\n)")
        #expect(shown(lighthouse.keepers) == "List<LightKeeper> <0x> (\n\t[0] LightKeeper {\n\t\tname = a;\n\t}\n)")
        let entry = "[a]: LightKeeper {\n\t\tname = b;\n\t}"
        #expect(shown(lighthouse.byName) == "Map<string, LightKeeper> <0x> (\n\(entry)\n)")
        #expect(shown(realm.objects(LightKeeper.self)).hasPrefix("Results<LightKeeper> <0x> (\n\t[0] LightKeeper {\n"))
        #expect(shown(lighthouse.keepers[0].lighthouses).hasPrefix("LinkingObjects<Lighthouse> <0x> (\n\t[0] Lighth"))
        #expect(shown(Lighthouse().heights) == "List<int> <0x> (\n\n)")
        #expect(shown(Lighthouse().ranges) == "Map<string, double> <0x> (\n\n)")
        let many = List<Int>()
        many.append(objectsIn: 0 ..< 150)
        #expect(many.description.hasSuffix("\t[99] 99\n\t... 50 objects skipped.\n)"))
    }
}
