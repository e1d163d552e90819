// A file that was closed is closed, whatever other threads do with other files at that moment.
import MotteColumns
import MottePages
import MotteSchemaModel
import MotteValues
import Synchronization
import TestSupport
import Testing

@testable import MotteStorage

@Suite struct ClosingTests {
    private final class Flag: Sendable {
        let isSet = Atomic(false)
    }

    @Test func whoOpensAnotherFileKeepsNothingOpen() throws {
        let directory = TemporaryDirectory()
        let isOver = Flag()
        let other = ThreadRun {
            let pages = try PageStore.open(PageStoreOptions(location: .memory(identifier: "closing")))
            while !isOver.isSet.load(ordering: .acquiring) { _ = try Database.joined(pages) }
        }
        var refused = 0
        var options = PageStoreOptions(path: directory.file("file.motte"))
        options.durability = .relaxed
        for _ in 0 ..< TestScale.times(300) {
            _ = try Database.open(options)
            do throws(DatabaseError) { _ = try PageStore.deleteFile(options) } catch { refused += 1 }
        }
        isOver.isSet.store(true, ordering: .releasing)
        try other.join()
        #expect(refused == 0)
    }
}
