/// Embedded points that are in a region.
import MotteColumns
import MotteStorage
import MotteValues

final class GeoOperator: Operator {
    private let reader: TableReader
    private let test: GeoTest
    private let types: ColumnCursor

    init(_ reader: TableReader, _ test: GeoTest) throws(DatabaseError) {
        self.reader = reader
        self.test = test
        types = try reader.cursor(test.type)
    }

    override func select(
        _ rows: RowGroupRows, _ candidates: UnsafePointer<UInt64>, into words: SelectionWords
    ) throws(DatabaseError) {
        let types = try types.chunk(rows.index).pointee
        let places = try reader.view.listChunk(test.coordinates, rows.index)
        "Point".withUTF8Bytes { wanted in
            for index in 0 ..< Selection.wordCount(rows.rowCount) {
                var open = candidates[index]
                var found: UInt64 = 0
                while open != 0 {
                    let bit = open.trailingZeroBitCount
                    open &= open &- 1
                    let row = index &* 64 &+ bit
                    if types.hasText(row, wanted), passes(places, row) { found |= 1 << UInt64(bit) }
                }
                words[index] = found
            }
        }
    }

    /// Longitude and latitude come first; a list that is stored apart is far too long for a point.
    private func passes(_ places: ListChunk, _ row: Int) -> Bool {
        let range = places.range(row)
        guard range.count == 2 || range.count == 3 else { return false }
        let elements = places.elements
        let (first, second) = (range.lowerBound, range.lowerBound + 1)
        guard !elements.isNull(first), !elements.isNull(second) else { return false }
        return test.region.contains(
            GeoPoint(longitude: elements.double(first), latitude: elements.double(second)))
    }
}
