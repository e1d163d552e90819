/// A list or map inside a mixed value, at any depth: read and edited element by element, and followed while others
/// around it come and go.
///
/// When it, or something it is in, is replaced or removed, or the object deleted, everything but `exists` and `isValid`
/// answers `.objectDeleted`, for good. Maps are in the order of their keys' bytes and as collections consist of their
/// values.
import MotteColumns
import MotteSchemaModel
import MotteStorage
import MotteValues

package final class LiveNested: LiveCollection {
    let root: NestedRoot
    package let isMap: Bool
    private var place: NestedPlace
    /// Committed version that `place` is for, and its state then.
    private var version: Version
    private var committed: NestedPlace
    /// Where it was before versions of a group of writes, whose observers are shown one version after the other.
    private var formerPlaces: [(until: Version, place: NestedPlace)] = []
    /// The write whose edits have been followed, up to `followed`.
    private var writeSerial: UInt32 = 0
    private var followed = 0
    /// The write it was opened in, 0 for none, and how many edits and changes of any kind that had made by then.
    private let birth: UInt32
    private let editsBeforeBirth: Int
    private let changesBeforeBirth: UInt64

    package var owner: LiveObject { root.owner }
    package var column: ColumnKey { root.column }

    /// nil where there is no list or map.
    static func open(_ root: NestedRoot, _ path: NestedPath) throws(DatabaseError) -> LiveNested? {
        guard let value = try root.value(at: path) else { return nil }
        switch value.kind {
        case .list: return try LiveNested(root, path, isMap: false)
        case .map: return try LiveNested(root, path, isMap: true)
        default: return nil
        }
    }

    /// The one that was at a path in an older version, wherever it is now.
    static func open(_ root: NestedRoot, _ path: NestedPath, since: Version) throws(DatabaseError) -> LiveNested? {
        let session = root.owner.session
        let shown = try session.committedSnapshot()
        var place = NestedPlace(path: path)
        guard shown.version != since else {
            place = inWrite(place, root)
            return place.isGone ? nil : try open(root, place.path)
        }
        guard since < shown.version, let summary = try session.database.changes(from: since, to: shown) else {
            return nil
        }
        place.follow(summary, root)
        place = inWrite(place, root)
        return place.isGone ? nil : try open(root, place.path)
    }

    /// Where it is in the open write, if there is one.
    private static func inWrite(_ place: NestedPlace, _ root: NestedRoot) -> NestedPlace {
        guard let write = root.owner.session.write else { return place }
        var place = place
        for entry in write.nestedEditLog where entry.isFor(root.owner.table, root.column, root.owner.key) {
            follow(entry, &place)
        }
        return place
    }

    private init(_ root: NestedRoot, _ path: NestedPath, isMap: Bool) throws(DatabaseError) {
        let session = root.owner.session
        self.root = root
        self.isMap = isMap
        place = NestedPlace(path: path)
        committed = place
        version = try session.version
        if let write = session.write {
            writeSerial = session.writeSerial
            followed = write.nestedEditLog.count
            birth = writeSerial
            changesBeforeBirth = write.standingChangeCount
        } else {
            birth = 0
            changesBeforeBirth = 0
        }
        editsBeforeBirth = followed
        super.init(
            session, isMap ? .nestedMap : .nestedList, elementType: .mixed, isElementNullable: true, target: nil)
        if !session.isFrozen { session.follow(self) }
    }

    // MARK: Following

    /// Where it is now; nil once it is gone.
    package func path() throws(DatabaseError) -> NestedPath? {
        let place = try shownPlace()
        return place.isGone ? nil : place.path
    }

    /// In the version that is shown.
    private func shownPlace() throws(DatabaseError) -> NestedPlace {
        try catchUp()
        guard !formerPlaces.isEmpty, session.write == nil else { return place }
        let shown = try session.version
        return formerPlaces.first { shown < $0.until }?.place ?? place
    }

    private func catchUp() throws(DatabaseError) {
        try session.check()
        if session.isFrozen || place.isGone { return }
        if writeSerial == 0 || session.write == nil { try followLog() }
        guard let write = session.write else { return }
        if writeSerial != session.writeSerial {
            writeSerial = session.writeSerial
            followed = 0
            committed = place
        }
        let wal = write.nestedEditLog
        guard followed < wal.count else { return }
        for entry in wal[followed...] where entry.isFor(owner.table, column, owner.key) { follow(entry) }
        followed = wal.count
    }

    private func follow(_ entry: NestedEditLogEntry) { Self.follow(entry, &place) }

    private static func follow(_ entry: NestedEditLogEntry, _ place: inout NestedPlace) {
        switch entry.edit {
        case .nested(let operation): place.follow(operation)
        case .list(let operation): place.follow(operation)
        }
    }

    /// Versions that the session has advanced past since.
    private func followLog() throws(DatabaseError) {
        let shown = try session.committedSnapshot()
        // Observers are notified of the members of a group one after the other, when this is at the last of them
        // already.
        guard shown.version > version else { return }
        formerPlaces = []
        if let summary = try session.database.changes(from: version, to: shown) {
            place.follow(summary, root)
        } else {
            // Nobody knows what happened in between.
            place.isGone = true
        }
        version = shown.version
    }

    /// The session's write is being committed: what it did is followed while its WAL is there.
    func writeWillEnd() throws(DatabaseError) { try catchUp() }

    func writeWasCommitted(as version: Version) {
        if session.isInGroup, writeSerial != 0 {
            var former = committed
            if birth == writeSerial { former.isGone = true }
            formerPlaces.append((version, former))
        } else if !session.isInGroup {
            formerPlaces = []
        }
        writeSerial = 0
        self.version = version
    }

    func writeWasCancelled(_ serial: UInt32) {
        if birth == serial {
            place.isGone = true
        } else if writeSerial == serial {
            place = committed
        }
        writeSerial = 0
    }

    /// The session's write is back at a savepoint. What was opened behind changes that are undone may have come with
    /// them.
    func writeWasRolledBack(_ undone: WriteTransaction.RolledBack, _ wal: [NestedEditLogEntry]) {
        guard writeSerial == session.writeSerial, !committed.isGone else { return }
        guard birth != writeSerial || changesBeforeBirth <= undone.changeCount else {
            place.isGone = true
            // Nor does it come back with what an outer savepoint undoes.
            committed.isGone = true
            return
        }
        let edits = undone.nestedEditCount
        guard followed > edits else { return }
        followed = birth == writeSerial ? editsBeforeBirth : 0
        place = committed
        for entry in wal[followed ..< edits] where entry.isFor(owner.table, column, owner.key) { follow(entry) }
        followed = edits
    }

    /// Versions after this one have not come to be after all.
    func groupWasLost(after version: Version) {
        writeSerial = 0
        formerPlaces = []
        // Its place before is not known any more.
        if self.version > version { place.isGone = true }
        self.version = version
    }

    // MARK: Looking

    private func document() throws(DatabaseError) -> NestedDocument {
        guard let document = try shownDocument() else {
            throw DatabaseError(
                .objectDeleted, "this nested \(isMap ? "map" : "list") has been replaced or removed; open it again")
        }
        return document
    }

    private func shownDocument() throws(DatabaseError) -> NestedDocument? {
        let place = try shownPlace()
        guard !place.isGone, try owner.exists(), let value = try root.value(at: place.path),
            value.kind == (isMap ? .map : .list)
        else { return nil }
        return NestedDocument(trusted: value.bytes)
    }

    package override func exists() throws(DatabaseError) -> Bool { try shownDocument() != nil }

    package override func count() throws(DatabaseError) -> Int { try document().count }

    package override func value(at index: Int) throws(DatabaseError) -> ValueView {
        let document = try document()
        guard index >= 0, index < document.count else { throw outOfBounds(index, document.count) }
        return document.value(at: index)
    }

    /// UTF-8, borrowed until the session's view epoch moves. Only of maps.
    package func mapKey(at index: Int) throws(DatabaseError) -> UnsafeRawBufferPointer {
        try requireMap(true)
        let document = try document()
        guard index >= 0, index < document.count else { throw outOfBounds(index, document.count) }
        return document.key(at: index)
    }

    package func position(of mapKey: UnsafeRawBufferPointer) throws(DatabaseError) -> Int? {
        try requireMap(true)
        let found = try document().find(mapKey)
        return found.isThere ? found.index : nil
    }

    /// nil if there is no such key; null is a value.
    package func get(_ mapKey: UnsafeRawBufferPointer) throws(DatabaseError) -> ValueView? {
        guard let index = try position(of: mapKey) else { return nil }
        return try value(at: index)
    }

    package func get(_ key: String) throws(DatabaseError) -> Value? {
        try key.withUTF8Bytes { bytes throws(DatabaseError) in try get(bytes)?.owned }
    }

    /// The list or map that is an element or value of this one; nil if it is something else.
    package func nested(at index: Int) throws(DatabaseError) -> LiveNested? {
        let value = try value(at: index)
        guard value.kind == .list || value.kind == .map else { return nil }
        let step: NestedStep =
            isMap ? .key(String(decoding: try mapKey(at: index), as: UTF8.self)) : .index(index)
        return try LiveNested.open(root, try shownPlace().path + [step])
    }

    package func nested(_ key: String) throws(DatabaseError) -> LiveNested? {
        let index = try key.withUTF8Bytes { bytes throws(DatabaseError) in try position(of: bytes) }
        return try index.flatMap { index throws(DatabaseError) in try nested(at: index) }
    }

    /// Everything in it, owned.
    package func contents() throws(DatabaseError) -> Value {
        let bytes = try document().bytes
        return isMap ? ValueView.map(bytes).owned : ValueView.list(bytes).owned
    }

    override func forEachRun(
        _ column: ColumnKey?, from first: Int, limit: Int,
        _ body: (ColumnChunk, Range<Int>, Int) throws(DatabaseError) -> Void
    ) throws(DatabaseError) {
        guard column == nil else { throw notObjects() }
        try results().forEachRun(nil, from: first, limit: limit, body)
    }

    override func resultsSource() throws(DatabaseError) -> ResultsSource {
        _ = try document()
        return .nested(self)
    }

    package override func plan() throws(DatabaseError) -> CollectionPlan? {
        try path().map { .nested(owner.table, owner.key, column, $0, isMap: isMap) }
    }

    package override func frozen(in frozen: Session) throws(DatabaseError) -> LiveNested {
        _ = try document()
        let root = NestedRoot(owner: try owner.frozen(in: frozen), column: column, collection: root.collection)
        guard let path = try pathBeforeWrite(), let same = try LiveNested.open(root, path), same.isMap == isMap else {
            throw DatabaseError(
                .invalidArgument,
                "cannot freeze a list or map within the write that made it or changed what it is in before it was "
                    + "looked up; freeze the object")
        }
        return same
    }

    /// Where it was when the open write began, if there is one; nil where that is unknown.
    private func pathBeforeWrite() throws(DatabaseError) -> NestedPath? {
        guard let write = session.write else { return try shownPlace().path }
        let isKnown =
            birth != writeSerial
            || !write.nestedEditLog[..<editsBeforeBirth].contains { $0.isFor(owner.table, column, owner.key) }
        return isKnown ? committed.path : nil
    }

    // MARK: Changing

    @discardableResult
    private func edit(_ edit: NestedEdit, inMap: Bool) throws(DatabaseError) -> Bool {
        let write = try session.requireWrite()
        try requireMap(inMap)
        _ = try document()
        return try write.nestedEdit(owner.table, column, owner.key, path: place.path, edit: edit)
    }

    package func set(_ index: Int, to value: Value) throws(DatabaseError) {
        try edit(.set(at: index, value), inMap: false)
    }

    /// `index` may be the count.
    package func insert(_ value: Value, at index: Int) throws(DatabaseError) {
        try edit(.insert(at: index, value), inMap: false)
    }

    package func append(_ value: Value) throws(DatabaseError) { try edit(.append(value), inMap: false) }

    /// Afterwards the element stands at `target`.
    package func move(from index: Int, to target: Int) throws(DatabaseError) {
        try edit(.move(from: index, to: target), inMap: false)
    }

    package func remove(at index: Int, count: Int = 1) throws(DatabaseError) {
        try edit(.remove(at: index, count: count), inMap: false)
    }

    package func put(_ key: String, _ value: Value) throws(DatabaseError) { try edit(.put(key, value), inMap: true) }

    /// False if there is no such key.
    @discardableResult
    package func remove(_ key: String) throws(DatabaseError) -> Bool {
        try edit(.removeKey(key), inMap: true)
    }

    package func clear() throws(DatabaseError) { try edit(.clear, inMap: isMap) }

    private func requireMap(_ wanted: Bool) throws(DatabaseError) {
        guard wanted != isMap else { return }
        throw DatabaseError(
            .wrongType, wanted ? "this is a nested list; it has no keys" : "this is a nested map; name a key")
    }
}

extension LiveElements {
    /// The list or map that an element is; nil if it is something else.
    package func nested(at index: Int) throws(DatabaseError) -> LiveNested? {
        let value = try value(at: index)
        guard value.kind == .list || value.kind == .map else { return nil }
        if let map = self as? LiveMap {
            return try LiveNested.open(
                NestedRoot(owner: owner, column: column, collection: .map), [.key(try map.keyText(at: index))])
        }
        return try LiveNested.open(NestedRoot(owner: owner, column: column, collection: .list), [.index(index)])
    }
}

// MARK: The session's part

struct WeakNested {
    weak var nested: LiveNested?
}

extension Session {
    func follow(_ nested: LiveNested) {
        if nestedPlaces.count >= 32, nestedPlaces.count & (nestedPlaces.count - 1) == 0 {
            nestedPlaces.removeAll { $0.nested == nil }
        }
        nestedPlaces.append(WeakNested(nested: nested))
    }
}
