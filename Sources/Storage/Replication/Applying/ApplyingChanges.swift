/// One change batch that is being applied: its sections, its classes in this file, and the objects that it names.
import MotteSchemaModel
import MotteValues

struct ApplyingChanges {
    let write: WriteTransaction
    let batch: ChangeBatch
    let names: ObjectNames
    /// As which object here one of this file came again.
    let ownNames: ObjectNames
    /// Whether the batch was read from this very file. Its objects go by their own keys then; only one that was deleted
    /// and comes again has a new key, which `names` keeps.
    let isOwn: Bool
    /// As the batch names them.
    var tables: [TableKey: StoredTable] = [:]
    var columns: [TableKey: [ColumnKey: StoredColumn]] = [:]
    /// Classes of which all new objects are there.
    var created: Set<TableKey> = []
    var toCreate: Set<TableKey> = []
    /// Values of new objects that may link to other new ones.
    var postponed: [Postponed] = []
    /// Objects that others with the same primary key go on in.
    var takenOver: Set<ObjectLink> = []
    var newEmbedded: [ObjectLink] = []
    /// Of a difference, by this file's tables: objects that were found by their primary key or in their place, and
    /// those that it made.
    var found: [TableKey: KeyMap] = [:]
    var made: [TableKey: KeyMap] = [:]
    /// Whether objects have the keys here that they have in the batch's origin: this is that, or a copy of it. Then
    /// `ownNames` has as which one an object came again, and which one has a name that a difference made up.
    let goesByKeys: Bool
    /// New objects get their keys of the batch: it is a commit of this file that the file has lost.
    var givesTheirKeys = false
    /// Whether this file has what the origin keeps of other files.
    var replicas = Replicas.none
    /// Names of others that are taken over.
    var otherNames: [ChangeOrigin: ObjectNames] = [:]

    enum Replicas {
        case none
        /// It is a copy of the origin, or the origin itself.
        case copy
        /// It was a copy of the origin, and follows nobody any more.
        case formerCopy
    }
    /// Sections of what the batch deletes, and the objects here that these are, of classes for which that is settled.
    private var deletions: [ChangeBatchReader] = []
    private(set) var going: [TableKey: Set<Int64>] = [:]
    /// Objects that go while a new one of a lost commit has their primary key already: they are found by it no longer.
    var replaced: [ObjectLink: (primaryKey: Value, column: StoredColumn)] = [:]
    /// Of classes that had objects before; built of what these hold when all of the batch is there.
    private var newIndexes: [IndexKey] = []
    /// Embedded objects that something of the batch links to.
    private let adopted = Adopted()

    struct Postponed {
        let table: StoredTable
        let column: StoredColumn
        let keys: [Int64]
        let values: ChangeBatchReader
    }

    init(_ write: WriteTransaction, _ batch: ChangeBatch, _ position: ReplicaPosition?) throws(DatabaseError) {
        self.write = write
        self.batch = batch
        isOwn = try write.database.origin() == batch.origin
        ownNames = ObjectNames(write.base.pages, ReplicaPages.itself)
        names = isOwn ? ownNames : ObjectNames(write.base.pages, batch.origin)
        goesByKeys = isOwn || batch.isDifference && position == nil
        schemaIsKnown = isOwn || batch.isDifference || position?.schemaChangedIn == batch.schemaChangedIn
    }

    private var schemaIsKnown: Bool
    /// Whether an object that the batch makes has another key here than where it comes from.
    private(set) var isRenamed = false

