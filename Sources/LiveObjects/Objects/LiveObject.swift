/// One object for good: it follows its session through versions and answers `.objectDeleted` when the row is gone.
///
/// Four words, no allocation of its own, so that language bindings may keep the words instead. `birth` is the
/// number of the write that made the row while that write is open, so that an object of a cancelled write is not taken
/// for a later one that got the same key.
import MotteSchemaModel
import MotteStorage
import MotteValues

package struct LiveObject {
    package let session: Session
    package let table: TableKey
    package let key: ObjectKey
    package let birth: UInt32

    package init(session: Session, table: TableKey, key: ObjectKey, birth: UInt32) {
        self.session = session
        self.table = table
        self.key = key
        self.birth = birth
    }

    package var link: ObjectLink { ObjectLink(table: table, key: key) }

    /// False once the object was deleted, its write cancelled or its session closed.
    package var isValid: Bool {
        // A yes or no; whoever needs the cause asks `exists`.
        guard let exists = try? exists() else { return false }
        return exists
    }

    /// Whether the row is there; throws for the wrong thread or a closed session.
    package func exists() throws(DatabaseError) -> Bool {
        let source = try session.source()
        if birth != 0, session.births.areUndone(birth, table, key) { return false }
        guard source.schema[table] != nil else { return false }
        return try source.table(table).locate(key) != nil
    }

    package var type: ObjectType {
        get throws(DatabaseError) { try view().type }
    }

    /// The table, for an object that can be read.
    @inline(__always)
    func view() throws(DatabaseError) -> TableView {
        let source = try session.source()
        if birth != 0 { try checkBirth() }
        return try source.table(table)
    }

    @inline(never)
    private func checkBirth() throws(DatabaseError) {
        guard session.births.areUndone(birth, table, key) else { return }
        throw DatabaseError(
            .objectDeleted, "this object was created in a write that was cancelled or undone; create it again")
    }

    @inline(__always)
    func writable() throws(DatabaseError) -> WriteTransaction {
        let write = try session.requireWrite()
        if birth != 0 { try checkBirth() }
        return write
    }

    // MARK: Reading

    /// Borrowed until the session's view epoch moves.
    @inline(__always)
    package func get(_ column: ColumnKey) throws(DatabaseError) -> ValueView {
        if birth != 0 { try checkBirth() }
        return try session.value(table, column, key)
    }

    /// Several at once, into `values`.
    package func getMany(_ columns: [ColumnKey], into values: UnsafeMutablePointer<ValueView>) throws(DatabaseError) {
        let view = try view()
        for (index, column) in columns.enumerated() { values[index] = try view.value(column, key) }
    }

    /// By name, owned. For tests, tools and whoever has no column keys at hand.
    package func get(_ name: String) throws(DatabaseError) -> Value {
        try get(try column(named: name)).owned
    }

    package func column(named name: String) throws(DatabaseError) -> ColumnKey {
        let type = try type
        let property = try type.requiredProperty(named: name)
        guard let column = property.columnKey else {
            throw DatabaseError(
                .wrongType, "\(type.name).\(name) is computed; open it as a collection", className: type.name,
                propertyName: name)
        }
        return column
    }

    /// Target of a link; nil for null.
    package func object(_ column: ColumnKey) throws(DatabaseError) -> LiveObject? {
        let value = try get(column)
        if value.isNull { return nil }
        guard value.kind == .link else {
            let type = try type
            let name = type.property(column)?.name ?? ""
            throw DatabaseError(
                .wrongType, "\(type.name).\(name) is not a link", className: type.name, propertyName: name)
        }
        return try session.handle(value.linkValue.table, value.linkValue.key)
    }

    // MARK: Changing

    package func set(_ column: ColumnKey, to value: ValueView) throws(DatabaseError) {
        try writable().set(table, column, key, to: value)
    }

    package func set(_ name: String, to value: Value) throws(DatabaseError) {
        let column = try column(named: name)
        try value.withView { view throws(DatabaseError) in try set(column, to: view) }
    }

    package func setMany(
        _ columns: [ColumnKey], values: UnsafeBufferPointer<ValueView>
    ) throws(DatabaseError) {
        _ = try writable()
        try session.setMany(table, key, columns: columns, values: values)
    }

    /// Links to it become null, and it disappears from lists.
    package func delete() throws(DatabaseError) { try writable().delete(table, key) }

    func deleted(_ type: ObjectType) -> DatabaseError {
        DatabaseError(
            .objectDeleted, "this \(type.name) has been deleted; see whether it is valid before", className: type.name)
    }

    /// The same object in the frozen counterpart of its session, within a write as it was before that.
    package func freeze() throws(DatabaseError) -> LiveObject {
        guard try exists() else { throw deleted(try type) }
        return try frozen(in: try session.sharedFrozen())
    }

    /// The same object in `frozen`, the frozen counterpart of its session.
    package func frozen(in frozen: Session) throws(DatabaseError) -> LiveObject {
        let same = LiveObject(session: frozen, table: table, key: key, birth: 0)
        if session.isInWrite, try !same.exists(), try exists() {
            throw DatabaseError(
                .invalidArgument,
                "cannot freeze an object within the write that made it; what is frozen shows the state before",
                className: try type.name)
        }
        return same
    }

    /// The same row seen through the same session. An object of a cancelled write is not the later one with its key;
    /// one that was committed is the same as when it was made.
    package func isSame(as other: LiveObject) -> Bool {
        guard session === other.session, table == other.table, key == other.key else { return false }
        return birth == other.birth || isValid && other.isValid
    }
}
