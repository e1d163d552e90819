/// A write lets the memory of pages go that it has read, as a snapshot does: what it has changed is its own, or becomes
/// that here.
import MottePages
import MotteValues

extension WriteTransaction {
    /// What is stored and what this write has in memory of it, for a scan: see `RowSource.copyForScan`.
    final class Scan: RowSource {
        private let write: WriteTransaction
        private let stored: Snapshot
        private var directories: [TableDirectory] = []

        init(_ write: WriteTransaction) {
            self.write = write
            stored = write.base.copy()
            super.init(catalog: write.catalog, counters: write.counters, rowGroupSize: write.rowGroupSize)
        }

        override var version: Version { write.version }

        override func makeView(_ key: TableKey) throws(DatabaseError) -> TableView {
            let writer = try write.writer(key)
            let directory: TableDirectory
            if write.isOfItsOwnLayout(key) {
                directory = try TableDirectory(
                    writer.layout, pages: stored.pages, rowGroupSize: rowGroupSize, counters: counters)
                directories.append(directory)
            } else {
                directory = try stored.directory(key)
            }
            return TableView(directory: directory, writer: writer, source: self)
        }

        override func indexView(_ key: IndexKey) throws(DatabaseError) -> IndexView {
            write.indexView(key, over: stored)
        }

        override func answers(of index: TableIndex) throws(DatabaseError) -> any IndexAnswering {
            write.answers(of: index, over: stored)
        }

        override func hasPendingChanges(of index: TableIndex) -> Bool { write.hasPendingChanges(of: index) }
        override func isDeferred(_ index: IndexKey) -> Bool { write.isDeferred(index) }

        override var isMemoryWanted: Bool { stored.isMemoryWanted }
        override var memoryClock: MemoryClock? { stored.memoryClock }
        override var exceedsMemory: Bool { stored.exceedsMemory }
        override var memoryBytes: Int { stored.memoryBytes }
        override func makeScratchFile() throws(DatabaseError) -> ScratchFile { try stored.makeScratchFile() }

        override func releaseMemory(butLatest: Bool = false) {
            for directory in directories { directory.forgetPlaces() }
            stored.releaseMemory(butLatest: butLatest)
        }
    }

    /// Forgets where stored rows are, after copies of those that are patched.
    func releasePages(butLatest: Bool) {
        opened.detach()
        // Each directory forgets once: of what it has copied, only what was lent since the last time stays.
        for writer in writers.all {
            writer.forgetLists()
            if !base.has(writer.directory) { writer.directory.forgetPlaces() }
        }
        for pending in pendingIndexes.values { pending.writer.forgetPlaces() }
        base.releaseMemory(butLatest: butLatest)
    }
}
