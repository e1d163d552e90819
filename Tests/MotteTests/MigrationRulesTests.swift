// The numbered behaviours of the semantics list that concern schemas that change. Numbers are in the names.
import Dispatch
import Foundation
import Motte
import MotteValues
import Testing

enum Grade: Int, PersistableEnum { case low = 1, high }

/// What it is stored as is inferred.
struct Litres: CustomPersistable {
    var value: Double
    init(persistedValue: Double) { value = persistedValue }
    var persistableValue: Double { value }
}

/// Cannot be made from an empty string.
struct Code: FailableCustomPersistable {
    let text: String
    init?(persistedValue: String) {
        guard !persistedValue.isEmpty else { return nil }
        text = persistedValue
    }
    var persistableValue: String { text }
}

class Coded: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var code: Code
}

class Defaulted: Object {
    @Persisted var code = Code(persistedValue: "x")!  // not empty
}

/// Found by nobody, and stored under the name that it has in its version.
class OneVersion: Object {
    override class func _realmObjectName() -> String? { String(describing: self) }
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

/// Versions of the classes of one file.
private enum Before {
    class Depot: OneVersion {
        @Persisted(primaryKey: true) var id: Int
        @Persisted var name = ""
        @Persisted var grade = Grade.high
        @Persisted var tank: Tank?
        @Persisted var tanks: List<Tank>
        @Persisted var labels: List<String>
    }
    class Tank: OneVersion {
        @Persisted var litres: Double
    }
    class Extra: OneVersion {
        @Persisted var number = 1
    }
    static let types: [ObjectBase.Type] = [Depot.self, Tank.self, Extra.self]
}

private enum After {
    class Depot: OneVersion {
        @Persisted(primaryKey: true) var id: Int
        @Persisted var name = ""
        @Persisted var grade = Grade.low
        @Persisted var tank: Tank?
        @Persisted var tanks: List<Tank>
        @Persisted var labels: List<String>
        @Persisted var note: String?
    }
    class Tank: OneVersion {
        @Persisted var litres: Litres
    }
    static let types: [ObjectBase.Type] = [Depot.self, Tank.self]
}

private enum Embedding {
    class Depot: OneVersion {
        @Persisted(primaryKey: true) var id: Int
        @Persisted var name = ""
        @Persisted var grade = Grade.low
        @Persisted var tank: Tank?
        @Persisted var tanks: List<Tank>
        @Persisted var labels: List<String>
    }
    class Tank: EmbeddedObject {
        @Persisted var litres: Double
        override class func _realmObjectName() -> String? { "Tank" }
        override class func shouldIncludeInDefaultSchema() -> Bool { false }
    }
    static let types: [ObjectBase.Type] = [Depot.self, Tank.self]
}

/// The stored name of `name` is what it was.
private enum Renaming {
    class Extra: OneVersion {
        @Persisted var amount = 1
        override class func propertiesMapping() -> [String: String] { ["amount": "number"] }
    }
    class Later: OneVersion {
        @Persisted var total = 1
        override class func _realmObjectName() -> String? { "Extra" }
        override class func propertiesMapping() -> [String: String] { ["total": "sum"] }
    }
}

/// With a property more, with fewer, and with a class that is new.
private enum Wider {
    class Extra: OneVersion {
        @Persisted var number = 1
        @Persisted var note: String?
    }
    class Fresh: OneVersion {
        @Persisted var number = 1
    }
}

private enum Narrower {
    class Depot: OneVersion {
        @Persisted(primaryKey: true) var id: Int
        @Persisted(indexed: true) var name = ""
    }
}

@Suite(.serialized) struct MigrationRulesTests {
    /// A file of the first version, which nobody has open.
    private func file() throws -> URL {
        let url = temporaryURL()
        try inAThread {
            let realm = try makeRealm(Before.types, url: url)
            try realm.write {
                let shared = Before.Tank(value: ["litres": 5.0])
                realm.create(
                    Before.Depot.self,
                    value: ["id": 1, "name": "n", "tank": shared, "tanks": [shared], "labels": ["a", "b"]])
                realm.create(Before.Tank.self, value: ["litres": 9.0])
                realm.create(Before.Extra.self, value: ["number": 3])
            }
        }
        return url
    }

