/// A collection as Arrow data, a batch of rows at a time: chosen properties, also of objects that links lead to.
///
/// Values are copied: chunks keep ints packed and texts behind offsets of their own width, so that no buffer of theirs
/// is one of Arrow's. What the copy has, it has of one version: the stream shows the one that the session showed when
/// it was made, whatever is written meanwhile and after the session was closed. Batches of an open write, and of plain
/// values, are made at once.
import MotteColumns
import MotteLiveObjects
import MotteSchemaModel
import MotteStorage
import MotteValues

package final class ArrowExport {
    package struct Options: Sendable {
        /// Paths of the columns; nil: all that are stored.
        package var columns: [String]?
        /// What the columns are called, in their order; nil: as the paths say.
        package var titles: [String]?
        package var batchRows = ArrowExport.defaultBatchRows
        package var unitsPerSecond: Int64 = 1_000_000
        /// Strings as views: sixteen bytes each, which some readers want, and not behind offsets.
        package var textViews = false

        package init() {}
    }

    package static let defaultBatchRows = 1 << 17

    package let schema: ArrowField
    private let state: Locked<Reading>

    /// @unchecked: everything in it belongs to this export, which lends it to one thread at a time.
    private struct Reading: @unchecked Sendable {
        var rows: Rows?
        var batches: [ArrowData] = []
        var isDone = false
    }

    package init(_ collection: LiveCollection, _ options: Options = Options()) throws(DatabaseError) {
        let session = collection.session
        guard options.batchRows > 0 else {
            throw DatabaseError(.invalidArgument, "a batch has at least one row")
        }
        guard let target = collection.target else {
            guard options.columns == nil else { throw Self.notObjects() }
            let maker = ArrowMaker(try session.source(), isInWrite: true, options)
            let made = try Self.values(collection, maker, options.batchRows)
            schema = ArrowField("", "+s", isNullable: false, children: [made.field])
            state = Locked(Reading(batches: made.batches.reversed()))
            return
        }
        // What belongs to nobody else yet is read while it is there.
        let isInWrite = session.isInWrite || session.isInGroup
        let source = isInWrite ? try session.source() : try session.committedSnapshot().copy()
        let maker = ArrowMaker(source, isInWrite: isInWrite, options)
        var rows = try Rows(collection, target, maker, options)
        schema = try Self.schema(rows.columns.map(\.field), options)
        guard isInWrite else {
            state = Locked(Reading(rows: rows))
            return
        }
        var batches: [ArrowData] = []
        while let batch = try rows.next() { batches.append(batch) }
        state = Locked(Reading(batches: batches.reversed()))
    }

    /// One batch that was made elsewhere.
    init(_ schema: ArrowField, _ batch: ArrowData) {
        self.schema = schema
        state = Locked(Reading(batches: [batch]))
    }

    /// The schema alone; nothing is read.
    package static func schema(
        of collection: LiveCollection, _ options: Options = Options()
    ) throws(DatabaseError) -> ArrowField {
        let maker = ArrowMaker(try collection.session.source(), isInWrite: true, options)
        guard let target = collection.target else {
            guard options.columns == nil else { throw notObjects() }
            let property = value(of: collection)
            return ArrowField(
                "", "+s", isNullable: false, children: [try maker.values(property, named: property.name).field])
        }
        let columns = try columns(target, maker, options)
        return try schema(columns.map(\.field), options)
    }

    private static func schema(_ columns: [ArrowField], _ options: Options) throws(DatabaseError) -> ArrowField {
        var named = columns
        if let titles = options.titles {
            guard titles.count == columns.count else {
                throw DatabaseError(
                    .invalidArgument, "\(columns.count) columns and \(titles.count) titles do not pair up")
            }
            for (index, title) in titles.enumerated() { named[index].name = title }
        }
        return ArrowField("", "+s", isNullable: false, children: named)
    }

    private static func notObjects() -> DatabaseError {
        DatabaseError(.wrongType, "only objects have columns; this holds plain values")
    }

    private static func value(of collection: LiveCollection) -> Property {
        Property(name: "value", type: collection.elementType, isNullable: collection.isElementNullable)
    }

    /// nil when all rows were given.
    package func next() throws(DatabaseError) -> ArrowData? {
        // Locked lends its value without typed errors.
        let outcome = state.withLock { state -> Result<Holder, DatabaseError> in
            if let batch = state.batches.popLast() { return .success(Holder(data: batch)) }
            do throws(DatabaseError) {
                let batch = try state.rows?.next()
                // The version is free as soon as nothing more of it is wanted.
                if batch == nil { state.rows = nil }
                return .success(Holder(data: batch))
            } catch { return .failure(error) }
        }
        return try outcome.get().data
    }

    /// @unchecked: carries a new batch out of the lock to the one who asked for it.
    private struct Holder: @unchecked Sendable { let data: ArrowData? }

    private static func values(
        _ collection: LiveCollection, _ maker: ArrowMaker, _ batchRows: Int
    ) throws(DatabaseError) -> (field: ArrowField, batches: [ArrowData]) {
        let property = value(of: collection)
        let (field, values) = try maker.values(property, named: property.name)
        var batches: [ArrowData] = []
        func finish() throws(DatabaseError) {
            let data = try values.finish()
            batches.append(
                ArrowData(length: data.length, nullCount: 0, buffers: [ArrowBuffer()], children: [data]))
        }
        for index in 0 ..< (try collection.count()) {
            let value = try collection.value(at: index)
            if values.count == batchRows { try finish() }
            maker.limit.expect(rowCount: values.count + 1)
            do throws(DatabaseError) { try values.append(value) } catch {
                // Too much for what is there already.
                guard error.code == .valueTooLarge, values.count > 0 else { throw error }
                try finish()
                maker.limit.expect(rowCount: 1)
                try values.append(value)
            }
        }
        if values.count > 0 || batches.isEmpty { try finish() }
        return (field, batches)
    }

    // MARK: Rows

    private static func columns(
        _ target: TableKey, _ maker: ArrowMaker, _ options: Options
    ) throws(DatabaseError) -> [Column] {
        let view = try maker.source.table(target)
        let type = view.type
        let schema = maker.source.schema
        let paths: [ColumnPath]
        if let names = options.columns {
            var found: [ColumnPath] = []
            for name in names { found.append(try ColumnPath(name, of: type, in: schema)) }
            paths = found
        } else {
            paths = ColumnPath.stored(of: type)
        }
        guard Set(paths.map { NameKey($0.text) }).count == paths.count else {
            throw DatabaseError(.invalidArgument, "a column is named twice", className: type.name)
        }
        var columns: [Column] = []
        for path in paths { columns.append(try Column(path, view, maker)) }
        return columns
    }

    private struct Rows {
        let columns: [Column]
        private let count: Int
        /// nil where keys have no gaps and no other order.
        private let keys: [Int64]?
        private var finder: RowFinder
        private var done = 0
        private var batchRows: Int
        private let buffer: KeyBuffer
        private let limit: ArrowLimit
        /// Views of its tables do not keep it.
        private let source: RowSource

        init(
            _ collection: LiveCollection, _ target: TableKey, _ maker: ArrowMaker, _ options: Options
        ) throws(DatabaseError) {
            source = maker.source
            limit = maker.limit
            let view = try maker.source.table(target)
            columns = try ArrowExport.columns(target, maker, options)
            finder = RowFinder(view)
            if collection.isWholeClass, Int64(view.liveCount) == view.nextKey {
                keys = nil
                count = view.liveCount
            } else {
                let all = try collection.keys()
                keys = all
                count = all.count
            }
            batchRows = options.batchRows
            buffer = KeyBuffer(min(options.batchRows, max(count, 1)))
        }

        mutating func next() throws(DatabaseError) -> ArrowData? {
            guard done < count else { return nil }
            while true {
                let number = min(batchRows, count - done)
                limit.expect(rowCount: number)
                do throws(DatabaseError) {
                    let batch = try batch(number)
                    done += number
                    return batch
                } catch {
                    // What was begun goes, and with it whatever keeps that from being whole.
                    for column in columns { _ = try? column.property.finish() }
                    // Texts of so many rows take too much; fewer rows do.
                    guard error.code == .valueTooLarge, number > 1 else { throw error }
                    batchRows = max(number / 4, 1)
                }
            }
        }

        private mutating func batch(_ number: Int) throws(DatabaseError) -> ArrowData {
            if let keys {
                for index in 0 ..< number { buffer.start[index] = keys[done + index] }
            } else {
                for index in 0 ..< number { buffer.start[index] = Int64(done + index) }
            }
            let given = UnsafeBufferPointer(start: buffer.start, count: number)
            var children: [ArrowData] = []
            if let order = ArrowOrder(given) {
                let ordered = try runs(order)
                for column in columns { children.append(try column.read(given, order, ordered, &finder)) }
            } else {
                let runs = try finder.runs(given)
                for column in columns { children.append(try column.read(given, runs)) }
            }
            return ArrowData(length: number, nullCount: 0, buffers: [ArrowBuffer()], children: children)
        }

        private mutating func runs(_ order: ArrowOrder) throws(DatabaseError) -> RowRuns {
            try order.keys.withUnsafeBufferPointer { keys throws(DatabaseError) in try finder.runs(keys) }
        }
    }

    /// The keys of a batch.
    private final class KeyBuffer {
        let start: UnsafeMutablePointer<Int64>
        init(_ capacity: Int) { start = .allocate(capacity: capacity) }
        deinit { start.deallocate() }
    }

    /// A property, and the links that lead to the objects that have it.
    private final class Column {
        let property: ArrowProperty
        let field: ArrowField
        private var links: [(view: TableView, slot: Int, finder: RowFinder)] = []
        private var end: RowFinder

        init(_ path: ColumnPath, _ view: TableView, _ maker: ArrowMaker) throws(DatabaseError) {
            var view = view
            for link in path.links {
                let slot = try view.layout.slot(link)
                links.append((view, slot, RowFinder(view)))
                guard let target = view.layout.columns[slot].target else {
                    throw DatabaseError(.internal, "a link without a class")
                }
                view = try maker.source.table(target)
            }
            property = try ArrowProperty(path.property, view, maker)
            end = RowFinder(view)
            var field = property.field
            field.name = path.text
            // Links on the way may be null.
            if !path.links.isEmpty { field.isNullable = true }
            self.field = field
        }

        /// In the order of `keys`; `runs` are those of the keys in `order`.
        func read(
            _ keys: UnsafeBufferPointer<Int64>, _ order: ArrowOrder, _ runs: RowRuns, _ finder: inout RowFinder
        ) throws(DatabaseError) -> ArrowData {
            do throws(DatabaseError) {
                let data = try order.keys.withUnsafeBufferPointer { keys throws(DatabaseError) in
                    try read(keys, runs)
                }
                return try order.arrangement.arranged(data, field)
            } catch {
                guard error.code == .overflow else { throw error }
                // It names a row of the other order.
                _ = try? property.finish()
                return try read(keys, try finder.runs(keys))
            }
        }

        /// `runs` are those of the keys.
        func read(_ keys: UnsafeBufferPointer<Int64>, _ runs: RowRuns) throws(DatabaseError) -> ArrowData {
            guard !links.isEmpty else {
                try property.append(runs)
                return try property.finish()
            }
            let ends = UnsafeMutablePointer<Int64>.allocate(capacity: max(keys.count, 1))
            defer { ends.deallocate() }
            var runs = runs
            for index in links.indices {
                if index > 0 {
                    runs = try links[index].finder.runs(UnsafeBufferPointer(start: ends, count: keys.count))
                }
                try follow(links[index].view, links[index].slot, runs, ends)
            }
            try property.append(try end.runs(UnsafeBufferPointer(start: ends, count: keys.count)))
            return try property.finish()
        }

        /// Replaces keys by those that the rows link to.
        private func follow(
            _ view: TableView, _ slot: Int, _ found: RowRuns, _ ends: UnsafeMutablePointer<Int64>
        ) throws(DatabaseError) {
            var position = 0
            var known: (rowGroup: Int, chunk: ColumnChunk)?
            for run in found.runs {
                if run.rowGroup < 0 {
                    (ends + position).update(repeating: -1, count: run.count)
                } else {
                    if known?.rowGroup != run.rowGroup {
                        known = (run.rowGroup, try view.chunk(slot: slot, run.rowGroup))
                    }
                    if run.slots < 0 {
                        known?.chunk.decodeLinks(run.first ..< run.first + run.count, into: ends + position)
                    } else {
                        found.slots.withUnsafeBufferPointer { slots in
                            let slots = Slots(rebasing: slots[run.slots ..< run.slots + run.count])
                            known?.chunk.decodeInts(slots, into: ends + position)
                        }
                    }
                }
                position += run.count
            }
        }
    }
}
