/// Numbers about a store, for tools, tests and the questions of people.
import MotteValues

package struct PageStatistics: Sendable {
    package var version: Version
    package var entryCount: Int
    /// 0 for a database in memory, as all page numbers are.
    package var pageBytes: Int
    /// Pages in use up to the end of the file, free ones included.
    package var pageCount: Int
    package var branchPageCount: Int
    package var leafPageCount: Int
    package var overflowPageCount: Int
    package var treeDepth: Int
    /// Size of the file; for a database in memory the bytes of keys and values.
    package var fileBytes: Int
    /// The most the file can grow to while it is open.
    package var mostFileBytes: Int
    /// Bytes of pages in this process's memory, the most there were since the file was opened, what they may take, and
    /// how many users may hold some; 0 for a database in memory.
    package var memoryBytes = 0
    package var mostMemoryBytes = 0
    package var memoryBudgetBytes = 0
    package var holdCount = 0
    package var waitingWriterCount: Int
    /// Bytes, writes and flushes of this process's commits since it opened the file; 0 where that is not counted.
    package var writtenBytes = 0
    package var writeCallCount = 0
    package var flushCount = 0

    /// What a compacted copy would take, about.
    package var usedBytes: Int {
        pageBytes == 0 ? fileBytes : (branchPageCount + leafPageCount + overflowPageCount + 2) * pageBytes
    }
    package var freeBytes: Int { max(0, fileBytes - usedBytes) }
}

/// A version that some process has pinned.
package struct PageReader: Sendable {
    package var processID: Int32
    package var version: Version
}
