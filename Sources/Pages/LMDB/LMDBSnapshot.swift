/// A version of the file: one LMDB read transaction, kept until the last user lets go, on whichever thread that is.
///
/// LMDB lets a read transaction be used by one thread at a time, so `get` goes through one cursor under a lock, and
/// cursors are made under it. Moving a cursor of one's own needs no lock: in a read transaction it touches only itself
/// and the map.
import CLMDB
import MotteValues

final class LMDBSnapshot: PageSnapshot, @unchecked Sendable {  // @unchecked: the cursor is only used holding 'lock'
    let pages: LMDBPages
    let transactionNumber: Int
    private let transaction: OpaquePointer
    private let cursor: OpaquePointer
    private let lock = Lock()

    /// Takes over the transaction and a user count of `pages`; when this throws, the caller keeps both.
    init(_ transaction: OpaquePointer, _ number: Int, _ version: Version, _ pages: LMDBPages) throws(DatabaseError) {
        var opened: OpaquePointer?
        try LMDBStatus.check(mdb_cursor_open(transaction, LMDBPages.database, &opened), "read", pages.path)
        guard let opened else { throw DatabaseError(.internal, "LMDB opened no cursor") }
        self.transaction = transaction
        self.pages = pages
        transactionNumber = number
        cursor = opened
        super.init(version: version)
    }

    deinit {
        // A forked child must not touch its parent's reader table.
        guard pages.isOfThisProcess else { return }
        mdb_cursor_close(cursor)
        pages.recycle(transaction)
        pages.endUse()
    }

    override func get(_ key: UnsafeRawBufferPointer) throws(DatabaseError) -> PageBytes? {
        try pages.checkProcess()
        guard !key.isEmpty else { return nil }
        var keyValue = MDB_val(key), value = MDB_val()
        lock.lock()
        let status = mdb_cursor_get(cursor, &keyValue, &value, MDB_SET)
        lock.unlock()
        if status == MDB_NOTFOUND { return nil }
        try LMDBStatus.check(status, "read", pages.path)
        return pages.lend(value, keyCount: key.count)
    }

    override var mostEntryCount: Int {
        var tree = MDB_stat()
        lock.lock()
        defer { lock.unlock() }
        return mdb_stat(transaction, LMDBPages.database, &tree) == 0 ? Int(clamping: tree.ms_entries) : .max
    }

    override func makeCursor() throws(DatabaseError) -> PageCursor {
        try pages.checkProcess()
        var opened: OpaquePointer?
        lock.lock()
        let status = mdb_cursor_open(transaction, LMDBPages.database, &opened)
        lock.unlock()
        try LMDBStatus.check(status, "read", pages.path)
        guard let opened else { throw DatabaseError(.internal, "LMDB opened no cursor") }
        return LMDBCursor(opened, self)
    }
}

final class LMDBCursor: PageCursor {
    private let cursor: OpaquePointer
    private let snapshot: LMDBSnapshot

    init(_ cursor: OpaquePointer, _ snapshot: LMDBSnapshot) {
        self.cursor = cursor
        self.snapshot = snapshot
    }

    deinit {
        if snapshot.pages.isOfThisProcess { mdb_cursor_close(cursor) }
    }

    override func seek(_ key: UnsafeRawBufferPointer) throws(DatabaseError) -> Bool {
        try key.isEmpty ? move(MDB_FIRST) : move(MDB_SET_RANGE, MDB_val(key))
    }

    override func seekLast(atMost key: UnsafeRawBufferPointer) throws(DatabaseError) -> Bool {
        guard !key.isEmpty else { return false }
        // Looks without showing: an answer of false leaves the place as it was only if nothing moved, so a failed
        // search goes back to where it stood.
        let keyBefore = self.key
        var found = MDB_val(key), value = MDB_val()
        let status = mdb_cursor_get(cursor, &found, &value, MDB_SET_RANGE)
        if status == MDB_NOTFOUND { return try move(MDB_LAST) }
        try LMDBStatus.check(status, "read", snapshot.pages.path)
        if ValueOrdering.compareBytes(found.bytes, key) == 0 {
            show(found, value)
            return true
        }
        if try move(MDB_PREV) { return true }
        if !keyBefore.isEmpty { _ = try move(MDB_SET_RANGE, MDB_val(keyBefore)) }
        return false
    }

    override func next() throws(DatabaseError) -> Bool {
        // LMDB's "next" of a fresh cursor is the first entry; ours is nothing.
        try key.isEmpty ? false : move(MDB_NEXT)
    }

    override func previous() throws(DatabaseError) -> Bool {
        try key.isEmpty ? false : move(MDB_PREV)
    }

    private func move(_ operation: MDB_cursor_op, _ target: MDB_val = MDB_val()) throws(DatabaseError) -> Bool {
        try snapshot.pages.checkProcess()
        var keyValue = target, value = MDB_val()
        let status = mdb_cursor_get(cursor, &keyValue, &value, operation)
        if status == MDB_NOTFOUND {
            // A search past the end leaves LMDB's cursor there; ours stays where it was.
            if operation == MDB_SET_RANGE, !key.isEmpty {
                var back = MDB_val(key)
                _ = mdb_cursor_get(cursor, &back, &value, MDB_SET)
            }
            return false
        }
        try LMDBStatus.check(status, "read", snapshot.pages.path)
        show(keyValue, value)
        return true
    }

    private func show(_ keyValue: MDB_val, _ valueValue: MDB_val) {
        key = keyValue.bytes
        value = snapshot.pages.lend(valueValue, keyCount: keyValue.mv_size)
    }
}
