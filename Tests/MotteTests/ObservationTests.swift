// observing changes: on this thread, on queues and actors, with key paths, without a token's own writes.
import Dispatch
import Foundation
import Motte
import MotteValues
import Testing

class Note: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var text: String
    @Persisted var rank: Int
    @Persisted var tags: List<String>
    @Persisted var marks: Map<String, Int>
    @Persisted var next: Note?
}

private final class Log: @unchecked Sendable {  // @unchecked: the lock
    private let lock = NSLock()
    private var entries: [String] = []
    func add(_ text: String) { lock.withLock { entries.append(text) } }
    var all: [String] { lock.withLock { entries } }
    func take() -> [String] {
        lock.withLock {
            defer { entries = [] }
            return entries
        }
    }

    func collection<C: RealmCollection>(_ change: RealmCollectionChange<C>) {
        switch change {
        case .initial(let collection): add("initial \(collection.count)")
        case .update(_, let deletions, let insertions, let modifications):
            add("-\(deletions)+\(insertions)~\(modifications)")
        case .error(let error): add("\(error)")
        }
    }
}

@Suite struct ObservationTests {
    let realm: Realm

    init() throws { realm = try makeRealm([Note.self]) }

    private func fill(_ count: Int) throws {
        try realm.write { for id in 0 ..< count { realm.create(Note.self, value: ["id": id, "rank": id]) } }
    }

    @Test func collectionsTellWhatChanged() throws {
        try fill(4)
        let log = Log()
        let token = realm.objects(Note.self).filter("rank < 3").sorted(byKeyPath: "rank").observe { log.collection($0) }
        realm.refresh()
        #expect(log.take() == ["initial 3"])
        try realm.write {
            realm.objects(Note.self)[0].rank = 10
            realm.objects(Note.self)[3].rank = 0
            realm.objects(Note.self)[2].text = "changed"
        }
        #expect(log.take() == ["-[0]+[0]~[2]"])
        token.invalidate()
        try realm.write { realm.deleteAll() }
        #expect(log.take().isEmpty)
    }

    /// The document's own example: observe and write at once gives one initial call with what was written.
    @Test func theFirstCallShowsWhatWasWrittenMeanwhile() throws {
        let log = Log()
        let token = realm.objects(Note.self).observe { log.collection($0) }
        try fill(1)
        #expect(log.take() == ["initial 1"])
        token.invalidate()
    }

