/// The properties of one object: plain values at once, the rest when the object has its key.
///
/// A link is the primary key of what it links to, `{"$key": 7}` for a class without one, `{"$link": ["Person", 5]}`
/// anywhere, or an object of its own, which is imported by the same policy. What links to something later in the text
/// waits until the end.
import MotteLiveObjects
import MotteSchemaModel
import MotteStorage
import MotteValues

extension JSONImport {
    func readObject(_ reader: inout JSONReader, into scratch: ObjectScratch) throws(DatabaseError) {
        let plan = scratch.plan
        let scalars = JSONScalarReader(arena: scratch.arena)
        var hint = 0
        try reader.beginObject()
        while let key = try reader.nextKey() {
            if let first = key.raw.first, first == UInt8(ascii: "$") {
                try readMark(key, &reader, scratch)
                continue
            }
            let name = scalars.plain(key)
            guard let index = plan.find(name, hint: hint) else {
                try passUnknown(name, &reader, plan)
                continue
            }
            hint = index + 1
            guard !scratch.isNamed[index] else {
                throw reader.failure("\(plan.type.name).\(plan.fields[index].property.name) is given twice")
            }
            scratch.isNamed[index] = true
            let field = plan.fields[index]
            if field.position >= 0, field.property.type.isPlainJSON {
                do throws(DatabaseError) {
                    scratch.put(index, try scalars.read(field.property.type, &reader))
                } catch { throw located(error, plan, index, reader) }
            } else {
                try readCell(index, &reader, scratch)
            }
        }
    }

    /// Links that can be followed at once go with the row; everything else that is no plain value waits.
    private func readCell(
        _ index: Int, _ reader: inout JSONReader, _ scratch: ObjectScratch
    ) throws(DatabaseError) {
        let field = scratch.plan.fields[index]
        let line = reader.line(from: scratch.line, at: scratch.offset)
        let text = try reader.skip()
        if field.position >= 0, let value = try immediate(field, text, scratch) {
            scratch.put(index, value)
        } else {
            scratch.cells.append(ObjectScratch.Cell(field: index, text: text, line: line))
        }
    }

    private func immediate(
        _ field: ClassPlan.Field, _ text: UnsafeRawBufferPointer, _ scratch: ObjectScratch
    ) throws(DatabaseError) -> ValueView? {
        var reader = JSONReader(text)
        if field.property.type == .mixed {
            let mixed = JSONMixedReader(importer: self, arena: scratch.arena, isLast: false)
            return try? mixed.read(&reader)
        }
        guard let target = field.target, !field.ownsTarget, text.first != UInt8(ascii: "{") else { return nil }
        // Mistakes are found again, with their place, when the cell is assigned.
        guard case .link(let link)? = try? reference(&reader, target, isLast: false) else {
            return text.elementsEqual("null".utf8) ? .null : nil
        }
        return .link(link)
    }

    /// `$key` and `$class` of an object.
    private func readMark(
        _ key: JSONText, _ reader: inout JSONReader, _ scratch: ObjectScratch
    ) throws(DatabaseError) {
        if key.raw.elementsEqual("$key".utf8) {
            guard try reader.peek() == .number, let number = try reader.number().int, number >= 0 else {
                throw reader.failure("\"$key\" is a number from 0 on")
            }
            scratch.sourceKey = number
        } else if key.raw.elementsEqual("$class".utf8) {
            let name = try JSONScalarReader(arena: scratch.arena).text(&reader)
            guard name.elementsEqual(scratch.plan.type.name.utf8) else {
                throw reader.failure(
                    "\"$class\" is \(JSONScalarReader.shown(name)), a \(scratch.plan.type.name) is expected")
            }
        } else {
            throw reader.failure("an object has no \(JSONScalarReader.shown(key.raw)); only \"$class\" and \"$key\"")
        }
    }

    private func passUnknown(
        _ name: UnsafeRawBufferPointer, _ reader: inout JSONReader, _ plan: ClassPlan
    ) throws(DatabaseError) {
        let text = String(decoding: name, as: UTF8.self)
        guard plan.type.property(named: text) == nil else {
            throw reader.failure("\(plan.type.name).\(text) is computed; it cannot be imported")
        }
        if options.ignoresUnknownProperties {
            _ = try reader.skip()
            return
        }
        do throws(DatabaseError) { _ = try plan.type.requiredProperty(named: text) } catch {
            throw ExchangeError.at(line: reader.line, error)
        }
    }

