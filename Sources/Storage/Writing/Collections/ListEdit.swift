/// The elements of one list that is being edited, wherever they are: in a builder of its column's chunk while the list
/// is short, else in a tree of its own. Moves them from one to the other when the list has grown or shrunk enough.
import MotteColumns
import MotteSchemaModel
import MotteValues

struct ListEdit {
    let table: TableKey
    let key: ObjectKey
    let column: StoredColumn
    let stored: StoredTable
    private let slot: Int
    private let place: RowLocation
    private let writer: TableWriter
    private let changed: DirtyColumn
    private let lists: ListChunkBuilder
    private let shape: LongListShape
    private var long: LongList?

    init(_ view: TableView, _ writer: TableWriter, _ slot: Int, _ key: ObjectKey, _ shape: LongListShape)
        throws(DatabaseError)
    {
        table = view.key
        self.key = key
        self.slot = slot
        self.writer = writer
        self.shape = shape
        column = view.layout.columns[slot]
        stored = view.layout.stored
        place = try view.requireLocation(key)
        (changed, lists) = try writer.lists(slot, place.rowGroup)
        let id = LongListKey(slot: slot, owner: key)
        if let known = writer.longLists[id] {
            long = known.isActive ? known : nil
        } else if lists.isExternal(place.slot) {
            let list = try LongList(
                view.directory.makeLongListReader(slot, key), shape: shape,
                storedCount: lists.elementCount(place.slot), long: writer.longValues(slot))
            writer.add(list, id)
            long = list
        }
    }

    /// Whether its elements, or the links in them, are in an index.
    var isIndexed: Bool { column.index != nil || column.linkIndex != nil || !column.elementIndexes.isEmpty }

    private var cell: ChunkBuilder { lists.cell(place.slot) }

    var count: Int { long?.count ?? lists.elementCount(place.slot) }

    /// Borrowed until the next change.
    func view(_ index: Int) throws(DatabaseError) -> ValueView {
        if let long { return try long.view(index) }
        let cell = cell
        try cell.checkLongText(index)
        return cell.view(index)
    }

    /// Calls `body` with each element in `range`, by position.
    func forEach(
        _ range: Range<Int>, _ body: (Int, ValueView) throws(DatabaseError) -> Void
    ) throws(DatabaseError) {
        guard let long else {
            let cell = cell
            for index in range {
                try cell.checkLongText(index)
                try body(index, cell.view(index))
            }
            return
        }
        var position = range.lowerBound
        try long.forEach(range) { chunk, run throws(DatabaseError) in
            for index in run {
                try body(position, chunk.view(index))
                position += 1
            }
        }
    }

    /// Before anything is changed: a list cannot take more edits than its blocks can be numbered.
    func requireRoom() throws(DatabaseError) { try long?.requireRoom() }

    mutating func insert(_ values: [ValueView], at index: Int) throws(DatabaseError) {
        guard values.count > 1, column.kind.hasBytes else { return try insert(ListValues(values), at: index) }
        // They may lie in this very list, whose memory moves with the first of them.
        let copies = makeBuilder(capacity: values.count)
        for value in values { copies.append(value) }
        try insert(ListValues(of: copies), at: index)
    }

    private func makeBuilder(capacity: Int) -> ChunkBuilder { writer.makeBuilder(slot, capacity: capacity) }

    private mutating func insert(_ values: ListValues, at index: Int) throws(DatabaseError) {
        willChange()
        if let long {
            try insert(values, into: long, at: index)
        } else {
            let cell = cell
            if index == cell.count {
                for offset in 0 ..< values.count { values.append(offset, to: cell) }
            } else if values.count <= 8 {
                for offset in 0 ..< values.count { values.insert(offset, into: cell, at: index + offset) }
            } else {
                let rest = makeBuilder(capacity: cell.count - index)
                rest.append(cell, index ..< cell.count)
                for position in (index ..< cell.count).reversed() { cell.remove(at: position) }
                for offset in 0 ..< values.count { values.append(offset, to: cell) }
                cell.append(rest, 0 ..< rest.count)
            }
        }
        try finish()
    }

    func set(_ index: Int, _ value: ValueView) throws(DatabaseError) {
        willChange()
        if let long {
            try noteSetting(index, of: long)
            try long.set(index, value)
        } else {
            cell.set(index, value)
            changed.markChanged()
        }
    }

