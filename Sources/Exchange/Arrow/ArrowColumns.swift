/// Columns of rows: single values, collections, and embedded objects with columns of their own.
import MotteColumns
import MotteLiveObjects
import MotteSchemaModel
import MotteStorage
import MotteValues

/// Rows of one row group: neighbours from `first` on, or at places of `RowRuns.slots` from `slots` on; without a row
/// group, elements that are null.
struct RowRun {
    let rowGroup: Int
    let first: Int
    let count: Int
    var slots = -1
    static let nulls = -1
}

struct RowRuns {
    var runs: [RowRun] = []
    var slots: [UInt32] = []
}

/// Finds rows by their keys.
struct RowFinder {
    private let view: TableView
    private var rowGroup = -1
    private var firstKey: Int64 = 0
    private var rowCount: Int64 = 0
    private var live: [UInt64]?

    init(_ view: TableView) { self.view = view }

    /// Negative keys are nulls; one that is not live is `.objectDeleted`.
    mutating func runs(_ keys: UnsafeBufferPointer<Int64>) throws(DatabaseError) -> RowRuns {
        var found = RowRuns()
        var position = 0
        while position < keys.count {
            guard keys[position] >= 0 else {
                var length = 1
                while position + length < keys.count, keys[position + length] < 0 { length += 1 }
                found.runs.append(RowRun(rowGroup: RowRun.nulls, first: 0, count: length))
                position += length
                continue
            }
            let slot = try seek(keys[position])
            let neighbours = neighbours(keys, position, slot)
            if neighbours >= Self.shortRun || position + neighbours == keys.count {
                found.runs.append(RowRun(rowGroup: rowGroup, first: slot, count: neighbours))
                position += neighbours
                continue
            }
            let first = found.slots.count
            position = scatter(keys, position, &found.slots)
            found.runs.append(
                RowRun(rowGroup: rowGroup, first: 0, count: found.slots.count - first, slots: first))
        }
        return found
    }

    /// Neighbours that are worth a call of their own.
    private static let shortRun = 32

    /// How many keys from a position on are the next rows of the same row group.
    @inline(__always)
    private func neighbours(_ keys: UnsafeBufferPointer<Int64>, _ position: Int, _ slot: Int) -> Int {
        var length = 1
        let most = min(keys.count &- position, Int(rowCount) &- slot)
        while length < most, keys[position &+ length] == keys[position] &+ Int64(length), isLive(slot &+ length) {
            length &+= 1
        }
        return length
    }

    /// The rows of the present row group from a position on, up to a long run of neighbours; where they end.
    private func scatter(
        _ keys: UnsafeBufferPointer<Int64>, _ start: Int, _ slots: inout [UInt32]
    ) -> Int {
        var position = start
        var together = 1
        while position < keys.count {
            let offset = keys[position] &- firstKey
            guard offset >= 0, offset < rowCount, isLive(Int(offset)) else { break }
            together = position > start && keys[position] == keys[position &- 1] &+ 1 ? together &+ 1 : 1
            if together == Self.shortRun, position &- start >= Self.shortRun {
                slots.removeLast(Self.shortRun &- 1)
                return position &- Self.shortRun &+ 1
            }
            slots.append(UInt32(truncatingIfNeeded: offset))
            position &+= 1
        }
        return position
    }

    private mutating func seek(_ key: Int64) throws(DatabaseError) -> Int {
        let offset = key - firstKey
        if rowGroup >= 0, offset >= 0, offset < rowCount, isLive(Int(offset)) { return Int(offset) }
        guard let place = try view.locate(ObjectKey(key)) else {
            throw DatabaseError(
                .objectDeleted,
                "an element of this snapshot has been deleted; take a new one, or read elements one by "
                    + "one", className: view.type.name)
        }
        let rows = try view.rowGroup(place.rowGroup)
        rowGroup = place.rowGroup
        firstKey = rows.firstKey
        rowCount = Int64(rows.rowCount)
        live = rows.liveWords
        return place.slot
    }

    @inline(__always)
    private func isLive(_ slot: Int) -> Bool {
        guard let live else { return true }
        return live[slot >> 6] & (1 << UInt64(slot & 63)) != 0
    }
}

/// One property of the rows of a class.
final class ArrowProperty {
    let field: ArrowField
    private let view: TableView
    private let slot: Int
    private let values: ArrowValues
    private let collection: ArrowCollection?
    private var known: (rowGroup: Int, chunk: ColumnChunk)?

