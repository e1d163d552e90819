// The storage interface as its users see it, on every form of store.
import MottePages
import MotteValues
import Testing

@Suite struct PageStoreTests {
    @Test(arguments: StoreForm.allCases)
    func aNewStoreIsEmptyAtVersionZero(_ form: StoreForm) throws {
        let test = try TestStore(form)

        let snapshot = try test.store.snapshot()

        #expect(snapshot.version == Version(0))
        #expect(try snapshot.contents().isEmpty)
        #expect(try test.store.header.rowGroupSize == FileHeader.defaultRowGroupSize)
    }

    @Test(arguments: StoreForm.allCases)
    func aCommitIsSeenByLaterSnapshotsOnly(_ form: StoreForm) throws {
        let test = try TestStore(form)
        try test.commit([("a", [1]), ("b", [2])])
        let before = try test.store.snapshot()

        let version = try test.commit([("a", nil), ("b", [3]), ("c", [4])])

        #expect(try before.contents().map(\.value) == [[1], [2]])
        let after = try test.store.snapshot()
        #expect(after.version == version)
        #expect(try after.contents().map(\.value) == [[3], [4]])
        #expect(try after.value("a") == nil)
        #expect(try after.value("c") == [4])
        #expect(try test.store.latestVersion == version)
        #expect(try test.store.header.version == version)
    }

    @Test(arguments: StoreForm.allCases)
    func theLaterEntryForAKeyWins(_ form: StoreForm) throws {
        let test = try TestStore(form)

        try test.commit([("b", [1]), ("a", [2]), ("b", nil), ("c", [3]), ("a", [4]), ("c", nil), ("c", [5])])

        #expect(try test.store.snapshot().contents().map(\.value) == [[4], [5]])
    }

    @Test(arguments: StoreForm.allCases)
    func snapshotsOfOneVersionLendTheSameBytes(_ form: StoreForm) throws {
        let test = try TestStore(form)
        try test.commit([("a", [UInt8](repeating: 1, count: 9_000))])
        let first = try test.store.snapshot()
        let bytes = try #require(try first.get(Array("a".utf8))).bytes
        for other in [try test.store.snapshot(), first.sharing()] {
            #expect(other.version == first.version)
            #expect(try other.get(Array("a".utf8))?.bytes.baseAddress == bytes.baseAddress)
        }
        try test.commit([("a", [1])])
        #expect(try test.store.snapshot().version > first.version)
        #expect(try first.get(Array("a".utf8))?.bytes.baseAddress == bytes.baseAddress)
    }

    @Test(arguments: StoreForm.allCases)
    func cursorsMoveBothWays(_ form: StoreForm) throws {
        let test = try TestStore(form)
        try test.commit([("b", [1]), ("d", [2]), ("f", [3])])
        let cursor = try test.store.snapshot().makeCursor()
        func key() -> String { String(decoding: cursor.key, as: UTF8.self) }

        #expect(try cursor.next() == false)
        #expect(try cursor.previous() == false)
        #expect(try cursor.seek(Array("c".utf8)))
        #expect(key() == "d")
        #expect(try cursor.previous())
        #expect(key() == "b")
        #expect(try cursor.previous())  // the header record
        #expect(cursor.key.elementsEqual(FileHeader.key))
        #expect(try cursor.previous() == false)
        #expect(cursor.key.elementsEqual(FileHeader.key))
        #expect(try cursor.seekLast(atMost: Array("e".utf8)))
        #expect(key() == "d")
        #expect(try cursor.seekLast(atMost: Array("f".utf8)))
        #expect(key() == "f")
        #expect(try cursor.next() == false)
        #expect(key() == "f")
        #expect(try cursor.seek(Array("g".utf8)) == false)
        #expect(key() == "f")
        #expect(try cursor.previous())
        #expect(key() == "d")
        #expect(try cursor.seekLast(atMost: Array("z".utf8)))
        #expect(key() == "f")
        #expect(try cursor.seekLast(atMost: []) == false)
        #expect(key() == "f")
    }