    mutating func run(_ bytes: UnsafeRawBufferPointer) throws(DatabaseError) {
        let former = write.adoptsEmbedded
        (write.adoptsEmbedded, write.keepsWideInts) = (true, true)
        defer { (write.adoptsEmbedded, write.keepsWideInts) = (former, false) }
        let sections = try split(bytes, count: batch.sectionCount)
        for (kind, body) in sections where kind == .created {
            var reader = body
            toCreate.insert(try reader.table())
        }
        deletions = sections.filter { $0.0 == .deleted }.map(\.1)
        if batch.isDifference { try findObjects(sections) }
        struct Named: Hashable {
            let kind: ChangeBatchFormat.Section
            let table: TableKey
        }
        var known: Set<Named> = []
        for (kind, body) in sections {
            var reader = body
            if kind.rawValue > ChangeBatchFormat.Section.created.rawValue { try finishCreated() }
            switch kind {
            // Those of differences have been taken.
            case .schema, .classes, .known, .places:
                if batch.isDifference { continue }
                guard kind == .schema || kind == .classes else { throw ChangeBatch.damaged() }
                try kind == .schema ? takeSchema(&reader) : takeClasses(&reader)
            case .created, .deleted:
                // Each class once.
                var start = body
                guard known.insert(Named(kind: kind, table: try start.table())).inserted else {
                    throw ChangeBatch.damaged()
                }
                try kind == .created ? create(&reader) : delete(&reader)
            case .set: try set(&reader)
            case .lists: try editLists(&reader)
            case .sets: try assignSets(&reader)
            case .maps: try editMaps(&reader)
            case .replicas:
                if case .none = replicas { continue }
                try takeReplicas(&reader)
            // For whoever turns the batch round.
            case .inverse: continue
            }
            guard reader.remaining == 0 else { throw ChangeBatch.damaged() }
        }
        try finishCreated()
        for index in newIndexes {
            write.forgetIndexChanges(of: index)
            try write.buildIndex(index)
        }
        guard schemaIsKnown || sections.isEmpty else { throw ChangeBatch.damaged("it lacks its origin's schema") }
        try checkOwners(adopted.objects.union(newEmbedded))
        for each in isOwn ? [names] : [names, ownNames] { each.forEachChangedPage { write.replicaPages[$0] = $1 } }
    }

    /// Each embedded object has one owner, and is in the end in one that is not embedded.
    private func checkOwners(_ children: Set<ObjectLink>) throws(DatabaseError) {
        var checked: Set<ObjectLink> = []
        for child in children where try write.table(child.table).locate(child.key) != nil {
            var path: Set<ObjectLink> = []
            var next: ObjectLink? = child
            while let current = next, !checked.contains(current) {
                guard path.insert(current).inserted, let owner = try owner(of: current) else {
                    throw ChangeBatch.damaged("it has an embedded object without an owner, or with two")
                }
                next = write.catalog.table(owner.table)?.isEmbedded == true ? owner : nil
            }
            checked.formUnion(path)
        }
    }

    private func owner(of child: ObjectLink) throws(DatabaseError) -> ObjectLink? {
        let table = try write.table(child.table)
        var owners: [ObjectLink] = []
        for (origin, column) in table.layout.incoming {
            var keys: [Int64] = []
            try table.backlinks(origin: origin, column.key, child.key, into: &keys)
            for key in keys { owners.append(ObjectLink(table: origin, key: ObjectKey(key))) }
        }
        return owners.count == 1 ? owners[0] : nil
    }

    func split(
        _ bytes: UnsafeRawBufferPointer, count expected: UInt32
    ) throws(DatabaseError) -> [(ChangeBatchFormat.Section, ChangeBatchReader)] {
        var reader = ChangeBatchReader(bytes)
        var sections: [(ChangeBatchFormat.Section, ChangeBatchReader)] = []
        var last: UInt8 = 0
        var count: UInt32 = 0
        while reader.remaining > 0 {
            let number = try reader.byte()
            let flags = try reader.byte()
            let body = try reader.content()
            count += 1
            guard ChangeBatchFormat.order(number) >= last else { throw ChangeBatch.damaged() }
            last = ChangeBatchFormat.order(number)
            guard let kind = ChangeBatchFormat.Section(rawValue: number) else {
                guard flags & ChangeBatchFormat.optionalSection != 0 else {
                    throw DatabaseError(
                        .unsupportedFormat, "change batch section \(number) is newer than this library; update it")
                }
                continue
            }
            sections.append((kind, ChangeBatchReader(body)))
        }
        guard count == expected else { throw ChangeBatch.damaged() }
        return sections
    }

    // MARK: Schema

