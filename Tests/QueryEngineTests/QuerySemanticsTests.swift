/// Behaviours of queries that are easily got wrong, each by itself.
import MotteQueryEngine
import MotteSchemaModel
import MotteStorage
import MotteValues
import TestSupport
import Testing

@Suite struct QuerySemanticsTests {
    static let schema = """
        Person { id: int key, name: string?, age: int?, score: double?, active: bool, photo: data?, born: timestamp?,
                 city: string indexed, level: int indexed, friend: link<Person>, friends: list<Person>,
                 tags: list<string?>, marks: list<int>, dogs: inverse<Dog.owner>, admirers: inverse<Person.friends> }
        Dog { name: string, weight: float, owner: link<Person> }
        """

    /// Four people: 0 has nothing, 1 ... 3 have more and more.
    static func world(rowGroupSize: Int = 3) throws -> QueryWorld {
        let world = try QueryWorld(schema, rowGroupSize: rowGroupSize)
        try world.begin()
        for id in 0 ..< 4 { try world.create("Person", ["id": .value(.int(Int64(id)))]) }
        func set(_ key: Int64, _ values: [String: Value]) throws {
            for (name, value) in values { try world.set("Person", key, name, .value(value)) }
        }
        try set(0, ["city": .string("")])
        try set(1, ["name": .string(""), "age": .int(1), "score": .double(.nan), "city": .string("Rome")])
        try set(
            2,
            [
                "name": .string("Über"), "age": .int(2), "score": .double(-0.0), "active": .bool(true),
                "photo": .data([1, 2, 3]), "born": .timestamp(Timestamp(seconds: 5, nanoseconds: 7)),
                "city": .string("Rome"), "friend": try world.link("Person", 1),
            ])
        try set(
            3,
            [
                "name": .string("zoë"), "age": .int(3), "score": .double(2.5),
                "friend": try world.link("Person", 0), "city": .string("Paris"),
                "born": .timestamp(Timestamp(seconds: -5, nanoseconds: 7)),
            ])
        try world.set("Person", 2, "friends", .list([try world.link("Person", 1), try world.link("Person", 3)]))
        try world.set("Person", 3, "friends", .list([try world.link("Person", 1), try world.link("Person", 1)]))
        try world.set("Person", 1, "tags", .list([.string("red"), .null]))
        try world.set("Person", 2, "tags", .list([.string("red"), .string("blue")]))
        try world.set("Person", 3, "marks", .list([.int(5), .int(.max)]))
        for (name, owner) in [("Rex", 2), ("Ash", 2), ("Sam", 3)] as [(String, Int64)] {
            try world.create(
                "Dog",
                [
                    "name": .value(.string(name)), "owner": .value(try world.link("Person", owner)),
                    "weight": .value(.float(0.1)),
                ])
        }
        try world.create("Dog", ["name": .value(.string("Stray")), "weight": .value(.float(7))])
        try world.commit()
        return world
    }

