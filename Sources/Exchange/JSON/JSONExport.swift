/// Objects as JSON: one, a collection, a class, or the whole database as a dump that `JSONImport` makes a store of
/// again.
///
/// Reads one version of the session, object by object into a sink, so that memory does not grow with what is exported.
/// Links are written as references; with `.nested` what they link to is written in place, down to a depth, and an
/// object that is being written already is referred to. The form is described in docs/json.md.
import MotteLiveObjects
import MotteSchemaModel
import MotteStorage
import MotteValues

package struct JSONExport {
    package enum Links: UInt32, Sendable, CaseIterable {
        case references = 0
        case nested = 1
    }

    package enum Form: UInt32, Sendable, CaseIterable {
        /// `[...]`, an object a line.
        case array = 0
        /// JSON Lines.
        case lines = 1
    }

    package struct Options: Sendable {
        package var links = Links.references
        /// Objects within each other with `.nested`.
        package var depthLimit = 16
        /// In which properties are written; empty: all that are stored.
        package var properties: [String] = []

        package init() {}
    }

    /// nil where only single values are written.
    private let openSession: Session?
    private let source: RowSource
    private let options: Options
    private var plans: ClassPlans
    private var prefixes: [TableKey: [[UInt8]]] = [:]
    /// Objects that are being written, outermost first.
    private var path: [ObjectLink] = []
    /// Where objects without a primary key are numbered by their position, so that equal stores have equal dumps.
    private var positions: [TableKey: TablePositions]?

    package init(_ session: Session, _ options: Options = Options()) throws(DatabaseError) {
        openSession = session
        self.options = options
        source = try session.source()
        plans = ClassPlans(source.schema)
    }

    /// For mixed values of a version.
    init(_ source: RowSource) {
        openSession = nil
        options = Options()
        self.source = source
        plans = ClassPlans(source.schema)
    }

    private var session: Session {
        get throws(DatabaseError) {
            guard let openSession else { throw DatabaseError(.internal, "an export of values was asked for objects") }
            return openSession
        }
    }

    /// Numbers objects without a primary key by their position, as a dump does: keys differ between stores that hold
    /// the same objects.
    package mutating func numberByPosition() { positions = [:] }

    // MARK: What to export

    package mutating func object(_ object: LiveObject, to sink: inout ByteSink) throws(DatabaseError) {
        guard try object.exists() else {
            throw DatabaseError(.objectDeleted, "this object has been deleted; export what is still there")
        }
        try write(object.table, object.key, to: &sink)
    }

    /// Chosen columns of an object, named by their paths.
    package mutating func columns(
        _ columns: [ColumnPath], of object: ObjectLink, to sink: inout ByteSink
    ) throws(DatabaseError) {
        sink.append("{")
        for (index, column) in columns.enumerated() {
            if index > 0 { sink.append(",") }
            JSONValueWriter.string(column.text, to: &sink)
            sink.append(":")
            if let owner = try column.owner(of: object, in: try session) {
                try property(owner, column.property, to: &sink)
            } else {
                sink.append("null")
            }
        }
        sink.append("}")
    }

    /// One property's value alone.
    package mutating func property(
        _ object: ObjectLink, _ property: Property, to sink: inout ByteSink
    ) throws(DatabaseError) {
        let plan = try plans.plan(object.table)
        guard let field = plan.fields.first(where: { $0.column == property.columnKey }) else {
            throw DatabaseError(
                .wrongType, "\(plan.type.name).\(property.name) is computed; export the objects it lists",
                className: plan.type.name, propertyName: property.name)
        }
        try write(field, try source.table(object.table), object.key, to: &sink)
    }

    /// Objects or plain values; of objects all properties, or chosen columns.
    package mutating func collection(
        _ collection: LiveCollection, form: Form, columns: [ColumnPath]? = nil, to sink: inout ByteSink,
        progress: ((Int) throws(DatabaseError) -> Void)? = nil
    ) throws(DatabaseError) {
        let progress = try session.reading(by: progress)
        let count = try collection.count()
        if form == .array { sink.append("[") }
        for index in 0 ..< count {
            if form == .array { index > 0 ? sink.append(",\n ") : sink.append("\n ") }
            if let target = collection.target {
                // What a snapshot lists although it was deleted.
                if let object = try collection.object(at: index) {
                    if let columns {
                        try self.columns(columns, of: object.link, to: &sink)
                    } else {
                        try write(target, object.key, to: &sink)
                    }
                } else {
                    sink.append("null")
                }
            } else {
                let value = try collection.value(at: index)
                if collection.elementType == .mixed {
                    try mixed(value, to: &sink)
                } else {
                    JSONValueWriter.plain(value, to: &sink)
                }
            }
            if form == .lines { sink.append("\n") }
            try sink.flushIfFull()
            openSession?.releaseMemory()
            if (index + 1) & 0xFFF == 0 { try progress?(index + 1) }
        }
        try progress?(count)
        if form == .array { count > 0 ? sink.append("\n]\n") : sink.append("]\n") }
        try sink.flushIfFull()
    }

    /// All classes, as JSON Lines after a header; as `.array`, the header is an object that has all others.
    package mutating func store(
        as form: Form = .lines, to sink: inout ByteSink, progress: ((Int) throws(DatabaseError) -> Void)? = nil
    ) throws(DatabaseError) {
        let progress = try session.reading(by: progress)
        let schema = source.schema
        StoreDumpHeader.write(schema, version: try session.schemaVersion, as: form, to: &sink)
        numberByPosition()
        var written = 0
        for type in schema.objectTypes {
            // Embedded objects stand within their owners.
            guard let table = type.tableKey, !type.isEmbedded else { continue }
            let view = try source.table(table)
            for rowGroup in 0 ..< view.rowGroupCount {
                let rows = try view.rowGroup(rowGroup)
                for slot in 0 ..< rows.rowCount {
                    if let live = rows.liveWords, live[slot >> 6] & (1 << UInt64(slot & 63)) == 0 { continue }
                    if form == .array { written > 0 ? sink.append(",\n ") : sink.append("\n ") }
                    try write(table, ObjectKey(rows.firstKey + Int64(slot)), named: type.name, to: &sink)
                    if form == .lines { sink.append("\n") }
                    written += 1
                    try sink.flushIfFull()
                }
                openSession?.releaseMemory()
                try progress?(written)
            }
        }
        if form == .array { sink.append("\n]}\n") }
    }

    // MARK: Objects

    private mutating func write(
        _ table: TableKey, _ key: ObjectKey, named name: String? = nil, to sink: inout ByteSink
    ) throws(DatabaseError) {
        let plan = try plans.plan(table)
        let view = try source.table(table)
        let prefixes = prefixes(plan)
        path.append(ObjectLink(table: table, key: key))
        sink.append("{")
        var isFirst = true
        func separate(_ sink: inout ByteSink) {
            if !isFirst { sink.append(",") }
            isFirst = false
        }
        if let name {
            separate(&sink)
            sink.append("\"$class\":")
            JSONValueWriter.string(name, to: &sink)
        }
        if plan.primaryKey == nil, !plan.type.isEmbedded {
            separate(&sink)
            sink.append("\"$key\":")
            sink.append(try number(view, key))
        }
        for (index, field) in plan.fields.enumerated() where !prefixes[index].isEmpty {
            separate(&sink)
            prefixes[index].withUnsafeBytes { sink.append($0) }
            try write(field, view, key, to: &sink)
        }
        sink.append("}")
        path.removeLast()
    }

    private mutating func write(
        _ field: ClassPlan.Field, _ view: TableView, _ key: ObjectKey, to sink: inout ByteSink
    ) throws(DatabaseError) {
        switch field.property.collection {
        case .none: try write(try view.value(field.column, key), field, to: &sink)
        case .list, .set: try elements(view, field, key, to: &sink)
        case .map: try entries(view, field, key, to: &sink)
        }
    }

    private mutating func elements(
        _ view: TableView, _ field: ClassPlan.Field, _ key: ObjectKey, to sink: inout ByteSink
    ) throws(DatabaseError) {
        let count = try view.listCount(field.column, key)
        sink.append("[")
        var first = 0
        while first < count {
            let values = try piece(view, field, key, first)
            guard !values.isEmpty else { break }
            for (index, value) in values.enumerated() {
                if first + index > 0 { sink.append(",") }
                try write(value, field, to: &sink)
            }
            first += values.count
            try sink.flushIfFull()
        }
        sink.append("]")
    }

    private mutating func entries(
        _ view: TableView, _ field: ClassPlan.Field, _ key: ObjectKey, to sink: inout ByteSink
    ) throws(DatabaseError) {
        sink.append("{")
        for index in 0 ..< (try view.listCount(field.column, key)) {
            if index > 0 { sink.append(",") }
            JSONValueWriter.string(try view.mapKey(field.column, key, index), to: &sink)
            sink.append(":")
            try write(try view.listElement(field.column, key, index), field, to: &sink)
            try sink.flushIfFull()
        }
        sink.append("}")
    }

    /// Some elements: a long list is not looked up again for each of them.
    private func piece(
        _ view: TableView, _ field: ClassPlan.Field, _ key: ObjectKey, _ first: Int
    ) throws(DatabaseError) -> [ValueView] {
        // What an open write has changed is lent for the length of the call only; single elements live longer.
        if try session.isInWrite { return [try view.listElement(field.column, key, first)] }
        var values: [ValueView] = []
        try view.listValues(field.column, key, from: first, limit: 256) { chunk, range in
            for row in range {
                var value = chunk.view(row)
                if field.property.type == .link, !value.isNull { value.aux = field.target?.rawValue ?? 0 }
                values.append(value)
            }
        }
        return values
    }

    /// `"name":` by field; empty for what is not wanted.
    private mutating func prefixes(_ plan: ClassPlan) -> [[UInt8]] {
        if let known = prefixes[plan.table] { return known }
        let made = plan.fields.map { field in
            if path.isEmpty, !options.properties.isEmpty,
                !options.properties.contains(where: field.property.name.hasSameBytes)
            {
                return [UInt8]()
            }
            var sink = ByteSink()
            JSONValueWriter.string(field.property.name, to: &sink)
            sink.append(":")
            return sink.bytes
        }
        prefixes[plan.table] = made
        return made
    }

    // MARK: Values

    private mutating func write(
        _ view: ValueView, _ field: ClassPlan.Field, to sink: inout ByteSink
    ) throws(DatabaseError) {
        if field.property.type == .mixed { return try mixed(view, to: &sink) }
        guard view.kind == .link else { return JSONValueWriter.plain(view, to: &sink) }
        let link = view.linkValue
        if field.ownsTarget {
            guard !path.contains(link) else {
                let name = try plans.plan(link.table).type.name
                throw .corrupted("an object of the embedded class \(name) lies in itself")
            }
            return try write(link.table, link.key, to: &sink)
        }
        if options.links == .nested, path.count < options.depthLimit, !path.contains(link) {
            return try write(link.table, link.key, to: &sink)
        }
        try reference(link, to: &sink)
    }

    /// The primary key; a null one says whose it is, because null is a link to nothing.
    mutating func reference(_ link: ObjectLink, to sink: inout ByteSink) throws(DatabaseError) {
        let plan = try plans.plan(link.table)
        var isNull = false
        if let index = plan.primaryKey {
            isNull = try source.table(link.table).value(plan.fields[index].column, link.key).isNull
        }
        if isNull {
            sink.append("{\"$link\":[")
            JSONValueWriter.string(plan.type.name, to: &sink)
            sink.append(",null]}")
        } else {
            try identity(link, plan, to: &sink)
        }
    }

    /// The primary key, or the number of an object without one.
    private mutating func identity(
        _ link: ObjectLink, _ plan: ClassPlan, to sink: inout ByteSink
    ) throws(DatabaseError) {
        let view = try source.table(link.table)
        if let index = plan.primaryKey {
            return JSONValueWriter.plain(try view.value(plan.fields[index].column, link.key), to: &sink)
        }
        sink.append("{\"$key\":")
        sink.append(try number(view, link.key))
        sink.append("}")
    }

    mutating func mixed(_ view: ValueView, to sink: inout ByteSink) throws(DatabaseError) {
        switch view.kind {
        case .link:
            let link = view.linkValue
            let plan = try plans.plan(link.table)
            sink.append("{\"$link\":[")
            JSONValueWriter.string(plan.type.name, to: &sink)
            sink.append(",")
            try identity(link, plan, to: &sink)
            sink.append("]}")
        case .list:
            let document = NestedDocument(trusted: view.bytes)
            sink.append("[")
            for index in 0 ..< document.count {
                if index > 0 { sink.append(",") }
                try mixed(document.value(at: index), to: &sink)
            }
            sink.append("]")
        case .map:
            let document = NestedDocument(trusted: view.bytes)
            sink.append("{")
            for index in 0 ..< document.count {
                if index > 0 { sink.append(",") }
                JSONValueWriter.string(document.key(at: index), to: &sink)
                sink.append(":")
                try mixed(document.value(at: index), to: &sink)
            }
            sink.append("}")
        default: JSONValueWriter.mixed(view, to: &sink)
        }
    }

    private mutating func number(_ view: TableView, _ key: ObjectKey) throws(DatabaseError) -> Int64 {
        guard positions != nil else { return key.rawValue }
        if positions?[view.key] == nil { positions?[view.key] = try TablePositions(view) }
        guard let index = try positions?[view.key]?.index(of: key, view) else { return key.rawValue }
        return Int64(index)
    }
}
