// Objects of classes with a primary key are equal by their row, others by instance: also of classes without a Swift
// type, of classes that came after the realm was opened, of frozen realms and where the realm cannot be asked any more.
import Foundation
import Motte
import Testing

class IdentityKeyed: Object {
    @Persisted(primaryKey: true) var id: Int
}

class IdentityPlain: Object {
    @Persisted var id: Int
}

/// Its key has another name in the file, as has the class.
class IdentityRenamed: Object {
    @Persisted(primaryKey: true) var id: String
    override class func className() -> String { "Renamed" }
    override class func propertiesMapping() -> [String: String] { ["id": "stored"] }
}

class IdentityEmbedded: EmbeddedObject {
    @Persisted var id: Int
}

class IdentityOwner: Object {
    @Persisted var part: IdentityEmbedded?
}

/// Declared by nobody but those who add it.
class IdentityLater: Object {
    @Persisted(primaryKey: true) var id: Int
}

class IdentityLaterPlain: Object {
    @Persisted var id: Int
}

/// The same class with a key.
class IdentityLaterKeyed: Object {
    @Persisted(primaryKey: true) var id: Int
    override class func className() -> String { "IdentityLaterPlain" }
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

@Suite struct IdentityRulesTests {
    private static let types: [ObjectBase.Type] = [
        IdentityKeyed.self, IdentityPlain.self, IdentityRenamed.self, IdentityEmbedded.self, IdentityOwner.self,
    ]

    private func filled() throws -> Realm {
        let realm = try makeRealm(Self.types)
        try realm.write {
            for id in 1 ... 2 {
                realm.create(IdentityKeyed.self, value: [id])
                realm.create(IdentityPlain.self, value: [id])
                realm.create(IdentityRenamed.self, value: ["k\(id)"])
                realm.create(IdentityOwner.self, value: [[id]])
            }
        }
        return realm
    }

    /// Whether two instances of one row are equal, and have one hash value; those of two rows are never equal.
    private func isEqualByRow<Found: ObjectBase>(_ all: (Int) -> Found?, line: Int = #line) throws -> Bool {
        let (one, again, other) = (try #require(all(0)), try #require(all(0)), try #require(all(1)))
        #expect(one !== again && one == one && one != other && one.isEqual(one), "line \(line)")
        #expect((one == again) == (Set([one, again]).count == 1), "line \(line)")
        #expect(one.isEqual(again) == (one == again), "line \(line)")
        return one == again
    }

    @Test func classesWithAKeyAreEqualByRow() throws {
        let realm = try filled()
        #expect(try isEqualByRow { realm.objects(IdentityKeyed.self)[$0] })
        #expect(try isEqualByRow { realm.objects(IdentityRenamed.self)[$0] })
        #expect(try !isEqualByRow { realm.objects(IdentityPlain.self)[$0] })
        #expect(try !isEqualByRow { realm.objects(IdentityOwner.self)[$0] })
        #expect(try !isEqualByRow { realm.objects(IdentityOwner.self)[$0].part })
        // Objects of a class by its name have no Swift type that could say so.
        #expect(try isEqualByRow { realm.dynamicObjects("IdentityKeyed")[$0] })
        #expect(try isEqualByRow { realm.dynamicObjects("Renamed")[$0] })
        #expect(try !isEqualByRow { realm.dynamicObjects("IdentityPlain")[$0] })
        // Rows of two classes have the same keys.
        #expect(realm.objects(IdentityKeyed.self)[0] as ObjectBase != realm.objects(IdentityRenamed.self)[0])
    }

    @Test func frozenObjectsAreEqualByRow() throws {
        let frozen = try filled().freeze()
        #expect(try isEqualByRow { frozen.objects(IdentityKeyed.self)[$0] })
        #expect(try isEqualByRow { frozen.objects(IdentityPlain.self)[$0] })
        #expect(try isEqualByRow { frozen.dynamicObjects("IdentityKeyed")[$0] })
        #expect(try isEqualByRow { frozen.dynamicObjects("IdentityPlain")[$0] })
    }

    @Test func classesThatCameLaterAreNoDifferent() throws {
        let realm = try filled()
        #expect(try isEqualByRow { realm.objects(IdentityKeyed.self)[$0] })
        let url = try #require(realm.configuration.fileURL)
        try inAThread {
            let other = try makeRealm([IdentityLater.self, IdentityLaterPlain.self], url: url)
            try other.write {
                for id in 1 ... 2 {
                    other.create(IdentityLater.self, value: [id])
                    other.create(IdentityLaterPlain.self, value: [id])
                }
            }
        }
        realm.refresh()
        #expect(try isEqualByRow { realm.dynamicObjects("IdentityLater")[$0] })
        #expect(try !isEqualByRow { realm.dynamicObjects("IdentityLaterPlain")[$0] })
        #expect(try isEqualByRow { realm.objects(IdentityKeyed.self)[$0] })
        let frozen = realm.freeze()
        #expect(try isEqualByRow { frozen.dynamicObjects("IdentityLater")[$0] })
        realm.invalidate()
        #expect(try isEqualByRow { realm.dynamicObjects("IdentityLater")[$0] })
        #expect(try !isEqualByRow { realm.objects(IdentityPlain.self)[$0] })
        // A class that this realm does not declare may get a key.
        try inAThread { _ = try makeRealm([IdentityLaterKeyed.self], version: 1, url: url) }
        realm.refresh()
        #expect(try isEqualByRow { realm.dynamicObjects("IdentityLaterPlain")[$0] })
    }

    /// Where it cannot be found out, objects are equal to themselves alone, and that is not kept.
    @Test func anotherThreadFindsNothingEqual() throws {
        let realm = try filled()
        let url = try #require(realm.configuration.fileURL)
        let messages = try inAThread { () -> [String] in
            nonisolated(unsafe) var objects: [ObjectBase] = []
            return try misuses {
                let own = try makeRealm(Self.types, url: url)
                objects = [own.dynamicObjects("IdentityKeyed")[0], own.dynamicObjects("IdentityKeyed")[0]]
                for _ in 0 ..< 2 {
                    try inAThread {
                        #expect(objects[0] == objects[0] && objects[0] != objects[1])
                        #expect(Set(objects).count == 2)
                    }
                    #expect(objects[0] == objects[1] && Set(objects).count == 1)
                }
            }
        }
        #expect(messages.isEmpty, "\(messages)")
        #expect(try isEqualByRow { realm.objects(IdentityKeyed.self)[$0] })
    }
}
