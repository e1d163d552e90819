// For whom the change log is kept: each consumer has a position of its own, the oldest counts, bytes may be anything.
import MottePages
import MotteStorage
import MotteValues
import TestSupport
import Testing

@Suite struct KeptChangesTests {
    private typealias Store = ChangeBatchTests.Store

    private func store() throws -> Store { try Store("Person { id: int key, name: string }") }

    private func commit(_ store: Store, _ ids: Range<Int>) throws {
        let table = try #require(store.snapshot.schema["Person"]?.tableKey)
        for id in ids { try store.write { _ = try $0.create(table, primaryKey: .int(Int64(id))) } }
    }

    private func keep(_ store: Store, _ version: Version?, for name: String) throws {
        try store.write { try $0.keepChanges(since: version, for: name) }
    }

    @Test func theLogIsKeptFromTheOldestOn() throws {
        let store = try store()
        let start = store.version
        try keep(store, start, for: "far")
        try keep(store, start, for: "near")
        try store.write { try $0.keepChanges(since: start) }
        try commit(store, 0 ..< 200)
        try keep(store, store.version, for: "near")
        try store.write { try $0.keepChanges(since: store.version) }
        try commit(store, 200 ..< 400)
        #expect(try store.batch(from: start).from == start)
        let kept = try store.snapshot.keptChanges()
        #expect(kept.oldest == start && kept.consumers.map(\.name) == ["far", "near"] && kept.unnamed != nil)
        let near = try #require(kept["near"]?.version)
        // One of them is gone: the next one counts.
        try keep(store, nil, for: "far")
        try commit(store, 400 ..< 600)
        #expect(throws: DatabaseError.self) { _ = try store.batch(from: start) }
        #expect(try store.batch(from: near).from == near)
        try keep(store, nil, for: "near")
        try store.write { try $0.keepChanges(since: nil) }
        try commit(store, 600 ..< 800)
        #expect(throws: DatabaseError.self) { _ = try store.batch(from: near) }
        #expect(try store.snapshot.keptChanges() == KeptChanges())
        #expect(try store.snapshot.verify().isSound)
    }

    /// The commit that asks may be one that trims the log, as each 64th is.
    @Test(arguments: ["feed", nil]) func theCommitThatAsksKeepsThemAlready(name: String?) throws {
        let store = try store()
        try commit(store, 0 ..< 127 - Int(store.version.rawValue))
        #expect(store.version.rawValue == 127)
        let start = Version(100)
        try store.write { write in
            if let name { try write.keepChanges(since: start, for: name) } else { try write.keepChanges(since: start) }
        }
        #expect(try store.batch(from: start).from == start)
        #expect(try HistoryLog.oldestVersion(in: store.snapshot.pages) == Version(101))
        #expect(try store.snapshot.consumers().allSatisfy(\.backlog.isKept))
    }

