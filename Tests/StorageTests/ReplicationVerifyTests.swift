// What verification and salvage know of the pages of replication: sound files are sound, and each thing that is wrong
// is found.
import MottePages
import MotteSchemaModel
import MotteStorage
import MotteValues
import TestSupport
import Testing

@Suite struct ReplicationVerifyTests {
    private typealias Store = ChangeBatchTests.Store

    /// A file that has applied a batch, with its origin.
    private func follower() throws -> (other: Store, origin: ChangeOrigin, table: TableKey) {
        let origin = try Store("Person { id: int key, name: string }")
        let table = try #require(origin.snapshot.schema["Person"]?.tableKey)
        try origin.write { write in for id in 0 ..< 5 { _ = try write.create(table, primaryKey: .int(Int64(id))) } }
        let other = try Store()
        try other.apply(try origin.batch(from: Version(0)))
        try other.write { try $0.keepChanges(since: Version(1)) }
        return (other, try origin.database.origin(), try #require(other.snapshot.schema["Person"]?.tableKey))
    }

    /// What verification says after pages were put in.
    private func problems(
        _ change: (Store, ChangeOrigin, TableKey) throws -> [[UInt8]: [UInt8]]
    ) throws -> [String] {
        let (other, origin, table) = try follower()
        #expect(try other.snapshot.verify().isSound)
        let pages = try change(other, origin, table)
        try other.write { write in
            for (key, page) in pages { write.replicaPages[key] = page }
            write.noteChange()
        }
        return try other.snapshot.verify().problems
    }

    private func page(_ store: Store, _ key: [UInt8]) throws -> [UInt8] {
        [UInt8](try #require(try store.snapshot.pages.get(key)).bytes)
    }

    @Test func damageIsFound() throws {
        let damaged = try problems { store, origin, _ in
            var page = try page(store, ReplicaPages.position(origin))
            page[9] ^= 1
            return [ReplicaPages.position(origin): page]
        }
        #expect(damaged.contains { $0.contains("positions of replication") && $0.contains("checksum") }, "\(damaged)")
        let names = try problems { store, origin, table in
            let key = ReplicaPages.names(table, origin, 0)
            var page = try page(store, key)
            page[page.count - 1] ^= 1
            return [key: page]
        }
        #expect(names.contains { $0.contains("names of the origin") && $0.contains("checksum") }, "\(names)")
        let kept = try problems { store, _, _ in
            var page = try page(store, ReplicaPages.kept)
            page[10] ^= 1
            return [ReplicaPages.kept: page]
        }
        #expect(kept.contains { $0.contains("replication") && $0.contains("checksum") }, "\(kept)")
    }

    @Test func contradictionsAreFound() throws {
        let far = try problems { _, origin, table in
            let key = ReplicaPages.names(table, origin, 0)
            var block = ObjectNameBlock()
            let isNew = block.add(ObjectNameBlock.Run(first: 0, count: 6, local: 0))
            #expect(isNew)
            return [key: block.page(block: 0, key: key)]
        }
        #expect(far.contains { $0.contains("objects that never were") }, "\(far)")
        let strange = try problems { _, _, _ in [[ReplicaPages.space, 0, 0, 0, 0, 7]: [1, 2, 3]] }
        #expect(strange.contains { $0.contains("a key that means nothing") }, "\(strange)")
        let alone = try problems { store, origin, _ in
            let other = ChangeOrigin(high: 1, low: 2)
            return [ReplicaPages.catalog(other): try page(store, ReplicaPages.catalog(origin))]
        }
        #expect(alone.contains { $0.contains("has a schema and no position") }, "\(alone)")
        let late = try problems { store, origin, _ in
            let catalog = try Catalog.decode(try #require(try store.snapshot.pages.get(PageKeys.catalog)).bytes)
            return [ReplicaPages.catalog(origin): catalog.stamped(changedIn: 77).encoded()]
        }
        #expect(late.contains { $0.contains("is not of its position") }, "\(late)")
        let elsewhere = try problems { _, origin, _ in
            let key = ReplicaPages.names(TableKey(99), origin, 0)
            return [key: ObjectNameBlock().page(block: 0, key: key)]
        }
        #expect(elsewhere.contains { $0.contains("belong to nothing") }, "\(elsewhere)")
    }

    @Test func salvageSaysWhatItDoesNotCarryOver() throws {
        let (other, origin, _) = try follower()
        let losses = other.snapshot.replicationLosses
        #expect(losses.count == 1 && losses[0].contains(origin.text) && losses[0].contains("begins again"))
        #expect(try Store("Person { id: int key }").snapshot.replicationLosses == [])
        try other.write { write in
            write.replicaPages[ReplicaPages.position(origin)] = [1, 2, 3]
            write.noteChange()
        }
        #expect(other.snapshot.replicationLosses.first?.contains("begins again") == true)
    }
}
