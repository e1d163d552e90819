// The numbered behaviours of the semantics list that concern what observers are notified of and when. Numbers are in
// names.
import Dispatch
import Foundation
import Motte
import MotteValues
import Testing

@Suite(.serialized) struct ChangeRulesTests {
    private final class Notified {
        private var entries: [String] = []
        func add<C: RealmCollection>(_ change: RealmCollectionChange<C>) {
            switch change {
            case .initial(let collection): entries.append("initial \(collection.count)")
            case .update(_, let deletions, let insertions, let modifications):
                entries.append("-\(deletions) +\(insertions) ~\(modifications)")
            case .error(let error): entries.append("\(error)")
            }
        }
        func add<C: RealmSectionedResult>(_ change: SectionedResultsChange<C>) {
            switch change {
            case .initial(let sections): entries.append("initial \(sections.count)")
            case .update(_, let deletions, let insertions, let modifications, let come, let gone):
                let texts = [deletions, insertions, modifications].map { $0.map { "\($0.section).\($0.item)" } }
                entries.append("-\(texts[0]) +\(texts[1]) ~\(texts[2]) +\(Array(come)) -\(Array(gone))")
            }
        }
        func take() -> [String] {
            defer { entries = [] }
            return entries
        }
    }

    private func filled(url: URL? = nil) throws -> Realm {
        let realm = try makeRealm([Note.self], url: url)
        try realm.write {
            for id in 0 ..< 5 { realm.create(Note.self, value: ["id": id, "text": "\(id)", "rank": id * 10]) }
        }
        return realm
    }

    private func note(_ realm: Realm, _ id: Int) throws -> Note {
        try #require(realm.object(ofType: Note.self, forPrimaryKey: id))
    }

    @Test func rules126And127RowsMoveComeAndGo() throws {
        let realm = try filled()
        let (sorted, some) = (Notified(), Notified())
        let tokens = [
            realm.objects(Note.self).sorted(byKeyPath: "rank").observe { sorted.add($0) },
            realm.objects(Note.self).filter("rank < 30").observe { some.add($0) },
        ]
        realm.refresh()
        #expect(sorted.take() == ["initial 5"] && some.take() == ["initial 3"])
        try realm.write { try note(realm, 0).rank = 25 }
        try realm.write {}
        #expect(sorted.take() == ["-[0] +[2] ~[]"] && some.take() == ["-[] +[] ~[0]"])
        try realm.write { try note(realm, 0).rank = 26 }
        try realm.write {}
        #expect(sorted.take() == ["-[] +[] ~[2]"], "it keeps its position")
        _ = some.take()
        try realm.write { try note(realm, 1).rank = 99 }
        try realm.write {}
        #expect(some.take() == ["-[1] +[] ~[]"], "it leaves the filter")
        try realm.write { try note(realm, 1).rank = 1 }
        try realm.write {}
        #expect(some.take() == ["-[] +[1] ~[]"], "and comes back")
        tokens.forEach { $0.invalidate() }
    }

    @Test func rules128And144Lists() throws {
        let realm = try filled()
        let note = try note(realm, 0)
        try realm.write { note.tags.append(objectsIn: ["a", "b", "c", "d"]) }
        var shown = Array(note.tags)
        var count = 0
        let token = note.tags.observe { change in
            guard case .update(let tags, let deletions, let insertions, let modifications) = change else { return }
            count += 1
            for index in deletions.reversed() { shown.remove(at: index) }
            for index in insertions { shown.insert(tags[index], at: index) }
            // What was modified stood there before.
            for _ in modifications { shown = Array(tags) }
        }
        realm.refresh()
        try realm.write { note.tags.move(from: 0, to: 3) }
        try realm.write {}
        #expect(shown == ["b", "c", "d", "a"] && count == 1)
        try realm.write { note.tags.swapAt(0, 2) }
        try realm.write {}
        #expect(shown == ["d", "c", "b", "a"] && count == 2)
        try realm.write { note.tags[1] = note.tags[1] }
        try realm.write {}
        #expect(count == 3, "a slot that is set is modified")
        try realm.write { note.tags.removeAll() }
        try realm.write {}
        try realm.write { note.tags.removeAll() }
        try realm.write {}
        #expect(count == 4 && shown.isEmpty, "144: emptying what is empty is no change")
        token.invalidate()
    }