    @Test func ofOneWriteTheLastCounts() throws {
        let store = try store()
        try store.write { (write: WriteTransaction) throws -> Void in
            for version in [1, 0] as [UInt64] { #expect(try write.keepChanges(since: Version(version), for: "a")) }
            #expect(try write.keepChanges(since: Version(1), for: "b"))
            #expect(try write.keepChanges(since: nil, for: "b"))
            #expect(try !write.keepChanges(since: nil, for: "b"))
        }
        #expect(try store.snapshot.keptChanges().consumers.map(\.version) == [Version(0)])
    }

    @Test func aPositionSaysWhenItWasCommitted() throws {
        let store = try store()
        try commit(store, 0 ..< 3)
        let version = store.version
        let time = try store.database.ownPosition(store.snapshot).wallTimeNanoseconds
        try keep(store, version, for: "a")
        #expect(try time > 0 && store.snapshot.keptChanges()["a"]?.wallTimeNanoseconds == time)
        // Also when the record of that version is gone.
        try commit(store, 3 ..< 200)
        #expect(try store.database.changeChecksum(of: version, store.snapshot) == 0)
        try keep(store, version, for: "a")
        #expect(try store.snapshot.keptChanges()["a"]?.wallTimeNanoseconds == time)
    }

    @Test func whatHasNoEffectIsNoBacklog() throws {
        let store = try store()
        try commit(store, 0 ..< 3)
        let version = store.version
        try keep(store, version, for: "a")
        try keep(store, version, for: "b")
        #expect(try store.version > version && store.snapshot.backlog(after: version) == ChangeBacklog())
        try commit(store, 3 ..< 5)
        try keep(store, version, for: "b")
        var backlog = try store.snapshot.backlog(after: version)
        #expect(backlog.commits == 2 && backlog.isKept && backlog.wallTimeNanoseconds > 0)
        #expect(try store.snapshot.backlog(after: store.version).commits == 0)
        #expect(try store.snapshot.backlog(after: Version(store.version.rawValue + 9)).commits == 0)
        try keep(store, nil, for: "a")
        try keep(store, nil, for: "b")
        try commit(store, 5 ..< 200)
        backlog = try store.snapshot.backlog(after: version)
        #expect(!backlog.isKept && backlog.commits == store.version.rawValue - version.rawValue)
    }

    @Test func aCopyKeepsNothingForOthers() throws {
        let folder = TemporaryDirectory()
        let store = try store()
        try commit(store, 0 ..< 3)
        try keep(store, store.version, for: "a")
        try store.write { try $0.keepChanges(since: store.version) }
        let path = folder.file("copy.motte")
        try store.database.copy(store.snapshot.pages, to: path)
        let copy = try Store(nil, .file(path))
        #expect(try copy.snapshot.keptChanges() == KeptChanges())
    }

    @Test func namesAndTheirNumberHaveLimits() throws {
        let store = try store()
        for name in ["", String(repeating: "n", count: KeptChanges.longestName + 1)] {
            let error = #expect(throws: DatabaseError.self) { try keep(store, Version(0), for: name) }
            #expect(error?.code == .invalidArgument)
        }
        let longest = String(repeating: "ü", count: KeptChanges.longestName / 2 - 1)
        for number in 0 ..< KeptChanges.mostConsumers {
            try keep(store, Version(1), for: longest + "\(number % 8)\(number / 8)")
        }
        let error = #expect(throws: DatabaseError.self) { try keep(store, Version(1), for: "one more") }
        #expect(error?.code == .outOfBounds && error?.message.contains("--drop") == true)
        let kept = try store.snapshot.keptChanges()
        #expect(kept.consumers.count == KeptChanges.mostConsumers)
        // Texts that are equal to people are not the same name.
        try keep(store, nil, for: longest + "00")
        try keep(store, Version(1), for: "\u{E9}")
        #expect(try store.snapshot.keptChanges()["e\u{301}"] == nil)
        #expect(try store.snapshot.verify().isSound)
    }

    // MARK: Bytes

    private func decoded(_ body: [UInt8]) throws -> KeptChanges {
        try ReplicaPages.sealed(KeptChanges.kind, body, key: ReplicaPages.kept).withUnsafeBytes {
            try KeptChanges(decoding: $0)
        }
    }

    private func number(_ value: UInt64) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(u64: value)
        return bytes
    }

    @Test func theFirstNumberIsTheOldestOfAll() throws {
        var kept = KeptChanges()
        kept.keep(since: Version(9))
        // Nobody has a name.
        #expect(kept.page.count == 16 && Array(kept.page[8...]) == number(9))
        #expect(try decoded(number(9)) == kept)
        #expect(try decoded(number(.max)) == KeptChanges())
        try kept.keep(since: Version(7), for: "b", wallTimeNanoseconds: 5)
        try kept.keep(since: Version(8), for: "a", wallTimeNanoseconds: -1)
        #expect(Array(kept.page[8 ..< 16]) == number(7))
        #expect(try decoded(Array(kept.page[8...])) == kept)
        kept.keep(since: nil)
        #expect(try decoded(Array(kept.page[8...])) == kept)
    }

    @Test func otherBytesAreDamage() throws {
        var kept = KeptChanges()
        try kept.keep(since: Version(7), for: "first", wallTimeNanoseconds: 5)
        try kept.keep(since: Version(8), for: "second", wallTimeNanoseconds: 6)
        let page = kept.page
        for bit in 0 ..< page.count * 8 {
            var changed = page
            changed[bit / 8] ^= 1 << UInt8(bit % 8)
            #expect(throws: DatabaseError.self) { try changed.withUnsafeBytes { _ = try KeptChanges(decoding: $0) } }
        }
        let body = Array(page[8...])
        for count in 9 ..< body.count {
            #expect(throws: DatabaseError.self, "\(count)") { _ = try decoded(Array(body.prefix(count))) }
        }
        #expect(throws: DatabaseError.self) { _ = try decoded(body + [0]) }
        // With a checksum that is right: an error, or what is written in the same way.
        var random = SeededRandom(seed: 11)
        for _ in 0 ..< 20_000 {
            var changed = body
            for _ in 0 ... random.below(3) { changed[random.below(changed.count)] = UInt8(random.below(256)) }
            guard let found = try? decoded(changed) else { continue }
            #expect(Array(found.page[8...]) == changed)
        }
    }
}
