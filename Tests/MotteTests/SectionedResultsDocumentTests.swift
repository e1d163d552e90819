// What the reference of sections promises, with its own models: keys, access, observing sections and one section,
// key paths, and the change sets when a section key changes.
import Foundation
import Motte
import OpenCombine
import Testing

class Hound: Object {
    @Persisted var name: String
    @Persisted var age: Int
    @Persisted var toys: List<Bone>
    @Persisted var keeper: HoundKeeper?
    @Persisted var size: HoundSize
    var initial: String { String(name.prefix(1)) }
}

class Bone: Object {
    @Persisted var brand: String
    @Persisted var isNew: Bool
}

class HoundKeeper: Object {
    @Persisted var hounds: List<Hound>
}

enum HoundSize: String, PersistableEnum { case small, large }

@Suite(.serialized) struct SectionedResultsDocumentTests {
    private func fresh() throws -> Realm { try makeRealm([Hound.self, Bone.self, HoundKeeper.self]) }

    private func paths(_ paths: [IndexPath]) -> [[Int]] { paths.map { [$0.section, $0.item] } }

    private func text<C: RealmSectionedResult>(_ change: RealmSectionedResultsChange<C>) -> String {
        switch change {
        case .initial(let sections): return "initial \(sections.count)"
        case .update(_, let deletions, let insertions, let modifications, let come, let gone):
            return "-\(paths(deletions)) +\(paths(insertions)) ~\(paths(modifications)) +\(Array(come)) -\(Array(gone))"
        }
    }

    private func add(_ realm: Realm, _ name: String, _ age: Int) throws {
        try realm.write { _ = realm.create(Hound.self, value: ["name": name, "age": age]) }
    }

    @Test func theExampleOfTheReference() throws {
        let realm = try fresh()
        let keeper = try realm.write { realm.create(HoundKeeper.self) }
        let sections = realm.objects(Hound.self).sectioned(by: \.age, ascending: true)
        #expect(sections.count == 0)
        var received: [String] = []
        let token = sections.observe { changes in
            // Without a case for errors, too.
            switch changes {
            case .initial(let sections): received.append("initial \(sections.count)")
            case .update: received.append("update")
            }
        }
        // Written at once: the first call shows it, and there is no other.
        try realm.write {
            let rex = Hound()
            rex.name = "Rex"
            keeper.hounds.append(rex)
        }
        try realm.write {}
        #expect(received == ["initial 1"])
        token.invalidate()
    }

