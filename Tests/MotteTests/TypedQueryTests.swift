// `where`: every operator beside the text that asks the same.
import Foundation
import Motte
import Testing

enum Size: Int, PersistableEnum { case small, large }

class Asset: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var name: String
    @Persisted var alias: String?
    @Persisted var price: Double
    @Persisted var isSold: Bool
    @Persisted var size: Size
    @Persisted var optionalSize: Size?
    @Persisted var when: Date
    @Persisted var blob: Data
    @Persisted var any: AnyRealmValue
    @Persisted var owner: Keeper?
    @Persisted var tags: List<String>
    @Persisted var scores: List<Int>
    @Persisted var optionalScores: MutableSet<Int?>
    @Persisted var traits: Map<String, String>
    @Persisted var spot: Spot?
}

class Keeper: Object {
    @Persisted var name: String
    @Persisted var age: Int
    @Persisted var assets: List<Asset>
}

@Suite struct TypedQueryTests {
    let realm: Realm

    init() throws {
        realm = try makeRealm([Asset.self, Keeper.self, Spot.self])
        let realm = realm
        try realm.write {
            let ada = realm.create(Keeper.self, value: ["name": "Ada", "age": 36])
            let bob = realm.create(Keeper.self, value: ["name": "Bob", "age": 20])
            for id in 0 ..< 12 {
                let asset = realm.create(
                    Asset.self,
                    value: [
                        "id": id, "name": id % 2 == 0 ? "Été \(id)" : "winter \(id)", "price": Double(id) * 1.5,
                        "isSold": id % 3 == 0, "size": id % 4 == 0 ? Size.large : Size.small,
                        "when": Date(timeIntervalSince1970: Double(id)), "blob": Data([UInt8(id)]),
                        "tags": id % 2 == 0 ? ["even", "t\(id)"] : ["odd"], "scores": [id, id * 2],
                        "traits": ["color": id % 2 == 0 ? "red" : "blue", "k\(id)": "v"],
                        "owner": id < 6 ? ada : bob, "spot": ["x": id, "y": 1],
                    ])
                asset.any = id % 2 == 0 ? .int(id) : .fromDictionary(["n": .int(id), "list": [.string("a")]])
                asset.alias = id > 8 ? "alias" : nil
                asset.optionalSize = id == 4 ? .large : nil
                asset.optionalScores.insert(objectsIn: id == 0 ? [nil] : [id])
                (id < 6 ? ada : bob).assets.append(asset)
            }
        }
    }

    private func expect(
        _ text: String, _ arguments: Any..., sourceLocation: SourceLocation = #_sourceLocation,
        _ query: (Query<Asset>) -> Query<Bool>
    ) {
        let byText = realm.objects(Asset.self).filter(NSPredicate(format: text, argumentArray: arguments)).map(\.id)
        let byType = realm.objects(Asset.self).where(query).map(\.id)
        #expect(Array(byText) == Array(byType), "\(text)", sourceLocation: sourceLocation)
        #expect(!byText.isEmpty && byText.count < 12, "\(text) tells apart", sourceLocation: sourceLocation)
    }

    @Test func comparisons() {
        expect("id == 3") { $0.id == 3 }
        expect("id != 3") { $0.id != 3 }
        expect("price > %@", 4.5) { $0.price > 4.5 }
        expect("price >= 4.5 AND price < 9") { $0.price >= 4.5 && $0.price < 9 }
        expect("price <= 3 OR isSold == true") { $0.price <= 3 || $0.isSold }
        expect("NOT isSold == true") { !$0.isSold }
        expect("size == 1") { $0.size == .large }
        expect("size == 1") { $0.size.rawValue == 1 }
        expect("optionalSize == 1") { $0.optionalSize == .large }
        expect("alias == NULL") { $0.alias == nil }
        expect("when > %@", Date(timeIntervalSince1970: 5)) { $0.when > Date(timeIntervalSince1970: 5) }
        expect("blob == %@", Data([4])) { $0.blob == Data([4]) }
        expect("id IN {1, 2, 99}") { $0.id.in([1, 2, 99]) }
        expect("id BETWEEN {2, 5}") { $0.id.contains(2 ... 5) }
        expect("id >= 2 AND id < 5") { $0.id.contains(2 ..< 5) }
    }