    @Test func keyPathsNarrowWhatCounts() throws {
        try fill(3)
        let notes = realm.objects(Note.self)
        try realm.write { notes[0].next = notes[1] }
        let (texts, members, through) = (Log(), Log(), Log())
        let tokens = [
            notes.observe(keyPaths: ["text"]) { texts.collection($0) },
            notes.observe(keyPaths: [String]()) { members.collection($0) },
            notes.observe(keyPaths: [\Note.next?.text]) { through.collection($0) },
        ]
        realm.refresh()
        for log in [texts, members, through] { #expect(log.take() == ["initial 3"]) }
        try realm.write { notes[1].text = "x" }
        #expect(texts.take() == ["-[]+[]~[1]"] && members.take().isEmpty && through.take() == ["-[]+[]~[0]"])
        try realm.write { notes[2].rank = 9 }
        #expect(texts.take().isEmpty && members.take().isEmpty && through.take().isEmpty)
        #expect(misuses { _ = notes.observe(keyPaths: ["nothing"]) { _ in } }.count == 1)
        withExtendedLifetime(tokens) {}
    }

    @Test func listsMapsAndObjects() throws {
        try fill(1)
        let note = realm.objects(Note.self)[0]
        let (lists, maps, objects) = (Log(), Log(), Log())
        let tokens = [
            note.tags.observe { lists.collection($0) },
            note.marks.observe { change in
                if case .update(_, let deletions, let insertions, let modifications) = change {
                    maps.add("-\(deletions)+\(insertions)~\(modifications)")
                }
            },
            note.observe { change in
                switch change {
                case .change(let object, let properties):
                    objects.add("\(object.id): " + properties.map { "\($0.name)=\($0.newValue ?? "nil")" }.joined())
                case .deleted: objects.add("deleted")
                case .error(let error): objects.add("\(error)")
                }
            },
        ]
        try realm.write { note.tags.append(objectsIn: ["a", "b"]) }
        #expect(lists.take() == ["initial 2"])
        try realm.write {
            note.tags.remove(at: 0)
            note.marks["k"] = 1
            note.text = "new"
        }
        #expect(lists.take() == ["-[0]+[]~[]"] && maps.take() == ["-[]+[\"k\"]~[]"])
        #expect(objects.take().contains { $0.contains("text=new") })
        try realm.write { realm.delete(note) }
        #expect(objects.take() == ["deleted"])
        withExtendedLifetime(tokens) {}
    }

    @Test func writesWithoutNotifying() throws {
        try fill(1)
        let (skipped, notified) = (Log(), Log())
        let first = realm.objects(Note.self).observe { skipped.collection($0) }
        let second = realm.objects(Note.self).observe { notified.collection($0) }
        realm.refresh()
        _ = (skipped.take(), notified.take())
        try realm.write(withoutNotifying: [first]) { realm.objects(Note.self)[0].rank = 5 }
        #expect(skipped.take().isEmpty && notified.take() == ["-[]+[]~[0]"])
        withExtendedLifetime((first, second)) {}
    }

    @Test func theRealmItself() throws {
        let log = Log()
        let token = realm.observe { notification, _ in log.add(notification.rawValue) }
        try fill(1)
        #expect(log.take() == ["didChange"])
        token.invalidate()
    }

    @Test func onAQueue() async throws {
        try fill(1)
        let log = Log()
        let queue = DispatchQueue(label: "observing")
        let token = realm.objects(Note.self).observe(on: queue) { log.collection($0) }
        try await eventually { log.all == ["initial 1"] }
        let configuration = realm.configuration
        try await Task.detached {
            let other = try Realm(configuration: configuration)
            try other.write { other.create(Note.self, value: ["id": 50]) }
        }.value
        try await eventually { log.all.count == 2 }
        #expect(log.all[1] == "-[]+[1]~[]")
        token.invalidate()
    }

    @Test func onAnActor() async throws {
        let log = Log()
        let observer = Watcher()
        let token = try await observer.watch(realm.configuration, log)
        try await eventually { log.all == ["initial 0"] }
        try await observer.add(7)
        try await eventually { log.all.count == 2 }
        #expect(log.all.last == "-[]+[0]~[]")
        token.invalidate()
    }

    @Test func misuseOfObserving() throws {
        try fill(1)
        let notes = realm.objects(Note.self)
        #expect(try misuses { try realm.write { _ = notes.observe { _ in } } }.count == 1)
        #expect(misuses { _ = notes.freeze().observe { _ in } }.count == 1)
        #expect(misuses { _ = Note().observe { _ in } }.count == 1)
        #expect(misuses { _ = List<Int>().observe { _ in } }.count == 1)
    }
}

private actor Watcher {
    private var realm: Realm?

    func watch(_ configuration: Realm.Configuration, _ log: Log) async throws -> NotificationToken {
        let realm = try await Realm.open(configuration: configuration)
        self.realm = realm
        return await realm.objects(Note.self).observe(on: self) { _, change in log.collection(change) }
    }

    func add(_ id: Int) async throws {
        guard let realm else { return }
        try await realm.asyncWrite { realm.create(Note.self, value: ["id": id]) }
    }
}

/// Waits at most ten seconds.
func eventually(_ isTrue: () -> Bool) async throws {
    for _ in 0 ..< 2_000 where !isTrue() { try await Task.sleep(nanoseconds: 5_000_000) }
    #expect(isTrue())
}
