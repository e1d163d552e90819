/// Stable order by key paths.
///
/// Values are read once, as 64-bit codes whose order is theirs: whole for numbers and bools, the first eight bytes of
/// texts, the seconds of timestamps. Runs of equal codes read the next piece, then the next sort key. Nulls are below
/// all values; a null link on the way to a value is above them.
import MotteColumns
import MotteSchemaModel
import MotteStorage
import MotteValues

package final class SortOrder {
    let levels: [SortLevel]
    private let context: RunContext

    /// Fewer are sorted in memory, whatever there is of it.
    private static let fewestForRuns = 16
    /// What sorting takes for an object beside its key: entries, as many spare ones, second pieces.
    private static let bytesPerKey = 48

    package init(_ context: RunContext, _ table: TableKey, _ keys: [BoundQuery.SortKey]) throws(DatabaseError) {
        var levels: [SortLevel] = []
        for key in keys {
            levels.append(SortLevel(try PathReader(context, table, key.path), isAscending: key.isAscending))
        }
        self.levels = levels
        self.context = context
    }

    func compare(_ left: Int64, _ right: Int64) throws(DatabaseError) -> Int {
        for level in levels {
            let order = try level.compare(left, right)
            if order != 0 { return order }
        }
        return 0
    }

    /// With `inMemory`, also where that is short: for few, or for those of few row groups.
    package func sorted(_ keys: [Int64], limit: Int?, inMemory: Bool = false) throws(DatabaseError) -> [Int64] {
        guard let first = levels.first, keys.count > 1 else { return limit.map { Array(keys.prefix($0)) } ?? keys }
        guard keys.count < Int(UInt32.max) else {
            throw DatabaseError(.unsupported, "more than four billion objects cannot be sorted at once")
        }
        let kept = limit.map { min($0, keys.count) } ?? keys.count
        if !inMemory, keys.count >= Self.fewestForRuns,
            let source = context.sourceBeyondMemory(work: keys.count * Self.bytesPerKey)
        {
            return try context.keepingNothing { () throws(DatabaseError) in
                try sortedBeyondMemory(keys, kept, source)
            }
        }
        return try sortedInMemory(keys, kept, first)
    }

    private func sortedBeyondMemory(
        _ keys: [Int64], _ kept: Int, _ source: RowSource
    ) throws(DatabaseError) -> [Int64] {
        // Of single numbers the codes say all: they are read once, and by chunks.
        if levels.count == 1, let first = levels.first, first.isWholeInFirstPiece,
            keys.count * Self.bytesPerKey <= source.memoryBytes / 2
        {
            return try sortedInMemory(keys, kept, first)
        }
        var sort = ExternalSort(self, context, keys, memoryBytes: SortOrder.runBytes(source))
        return try sort.sorted(kept, on: source)
    }

    /// What a run takes beside the pages that may stay.
    private static func runBytes(_ source: RowSource) -> Int { source.memoryBytes / 4 }

    /// For objects that are sorted as they are found, without an array of them: nil where the file is not larger than
    /// its memory, where the order leads through links, so that objects of a row group need all of the file, and where
    /// sorting in memory takes little.
    func sortAsFound(mostCount: Int) -> (sort: ExternalSort, source: RowSource)? {
        guard let source = context.sourceBeyondMemory(work: 0), let first = levels.first,
            levels.allSatisfy({ $0.rows != nil })
        else { return nil }
        if levels.count == 1, first.isWholeInFirstPiece, mostCount * Self.bytesPerKey <= source.memoryBytes / 2 {
            return nil
        }
        return (ExternalSort(self, context, nil, memoryBytes: SortOrder.runBytes(source)), source)
    }

    private func sortedInMemory(_ keys: [Int64], _ kept: Int, _ first: SortLevel) throws(DatabaseError) -> [Int64] {
        // Heaps of few compare the first level alone.
        let packing = kept < keys.count / 8 ? nil : try SortPacking(levels, count: keys.count)
        var sorter = try Sorter(keys, levels, packing, context)
        if kept < keys.count / 8 { try sorter.keepSmallest(kept, first) }
        defer { for level in levels { level.forgetPieces() } }
        try sorter.sort()
        return sorter.result(kept)
    }
}

/// One key path of a sort.
final class SortLevel {
    let reader: PathReader
    let isAscending: Bool
    let type: PropertyType
    private let hasSteps: Bool
    /// The column and its table, where no links are on the way.
    let rows: (table: TableReader, column: ColumnCursor)?
    /// Of texts, by position: the second piece, read while the text is at hand. Coming back for it in sorted order
    /// would miss every cache.
    private var secondPieces: [(code: UInt64, tail: UInt8)] = []

    /// Ranks of what has no code. Descending order exchanges the outer two.
    static let null: UInt8 = 0
    static let value: UInt8 = 1
    static let nullLink: UInt8 = 2
    /// Tail of a piece after which there is more to compare.
    static let continues: UInt8 = 9

