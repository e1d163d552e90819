/// Queries asked of objects in no store answer as the engine does for the same objects in one.
import Foundation
import Motte
import Testing

class TestedPet: Object {
    @Persisted var name: String
    @Persisted var age: Int
    @Persisted var weight: Double?
    @Persisted var nick: String?
    @Persisted var isTame = false
    @Persisted var rival: TestedPet?
    @Persisted var friends: List<TestedPet>
    @Persisted var tags: List<String>
    @Persisted var marks: Map<String, Int>
}

class TestedPlace: EmbeddedObject {
    @Persisted var type = "Point"
    @Persisted var coordinates: List<Double>
}

class TestedHouse: Object {
    @Persisted var name: String
    @Persisted var place: TestedPlace?
}

@Suite(.serialized) struct PredicateEvaluationTests {
    /// Made again each time: once for a realm, once for a list in none.
    func pets() -> [TestedPet] {
        let rex = TestedPet(value: ["name": "Rex", "age": 3, "weight": 12.5, "tags": ["good", "loud"]])
        let tom = TestedPet(value: [
            "name": "tom", "age": 7, "nick": "Tommy", "isTame": true, "marks": ["a": 1, "b": 5],
        ])
        let ella = TestedPet(value: ["name": "\u{C9}lla", "age": 5, "weight": 3.0, "nick": "", "tags": ["good"]])
        rex.rival = tom
        rex.friends.append(objectsIn: [tom, ella])
        ella.friends.append(rex)
        return [rex, tom, ella]
    }

    static let formats: [String] = [
        "age > 4", "age >= 5 AND age < 7", "age BETWEEN {3, 5}", "age IN {3, 7}", "NOT age == 3", "age != 5",
        "name == 'Rex'", "name ==[c] 'REX'", "name BEGINSWITH 'R'", "name BEGINSWITH[c] 't'", "name CONTAINS[cd] 'ell'",
        "name ENDSWITH 'a'", "name LIKE '?o*'", "name MATCHES '[a-z]+'",
        "name MATCHES[c] '.?[EL]+.'", "nick MATCHES nil", "ANY tags MATCHES 'lo.*'", "name CONTAINS ''", "name < 'a'",
        "name IN {'tom', 'Rex'}",
        "nick == nil", "nick != nil", "nick == ''", "nick > nil", "nick >= nil", "nick LIKE '*'", "nick BEGINSWITH ''",
        "weight == nil", "weight > 3", "weight <= 12.5", "weight < nil", "weight <= nil", "weight >= nil",
        "isTame == true", "isTame == false OR age > 6", "rival == nil", "rival.name == 'tom'", "rival.nick == nil",
        "ANY friends.age > 5", "ALL friends.age > 4", "NONE friends.name == 'Rex'", "friends.@count == 2",
        "friends.@sum.age == 12", "friends.@max.age > 5", "friends.@avg.age == 6", "ANY tags == 'good'",
        "tags.@count > 1", "marks['b'] == 5", "marks['c'] == nil", "TRUEPREDICATE", "FALSEPREDICATE",
        "SUBQUERY(friends, $x, $x.age > 4 AND $x.nick != nil).@count == 2",
    ]

    @Test(arguments: formats)
    func answersAsTheEngineDoes(_ format: String) throws {  // 182, 203 to 209, 217 to 223
        let realm = try makeRealm([TestedPet.self])
        try realm.write { realm.add(pets()) }
        let stored = Array(realm.objects(TestedPet.self).filter(format).map(\.name))

        #expect(pets().filter { NSPredicate(format: format).evaluate(with: $0) }.map(\.name) == stored)
    }

