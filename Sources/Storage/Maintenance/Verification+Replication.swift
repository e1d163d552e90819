/// What a file keeps of replication, held against the rest of it: each page decodes under its key, what is said of an
/// origin agrees, and objects that are named are, or were, objects of this file.
import MotteSchemaModel
import MotteValues

extension VerificationWalk {
    mutating func checkReplication() {
        var origins: Set<ChangeOrigin> = []
        attempt("the positions of replication") { (walk) throws(DatabaseError) in
            for position in try walk.source.replicaPositions() {
                origins.insert(position.origin)
                // A file without classes may lack the schema.
                if position.schemaChangedIn == 0 { continue }
                guard let record = try walk.source.pages.get(ReplicaPages.catalog(position.origin)) else {
                    walk.note("the origin \(position.origin.text) lacks its schema")
                    continue
                }
                let theirs = try Catalog.decode(record.bytes)
                if theirs.changedIn != position.schemaChangedIn {
                    walk.note("the schema of the origin \(position.origin.text) is not of its position")
                }
            }
            _ = try walk.source.keptChanges()
            _ = try walk.source.leader()
            _ = try TakenVersions.of(walk.source.pages)
        }
        attempt("the names of replication") { (walk) throws(DatabaseError) in
            let cursor = try walk.source.pages.makeCursor()
            var found = try [ReplicaPages.space].withBytes { key throws(DatabaseError) in try cursor.seek(key) }
            while found, cursor.key.first == ReplicaPages.space {
                let key = [UInt8](cursor.key)
                if let place = ReplicaPages.names(of: key) {
                    walk.attempt("the names of the origin \(place.origin.text)") { (walk) throws(DatabaseError) in
                        let block = try ObjectNameBlock(decoding: cursor.value.bytes, block: place.block, key: key)
                        try walk.check(block, place)
                    }
                } else if key.count != 22 || key[21] < 1 || key[21] > 2, key != ReplicaPages.kept,
                    key != ReplicaPages.following, key != ReplicaPages.taken
                {
                    walk.note("a page of replication has a key that means nothing")
                } else if key.count == 22, key[21] == 2, !origins.contains(ReplicaPages.origin(in: key)) {
                    walk.note("the origin \(ReplicaPages.origin(in: key).text) has a schema and no position")
                }
                found = try cursor.next()
            }
        }
    }

    private mutating func check(
        _ block: ObjectNameBlock, _ place: (table: TableKey, origin: ChangeOrigin, block: UInt64)
    ) throws(DatabaseError) {
        // Pages of classes that are not there are found as stray.
        guard let stored = source.catalog.table(place.table) else { return }
        let end = try source.table(place.table).nextKey
        for run in block.runs where run.local + run.count > end {
            return note("class \(stored.name) has names of objects that never were")
        }
    }
}

extension ReplicaPages {
    /// nil for keys of other things.
    static func names(of key: [UInt8]) -> (table: TableKey, origin: ChangeOrigin, block: UInt64)? {
        guard let block = key.withUnsafeBytes({ Self.block($0) }) else { return nil }
        let table = key[1 ..< 5].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        return (TableKey(table), origin(in: key), block)
    }

    /// Of a key that names one.
    static func origin(in key: [UInt8]) -> ChangeOrigin {
        func word(_ start: Int) -> UInt64 { key[start ..< start + 8].reversed().reduce(0) { $0 << 8 | UInt64($1) } }
        return ChangeOrigin(high: word(5), low: word(13))
    }
}

extension Snapshot {
    /// Objects alone are salvaged: who they are elsewhere is not.
    package var replicationLosses: [String] {
        let again = "a file that is made of these objects begins again with a batch of everything"
        do throws(DatabaseError) {
            return try replicaPositions().map { position in
                "the changes of the origin \(position.origin.text) were applied up to version "
                    + "\(position.version.rawValue): \(again)"
            }
        } catch { return ["how far changes of other files were applied: \(error.damage); \(again)"] }
    }
}
