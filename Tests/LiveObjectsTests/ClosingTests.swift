// A file that was closed is closed, whatever other threads do with other files at that moment.
import MotteLiveObjects
import MotteSchemaModel
import MotteStorage
import MotteValues
import Synchronization
import TestSupport
import Testing

@Suite struct ClosingTests {
    private final class Flag: Sendable {
        let isSet = Atomic(false)
    }

    @Test func whoOpensAnotherFileKeepsNothingOpen() throws {
        let directory = TemporaryDirectory()
        let schema = try SchemaText.parse("Note { id: int key }")
        let isOver = Flag()
        let other = ThreadRun {
            // In memory, so that it is done more often.
            while !isOver.isSet.load(ordering: .acquiring) {
                _ = try Session.open(SessionOptions(.memory("closing"), schema: schema)).close()
            }
        }
        var refused = 0
        var options = SessionOptions(path: directory.file("file.motte"), schema: schema)
        options.isDurable = false
        for _ in 0 ..< TestScale.times(300) {
            _ = try Session.open(options).close()
            do throws(DatabaseError) { _ = try Session.deleteFile(options) } catch { refused += 1 }
        }
        isOver.isSet.store(true, ordering: .releasing)
        try other.join()
        #expect(refused == 0)
    }
}
