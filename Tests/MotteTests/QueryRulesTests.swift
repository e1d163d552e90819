// The numbered behaviours of the semantics list that concern queries. Numbers are beside what shows them.
import Foundation
import Motte
import Testing

class Sample: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var name: String?
    @Persisted var other: String?
    @Persisted var n: Int?
    @Persisted var m: Int?
    @Persisted var date: Date?
    @Persisted var data: Data?
    @Persisted var decimal: Decimal128
    @Persisted var any: AnyRealmValue
    @Persisted var flag: Bool
    @Persisted var friend: Sample?
    @Persisted var friends: List<Sample>
    @Persisted var tags: List<String>
    @Persisted var map: Map<String, String>
    @Persisted var spot: Spot?
    @Persisted var place: Place?
}

@Suite(.serialized) struct QueryRulesTests {
    static func fill(_ realm: Realm) throws {
        try realm.write {
            func add(_ id: Int, _ values: [String: Any]) -> Sample {
                realm.create(Sample.self, value: values.merging(["id": id]) { $1 })
            }
            let day = Date(timeIntervalSince1970: 0)
            let none = add(0, ["decimal": Decimal128("NaN"), "any": AnyRealmValue.none])
            let one = add(
                1,
                [
                    "name": "", "n": 0, "m": 0, "date": day, "data": Data(), "any": AnyRealmValue.int(1),
                    "map": ["ab": "x"],
                ])
            let two = add(
                2,
                [
                    "name": "\u{DC}n\u{FC}", "n": 1, "m": 2, "data": Data([0xFF]), "any": AnyRealmValue.double(1),
                    "flag": true, "tags": ["red"], "map": ["k": "v"],
                ])
            let three = add(
                3,
                [
                    "name": "unu", "other": "U", "n": 2, "m": 1, "data": Data([0x01, 0xFF]),
                    "decimal": Decimal128("-5"),
                    "any": AnyRealmValue.bool(true), "tags": ["red", "blue"],
                ])
            let four = add(
                4,
                [
                    "name": "e\u{301}", "other": "e\u{301}", "n": 3, "m": 3, "any": AnyRealmValue.string("1"),
                    "spot": ["x": 1, "y": 2],
                ])
            one.friend = none
            two.friend = three
            two.friends.append(objectsIn: [two, three])
            three.friends.append(objectsIn: [one, four])
            four.friends.append(four)
        }
    }

    private func filled() throws -> Realm {
        let realm = try makeRealm([Sample.self, Spot.self, Place.self])
        try Self.fill(realm)
        return realm
    }

    private func ids(_ samples: Results<Sample>) -> [Int] { samples.map(\.id).sorted() }

    struct Case: Sendable, CustomTestStringConvertible {
        let rule: Int
        let format: String
        let ids: [Int]
        init(_ rule: Int, _ format: String, _ ids: [Int]) { (self.rule, self.format, self.ids) = (rule, format, ids) }
        var testDescription: String { "\(rule): \(format)" }
    }

    static let found: [Case] = [
        .init(203, "n == nil", [0]), .init(203, "n != nil", [1, 2, 3, 4]), .init(203, "n < nil", []),
        .init(203, "n > nil", []), .init(203, "n <= nil", [0]), .init(203, "n >= nil", [0]),
        .init(203, "date == nil", [0, 2, 3, 4]), .init(203, "date != nil", [1]), .init(203, "date < nil", []),
        .init(203, "date >= nil", [0, 2, 3, 4]),
        .init(204, "n == 1", [2]), .init(204, "n != 1", [0, 1, 3, 4]), .init(204, "n < 1", [1]),
        .init(204, "n >= 1", [2, 3, 4]),
        // Not as the peers: a null is only != to what is not null.
        .init(205, "name > nil", []), .init(205, "name < nil", []), .init(205, "name <= nil", [0]),
        .init(205, "name >= nil", [0]),
        .init(206, "name BEGINSWITH ''", []), .init(206, "name ENDSWITH[c] ''", []), .init(206, "name CONTAINS ''", []),
        .init(206, "name CONTAINS[cd] nil", []), .init(206, "name BEGINSWITH nil", []),
        .init(207, "name LIKE nil", [0]), .init(207, "name LIKE '*'", [1, 2, 3, 4]),
        .init(207, "name LIKE '???'", [2, 3]),
        .init(208, "n IN {}", []), .init(208, "n IN {1, nil}", [0, 2]),
        .init(209, "name ==[c] '\u{FC}N\u{DC}'", [2]), .init(209, "name ==[cd] 'UNU'", [2, 3]),
        .init(209, "name BEGINSWITH[cd] 'u'", [2, 3]), .init(209, "name ==[d] 'unu'", [3]),
        .init(210, "name == 'e\u{301}'", [4]), .init(210, "name == '\u{E9}'", []), .init(210, "name == other", [0, 4]),
        .init(213, "any == 1", [1, 2]), .init(213, "any == true", [3]), .init(213, "any == '1'", [4]),
        .init(213, "any > 0", [1, 2]), .init(213, "any == nil", [0]),
        .init(215, "n == m", [0, 1, 4]), .init(215, "n < m", [2]),
        .init(216, "flag == true", [2]), .init(216, "flag == 1", [2]), .init(216, "flag == YES", [2]),
        .init(217, "n BETWEEN {1, 2}", [2, 3]), .init(217, "any BETWEEN {1, 5}", [1, 2]),
        .init(218, "ANY friends.n == 1 AND ANY friends.n == 2", [2]),
        .init(218, "SUBQUERY(friends, $f, $f.n == 1 AND $f.n == 2).@count > 0", []),
        .init(219, "NONE friends.n == 1", [0, 1, 3, 4]), .init(219, "ALL friends.n == 3", [0, 1, 4]),
        .init(220, "ANY friends.n != 2", [2, 3, 4]), .init(220, "NOT ANY friends.n == 2", [0, 1, 3, 4]),
        .init(221, "friends.@sum.n == 0", [0, 1]), .init(221, "friends.@max.n == nil", [0, 1]),
        .init(221, "friends.@avg.n < 10", [2, 3, 4]), .init(221, "friends.@min.n >= 0", [2, 3, 4]),
        .init(223, "friend.name == nil", [0, 1, 3, 4]), .init(223, "friend.name != nil", [2]),
        .init(223, "friend == nil", [0, 3, 4]),
        .init(225, "'blue' IN tags", [3]), .init(227, "map['k'] == 'v'", [2]),
        .init(227, "map['k'] == nil", [0, 1, 3, 4]), .init(227, "ANY map.@keys BEGINSWITH 'a'", [1]),
        .init(227, "ANY map.@allKeys BEGINSWITH 'a'", [1]), .init(227, "ANY map.@allValues == 'v'", [2]),
    ]

