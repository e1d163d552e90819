/// One property of one object from its text, once the object is there: collections, and links that had to wait.
///
/// Answers false, with nothing changed, when it links to an object that is not there yet.
import MotteLiveObjects
import MotteSchemaModel
import MotteStorage
import MotteValues

struct CellAssignment {
    let importer: JSONImport
    let plan: ClassPlan
    let field: ClassPlan.Field
    let key: ObjectKey
    let arena: ByteArena
    let isLast: Bool

    func run(_ reader: inout JSONReader) throws(DatabaseError) -> Bool {
        switch field.property.collection {
        case .none where field.ownsTarget: try embedded(&reader)
        case .list where field.ownsTarget: try embeddedList(&reader)
        case .map where field.ownsTarget: try embeddedMap(&reader)
        case .none: return try single(&reader)
        case .list, .set: return try elements(&reader)
        case .map: return try map(&reader)
        }
        return true
    }

    private var write: WriteTransaction {
        get throws(DatabaseError) { try importer.session.requireWrite() }
    }
    private var view: TableView {
        get throws(DatabaseError) { try importer.session.table(plan.table) }
    }
    private var policy: UpdatePolicy { importer.options.policy }

    // MARK: Single values

    private func single(_ reader: inout JSONReader) throws(DatabaseError) -> Bool {
        guard let value = try value(&reader) else { return false }
        try importer.session.set(plan.table, field.column, key, to: value)
        return true
    }

    /// nil when it links to what is not there yet.
    private func value(_ reader: inout JSONReader) throws(DatabaseError) -> ValueView? {
        if field.property.type == .mixed {
            return try JSONMixedReader(importer: importer, arena: arena, isLast: isLast).read(&reader)
        }
        guard let target = field.target else {
            return try JSONScalarReader(arena: arena).read(field.property.type, &reader)
        }
        switch try importer.reference(&reader, target, isLast: isLast) {
        case .null: return .null
        case .link(let link): return .link(link)
        case .unknown: return nil
        case .object: return .link(try importer.nestedObject(&reader, target))
        }
    }

    // MARK: Lists and sets

    private func elements(_ reader: inout JSONReader) throws(DatabaseError) -> Bool {
        guard try isResolved(reader) else { return false }
        var values: [ValueView] = []
        if try begin(&reader, .array) {
            while try reader.nextElement() {
                guard let value = try value(&reader) else { return false }
                values.append(value)
            }
        }
        if field.property.collection == .set {
            try write.setAssign(plan.table, field.column, key, values)
        } else if policy == .error {
            if !values.isEmpty { try write.listInsert(plan.table, field.column, key, at: 0, values) }
        } else if let object = try importer.session.object(plan.table, at: key) {
            try object.list(field.column).assign(values, policy: policy)
        }
        return true
    }

    /// False for null, which is empty.
    private func begin(_ reader: inout JSONReader, _ expected: JSONKind) throws(DatabaseError) -> Bool {
        let kind = try reader.peek()
        if kind == .null {
            try reader.null()
            return false
        }
        guard kind == expected else {
            let name = field.property.type == .link ? field.property.target ?? "" : field.property.type.name
            throw DatabaseError(.wrongType, "expected \(expected.name) of \(name), found \(kind.name)")
        }
        if expected == .array { try reader.beginArray() } else { try reader.beginObject() }
        return true
    }

    /// Whether all references of a collection can be followed: looked at before nested objects are made.
    private func isResolved(_ reader: JSONReader) throws(DatabaseError) -> Bool {
        guard !isLast, field.target != nil || field.property.type == .mixed else { return true }
        let isMap = field.property.collection == .map
        var ahead = reader
        guard try begin(&ahead, isMap ? .object : .array) else { return true }
        while isMap ? try ahead.nextKey() != nil : try ahead.nextElement() {
            guard let target = field.target else {
                let mixed = JSONMixedReader(importer: importer, arena: arena, isLast: false)
                if try mixed.read(&ahead) == nil { return false }
                continue
            }
            switch try importer.reference(&ahead, target, isLast: false) {
            case .unknown: return false
            case .object: _ = try ahead.skip()
            case .null, .link: continue
            }
        }
        return true
    }

    // MARK: Maps

