// The Swift API: models, adding, lists, links, queries, transactions, notifications.
import Foundation
import Motte
import Testing

class Dog: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var name: String
    @Persisted(indexed: true) var age: Int
    @Persisted var weight: Double?
    @Persisted var born: Date
    @Persisted var owner: Owner?
}

class Owner: Object {
    @Persisted var name = "nobody"
    @Persisted var dogs: List<Dog>
    @Persisted var nicknames: List<String>
    @Persisted var isHappy = true
    @Persisted var photo: Data?
    @Persisted(originProperty: "owner") var owned: LinkingObjects<Dog>
}

@Suite(.serialized) struct RealmTests {
    /// A realm of its own file; the test's thread owns it.
    func makeRealm(_ types: [ObjectBase.Type] = [Dog.self, Owner.self]) throws -> Realm {
        let url = FileManager.default.temporaryDirectory.appendingPathComponent("motte-\(UUID().uuidString).motte")
        return try Realm(configuration: Realm.Configuration(fileURL: url, objectTypes: types))
    }

    func makeDog(_ id: Int, _ name: String, age: Int) -> Dog {
        let dog = Dog()
        dog.id = id
        dog.name = name
        dog.age = age
        return dog
    }

    @Test func unmanagedObjectsHoldTheirValues() {
        let dog = Dog(value: ["id": 7, "name": "Rex", "weight": 12.5])
        #expect(dog.id == 7 && dog.name == "Rex" && dog.weight == 12.5 && dog.age == 0 && dog.owner == nil)
        #expect(Owner().name == "nobody" && Owner().isHappy)
        #expect(dog.realm == nil && !dog.isInvalidated)
        dog["name"] = "Max"
        #expect(dog["name"] as? String == "Max")
    }

    @Test func addingMakesTheSameInstanceManaged() throws {
        let realm = try makeRealm()
        let owner = Owner()
        owner.name = "Ada"
        let dogs = owner.dogs
        owner.dogs.append(makeDog(1, "Rex", age: 3))
        owner.nicknames.append(objectsIn: ["a", "b"])
        owner.photo = Data([1, 2, 3])
        try realm.write { realm.add(owner) }

        #expect(owner.realm == realm && owner.dogs === dogs)
        #expect(realm.objects(Dog.self).count == 1 && owner.dogs[0].name == "Rex")
        #expect(Array(owner.nicknames) == ["a", "b"] && owner.photo == Data([1, 2, 3]))
        let born = Date(timeIntervalSince1970: -0.5)
        try realm.write {
            let rex = owner.dogs[0]
            rex.owner = owner
            rex.weight = nil
            rex.born = born
            owner.nicknames.move(from: 0, to: 1)
            owner.nicknames.append("c")
            owner.dogs.append(makeDog(2, "Max", age: 9))
        }
        #expect(owner.dogs[0].owner?.name == "Ada" && owner.owned.count == 1 && owner.owned[0].id == 1)
        #expect(owner.dogs[0].born == born && owner.dogs[0].weight == nil)
        #expect(Array(owner.nicknames) == ["b", "a", "c"])
        #expect(realm.object(ofType: Dog.self, forPrimaryKey: 2)?.name == "Max")
        #expect(realm.object(ofType: Dog.self, forPrimaryKey: 3) == nil)
    }

