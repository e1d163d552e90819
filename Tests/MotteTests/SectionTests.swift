// Sections: order, keys, access, and what their observers get.
import Foundation
import Motte
import TestSupport
import Testing

class Word: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var text: String
    @Persisted var group: Int
    @Persisted var note: String
    var letter: String { String(text.prefix(1)) }
}

class Numbers: Object {
    @Persisted var values: List<Int>
}

@Suite struct SectionTests {
    let realm: Realm

    init() throws {
        realm = try makeRealm([Word.self, Numbers.self])
        try add(["apple", "avocado", "banana", "cherry", "blueberry"])
    }

    private func add(_ texts: [String]) throws {
        try realm.write {
            for text in texts {
                let id = (realm.objects(Word.self).max(of: \.id) ?? -1) + 1
                realm.create(Word.self, value: ["id": id, "text": text, "group": text.count % 3])
            }
        }
    }

    @Test func sectionsStandInTheOrderOfTheirFirstElements() throws {  // 162
        let sections = realm.objects(Word.self).sectioned(by: \.letter)
        #expect(sections.allKeys == ["a", "b", "c"] && sections.count == 3)
        #expect(sections.map { $0.map(\.text) } == [["apple", "avocado"], ["banana", "blueberry"], ["cherry"]])
        #expect(sections[IndexPath(item: 1, section: 1)].text == "blueberry" && sections[1].key == "b")
        #expect(
            sections[2].id == "c"
                && Array(realm.objects(Word.self).sectioned(by: \.letter, ascending: false).allKeys) == ["c", "b", "a"])
        let byGroup = realm.objects(Word.self).sectioned(
            by: { $0.group }, sortDescriptors: [SortDescriptor(keyPath: "text", ascending: false)])
        #expect(byGroup.allKeys == [0, 1, 2] && byGroup[0].map(\.text) == ["cherry", "blueberry", "banana"])
        try add(["date"])
        #expect(sections.allKeys == ["a", "b", "c", "d"])
        #expect(misuses { _ = sections[9] }.count == 1)
    }

    @Test func valuesAreSectionedToo() throws {
        let list = try realm.write { realm.create(Numbers.self, value: ["values": [5, 2, 8, 1]]) }.values
        let sections = list.sectioned(by: { $0 % 2 == 0 })
        #expect(sections.allKeys == [false, true] && Array(sections[0]) == [1, 5] && Array(sections[1]) == [2, 8])
    }

    @Test func descriptorsMustBeginWithTheKey() {
        let words = realm.objects(Word.self)
        #expect(misuses { _ = words.sectioned(by: \.group, sortDescriptors: []) }.count == 1)
        #expect(misuses { _ = words.sectioned(by: \.group, sortDescriptors: ["text"]) }.count == 1)
        #expect(misuses { _ = words.sectioned(by: \.group, sortDescriptors: ["group", "text"]) }.isEmpty)
    }

    @Test func observersLearnOfSectionsAndPlaces() throws {  // 164, 165
        let sections = realm.objects(Word.self).sectioned(by: \.letter)
        let (all, one) = (ChangeLog(), ChangeLog())
        let tokens = [sections.observe { all.add($0) }, sections[1].observe { one.add($0) }]
        realm.refresh()
        #expect(all.take() == ["initial 3"] && one.take() == ["initial 2"])
        try add(["date", "almond"])
        #expect(all.take() == ["-[]+[0.0 3.0]~[] +[3]-[]"] && one.take().isEmpty)
        let banana = try #require(realm.objects(Word.self).filter("text == 'banana'").first)
        try realm.write { banana.note = "n" }
        #expect(all.take() == ["-[]+[]~[1.0] +[]-[]"] && one.take() == ["-[]+[]~[1.0] +[]-[]"])
        try realm.write { banana.text = "elder" }
        #expect(all.take() == ["-[1.0]+[4.0]~[] +[4]-[]"] && one.take() == ["-[1.0]+[]~[] +[]-[]"])
        try realm.write { realm.delete(realm.objects(Word.self).filter("text BEGINSWITH 'b'")) }
        #expect(all.take() == ["-[]+[]~[] +[]-[1]"] && one.take() == ["-[]+[]~[] +[]-[1]"])
        try add(["berry"])
        #expect(all.take() == ["-[]+[1.0]~[] +[1]-[]"] && one.take() == ["-[]+[1.0]~[] +[1]-[]"])
        withExtendedLifetime(tokens) {}
    }

    @Test func aChangedKeyIsNotifiedWhateverTheFilter() throws {
        let sections = realm.objects(Word.self).sectioned(by: { $0.group }, sortDescriptors: ["id"])
        let log = ChangeLog()
        let token = sections.observe(keyPaths: ["note"]) { log.add($0) }
        realm.refresh()
        _ = log.take()
        let first = realm.objects(Word.self)[0]
        try realm.write { first.text = "another" }
        #expect(log.take().isEmpty, "not in the filter, and the key is the same")
        try realm.write { first.group = 77 }
        #expect(log.take().count == 1)
        try realm.write { first.note = "x" }
        #expect(log.take().count == 1)
        token.invalidate()
    }

    @Test func frozenSectionsStay() throws {
        let sections = realm.objects(Word.self).sectioned(by: \.letter)
        let frozen = sections.freeze()
        try add(["zebra"])
        #expect(frozen.allKeys == ["a", "b", "c"] && frozen.isFrozen && sections.allKeys.last == "z")
        #expect(frozen.thaw()?.allKeys == sections.allKeys && frozen[0].freeze().map(\.text) == ["apple", "avocado"])
    }

    /// Taking a change out of the old sections and putting it into them gives the new ones.
    @Test func changesLeadFromOldToNew() throws {
        try PropertyTest.run(rounds: 5) { random, comment in
            let sections = realm.objects(Word.self).sectioned(by: { $0.group }, sortDescriptors: ["text", "id"])
            var shown: [[Int]] = []
            let token = sections.observe { change in
                let now = sections.map { $0.map(\.id) }
                switch change {
                case .initial: break
                case .update(_, let deletions, let insertions, _, let come, let gone):
                    for path in deletions.reversed() { shown[path.section].remove(at: path.item) }
                    for section in gone.reversed() { shown.remove(at: section) }
                    for section in come { shown.insert([], at: section) }
                    for path in insertions { shown[path.section].insert(now[path.section][path.item], at: path.item) }
                }
                #expect(shown == now || shown.isEmpty, "\(comment)")
                shown = now
            }
            realm.refresh()
            for step in 0 ..< 30 {
                try realm.write {
                    for _ in 0 ... random.below(3) {
                        let words = realm.objects(Word.self)
                        switch random.below(4) {
                        case 0:
                            realm.create(
                                Word.self,
                                value: [
                                    "id": 1000 + step * 10 + random.below(10), "text": "t\(random.below(9))",
                                    "group": random.below(4),
                                ], update: .all)
                        case 1 where !words.isEmpty: realm.delete(words[random.below(words.count)])
                        case 2 where !words.isEmpty: words[random.below(words.count)].group = random.below(4)
                        default: if !words.isEmpty { words[random.below(words.count)].text = "t\(random.below(9))" }
                        }
                    }
                }
            }
            token.invalidate()
        }
    }
}

private final class ChangeLog {
    private var entries: [String] = []

    func add<C: RealmSectionedResult>(_ change: SectionedResultsChange<C>) {
        switch change {
        case .initial(let sections): entries.append("initial \(sections.count)")
        case .update(_, let deletions, let insertions, let modifications, let come, let gone):
            let texts = [deletions, insertions, modifications].map { paths in
                "[\(paths.map { "\($0.section).\($0.item)" }.joined(separator: " "))]"
            }
            entries.append("-\(texts[0])+\(texts[1])~\(texts[2]) +\(Array(come))-\(Array(gone))")
        }
    }

    func take() -> [String] {
        defer { entries = [] }
        return entries
    }
}
