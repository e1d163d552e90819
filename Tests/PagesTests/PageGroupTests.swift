// Groups of commits: between them the holder of the lock sees what a dictionary says, others see nothing, and the
// flush makes all of it the file's or none.
import MottePages
import MotteValues
import TestSupport
import Testing

@Suite struct PageGroupTests {
    private func key(_ number: Int) -> String { "k\(number)" }

    @Test(arguments: StoreForm.allCases)
    func membersAgreeWithADictionary(_ form: StoreForm) throws {
        try PropertyTest.run(rounds: 6) { random, comment in
            let test = try TestStore(form)
            var model: [String: [UInt8]] = [:]
            for _ in 0 ..< 4 {
                let before = model
                let lock = try test.store.lockForWriting(timeoutMilliseconds: 0)
                let old = try test.store.snapshot()
                let group = try PageGroup(test.store, lock: lock)
                var shown: [(PageSnapshot, [String: [UInt8]])] = []
                var version = old.version.rawValue
                for _ in 0 ..< random.below(12) {
                    let changes = (0 ..< random.below(random.chance(20) ? 300 : 12)).map { _ in
                        let size = random.pick([0, 3, 300, 4500])
                        let value: [UInt8]? =
                            random.chance(40)
                            ? nil : [UInt8](repeating: UInt8(truncatingIfNeeded: random.next()), count: size)
                        return (key(random.below(400)), value)
                    }
                    for (key, value) in changes { model[key] = value }
                    version += 1
                    let snapshot = try batch(changes) {
                        try group.add(&$0, version: Version(version), alone: random.chance(5))
                    }
                    shown.append((snapshot, model))
                }
                for (snapshot, model) in shown { try agree(snapshot, model, &random, comment) }
                if random.chance(20) {
                    // What went to the file by itself stays; the model does not know what that was.
                    if try test.store.snapshot().version == old.version {
                        group.release()
                        model = before
                        try agree(try test.store.snapshot(), model, &random, comment)
                        continue
                    }
                }
                try group.flush()
                group.release()
                #expect(try test.store.snapshot().version.rawValue == version, "\(comment)")
                try agree(try test.store.snapshot(), model, &random, comment)
                try agree(old, before, &random, comment)
            }
        }
    }

    /// Another failure than that there is no room may have come when the commit was in the file already.
    @Test(arguments: [(ErrorCode.inputOutput, ErrorCode.inputOutput), (.diskFull, .mapFull)])
    func aSecondAttemptSaysWhyItFailed(second: ErrorCode, told: ErrorCode) throws {
        let faults = FaultInjection()
        let test = try TestStore(.file, faults: faults)
        try test.store.commitNext([("old", [1])])
        faults.failCommit(1, with: .mapFull)
        faults.failCommit(2, with: second)
        let lock = try test.store.lockForWriting(timeoutMilliseconds: 0)
        defer { lock.release() }
        let version = Version(try test.store.newestVersion().rawValue + 1)
        var batch = PageBatch()
        batch.put(Array("new".utf8), [2])
        let error = try failure {
            try test.store.commit(&batch, lock: lock, version: version) { $0.delete(Array("old".utf8)) }
        }
        #expect(error.code == told)
        // The third has room.
        try test.store.commit(batch, lock: lock, version: version)
        #expect(try test.store.snapshot().contents().map(\.key) == [Array("new".utf8)])
    }

    private func batch<Result>(
        _ changes: [(String, [UInt8]?)], _ body: (inout PageBatch) throws -> Result
    ) rethrows -> Result {
        var batch = PageBatch()
        for (key, value) in changes {
            if let value { batch.put(Array(key.utf8), value) } else { batch.delete(Array(key.utf8)) }
        }
        return try body(&batch)
    }

