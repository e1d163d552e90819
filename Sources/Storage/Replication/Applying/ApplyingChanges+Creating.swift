/// Objects that a change batch makes: first all of them, without what may link to others, then that.
import MotteSchemaModel
import MotteValues

extension ApplyingChanges {
    /// Rows that are made with one call.
    private static let rowsAtOnce = 4_096

    mutating func create(_ reader: inout ChangeBatchReader) throws(DatabaseError) {
        let key = try reader.table()
        let table = try table(key)
        let runs = try reader.runs()
        let columnCount = try reader.count(minimumSize: 2)
        guard runs.count <= reader.remaining else { throw ChangeBatch.damaged() }
        if columnCount == 0 { _ = try reader.run(runs.count) }
        var now: [(column: StoredColumn, values: ChangeBatchReader)] = []
        var later: [(column: StoredColumn, values: ChangeBatchReader)] = []
        for _ in 0 ..< columnCount {
            guard let column = columns[key]?[try reader.column()], !column.isList else { throw ChangeBatch.damaged() }
            let values = ChangeBatchReader(try reader.content())
            if mayLinkAhead(column, from: key) { later.append((column, values)) } else { now.append((column, values)) }
        }
        let keys = try insert(table, runs, &now)
        created.insert(key)
        for (column, values) in later {
            postponed.append(Postponed(table: table, column: column, keys: keys, values: values))
        }
    }

    /// Whether the column may link to objects that are not there yet.
    private func mayLinkAhead(_ column: StoredColumn, from key: TableKey) -> Bool {
        if column.type == .mixed { return true }
        guard column.isLink, let target = column.target else { return false }
        // Embedded objects are adopted one by one.
        if write.catalog.table(target)?.isEmbedded ?? false { return true }
        guard let theirs = tables.first(where: { $0.value.key == target })?.key else { return false }
        return toCreate.contains(theirs) && !created.contains(theirs)
    }

    /// The keys of the new objects here, in the order of `runs`.
    private mutating func insert(
        _ table: StoredTable, _ runs: KeyRuns, _ columns: inout [(column: StoredColumn, values: ChangeBatchReader)]
    ) throws(DatabaseError) -> [Int64] {
        var local: [Int64] = []
        local.reserveCapacity(runs.count)
        let theirs = runs.keys
        // No name has a page that could not be read again.
        let names = batch.isDifference ? FileDifference.firstName + FileDifference.keyLimit : TableState.keyLimit
        guard (theirs.last ?? 0) < names, !batch.isDifference || areOfOneKind(theirs) else {
            throw ChangeBatch.damaged()
        }
        if batch.isDifference { try refuseAdditions(table, theirs) } else { try settleDeletions(table.key) }
        while local.count < theirs.count {
            var count = min(Self.rowsAtOnce, theirs.count - local.count)
            if givesTheirKeys {
                let first = theirs[local.count]
                count = (1 ..< count).first { theirs[local.count + $0] != first + Int64($0) } ?? count
                try write.nextNew(table.key, at: first)
            }
            var values: [[ValueView]] = []
            for index in columns.indices {
                var read = try columns[index].values.values(count)
                if columns[index].column.isLink {
                    for row in read.indices where !read[row].isNull {
                        read[row] = .link(try self.local(read[row].linkValue))
                    }
                }
                values.append(read)
            }
            let slice = theirs[local.count ..< local.count + count]
            try insert(table, columns.map(\.column), values, slice, &local)
        }
        for (_, values) in columns where values.remaining > 0 { throw ChangeBatch.damaged() }
        if table.isEmbedded { newEmbedded += local.map { ObjectLink(table: table.key, key: ObjectKey($0)) } }
        return local
    }

    private mutating func insert(
        _ table: StoredTable, _ columns: [StoredColumn], _ values: [[ValueView]], _ theirs: ArraySlice<Int64>,
        _ local: inout [Int64]
    ) throws(DatabaseError) {
        let first: ObjectKey
        do throws(DatabaseError) {
            first = try Self.insert(write, table.key, columns.map(\.key), values, theirs.count)
        } catch {
            guard error.code == .duplicatePrimaryKey, !batch.isDifference else { throw error }
            return try insertOrTakeOver(table, columns, values, theirs, &local)
        }
        var next = first.rawValue
        for run in KeyRuns(Array(theirs)).runs {
            try name(table, run, next)
            next += Int64(run.count)
        }
        local.append(contentsOf: first.rawValue ..< next)
    }

