/// The objects at the top of a JSON text as rows of their classes: one, an array of them, or JSON Lines.
///
/// What an update does not name stays as it is, so rows of a batch are of one class and, where they may update, name
/// the same properties: an object that does not belong to the batch is read again for the next one.
import MotteLiveObjects
import MotteSchemaModel
import MotteValues

final class JSONRows: RowReader {
    /// Whether numbers stand for objects of the text only.
    private(set) var isDump = false
    /// What links and mixed values are looked up with; nil while a thread reads ahead. Begins and ends with a part.
    var links: JSONImport?

    private let table: TableKey?
    private let options: JSONImport.Options
    private var plans: ClassPlans
    private var scratch: ObjectScratch?
    private let names = ByteArena()

    // The part of the text that is being read.
    private var bytes = UnsafeRawBufferPointer(start: nil, count: 0)
    private var reader = JSONReader(UnsafeRawBufferPointer(start: nil, count: 0))
    private var firstLine = 1
    private var isArray = false
    /// Whether the objects are an array in the header.
    private var isDocument = false
    /// Whether the reader stands before an object that was looked at before.
    private var isHeld = false

    init(_ table: TableKey?, _ plans: ClassPlans, _ options: JSONImport.Options) {
        self.table = table
        self.plans = plans
        self.options = options
    }

    /// A text, or a part of one that ends with an object.
    func begin(_ bytes: UnsafeRawBufferPointer, isFirst: Bool) throws(DatabaseError) {
        self.bytes = bytes
        reader = JSONReader(bytes, firstLine: firstLine)
        scratch?.lines = LineCounter(firstLine: firstLine)
        isHeld = false
        isArray = false
        isDocument = false
        if isFirst { reader.skipByteOrderMark() }
        guard !reader.isAtEnd, try reader.peek() == .array else { return }
        isArray = true
        try reader.beginArray()
    }

    /// Lines of the next part go on from those of this one.
    func finishPart() {
        var counter = LineCounter(firstLine: firstLine)
        firstLine = counter.advance(to: bytes.count, in: reader.start)
    }

    /// Whether no value of the classes that may come has to be looked up in the store.
    func isReadAlone() throws(DatabaseError) -> Bool {
        if let table { return try plans.plan(table).isReadAlone }
        for type in plans.schema.objectTypes {
            guard let table = type.tableKey, !type.isEmbedded else { continue }
            if try !plans.plan(table).isReadAlone { return false }
        }
        return true
    }

    /// In a dump, objects of a class without a primary key are new in any case.
    func policy(_ plan: ClassPlan) -> UpdatePolicy {
        table == nil && plan.primaryKey == nil ? .error : options.policy
    }

    // MARK: Rows

    func fill(_ rows: PendingRows) throws(DatabaseError) -> Bool {
        // Of this call while it goes on: no access to it has to be checked.
        var reader = self.reader
        let objects = JSONObjectReader(ignoresUnknown: options.ignoresUnknownProperties, links: links)
        rows.countsLinesIn = (bytes, firstLine)
        while !rows.isFull {
            if !isHeld { guard try hasNext(&reader) else { return false } }
            isHeld = false
            guard try reader.peek() == .object else { throw reader.failure("expected an object") }
            if table == nil, !isDocument, try passHeader(&reader) { continue }
            if try !append(&reader, rows, objects) {
                isHeld = true
                break
            }
        }
        self.reader = reader
        return true
    }

    @inline(__always)
    private func hasNext(_ reader: inout JSONReader) throws(DatabaseError) -> Bool {
        guard isArray else { return !reader.isAtEnd }
        if try reader.nextElement() { return true }
        if isDocument, try reader.nextKey() != nil { throw reader.failure("a name follows the objects of the dump") }
        guard reader.isAtEnd else {
            throw reader.failure("something follows the \(isDocument ? "document" : "array")")
        }
        return false
    }

    /// False, with nothing read, when the object belongs to another batch.
    private func append(
        _ reader: inout JSONReader, _ rows: PendingRows, _ objects: JSONObjectReader
    ) throws(DatabaseError) -> Bool {
        let plan = try plan(of: reader)
        if rows.plan !== plan {
            guard rows.count == 0 else { return false }
            rows.become(plan, plan.columns)
        }
        let scratch = scratch(for: plan)
        let start = reader.position
        scratch.reset()
        scratch.arena = rows.arena
        scratch.begin(reader)
        try objects.read(&reader, into: scratch)
        // What a row does not name the store gives it, of a batch whose rows name the same.
        if policy(plan) == .error, !plan.hasStarts {
            try requirePrimaryKey(scratch, reader)
            rows.place.update(from: scratch.values, count: plan.columns.count)
        } else {
            if !scratch.names(rows.columns) {
                guard rows.count == 0 else {
                    reader.goBack(toObjectAt: start)
                    return false
                }
                rows.become(plan, scratch.namedValues.columns)
            }
            try requirePrimaryKey(scratch, reader)
            scratch.copyNamed(to: rows.place)
        }
        for cell in scratch.cells { rows.cells.append((rows.count, cell)) }
        rows.sourceKeys.append(scratch.sourceKey)
        rows.append(line: scratch.offset)
        return true
    }

    private func requirePrimaryKey(_ scratch: ObjectScratch, _ reader: JSONReader) throws(DatabaseError) {
        guard let primaryKey = scratch.plan.primaryKey, !scratch.hasValue[primaryKey] else { return }
        if scratch.plan.fields[primaryKey].rule?.hasStart == true, policy(scratch.plan) == .error { return }
        let name = scratch.plan.fields[primaryKey].property.name
        throw ExchangeError.at(
            line: scratch.line(reader),
            DatabaseError(
                .invalidArgument, "\(scratch.plan.type.name) needs a value for its primary key \(name)",
                className: scratch.plan.type.name, propertyName: name))
    }

    // MARK: Classes

    /// The first line of a dump, or all of a document before its first object.
    private func passHeader(_ reader: inout JSONReader) throws(DatabaseError) -> Bool {
        guard scratch == nil, let header = try StoreDumpHeader(beginning: reader) else { return false }
        isDump = true
        guard var objects = header.objects else {
            _ = try reader.skip()
            return true
        }
        try objects.beginArray()
        reader = objects
        isArray = true
        isDocument = true
        return true
    }

    private func plan(of reader: JSONReader) throws(DatabaseError) -> ClassPlan {
        if let table {
            if let scratch { return scratch.plan }
            return try plans.plan(table)
        }
        var ahead = reader
        try ahead.beginObject()
        guard let key = try ahead.nextKey(), key.raw.elementsEqual("$class".utf8), try ahead.peek() == .string else {
            throw reader.failure("expected \"$class\" first, which says what the object is; or name the class")
        }
        names.reset()
        let raw = JSONScalarReader(arena: names).plain(try ahead.string())
        if let known = scratch?.plan, raw.elementsEqual(known.type.name.utf8) { return known }
        let name = String(decoding: raw, as: UTF8.self)
        let type = try plans.schema.type(named: name)
        guard let table = type.tableKey, !type.isEmbedded else {
            throw reader.failure("\(name) is embedded: its objects are written inside their parents, not by themselves")
        }
        return try plans.plan(table)
    }

    private func scratch(for plan: ClassPlan) -> ObjectScratch {
        if let scratch, scratch.plan === plan { return scratch }
        let made = ObjectScratch(plan, names)
        made.lines = scratch?.lines ?? LineCounter(firstLine: firstLine)
        scratch = made
        return made
    }
}