    mutating func takeSchema(_ reader: inout ChangeBatchReader) throws(DatabaseError) {
        guard !batch.isPatch else { throw ChangeBatch.damaged() }
        // Also where what was migrated came within the same batch, and looks like an addition here.
        guard !batch.breaksSchema else { throw otherSchema("a migration is among the changes") }
        let record = try reader.run(reader.remaining)
        let theirs: Catalog
        do throws(DatabaseError) { theirs = try Catalog.decode(record) } catch {
            throw error.code == .unsupportedFormat ? error : ChangeBatch.damaged("its schema cannot be read")
        }
        guard theirs.changedIn == batch.schemaChangedIn else { throw ChangeBatch.damaged() }
        var former: Catalog?
        if !batch.isDifference, let page = try write.base.pages.get(ReplicaPages.catalog(batch.origin)) {
            former = try Catalog.decode(page.bytes)
        }
        if let former {
            // A property of the same name may be another one: it is the numbers that tell.
            if let difference = SchemaReliance.all.difference(former, theirs) { throw otherSchema(difference.what) }
            if let table = former.tables.first(where: { !former.keepsUnique($0, in: theirs) }) {
                throw otherSchema("objects of \(table.name) may have values now that had to differ before")
            }
        }
        let version = try goesOn(to: theirs, from: former) ? theirs.schemaVersion : nil
        do throws(DatabaseError) { newIndexes = try write.addSchema(theirs.schema, schemaVersion: version) } catch {
            throw error.code == .schemaMismatch ? otherSchema(error.message) : error
        }
        if !batch.isDifference, !isOwn { write.replicaPages[ReplicaPages.catalog(batch.origin)] = [UInt8](record) }
        schemaIsKnown = true
    }

    /// Whether the schema's version goes on with the origin's, so that a migration which the origin has had is not
    /// done again here: that of its copies, of a new file, and of one that has had the same version and no object that
    /// is not the origin's, which would go without.
    private func goesOn(to theirs: Catalog, from former: Catalog?) throws(DatabaseError) -> Bool {
        if batch.isDifference || theirs.schemaVersion <= write.catalog.schemaVersion { return false }
        if case .copy = replicas { return true }
        let own = write.catalog
        guard let former else { return own.schemaVersion == 0 && own.tables.isEmpty }
        guard former.schemaVersion == own.schemaVersion else { return false }
        for table in own.tables where !table.isEmbedded {
            let view = try write.table(table.key)
            var named: Set<Int64> = []
            try names.forEach(table.key, in: 0 ..< FileDifference.firstName) { key throws(DatabaseError) in
                if let key = try ownNames.standing(view, key.rawValue) { named.insert(key.rawValue) }
            }
            if named.count < view.liveCount { return false }
        }
        return true
    }

    private func otherSchema(_ reason: String) -> DatabaseError {
        DatabaseError(
            .schemaMismatch,
            "the schema of the batch's origin was changed in a way that changes alone do not carry over: \(reason); "
                + "begin a new file with a batch from version 0")
    }

    /// The classes and properties that are named, in this file.
    mutating func takeClasses(_ reader: inout ChangeBatchReader) throws(DatabaseError) {
        for _ in 0 ..< (try reader.count(minimumSize: 4)) {
            let key = try reader.table()
            let name = try reader.text()
            let isEmbedded = try reader.byte() == 1
            guard let table = write.catalog.table(named: name) else { throw mismatch("class \(name) is missing here") }
            guard table.isEmbedded == isEmbedded else { throw mismatch("class \(name) is declared otherwise here") }
            // One that was dropped or renamed since, and whose name another one has now. Of other files it is the
            // schema that tells; a difference has the numbers of the file that it leads to, and compares values.
            guard !hasOwnNumbers || table.key == key else { throw mismatch("class \(name) is another one since") }
            tables[key] = table
            var known: [ColumnKey: StoredColumn] = [:]
            for _ in 0 ..< (try reader.count(minimumSize: 5)) {
                let key = try reader.column()
                let property = try reader.text()
                let type = UInt32(try reader.byte())
                let collection = UInt32(try reader.byte())
                let flags = try reader.byte()
                guard let column = table.column(named: property), !column.isMapKeys else {
                    throw mismatch("\(name).\(property) is missing here")
                }
                guard !hasOwnNumbers || column.key == key else {
                    throw mismatch("\(name).\(property) is another one since")
                }
                guard column.type.rawValue == type, column.collection.rawValue == collection,
                    column.isNullable == (flags & 1 != 0), column.isPrimaryKey == (flags & 2 != 0)
                else { throw mismatch("\(name).\(property) is declared otherwise here") }
                known[key] = column
            }
            columns[key] = known
        }
    }