    /// Keys of the first file, or names that were made up.
    private func areOfOneKind(_ theirs: [Int64]) -> Bool {
        guard let first = theirs.first, let last = theirs.last else { return true }
        return (first < FileDifference.firstName) == (last < FileDifference.firstName)
    }

    /// What has been added to a class since a difference was made may be just what it makes, as in the file that it
    /// leads to.
    private func refuseAdditions(_ table: StoredTable, _ theirs: [Int64]) throws(DatabaseError) {
        guard goesByKeys, !isFound(table) else { return }
        let view = try write.table(table.key)
        for key in theirs where key >= FileDifference.firstName {
            let own = key - FileDifference.firstName
            guard own < view.nextNewKey else { return }
            if try ownNames.standing(view, own) != nil { throw isHere(table) }
        }
    }

    private static func insert(
        _ write: WriteTransaction, _ table: TableKey, _ columns: [ColumnKey], _ values: [[ValueView]], _ count: Int
    ) throws(DatabaseError) -> ObjectKey {
        // All of them behind each other, so that they stay where they are.
        let cells = values.flatMap { $0 }
        let outcome = cells.withUnsafeBufferPointer { cells -> Result<ObjectKey, DatabaseError> in
            do throws(DatabaseError) {
                guard let start = cells.baseAddress else {
                    return .success(try write.insertColumns(table, columns: [], sources: [], rowCount: count))
                }
                return .success(
                    try write.insertColumns(
                        table, columns: columns,
                        sources: columns.indices.map { .cells(start + $0 * count, stride: 1) }, rowCount: count))
            } catch { return .failure(error) }
        }
        return try outcome.get()
    }

    /// One by one: an object whose primary key is there goes on in the one that has it.
    private mutating func insertOrTakeOver(
        _ table: StoredTable, _ columns: [StoredColumn], _ values: [[ValueView]], _ theirs: ArraySlice<Int64>,
        _ local: inout [Int64]
    ) throws(DatabaseError) {
        guard let primary = columns.firstIndex(where: \.isPrimaryKey) else { throw ChangeBatch.damaged() }
        for (row, key) in theirs.enumerated() {
            let view = try write.table(table.key)
            let own: ObjectKey
            var present = try view.find(primaryKey: values[primary][row])
            if let known = present, givesTheirKeys, goes(ObjectLink(table: table.key, key: known)) {
                write.unindex(values[primary][row], columns[primary], known)
                replaced[ObjectLink(table: table.key, key: known)] = (values[primary][row].owned, columns[primary])
                present = nil
            }
            if let known = present {
                guard takenOver.insert(ObjectLink(table: table.key, key: known)).inserted else {
                    throw ChangeBatch.damaged("it makes two objects with one primary key")
                }
                own = known
                for (index, column) in columns.enumerated() where index != primary {
                    try write.set(table.key, column.key, own, to: values[index][row])
                }
                for column in table.columns where column.isList && !column.isMapKeys {
                    try clear(table.key, column, own)
                }
            } else {
                if givesTheirKeys { try write.nextNew(table.key, at: key) }
                own = try Self.insert(write, table.key, columns.map(\.key), values.map { [$0[row]] }, 1)
            }
            try name(table, key ..< key + 1, own.rawValue)
            local.append(own.rawValue)
        }
    }

    private func clear(_ table: TableKey, _ column: StoredColumn, _ key: ObjectKey) throws(DatabaseError) {
        switch column.collection {
        case .list: try write.listClear(table, column.key, key)
        case .set: try write.setClear(table, column.key, key)
        case .map: try write.mapClear(table, column.key, key)
        case .none: break
        }
    }

    /// All new objects are there: they may be linked to.
    mutating func finishCreated() throws(DatabaseError) {
        for part in postponed {
            var values = part.values
            for key in part.keys {
                let value = try values.value()
                guard !value.isNull || !takenOver.isEmpty else { continue }
                try withLocal(value) { value throws(DatabaseError) in
                    try write.set(part.table.key, part.column.key, ObjectKey(key), to: value)
                }
            }
            guard values.remaining == 0 else { throw ChangeBatch.damaged() }
        }
        postponed = []
    }
}