    @Test func rules140And143And150WhenCallbacksRun() throws {
        let realm = try filled()
        let notes = realm.objects(Note.self)
        var order: [String] = []
        var inner: NotificationToken?
        let token = notes.observe { change in
            switch change {
            case .initial: order.append("initial")
            case .update(let collection, _, _, _):
                order.append("outer")
                #expect(collection == notes, "150")
                if inner == nil { inner = notes.observe { _ in order.append("inner") } }
            case .error: break
            }
        }
        realm.refresh()
        try realm.write {
            realm.create(Note.self, value: ["id": 9])
            #expect(order == ["initial"], "nothing is notified within a write")
        }
        try realm.write {}
        #expect(order.filter { $0 == "outer" }.count == 1, "143")
        #expect(order.prefix(2) == ["initial", "outer"], "140: the new block is not called in the same round")
        token.invalidate()
        inner?.invalidate()
    }

    @Test func rule151SkippingIsForOneCommit() throws {
        let url = temporaryURL()
        let realm = try filled(url: url)
        let notified = Notified()
        let token = realm.objects(Note.self).observe { notified.add($0) }
        realm.refresh()
        _ = notified.take()
        try realm.write(withoutNotifying: [token]) { _ = realm.create(Note.self, value: ["id": 5]) }
        try inAThread {
            let other = try makeRealm([Note.self], url: url)
            try other.write { _ = other.create(Note.self, value: ["id": 6]) }
        }
        realm.refresh()
        #expect(notified.take() == ["-[] +[6] ~[]"])
        token.invalidate()
    }

    @Test func rules35And99RealmsLearnOfWrites() throws {
        let url = temporaryURL()
        let realm = try filled(url: url)
        var received: [String] = []
        var wrote = false
        let token = realm.observe { notification, realm in
            received.append("\(notification)")
            guard notification == .didChange, !wrote else { return }
            wrote = true
            try? realm.write { _ = realm.create(Note.self, value: ["id": 50]) }
        }
        realm.beginWrite()
        realm.create(Note.self, value: ["id": 7])
        #expect(received.isEmpty)
        try realm.commitWrite()
        #expect(received.first == "didChange" && realm.objects(Note.self).count == 7, "35: within commitWrite")
        token.invalidate()
    }

    @Test func rule149RepresentativesAreNotified() throws {
        let realm = try filled()
        try realm.write { for note in realm.objects(Note.self) { note.rank = note.id % 2 } }
        let notified = Notified()
        let token = realm.objects(Note.self).sorted(byKeyPath: "id").distinct(by: ["rank"]).observe { notified.add($0) }
        realm.refresh()
        #expect(notified.take() == ["initial 2"])
        try realm.write { try note(realm, 4).text = "no representative" }
        try realm.write {}
        #expect(notified.take().isEmpty)
        try realm.write { realm.delete(try note(realm, 0)) }
        try realm.write {}
        let changes = notified.take()
        #expect(changes.count == 1 && realm.objects(Note.self).distinct(by: ["rank"]).count == 2)
        token.invalidate()
    }

