/// What a write transaction has done to one index so far: entries added and entries removed.
///
/// An index is a multiset, so the order of adds and removes does not matter: the state seen by the transaction is
/// committed + added - removed, entry by entry. Only entries that exist may be removed.
///
/// Owned by the write transaction; one thread.
import MottePages
import MotteValues

package final class IndexDelta {
    struct Space {
        var added: PendingEntries
        var removed: PendingEntries
        var isEmpty: Bool { added.isEmpty && removed.isEmpty }

        init(isUnique: Bool, _ spill: SpillFile?, _ mostNear: Int) {
            added = PendingEntries(isHashed: isUnique, spill: spill, mostNear: mostNear)
            removed = PendingEntries(isHashed: isUnique, spill: spill, mostNear: mostNear)
        }

        /// The net changes, sorted.
        mutating func net() -> (adds: ContiguousArray<IndexEntry>, removes: ContiguousArray<IndexEntry>) {
            var adds = added.sorted(), removes = removed.sorted()
            IndexEntries.cancel(&adds, &removes)
            return (adds, removes)
        }
    }

    /// Values, then nulls. Behind a pointer, because appending is the hot path of inserts and a stored property of a
    /// class is guarded on each access.
    private let spaces: UnsafeMutablePointer<Space>

    var values: Space {
        _read { yield spaces[0] }
        _modify { yield &spaces[0] }
    }

    var nulls: Space {
        _read { yield spaces[1] }
        _modify { yield &spaces[1] }
    }

    /// `isUnique` for primary keys: hardly any two entries share a value, and single values are looked up all the time.
    /// Without a spill file everything is kept in memory, with one `mostNear` entries or so.
    package convenience init(
        _ index: IndexKey = IndexKey(0), isUnique: Bool = false, spill: SpillFile? = nil, mostNear: Int? = nil
    ) {
        self.init(
            index, EntryForm(.values(.int), isUnique: isUnique), spill: spill, mostNear: mostNear, undo: nil)
    }

    init(_ index: IndexKey, _ form: EntryForm, spill: SpillFile?, mostNear: Int? = nil, undo: UndoLog?) {
        self.index = index
        self.form = form
        self.undo = undo
        isUnique = form.isUnique
        self.spill = spill
        self.mostNear = mostNear ?? PendingEntries.mostNear(beside: spill)
        spaces = .allocate(capacity: 2)
        spaces.initialize(to: Space(isUnique: form.isUnique, spill, self.mostNear))
        (spaces + 1).initialize(to: Space(isUnique: false, spill, self.mostNear))
    }

    deinit {
        spaces.deinitialize(count: 2)
        spaces.deallocate()
    }

    package var isEmpty: Bool { !isCleared && values.isEmpty && nulls.isEmpty }

    /// Everything the index held when the write began, and what the write has added so far, is gone.
    package private(set) var isCleared = false
    private let index: IndexKey
    private let form: EntryForm
    private let isUnique: Bool
    private let spill: SpillFile?
    private let mostNear: Int
    private let undo: UndoLog?

    package func clear() {
        if let undo, undo.isActive { undo.append(.indexCleared(self, image)) }
        isCleared = true
        spaces[0] = Space(isUnique: isUnique, spill, mostNear)
        spaces[1] = Space(isUnique: false, spill, mostNear)
    }

    /// No committed entry has this value or a higher one.
    @exclusivity(unchecked) var freeFrom: UInt64?
    @exclusivity(unchecked) private var looks = 0
    private static let mostLooks = 8

    /// Whether a value is above all that the index holds, with what is added. May say no where nobody has looked:
    /// values that come in no order are not worth looking for more than a few times.
    func exceedsAll(
        _ value: UInt64, in stored: @autoclosure () -> IndexReader
    ) throws(DatabaseError) -> Bool {
        guard spaces[0].added.isBelow(value) else { return false }
        if let freeFrom, value >= freeFrom { return true }
        guard looks < Self.mostLooks else { return false }
        looks += 1
        if !isCleared, try IndexView(stored()).count(value ... UInt64.max, most: 0) > 0 { return false }
        freeFrom = value
        return true
    }

    /// What `freeFrom` is once this is committed.
    var freeFromAfterwards: UInt64? {
        guard let freeFrom, let highest = spaces[0].added.highestValue else { return freeFrom }
        return highest < .max ? max(freeFrom, highest + 1) : nil
    }

    /// Adds and removes recorded so far; says how large the commit will be.
    package var changeCount: Int { values.added.count + values.removed.count + nulls.added.count + nulls.removed.count }

    package func add(_ value: IndexValue, _ key: ObjectKey) {
        let entry = IndexEntry(value: value.raw, key: UInt64(bitPattern: key.rawValue))
        if let undo, undo.isActive { undo.append(.indexAdded(self, entry, isNull: value.isNull)) }
        if value.isNull { nulls.added.append(entry) } else { values.added.append(entry) }
    }

    package func remove(_ value: IndexValue, _ key: ObjectKey) {
        let entry = IndexEntry(value: value.raw, key: UInt64(bitPattern: key.rawValue))
        if let undo, undo.isActive { undo.append(.indexRemoved(self, entry, isNull: value.isNull)) }
        if value.isNull { nulls.removed.append(entry) } else { values.removed.append(entry) }
    }

    package func reserve(_ additional: Int) { values.added.reserve(additional) }

    /// Adds int values of rows with consecutive keys.
    package func add(ints: UnsafeBufferPointer<Int64>, firstKey: ObjectKey) {
        var key = UInt64(bitPattern: firstKey.rawValue)
        if let undo, undo.isActive {
            let entries = ContiguousArray(
                zip(ints, key...).map { IndexEntry(value: IndexValue.int($0).raw, key: $1) })
            undo.append(.indexAddedMany(self, entries))
        }
        for int in ints {
            values.added.append(IndexEntry(value: IndexValue.int(int).raw, key: key))
            key &+= 1
        }
    }
}