    @Test func rule67FailableTypesWithoutAnInitialValue() throws {
        let realm = try makeRealm([Coded.self, Defaulted.self])
        try realm.write {
            #expect(misuses { realm.add(Coded()) }.first?.contains("Failed to convert") == true)
            #expect(misuses { realm.add([Coded(value: ["id": 5]), Coded(value: ["id": 6, "code": "c"])]) }.count == 1)
            #expect(misuses { realm.create(Coded.self, value: ["id": 2]) }.count == 1)
            realm.create(Coded.self, value: ["id": 3, "code": "y"])
            realm.add(Defaulted())
        }
        #expect(realm.objects(Coded.self).map(\.id) == [3] && realm.objects(Defaulted.self).first?.code.text == "x")
    }

    @Test func rule245LongNames() throws {
        class Long: OneVersion {
            @Persisted var a234567890123456789012345678901234567890123456789012345678901234 = 1
        }
        class Name: OneVersion {
            @Persisted var number = 1
            override class func _realmObjectName() -> String? { String(repeating: "n", count: 58) }
        }
        #expect(throws: Realm.Error.self) { try makeRealm([Long.self]) }
        #expect(throws: Realm.Error.self) { try makeRealm([Name.self]) }
    }

    @Test func rule270ReadOnlyFilesWithOtherSchemas() throws {
        let url = try file()
        try inAThread {
            let realm = try makeRealm([After.Tank.self, Ferry.self], url: url) { $0.readOnly = true }
            #expect(realm.objects(Ferry.self).isEmpty, "a table that is not there")
            #expect(realm.objects(After.Tank.self).count == 2)
        }
        #expect(throws: Realm.Error.self, "a column that is not there") {
            try inAThread { try makeRealm(After.types, url: url) { $0.readOnly = true } }
        }
    }

    @Test func rule279FirstOpeningsAreOne() throws {
        let url = try file()
        let runs = Locked(0), seen = Locked<[Int]>([])
        DispatchQueue.concurrentPerform(iterations: 6) { _ in
            let realm = try? makeRealm(After.types, version: 1, url: url) {
                $0.migrationBlock = { _, _ in runs.withLock { $0 += 1 } }
            }
            seen.withLock { $0.append(realm?.objects(After.Tank.self).count ?? -1) }
        }
        #expect(runs.withLock { $0 } == 1 && seen.withLock { $0 } == Array(repeating: 2, count: 6))
    }

    @Test func rules289And291And294WhatMigrationsSeeAndMake() throws {
        let url = try file()
        try inAThread {
            let realm = try makeRealm(After.types, version: 1, url: url) {
                $0.migrationBlock = { migration, _ in
                    migration.enumerateObjects(ofType: "Depot") { old, new in
                        guard let old, let new else {
                            Issue.record("a side is missing")
                            return
                        }
                        #expect(old["grade"] as? Int == 2, "289: raw")
                        #expect((old["tank"] as? DynamicObject)?["litres"] as? Double == 5, "289")
                        #expect((old["tanks"] as? List<DynamicObject>)?.first?["litres"] as? Double == 5, "289")
                        #expect((old["labels"] as? List<String>).map { Array($0) } == ["a", "b"], "289")
                        new["note"] = "seen"
                    }
                    #expect(migration.deleteData(forType: "Extra"), "291: not declared any more, and so dropped")
                    #expect(!migration.deleteData(forType: "Nothing"), "291")
                    #expect(migration.oldSchema["Extra"] != nil && migration.newSchema["Depot"]?["note"] != nil)
                    let declared = migration.newSchema.objectSchema.map(\.className).sorted()
                    #expect(declared == ["Depot", "Tank"], "not what the file alone has")
                    migration.create(
                        "Depot",
                        value: [
                            "id": 2, "grade": Grade.high, "tank": ["litres": Litres(persistedValue: 4)],
                            "tanks": [["litres": 1.0]],
                        ] as [String: Any])
                }
            }
            let made = try #require(realm.object(ofType: After.Depot.self, forPrimaryKey: 2))
            #expect(made.grade == .high && made.tank?.litres.value == 4 && made.tanks.count == 1, "294")
            #expect(realm.object(ofType: After.Depot.self, forPrimaryKey: 1)?.note == "seen")
        }
        #expect(throws: Realm.Error.self, "294: an unknown class ends the migration") {
            try inAThread {
                try makeRealm(After.types, version: 2, url: url) {
                    $0.migrationBlock = { migration, _ in migration.create("Nothing", value: [:]) }
                }
            }
        }
        try inAThread {
            let realm = try makeRealm(After.types, version: 3, url: url) {
                $0.migrationBlock = { migration, _ in #expect(migration.deleteData(forType: "Tank")) }
            }
            #expect(realm.objects(After.Tank.self).isEmpty && realm.schema["Tank"] != nil, "291: still declared")
        }
    }