    @Test func rules158And142ObservingElsewhere() async throws {
        #expect(misuses { _ = Note().observe { (_: ObjectChange<Note>) in } }.first?.contains("managed") == true)
        #expect(misuses { _ = List<Int>().observe { _ in } }.first?.contains("managed") == true)
        let url = temporaryURL()
        let queue = DispatchQueue(label: "elsewhere")
        let notified = Locked<[Int]>([])
        let token: NotificationToken = try inAThread {
            let realm = try filled(url: url)
            return realm.objects(Note.self).observe(on: queue) { change in
                dispatchPrecondition(condition: .onQueue(queue))
                if case .initial(let notes) = change { notified.withLock { $0.append(notes.count) } }
                if case .update(let notes, _, _, _) = change { notified.withLock { $0.append(notes.count) } }
            }
        }
        try await eventually { notified.withLock { $0 } == [5] }
        try inAThread {
            let realm = try makeRealm([Note.self], url: url)
            try realm.write { _ = realm.create(Note.self, value: ["id": 8]) }
        }
        try await eventually { notified.withLock { $0 } == [5, 6] }
        token.invalidate()
    }

    // MARK: Sections

    @Test func rules166And167KeysThatChange() throws {
        let realm = try filled()
        let sections = realm.objects(Note.self).sectioned(
            by: { $0.rank >= 20 }, sortDescriptors: [SortDescriptor(keyPath: "id")])
        let notified = Notified()
        let token = sections.observe(keyPaths: ["text"]) { notified.add($0) }
        realm.refresh()
        #expect(notified.take() == ["initial 2"] && sections.allKeys == [false, true])
        try realm.write { try note(realm, 3).rank = 0 }
        try realm.write {}
        #expect(notified.take() == ["-[\"1.1\"] +[\"0.2\"] ~[] +[] -[]"], "whatever the key paths")
        try realm.write {
            try note(realm, 0).text = "x"
            try note(realm, 1).rank = 70
            try note(realm, 4).text = "y"
        }
        try realm.write {}
        #expect(notified.take() == ["-[\"0.1\"] +[\"1.0\"] ~[\"0.0\", \"1.1\"] +[] -[]"])
        token.invalidate()
    }

    @Test func rule169KeysAreAskedForOnceAChange() throws {
        let realm = try filled()
        var calls = 0
        let sections = realm.objects(Note.self).sectioned(
            by: { note -> Int in
                calls += 1
                return note.rank
            }, sortDescriptors: [SortDescriptor(keyPath: "id")])
        #expect(calls == 0, "lazy")
        #expect(sections.count == 5 && sections.allKeys.count == 5 && sections.map { $0[0].id } == [0, 1, 2, 3, 4])
        #expect(calls == 5)
        try realm.write { try note(realm, 0).text = "x" }
        #expect(sections.count == 5 && sections[4].key == 40 && calls == 10)
    }

    @Test func rules170And171KeysAndCollections() throws {
        let realm = try makeRealm([Sample.self, Spot.self, Place.self])
        try QueryRulesTests.fill(realm)
        let samples = realm.objects(Sample.self)
        func keys<Key: _Persistable & Hashable>(_ path: KeyPath<Sample, Key>) -> [Key] {
            samples.sectioned(by: path).allKeys
        }
        #expect(keys(\.n) == [nil, 0, 1, 2, 3] && keys(\.flag) == [false, true])
        #expect(keys(\.name).count == 5 && keys(\.date) == [nil, Date(timeIntervalSince1970: 0)])
        #expect(keys(\.data).first == .some(nil) && keys(\.decimal).count == 3)
        #expect(keys(\.any).count == 5, "equal numbers of other types are other keys")
        let two = try #require(realm.object(ofType: Sample.self, forPrimaryKey: 2))
        #expect(two.friends.sectioned(by: \.flag).map(\.count) == [1, 1])
        #expect(AnyRealmCollection(two.friends).sectioned(by: \.flag).allKeys == [false, true])
        #expect(two.tags.sectioned(by: { $0.count }).allKeys == [3])
        let frozen = samples.freeze().sectioned(by: \.flag)
        #expect(frozen.isFrozen && frozen.allKeys == [false, true])
        #expect(misuses { _ = List<Int>().sectioned(by: { $0 }).count }.count >= 1, "unmanaged")
        #expect(samples.sectioned(by: \.n, ascending: false).allKeys == [3, 2, 1, 0, nil], "163")
    }
}
