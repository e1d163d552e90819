/// A row group that a write transaction has touched: the columns it changed as builders, the others still as stored.
///
/// Queries inside the write read builders through `chunk(_:)`, which encodes a changed column once and keeps the bytes
/// until the next change to it, so that there is one reading path for stored and for changed rows.
import MotteColumns
import MottePages
import MotteValues

package final class DirtyColumn {
    package enum Storage {
        case values(ChunkBuilder)
        case lists(ListChunkBuilder)
        /// As stored, but for a few values: until another way of changing it asks for a builder.
        case patched(ChunkPatch)
        /// A full row group's final bytes, in the spill file of the write; the builder has gone on to the next row
        /// group.
        case sealed(SpilledEntry, [LongTextReference])
    }

    @exclusivity(unchecked) package private(set) var storage: Storage
    /// Whether the commit has to write it. A column can be loaded for an edit that then fails or turns out to change
    /// nothing; writing that would move a chunk that no change record speaks of, under readers who carry its address.
    @exclusivity(unchecked) private(set) var isChanged = false
    /// It had a builder before, which was encoded for want of memory.
    @exclusivity(unchecked) var wasOpen = false
    /// What the column was before it got a builder: views of its values may be in use.
    @exclusivity(unchecked) private var former: ChunkPatch?
    /// What readers within the write have asked for; most columns of a bulk load never have one.
    @exclusivity(unchecked) private var reading: Reading?

    /// The column as encoded bytes, and what was made of them.
    private final class Reading {
        /// Owned unless they are the spill file's.
        let owned: UnsafeMutableRawBufferPointer?
        let bytes: UnsafeRawBufferPointer
        var chunk: ColumnChunk?
        var listChunk: ListChunk?
        var longTexts: LongTexts?

        init(spilled: SpilledEntry) {
            owned = nil
            bytes = spilled.value
        }

        init(encoding encoder: ColumnEncoder) {
            let made = UnsafeMutableRawBufferPointer.allocate(byteCount: encoder.size, alignment: 16)
            if let base = made.baseAddress {
                encoder.write(to: base, key: UnsafeRawBufferPointer(start: nil, count: 0))
            }
            owned = made
            bytes = UnsafeRawBufferPointer(made)
        }

        deinit { owned?.deallocate() }
    }

    init(_ storage: Storage) { self.storage = storage }

    /// What was changed has been undone.
    func markUnchanged() {
        isChanged = false
        reading = nil
    }

    /// Called after every change: what was encoded no longer holds, and views into it end.
    @inline(__always)
    func markChanged() {
        isChanged = true
        if reading != nil { reading = nil }
    }

    /// One value of a column that is patched or in a builder.
    func set(_ row: Int, _ value: ValueView) {
        switch storage {
        case .values(let builder): builder.set(row, value)
        case .patched(let patch): patch.set(row, value)
        case .lists, .sealed: assertionFailure("a column of values is open where one of them is set")
        }
        markChanged()
    }

    // MARK: Sealing

    /// Encodes into the spill file; false where that was done.
    func seal(key: [UInt8], into spill: SpillFile) -> Bool {
        let encoder: ColumnEncoder
        switch storage {
        case .values(let values): encoder = .values(values.makeEncoder())
        case .lists(let lists): encoder = .lists(lists.makeEncoder())
        case .patched(let patch): encoder = .patched(patch)
        case .sealed: return false
        }
        let references = longReferences
        storage = .sealed(key.withUnsafeBytes { Self.encode(encoder, $0, spill) }, references)
        // Views of values end with a change, and this comes after one.
        reading = nil
        former = nil
        return true
    }

    private static func encode(
        _ encoder: ColumnEncoder, _ key: UnsafeRawBufferPointer, _ spill: SpillFile
    ) -> SpilledEntry {
        let (entry, place) = spill.reserve(key: key, valueCount: encoder.size)
        encoder.write(to: place, key: key)
        return entry
    }

    /// A sealed column that is changed after all, or a patched one that needs a builder.
    func reopen(_ storage: Storage) {
        if case .patched(let patch) = self.storage { former = patch }
        self.storage = storage
        reading = nil
    }

    // MARK: Reading

    func currentChunk(_ kind: ColumnKind, _ long: (any LongTextSource)?) throws(DatabaseError) -> ColumnChunk {
        let reading = encodedForReading()
        if let chunk = reading.chunk { return chunk }
        let made = try ColumnChunk(
            validating: reading.bytes, kind: kind, key: checksumKey, long: long, keeping: &reading.longTexts)
        reading.chunk = made
        return made
    }

    func currentListChunk(_ kind: ColumnKind, _ long: (any LongTextSource)?) throws(DatabaseError) -> ListChunk {
        let reading = encodedForReading()
        if let chunk = reading.listChunk { return chunk }
        let made = try ListChunk(
            validating: reading.bytes, elementKind: kind, key: checksumKey, long: long, keeping: &reading.longTexts)
        reading.listChunk = made
        return made
    }

    var longReferences: [LongTextReference] {
        switch storage {
        case .values(let builder): builder.longReferences
        case .lists(let builder): builder.longReferences
        // None of its chunk's texts is long.
        case .patched: []
        case .sealed(_, let references): references
        }
    }

    /// `inOpenGroup`: every length has four bytes there.
    func makeEncoder(inOpenGroup: Bool = false) -> ColumnEncoder {
        switch storage {
        case .values(let builder): .values(builder.makeEncoder())
        case .lists(let builder): .lists(builder.makeEncoder(isPacked: !inOpenGroup))
        case .patched(let patch): .patched(patch)
        case .sealed(let spilled, _): .sealed(spilled)
        }
    }

    // MARK: Changing hands

    /// After a commit: as if just loaded, for the next write to go on with. False where it belongs to this write.
    func leaveWrite() -> Bool {
        isChanged = false
        reading = nil
        switch storage {
        case .values(let builder): return builder.leaveWrite()
        case .lists(let builder): return builder.leaveWrite()
        case .patched, .sealed: return false
        }
    }

    func join(_ source: (any LongTextSource)?) {
        switch storage {
        case .values(let builder): builder.join(source)
        case .lists(let builder): builder.join(source)
        case .patched, .sealed: break
        }
    }

    var allocatedBytes: Int {
        switch storage {
        case .values(let builder): builder.allocatedBytes + (former?.allocatedBytes ?? 0)
        case .lists(let builder): builder.allocatedBytes
        case .patched(let patch): patch.allocatedBytes
        case .sealed: 0
        }
    }

    /// What the checksum of the encoded bytes covers: the page key once sealed, before that nothing.
    private var checksumKey: UnsafeRawBufferPointer {
        if case .sealed(let spilled, _) = storage { return spilled.key }
        return UnsafeRawBufferPointer(start: nil, count: 0)
    }

    private func encodedForReading() -> Reading {
        if let reading { return reading }
        let made: Reading
        if case .sealed(let spilled, _) = storage {
            made = Reading(spilled: spilled)
        } else {
            made = Reading(encoding: makeEncoder())
        }
        reading = made
        return made
    }
}

