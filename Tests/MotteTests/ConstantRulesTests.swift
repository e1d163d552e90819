// The numbered behaviours of the semantics list that concern what filters compare: mixed values, types that do not fit,
// constants, booleans, keys of maps. Numbers are in the names.
import Foundation
import Motte
import Testing

class Probe: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var any: AnyRealmValue
    @Persisted var int: Int
    @Persisted var double: Double
    @Persisted var text: String
    @Persisted var flag: Bool
    @Persisted var data: Data
    @Persisted var prices: Map<String, Int>
    @Persisted var names: Map<String, String>
}

@Suite(.serialized) struct ConstantRulesTests {
    let realm: Realm

    init() throws {
        realm = try makeRealm([Probe.self])
        let values: [AnyRealmValue] = [
            .none, .int(3), .float(3), .double(3.5), .decimal128(3), .bool(true), .string("3"), .data(Data("3".utf8)),
        ]
        try realm.write {
            for (id, value) in values.enumerated() {
                let probe = realm.create(
                    Probe.self, value: ["id": id, "int": id, "text": "\(id)", "flag": id % 2 == 1])
                probe.any = value
                if id == 1 { (probe.prices["a"], probe.names["b"]) = (5, "x") }
                if id == 2 { (probe.prices["ab"], probe.names["key"]) = (7, "y") }
            }
        }
    }

    private func ids(_ format: String, _ args: Any...) -> [Int] {
        realm.objects(Probe.self).filter(NSPredicate(format: format, argumentArray: args)).map(\.id).sorted()
    }

    private func refused(_ format: String, _ args: Any...) -> String? {
        misuses { _ = realm.objects(Probe.self).filter(NSPredicate(format: format, argumentArray: args)).count }.first
    }

    @Test func rule213MixedValuesCompareByKind() {
        #expect(ids("any == 3") == [1, 2, 4], "numbers across their types")
        #expect(ids("any > 3") == [3] && ids("any >= 3.0") == [1, 2, 3, 4])
        #expect(ids("any == true") == [5] && ids("any == 1") == [], "a bool is no number")
        #expect(ids("any == '3'").contains(6) && !ids("any == '3'").contains(1))
        #expect(ids("any == %@", Data("3".utf8)).contains(7))
        #expect(ids("any == nil") == [0])
        #expect(ids("any == %@", UUID()) == [], "another kind is simply different")
        #expect(ids("any BEGINSWITH '3'").contains(6))
    }

    @Test func rule214ConstantsFitTheirColumn() throws {
        let unfit: [(String, Any)] = [
            ("int == %@", "three"), ("text == %@", 3), ("flag == %@", "maybe"), ("data == %@", 4),
        ]
        for (format, arg) in unfit {
            let message = try #require(refused(format, arg))
            #expect(message.contains(format.prefix { $0 != " " }), "\(message)")
        }
        #expect(ids("int == 3.0") == [3] && ids("double == 0").count == 8)
        // Numbers of any kinds compare exactly.
        #expect(ids("int == 1.5") == [] && ids("int == %@", 1.5) == [] && ids("int < 1.5") == ids("int <= 1"))
    }

    @Test func rule215OneSideIsAColumn() {
        #expect(refused("1 == 1") != nil && refused("'a' == 'a'") != nil)
        #expect(ids("3 == int") == [3] && ids("int == int").count == 8)
        #expect(refused("int == text") != nil && refused("flag == text") != nil)
    }

    @Test func rule216BoolsAreWrittenInSeveralWays() {
        let set = [1, 3, 5, 7]
        for constant in ["true", "TRUE", "YES", "yes", "1"] {
            #expect(ids("flag == \(constant)") == set, "\(constant)")
        }
        for constant in ["false", "NO", "0"] { #expect(ids("flag != \(constant)") == set, "\(constant)") }
        #expect(ids("flag == %@", true) == set && ids("flag == %@", NSNumber(value: true)) == set)
        #expect(ids("flag == %@", 1) == set)
    }

    @Test func rule227KeysOfMaps() {
        #expect(ids("prices['a'] == 5") == [1] && ids("prices[%@] == %@", "ab", 7) == [2])
        #expect(ids("prices['none'] == nil").count == 8 && ids("prices['a'] == nil").count == 7)
        #expect(ids("ANY prices.@allKeys BEGINSWITH 'a'") == [1, 2] && ids("ANY prices.@allKeys == 'a'") == [1])
        #expect(ids("ANY names.@allKeys CONTAINS[c] 'E'") == [2] && ids("ANY names.@allValues == 'x'") == [1])
        #expect(ids("prices.@count == 1") == [1, 2])
        #expect(misuses { _ = realm.objects(Probe.self).where { $0.prices["a"].in([5, 7]) }.count }.isEmpty)
    }

    // MARK: Ways of writing

    @Test func comparisonsAreWrittenBothWaysRound() {
        #expect(ids("int => 6") == [6, 7] && ids("int =< 1") == [0, 1] && ids("int >= 6 AND int <= 6") == [6])
    }

    @Test func everyElementOfMixedCollectionsByArgument() throws {
        let probe = try #require(realm.object(ofType: Probe.self, forPrimaryKey: 0))
        try realm.write { probe.any = ["list": [1, "two"], "map": ["k": 5]] }
        #expect(ids("ANY any['list'][%K] == 'two'", "#any") == [0] && ids("ANY any[%@][%K] == 5", "map", "#any") == [0])
        #expect(realm.objects(Probe.self).where { $0.any["list"].any == "two" }.map(\.id) == [0])
        let (format, values) = Query<Probe>._constructForTesting().any["map"].any.in([.int(5)])._constructPredicate()
        #expect(realm.objects(Probe.self).filter(NSPredicate(format: format, argumentArray: values)).map(\.id) == [0])
    }
}