    private func agree(
        _ snapshot: PageSnapshot, _ model: [String: [UInt8]], _ random: inout SeededRandom, _ comment: String
    ) throws {
        let expected = model.sorted { Array($0.key.utf8).lexicographicallyPrecedes(Array($1.key.utf8)) }
        let contents = try snapshot.contents()
        #expect(contents.map(\.key) == expected.map { Array($0.key.utf8) }, "\(comment)")
        #expect(contents.map(\.value) == expected.map(\.value), "\(comment)")
        let cursor = try snapshot.makeCursor()
        // Backwards to the header record, which is before all.
        var backwards: [[UInt8]] = []
        var found = try cursor.seekLast(atMost: [255])
        while found, !cursor.key.elementsEqual(FileHeader.key) {
            backwards.append([UInt8](cursor.key))
            found = try cursor.previous()
        }
        #expect(backwards.reversed() == contents.map(\.key), "\(comment)")
        for _ in 0 ..< 8 {
            let name = key(random.below(400))
            let wanted = Array(name.utf8)
            #expect(try snapshot.get(wanted).map { [UInt8]($0.bytes) } == model[name])
            let after = expected.first { !Array($0.key.utf8).lexicographicallyPrecedes(wanted) }
            #expect(try cursor.seek(wanted) == (after != nil), "\(comment)")
            if let after { #expect(cursor.key.elementsEqual(after.key.utf8), "\(comment)") }
            let last = expected.last { !wanted.lexicographicallyPrecedes(Array($0.key.utf8)) }
            #expect(try cursor.seekLast(atMost: wanted), "\(comment)")
            #expect(cursor.key.elementsEqual(last.map { Array($0.key.utf8) } ?? FileHeader.key), "\(comment)")
            // Changes of direction.
            let here = [UInt8](cursor.key)
            if try cursor.next() {
                #expect(try cursor.previous() && cursor.key.elementsEqual(here), "\(comment)")
            } else {
                #expect(cursor.key.elementsEqual(here), "\(comment)")
            }
        }
    }

    @Test(arguments: StoreForm.allCases)
    func nobodySeesAMemberBeforeTheFlush(_ form: StoreForm) throws {
        let test = try TestStore(form)
        try test.commit([("a", [1])])
        let lock = try test.store.lockForWriting(timeoutMilliseconds: 0)
        let group = try PageGroup(test.store, lock: lock)
        let first = try batch([("a", nil), ("b", [2])]) { try group.add(&$0, version: Version(2)) }
        let second = try batch([("a", [3])]) { try group.add(&$0, version: Version(3)) }
        #expect(try first.value("a") == nil && first.value("b") == [2])
        #expect(try second.value("a") == [3] && second.value("b") == [2])
        #expect(try test.store.snapshot().version == Version(1) && test.store.latestVersion == Version(1))
        #expect(try test.store.snapshot().value("a") == [1])
        try group.flush()
        #expect(try test.store.latestVersion == Version(3))
        #expect(try test.store.snapshot().value("a") == [3])
        lock.release()
    }

    @Test(arguments: StoreForm.allCases)
    func aFlushThatFailsTakesTheWholeGroup(_ form: StoreForm) throws {
        let faults = FaultInjection()
        let test = try TestStore(form, faults: faults)
        try test.commit([("a", [1])])
        let group = try PageGroup(test.store, lock: try test.store.lockForWriting(timeoutMilliseconds: 0))
        for version in 2 ..< 5 {
            _ = try batch([("v\(version)", [1])]) { try group.add(&$0, version: Version(UInt64(version))) }
        }
        faults.failCommit(1)
        #expect(try failure { try group.flush() }.code == .inputOutput)
        // It takes nothing more, so that nothing is built upon what is not there.
        #expect(try failure { try group.flush() }.code == .inputOutput)
        let refused = try failure { try batch([("w", [1])]) { _ = try group.add(&$0, version: Version(5)) } }
        #expect(refused.code == .inputOutput)
        group.release()
        #expect(try test.store.snapshot().contents().count == 1)
        try test.commit([("b", [2])])
        #expect(try test.store.snapshot().version == Version(2))
    }

    /// A group is one commit to the disk.
    @Test func aGroupIsFlushedOnce() throws {
        let test = try TestStore(.disk)
        let before = try test.store.statistics().writeCallCount
        let group = try PageGroup(test.store, lock: try test.store.lockForWriting(timeoutMilliseconds: 0))
        for version in 1 ..< 65 {
            _ = try batch([("k", [UInt8(version)])]) { try group.add(&$0, version: Version(UInt64(version))) }
        }
        #expect(try test.store.statistics().writeCallCount == before)
        try group.flush()
        group.release()
        #expect(try test.store.statistics().writeCallCount - before <= 4)
        #expect(try test.store.snapshot().value("k") == [64])
    }
}
