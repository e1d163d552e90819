/// What makes an ordered index unique: no two rows have the same bytes, unless one of their values is null.
///
/// Of one row the index is asked. Rows that come together are compared with each other and with what is pending by
/// their hashes, and those that nobody pending can have are sorted and looked up in one walk over the committed blocks.
/// What is postponed is looked at in the same way when all rows are as they are to be: value by value where it is
/// little, otherwise everything that is pending in one walk.
import MottePages
import MotteValues

struct OrderedUniqueness {
    /// Values that came while checks were postponed, as long as they are few.
    private var postponed: [[UInt8]] = []
    private var isMany = false

    private static let most = 1_024
    /// So many rows are worth a walk over the bounds of all blocks.
    private static let fewest = 256

    // MARK: Now

    static func check(_ rows: IndexedRows, _ writer: OrderedWriter) throws(DatabaseError) {
        let answers = OrderedAnswers(writer.columns, writer.reader, writer)
        guard rows.count > 1 else {
            guard rows.isLive(0), !writer.fill(rows, 0) else { return }
            if let problem = tooLong(rows, 0, writer) { throw problem }
            let hash = writer.scratch.withUnsafeBytes { OrderedHashes.hash($0) }
            if let other = try holder(writer, answers, hash, except: rows.key(0)) {
                throw duplicate(rows, 0, "object \(other)", writer)
            }
            return
        }
        try checkMany(rows, writer, answers)
    }

    /// Who has what the writer holds of a row, other than that row.
    private static func holder(
        _ writer: OrderedWriter, _ answers: OrderedAnswers, _ hash: UInt64, except own: Int64
    ) throws(DatabaseError) -> Int64? {
        if writer.mayHavePending(hash) {
            return try answers.firstKey(beginningWith: writer.scratch, except: own)
        }
        return try writer.reader?.firstKey(with: writer.scratch, except: own)
    }

    private static func checkMany(
        _ rows: IndexedRows, _ writer: OrderedWriter, _ answers: OrderedAnswers
    ) throws(DatabaseError) {
        var seen = OrderedHashes()
        let reader = try writer.reader?.hasBlocks() ?? false ? writer.reader : nil
        let walks = reader != nil && rows.count >= fewest
        let memory = OrderedChangeMemory(SpillFile())
        var sought: ContiguousArray<IndexEntry> = []
        /// Of the first row that must not be there.
        var first: (row: Int, error: DatabaseError)?
        for row in 0 ..< rows.count where rows.isLive(row) && !writer.fill(rows, row) {
            if let problem = tooLong(rows, row, writer) {
                first = (row, problem)
                break
            }
            let hash = writer.scratch.withUnsafeBytes { OrderedHashes.hash($0) }
            if !seen.insert(hash), let earlier = earlier(rows, row, writer) {
                let other = rows.isBatch ? "row \(earlier) of this call" : "object \(rows.key(earlier))"
                first = (row, duplicate(rows, row, other, writer))
                break
            }
            if walks, !writer.mayHavePending(hash) {
                writer.scratch.withUnsafeBytes { bytes in
                    let place = memory.append(bytes, UInt64(row), isRemoved: false)
                    sought.append(IndexEntry(value: OrderedChangeMemory.word(bytes, 0), key: UInt64(place)))
                }
            } else if let other = try holder(writer, answers, hash, except: rows.key(row)) {
                first = (row, duplicate(rows, row, "object \(other)", writer))
                break
            }
        }
        if let reader, !sought.isEmpty {
            memory.sort(&sought)
            try withWalk(reader) { walk throws(DatabaseError) in
                for one in sought where try walk.contains(memory.bytes(one.key)) {
                    let row = Int(memory.key(one.key))
                    guard row < first?.row ?? .max,
                        let other = try reader.firstKey(with: [UInt8](memory.bytes(one.key)), except: rows.key(row))
                    else { continue }
                    first = (row, duplicate(rows, row, "object \(other)", writer))
                }
            }
        }
        if let first { throw first.error }
    }

    private static func withWalk(
        _ reader: OrderedReader, _ body: (inout OrderedWalk) throws(DatabaseError) -> Void
    ) throws(DatabaseError) {
        let room = UnsafeMutableRawPointer.allocate(byteCount: OrderedBytes.longest, alignment: 8)
        defer { room.deallocate() }
        var walk = try OrderedWalk(reader, room: room)
        try body(&walk)
    }

