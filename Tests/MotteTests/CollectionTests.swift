// Lists, sets and maps: managed beside unmanaged under the same random edits, and what all collections share.
import Foundation
import Motte
import MotteValues
import TestSupport
import Testing

class Holder: Object {
    @Persisted var numbers: List<Int>
    @Persisted var words: MutableSet<String>
    @Persisted var table: Map<String, Int?>
    @Persisted var items: List<Item>
}

class Item: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var name: String
    @Persisted var price: Double
    @Persisted var parts: List<Item>
    @Persisted(originProperty: "parts") var wholes: LinkingObjects<Item>
}

class Coin: Object {
    @Persisted var worth: Int
    override class func propertiesMapping() -> [String: String] { ["worth": "stored_worth"] }
}

class Purse: Object {
    @Persisted var coins: List<Coin>
    @Persisted var byName: Map<String, Coin?>
}

private let types: [ObjectBase.Type] = [Holder.self, Item.self]

@Suite struct CollectionTests {
    @Test func managedListsBehaveLikeUnmanagedOnes() throws {
        try PropertyTest.run(rounds: 8, editLists)
    }

    private func editLists(_ random: inout SeededRandom, _ run: String) throws {
        let realm = try makeRealm(types)
        let managed = try realm.write { realm.create(Holder.self) }.numbers
        let plain = List<Int>()
        for step in 0 ..< 60 {
            let value = Int.random(in: 0 ..< 50, using: &random)
            let count = plain.count
            let index = count > 0 ? Int.random(in: 0 ..< count, using: &random) : 0
            let other = count > 0 ? Int.random(in: 0 ..< count, using: &random) : 0
            let choice = Int.random(in: 0 ..< 11, using: &random)
            try realm.write {
                for list in [managed, plain] {
                    switch choice {
                    case 0: list.append(value)
                    case 1: list.insert(value, at: index)
                    case 2 where count > 0: list.remove(at: index)
                    case 3 where count > 0: list[index] = value
                    case 4 where count > 0: list.move(from: index, to: other)
                    case 5 where count > 0: list.swapAt(index, other)
                    case 6: list.append(objectsIn: [value, value + 1, value])
                    case 7 where count > 0: list.replaceSubrange(min(index, other) ..< max(index, other), with: [value])
                    case 8 where count > 3: list.remove(atOffsets: IndexSet([0, 2]))
                    case 9 where count > 0: list.move(fromOffsets: IndexSet([index]), toOffset: other)
                    case 10 where step % 20 == 0: list.removeAll()
                    default: break
                    }
                }
            }
            #expect(Array(managed) == Array(plain), "step \(step), choice \(choice); \(run)")
            #expect(managed.index(of: value) == plain.index(of: value) && managed.sum() == plain.sum())
            #expect(managed.min() == plain.min() && managed.max() == plain.max() && managed.first == plain.first)
        }
    }

    @Test func managedSetsAndMapsBehaveLikeUnmanagedOnes() throws {
        try PropertyTest.run(rounds: 4, editSetsAndMaps)
    }

