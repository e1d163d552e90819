// What programs written for RealmSwift expect of names: key paths, access by name, totals, sorting and observing use
// the names of properties; what these are called in the file only reaches the file.
import Foundation
import Motte
import Testing

class PeerRenamedHome: EmbeddedObject {
    @Persisted var street = ""
    override class func propertiesMapping() -> [String: String] { ["street": "str"] }
}

class PeerRenamed: Object {
    @Persisted(primaryKey: true) var id: Int
    /// Each is called what the other is called in the file.
    @Persisted var first: Int
    @Persisted var second: Int
    @Persisted var label: String
    @Persisted var home: PeerRenamedHome?
    @Persisted var next: PeerRenamed?
    @Persisted var all: List<PeerRenamed>
    let size = RealmProperty<Int?>()
    override class func propertiesMapping() -> [String: String] {
        ["first": "second", "second": "first", "label": "lbl", "home": "hm", "next": "nxt", "all": "al", "size": "sz"]
    }
}

final class PeerRenamedView: Projection<PeerRenamed> {
    @Projected(\PeerRenamed.label) var title
    @Projected(\PeerRenamed.next?.label) var nextTitle
}

@Suite struct PeerNamesTests {
    let realm: Realm

    init() throws {
        realm = try makeRealm([PeerRenamed.self, PeerRenamedHome.self])
        try realm.write {
            for id in 0 ..< 4 {
                let home: [String: Any] = ["street": "S\(id)"]
                let value: [String: Any] = ["id": id, "first": id, "second": 10 - id, "label": "L\(id)", "home": home]
                realm.create(PeerRenamed.self, value: value)
            }
            let all = realm.objects(PeerRenamed.self)
            for id in 0 ..< 3 {
                all[id].next = all[id + 1]
                all[id].all.append(objectsIn: all)
                all[id].size.value = id
            }
        }
    }

    @Test func keyPathsAreNamesOfProperties() {
        #expect(_name(for: \PeerRenamed.label) == "label" && _name(for: \PeerRenamed.next?.label) == "next.label")
        #expect(_name(for: \PeerRenamed.home?.street) == "home.street" && _name(for: \PeerRenamed.all) == "all")
        #expect(_name(for: \PeerRenamed.first) == "first" && _name(for: \PeerRenamed.second) == "second")
        #expect(_name(for: \PeerRenamed.size.value) == "size")
        #expect(_name(for: \PeerRenamedView.title) == "label" && _name(for: \PeerRenamedView.nextTitle) == "next.label")
        let all = realm.objects(PeerRenamed.self)
        #expect(all[1].value(forKey: _name(for: \PeerRenamed.label)) as? String == "L1")
        #expect(misuses { _ = all[1].value(forKey: "lbl") }.count == 1, "the file's name is none of the program's")
    }

    @Test func queriesSortsAndTotalsUseThem() throws {
        let all = realm.objects(PeerRenamed.self)
        func ids(_ found: Results<PeerRenamed>) -> [Int] { found.map(\.id) }
        #expect(ids(all.where { $0.first == 1 }) == [1])
        #expect(ids(all.where { $0.second == 9 }) == [1])
        #expect(ids(all.filter("first == 1")) == [1])
        #expect(ids(all.filter("next.second == 7")) == [2])
        #expect(ids(all.where { $0.next.second == 7 }) == [2])
        #expect(ids(all.where { $0.home.street == "S3" }) == [3])
        #expect(ids(all.where { ($0.all.first > 1).count == 2 }) == [0, 1, 2])
        #expect(all.filter(_name(for: \PeerRenamed.next?.first) + " == 3").map(\.id) == [2])
        #expect(all.sorted(by: \.second).map(\.id) == [3, 2, 1, 0])
        #expect(all.sorted(byKeyPath: _name(for: \PeerRenamed.next?.first), ascending: true).first?.id == 0)
        #expect(all.sorted(by: [SortDescriptor(keyPath: \PeerRenamed.second)]).first?.id == 3)
        #expect(all.distinct(by: [\PeerRenamed.label]).count == 4)
        #expect(all.sectioned(by: \.first, ascending: true).allKeys == [0, 1, 2, 3])
        #expect(
            all.sectioned(by: \.first, sortDescriptors: [SortDescriptor(keyPath: "first", ascending: false)]).allKeys
                == [3, 2, 1, 0])
        #expect(all.sum(of: \.second) == 34 && all.max(of: \.first) == 3 && all.min(ofProperty: "second") == 7)
        #expect(all.value(forKeyPath: "@sum.second") as? Int == 34)
        #expect(all[0].all.value(forKeyPath: "@max.first").first as? Int == 3)
        #expect((all.value(forKeyPath: "home.street") as? [Any])?.count == 4)
        #expect(
            Query<PeerRenamed>._constructForTesting().next.label.starts(with: "L")._constructPredicate().0
                == "(next.label BEGINSWITH %@)")
    }

    @Test func observersUseThem() throws {
        let object = try #require(realm.object(ofType: PeerRenamed.self, forPrimaryKey: 1))
        let dynamic = try #require(realm.dynamicObject(ofType: "PeerRenamed", forPrimaryKey: 1))
        var names: [String] = []
        var nested = 0
        let tokens = [
            object.observe(keyPaths: [\.first]) { (change: ObjectChange<PeerRenamed>) in
                if case .change(_, let changes) = change { names += changes.map(\.name) }
            },
            dynamic.observe { (change: ObjectChange<DynamicObject>) in
                if case .change(_, let changes) = change { names += changes.map { "dynamic \($0.name)" } }
            },
            realm.objects(PeerRenamed.self).observe(keyPaths: [\.next?.second]) { change in
                if case .update(_, _, _, let modifications) = change { nested += modifications.count }
            },
        ]
        realm.refresh()
        try realm.write { object.first = 100 }
        #expect(names.sorted() == ["dynamic first", "first"] && nested == 0)
        try realm.write { object.second = 100 }
        #expect(names.sorted() == ["dynamic first", "dynamic second", "first"] && nested == 1)
        tokens.forEach { $0.invalidate() }
    }

    @Test func objectsByNameKnowBothNames() {
        let all = realm.dynamicObjects("PeerRenamed")
        #expect(all.filter("label == 'L2'").count == 1 && all.sorted(byKeyPath: "label", ascending: false).count == 4)
        #expect(all[0]["label"] as? String == "L0" && all[0].value(forKeyPath: "next.label") as? String == "L1")
    }

    @Test func projectionsUseThem() throws {
        let views = realm.objects(PeerRenamedView.self)
        #expect(views.sorted(by: \.title, ascending: false).first?.title == "L3")
        #expect(views[0].nextTitle == "L1" && views[0].description.contains("title(\\.label)"))
        var received: [String] = []
        let token = views[0].observe { (change: ObjectChange<PeerRenamedView>) in
            if case .change(_, let changes) = change { received += changes.map(\.name) }
        }
        realm.refresh()
        try realm.write { views[0].rootObject.next?.label = "new" }
        try realm.write { views[0].title = "own" }
        #expect(received == ["nextTitle", "title"])
        token.invalidate()
    }
}