    init(_ property: Property, _ view: TableView, _ maker: ArrowMaker) throws(DatabaseError) {
        guard let column = property.columnKey else {
            throw DatabaseError(
                .wrongType, "'\(property.name)' of \(view.type.name) is an inverse, which has no column",
                className: view.type.name, propertyName: property.name)
        }
        self.view = view
        slot = try view.layout.slot(column)
        if property.collection == .none {
            (field, values) = try maker.values(property, named: property.name)
            collection = nil
        } else {
            let made = try ArrowCollection(property, column, view, maker)
            collection = made
            field = made.field
            values = made
        }
    }

    func append(_ found: RowRuns) throws(DatabaseError) {
        for run in found.runs {
            guard run.rowGroup >= 0 else {
                try values.appendNulls(run.count)
                continue
            }
            let rows = run.first ..< run.first + run.count
            if let collection {
                guard run.slots >= 0 else {
                    try collection.append(rowGroup: run.rowGroup, rows)
                    continue
                }
                for slot in found.slots[run.slots ..< run.slots + run.count] {
                    try collection.append(rowGroup: run.rowGroup, Int(slot) ..< Int(slot) + 1)
                }
                continue
            }
            if known?.rowGroup != run.rowGroup { known = (run.rowGroup, try view.chunk(slot: slot, run.rowGroup)) }
            guard let known else { continue }
            if run.slots < 0 {
                try values.append(known.chunk, rows)
            } else {
                try found.slots.withUnsafeBufferPointer { slots throws(DatabaseError) in
                    try values.append(
                        known.chunk, Slots(rebasing: slots[run.slots ..< run.slots + run.count]))
                }
            }
        }
    }

    func finish() throws(DatabaseError) -> ArrowData { try values.finish() }
}

/// Lists, sets and maps: where each begins, and the elements of all.
final class ArrowCollection: ArrowValues {
    let field: ArrowField
    private let view: TableView
    private let column: ColumnKey
    private let slot: Int
    private let keyColumn: ColumnKey?
    private let elements: ArrowValues
    private let keys: ArrowTexts?
    private var offsets = ArrowBuffer()
    /// In a write, what it has changed lies elsewhere than in chunks.
    private let isRowByRow: Bool
    private let limit: ArrowLimit

    init(
        _ property: Property, _ column: ColumnKey, _ view: TableView, _ maker: ArrowMaker
    ) throws(DatabaseError) {
        self.view = view
        self.column = column
        slot = try view.layout.slot(column)
        isRowByRow = maker.isInWrite
        limit = maker.limit
        var element = property
        element.collection = .none
        let made = try maker.values(element, named: property.collection == .map ? "value" : "item")
        elements = made.values
        guard property.collection == .map else {
            keyColumn = nil
            keys = nil
            let isSet = property.collection == .set
            field = ArrowField(
                property.name, "+l", isNullable: false, children: [made.field],
                metadata: isSet ? [(ArrowField.typeKey, "set")] : [])
            super.init()
            return
        }
        guard let keyColumn = view.layout.columns[slot].keyColumn else {
            throw DatabaseError(.internal, "the map \(property.name) has no keys")
        }
        self.keyColumn = keyColumn
        keys = ArrowTexts(limit)
        let entry = ArrowField(
            "entries", "+s", isNullable: false, children: [ArrowField("key", "u", isNullable: false), made.field])
        field = ArrowField(property.name, "+m", isNullable: false, children: [entry])
        super.init()
    }

    func append(rowGroup: Int, _ rows: Range<Int>) throws(DatabaseError) {
        if offsets.count == 0 { try offsets.append(Int32(0)) }
        guard !isRowByRow else { return try appendEach(rowGroup, rows) }
        let chunk = try view.listChunk(slot: slot, rowGroup)
        var isInPlace = true
        for row in rows where chunk.isExternal(row) { isInPlace = false }
        guard isInPlace, rows.count > 0 else { return try appendEach(rowGroup, rows) }
        let range = chunk.range(rows.lowerBound).lowerBound ..< chunk.range(rows.upperBound - 1).upperBound
        let first = elements.count
        try limit.check(first, range.count)
        if !range.isEmpty { try elements.append(chunk.elements, range) }
        if let keyColumn, let keys, !range.isEmpty {
            // In step with the values.
            try keys.append(try view.listChunk(keyColumn, rowGroup).elements, range)
        }
        let ends = try offsets.reserve(rows.count, of: Int32.self)
        for (index, row) in rows.enumerated() {
            ends[index] = Int32(truncatingIfNeeded: first + chunk.range(row).upperBound - range.lowerBound)
        }
        offsets.count += rows.count * 4
        try appendPresent(rows.count)
    }