    private func located(
        _ error: DatabaseError, _ plan: ClassPlan, _ index: Int, _ reader: JSONReader
    ) -> DatabaseError {
        // Mistakes of JSON know their place already.
        if error.code == .invalidArgument || error.code == .invalidUTF8 { return error }
        return ExchangeError.at(line: reader.line, plan.error(error, at: index))
    }

    // MARK: Cells of objects that have a key

    func assign(
        _ plan: ClassPlan, _ key: ObjectKey, _ cell: ObjectScratch.Cell, isLast: Bool = false
    ) throws(DatabaseError) {
        let arena = ByteArena()
        defer { withExtendedLifetime(arena) {} }
        var reader = JSONReader(cell.text, firstLine: cell.line)
        do throws(DatabaseError) {
            let assignment = CellAssignment(
                importer: self, plan: plan, field: plan.fields[cell.field], key: key, arena: arena, isLast: isLast)
            if try !assignment.run(&reader) { postpone(plan, key, cell) }
        } catch {
            if error.message.hasPrefix("line ") { throw error }
            throw ExchangeError.at(line: cell.line, plan.error(ExchangeError.withoutRow(error), at: cell.field))
        }
    }

    // MARK: References

    enum Reference {
        case null
        case link(ObjectLink)
        /// Not there yet.
        case unknown
        /// An object of its own.
        case object
    }

    /// What a link's value refers to. Objects stay unread.
    func reference(
        _ reader: inout JSONReader, _ target: TableKey, isLast: Bool
    ) throws(DatabaseError) -> Reference {
        let plan = try plans.plan(target)
        switch try reader.peek() {
        case .null:
            try reader.null()
            return .null
        case .object:
            guard let mark = try soleMark(reader) else { return .object }
            guard mark == .key || mark == .link else {
                throw DatabaseError(.wrongType, "expected a link to \(plan.type.name), found \"\(mark.rawValue)\"")
            }
            if mark == .link {
                let link = try markedLink(&reader, isLast: isLast)
                guard case .link(let found) = link, found.table != target else { return link }
                throw DatabaseError(
                    .wrongType,
                    "expected a link to \(plan.type.name), found one to "
                        + (plans.schema[found.table]?.name ?? "another class"))
            }
            try reader.beginObject()
            _ = try reader.nextKey()
            guard try reader.peek() == .number, let number = try reader.number().int else {
                throw reader.failure("\"$key\" is a number")
            }
            _ = try reader.nextKey()
            return try numbered(plan, number, isLast: isLast)
        default: return try byPrimaryKey(&reader, plan, isLast: isLast)
        }
    }

    private func byPrimaryKey(
        _ reader: inout JSONReader, _ plan: ClassPlan, isLast: Bool
    ) throws(DatabaseError) -> Reference {
        guard let index = plan.primaryKey else {
            let kind = try reader.peek()
            throw DatabaseError(
                .wrongType,
                "expected a link to \(plan.type.name), which has no primary key: null, {\"$key\": 7} or an object; "
                    + "found \(kind.name)")
        }
        referenceTexts.reset()
        let value = try JSONScalarReader(arena: referenceTexts).read(plan.fields[index].property.type, &reader)
        if let key = try session.findKey(plan.table, primaryKey: value) {
            return .link(ObjectLink(table: plan.table, key: key))
        }
        guard isLast else { return .unknown }
        throw DatabaseError(
            .invalidArgument, "there is no \(plan.type.name) with the primary key \(value.owned.text)")
    }

    private func numbered(_ plan: ClassPlan, _ number: Int64, isLast: Bool) throws(DatabaseError) -> Reference {
        if let key = try object(plan.table, numbered: number, isLast: isLast) {
            return .link(ObjectLink(table: plan.table, key: key))
        }
        guard isLast else { return .unknown }
        throw DatabaseError(.invalidArgument, "there is no \(plan.type.name) with \"$key\": \(number)")
    }

    /// `{"$link": [class, reference]}`.
    func markedLink(_ reader: inout JSONReader, isLast: Bool) throws(DatabaseError) -> Reference {
        try reader.beginObject()
        _ = try reader.nextKey()
        try reader.beginArray()
        guard try reader.nextElement(), try reader.peek() == .string else {
            throw reader.failure("\"$link\" is an array of a class and a primary key or {\"$key\": 7}")
        }
        let name = String(decoding: try JSONScalarReader(arena: referenceTexts).text(&reader), as: UTF8.self)
        guard let table = try plans.schema.type(named: name).tableKey, try reader.nextElement() else {
            throw reader.failure("\"$link\" is an array of a class and a primary key or {\"$key\": 7}")
        }
        let plan = try plans.plan(table)
        // Here null is a primary key: a link to nothing is plain null.
        let found: Reference
        if try reader.peek() == .null {
            found = try byPrimaryKey(&reader, plan, isLast: isLast)
        } else {
            found = try reference(&reader, table, isLast: isLast)
        }
        if case .object = found { throw reader.failure("\"$link\" refers to an object, it does not hold one") }
        guard try !reader.nextElement(), try reader.nextKey() == nil else {
            throw reader.failure("\"$link\" has two elements and nothing beside it")
        }
        return found
    }