    init(_ reader: PathReader, isAscending: Bool) {
        self.reader = reader
        self.isAscending = isAscending
        type = reader.path.type
        hasSteps = !reader.path.steps.isEmpty
        rows = hasSteps ? nil : reader.rowsOfEnd
    }

    /// Whether no value has more to compare than its first piece.
    var isWholeInFirstPiece: Bool {
        switch type {
        case .int, .bool, .float, .double: rows != nil
        default: false
        }
    }

    func compare(_ left: Int64, _ right: Int64) throws(DatabaseError) -> Int {
        let leftLast = try reader.lastObject(left)
        let rightLast = try reader.lastObject(right)
        let leftView = leftLast < 0 ? ValueView.null : try reader.viewOfLast(leftLast)
        let rightView = rightLast < 0 ? ValueView.null : try reader.viewOfLast(rightLast)
        let leftRank = Self.rank(leftLast, leftView)
        let rightRank = Self.rank(rightLast, rightView)
        let order = leftRank != rightRank ? Int(leftRank) - Int(rightRank) : ValueOrdering.compare(leftView, rightView)
        return isAscending ? order : -order
    }

    private static func rank(_ last: Int64, _ view: ValueView) -> UInt8 {
        last < 0 ? nullLink : view.isNull ? null : value
    }

    /// The first pieces of all objects. Without links on the way, and with keys mostly ascending, that is a walk
    /// through the chunks of one column.
    func fillAll(
        _ entries: UnsafeMutablePointer<SortEntry>, _ keys: [Int64], _ context: RunContext
    ) throws(DatabaseError) {
        guard let rows else {
            for index in 0 ..< keys.count { try fill(&entries[index], keys[index], 0) }
            return
        }
        let isText = type == .string || type == .data
        if isText { secondPieces = Array(repeating: (0, 0), count: keys.count) }
        var first: Int64 = 0
        var end: Int64 = 0
        var chunk: UnsafePointer<ColumnChunk>?
        for index in 0 ..< keys.count {
            let key = keys[index]
            if key < first || key >= end || chunk == nil {
                try context.releaseMemory()
                let place = rows.table.place(key)
                let found = try rows.column.chunk(place.rowGroup)
                first = key - Int64(place.slot)
                end = first + Int64(found.pointee.count)
                chunk = found
            }
            guard let chunk else { continue }
            let row = Int(key &- first)
            fill(&entries[index], chunk, row)
            if isText, hasMore(entries[index]) { secondPieces[index] = Self.textPiece(chunk.pointee.bytes(row), 1) }
        }
    }

    /// The first piece of one object.
    @inline(__always)
    func fillFirst(_ entry: inout SortEntry, _ key: Int64) throws(DatabaseError) {
        guard let rows, key < rows.table.nextKey else { return try fill(&entry, key, 0) }
        let place = rows.table.place(key)
        fill(&entry, try rows.column.chunk(place.rowGroup), place.slot)
    }

    /// The next piece of an entry whose first had more to come; false where it has to be read.
    @inline(__always)
    func fillSecond(_ entry: inout SortEntry) -> Bool {
        guard !secondPieces.isEmpty else { return false }
        let piece = secondPieces[Int(entry.position)]
        entry.code = isAscending ? piece.code : ~piece.code
        entry.tail = isAscending ? piece.tail : Self.continues - piece.tail
        return true
    }

    /// Nothing of one sort is kept for the next.
    func forgetPieces() { secondPieces = [] }

    /// The first piece of a row of the level's own column.
    @inline(__always)
    func fill(_ entry: inout SortEntry, _ chunk: UnsafePointer<ColumnChunk>, _ row: Int) {
        var code: UInt64 = 0
        var tail: UInt8 = 0
        var rank = Self.null
        if !chunk.pointee.isNull(row) {
            rank = Self.value
            switch type {
            case .int: code = UInt64(bitPattern: chunk.pointee.int(row)) ^ (1 << 63)
            case .string, .data: (code, tail) = Self.textPiece(chunk.pointee.bytes(row), 0)
            case .mixed: (code, tail) = Self.mixedPiece(chunk.pointee.view(row), 0)
            default: (code, tail) = Self.piece(chunk.pointee.view(row), 0)
            }
        }
        entry.code = isAscending ? code : ~code
        entry.tail = isAscending ? tail : Self.continues - tail
        entry.rank = isAscending ? rank : Self.nullLink - rank
    }

    /// The `depth`-th piece of an object's value.
    @inline(__always)
    func fill(_ entry: inout SortEntry, _ key: Int64, _ depth: Int) throws(DatabaseError) {
        let last = hasSteps ? try reader.lastObject(key) : key
        var code: UInt64 = 0
        var tail: UInt8 = 0
        var rank = Self.nullLink
        if last >= 0 {
            let view = try reader.viewOfLast(last)
            rank = view.isNull ? Self.null : Self.value
            if rank == Self.value {
                (code, tail) = type == .mixed ? Self.mixedPiece(view, depth) : Self.piece(view, depth)
            }
        }
        entry.code = isAscending ? code : ~code
        entry.tail = isAscending ? tail : Self.continues - tail
        entry.rank = isAscending ? rank : Self.nullLink - rank
    }

