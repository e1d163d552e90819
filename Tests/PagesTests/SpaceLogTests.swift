// What a checkpoint of the free-space map says is what the map had, also of runs longer than its counts.
import MottePages
import MotteValues
import Testing

@Suite struct SpaceLogTests {
    @Test(arguments: [1, 0xFF_FFFE, 0xFF_FFFF, 0x100_0000, 0x2FF_0005] as [Int])
    func aCheckpointHasAllFreePages(count: Int) throws {
        let free = PageRun(start: 10, count: PageCount(count))
        var map = SpaceMap(pageCount: free.end.pagesBefore + 7)
        map.insert([free])
        map.die(PageRun(start: free.end + 1, count: 3), birth: Version(4), death: Version(9))
        try map.checkInvariants()

        // A place for each 2^24 pages of a run.
        var content = [UInt8](repeating: 0, count: SpaceLog.checkpointBytes(map.runCount + count >> 24))
        content.withUnsafeMutableBytes { SpaceLog.encodeCheckpoint(map, $0) }
        let decoded = try #require(content.withUnsafeBytes { SpaceLog.decodeCheckpoint($0) })

        try decoded.checkInvariants()
        #expect(decoded.free == [free] && decoded.freePageCount == free.count && decoded.dead == map.dead)
        #expect(decoded.hasSamePages(as: map))
    }

    @Test(arguments: [0xFF_FFFF, 0x100_0000, 0x2FF_0005] as [Int])
    func aCheckpointHasAllDeadPages(count: Int) throws {
        let dead = PageRun(start: 10, count: PageCount(count))
        var map = SpaceMap(pageCount: dead.end.pagesBefore + 7)
        map.die(dead, birth: Version(4), death: Version(9))
        let bytes = SpaceLog.checkpointBytes(map.runCount, of: map.pageCount)
        var content = [UInt8](repeating: 0, count: bytes)
        content.withUnsafeMutableBytes { SpaceLog.encodeCheckpoint(map, $0) }
        var decoded = try #require(content.withUnsafeBytes { SpaceLog.decodeCheckpoint($0) })

        try decoded.checkInvariants()
        #expect(decoded.hasSamePages(as: map))
        #expect(decoded.dead.allSatisfy { $0.birth == Version(4) && $0.death == Version(9) })
        // Nobody sees them any more.
        decoded.release(PagePins.Protected(versions: []))
        #expect(decoded.free == [dead] && decoded.freePageCount == dead.count)
    }
}
