/// The objects of one cluster on their way into the store: a batch of rows, then the collections of each.
import MotteLiveObjects
import MotteRealmFile
import MotteStorage
import MotteValues

final class RealmRows {
    /// More are inserted into a list in several pieces.
    private static let mostElements = 16_384
    private static let mostRows = 256

    private let importer: RealmImport
    private let type: RealmClassPlan
    private let translation: RealmTranslation
    private var session: Session { importer.session }
    private var arena: ByteArena { translation.arena }

    /// Indexes in `type.fields`: what is part of a row, and what is assigned when the row has a key.
    private let rowFields: [Int]
    private let laterFields: [Int]
    private let columns: [ColumnKey]
    private let cells: UnsafeMutablePointer<ValueView>
    private let keys: UnsafeMutablePointer<Int64>

    init(_ importer: RealmImport, _ type: RealmClassPlan, _ translation: RealmTranslation) {
        self.importer = importer
        self.type = type
        self.translation = translation
        // Objects that are there already let go of their embedded objects one by one.
        let isRow = type.fields.map { !$0.isCollection && !(type.isUpdating && $0.ownsTarget) }
        rowFields = type.fields.indices.filter { isRow[$0] }
        laterFields = type.fields.indices.filter { !isRow[$0] }
        columns = rowFields.map { type.fields[$0].column }
        cells = .allocate(capacity: max(rowFields.count, 1) * Self.mostRows)
        cells.initialize(repeating: .null, count: max(rowFields.count, 1) * Self.mostRows)
        keys = .allocate(capacity: Self.mostRows)
    }

    deinit {
        cells.deallocate()
        keys.deallocate()
    }

    // MARK: Rows

    func importCluster(_ cluster: RealmCluster) throws(DatabaseError) -> ImportOutcome {
        var outcome = ImportOutcome()
        var start = 0
        while start < cluster.count {
            var end = min(cluster.count, start + Self.mostRows)
            while try !fill(cluster, start ..< end) {
                // Too many large values for one batch.
                end = start + max(1, (end - start) / 4)
                cluster.release()
                arena.reset()
            }
            let rows = start ..< end
            let part = try write(cluster, rows)
            outcome.created += part.created
            outcome.updated += part.updated
            cluster.release()
            arena.reset()
            for index in laterFields { try assign(cluster, rows, index) }
            start = end
        }
        return outcome
    }

    /// Column by column, or row by row where rows are looked up one by one. False when they take too much memory.
    private func fill(_ cluster: RealmCluster, _ rows: Range<Int>) throws(DatabaseError) -> Bool {
        let rowStride = type.isUpdating ? columns.count : 1
        let columnStride = type.isUpdating ? 1 : Self.mostRows
        let notes = translation.notes
        for (position, index) in rowFields.enumerated() {
            let field = type.fields[index]
            var place = cells + position * columnStride
            let clamped = importer.file.clampedTimestamps
            translation.begin(type, field, cluster)
            if field.property.type == .link {
                for row in rows {
                    translation.begin(object: cluster.key(row))
                    let value = try translation.value(try cluster.value(field.index, row))
                    if translation.sawLate { type.isLate[index] = true }
                    place.pointee = value
                    place += rowStride
                }
            } else if field.property.type == .mixed {
                for row in rows {
                    translation.begin(object: cluster.key(row))
                    let view = try cluster.value(field.index, row)
                    if try translation.isLate(view) {
                        type.isLate[index] = true
                        place.pointee = .null
                    } else {
                        place.pointee = try translation.value(view)
                    }
                    place += rowStride
                }
            } else {
                // Texts are checked by the store, which mostly has nothing to say.
                for row in rows {
                    place.pointee = try cluster.value(field.index, row)
                    place += rowStride
                }
            }
            try noteClamped(since: clamped, cluster, rows.lowerBound)
            let held = cluster.heldBytes + arena.count
            if held > importer.options.heldBytes, rows.count > 1 {
                translation.notes = notes
                return false
            }
        }
        return true
    }

    private func write(_ cluster: RealmCluster, _ rows: Range<Int>) throws(DatabaseError) -> ImportOutcome {
        do throws(DatabaseError) { return try flush(cluster, rows) } catch {
            guard error.code == .invalidUTF8 || error.code == .valueTooLarge else {
                throw located(error, cluster, rows)
            }
        }
        // Once more, with what fits in place of what does not.
        let rowStride = type.isUpdating ? columns.count : 1
        let columnStride = type.isUpdating ? 1 : Self.mostRows
        for (position, index) in rowFields.enumerated() {
            let field = type.fields[index]
            guard field.property.type == .string || field.property.type == .data else { continue }
            translation.begin(type, field, cluster)
            for (offset, row) in rows.enumerated() {
                translation.begin(object: cluster.key(row))
                let place = cells + position * columnStride + offset * rowStride
                place.pointee = try translation.value(place.pointee)
            }
        }
        do throws(DatabaseError) { return try flush(cluster, rows) } catch { throw located(error, cluster, rows) }
    }

