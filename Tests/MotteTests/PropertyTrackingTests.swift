// Managed objects under `withObservationTracking`: what was read is tracked, by whomever it is changed.
import Foundation
import Motte
import MotteValues
import Observation
import Testing

private class Song: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var title: String
    @Persisted var rating: Int?
    @Persisted var next: Song?
    @Persisted var covers: List<Song>
    @Persisted var tags: MutableSet<String>
    @Persisted var notes: Map<String, Int>
    @Persisted var marks: List<Int>
    @Persisted var anything: AnyRealmValue
    @Persisted(originProperty: "next") var earlier: LinkingObjects<Song>
}

private final class Notified: Sendable {
    private let counter = Locked(0)
    var count: Int { counter.withLock { $0 } }
    func tell() { counter.withLock { $0 += 1 } }
}

private func track<T>(_ read: () -> T) -> Notified {
    let notified = Notified()
    _ = withObservationTracking(read) { notified.tell() }
    return notified
}

@Suite struct PropertyTrackingTests {
    let realm: Realm
    private let song: Song

    init() throws {
        let realm = try makeRealm([Song.self])
        self.realm = realm
        try realm.write {
            let second = realm.create(Song.self, value: ["id": 2, "title": "b"])
            realm.create(Song.self, value: ["id": 1, "title": "a", "next": second])
        }
        let found = realm.object(ofType: Song.self, forPrimaryKey: 1)
        song = try #require(found)
    }

    @Test func ownWritesAreNotifiedOnceAndOnlyOfWhatWasRead() throws {
        let titles = track { song.title }
        let ratings = track { song.rating }
        try realm.write { song.title = "new" }
        #expect(titles.count == 1 && ratings.count == 0)
        try realm.write { song.title = "newer" }
        #expect(titles.count == 1)
        try realm.write { song.rating = 3 }
        #expect(ratings.count == 1)
        // Equal values are no change, and what was not committed is none.
        let again = track { song.title }
        try realm.write { song.title = "newer" }
        realm.beginWrite()
        song.title = "not kept"
        realm.cancelWrite()
        #expect(again.count == 0)
    }

    @Test func changesByOthersAreNotifiedWhenTheRealmMoves() throws {
        let notified = track { (song.title, song.next?.title) }
        let configuration = realm.configuration
        let other = Thread {
            do {
                let realm = try Realm(configuration: configuration)
                try realm.write { realm.object(ofType: Song.self, forPrimaryKey: 2)?.title = "elsewhere" }
            } catch {
                Issue.record(error)
            }
        }
        other.start()
        while !other.isFinished { sched_yield() }
        #expect(notified.count == 0)
        realm.refresh()
        #expect(notified.count == 1)
    }

    @Test func deletionAndReadsWithinWrites() throws {
        let deleted = track { song.title }
        var within: Notified?
        try realm.write {
            song.rating = 1
            within = track { song.rating }
        }
        #expect(within?.count == 0 && deleted.count == 0)
        try realm.write { song.rating = 2 }
        #expect(within?.count == 1)
        try realm.write { realm.delete(song) }
        #expect(deleted.count == 1)
    }

    @Test func nothingIsTrackedOutside() throws {
        let notified = track { 0 }
        for _ in 0 ..< 3 { #expect(song.title == "a") }
        try realm.write { song.title = "x" }
        #expect(notified.count == 0 && song.title == "x")
    }

    @Test func collectionsAreTrackedByWhatTheyConsistOf() throws {
        let all = realm.objects(Song.self), rated = all.filter("rating > 1").sorted(byKeyPath: "title")
        let notified: [String: Notified] = [
            "all": track { all.count }, "rated": track { Array(rated) }, "covers": track { song.covers.first },
            "tags": track { song.tags.contains("x") }, "notes": track { song.notes["k"] },
            "marks": track { song.marks.sum() }, "earlier": track { song.earlier.isEmpty },
        ]
        func received() -> [String] { notified.filter { $0.value.count == 1 }.keys.sorted() }
        try realm.write { song.title = "other" }
        #expect(received().isEmpty && notified.values.allSatisfy { $0.count == 0 })
        try realm.write { song.rating = 2 }
        #expect(received() == ["rated"])
        try realm.write {
            song.covers.append(song)
            song.marks.append(3)
        }
        #expect(received() == ["covers", "marks", "rated"])
        try realm.write {
            song.tags.insert("x")
            song.notes["k"] = 1
            song.next?.next = song
        }
        #expect(received() == ["covers", "earlier", "marks", "notes", "rated", "tags"])
        try realm.write { _ = realm.create(Song.self, value: ["id": 3]) }
        #expect(received().count == 7 && notified.values.allSatisfy { $0.count == 1 })
        let mixed = track { song.anything }
        try realm.write { song.anything = 5 }
        #expect(mixed.count == 1)
        let again = track { song.marks.count }
        try realm.write { song.marks[0] = 4 }
        #expect(again.count == 1)
        let gone = track { song.marks.count }
        try realm.write { realm.delete(song) }
        #expect(gone.count == 1)
    }
}
