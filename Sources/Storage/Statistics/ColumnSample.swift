/// The values of one column in the rows of a `TableSample`, and what they say of the whole column.
///
/// They are a column chunk, so that a query's tests run over them with the loops that run over stored ones.
import MotteColumns
import MotteSchemaModel
import MotteValues

package final class ColumnSample: @unchecked Sendable {  // @unchecked: nothing changes after the initializer
    /// In the order of the sample's keys; null where a row has gone since.
    package let chunk: ColumnChunk
    package let statistics: ColumnStatistics
    private let bytes: UnsafeMutableRawBufferPointer

    init(
        of column: ColumnKey, keys: [Int64], isWhole: Bool, liveCount: Int, _ view: TableView
    ) throws(DatabaseError) {
        let slot = try view.layout.slot(column)
        let stored = view.layout.columns[slot]
        let builder = ChunkBuilder(kind: stored.kind, nullable: true, capacity: max(1, keys.count))
        for key in keys {
            guard let place = try view.locate(ObjectKey(key)) else {
                builder.append(.null)
                continue
            }
            try view.appendSampled(slot: slot, at: place, to: builder)
        }
        let none = UnsafeRawBufferPointer(start: nil, count: 0)
        let encoded = builder.encode(key: none)
        let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: max(1, encoded.count), alignment: 64)
        bytes.copyBytes(from: encoded)
        do throws(DatabaseError) {
            chunk = try ColumnChunk(
                validating: UnsafeRawBufferPointer(rebasing: bytes[..<encoded.count]), kind: stored.kind, key: none)
        } catch {
            bytes.deallocate()
            throw error
        }
        self.bytes = bytes
        statistics = ColumnStatistics(chunk, stored.type, isWhole: isWhole, liveCount: liveCount)
    }

    deinit { bytes.deallocate() }
}

extension TableView {
    /// Texts that are kept outside of their chunks are not read for a sample; this stands for them.
    private static let longText: [UInt8] = Array("\u{FFFD}".utf8)

    fileprivate func appendSampled(
        slot: Int, at place: RowLocation, to builder: ChunkBuilder
    ) throws(DatabaseError) {
        if try isLongText(slot: slot, at: place) {
            return Self.longText.withUnsafeBytes { builder.appendBytes($0) }
        }
        builder.append(try value(slot: slot, at: place))
    }
}