    /// Query and the people it finds. The number after a group is that of the list of behaviours it shows.
    static let people: [(String, [Int64])] = [
        // Comparing with null (203, 204).
        ("age == null", [0]), ("age != nil", [1, 2, 3]), ("age < NULL", []), ("age > NULL", []), ("age <= NULL", [0]),
        ("age >= NULL", [0]), ("age != 1", [0, 2, 3]), ("age < 3", [1, 2]), ("NOT age < 3", [0, 3]),
        ("level == NULL", []),
        ("born <= NULL", [0, 1]), ("NULL == age", [0]),
        // Neither is anything above or below it among texts and data; the peers' 205 is not followed.
        ("name > NULL", []), ("name >= NULL", [0]), ("name < NULL", []), ("name <= NULL", [0]), ("photo > NULL", []),
        // One and the same element (218), counted.
        ("SUBQUERY(friends, $f, $f.age == 1 AND $f.name == '').@count > 0", [2, 3]),
        ("SUBQUERY(friends, $f, $f.age == 1 AND $f.name == 'zoë').@count > 0", []),
        ("ANY friends.age == 1 AND ANY friends.name == 'zoë'", [2]),
        ("SUBQUERY(friends, $f, $f.age == 1).@count == 2", [3]),
        ("SUBQUERY(friends, $f, $f.age > 0).@count < 1", [0, 1]),
        ("2 <= SUBQUERY(dogs, $d, $d.weight < 1).@count", [2]),
        ("SUBQUERY(dogs, $d, $d.name == 'Sam').@count != 0", [3]),
        ("SUBQUERY(friends, $f, SUBQUERY($f.dogs, $d, $d.name == 'Sam').@count == 1).@count == 1", [2]),
        ("SUBQUERY(friends, $f, $f == $f).@count BETWEEN {1, 2}", [2, 3]),
        ("SUBQUERY(friend.friends, $f, TRUEPREDICATE).@count == 0", [2, 3]),
        ("SUBQUERY(admirers, $a, $a.age == 3).@count IN {2, 7}", [1]),
        // Diacritics (209), also as decomposed marks.
        ("name ==[d] 'Uber'", [2]), ("name ==[cd] 'ÚBËR'", [2]), ("name ==[d] 'zoe\u{301}'", [3]),
        ("name !=[cd] 'ZOE'", [0, 1, 2]),
        ("name CONTAINS[d] 'oe'", [3]), ("name BEGINSWITH[cd] 'u'", [2]), ("name ENDSWITH[d] 'ÓE'", []),
        ("name LIKE[d] '?oe'", [3]), ("name LIKE[cd] 'Û*R'", [2]), ("name IN[cd] {'zoe', 'x'}", [3]),
        ("name CONTAINS[d] '\u{301}'", []), ("name ==[d] NULL", [0]), ("ANY tags ==[cd] 'réd'", [1, 2]),
        // Strings beside strings.
        ("name CONTAINS name", [2, 3]), ("name CONTAINS city", []), ("city BEGINSWITH[cd] friend.city", [2]),
        ("name ==[c] city", []), ("name !=[c] city", [0, 1, 2, 3]), ("name LIKE name", [0, 1, 2, 3]),
        // Empty and null patterns (206, 207).
        ("name BEGINSWITH ''", []), ("name CONTAINS[c] ''", []), ("name ENDSWITH NULL", []), ("name LIKE NULL", [0]),
        ("name LIKE '*'", [1, 2, 3]), ("name LIKE '????'", [2]), ("name LIKE '?'", []), ("name LIKE[c] 'ÜB*'", [2]),
        ("photo BEGINSWITH X'0102'", [2]), ("photo CONTAINS X'03'", [2]), ("photo == X'010203'", [2]),
        // IN (208).
        ("age IN {}", []), ("age IN {NULL, 3}", [0, 3]), ("age IN {1, 2, 3, 4, 5}", [1, 2, 3]),
        ("NOT age IN {1}", [0, 2, 3]),
        ("name IN {'', 'zoë', 'a', 'b', 'c'}", [1, 3]), ("age NOT IN {1, 2}", [0, 3]),
        // Case (209) and bytes (210).
        ("name ==[c] 'über'", [2]), ("name !=[c] 'ÜBER'", [0, 1, 3]), ("name CONTAINS[c] 'ZO'", [3]),
        ("name CONTAINS 'ZO'", []),
        ("name == 'zoe\\u0308'", []), ("name < 'zoë'", [1]), ("name > 'zz'", [2]),
        // NaN equals itself and orders with nothing (212); -0 is 0.
        ("score == nan", [1]), ("score < 1", [2]), ("score > -1", [2, 3]), ("score == 0", [2]),
        ("score != nan", [0, 2, 3]),
        // Whole doubles fit ints (214), truth has several forms (216).
        ("age == 2.0", [2]), ("age < 1e300", [1, 2, 3]), ("age > inf", []), ("active == 1", [2]),
        ("active == 'YES'", [2]),
        ("active", [2]), ("!active AND age > 1", [3]), ("active == false AND age == 1", [1]), ("active > false", [2]),
        // Columns with columns (215).
        ("age > score", [2, 3]), ("age == friend.age", [0]), ("age > friend.age", [2]),
        ("friend == friend", [0, 1, 2, 3]),
        // BETWEEN (217).
        ("age BETWEEN {2, 3}", [2, 3]), ("age BETWEEN 1 AND 2 AND active", [2]), ("age BETWEEN {3, 1}", []),
        ("born BETWEEN {T-5:7, T0:0}", [3]), ("score BETWEEN {-1, 2.5}", [2, 3]),
        // ANY, ALL, NONE (218 to 220).
        ("ANY friends.age == 1", [2, 3]), ("ANY friends.age == 1 AND ANY friends.age == 3", [2]),
        ("ALL friends.age == 1", [0, 1, 3]), ("NONE friends.age == 3", [0, 1, 3]), ("ANY friends.age != 1", [2]),
        ("ANY tags == 'red'", [1, 2]), ("ALL tags == 'red'", [0, 3]), ("ANY tags == NULL", [1]),
        ("SOME tags CONTAINS 'lu'", [2]),
        ("'blue' IN tags", [2]), ("ANY marks > 5", [3]), ("ANY dogs.name == 'Rex'", [2]),
        ("ALL dogs.name BEGINSWITH 'S'", [0, 1, 3]),
        ("ANY admirers.age == 3", [1]), ("NONE admirers.age == 3", [0, 2, 3]), ("ANY friends.tags == NULL", [2, 3]),
        ("ANY friend.tags == 'red'", [2]), ("ALL friend.tags == 'blue'", [0, 1, 3]),
        ("ANY friends.friend == NULL", [2, 3]),
        // Aggregates (221).
        ("friends.@count == 2", [2, 3]), ("dogs.@count == 0", [0, 1]), ("admirers.@count == 3", [1]),
        ("tags.@count == 2", [1, 2]),
        ("marks.@sum == 0", [0, 1, 2]), ("marks.@avg == NULL", [0, 1, 2]), ("marks.@min == 5", [3]),
        ("marks.@max > 5", [3]),
        ("friends.@sum.age == 4", [2]), ("friends.age.@avg == 2", [2]), ("dogs.@max.weight > 0.05", [2, 3]),
        ("friends.@min.born < T0:0", [2]), ("friend.friends.@count == 0", [2, 3]),
        ("friend.friends.@count == NULL", [0, 1]),
        ("friends.@count BETWEEN {1, 2}", [2, 3]), ("friends.@count IN {0, 7}", [0, 1]),
        ("2 == friends.@count", [2, 3]),
        // Null links (223) and comparing links (224).
        ("friend.name == NULL", [0, 1, 3]), ("friend.name != NULL", [2]), ("friend == NULL", [0, 1]),
        ("friend.age != 1", [0, 1, 3]),
        ("friend.friend.age == 1", []), ("friend.age >= 0", [2]), ("NOT friend.age == 1", [0, 1, 3]),
        // Indexes answer the same.
        ("city == 'Rome'", [1, 2]), ("city IN {'Rome', 'Paris', 'Oslo'} AND age > 1", [2, 3]), ("id == 2", [2]),
        ("id == 9", []),
        ("friend.id == 1", [2]), ("friend.city == 'Rome'", [2]), ("TRUEPREDICATE", [0, 1, 2, 3]),
        ("FALSEPREDICATE OR age == 1", [1]),
        // Order (236, 237): nulls first ascending, null links last.
        ("SORT(age DESC)", [3, 2, 1, 0]), ("SORT(age)", [0, 1, 2, 3]), ("SORT(city, age DESC)", [0, 3, 2, 1]),
        ("SORT(friend.age)", [3, 2, 0, 1]), ("SORT(friend.age DESC)", [0, 1, 2, 3]), ("SORT(name)", [0, 1, 3, 2]),
        ("SORT(score)", [0, 1, 2, 3]), ("SORT(active DESC) LIMIT(2)", [2, 0]), ("SORT(active)", [0, 1, 3, 2]),
        ("LIMIT(2)", [0, 1]), ("age > 1 LIMIT(1)", [2]), ("SORT(born)", [0, 1, 3, 2]), ("LIMIT(0)", []),
        ("SORT(SELF.name)", [0, 1, 3, 2]),
    ]