    /// Keys that the text does not have go; with `.modified` equal values stay as they are.
    private func map(_ reader: inout JSONReader) throws(DatabaseError) -> Bool {
        guard try isResolved(reader) else { return false }
        var entries: [(key: UnsafeRawBufferPointer, value: ValueView)] = []
        if try begin(&reader, .object) {
            while let name = try reader.nextKey() {
                let mapKey = JSONScalarReader(arena: arena).plain(name)
                guard let value = try value(&reader) else { return false }
                entries.append((mapKey, value))
            }
        }
        try checkDistinct(entries.map(\.key), reader)
        try removeKeys(except: entries.map(\.key))
        let write = try write
        for entry in entries {
            if policy == .modified, let index = try view.mapFind(field.column, key, entry.key),
                importer.isSame(try view.listElement(field.column, key, index), entry.value)
            {
                continue
            }
            try write.mapPut(plan.table, field.column, key, entry.key, entry.value)
        }
        return true
    }

    private func checkDistinct(_ keys: [UnsafeRawBufferPointer], _ reader: JSONReader) throws(DatabaseError) {
        try MapKeys.checkDistinct(keys.map { String(decoding: $0, as: UTF8.self) }, reader)
    }

    private func removeKeys(except kept: [UnsafeRawBufferPointer]) throws(DatabaseError) {
        guard policy != .error else { return }
        let kept = Set(kept.map { Array($0) })
        var gone: [[UInt8]] = []
        for index in 0 ..< (try view.listCount(field.column, key)) {
            let known = Array(try view.mapKey(field.column, key, index))
            if !kept.contains(known) { gone.append(known) }
        }
        for mapKey in gone {
            try mapKey.withBytes { bytes throws(DatabaseError) in
                _ = try write.mapRemove(plan.table, field.column, key, bytes)
            }
        }
    }

    // MARK: Embedded objects

    /// With `.modified` the object that is there stays and takes what differs; else a new one replaces it.
    private func embedded(_ reader: inout JSONReader) throws(DatabaseError) {
        guard let target = field.target else { return }
        if try reader.peek() == .null {
            try reader.null()
            return try importer.session.set(plan.table, field.column, key, to: .null)
        }
        try requireObject(&reader)
        let known = try importer.session.value(plan.table, field.column, key)
        let stays = policy == .modified && known.kind == .link
        let child = stays ? known.linkValue.key : try write.embeddedPut(plan.table, field.column, key)
        try importer.fillEmbedded(&reader, target, child, isNew: !stays)
    }

    private func embeddedList(_ reader: inout JSONReader) throws(DatabaseError) {
        guard let target = field.target else { return }
        var count = try view.listCount(field.column, key)
        var index = 0
        if policy != .modified, count > 0 {
            try write.listClear(plan.table, field.column, key)
            count = 0
        }
        if try begin(&reader, .array) {
            while try reader.nextElement() {
                try requireObject(&reader)
                let child =
                    index < count
                    ? try view.listElement(field.column, key, index).linkValue.key
                    : try write.embeddedInsert(plan.table, field.column, key, at: index)
                try importer.fillEmbedded(&reader, target, child, isNew: index >= count)
                index += 1
            }
        }
        if index < count {
            try write.listRemove(plan.table, field.column, key, at: index, count: count - index)
        }
    }

    private func embeddedMap(_ reader: inout JSONReader) throws(DatabaseError) {
        guard let target = field.target else { return }
        var keys: [UnsafeRawBufferPointer] = []
        if try begin(&reader, .object) {
            while let name = try reader.nextKey() {
                let mapKey = JSONScalarReader(arena: arena).plain(name)
                keys.append(mapKey)
                if try reader.peek() == .null {
                    try reader.null()
                    try write.mapPut(plan.table, field.column, key, mapKey, .null)
                    continue
                }
                try requireObject(&reader)
                let (child, isNew) = try child(mapKey)
                try importer.fillEmbedded(&reader, target, child, isNew: isNew)
            }
        }
        try checkDistinct(keys, reader)
        try removeKeys(except: keys)
    }

    private func child(
        _ mapKey: UnsafeRawBufferPointer
    ) throws(DatabaseError) -> (key: ObjectKey, isNew: Bool) {
        if policy == .modified, let index = try view.mapFind(field.column, key, mapKey) {
            let known = try view.listElement(field.column, key, index)
            if known.kind == .link { return (known.linkValue.key, false) }
        }
        return (try write.embeddedMapPut(plan.table, field.column, key, mapKey), true)
    }

    private func requireObject(_ reader: inout JSONReader) throws(DatabaseError) {
        let kind = try reader.peek()
        guard kind == .object else {
            throw DatabaseError(.wrongType, "expected an object of \(field.property.target ?? ""), found \(kind.name)")
        }
    }
}
