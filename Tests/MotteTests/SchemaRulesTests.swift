// What a realm says about its classes, and which class stands for a stored name: those that it was opened with.
import Foundation
import Motte
import Testing

/// Two versions of one class, and a class that only the first program has.
private enum Early {
    class Machine: Object {
        @Persisted var power: Int
        @Persisted var name: String
        @Persisted var part: Part?
        @Persisted var any: AnyRealmValue
        override class func _realmObjectName() -> String? { "Machine" }
        override class func shouldIncludeInDefaultSchema() -> Bool { false }
    }
    class Part: Object {
        @Persisted var size: Int
        override class func _realmObjectName() -> String? { "Part" }
        override class func shouldIncludeInDefaultSchema() -> Bool { false }
    }
    class Forgotten: Object {
        @Persisted var text: String
        override class func _realmObjectName() -> String? { "Forgotten" }
        override class func shouldIncludeInDefaultSchema() -> Bool { false }
    }
}

private enum Late {
    class Machine: Object {
        @Persisted var label: String
        @Persisted var name: String
        @Persisted var power: Int
        @Persisted var part: Part?
        @Persisted var any: AnyRealmValue
        override class func _realmObjectName() -> String? { "Machine" }
        override class func propertiesMapping() -> [String: String] { ["label": "stored_label"] }
        override class func shouldIncludeInDefaultSchema() -> Bool { false }
    }
    class Part: EmbeddedObject {
        @Persisted var size: Int
        override class func _realmObjectName() -> String? { "Part" }
        override class func shouldIncludeInDefaultSchema() -> Bool { false }
    }
}

@Suite(.serialized) struct SchemaRulesTests {
    private static let early: [ObjectBase.Type] = [Early.Machine.self, Early.Part.self, Early.Forgotten.self]
    private static let late: [ObjectBase.Type] = [Late.Machine.self, Late.Part.self]

    private func filled(_ url: URL) throws {
        try inAThread {
            let realm = try makeRealm(Self.early, version: 1, url: url)
            try realm.write {
                let machine = realm.create(Early.Machine.self, value: [4, "m", ["size": 2]] as [Any])
                machine.any = .object(realm.create(Early.Forgotten.self, value: ["f"]))
            }
        }
    }

    @Test func rule265TheDeclaredClassesInTheOrderOfDeclaration() throws {
        let url = temporaryURL()
        try filled(url)
        let realm = try makeRealm(Self.late, version: 2, url: url) {
            $0.migrationBlock = { migration, _ in
                #expect(migration.oldSchema.objectSchema.map(\.className).sorted() == ["Forgotten", "Machine", "Part"])
                #expect(migration.oldSchema["Part"]?.isEmbedded == false)
                #expect(migration.newSchema.objectSchema.map(\.className) == ["Machine", "Part"])
                #expect(migration.newSchema["Part"]?.isEmbedded == true, "as it will be")
                #expect(migration.newSchema["Machine"]?.properties.first?.name == "label")
            }
        }
        #expect(realm.schema.objectSchema.map(\.className) == ["Machine", "Part"], "the file has one more")
        let names = ["label", "name", "power", "part", "any"]
        #expect(realm.schema["Machine"]?.properties.map(\.name) == names, "the file has them in another order")
        #expect(realm.schema["Machine"]?["label"]?.columnName == "stored_label")
        let machine = try #require(realm.objects(Late.Machine.self).first)
        #expect(machine.objectSchema.properties.map(\.name) == names && machine.objectSchema == realm.schema["Machine"])
        #expect(realm.freeze().schema == realm.schema)
        #expect(realm.schema["Machine"].map { $0.objectClass == Late.Machine.self } == true)
        #expect(machine.power == 4 && machine.part?.size == 2)
        guard case .object(let object) = machine.any else { return #expect(Bool(false), "no object") }
        #expect(object is DynamicObject && object["text"] as? String == "f", "of a class that was not opened (202)")
    }

    @Test func classesOfOneStoredNameAreTheRealmsOwn() throws {
        let url = temporaryURL()
        let early = try makeRealm(Self.early)
        let late = try makeRealm(Self.late, url: url)
        try early.write {
            let made = early.dynamicCreate("Machine", value: ["power": 1, "part": ["size": 1]])
            #expect(made["power"] as? Int == 1 && early.objects(Early.Part.self).count == 1)
        }
        try late.write {
            let made = late.dynamicCreate("Machine", value: ["label": "l", "part": ["size": 2]])
            #expect(made["label"] as? String == "l" && late.objects(Late.Machine.self).first?.part?.size == 2)
        }
        try early.write {
            let again = early.dynamicCreate("Machine", value: ["power": 3])
            #expect(again["power"] as? Int == 3 && again.objectSchema.properties.map(\.name).contains("power"))
        }
    }
}
