/// What objects are once their row has a key: cells that had to wait, references, objects within objects.
///
/// A link is the primary key of what it links to, `{"$key": 7}` for a class without one, `{"$link": ["Person", 5]}`
/// anywhere, or an object of its own, which is imported by the same policy. What links to something later in the text
/// waits until the end.
import MotteLiveObjects
import MotteSchemaModel
import MotteStorage
import MotteValues

extension JSONImport {
    // MARK: Cells of objects that have a key

    func assign(
        _ plan: ClassPlan, _ key: ObjectKey, _ cell: ObjectScratch.Cell, isLast: Bool = false
    ) throws(DatabaseError) {
        let arena = ByteArena()
        defer { withExtendedLifetime(arena) {} }
        var reader = JSONReader(cell.text, firstLine: cell.line)
        supersede(plan, key, field: cell.field)
        do throws(DatabaseError) {
            let assignment = CellAssignment(
                importer: self, plan: plan, field: plan.fields[cell.field], key: key, arena: arena, isLast: isLast)
            if try !assignment.run(&reader) { return postpone(plan, key, cell) }
            // A cell of JSON ends with its value; one of CSV may not, as "1,234" or "12 apples".
            guard reader.isAtEnd else {
                throw DatabaseError(
                    .wrongType,
                    "text follows the JSON value in '\(String(decoding: cell.text.prefix(60), as: UTF8.self))'")
            }
        } catch {
            if error.message.beginsWithBytes(of: "line ") { throw error }
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
                throw DatabaseError(.wrongType, "expected a link to \(plan.type.name), found \"\(mark.name)\"")
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
        guard options.takesObjectKeys else { throw Self.foreignNumber(plan.type.name) }
        if let key = try object(plan.table, numbered: number, isLast: isLast) {
            return .link(ObjectLink(table: plan.table, key: key))
        }
        guard isLast else { return .unknown }
        throw DatabaseError(.invalidArgument, "there is no \(plan.type.name) with \"$key\": \(number)")
    }

    /// Where objects come without their numbers, a number of one is that of another object in another file.
    static func foreignNumber(_ className: String) -> DatabaseError {
        DatabaseError(
            .wrongType,
            "a link to \(className), which has no primary key, is a number of the file that it was exported from; "
                + "export the whole file as JSON, or give \(className) a primary key")
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
        guard let mark = JSONMark(String(decoding: key.raw, as: UTF8.self)) else { return nil }
        _ = try ahead.skip()
        return try ahead.nextKey() == nil ? mark : nil
    }

    // MARK: Nested objects

    /// Assigns what stands in a text to an embedded object that is there.
    func fillEmbedded(
        _ reader: inout JSONReader, _ table: TableKey, _ key: ObjectKey, isNew: Bool
    ) throws(DatabaseError) {
        let plan = try plans.plan(table)
        let scratch = ObjectScratch(plan, ByteArena())
        // Its values borrow from its arena.
        defer { withExtendedLifetime(scratch) {} }
        guard try reader.peek() == .object else {
            throw DatabaseError(.wrongType, "expected an object of \(plan.type.name), found \(try reader.peek().name)")
        }
        scratch.begin(reader, line: reader.line)
        try objectReader.read(&reader, into: scratch)
        if isNew {
            do throws(DatabaseError) { try plan.requireAll { scratch.isNamed[$0] } } catch {
                throw ExchangeError.at(line: scratch.line(reader), error)
            }
            try fill(scratch, key.rawValue)
        }
        let (columns, values) = scratch.namedValues
        withUnsafePointer(to: key.rawValue) { supersede(plan, columns, UnsafeBufferPointer(start: $0, count: 1)) }
        for (index, column) in columns.enumerated() {
            if options.policy == .modified, try isSame(session.value(table, column, key), values[index]) { continue }
            do throws(DatabaseError) { try session.set(table, column, key, to: values[index]) } catch {
                throw ExchangeError.at(line: scratch.line(reader), error)
            }
        }
        for cell in scratch.cells { try assign(plan, key, cell) }
    }

    /// What a new object does not name.
    private func fill(_ scratch: ObjectScratch, _ key: Int64) throws(DatabaseError) {
        let plan = scratch.plan
        try session.fill(plan.type) { column in
            let index = plan.fields.firstIndex { $0.column == column }
            return index.map { scratch.isNamed[$0] } == false ? [key] : []
        }
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
        scratch.begin(reader, line: reader.line)
        try objectReader.read(&reader, into: scratch)
        let (columns, values) = scratch.namedValues
        var key: Int64 = -1
        let first = try session.nextKey(target)
        do throws(DatabaseError) {
            _ = try values.withViews { rows throws(DatabaseError) in
                try session.upsertBatch(
                    target, columns: columns, rows: rows, rowCount: 1,
                    policy: plan.primaryKey == nil ? .error : options.policy, keys: &key)
            }
        } catch { throw ExchangeError.at(line: scratch.line(reader), error) }
        withUnsafePointer(to: key) { supersede(plan, columns, UnsafeBufferPointer(start: $0, count: 1)) }
        if key >= first { try fill(scratch, key) }
        if scratch.sourceKey >= 0 { try remember(plan, scratch.sourceKey, key, line: scratch.line(reader)) }
        for cell in scratch.cells { try assign(plan, ObjectKey(key), cell) }
        return ObjectLink(table: target, key: ObjectKey(key))
    }
}

/// The names that begin with '$' in a value.
enum JSONMark: Equatable {
    case key, link
    /// A value of a type that JSON has not.
    case value(ValueKind)

    private static let named: [(name: String, mark: JSONMark)] =
        [("$key", .key), ("$link", .link)]
        + ValueKind.allCases.compactMap { kind in kind.jsonMark.map { ($0, .value(kind)) } }

    init?(_ name: String) {
        guard let mark = Self.named.first(where: { $0.name.hasSameBytes(as: name) })?.mark else { return nil }
        self = mark
    }

    var name: String { Self.named.first { $0.mark == self }?.name ?? "" }

    /// What it marks; nil for those that name objects.
    var type: PropertyType? {
        if case .value(let kind) = self { PropertyType(rawValue: kind.rawValue) } else { nil }
    }
}

extension ValueKind {
    /// The name in front of a value of a mixed property that would read as another type without it.
    var jsonMark: String? {
        switch form {
        case .float: "$float"
        case .double: "$double"
        case .decimal: "$decimal"
        case .data: "$binary"
        case .timestamp: "$date"
        case .identifier: identifier.map { "$" + $0.word }
        case .null, .bool, .int, .string, .link, .list, .map: nil
        }
    }
}

extension PropertyType {
    /// Read without looking at anything but the value.
    var isPlainJSON: Bool { Self.scalars.contains(self) }
}

extension Array where Element == ValueView {
    /// Lends the values with a typed throw.
    func withViews<Result>(
        _ body: (UnsafePointer<ValueView>?) throws(DatabaseError) -> Result
    ) throws(DatabaseError) -> Result {
        try withUnsafeBufferPointer { buffer throws(DatabaseError) in try body(buffer.baseAddress) }
    }
}