    @Test(arguments: [3, 480]) func findsThese(rowGroupSize: Int) throws {
        let world = try Self.world(rowGroupSize: rowGroupSize)
        for (text, expected) in Self.people {
            do {
                #expect(try world.keys("Person", text) == expected, "\(text)")
                #expect(try world.executor("Person", text).count() == expected.count, "\(text)")
            } catch {
                Issue.record("\(text): \(error)")
            }
        }
    }

    @Test func floatsAreWhatTheyHold() throws {
        let world = try Self.world()
        // The float next to a tenth is a little more than the double next to it.
        #expect(try world.keys("Dog", "weight == 0.1") == [])
        #expect(try world.keys("Dog", "weight > 0.1") == [0, 1, 2, 3])
        #expect(try world.keys("Dog", "weight == $0", [.float(0.1)]) == [0, 1, 2])
        #expect(try world.keys("Dog", "owner == NULL") == [3])
        #expect(try world.keys("Dog", "owner.friend.age == 1") == [0, 1])
    }

    @Test func objectsAreArguments() throws {
        let world = try Self.world()
        let (one, two) = (try world.link("Person", 1), try world.link("Person", 2))
        #expect(try world.keys("Person", "friend == $0", [one]) == [2])
        #expect(try world.keys("Person", "friend != $0", [one]) == [0, 1, 3])
        #expect(try world.keys("Person", "$0 IN friends", [one]) == [2, 3])
        #expect(try world.keys("Person", "NONE friends == $0", [one]) == [0, 1])
        #expect(try world.keys("Person", "SELF == $0", [two]) == [2])
        #expect(try world.keys("Person", "SELF != $0", [two]) == [0, 1, 3])
        #expect(try world.executor("Person", "SELF IN $0", [.list([two, one, .null])]).keys() == [1, 2])
        #expect(try world.executor("Person", "friend IN $0 OR friend IN {NULL}", [.list([one])]).keys() == [0, 1, 2])
        #expect(try world.keys("Person", "ANY dogs == $0", [try world.link("Dog", 2)]) == [3])
        #expect(try world.keys("Person", "ANY friends == NULL") == [])
        // An object that is gone equals nothing (224).
        try world.begin()
        try world.delete("Person", 1)
        try world.commit()
        #expect(try world.keys("Person", "friend == $0", [one]) == [])
        #expect(try world.keys("Person", "friend != $0", [one]) == [0, 2, 3])
        #expect(try world.keys("Person", "SELF == $0", [one]) == [])
    }