    @Test func texts() {
        expect("name BEGINSWITH 'win'") { $0.name.starts(with: "win") }
        expect("name CONTAINS[c] 'WINTER'") { $0.name.contains("WINTER", options: .caseInsensitive) }
        expect("name ENDSWITH '1'") { $0.name.ends(with: "1") }
        expect("name LIKE '*ter ?'") { $0.name.like("*ter ?") }
        expect("name MATCHES '.*[12]'") { $0.name.matches(".*[12]") }
        expect("name MATCHES[c] 'WINTER \\\\d'") { $0.name.matches("WINTER \\d", caseInsensitive: true) }
        expect("name CONTAINS[cd] 'ete'") {
            $0.name.contains("ete", options: [.caseInsensitive, .diacriticInsensitive])
        }
        expect("name ==[c] 'WINTER 3'") { $0.name.equals("WINTER 3", options: .caseInsensitive) }
        expect("alias != 'alias'") { $0.alias != "alias" }
        expect("name < 'x'") { $0.name < "x" }
    }

    @Test func linksAndCollections() {
        expect("owner.name == 'Ada'") { $0.owner.name == "Ada" }
        expect("owner.age > 30") { $0.owner.age > 30 }
        expect("ANY tags == 'odd'") { $0.tags.contains("odd") }
        expect("ANY tags IN {'t2', 't4'}") { $0.tags.containsAny(in: ["t2", "t4"]) }
        expect("tags.@count == 2") { $0.tags.count == 2 }
        expect("scores.@sum > 12") { $0.scores.sum > 12 }
        expect("scores.@max <= 10") { $0.scores.max <= 10 }
        expect("scores.@avg > 6") { $0.scores.avg > 6 }
        expect("ANY scores > 20") { $0.scores > 20 }
        expect("scores.@min >= 2 AND scores.@max <= 12") { $0.scores.contains(2 ... 12) }
        expect("ANY optionalScores == NULL") { $0.optionalScores.contains(nil) }
        expect("owner.assets.@count == 6 AND id < 3") { $0.owner.assets.count == 6 && $0.id < 3 }
        expect("spot.x == 5") { $0.spot.x == 5 }
        let keepers = realm.objects(Keeper.self)
        #expect(keepers.where { $0.assets.price > 14 }.map(\.name) == ["Bob"])
        #expect(keepers.where { ($0.assets.price > 3 && $0.assets.isSold == true).count == 1 }.map(\.name) == ["Ada"])
        #expect(keepers.where { $0.assets.price.sum > 60 }.map(\.name) == ["Bob"])
        #expect(keepers.where { $0.assets.contains(realm.objects(Asset.self)[1]) }.map(\.name) == ["Ada"])
        let ada = keepers[0]
        expect("owner.name == 'Ada'") { $0.owner == ada }
    }

    @Test func mapsAndMixedValues() {
        expect("traits['color'] == 'red'") { $0.traits["color"] == "red" }
        expect("ANY traits.@keys == 'k3'") { $0.traits.keys == "k3" }
        expect("ANY traits.@values == 'blue'") { $0.traits.values == "blue" }
        expect("any == 4") { $0.any == 4 }
        expect("any > 3") { $0.any > 3 }
        expect("any['n'] == 5") { $0.any["n"] == 5 }
        expect("any['list'][0] == 'a' AND id < 4") { $0.any["list"][0] == "a" && $0.id < 4 }
    }