    @Test func rules270And282And283WhatTakesANewVersion() throws {
        let url = try file()
        func refusal(_ types: [ObjectBase.Type]) -> String {
            do {
                try inAThread { _ = try makeRealm(types, url: url) }
                return "opened"
            } catch Realm.Error.schemaMismatch {
                return "schemaMismatch"
            } catch { return "\(error)" }
        }
        #expect(refusal([Wider.Extra.self]) == "schemaMismatch", "a property comes")
        #expect(refusal([Narrower.Depot.self]) == "schemaMismatch", "properties go")
        do {
            try inAThread { _ = try makeRealm([Narrower.Depot.self, Wider.Extra.self], url: url) }
        } catch {
            let text = "\((error as? Realm.Error)?.localizedDescription ?? "")"
            for part in ["Extra.note", "Depot.grade", "Depot.tank", "Depot.labels"] {
                #expect(text.split(separator: "\n").contains { $0.contains(part) }, "283: \(part) in \(text)")
            }
        }
        #expect(refusal([Before.Extra.self, Wider.Fresh.self]) == "opened", "a class comes, others are not named")
        try inAThread {
            let realm = try makeRealm([Wider.Extra.self], version: 1, url: url)
            let extra = try #require(realm.objects(Wider.Extra.self).first)
            #expect(extra.number == 3 && extra.note == nil)
        }
        try inAThread {
            let realm = try makeRealm([Before.Extra.self], version: 1, url: url) { $0.readOnly = true }
            #expect(realm.objects(Before.Extra.self).count == 1, "270: what the file has beyond that is passed over")
        }
        try inAThread {
            let realm = try makeRealm([Before.Extra.self], version: 1, url: url) {
                $0.deleteRealmIfMigrationNeeded = true
            }
            #expect(realm.isEmpty, "293: that would be a migration")
        }
    }

    @Test func rule292ObjectsBecomeEmbedded() throws {
        let url = try file()
        try inAThread {
            let realm = try makeRealm(Embedding.types, version: 1, url: url) {
                $0.migrationBlock = { migration, _ in #expect(migration.oldSchema["Tank"]?.isEmbedded == false) }
            }
            let depot = try #require(realm.objects(Embedding.Depot.self).first)
            #expect(depot.tank?.litres == 5 && depot.tanks.map(\.litres) == [5], "each parent has its own")
            try realm.write { depot.tank?.litres = 6 }
            #expect(depot.tanks.first?.litres == 5)
            #expect(realm.dynamicObjects("Tank").count == 2, "and what nobody had is gone")
        }
    }

    @Test func rule295StoredNamesCount() throws {
        let url = try file()
        let numbers = try inAThread {
            // The public name alone has changed.
            Array(try makeRealm([Renaming.Extra.self], url: url).objects(Renaming.Extra.self).map(\.amount))
        }
        #expect(numbers == [3])
        let totals = try inAThread {
            let realm = try makeRealm([Renaming.Later.self], version: 1, url: url) {
                $0.migrationBlock = { migration, _ in
                    migration.renameProperty(onType: "Extra", from: "number", to: "sum")
                }
            }
            return Array(realm.objects(Renaming.Later.self).map(\.total))
        }
        #expect(totals == [3])
    }
}