    @Test func argumentsMayBeValuesListsAndObjects() {
        let pets = pets()
        let tests: [(NSPredicate, [String])] = [
            (NSPredicate(format: "age == %@ OR name == $1", 3, "tom"), ["Rex"]),
            (NSPredicate(format: "age == %@ OR name == %@", 3, "tom"), ["Rex", "tom"]),
            (NSPredicate(format: "%K IN %@", "age", [5, 7]), ["tom", "\u{C9}lla"]),
            (NSPredicate(format: "rival == %@", pets[1]), ["Rex"]),
            (NSPredicate(format: "rival != %@", pets[1]), ["tom", "\u{C9}lla"]),
            (NSPredicate(format: "%@ IN friends", pets[0]), ["\u{C9}lla"]),
        ]

        for (predicate, names) in tests.dropFirst() {
            #expect(pets.filter { predicate.evaluate(with: $0) }.map(\.name) == names)
        }
        // More numbers than arguments, once %@ is numbered too.
        let messages = misuses { _ = tests[0].0.evaluate(with: pets[0]) }
        #expect(messages.count == 1)
    }

    @Test func unmanagedCollectionsAreSearched() {  // 182
        let list = List<TestedPet>()
        list.append(objectsIn: pets())
        let words = List<String>()
        words.append(objectsIn: ["a", "bb", "ccc"])

        #expect(list.index(matching: "age > %@", 3) == 1)
        #expect(list.index(matching: NSPredicate(format: "name == 'Rex'")) == 0)
        #expect(list.index(matching: NSPredicate(block: { pet, _ in (pet as? TestedPet)?.age == 5 })) == 2)
        #expect(list.index(matching: { $0.age == 7 && $0.isTame }) == 1)
        #expect(list.index(matching: { $0.name.starts(with: "nobody") }) == nil)
        #expect(words.index(matching: "SELF LIKE 'b*'") == 1)
        let messages = misuses { _ = list.index(matching: "age >") }
        #expect(messages.count == 1)
    }

    @Test func shapesAreAskedForAsTheEngineDoes() throws {  // 234
        let houses = { () -> [TestedHouse] in
            [("in", [12.5, 55.7]), ("out", [-74.0, 40.7]), ("nowhere", nil)].map { name, coordinates in
                let house = TestedHouse(value: ["name": name])
                if let coordinates { house.place = TestedPlace(value: ["coordinates": coordinates]) }
                return house
            }
        }
        let realm = try makeRealm([TestedHouse.self, TestedPlace.self])
        try realm.write { realm.add(houses()) }
        let distance = try #require(Distance.kilometers(20))
        let shapes: [any RLMGeospatial] = [
            try #require(GeoBox(bottomLeft: (55, 12), topRight: (56, 13))),
            try #require(GeoCircle(center: (55.67, 12.56), radius: distance)),
            try #require(GeoPolygon(outerRing: [(55, 12), (56, 12), (56, 13), (55, 13), (55, 12)])),
        ]

        for shape in shapes {
            for format in ["place IN %@", "place GEOWITHIN %@", "NOT place IN $0"] {
                let predicate = NSPredicate(format: format, shape)
                let stored = Array(realm.objects(TestedHouse.self).filter(predicate).map(\.name))
                #expect(stored == (format.hasPrefix("NOT") ? ["out", "nowhere"] : ["in"]))
                #expect(houses().filter { predicate.evaluate(with: $0) }.map(\.name) == stored)
            }
        }
    }

    @Test func percentSignsInQuotesAreNoPlaceholders() throws {
        let pets = pets()

        #expect(pets.filter { NSPredicate(format: "name != '50%' AND age > $0", 4).evaluate(with: $0) }.count == 2)
        #expect(pets.filter { NSPredicate(format: "name != '%@' AND age > %@", 4).evaluate(with: $0) }.count == 2)
    }

    @Test func combinedPredicatesAreEvaluated() {
        let old = NSPredicate(format: "age > %@", 4)
        let tame = NSPredicate(format: "isTame == %@", true)
        let names = { (predicate: NSPredicate) in self.pets().filter { predicate.evaluate(with: $0) }.map(\.name) }

        #expect(names(NSCompoundPredicate(andPredicateWithSubpredicates: [old, tame])) == ["tom"])
        #expect(names(NSCompoundPredicate(orPredicateWithSubpredicates: [tame, old])) == ["tom", "\u{C9}lla"])
        #expect(names(NSCompoundPredicate(notPredicateWithSubpredicate: old)) == ["Rex"])
    }
}
