// Two layers that may not see each other know the mark of lists in a chunk's first byte.
import MotteColumns
import MottePages
import Testing

@Suite struct ChunkMarkTests {
    @Test(arguments: ColumnKind.allCases)
    func pagesAndColumnsAgreeOnTheMarkOfLists(kind: ColumnKind) throws {
        let values = try #require(ColumnKind.ofChunk(kind.rawValue))
        #expect(values.kind == kind && !values.isList)
        let lists = try #require(ColumnKind.ofChunk(kind.rawValue | ChunkMark.list))
        #expect(lists.kind == kind && lists.isList)
        #expect(ColumnKind.ofChunk(kind.rawValue | 0x80) == nil)
    }
}
