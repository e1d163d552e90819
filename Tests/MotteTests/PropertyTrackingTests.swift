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
}

private final class Told: Sendable {
    private let counter = Locked(0)
    var count: Int { counter.withLock { $0 } }
    func tell() { counter.withLock { $0 += 1 } }
}

private func track<T>(_ read: () -> T) -> Told {
    let told = Told()
    _ = withObservationTracking(read) { told.tell() }
    return told
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

    @Test func ownWritesAreToldOnceAndOnlyOfWhatWasRead() throws {
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

    @Test func changesByOthersAreToldWhenTheRealmMoves() throws {
        let told = track { (song.title, song.next?.title) }
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
        #expect(told.count == 0)
        realm.refresh()
        #expect(told.count == 1)
    }

    @Test func deletionAndReadsWithinWrites() throws {
        let deleted = track { song.title }
        var within: Told?
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
        let told = track { 0 }
        for _ in 0 ..< 3 { #expect(song.title == "a") }
        try realm.write { song.title = "x" }
        #expect(told.count == 0 && song.title == "x")
    }
}