    @Test func filtersFind() throws {
        let samples = try filled().objects(Sample.self)
        for one in Self.found { #expect(ids(samples.filter(one.format)) == one.ids, "\(one.testDescription)") }
    }

    static let refused: [(Int, String, String)] = [
        (209, "name <[c] 'u'", "[c]"), (214, "n == 'x'", "string"),
        (214, "name == 3", "string"), (215, "1 == 1", "property"),
        (215, "n == name", "string"), (217, "name BETWEEN {'a', 'b'}", "BETWEEN"), (217, "n BETWEEN {1}", "BETWEEN"),
        (217, "n BETWEEN {1, 2, 3}", "BETWEEN"), (219, "friends.n == 1", "ANY"),
        (222, "SUBQUERY(friends, $f, $f.n == 1) > 1", "@count"),
        (222, "friends.@sum.n == friends.@max.n", ""), (222, "SUBQUERY(friends, $f, $f.n == 1).@count > n", ""),
        (225, "tags CONTAINS n", ""),
    ]

    @Test func filtersThatCannotBeAskedAreMisuse() throws {
        let samples = try filled().objects(Sample.self)
        for (rule, format, word) in Self.refused {
            let messages = misuses { _ = samples.filter(format).count }
            #expect(
                !messages.isEmpty && (word.isEmpty || messages[0].contains(word)), "\(rule): \(format): \(messages)")
        }
    }

    @Test func rule206OfTypedConditions() throws {
        let samples = try filled().objects(Sample.self)
        #expect(samples.where { $0.name.starts(with: "") }.isEmpty && samples.where { $0.name.contains(nil) }.isEmpty)
        #expect(samples.where { $0.name.ends(with: "") }.isEmpty && samples.where { $0.name.like(nil) }.count == 1)
    }

    @Test func rules210And211OrderIsThatOfBytes() throws {
        let realm = try filled()
        let names = realm.objects(Sample.self).sorted(byKeyPath: "name").map(\.id)
        #expect(Array(names) == [0, 1, 4, 3, 2], "null, empty, e, u, U with two dots")
        let data = realm.objects(Sample.self).sorted(byKeyPath: "data").map(\.id)
        #expect(Array(data.suffix(3)) == [1, 3, 2], "unsigned")
        let samples = realm.objects(Sample.self)
        #expect(ids(samples.filter("data BEGINSWITH %@", Data([0x01]))) == [3])
        #expect(ids(samples.filter("data CONTAINS %@", Data([0xFF]))) == [2, 3])
        #expect(ids(samples.filter("data > %@", Data([0x7F]))) == [2])
    }

    @Test func rule212NotANumber() throws {
        let samples = try filled().objects(Sample.self)
        #expect(ids(samples.filter("decimal == %@", Decimal128("NaN"))) == [0])
        #expect(samples.sorted(byKeyPath: "decimal").first?.id == 0, "below every other")
    }