    /// The mark of an object that consists of nothing else; nil for every other object.
    func soleMark(_ reader: JSONReader) throws(DatabaseError) -> JSONMark? {
        var ahead = reader
        try ahead.beginObject()
        guard let key = try ahead.nextKey(), key.raw.first == UInt8(ascii: "$") else { return nil }
        guard let mark = JSONMark(rawValue: String(decoding: key.raw, as: UTF8.self)) else { return nil }
        _ = try ahead.skip()
        return try ahead.nextKey() == nil ? mark : nil
    }

    // MARK: Nested objects

    /// Assigns what stands in a text to an embedded object that is there.
    func fillEmbedded(_ reader: inout JSONReader, _ table: TableKey, _ key: ObjectKey) throws(DatabaseError) {
        let plan = try plans.plan(table)
        let scratch = ObjectScratch(plan, ByteArena())
        // Its values borrow from its arena.
        defer { withExtendedLifetime(scratch) {} }
        guard try reader.peek() == .object else {
            throw DatabaseError(.wrongType, "expected an object of \(plan.type.name), found \(try reader.peek().name)")
        }
        scratch.line = reader.line
        scratch.offset = reader.position
        try readObject(&reader, into: scratch)
        let (columns, values) = scratch.namedValues
        for (index, column) in columns.enumerated() {
            if options.policy == .modified, try isSame(session.value(table, column, key), values[index]) { continue }
            do throws(DatabaseError) { try session.set(table, column, key, to: values[index]) } catch {
                throw ExchangeError.at(line: scratch.line, error)
            }
        }
        for cell in scratch.cells { try assign(plan, key, cell) }
    }

    func isSame(_ old: ValueView, _ new: ValueView) -> Bool {
        old.kindNumber == new.kindNumber && ValueOrdering.compare(old, new) == 0
    }

    /// Imports an object that stands where a link is expected.
    func nestedObject(_ reader: inout JSONReader, _ target: TableKey) throws(DatabaseError) -> ObjectLink {
        let plan = try plans.plan(target)
        let scratch = ObjectScratch(plan, ByteArena())
        // Its values borrow from its arena.
        defer { withExtendedLifetime(scratch) {} }
        _ = try reader.peek()
        scratch.line = reader.line
        scratch.offset = reader.position
        try readObject(&reader, into: scratch)
        let (columns, values) = scratch.namedValues
        var key: Int64 = -1
        do throws(DatabaseError) {
            _ = try values.withViews { rows throws(DatabaseError) in
                try session.upsertBatch(
                    target, columns: columns, rows: rows, rowCount: 1,
                    policy: plan.primaryKey == nil ? .error : options.policy, keys: &key)
            }
        } catch { throw ExchangeError.at(line: scratch.line, error) }
        if scratch.sourceKey >= 0 { try remember(plan, scratch.sourceKey, key, line: scratch.line) }
        for cell in scratch.cells { try assign(plan, ObjectKey(key), cell) }
        return ObjectLink(table: target, key: ObjectKey(key))
    }
}

/// The names that begin with '$' in a value.
enum JSONMark: String {
    case key = "$key"
    case link = "$link"
    case float = "$float"
    case double = "$double"
    case decimal = "$decimal"
    case binary = "$binary"
    case date = "$date"
    case objectID = "$oid"
    case uuid = "$uuid"
}

extension PropertyType {
    /// Read without looking at anything but the value.
    var isPlainJSON: Bool {
        switch self {
        case .link, .linkingObjects, .mixed: false
        case .bool, .int, .float, .double, .string, .data, .timestamp, .decimal, .objectID, .uuid: true
        }
    }
}

extension Array where Element == ValueView {
    /// Lends the values with a typed throw.
    func withViews<Result>(
        _ body: (UnsafePointer<ValueView>?) throws(DatabaseError) -> Result
    ) throws(DatabaseError) -> Result {
        try withUnsafeBufferPointer { buffer throws(DatabaseError) in try body(buffer.baseAddress) }
    }
}