    @Test func queriesByTextAndByType() throws {
        let realm = try makeRealm()
        try realm.write {
            for id in 1 ... 20 { realm.add(makeDog(id, id % 2 == 0 ? "Rex \(id)" : "max \(id)", age: id)) }
            let owner = realm.create(Owner.self, value: ["name": "Ada"])
            owner.dogs.append(objectsIn: realm.objects(Dog.self).filter("age > 15"))
            for dog in owner.dogs { dog.owner = owner }
        }
        let dogs = realm.objects(Dog.self)
        #expect(dogs.filter("age > 5 AND name BEGINSWITH[c] %@", "REX").count == 8)
        #expect(dogs.where { $0.age > 5 && $0.name.starts(with: "rex", options: .caseInsensitive) }.count == 8)
        #expect(dogs.where { !($0.age <= 18) || $0.id.in([1, 2]) }.map(\.id) == [1, 2, 19, 20])
        #expect(dogs.where { $0.owner.name == "Ada" }.count == 5)
        #expect(dogs.where { $0.owner == nil && $0.age.contains(3 ..< 6) }.map(\.age) == [3, 4, 5])
        #expect(realm.objects(Owner.self).where { $0.dogs.age > 19 }.count == 1)
        #expect(realm.objects(Owner.self).where { $0.dogs.count == 5 && $0.isHappy }.count == 1)
        #expect(dogs.sorted(byKeyPath: "age", ascending: false).first?.id == 20)
        #expect(dogs.sum(ofProperty: "age") as Int == 210 && dogs.average(ofProperty: "age") == 10.5)
        // As an integer it is rounded toward zero.
        #expect(dogs.average(ofProperty: "age") as Int? == 10 && dogs.average(ofProperty: "age") as Int8? == 10)
        #expect(
            dogs.max(ofProperty: "age") as Int? == 20 && dogs.filter("age > 99").min(ofProperty: "age") as Int? == nil)
        #expect(dogs.index(of: dogs[4]) == 4)
    }

    @Test func failedWritesRollBack() throws {
        struct Failure: Error {}
        let realm = try makeRealm()
        #expect(throws: Failure.self) {
            try realm.write {
                realm.add(makeDog(1, "Rex", age: 3))
                throw Failure()
            }
        }
        #expect(realm.objects(Dog.self).isEmpty && !realm.isInWriteTransaction)
        #expect(try realm.write { 42 } == 42)
        try realm.write { realm.add(makeDog(1, "Rex", age: 3)) }
        let rex = try #require(realm.objects(Dog.self).first)
        try realm.write { realm.delete(rex) }
        #expect(rex.isInvalidated && realm.objects(Dog.self).count == 0)
    }

    @Test func upsertAndFreezing() throws {
        let realm = try makeRealm()
        try realm.write { realm.add(makeDog(1, "Rex", age: 3)) }
        let frozen = realm.objects(Dog.self).freeze()
        try realm.write { realm.add(makeDog(1, "Max", age: 4), update: .modified) }
        #expect(realm.objects(Dog.self).map(\.name) == ["Max"])
        #expect(frozen.map(\.name) == ["Rex"] && frozen.isFrozen)
    }

    @Test func observersReceiveWhatChanged() throws {
        let realm = try makeRealm()
        try realm.write { for id in 1 ... 3 { realm.add(makeDog(id, "dog", age: id * 10)) } }
        let old = realm.objects(Dog.self).filter("age >= 20")
        var received: [String] = []
        let token = old.observe { change in
            switch change {
            case .initial(let dogs): received.append("initial \(dogs.count)")
            case .update(_, let deletions, let insertions, let modifications):
                received.append("\(deletions) \(insertions) \(modifications)")
            case .error(let error): received.append("\(error)")
            }
        }
        let rex = try #require(old.first)
        var properties: [String] = []
        let objectToken = rex.observe { change in
            switch change {
            case .change(_, let changes): properties += changes.map(\.name)
            case .deleted: properties.append("deleted")
            case .error: break
            }
        }
        realm.refresh()
        try realm.write {
            realm.add(makeDog(4, "new", age: 40))
            rex.name = "renamed"
        }
        try realm.write { rex.age = 5 }
        try realm.write { realm.delete(rex) }
        #expect(received == ["initial 2", "[] [2] [0]", "[0] [] []"])
        #expect(properties == ["name", "age", "deleted"])
        token.invalidate()
        objectToken.invalidate()
        try realm.write { realm.add(makeDog(5, "silent", age: 50)) }
        #expect(received.count == 3)
    }

    @Test func modelsAreFoundWithoutNamingThem() throws {
        let url = FileManager.default.temporaryDirectory.appendingPathComponent("motte-\(UUID().uuidString).motte")
        let realm = try Realm(fileURL: url)
        try realm.write { realm.add(makeDog(1, "Rex", age: 3)) }
        #expect(realm.objects(Dog.self).count == 1 && realm.objects(Owner.self).count == 0)
        #expect(try Realm(fileURL: url) == realm)
    }

    @Test func openingProblemsAreErrors() throws {
        let url = FileManager.default.temporaryDirectory.appendingPathComponent("motte-\(UUID().uuidString).motte")
        try Data("no database at all, but long enough to look at".utf8).write(to: url)
        #expect(throws: Realm.Error.self) {
            try Realm(configuration: .init(fileURL: url, objectTypes: [Dog.self, Owner.self]))
        }
    }
}