    @Test func rules224And225Objects() throws {
        let realm = try filled()
        let samples = realm.objects(Sample.self)
        let three = try #require(realm.object(ofType: Sample.self, forPrimaryKey: 3))
        #expect(ids(samples.filter("friend == %@", three)) == [2])
        #expect(ids(samples.filter("%@ IN friends", three)) == [2])
        #expect(ids(samples.where { $0.friends.contains(three) }) == [2])
        let elsewhere = try filled()
        let foreign = elsewhere.objects(Sample.self)[3]
        #expect(misuses { _ = samples.filter("friend == %@", foreign).count }.first?.contains("Realm") == true)
        #expect(misuses { _ = samples.filter("%@ IN friends", foreign).count }.count == 1)
        let typed = misuses { _ = samples.where { $0.n == 1 && $0.friend == foreign }.count }
        #expect(typed.first?.contains("Realm") == true)
        #expect(misuses { _ = samples.where { $0.friend.in([foreign]) }.count }.count == 1)
        let deleted = try realm.write {
            realm.delete(three)
            return three
        }
        #expect(misuses { _ = samples.filter("friend == %@", deleted).count }.isEmpty)
        #expect(samples.filter("friend == %@", deleted).isEmpty && samples.filter("friend != %@", deleted).count == 4)
    }

    @Test func rule226EmbeddedObjectsByTheirMembers() throws {
        let samples = try filled().objects(Sample.self)
        #expect(ids(samples.where { $0.spot == Spot(value: ["x": 1, "y": 2]) }) == [4])
        #expect(ids(samples.where { $0.spot != Spot(value: ["x": 1, "y": 2]) }) == [0, 1, 2, 3])
        #expect(misuses { _ = samples.where { $0.place == Place() }.count }.first?.contains("as a whole") == true)
    }

    @Test func rule228ConditionsPrint() throws {
        func text(_ query: (Query<Sample>) -> Query<Bool>) -> String {
            let (text, values) = query(Query<Sample>._constructForTesting())._constructPredicate()
            return text + " " + values.map { "\($0)" }.joined(separator: " ")
        }
        #expect(text { $0.n == 1 } == "(n == %@) 1")
        #expect(text { $0.n == 1 && $0.m > 2 } == "((n == %@) && (m > %@)) 1 2")
        #expect(text { $0.n == 1 || $0.m > 2 } == "((n == %@) || (m > %@)) 1 2")
        #expect(text { !($0.n == 1) } == "(NOT n == %@) 1")
        #expect(text { $0.n.contains(1 ... 3) } == "(n BETWEEN {%@, %@}) 1 3")
        #expect(text { $0.n.contains(1 ..< 3) } == "((n >= %@) && (n < %@)) 1 3")
        #expect(text { $0.tags.contains("a") } == "(%@ IN tags) a")
        #expect(text { $0.friends.name == "a" } == "(ANY friends.name == %@) a")
        #expect(text { $0.name.like("a", caseInsensitive: true) } == "(name LIKE[c] %@) a")
        let both: StringOptions = [.caseInsensitive, .diacriticInsensitive]
        #expect(text { $0.name.contains("a", options: both) } == "(name CONTAINS[cd] %@) a")
        #expect(text { $0.friends.count > 1 } == "(friends.@count > %@) 1")
        #expect(text { $0.friends.n.sum > 1 } == "(friends.@sum.n > %@) 1")
        #expect(text { $0.map["k"] == "v" } == "(map[%@] == %@) k v")
        #expect(text { $0.any["k"][0].any == "v" } == "(any[%@][%@][%K] == %@) k 0 #any string(\"v\")")
        #expect(
            text { ($0.friends.n == 1).count > 2 && ($0.tags == "a").count == 0 }
                == "((SUBQUERY(friends, $col1, ($col1.n == %@)).@count > %@) && "
                + "(SUBQUERY(tags, $col2, ($col2 == %@)).@count == %@)) 1 2 a 0")
    }

    @Test func rules230To233ResultsAreLive() throws {
        let realm = try filled()
        let sorted = realm.objects(Sample.self).sorted(byKeyPath: "id", ascending: false)
        #expect(sorted.filter("n != nil").map(\.id) == [4, 3, 2, 1], "230")
        #expect(sorted.distinct(by: ["flag"]).filter("id < 4").map(\.id) == [2], "230: of the first of each")
        #expect(sorted.filter("id < 4").distinct(by: ["flag"]).map(\.id) == [3, 2], "230: as written")
        #expect(sorted.index(matching: "id == 4") == 0 && sorted.index(matching: { $0.n == 0 }) == 3, "233")
        #expect(sorted.index(matching: "id == 9") == nil, "233")
        let many = realm.objects(Sample.self).filter("n > 0")
        try realm.write {  // 232
            #expect(many.count == 3)
            let added = realm.create(Sample.self, value: ["id": 9, "n": 9])
            #expect(many.count == 4 && many.last?.id == 9 && sorted.first?.id == 9)
            realm.delete(added)
            #expect(many.count == 3 && sorted.first?.id == 4)
        }
    }

    @Test func rule231PredicatesKeepWhatTheyName() throws {
        let realm = try filled()
        let results: Results<Sample> = {
            let frozen = realm.objects(Sample.self).filter("id == 3").freeze()[0]
            return realm.objects(Sample.self).filter("friend == %@", frozen)
        }()
        #expect(ids(results) == [2])
    }
}
