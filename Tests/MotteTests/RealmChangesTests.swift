// Changes as asynchronous sequences: on actors, combined while the loop is busy, and until the task is cancelled.
import Foundation
import Motte
import MotteValues
import Testing

private class Post: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var text: String
    @Persisted var rank: Int
    @Persisted var marks: Map<String, Int>
}

private final class PostTitle: Projection<Post> {
    @Projected(\Post.text) var title
}

extension Realm {
    fileprivate func put(_ ids: Range<Int>) throws {
        try write { for id in ids { create(Post.self, value: ["id": id, "rank": id], update: .modified) } }
    }
}

private func text<C: RealmCollection>(_ change: RealmCollectionChange<C>?) -> String {
    switch change {
    case .initial(let collection): "initial \(collection.count)"
    case .update(_, let deletions, let insertions, let modifications): "-\(deletions)+\(insertions)~\(modifications)"
    case .error(let error): "\(error)"
    case nil: "end"
    }
}

private func text<T>(_ change: ObjectChange<T>?) -> String {
    switch change {
    case .change(_, let properties):
        properties.map { "\($0.name):\($0.oldValue ?? "nil")>\($0.newValue ?? "nil")" }.joined(separator: " ")
    case .deleted: "deleted"
    case .error(let error): "\(error)"
    case nil: "end"
    }
}

private actor Reader {
    private var realm: Realm?
    private(set) var seen: [String] = []

    func open(_ configuration: Realm.Configuration) async throws {
        realm = try await Realm.open(configuration: configuration)
    }

    /// Until `count` changes were seen or the task is cancelled.
    func follow(_ count: Int) async {
        guard let realm else { return }
        for await change in realm.objects(Post.self).changes() {
            seen.append(text(change))
            if seen.count == count { break }
        }
        seen.append("end")
    }
}

@Suite struct RealmChangesTests {
    @MainActor @Test func combinesWhatHappensWhileNobodyLooks() async throws {
        let realm = try makeRealm([Post.self])
        try realm.put(0 ..< 3)
        let changes = realm.objects(Post.self).changes().makeAsyncIterator()
        realm.refresh()
        #expect(text(await changes.next(isolation: #isolation)) == "initial 3")
        try realm.put(3 ..< 5)
        try realm.write { realm.delete(realm.objects(Post.self)[0]) }
        try realm.write { realm.objects(Post.self)[0].text = "x" }
        #expect(text(await changes.next(isolation: #isolation)) == "-[0]+[2, 3]~[1]")
        let ranks = realm.objects(Post.self).changes(keyPaths: [\Post.rank]).makeAsyncIterator()
        realm.refresh()
        #expect(text(await ranks.next(isolation: #isolation)) == "initial 4")
        try realm.write { realm.objects(Post.self)[1].text = "y" }
        try realm.write { realm.objects(Post.self)[2].rank = 9 }
        #expect(text(await ranks.next(isolation: #isolation)) == "-[]+[]~[2]")
    }

    @MainActor @Test func objectsAndProjectionsEndWithTheObject() async throws {
        let realm = try makeRealm([Post.self])
        try realm.put(0 ..< 1)
        let post = realm.objects(Post.self)[0]
        let whole = post.changes().makeAsyncIterator()
        let ranks = post.changes(keyPaths: [\Post.rank]).makeAsyncIterator()
        let titles = PostTitle(projecting: post).changes().makeAsyncIterator()
        try realm.write { post.text = "a" }
        try realm.write {
            post.text = "b"
            post.rank = 1
        }
        #expect(text(await whole.next(isolation: #isolation)) == "text:nil>b rank:nil>1")
        #expect(text(await titles.next(isolation: #isolation)) == "title:nil>b")
        try realm.write { realm.delete(post) }
        // What waited is notified with the last.
        for part in [text(await whole.next(isolation: #isolation)), text(await ranks.next(isolation: #isolation))] {
            #expect(part == "deleted")
        }
        #expect(text(await titles.next(isolation: #isolation)) == "deleted")
        #expect(text(await whole.next(isolation: #isolation)) == "end")
        #expect(text(await titles.next(isolation: #isolation)) == "end")
    }

    @MainActor @Test func mapsAndRealms() async throws {
        let realm = try makeRealm([Post.self])
        try realm.put(0 ..< 1)
        let post = realm.objects(Post.self)[0]
        let moves = realm.changes().makeAsyncIterator()
        let marks = post.marks.changes().makeAsyncIterator()
        try realm.write { post.marks["a"] = 1 }
        guard case .initial(let map)? = await marks.next(isolation: #isolation) else {
            Issue.record("no initial state")
            return
        }
        #expect(map["a"] == 1)
        try realm.write { post.marks["b"] = 1 }
        try realm.write { post.marks["a"] = nil }
        guard case .update(_, let deletions, let insertions, _)? = await marks.next(isolation: #isolation) else {
            Issue.record("no update")
            return
        }
        #expect(deletions == ["a"] && insertions == ["b"])
        #expect(await moves.next(isolation: #isolation) == .didChange)
    }

    @MainActor @Test func sectionsAreCombinedToo() async throws {
        let realm = try makeRealm([Post.self])
        try realm.put(0 ..< 2)
        let sections = realm.objects(Post.self).sectioned(by: \.rank)
        let changes = sections.changes().makeAsyncIterator()
        realm.refresh()
        guard case .initial(let shown)? = await changes.next(isolation: #isolation) else {
            Issue.record("no initial state")
            return
        }
        #expect(shown.count == 2)
        try realm.put(2 ..< 3)
        try realm.write { realm.delete(realm.objects(Post.self)[0]) }
        guard case .update(_, _, let insertions, _, let come, let gone)? = await changes.next(isolation: #isolation)
        else {
            Issue.record("no update")
            return
        }
        #expect(insertions == [IndexPath(item: 0, section: 1)] && Array(come) == [1] && Array(gone) == [0])
    }

    @Test func loopsOnActorsLearnOfCommitsByOthersAndEnd() async throws {
        let configuration = Realm.Configuration(fileURL: temporaryURL(), objectTypes: [Post.self])
        let reader = Reader()
        try await reader.open(configuration)
        let task = Task { await reader.follow(2) }
        try await settled { await reader.seen == ["initial 0"] }
        let writer = Task.detached { try Realm(configuration: configuration).put(0 ..< 2) }
        try await writer.value
        await task.value
        #expect(await reader.seen == ["initial 0", "-[]+[0, 1]~[]", "end"])
        let cancelled = Task { await reader.follow(100) }
        try await settled { await reader.seen.count == 4 }
        cancelled.cancel()
        await cancelled.value
        #expect(await reader.seen.dropFirst(3) == ["initial 2", "end"])
    }

    @MainActor @Test func nothingToObserveEndsAtOnce() async throws {
        var made: RealmChanges<RealmCollectionChange<List<Int>>>.AsyncIterator?
        #expect(misuses { made = List<Int>().changes().makeAsyncIterator() }.count == 1)
        #expect(text(await made?.next(isolation: #isolation)) == "end")
    }
}

/// Waits at most ten seconds.
private func settled(_ isTrue: () async -> Bool) async throws {
    for _ in 0 ..< 2_000 {
        if await isTrue() { return }
        try await Task.sleep(nanoseconds: 5_000_000)
    }
    Issue.record("it did not happen within ten seconds")
}