    @Test func arithmetic() {
        expect("price * 2 > 9") { $0.price * 2 > 9 }
        expect("(price + 1) * id - 3 >= 20") { ($0.price + 1) * $0.id.double - 3 >= 20 }
        expect("id / 2 == 3") { $0.id / 2 == 3 }
        expect("10 - id < 4") { 10 - $0.id < 4 }
        expect("owner.age + id == 26") { $0.owner.age + $0.id == 26 }
        expect("id + 1 IN {3, 5}") { asset in (asset.id + 1).in([3, 5]) }
        let start = Date(timeIntervalSince1970: 2)
        expect("when - %@ > 4.5", start) { $0.when - start > 4.5 }
        expect("when + 5 > %@", Date(timeIntervalSince1970: 10)) { $0.when + 5 > Date(timeIntervalSince1970: 10) }
        expect("when - when == 0 AND id < 3") { $0.when - $0.when == 0 && $0.id < 3 }
        let keepers = realm.objects(Keeper.self)
        #expect(keepers.where { ($0.assets.price * 2 > 30).count == 1 }.map(\.name) == ["Bob"])
        let text = Query<Asset>._constructForTesting()._constructPredicate2 { $0.price * 2 - 1 > 9 }.0
        #expect(text == "(((price * %@) - %@) > %@)")
        #expect(misuses { _ = realm.objects(Asset.self).where { $0.scores.count.double + 1 > 2 }.count }.count == 1)
    }

    /// Unmanaged collections answer like files.
    @Test func arithmeticWithoutAFile() {
        let list = List<Asset>()
        for id in 0 ..< 4 { list.append(Asset(value: ["id": id, "price": Double(id) / 2])) }
        let passes = { (text: String) in Array(list).filter { NSPredicate(format: text).evaluate(with: $0) }.map(\.id) }
        #expect(passes("price * 2 == id AND id + 1 > 2") == [2, 3])
        #expect(passes("id / (id - 1) == 2") == [2])
        #expect(passes("owner.age + 1 == NULL") == [0, 1, 2, 3])
    }

    @Test func argumentsWithNames() {
        let assets = realm.objects(Asset.self)
        let some = assets.filter(
            "id > $low AND id < $high AND price < %@", 8.0, ["low": 3, "high": 7] as [String: Any])
        #expect(some.map(\.id) == [4, 5])
        #expect(assets.filter("id IN $ids", ["ids": [2, 3]]).map(\.id) == [2, 3])
        #expect(misuses { _ = assets.filter("id > $low", ["high": 3]).count }.first?.contains("$low") == true)
        let tooMany = ["low": 1, "high": 3]
        #expect(misuses { _ = assets.filter("id > $low", tooMany).count }.first?.contains("$high") == true)
        #expect(misuses { _ = assets.filter("id > $low", 3).count }.first?.contains("dictionary") == true)
        #expect(assets.filter("TRUEPREDICATE SORT(id DESC) OFFSET(2) LIMIT(3)").map(\.id) == [9, 8, 7])
    }

    @Test func whatCannotBeAskedIsMisuse() {
        let assets = realm.objects(Asset.self)
        #expect(misuses { _ = assets.filter("nothing == 1").count }.first?.contains("nothing") == true)
        #expect(misuses { _ = assets.filter("id ==").count }.count >= 1)
        #expect(misuses { _ = assets.where { ($0.id == 1).count > 1 }.count }.first?.contains("Subqueries") == true)
        #expect(assets.where { $0.owner == Keeper() }.isEmpty, "an unmanaged object is equal to nothing")
        #expect(misuses { _ = assets.sorted(byKeyPath: "nothing").count }.count == 1)
    }

    @Test func conditionsPrint() {
        let (text, values) = Query<Asset>._constructForTesting()._constructPredicate2 {
            $0.id > 5 && $0.owner.name == "A"
        }
        #expect(text == "((id > %@) && (owner.name == %@))" && values.count == 2)
    }
}

extension Query {
    fileprivate func _constructPredicate2(_ build: (Query<T>) -> Query<Bool>) -> (String, [Any]) {
        build(self)._constructPredicate()
    }
}
