/// The map of one object's property: values by string keys, in the order of the keys' bytes. As a collection it
/// consists of its values.
import MotteSchemaModel
import MotteStorage
import MotteValues

package final class LiveMap: LiveElements {
    init(owner: LiveObject, column: ColumnKey, type: ObjectType) throws(DatabaseError) {
        try super.init(owner: owner, column: column, type: type, .map, .map)
    }

    // MARK: Looking

    /// UTF-8, borrowed until the session's view epoch moves.
    package func mapKey(at index: Int) throws(DatabaseError) -> UnsafeRawBufferPointer {
        try view().mapKey(column, owner.key, index)
    }

    package func keyText(at index: Int) throws(DatabaseError) -> String {
        String(decoding: try mapKey(at: index), as: UTF8.self)
    }

    /// The position of a key, nil if it is not there.
    package func position(of mapKey: UnsafeRawBufferPointer) throws(DatabaseError) -> Int? {
        try view().mapFind(column, owner.key, mapKey)
    }

    /// nil if there is no such key; null is a value.
    package func get(_ mapKey: UnsafeRawBufferPointer) throws(DatabaseError) -> ValueView? {
        guard let index = try position(of: mapKey) else { return nil }
        return try value(at: index)
    }

    package func has(_ mapKey: UnsafeRawBufferPointer) throws(DatabaseError) -> Bool { try position(of: mapKey) != nil }

    package func get(_ key: String) throws(DatabaseError) -> Value? {
        try key.withUTF8Bytes { bytes throws(DatabaseError) in try get(bytes)?.owned }
    }

    /// The keys alone, as a live collection of strings that filters and sorts.
    package func mapKeys() throws(DatabaseError) -> LiveElements {
        guard let column = try view().mapKeyColumn(column) else {
            throw DatabaseError(.internal, "the map \(name) has no keys")
        }
        return LiveMapKeys(self, column)
    }

    // MARK: Changing

    /// True if the key is new.
    @discardableResult
    package func put(_ mapKey: UnsafeRawBufferPointer, _ value: ValueView) throws(DatabaseError) -> Bool {
        try writable().mapPut(owner.table, column, owner.key, mapKey, value)
    }

    @discardableResult
    package func put(_ key: String, _ value: Value) throws(DatabaseError) -> Bool {
        try key.withUTF8Bytes { bytes throws(DatabaseError) in
            try value.withView { view throws(DatabaseError) in try put(bytes, view) }
        }
    }

    /// All or nothing; of equal keys the last one counts.
    package func putMany(_ entries: [(key: UnsafeRawBufferPointer, value: ValueView)]) throws(DatabaseError) {
        try checkEntries(entries)
        try owningAll(entries) { entries throws(DatabaseError) in
            for entry in entries { try put(entry.key, entry.value) }
        }
    }

    /// What changes several entries: copies of them where they may be borrowed from here, and all or nothing.
    private func owningAll(
        _ entries: [(key: UnsafeRawBufferPointer, value: ValueView)],
        _ body: ([(key: UnsafeRawBufferPointer, value: ValueView)]) throws(DatabaseError) -> Void
    ) throws(DatabaseError) {
        let write = try writable()
        try session.atomically { () throws(DatabaseError) in try write.withOwned(entries, body) }
    }

    /// False if there is no such key.
    @discardableResult
    package func remove(_ mapKey: UnsafeRawBufferPointer) throws(DatabaseError) -> Bool {
        try writable().mapRemove(owner.table, column, owner.key, mapKey)
    }

    @discardableResult
    package func remove(_ key: String) throws(DatabaseError) -> Bool {
        try key.withUTF8Bytes { bytes throws(DatabaseError) in try remove(bytes) }
    }

    /// The objects in it stay, unless they are embedded.
    package func clear() throws(DatabaseError) {
        try writable().mapClear(owner.table, column, owner.key)
    }

    /// Makes the map consist of these entries; all or nothing. With `.modified`, only what differs is written.
    package func assign(
        _ entries: [(key: UnsafeRawBufferPointer, value: ValueView)], policy: UpdatePolicy = .all
    ) throws(DatabaseError) {
        try checkEntries(entries)
        try owningAll(entries) { entries throws(DatabaseError) in try assignOwned(entries, policy) }
    }

    private func assignOwned(
        _ entries: [(key: UnsafeRawBufferPointer, value: ValueView)], _ policy: UpdatePolicy
    ) throws(DatabaseError) {
        let write = try writable()
        let wanted = Set(entries.map { [UInt8]($0.key) })
        var gone: [[UInt8]] = []
        for index in 0 ..< (try count()) {
            let bytes = [UInt8](try mapKey(at: index))
            if !wanted.contains(bytes) { gone.append(bytes) }
        }
        for key in gone { try key.withBytes { bytes throws(DatabaseError) in _ = try remove(bytes) } }
        for entry in entries {
            if policy == .modified, let old = try get(entry.key),
                try !old.differs(from: write.fitted(owner.table, column, entry.value))
            {
                continue
            }
            try put(entry.key, entry.value)
        }
    }

    /// The entries of another map; of this very map, nothing happens.
    package func assign(from other: LiveMap, policy: UpdatePolicy = .all) throws(DatabaseError) {
        if isSame(as: other) { return }
        let values = try other.fixedValues()
        try other.mapKeys().fixedValues().withAll { keys throws(DatabaseError) in
            try values.withAll { values throws(DatabaseError) in
                try assign(zip(keys, values).map { ($0.bytes, $1) }, policy: policy)
            }
        }
    }

    private func checkEntries(
        _ entries: [(key: UnsafeRawBufferPointer, value: ValueView)]
    ) throws(DatabaseError) {
        let write = try writable()
        for (index, entry) in entries.enumerated() {
            do throws(DatabaseError) { try write.checkPut(owner.table, column, entry.key, entry.value) } catch {
                throw error.at(rowIndex: index)
            }
        }
    }
}

/// The keys of a map; read-only.
final class LiveMapKeys: LiveElements {
    private let map: LiveMap

    init(_ map: LiveMap, _ column: ColumnKey) {
        self.map = map
        super.init(keysOf: map, column: column)
    }

    override var valuesColumn: ColumnKey { map.column }

    override func find(_ value: ValueView) throws(DatabaseError) -> Int? {
        value.kind == .string ? try map.position(of: value.bytes) : nil
    }

    package override func plan() throws(DatabaseError) -> CollectionPlan? {
        .mapKeys(owner.table, owner.key, map.column)
    }

    override func counterpart(of owner: LiveObject) throws(DatabaseError) -> LiveElements {
        try owner.map(map.column).mapKeys()
    }
}