    private func flush(_ cluster: RealmCluster, _ rows: Range<Int>) throws(DatabaseError) -> ImportOutcome {
        guard !type.isUpdating else {
            let outcome = try session.upsertBatch(
                type.table, columns: columns, rows: cells, rowCount: rows.count, policy: importer.options.policy,
                keys: keys)
            return ImportOutcome(created: outcome.created, updated: outcome.updated)
        }
        let sources = rowFields.indices.map { BatchColumn.cells(cells + $0 * Self.mostRows, stride: 1) }
        let first = try session.insertColumns(type.table, columns: columns, sources: sources, rowCount: rows.count)
        guard first.rawValue == type.firstKey + Int64(cluster.firstPosition + rows.lowerBound) else {
            throw DatabaseError(
                .invalidArgument,
                "objects of \(type.type.name) were added by others while the Realm file was imported; keep others from "
                    + "writing them, or import into a database of its own", className: type.type.name)
        }
        for offset in 0 ..< rows.count { keys[offset] = first.rawValue + Int64(offset) }
        for (position, index) in rowFields.enumerated() where type.fields[index].ownsTarget {
            for offset in 0 ..< rows.count {
                try adopt(cells[position * Self.mostRows + offset], index, cluster.key(rows.lowerBound + offset))
            }
        }
        return ImportOutcome(created: rows.count)
    }

    /// An embedded object has one owner.
    private func adopt(_ value: ValueView, _ index: Int, _ key: Int64) throws(DatabaseError) {
        guard !value.isNull, let target = type.fields[index].target.flatMap({ importer.plan.classes[$0] }) else {
            return
        }
        let position = Int(value.linkValue.key.rawValue - target.firstKey)
        guard target.adopt(position) else {
            translation.begin(object: key)
            throw translation.corrupted("the embedded object there has another owner, too")
        }
    }

    /// Rows of a batch have no meaning for whoever sees objects.
    private func located(_ error: DatabaseError, _ cluster: RealmCluster, _ rows: Range<Int>) -> DatabaseError {
        guard error.code != .callback else { return error }
        let row = rows.lowerBound + (rows.count == 1 ? 0 : error.details.rowIndex ?? 0)
        return located(ExchangeError.withoutRow(error), key: cluster.key(min(row, cluster.count - 1)))
    }

    private func located(_ error: DatabaseError, key: Int64) -> DatabaseError {
        DatabaseError(
            error.code, "\(error.message) (object with the key \(key) of \(type.source.name) in the Realm file)",
            path: error.details.path, className: error.details.className ?? type.type.name,
            propertyName: error.details.propertyName, systemError: error.details.systemError)
    }

    // MARK: Values of objects that have a key

    private func assign(_ cluster: RealmCluster, _ rows: Range<Int>, _ index: Int) throws(DatabaseError) {
        let field = type.fields[index]
        for (offset, row) in rows.enumerated() {
            let isEmpty =
                field.isCollection
                ? try cluster.elementCount(field.index, row) == 0 : try cluster.value(field.index, row).isNull
            if isEmpty, !type.isUpdating { continue }
            try assign(cluster, row, index, ObjectKey(keys[offset]))
        }
    }

    private func assign(
        _ cluster: RealmCluster, _ row: Int, _ index: Int, _ key: ObjectKey
    ) throws(DatabaseError) {
        let field = type.fields[index]
        defer {
            cluster.release()
            arena.reset()
        }
        translation.begin(type, field, cluster)
        translation.begin(object: cluster.key(row))
        if field.mayBeLate, try isLate(cluster, row, field) {
            type.isLate[index] = true
            return
        }
        let clamped = importer.file.clampedTimestamps
        do throws(DatabaseError) {
            switch field.property.collection {
            case .none: try assignValue(cluster, row, index, key)
            case .list: try assignList(cluster, row, index, key)
            case .set: try assignSet(cluster, row, field, key)
            case .map: try assignMap(cluster, row, index, key)
            }
        } catch {
            throw error.code == .corrupted ? error : located(error, key: cluster.key(row))
        }
        try noteClamped(since: clamped, cluster, row)
    }

    /// Half a second before the first second there is cannot be expressed.
    private func noteClamped(since count: Int, _ cluster: RealmCluster, _ row: Int) throws(DatabaseError) {
        let clamped = importer.file.clampedTimestamps - count
        guard clamped > 0 else { return }
        translation.begin(object: cluster.key(row))
        try translation.note(
            .valueTooLarge, "dates within the first second that can be expressed are its beginning", count: clamped)
    }

    private func isLate(
        _ cluster: RealmCluster, _ row: Int, _ field: RealmClassPlan.Field
    ) throws(DatabaseError) -> Bool {
        guard field.isCollection else { return try translation.isLate(try cluster.value(field.index, row)) }
        var isLate = false
        try cluster.elements(field.index, row, keeping: false) { (_, view) throws(DatabaseError) in
            if !isLate, try translation.isLate(view) { isLate = true }
            if arena.count > 1 << 22 { arena.reset() }
        }
        return isLate
    }