    private var hasOwnNumbers: Bool { isOwn && !batch.isDifference }

    private func mismatch(_ what: String) -> DatabaseError {
        DatabaseError(.schemaMismatch, "the schema of the batch's origin is not that of this file: \(what)")
    }

    func table(_ key: TableKey) throws(DatabaseError) -> StoredTable {
        guard let table = tables[key] else { throw ChangeBatch.damaged() }
        return table
    }

    /// A section's table and column.
    func property(
        _ reader: inout ChangeBatchReader, _ kinds: CollectionKind...
    ) throws(DatabaseError) -> (StoredTable, StoredColumn) {
        let key = try reader.table()
        guard let column = columns[key]?[try reader.column()], kinds.contains(column.collection) else {
            throw ChangeBatch.damaged()
        }
        return (try table(key), column)
    }

    // MARK: Names

    func local(_ table: StoredTable, _ key: Int64) throws(DatabaseError) -> ObjectKey {
        guard let local = try live(table.key, key) else {
            throw DatabaseError(
                .historyForked,
                "the batch changes a \(table.name) that this file does not have: it was changed by somebody else; "
                    + advice, className: table.name)
        }
        return local
    }

    var advice: String {
        batch.isPatch || batch.isDifference
            ? "the batch no longer fits" : "begin a new file with a batch from version 0"
    }

    /// The object here, if it is there.
    func live(_ table: TableKey, _ key: Int64) throws(DatabaseError) -> ObjectKey? {
        let view = try write.table(table)
        if batch.isDifference { return try live(view, ofDifference: key) }
        return try named(view, key)
    }

    /// The object here, unless it is one that the batch itself has made.
    private func isThere(_ table: TableKey, _ key: Int64) throws(DatabaseError) -> ObjectKey? {
        try named(try write.table(table), key)
    }

    /// An object of the batch's origin by its key there, or by the name that a difference made up for it.
    func named(_ view: TableView, _ key: Int64) throws(DatabaseError) -> ObjectKey? {
        if batch.isDifference, key >= FileDifference.firstName {
            return try keptName(view.key, key).flatMap { local throws(DatabaseError) in
                try ownNames.standing(view, local.rawValue)
            }
        }
        guard !goesByKeys else { return try ownNames.standing(view, key) }
        guard let local = try names.local(view.key, key) else { return nil }
        return try ownNames.standing(view, local.rawValue)
    }

    /// Which objects of a class the batch deletes is settled before it makes any: one that it makes may take the name
    /// of one that goes.
    mutating func settleDeletions(_ table: TableKey) throws(DatabaseError) {
        guard going[table] == nil else { return }
        var keys: Set<Int64> = []
        for body in deletions {
            var reader = body
            let stored = try self.table(try reader.table())
            guard stored.key == table else { continue }
            keys.formUnion(try objects(stored, in: try reader.runs()).map(\.rawValue))
        }
        going[table] = keys
    }

    mutating func settleAllDeletions() throws(DatabaseError) {
        for body in deletions {
            var reader = body
            try settleDeletions(try self.table(try reader.table()).key)
        }
    }

    func goes(_ object: ObjectLink) -> Bool { going[object.table]?.contains(object.key.rawValue) == true }