/// The bytes of a column, ready to be written: for as long as the column does not change.
enum ColumnEncoder {
    case values(ChunkEncoder)
    case lists(ListChunkEncoder)
    case patched(ChunkPatch)
    /// Made already.
    case sealed(SpilledEntry)

    var size: Int {
        switch self {
        case .values(let encoder): encoder.size
        case .lists(let encoder): encoder.size
        case .patched(let patch): patch.size
        case .sealed(let spilled): spilled.value.count
        }
    }

    /// Writes `size` bytes.
    func write(to base: UnsafeMutableRawPointer, key: UnsafeRawBufferPointer) {
        switch self {
        case .values(let encoder): encoder.write(to: base, key: key)
        case .lists(let encoder): encoder.write(to: base, key: key)
        case .patched(let patch): patch.write(to: base, key: key)
        case .sealed(let spilled):
            UnsafeMutableRawBufferPointer(start: base, count: spilled.value.count).copyMemory(from: spilled.value)
        }
    }
}

package final class DirtyRowGroup {
    let firstKey: Int64
    @exclusivity(unchecked) package var rowCount: Int
    /// nil where every row is live.
    @exclusivity(unchecked) package var live: LiveBitmap?
    var liveChanged = false
    /// The savepoint that knows how many rows there were.
    @exclusivity(unchecked) var savedAt: UInt64 = 0
    /// By slot; nil where the column is as stored.
    @exclusivity(unchecked) package internal(set) var columns: [DirtyColumn?]

    init(firstKey: Int64, rowCount: Int, live: LiveBitmap?, columnCount: Int) {
        self.firstKey = firstKey
        self.rowCount = rowCount
        self.live = live
        columns = Array(repeating: nil, count: columnCount)
    }

    var liveCount: Int { live?.liveCount ?? rowCount }

    /// More than what the rows of an open row group take is not worth keeping.
    private static let mostKeptBytes = 64 << 10

    /// After a commit that has written every column: as if just loaded. False where something of it belongs to the
    /// write, or where it holds much memory.
    func leaveWrite() -> Bool {
        liveChanged = false
        // Savepoints of the next write have numbers of their own.
        savedAt = 0
        var bytes = 0
        for column in columns {
            guard let column, column.leaveWrite() else { return false }
            bytes += column.allocatedBytes
        }
        return bytes <= Self.mostKeptBytes
    }

    /// Changing one value rewrites its chunk.
    private static let largestChunk = 128 << 10

    /// Whether some column's values are such that a chunk of so many rows would be too large for that.
    func hasWideColumn(ifRows rows: Int) -> Bool {
        columns.contains { column in
            let size =
                switch column?.storage {
                case .values(let builder): builder.encodedSize()
                case .lists(let builder): builder.makeEncoder().size
                case .patched, .sealed, nil: 0
                }
            return size * rows > Self.largestChunk * rowCount
        }
    }
}