    private func appendEach(_ rowGroup: Int, _ rows: Range<Int>) throws(DatabaseError) {
        let firstKey = try view.rowGroup(rowGroup).firstKey
        for row in rows {
            let key = ObjectKey(firstKey + Int64(row))
            try view.listValues(column, key) { (chunk, range) throws(DatabaseError) in
                try elements.append(chunk, range)
            }
            if let keyColumn, let keys {
                try view.listValues(keyColumn, key) { (chunk, range) throws(DatabaseError) in
                    try keys.append(chunk, range)
                }
            }
            try limit.check(elements.count, 0)
            try offsets.append(Int32(truncatingIfNeeded: elements.count))
            try appendPresent(1)
        }
    }

    /// Of embedded objects that are null themselves.
    override func appendNulls(_ count: Int) throws(DatabaseError) {
        if offsets.count == 0 { try offsets.append(Int32(0)) }
        for _ in 0 ..< count { try offsets.append(Int32(truncatingIfNeeded: elements.count)) }
        try super.appendNulls(count)
    }

    override func takeBuffers() throws(DatabaseError) -> ([ArrowBuffer], [ArrowData]) {
        if offsets.count == 0 { try offsets.append(Int32(0)) }
        guard let keys else { return ([swap(&offsets)], [try elements.finish()]) }
        let count = elements.count
        let entries = ArrowData(
            length: count, nullCount: 0, buffers: [ArrowBuffer()], children: [try keys.finish(), try elements.finish()])
        return ([swap(&offsets)], [entries])
    }
}

/// Embedded objects: a struct, with their properties as its fields.
final class ArrowEmbedded: ArrowValues {
    let fields: [ArrowField]
    private let properties: [ArrowProperty]
    private var finder: RowFinder

    init(_ type: ObjectType, _ view: TableView, _ maker: ArrowMaker) throws(DatabaseError) {
        var properties: [ArrowProperty] = []
        for property in type.storedProperties { properties.append(try ArrowProperty(property, view, maker)) }
        self.properties = properties
        fields = properties.map(\.field)
        finder = RowFinder(view)
    }

    /// `chunk` has their keys.
    override func append(_ chunk: ColumnChunk, _ rows: Range<Int>) throws(DatabaseError) {
        let keys = UnsafeMutableBufferPointer<Int64>.allocate(capacity: rows.count)
        defer { keys.deallocate() }
        if let start = keys.baseAddress { chunk.decodeLinks(rows, into: start) }
        try append(UnsafeBufferPointer(keys))
        try super.append(chunk, rows)
    }

    override func append(_ chunk: ColumnChunk, _ slots: Slots) throws(DatabaseError) {
        let keys = UnsafeMutableBufferPointer<Int64>.allocate(capacity: slots.count)
        defer { keys.deallocate() }
        if let start = keys.baseAddress { chunk.decodeInts(slots, into: start) }
        try append(UnsafeBufferPointer(keys))
        try super.append(chunk, slots)
    }

    private func append(_ keys: UnsafeBufferPointer<Int64>) throws(DatabaseError) {
        let runs = try finder.runs(keys)
        for property in properties { try property.append(runs) }
    }

    override func append(_ value: ValueView) throws(DatabaseError) {
        var key: Int64 = value.kind == .link ? value.intValue : -1
        try withUnsafePointer(to: &key) { key throws(DatabaseError) in
            try append(UnsafeBufferPointer(start: key, count: 1))
        }
        try super.append(value)
    }

    override func appendNulls(_ count: Int) throws(DatabaseError) {
        let runs = RowRuns(runs: [RowRun(rowGroup: RowRun.nulls, first: 0, count: count)])
        for property in properties { try property.append(runs) }
        try super.appendNulls(count)
    }

    override func takeBuffers() throws(DatabaseError) -> ([ArrowBuffer], [ArrowData]) {
        var children: [ArrowData] = []
        for property in properties { children.append(try property.finish()) }
        return ([], children)
    }
}

