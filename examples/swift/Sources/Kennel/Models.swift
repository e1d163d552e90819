// A kennel: dogs with toys, where they live, and who owns them. As they would be written for RealmSwift.
import Foundation
import RealmSwift

enum Breed: String, PersistableEnum { case mixed, poodle, terrier }

/// Kilograms, stored as a number.
struct Weight: CustomPersistable, Equatable {
    typealias PersistedType = Double
    var kilograms: Double
    init(kilograms: Double) { self.kilograms = kilograms }
    init(persistedValue: Double) { kilograms = persistedValue }
    var persistableValue: Double { kilograms }
}

class Address: EmbeddedObject {
    @Persisted var street: String
    @Persisted var town: String
}

class Toy: Object {
    @Persisted var brand: String
    @Persisted var isChewed = false
}

class Dog: Object, ObjectKeyIdentifiable {
    @Persisted(primaryKey: true) var _id: ObjectId
    @Persisted(indexed: true) var name: String
    @Persisted var age: Int
    @Persisted var breed: Breed
    @Persisted var weight: Weight
    @Persisted var toys: List<Toy>
    @Persisted var tricks: MutableSet<String>
    @Persisted var walks: Map<String, Int>
    @Persisted var notes: AnyRealmValue
    @Persisted(originProperty: "dogs") var owners: LinkingObjects<Owner>

    var initial: String { String(name.prefix(1)) }
}

class Owner: Object {
    @Persisted(primaryKey: true) var name: String
    @Persisted var home: Address?
    @Persisted var dogs: List<Dog>
}

/// What a list of owners shows.
final class OwnerView: Projection<Owner> {
    @Projected(\Owner.name) var name
    @Projected(\Owner.home?.town) var town
    @Projected(\Owner.dogs.projectTo.name) var dogNames: ProjectedCollection<String>
}