    @Test func contactsByFirstLetter() throws {
        let realm = try fresh()
        for name in ["Liam", "Maya", "Larry", "Noor", "Lisa"] { try add(realm, name, 1) }
        let sections = realm.objects(Hound.self).sectioned(by: \.initial)
        #expect(sections.allKeys == ["L", "M", "N"] && sections.map(\.count) == [3, 1, 1])
        #expect(
            sections[0].key == "L" && sections[0].id == "L" && sections[0].map(\.name) == ["Larry", "Liam", "Lisa"])
        #expect(sections[IndexPath(item: 2, section: 0)].name == "Lisa" && sections[2].first?.name == "Noor")
        let byBlock = realm.objects(Hound.self).sectioned(
            by: { String($0.name.suffix(1)) }, sortDescriptors: [.init(keyPath: "name", ascending: false)])
        #expect(byBlock.allKeys == ["r", "a", "m", "y"])
        let bySize = realm.objects(Hound.self).sectioned(by: \.size, sortDescriptors: ["size", "name"])
        #expect(bySize.allKeys == [.small] && bySize[0].first?.name == "Larry")
    }

    @Test func sectionsComeAndGo() throws {
        let realm = try fresh()
        try add(realm, "a", 1)
        try add(realm, "b", 2)
        let sections = realm.objects(Hound.self).sectioned(by: \.age)
        let second = sections[1]
        var all: [String] = []
        var one: [String] = []
        let tokens = [sections.observe { all.append(text($0)) }, second.observe { one.append(text($0)) }]
        realm.refresh()
        #expect(all == ["initial 2"] && one == ["initial 1"])
        (all, one) = ([], [])
        try add(realm, "c", 1)
        try realm.write {}
        #expect(all == ["-[] +[[0, 1]] ~[] +[] -[]"] && one.isEmpty)
        all = []
        try add(realm, "d", 0)
        try realm.write {}
        #expect(all == ["-[] +[[0, 0]] ~[] +[0] -[]"] && one.isEmpty, "a mere shift is silent (168)")
        all = []
        try realm.write { realm.delete(realm.objects(Hound.self).filter("age == 2")) }
        try realm.write {}
        #expect(all == ["-[] +[] ~[] +[] -[2]"] && one == ["-[] +[] ~[] +[] -[2]"], "164, 168")
        #expect(second.isInvalidated && second.isEmpty)
        (all, one) = ([], [])
        try add(realm, "e", 2)
        try realm.write {}
        #expect(all == ["-[] +[[2, 0]] ~[] +[2] -[]"] && one == ["-[] +[[2, 0]] ~[] +[2] -[]"], "165, 168")
        #expect(!second.isInvalidated && second.first?.name == "e")
        tokens.forEach { $0.invalidate() }
    }

    @Test func keyPathsOfTheReference() throws {
        let realm = try fresh()
        try add(realm, "Rex", 3)
        let rex = try #require(realm.objects(Hound.self).first)
        try realm.write { rex.toys.append(Bone(value: ["brand": "x"])) }
        let sections = realm.objects(Hound.self).sectioned(by: \.age, ascending: true)
        var counts: [String: Int] = [:]
        func listen(_ name: String, _ keyPaths: [String]?) -> NotificationToken {
            sections.observe(keyPaths: keyPaths) { if case .update = $0 { counts[name, default: 0] += 1 } }
        }
        let tokens = [
            listen("all", nil), listen("name", ["name"]), listen("toys", ["toys"]), listen("brand", ["toys.brand"]),
            sections.observe(keyPaths: [\Hound.name]) { if case .update = $0 { counts["typed", default: 0] += 1 } },
        ]
        realm.refresh()
        func received(after body: () -> Void) throws -> [String] {
            counts = [:]
            try realm.write(body)
            try realm.write {}
            return counts.keys.sorted()
        }
        #expect(try received { rex.name = "Max" } == ["all", "name", "typed"])
        #expect(try received { rex.toys[0].brand = "y" } == ["all", "brand"])
        #expect(try received { rex.toys[0].isNew = true } == ["all"])
        #expect(try received { rex.toys.append(Bone()) } == ["all", "brand", "toys"])
        #expect(
            try received { rex.age = 4 } == ["all", "brand", "name", "toys", "typed"],
            "the section key, whatever the filter")
        #expect(try received { realm.create(Hound.self, value: ["name": "new", "age": 4]) }.count == 5)
        tokens.forEach { $0.invalidate() }
        #expect(misuses { _ = sections.observe(keyPaths: ["nothing"]) { _ in } }.count > 0)
    }

    @Test func observingIsNotForTransactionsOrFrozenSections() throws {
        let realm = try fresh()
        try add(realm, "Rex", 3)
        let sections = realm.objects(Hound.self).sectioned(by: \.age)
        try realm.write { #expect(misuses { _ = sections.observe { _ in } }.count == 1) }
        let frozen = sections.freeze()
        #expect(
            misuses { _ = frozen.observe { _ in } }.count == 1 && misuses { _ = frozen[0].observe { _ in } }.count == 1)
        try realm.write { realm.deleteAll() }
        #expect(frozen.isFrozen && frozen.count == 1 && frozen[0].first?.name == "Rex" && sections.isEmpty)
        #expect(frozen.thaw()?.isEmpty == true && sections.realm == realm)
    }

    @Test func publishersOfSections() throws {
        let realm = try fresh()
        try add(realm, "Rex", 3)
        let sections = realm.objects(Hound.self).sectioned(by: \.age)
        var received: [String] = []
        let cancellables: [AnyCancellable] = [
            sections[0].objectWillChange.sink { received.append("will") },
            sections.changesetPublisher.sink { received.append(text($0)) },
            sections[0].collectionPublisher.sink { _ in
            } receiveValue: {
                received.append("section \($0.count)")
            },
        ]
        realm.refresh()
        try add(realm, "Max", 3)
        try realm.write {}
        #expect(Set(received) == ["will", "initial 1", "section 1", "-[] +[[0, 1]] ~[] +[] -[]", "section 2"])
        cancellables.forEach { $0.cancel() }
    }
}