    /// The row before that has the same values; where only hashes are the same there is none.
    private static func earlier(_ rows: IndexedRows, _ row: Int, _ writer: OrderedWriter) -> Int? {
        let wanted = writer.scratch
        let found = (0 ..< row).first { rows.isLive($0) && !writer.fill(rows, $0) && writer.scratch == wanted }
        _ = writer.fill(rows, row)
        return found
    }

    // MARK: Later

    mutating func postpone(_ rows: IndexedRows, _ writer: OrderedWriter) throws(DatabaseError) {
        for row in 0 ..< rows.count where rows.isLive(row) && !writer.fill(rows, row) {
            if let problem = Self.tooLong(rows, row, writer) { throw problem }
            if isMany { continue }
            postponed.append(writer.scratch)
            guard postponed.count > Self.most else { continue }
            isMany = true
            postponed = []
        }
    }

    func check(_ writer: OrderedWriter) throws(DatabaseError) {
        if isMany { return try Self.checkEverything(writer) }
        let answers = OrderedAnswers(writer.columns, writer.reader, writer)
        for value in postponed {
            guard let one = try answers.firstKey(beginningWith: value, except: nil),
                let other = try answers.firstKey(beginningWith: value, except: one)
            else { continue }
            throw Self.duplicate(one, other, writer)
        }
    }

    /// What has come, in order: its neighbours, and what is committed.
    private static func checkEverything(_ writer: OrderedWriter) throws(DatabaseError) {
        var last: OrderedChanges.Change?
        var taken: [(bytes: [UInt8], key: Int64)] = []
        func compare(_ change: OrderedChanges.Change) throws(DatabaseError) {
            if let last, OrderedReader.compare(last.bytes, change.bytes) == 0 {
                throw duplicate(Int64(bitPattern: last.key), Int64(bitPattern: change.key), writer)
            }
            last = change
        }
        guard let reader = writer.reader, try reader.hasBlocks() else {
            return try writer.withChanges { change throws(DatabaseError) in
                if !change.isRemoved, !change.hasNull { try compare(change) }
            }
        }
        try withWalk(reader) { walk throws(DatabaseError) in
            try writer.withChanges { change throws(DatabaseError) in
                guard !change.isRemoved, !change.hasNull else { return }
                try compare(change)
                if try walk.contains(change.bytes) {
                    taken.append(([UInt8](change.bytes), Int64(bitPattern: change.key)))
                }
            }
        }
        // Some of them by rows that give their values up.
        let answers = OrderedAnswers(writer.columns, reader, writer)
        for one in taken {
            guard let other = try answers.firstKey(beginningWith: one.bytes, except: one.key) else { continue }
            throw duplicate(other, one.key, writer)
        }
    }

    // MARK: Errors

    private static func tooLong(
        _ rows: IndexedRows, _ row: Int, _ writer: OrderedWriter
    ) -> DatabaseError? {
        guard writer.scratch.count > OrderedBytes.longest else { return nil }
        return error(
            .valueTooLarge, rows, row,
            "is longer than a unique value can be (about \(OrderedBytes.longest - 8) bytes); shorten it, or make a "
                + "hash of it unique", writer)
    }

    private static func duplicate(
        _ rows: IndexedRows, _ row: Int, _ other: String, _ writer: OrderedWriter
    ) -> DatabaseError {
        error(
            .duplicateValue, rows, row, "is unique, and \(other) has it; give one of them another value", writer)
    }

    private static func duplicate(_ one: Int64, _ other: Int64, _ writer: OrderedWriter) -> DatabaseError {
        let index = writer.index
        return DatabaseError(
            .duplicateValue,
            "\(index.className).\(names(writer)) is unique, and object \(one) and object \(other) would have the same "
                + "value; give one of them another value", className: index.className,
            propertyName: index.columns.first?.name)
    }

    private static func names(_ writer: OrderedWriter) -> String {
        writer.index.columns.map(\.name).joined(separator: ", ")
    }

    private static func error(
        _ code: ErrorCode, _ rows: IndexedRows, _ row: Int, _ problem: String, _ writer: OrderedWriter
    ) -> DatabaseError {
        let index = writer.index
        let values = index.columns.indices.map { rows.value($0, row).owned.text }.joined(separator: ", ")
        let this = rows.isBatch && rows.count > 1 ? "row \(row)" : "object \(rows.key(row))"
        let error = DatabaseError(
            code, "\(index.className).\(names(writer)): the value \(values.prefix(100)) of \(this) \(problem)",
            className: index.className, propertyName: index.columns.first?.name)
        return rows.isBatch && rows.count > 1 ? error.at(rowIndex: row) : error
    }
}