    /// All pieces of an object's value, as `fill` gives them one by one, until `body` says that these are enough.
    /// Returns the rank.
    @inline(__always)
    func forEachPiece(_ key: Int64, _ body: (UInt64, UInt8) -> Bool) throws(DatabaseError) -> UInt8 {
        let last = hasSteps ? try reader.lastObject(key) : key
        let view = last < 0 ? ValueView.null : try reader.viewOfLast(last)
        let rank = Self.rank(last, view)
        let shown = isAscending ? rank : Self.nullLink - rank
        guard rank == Self.value else { return shown }
        let mask: UInt64 = isAscending ? 0 : .max
        func add(_ piece: (code: UInt64, tail: UInt8)) -> Bool {
            let isWanted = body(piece.code ^ mask, isAscending ? piece.tail : Self.continues - piece.tail)
            return isWanted && piece.tail == Self.continues
        }
        var depth = 0
        switch view.kind {
        case .string where type != .mixed, .data where type != .mixed:
            let bytes = view.bytes
            while add(Self.textPiece(bytes, depth)) { depth += 1 }
        case _ where type == .mixed:
            guard add(Self.mixedPiece(view, 0)) else { break }
            OrderKey.bytes(of: view).withBytes { bytes in
                depth = 1
                while add(Self.textPiece(bytes, depth)) { depth += 1 }
            }
        default: while add(Self.piece(view, depth)) { depth += 1 }
        }
        return shown
    }

    /// Whether entries of equal code, tail and rank have more to compare.
    func hasMore(_ entry: SortEntry) -> Bool {
        entry.rank == Self.value && entry.tail == (isAscending ? Self.continues : 0)
    }

    @inline(__always)
    private static func piece(_ view: ValueView, _ depth: Int) -> (code: UInt64, tail: UInt8) {
        switch view.form {
        case .int: return (UInt64(bitPattern: view.intValue) ^ (1 << 63), 0)
        case .bool: return (view.low, 0)
        case .float: return (doubleCode(Double(view.floatValue)), 0)
        case .double: return (doubleCode(view.doubleValue), 0)
        case .timestamp:
            if depth == 0 { return (UInt64(bitPattern: view.intValue) ^ (1 << 63), continues) }
            return (UInt64(view.aux), 0)
        case .string, .data: return textPiece(view.bytes, depth)
        case .identifier: return pairPiece(view.low.bigEndian, view.high.bigEndian, depth)
        case .decimal:
            let key = view.decimalValue.orderKey
            return pairPiece(key.0, key.1, depth)
        case .link, .list, .map, .null, nil: return (0, 0)
        }
    }

    /// Values of all kinds go by their order keys.
    @inline(never)
    private static func mixedPiece(_ view: ValueView, _ depth: Int) -> (code: UInt64, tail: UInt8) {
        // Most values differ in their first piece.
        if depth == 0, let code = OrderKey.prefix(of: view) { return (code, continues) }
        return OrderKey.bytes(of: view).withBytes { textPiece($0, depth) }
    }

    @inline(__always)
    private static func pairPiece(_ first: UInt64, _ second: UInt64, _ depth: Int) -> (code: UInt64, tail: UInt8) {
        depth == 0 ? (first, continues) : (second, 0)
    }

    private static func doubleCode(_ value: Double) -> UInt64 {
        if value.isNaN { return 0 }
        // Adding zero turns -0.0 into 0.0.
        let bits = (value + 0.0).bitPattern
        return bits >> 63 == 0 ? bits | (1 << 63) : ~bits
    }

    /// Eight bytes, padded with zeros; the tail tells how many there were, so that "a" comes before "a\0".
    @inline(__always)
    private static func textPiece(_ bytes: UnsafeRawBufferPointer, _ depth: Int) -> (code: UInt64, tail: UInt8) {
        let start = depth &* 8
        guard let base = bytes.baseAddress, start < bytes.count else { return (0, 0) }
        let rest = bytes.count &- start
        if rest >= 8 {
            let code = UInt64(bigEndian: base.loadUnaligned(fromByteOffset: start, as: UInt64.self))
            return (code, rest == 8 ? 8 : continues)
        }
        var code: UInt64 = 0
        for index in 0 ..< rest {
            code |= UInt64(base.load(fromByteOffset: start &+ index, as: UInt8.self)) << UInt64(56 &- index &* 8)
        }
        return (code, UInt8(rest))
    }
}

struct SortEntry {
    var code: UInt64 = 0
    /// In the array of keys.
    var position: UInt32
    var tail: UInt8 = 0
    var rank: UInt8 = 0

    @inline(__always)
    func isBefore(_ other: SortEntry) -> Bool {
        if rank != other.rank { return rank < other.rank }
        if code != other.code { return code < other.code }
        return tail < other.tail
    }

    @inline(__always)
    func isLevel(_ other: SortEntry) -> Bool { rank == other.rank && code == other.code && tail == other.tail }
}