    mutating func remove(_ range: Range<Int>) throws(DatabaseError) {
        willChange()
        if let long {
            try remove(range, from: long)
        } else if range.count == count {
            cell.removeAll()
        } else {
            let cell = cell
            for index in range.reversed() { cell.remove(at: index) }
        }
        try finish()
    }

    mutating func move(from: Int, to: Int) throws(DatabaseError) {
        let carried = makeBuilder(capacity: 1)
        try carry(from, to: carried)
        willChange()
        if let long {
            try remove(from ..< from + 1, from: long)
            try insert(ListValues(of: carried), into: long, at: to)
        } else {
            cell.remove(at: from)
            cell.insert(carried, 0, at: to)
            changed.markChanged()
        }
    }

    func swap(_ first: Int, _ second: Int) throws(DatabaseError) {
        let carried = makeBuilder(capacity: 2)
        try carry(first, to: carried)
        try carry(second, to: carried)
        willChange()
        if let long {
            try noteSetting(first, of: long)
            try noteSetting(second, of: long)
            try long.set(first, carried, 1)
            try long.set(second, carried, 0)
        } else {
            cell.set(first, carried, 1)
            cell.set(second, carried, 0)
            changed.markChanged()
        }
    }

    /// An element as it is, a long value by its reference.
    private func carry(_ index: Int, to carried: ChunkBuilder) throws(DatabaseError) {
        if let long { return try long.carry(index, to: carried) }
        carried.append(cell, index ..< index + 1)
    }

    // MARK: For savepoints

    private func willChange() {
        guard writer.undo.isActive else { return }
        writer.noteListRow(slot, place.rowGroup, place.slot, changed, lists)
        if let long { writer.noteLongList(LongListKey(slot: slot, owner: key), long) }
    }

    /// What is undone by the row going needs no entries of its own.
    private var isUndoable: Bool { writer.undo.isActive && key.rawValue < writer.firstNewKey }

    private func insert(_ values: ListValues, into long: LongList, at index: Int) throws(DatabaseError) {
        try long.insert(values, at: index)
        if isUndoable { writer.undo.append(.longListInserted(long, index ..< index + values.count)) }
    }

    private func noteSetting(_ index: Int, of long: LongList) throws(DatabaseError) {
        guard isUndoable else { return }
        let carried = makeBuilder(capacity: 1)
        try long.carry(index, to: carried)
        writer.undo.append(.longListSet(long, index, carried))
    }

    private func remove(_ range: Range<Int>, from long: LongList) throws(DatabaseError) {
        guard isUndoable else { return try long.remove(range) }
        if range.count == long.count {
            writer.undo.append(.longListImage(long, long.image))
            return try long.remove(range)
        }
        let carried = makeBuilder(capacity: range.count)
        for index in range { try long.carry(index, to: carried) }
        do throws(DatabaseError) { try long.remove(range) } catch {
            // Nodes that were there a moment ago cannot be read: what has been removed by now is not known.
            writer.undo.cannotUndo(error)
            throw error
        }
        writer.undo.append(.longListRemoved(long, at: range.lowerBound, carried))
    }

    /// After the number of elements has changed: puts them where a list of this length belongs.
    private mutating func finish() throws(DatabaseError) {
        changed.markChanged()
        let id = LongListKey(slot: slot, owner: key)
        if let long {
            guard long.count < shape.returnLimit else { return lists.setExternal(place.slot, count: long.count) }
            let short = makeBuilder(capacity: long.count)
            try long.forEach(0 ..< long.count) { chunk, range in short.append(chunk, range) }
            lists.setInline(place.slot, short)
            writer.undo.append(.longListImage(long, long.image))
            long.drop()
            self.long = nil
        } else if cell.count > shape.inlineLimit {
            let list: LongList
            if let known = writer.longLists[id] {
                list = known
            } else {
                list = try LongList(
                    writer.directory.makeLongListReader(slot, key), shape: shape, storedCount: nil,
                    long: writer.longValues(slot))
                writer.add(list, id)
            }
            writer.noteLongList(id, list)
            writer.undo.append(.longListImage(list, list.image))
            try list.fill(from: cell)
            lists.setExternal(place.slot, count: list.count)
            long = list
        }
    }
}