    @Test(arguments: StoreForm.allCases)
    func bytesStayWhileTheSnapshotLives(_ form: StoreForm) throws {
        let test = try TestStore(form)
        try test.commit((0 ..< 50).map { ("k\($0)", [UInt8](repeating: UInt8($0), count: 20)) })
        let pinned = try test.store.snapshot()
        let bytes = try (0 ..< 50).map { try #require(try pinned.get(Array("k\($0)".utf8))).bytes }

        for round in 0 ..< 40 {
            try test.commit((0 ..< 50).map { ("k\($0)", [UInt8](repeating: UInt8(100 + round), count: 30)) })
        }

        for index in 0 ..< 50 { #expect(bytes[index].allSatisfy { $0 == UInt8(index) }) }
    }

    @Test(arguments: StoreForm.allCases)
    func stableValuesKeepTheirAddress(_ form: StoreForm) throws {
        let test = try TestStore(form)
        let large = [UInt8](repeating: 7, count: 13_000)
        try test.commit([("large", large), ("small", [1])])
        var address: UnsafeRawPointer?
        do {
            let found = try #require(try test.store.snapshot().get(Array("large".utf8)))
            #expect(found.isStable)
            address = found.bytes.baseAddress
        }

        for round in 0 ..< 50 {
            try test.commit([("small", [UInt8(round)]), ("k\(round)", [UInt8](repeating: 0, count: round * 50))])
        }

        let found = try #require(try test.store.snapshot().get(Array("large".utf8)))
        #expect(found.bytes.baseAddress == address)
        #expect(found.bytes.elementsEqual(large))
    }

    @Test(arguments: StoreForm.allCases)
    func aClosedHandleAnswersClosedAndOthersGoOn(_ form: StoreForm) throws {
        let test = try TestStore(form)
        try test.commit([("a", [1])])
        let snapshot = try test.store.snapshot()

        test.store.close()
        test.store.close()

        #expect(try failure { try test.store.snapshot() }.code == .closed)
        #expect(try failure { try test.store.lockForWriting(timeoutMilliseconds: 0) }.code == .closed)
        #expect(try snapshot.value("a") == [1])
    }

    @Test(arguments: StoreForm.allCases)
    func refusedBatchesChangeNothing(_ form: StoreForm) throws {
        let test = try TestStore(form)
        try test.commit([("a", [1])])
        let lock = try test.store.lockForWriting(timeoutMilliseconds: 0)
        defer { lock.release() }

        var longKey = PageBatch()
        longKey.put([UInt8](repeating: 1, count: 512), [1])
        #expect(try failure { try test.store.commit(longKey, lock: lock, version: Version(2)) }.code == .internal)
        var headerKey = PageBatch()
        headerKey.put(FileHeader.key, [1])
        #expect(try failure { try test.store.commit(headerKey, lock: lock, version: Version(2)) }.code == .internal)
        var batch = PageBatch()
        batch.put([9], [1])
        #expect(try failure { try test.store.commit(batch, lock: lock, version: Version(1)) }.code == .internal)

        #expect(try test.store.snapshot().version == Version(1))
        try test.store.commit(batch, lock: lock, version: Version(5))
        #expect(try test.store.snapshot().version == Version(5))
    }

    @Test(arguments: StoreForm.allCases)
    func committingNeedsTheLockOfThisStore(_ form: StoreForm) throws {
        let test = try TestStore(form)
        let other = try TestStore(form)
        let foreign = try other.store.lockForWriting(timeoutMilliseconds: 0)
        let released = try test.store.lockForWriting(timeoutMilliseconds: 0)
        released.release()
        released.release()

        let batch = PageBatch()
        #expect(try failure { try test.store.commit(batch, lock: foreign, version: Version(1)) }.code == .notInWrite)
        #expect(try failure { try test.store.commit(batch, lock: released, version: Version(1)) }.code == .notInWrite)
    }

    @Test(arguments: StoreForm.allCases)
    func aFailedCommitLeavesStoreAndBatchIntact(_ form: StoreForm) throws {
        let faults = FaultInjection()
        let test = try TestStore(form, faults: faults)
        try test.commit([("a", [1])])
        let before = try test.store.snapshot()
        faults.failCommit(1, with: .diskFull)
        var batch = PageBatch()
        batch.put(Array("b".utf8), [2])
        let lock = try test.store.lockForWriting(timeoutMilliseconds: 0)

        #expect(try failure { try test.store.commit(batch, lock: lock, version: Version(2)) }.code == .diskFull)
        #expect(try test.store.snapshot().version == before.version)
        try test.store.commit(batch, lock: lock, version: Version(2))

        #expect(try test.store.snapshot().value("b") == [2])
        #expect(faults.commitCount == 3)
    }

    @Test func namedMemoryStoresAreSharedUntilTheLastCloses() throws {
        let options = PageStoreOptions(location: .memory(identifier: "shared-by-name"))
        let first = try PageStore.open(options)
        let second = try PageStore.open(options)
        try first.commitNext([("a", [1])])

        #expect(try second.snapshot().value("a") == [1])
        #expect(try first.sharedIdentity == second.sharedIdentity)
        first.close()
        #expect(try second.snapshot().value("a") == [1])
        second.close()
        #expect(try PageStore.open(options).snapshot().value("a") == nil)
    }
}
