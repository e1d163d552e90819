// A database in memory for the index and history tests, with commits in one line.
import MottePages
import MotteValues

final class IndexTestStore {
    let store: PageStore
    private(set) var pages: PageSnapshot

    init(_ location: PageStoreOptions.Location = .memory(identifier: nil)) throws {
        var options = PageStoreOptions(location: location)
        options.durability = .none
        options.mostFileBytes = 1 << 30
        store = try PageStore.open(options)
        pages = try store.snapshot()
    }

    var nextVersion: Version { Version(pages.version.rawValue + 1) }

    func commit(_ fill: (inout PageBatch) throws -> Void) throws {
        var batch = PageBatch()
        try fill(&batch)
        let lock = try store.lockForWriting(timeoutMilliseconds: 1_000)
        try store.commit(batch, lock: lock, version: nextVersion)
        lock.release()
        pages = try store.snapshot()
    }

    /// All entries whose key begins with `space`, in order.
    func dump(_ space: UInt8) throws -> [(key: [UInt8], value: [UInt8])] {
        var entries: [(key: [UInt8], value: [UInt8])] = []
        let cursor = try pages.makeCursor()
        var found = try cursor.seek([space])
        while found, cursor.key.first == space {
            entries.append(([UInt8](cursor.key), [UInt8](cursor.value.bytes)))
            found = try cursor.next()
        }
        return entries
    }
}