/// Makes what takes the values of a property, by its type.
final class ArrowMaker {
    let source: RowSource
    let isInWrite: Bool
    let limit = ArrowLimit()
    private let options: ArrowExport.Options
    private let json: JSONWriter
    /// Embedded classes that are being described, outermost first.
    private var path: [String] = []

    init(_ source: RowSource, isInWrite: Bool, _ options: ArrowExport.Options) {
        self.source = source
        self.isInWrite = isInWrite
        self.options = options
        json = JSONWriter(source)
    }

    /// Mixed values as JSON; kept by closures.
    private final class JSONWriter {
        private var export: JSONExport
        init(_ source: RowSource) { export = JSONExport(source) }
        func write(_ view: ValueView, to sink: inout ByteSink) throws(DatabaseError) {
            try export.mixed(view, to: &sink)
        }
    }

    func values(
        _ property: Property, named name: String
    ) throws(DatabaseError) -> (field: ArrowField, values: ArrowValues) {
        let isNullable = property.isNullable
        func field(_ format: String, _ type: String? = nil) -> ArrowField {
            ArrowField(
                name, format, isNullable: isNullable, metadata: type.map { [(ArrowField.typeKey, $0)] } ?? [])
        }
        switch property.type {
        case .bool: return (field("b"), ArrowBools())
        case .int:
            let format =
                switch property.width {
                case .bits8: "c"
                case .bits16: "s"
                case .bits32: "i"
                case .bits64: "l"
                }
            return (field(format), ArrowNumbers(.ints(property.width), name: property.name))
        case .float: return (field("f"), ArrowNumbers(.float, name: property.name))
        case .double: return (field("g"), ArrowNumbers(.double, name: property.name))
        case .string:
            return options.textViews ? (field("vu"), ArrowTextViews(limit)) : (field("u"), ArrowTexts(limit))
        case .data: return (field("z"), ArrowTexts(limit))
        case .timestamp:
            let letter =
                switch options.unitsPerSecond {
                case 1: "s"
                case 1_000: "m"
                case 1_000_000: "u"
                default: "n"
                }
            let form = ArrowNumbers.Form.times(unitsPerSecond: options.unitsPerSecond)
            return (field("ts\(letter):UTC"), ArrowNumbers(form, name: property.name))
        case .uuid:
            var made = field("w:16")
            made.metadata = [("ARROW:extension:name", "arrow.uuid"), ("ARROW:extension:metadata", "")]
            return (made, ArrowFixed(width: 16))
        case .objectID: return (field("w:12", "objectId"), ArrowFixed(width: 12))
        case .decimal:
            let values = ArrowWritten(limit) { (view, sink) throws(DatabaseError) in
                sink.append(text: DecimalText.text(view.decimalValue))
            }
            return (field("u", "decimal"), values)
        case .mixed:
            var made = field("u", "mixed")
            made.isNullable = true
            let json = json
            let values = ArrowWritten(limit) { (view, sink) throws(DatabaseError) in try json.write(view, to: &sink) }
            return (made, values)
        case .link: return try linked(property, named: name)
        case .linkingObjects:
            throw DatabaseError(
                .wrongType, "'\(property.name)' is an inverse, which has no column", propertyName: property.name)
        }
    }

    private func linked(
        _ property: Property, named name: String
    ) throws(DatabaseError) -> (field: ArrowField, values: ArrowValues) {
        guard let target = property.target, let type = source.schema[target], let table = type.tableKey else {
            throw DatabaseError(.internal, "the link \(property.name) has no class")
        }
        // Links are null where there is no object, whatever the property says.
        guard type.isEmbedded else {
            let field = ArrowField(name, "l", metadata: [(ArrowField.typeKey, "link:\(type.name)")])
            return (field, ArrowNumbers(.links, name: property.name))
        }
        guard !path.contains(where: type.name.hasSameBytes) else {
            throw DatabaseError(
                .unsupported,
                "'\(property.name)' holds objects of \(type.name) in objects of \(type.name), which no "
                    + "Arrow type has; name the other columns", className: type.name, propertyName: property.name)
        }
        path.append(type.name)
        defer { path.removeLast() }
        let values = try ArrowEmbedded(type, try source.table(table), self)
        return (ArrowField(name, "+s", children: values.fields), values)
    }
}