// MARK: Batches

extension IndexDelta: IndexWriting {
    package func add(_ rows: IndexedRows) {
        // Typed loops, so that nothing is decided for each row.
        switch form.content {
        case .values(.int):
            if let (ints, firstKey) = rows.ints(0) { return add(ints: ints, firstKey: firstKey) }
            rows.forEach { view, key in add(IndexValue(view), key) }
        case .values(let type): rows.forEach { view, key in add(IndexValue(view, of: type), key) }
        case .links: rows.forEach { view, key in if !view.isNull { add(IndexValue.link(to: view.linkValue.key), key) } }
        case .mixedLinks: rows.forEach { view, key in form.forEachEntry(of: view) { add($0, key) } }
        }
    }

    package func remove(_ rows: IndexedRows) {
        rows.forEach { view, key in form.forEachEntry(of: view) { remove($0, key) } }
    }

    /// Primary keys are looked up before a row is added, with an error that names the object.
    package func check(adding rows: IndexedRows, isPostponed: Bool) throws(DatabaseError) {}
    package func checkPostponed() throws(DatabaseError) {}
    package func forgetPostponed() {}
    package func forgetPlaces() {}

    /// Its entries have notes of their own in the undo log.
    package var mark: Int { 0 }
    package func rollBack(to mark: Int) {}

    package func encode(over pages: PageSnapshot, into batch: inout PageBatch) throws(DatabaseError) {
        if isCleared { return try IndexMerge.build(self, index, into: &batch) }
        try IndexMerge.apply(self, to: index, over: pages, into: &batch)
    }

    package func checkInvariants() throws(DatabaseError) {
        for (space, name) in [(values, "values"), (nulls, "nulls")] {
            try space.added.checkInvariants("added \(name)")
            try space.removed.checkInvariants("removed \(name)")
        }
    }
}

// MARK: Going back to a savepoint

extension IndexDelta {
    struct Image {
        fileprivate let values: Space
        fileprivate let nulls: Space
        fileprivate let isCleared: Bool
        /// Known of what is committed, unless that was cleared.
        fileprivate let freeFrom: UInt64?
    }

    fileprivate var image: Image { Image(values: values, nulls: nulls, isCleared: isCleared, freeFrom: freeFrom) }

    func restore(_ image: Image) {
        values = image.values
        nulls = image.nulls
        isCleared = image.isCleared
        freeFrom = image.freeFrom
    }

    /// One that is removed as often as it was added is not there.
    func undoAdding(_ entry: IndexEntry, isNull: Bool) {
        if isNull { nulls.removed.append(entry) } else { values.removed.append(entry) }
    }

    func undoRemoving(_ entry: IndexEntry, isNull: Bool) {
        if isNull { nulls.added.append(entry) } else { values.added.append(entry) }
    }
}