    /// Objects of the batch are from now on these here.
    mutating func name(_ table: StoredTable, _ keys: Range<Int64>, _ local: Int64) throws(DatabaseError) {
        if batch.isDifference {
            guard made[table.key, default: KeyMap()].append(keys.lowerBound, count: Int64(keys.count), to: local) else {
                throw ChangeBatch.damaged()
            }
            if isFound(table) || keys.lowerBound >= FileDifference.firstName { return try keep(table, keys, local) }
        }
        if goesByKeys, keys.lowerBound == local { return }
        isRenamed = true
        var isNamed = goesByKeys
        if !isNamed { isNamed = try names.hasName(table.key, in: keys) }
        if isNamed {
            // An object that was deleted may come again, and has a higher key then.
            let mayCome = !goesByKeys || keys.upperBound <= local
            for key in keys {
                let here = try isThere(table.key, key)
                if mayCome, here == nil { continue }
                // It takes the place of one that goes, and was that one before.
                if let here, !batch.isDifference, goes(ObjectLink(table: table.key, key: here)) { continue }
                throw isHere(table)
            }
            for key in keys {
                let former = goesByKeys ? key : try names.local(table.key, key)?.rawValue
                if let former { try lead(table.key, former, to: local + key - keys.lowerBound) }
            }
        }
        guard !goesByKeys else { return }
        guard try names.add(table.key, keys, local: local, replacing: isNamed) else { throw ChangeBatch.damaged() }
    }

    func isHere(_ table: StoredTable) -> DatabaseError {
        DatabaseError(
            .historyForked, "the batch makes a \(table.name) that this file has; \(advice)", className: table.name)
    }

    /// What came again before has a name by which others call it: all that leads to the former one leads to this.
    func lead(_ table: TableKey, _ former: Int64, to local: Int64) throws(DatabaseError) {
        var current: Int64? = former
        while let key = current, key < local {
            current = try ownNames.local(table, key)?.rawValue
            guard current ?? Int64.max > key else {
                throw .corrupted("a page of replication names impossible objects")
            }
            if current == local { return }
            guard try ownNames.add(table, key ..< key + 1, local: local, replacing: true) else {
                throw ChangeBatch.damaged()
            }
        }
    }

    func local(_ link: ObjectLink) throws(DatabaseError) -> ObjectLink {
        let table = try table(link.table)
        let local = ObjectLink(table: table.key, key: try local(table, link.key.rawValue))
        if table.isEmbedded { adopted.objects.insert(local) }
        return local
    }

    /// Lends the value with the links it has here.
    func withLocal<Result>(
        _ value: ValueView, _ body: (ValueView) throws(DatabaseError) -> Result
    ) throws(DatabaseError) -> Result {
        switch value.kind {
        case .link: return try body(.link(try local(value.linkValue)))
        case .list, .map:
            var hasLinks = false
            MixedLinks.forEach(value) { _ in hasLinks = true }
            guard hasLinks else { return try body(value) }
            let owned = try local(value.owned)
            return try owned.withView { view throws(DatabaseError) in try body(view) }
        default: return try body(value)
        }
    }

    func local(_ value: Value) throws(DatabaseError) -> Value {
        switch value {
        case .link(let link): return .link(try local(link))
        case .list(let elements):
            var mapped: [Value] = []
            for element in elements { mapped.append(try local(element)) }
            return .list(mapped)
        case .map(let entries):
            var mapped: [MapEntry] = []
            for entry in entries { mapped.append(MapEntry(key: entry.key, value: try local(entry.value))) }
            return .map(mapped)
        default: return value
        }
    }

    /// `body` gets the values with the links they have here.
    func withLocal<Result>(
        _ values: [ValueView], _ body: ([ValueView]) throws(DatabaseError) -> Result
    ) throws(DatabaseError) -> Result {
        var views = values
        var documents: [[UInt8]] = []
        for (index, value) in values.enumerated() {
            switch value.kind {
            case .link: views[index] = .link(try local(value.linkValue))
            case .list, .map: documents.append(NestedDocument.encode(try local(value.owned)))
            default: continue
            }
        }
        guard !documents.isEmpty else { return try body(views) }
        // One run of memory for all of them, so that it stays where it is.
        let all = documents.flatMap { $0 }
        return try all.withBytes { all throws(DatabaseError) in
            var start = 0
            var next = 0
            for (index, value) in values.enumerated() where value.kind == .list || value.kind == .map {
                let bytes = UnsafeRawBufferPointer(rebasing: all[start ..< start + documents[next].count])
                views[index] = value.kind == .list ? .list(bytes) : .map(bytes)
                start += documents[next].count
                next += 1
            }
            return try body(views)
        }
    }
}

/// Noted while nothing else of the batch changes.
private final class Adopted {
    var objects: Set<ObjectLink> = []
}