    private func assignValue(
        _ cluster: RealmCluster, _ row: Int, _ index: Int, _ key: ObjectKey
    ) throws(DatabaseError) {
        let field = type.fields[index]
        let value = try translation.value(try cluster.value(field.index, row))
        if field.ownsTarget, type.isUpdating { try session.set(type.table, field.column, key, to: .null) }
        try session.set(type.table, field.column, key, to: value)
        if field.ownsTarget { try adopt(value, index, cluster.key(row)) }
    }

    private func assignList(
        _ cluster: RealmCluster, _ row: Int, _ index: Int, _ key: ObjectKey
    ) throws(DatabaseError) {
        let field = type.fields[index]
        let write = try session.requireWrite()
        if type.isUpdating { try write.listClear(type.table, field.column, key) }
        var values: [ValueView] = []
        var count = 0
        var stored = 0
        func flush() throws(DatabaseError) {
            guard !values.isEmpty else { return }
            try write.listInsert(type.table, field.column, key, at: count, values)
            if field.ownsTarget { for value in values { try adopt(value, index, cluster.key(row)) } }
            count += values.count
            values.removeAll(keepingCapacity: true)
            arena.reset()
        }
        try cluster.elements(field.index, row, keeping: false) { (_, view) throws(DatabaseError) in
            stored += 1
            let value = try translation.value(view, copies: true)
            // Of a class that is left out.
            if value.isNull, field.property.type == .link { return }
            values.append(value)
            if values.count == Self.mostElements || arena.count > importer.options.heldBytes { try flush() }
        }
        try flush()
        try noteMissing(cluster, row, field, found: stored)
    }

    private func assignSet(
        _ cluster: RealmCluster, _ row: Int, _ field: RealmClassPlan.Field, _ key: ObjectKey
    ) throws(DatabaseError) {
        var values: [ValueView] = []
        var found = 0
        try cluster.elements(field.index, row, keeping: false) { (_, view) throws(DatabaseError) in
            found += 1
            let value = try translation.value(view, copies: true)
            // Of a class that is left out.
            if value.isNull, field.property.type == .link { return }
            values.append(value)
        }
        try session.requireWrite().setAssign(type.table, field.column, key, values)
        let count = try session.table(type.table).listCount(field.column, key)
        if count < values.count {
            try translation.note(
                .invalidArgument, "equal elements of sets are one element, also numbers of different types",
                count: values.count - count)
        }
        try noteMissing(cluster, row, field, found: found)
    }

    private func assignMap(
        _ cluster: RealmCluster, _ row: Int, _ index: Int, _ key: ObjectKey
    ) throws(DatabaseError) {
        let field = type.fields[index]
        let write = try session.requireWrite()
        if type.isUpdating { try write.mapClear(type.table, field.column, key) }
        var names: [UnsafeRawBufferPointer] = []
        var values: [ValueView] = []
        try cluster.elements(field.index, row, keeping: false) { (name, view) throws(DatabaseError) in
            names.append(arena.copy(name))
            values.append(try translation.value(view, copies: true))
        }
        let legal = try translation.legalKeys(names) ?? names
        for (name, value) in zip(legal, values) {
            try write.mapPut(type.table, field.column, key, name, value)
            if field.ownsTarget { try adopt(value, index, cluster.key(row)) }
        }
    }

    /// Realm hides links to objects that were deleted on another device.
    private func noteMissing(
        _ cluster: RealmCluster, _ row: Int, _ field: RealmClassPlan.Field, found: Int
    ) throws(DatabaseError) {
        let missing = try cluster.elementCount(field.index, row) - found
        guard missing > 0, field.hasLinks else { return }
        translation.noteUnseen(count: missing)
    }

    // MARK: The second pass

    func importLate(_ cluster: RealmCluster) throws(DatabaseError) {
        for (index, field) in type.fields.enumerated() where type.isLate[index] {
            translation.begin(type, field, cluster)
            for row in 0 ..< cluster.count {
                translation.begin(object: cluster.key(row))
                translation.resolvesAll = false
                guard try isLate(cluster, row, field) else { continue }
                translation.resolvesAll = true
                defer { translation.resolvesAll = false }
                let key = try self.key(cluster, row)
                if cluster.firstPosition < type.resumedCount, try isAssigned(field, key) {
                    try RealmComparison(translation, adopts: true).compare(type, field, cluster, row)
                    continue
                }
                try assign(cluster, row, index, key)
            }
            cluster.release()
            arena.reset()
        }
    }

    private func isAssigned(_ field: RealmClassPlan.Field, _ key: ObjectKey) throws(DatabaseError) -> Bool {
        guard field.isCollection else { return try !session.value(type.table, field.column, key).isNull }
        return try session.table(type.table).listCount(field.column, key) > 0
    }

    private func key(_ cluster: RealmCluster, _ row: Int) throws(DatabaseError) -> ObjectKey {
        guard type.isUpdating, let primaryKey = type.source.primaryKey else {
            return ObjectKey(type.firstKey + Int64(cluster.firstPosition + row))
        }
        guard let key = try session.findKey(type.table, primaryKey: try cluster.value(primaryKey, row)) else {
            throw translation.corrupted("the object was not imported")
        }
        return key
    }
}