    private func editSetsAndMaps(_ random: inout SeededRandom, _ run: String) throws {
        let realm = try makeRealm(types)
        let holder = try realm.write { realm.create(Holder.self) }
        let other = try realm.write { realm.create(Holder.self) }
        let (words, table) = (MutableSet<String>(), Map<String, Int?>())
        let second = MutableSet<String>()
        for step in 0 ..< 40 {
            let word = "w\(Int.random(in: 0 ..< 12, using: &random))"
            let choice = Int.random(in: 0 ..< 9, using: &random)
            try realm.write {
                for (set, argument, map) in [(holder.words, other.words, holder.table), (words, second, table)] {
                    switch choice {
                    case 0, 1: set.insert(word)
                    case 2: set.remove(word)
                    case 3: argument.insert(objectsIn: [word, "x"])
                    case 4: set.formUnion(argument)
                    case 5: set.subtract(argument)
                    case 6 where step % 7 == 0: set.formIntersection(argument)
                    case 7: map[word] = step
                    default: map.removeObject(for: word)
                    }
                    if step % 9 == 0 { map.updateValue(nil, forKey: word) }
                }
            }
            #expect(Set(holder.words) == Set(words) && holder.words.contains(word) == words.contains(word))
            #expect(holder.words.isSubset(of: other.words) == words.isSubset(of: second))
            #expect(holder.words.intersects(other.words) == words.intersects(second))
            #expect(holder.table.keys.sorted() == table.keys.sorted(), "step \(step); \(run)")
            for key in table.keys { #expect(holder.table[key]! == table[key]!) }
        }
    }

    @Test func indexesOutOfBoundsAreMisuse() throws {
        let realm = try makeRealm(types)
        let holder = try realm.write { realm.create(Holder.self, value: ["numbers": [1, 2]]) }
        for list in [holder.numbers, Holder(value: ["numbers": [1, 2]]).numbers] {
            let messages = try misuses {
                _ = list[2]
                _ = list[-1]
                try realm.write {
                    list.insert(5, at: 3)
                    list.remove(at: 2)
                    list[7] = 1
                }
            }
            #expect(messages.count == 5 && messages.allSatisfy { $0.contains("out of bounds") })
            #expect(Array(list) == [1, 2])
        }
        #expect(misuses { holder.numbers.append(1) }.count == 1, "not in a write")
        #expect(misuses { _ = realm.objects(Item.self)[0] }.count == 1)
    }

    @Test func totalsPassOverNullsOfMaps() throws {
        let realm = try makeRealm([Train.self, Driver.self, Everything.self, Place.self, Spot.self])
        let (one, gone) = try realm.write {
            (realm.create(Everything.self, value: ["int": 4]), realm.create(Everything.self, value: ["int": 9]))
        }
        try realm.write {
            one.friendMap["one"] = one
            one.friendMap["gone"] = gone
            one.friendMap["none"] = .some(nil)
            realm.delete(gone)
        }
        let map = one.friendMap
        #expect(map.count == 3 && map.max(of: \.int) == 4 && map.sum(ofProperty: "int") as Int == 4)
        #expect(map.min(of: \.double) == 2.5 && map.average(ofProperty: "int") as Double? == 4)
        #expect(map.sorted(byKeyPath: "int").max(ofProperty: "int") as Int? == 4)
    }

    @Test func totalsByThePublicName() throws {
        let unmanaged = Purse()
        unmanaged.coins.append(objectsIn: [Coin(value: [2]), Coin(value: [5])])
        unmanaged.byName["a"] = Coin(value: [3])
        let realm = try makeRealm([Purse.self, Coin.self])
        let managed = try realm.write { realm.create(Purse.self, value: unmanaged) }
        for purse in [unmanaged, managed] {
            #expect(purse.coins.sum(of: \.worth) == 7 && purse.coins.max(ofProperty: "worth") as Int? == 5)
            #expect(purse.byName.sum(of: \.worth) == 3 && purse.byName.min(ofProperty: "worth") as Int? == 3)
        }
        #expect(managed.byName.sorted(by: \.worth).count == 1)
    }

    @Test func mapKeysHaveRules() throws {
        let realm = try makeRealm(types)
        let holder = try realm.write { realm.create(Holder.self) }
        for map in [holder.table, Map<String, Int?>()] {
            for key in ["a.b", "$a"] {
                #expect(try misuses { try realm.write { map[key] = 1 } }.count == 1, "\(key)")
            }
            try realm.write { map["a$b"] = 1 }
            #expect(map.keys == ["a$b"])
        }
    }

    @Test func resultsAreLiveLazyAndOrdered() throws {
        let realm = try makeRealm(types)
        let items = realm.objects(Item.self)
        let cheap = items.filter("price < 10").sorted(byKeyPath: "price", ascending: false)
        #expect(items.isEmpty && cheap.isEmpty)
        try realm.write {
            for id in 0 ..< 20 {
                realm.create(Item.self, value: ["id": id, "name": "n\(id % 4)", "price": Double(id)])
            }
        }
        #expect(items.count == 20 && cheap.count == 10 && cheap.first?.id == 9 && cheap.last?.id == 0)
        #expect(cheap[2 ..< 5].map(\.id) == [7, 6, 5])
        #expect(items.distinct(by: ["name"]).map(\.id) == [0, 1, 2, 3])
        #expect(items.sorted(by: [SortDescriptor(keyPath: "name"), "price"]).prefix(2).map(\.id) == [0, 4])
        #expect(
            items.sum(of: \.price) == 190 && (items.average(ofProperty: "id") as Double?) == 9.5
                && items.max(of: \.price) == 19)
        #expect((items.min(ofProperty: "id") as Int?) == 0)
        #expect(items.index(matching: "id == 7") == 7 && items.index(of: items[3]) == 3)
        #expect((items.value(forKey: "id") as? [Int])?.count == 20)
        try realm.write { items.setValue("same", forKey: "name") }
        #expect(Set(items.map(\.name)) == ["same"])
        try realm.write { realm.delete(items.filter("id >= 5")) }
        #expect(items.count == 5)
        // What is deleted while it is gone over.
        try realm.write { for item in items where item.id % 2 == 0 { realm.delete(item) } }
        #expect(items.map(\.id) == [1, 3])
    }

    @Test func anyCollectionAndInverse() throws {
        let realm = try makeRealm(types)
        try realm.write {
            let part = realm.create(Item.self, value: ["id": 1, "name": "part"])
            realm.create(Item.self, value: ["id": 2, "name": "whole", "parts": [part, part]])
        }
        let part = try #require(realm.object(ofType: Item.self, forPrimaryKey: 1))
        #expect(part.wholes.count == 2 && part.wholes.filter("name == 'whole'").count == 2)
        let any = AnyRealmCollection(part.wholes)
        #expect(any.count == 2 && any.first?.name == "whole" && AnyRealmCollection(realm.objects(Item.self)).count == 2)
    }

    @Test func primitivesFilterSortAndTellApart() throws {
        let realm = try makeRealm(types)
        let holder = try realm.write {
            realm.create(Holder.self, value: ["numbers": [3, 1, 2, 3], "words": ["b", "a"]])
        }
        #expect(Array(holder.numbers.filter("SELF > 1")) == [3, 2, 3])
        #expect(Array(holder.numbers.sorted()) == [1, 2, 3, 3] && Array(holder.numbers.distinct()) == [3, 1, 2])
        #expect(Array(holder.numbers.where { $0 >= 3 }) == [3, 3])
        #expect(Array(holder.words.sorted(ascending: false)) == ["b", "a"])
        try realm.write { holder.table["k"] = 5 }
        #expect(holder.table.filter("SELF == 5").count == 1 && holder.table.max()! == 5)
    }

    @Test func descriptionsAreReadable() throws {
        let item = Item(value: ["id": 1, "name": "n", "price": 2.5, "parts": [["id": 2]]])
        #expect(item.description.hasPrefix("Item {\n\tid = 1;\n\tname = n;\n\tprice = 2.5;\n\tparts = List<Item>"))
        let realm = try makeRealm(types)
        try realm.write { realm.add(item) }
        #expect(realm.objects(Item.self).description.hasPrefix("Results<Item> <0x"))
    }
}