    @Test func sumsThatDoNotFitAreErrors() throws {
        let world = try Self.world()
        #expect(try world.keys("Person", "marks.@sum > 9223372036854775807") == [3])
        try world.begin()
        try world.set("Person", 1, "level", .value(.int(.max)))
        try world.set("Person", 2, "level", .value(.int(.max)))
        let column = try #require(try world.type("Person").property(named: "level")?.columnKey)
        let executor = try world.executor("Person", "TRUEPREDICATE")
        #expect(throws: DatabaseError.self) { try executor.aggregate(.sum, column) }
        #expect(try executor.aggregate(.avg, column) == .double(4_611_686_018_427_387_904))
        #expect(try executor.aggregate(.max, column) == .int(.max))
        let name = try #require(try world.type("Person").property(named: "name")?.columnKey)
        #expect(try executor.aggregate(.count, name) == .int(3))
        do {
            _ = try executor.aggregate(.sum, name)
            Issue.record("a sum of strings")
        } catch {
            #expect(error.code == .wrongType)
        }
        let none = try world.executor("Person", "FALSEPREDICATE")
        #expect(try none.aggregate(.sum, column) == .int(0))
        #expect(try none.aggregate(.avg, column) == .null)
        #expect(try none.aggregate(.min, column) == .null)
    }
}
