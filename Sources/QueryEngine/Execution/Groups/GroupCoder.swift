/// Values of one path as codes: 0 for null, then 1, 2, 3, ... for the values as they are first seen. Groups are found
/// by the codes of their keys, and different values counted by them.
///
/// Equal values have one code: all NaN are one value, and so are 0.0 and -0.0.
import MotteColumns
import MotteSchemaModel
import MotteStorage
import MotteValues

class GroupCoder {
    /// How many codes there are, 0 aside.
    var count: Int { 0 }

    /// One for each row of the batch.
    func codes(_ batch: GroupBatch, into output: UnsafeMutablePointer<UInt32>) throws(DatabaseError) {}

    /// What `body` makes of each code, that of null left as it is.
    fileprivate final func forEachCode(_ body: (UInt32) -> UInt32) -> [UInt32] {
        var made: [UInt32] = [0]
        made.reserveCapacity(count + 1)
        for code in 0 ..< count { made.append(body(UInt32(truncatingIfNeeded: code + 1))) }
        return made
    }

    /// The value that has a code; borrowed from the coder or from the source.
    func view(_ code: UInt32) -> ValueView { .null }

    /// The codes here of all values that a coder of the same path has, by its codes; nil where it is of another kind.
    func codes(of other: GroupCoder) -> [UInt32]? { nil }

    /// Whether values of a path can be coded by parts, each with a coder of its own.
    static func canBeParts(_ path: BoundPath, _ bucket: TimeSpans?) -> Bool {
        guard path.isColumn else { return false }
        switch path.type {
        case .string, .data, .uuid, .objectID, .int, .bool, .float, .double, .link: return true
        case .timestamp: return bucket != nil
        case .decimal, .mixed, .linkingObjects: return false
        }
    }

    static func make(
        _ context: RunContext, _ table: TableKey, _ path: BoundPath, _ bucket: TimeSpans?, capacity: Int
    ) throws(DatabaseError) -> GroupCoder {
        if let first = path.steps.first {
            var rest = path
            rest.steps = []
            let target = try context.reader(path.table)
            let inner = try make(context, path.table, rest, bucket, capacity: 1)
            return try LinkedCoder(context, path.steps, first, target, inner, capacity: capacity)
        }
        let reader = try context.reader(table)
        if case .column(let column, let type, _) = path.end {
            let cursor = try reader.cursor(column)
            switch type {
            case .string, .data, .uuid, .objectID: return BytesCoder(cursor, type)
            case .int, .bool, .float, .double, .link:
                return NumberCoder(cursor, type, nil, path.targetTable, capacity: capacity)
            case .timestamp where bucket != nil:
                return NumberCoder(cursor, type, bucket, nil, capacity: capacity)
            case .timestamp, .decimal, .mixed, .linkingObjects: break
            }
        }
        return ValueCoder(try PathReader(context, table, path), bucket)
    }
}

/// What chunks keep as bytes that say all: texts, data and identifiers.
private final class BytesCoder: GroupCoder {
    private let cursor: ColumnCursor
    private let kind: ValueKind
    private let table: UnsafeMutablePointer<TextTable>

    init(_ cursor: ColumnCursor, _ type: PropertyType) {
        self.cursor = cursor
        kind = type.valueKind ?? .string
        table = .allocate(capacity: 1)
        table.initialize(to: TextTable())
    }

    deinit {
        table.pointee.deallocate()
        table.deallocate()
    }

    override var count: Int { table.pointee.count }

    override func codes(_ batch: GroupBatch, into output: UnsafeMutablePointer<UInt32>) throws(DatabaseError) {
        let chunk = try cursor.chunk(batch.rowGroup).pointee
        if chunk.hasLongTexts { for row in batch.rows { try chunk.checkLongText(Int(row)) } }
        table.pointee.codes(chunk, batch.rows, isDense: batch.isDense, into: output)
    }

    override func codes(of other: GroupCoder) -> [UInt32]? {
        guard let other = other as? BytesCoder else { return nil }
        return other.forEachCode { code in table.pointee.code(other.table.pointee.bytes(code)) }
    }

    override func view(_ code: UInt32) -> ValueView {
        if code == 0 { return .null }
        let bytes = table.pointee.bytes(code)
        switch kind {
        case .string: return .string(bytes)
        case .data: return .data(bytes)
        default:
            guard let base = bytes.baseAddress, bytes.count == kind.byteCount else { return .null }
            return ValueView(kind, bytes: base)
        }
    }
}

/// What 64 bits say all of: ints, bools, floating numbers, links, and the spans that times are in.
private final class NumberCoder: GroupCoder {
    private let cursor: ColumnCursor
    private let type: PropertyType
    private let bucket: TimeSpans?
    private let target: TableKey?
    private let table: UnsafeMutablePointer<IntTable>
    private let values: UnsafeMutablePointer<Int64>
    private let doubles: UnsafeMutablePointer<Double>
    /// The span of the time that came last, and its code: neighbours are mostly in one.
    private var last: (from: Int64, end: Int64, code: UInt32) = (0, 0, 0)

    init(_ cursor: ColumnCursor, _ type: PropertyType, _ bucket: TimeSpans?, _ target: TableKey?, capacity: Int) {
        self.cursor = cursor
        self.type = type
        self.bucket = bucket
        self.target = target
        table = .allocate(capacity: 1)
        table.initialize(to: IntTable())
        values = .allocate(capacity: capacity)
        doubles = .allocate(capacity: type == .float || type == .double ? capacity : 1)
    }

    deinit {
        table.pointee.deallocate()
        table.deallocate()
        values.deallocate()
        doubles.deallocate()
    }

    override var count: Int { table.pointee.count }

    override func codes(_ batch: GroupBatch, into output: UnsafeMutablePointer<UInt32>) throws(DatabaseError) {
        let chunk = try cursor.chunk(batch.rowGroup).pointee
        let rows = batch.rows
        switch type {
        case .bool: for index in 0 ..< rows.count { values[index] = chunk.bool(Int(rows[index])) ? 1 : 0 }
        case .float, .double:
            batch.decodeDoubles(chunk, into: doubles)
            for index in 0 ..< rows.count {
                // Adding zero turns -0.0 into 0.0.
                let value = doubles[index].isNaN ? Double.nan : doubles[index] + 0.0
                values[index] = Int64(bitPattern: value.bitPattern)
            }
        default: batch.decodeInts(chunk, into: values)
        }
        if bucket != nil {
            bucketCodes(rows.count, into: output)
        } else {
            table.pointee.codes(values, rows.count, into: output)
        }
        guard chunk.hasNulls else { return }
        for index in 0 ..< rows.count where chunk.isNull(Int(rows[index])) { output[index] = 0 }
    }

    private func bucketCodes(_ count: Int, into output: UnsafeMutablePointer<UInt32>) {
        guard let bucket else { return }
        var last = last
        for index in 0 ..< count {
            let second = values[index]
            if second < last.from || second >= last.end {
                let span = bucket.span(second)
                last = (span.from, span.end, table.pointee.code(span.start))
            }
            output[index] = last.code
        }
        self.last = last
    }

    override func codes(of other: GroupCoder) -> [UInt32]? {
        guard let other = other as? NumberCoder else { return nil }
        return other.forEachCode { code in table.pointee.code(other.table.pointee.key(code)) }
    }

    override func view(_ code: UInt32) -> ValueView {
        if code == 0 { return .null }
        let key = table.pointee.key(code)
        switch type {
        case .bool: return .bool(key != 0)
        case .float: return .float(Float(Double(bitPattern: UInt64(bitPattern: key))))
        case .double: return .double(Double(bitPattern: UInt64(bitPattern: key)))
        case .link: return .link(ObjectLink(table: target ?? TableKey(0), key: ObjectKey(key)))
        case .timestamp: return .timestamp(Timestamp(seconds: key, nanoseconds: 0))
        default: return .int(key)
        }
    }
}

/// Everything else, value by value.
private final class ValueCoder: GroupCoder {
    private let reader: PathReader
    private let bucket: TimeSpans?
    private let target: TableKey?
    private var known: [Value: UInt32] = [:]
    /// Where the bytes of values stay: views are borrowed.
    private let kept = ChunkBuilder(kind: .mixed, nullable: true, capacity: 16)

    init(_ reader: PathReader, _ bucket: TimeSpans?) {
        self.reader = reader
        self.bucket = bucket
        target = reader.path.type == .link ? reader.path.targetTable : nil
    }

    override var count: Int { known.count }

    override func codes(_ batch: GroupBatch, into output: UnsafeMutablePointer<UInt32>) throws(DatabaseError) {
        for index in 0 ..< batch.rows.count {
            output[index] = code(try reader.view(batch.firstKey &+ Int64(batch.rows[index])))
        }
    }

    private func code(_ view: ValueView) -> UInt32 {
        var view = view
        if view.isNull { return 0 }
        if let bucket, view.kind == .timestamp {
            view = .timestamp(Timestamp(seconds: bucket.span(view.intValue).start, nanoseconds: 0))
        }
        // Columns of links know the class alone.
        if let target, view.kind == .link { view.aux = target.rawValue }
        let value = view.owned
        if let code = known[value] { return code }
        let code = UInt32(truncatingIfNeeded: known.count + 1)
        known[value] = code
        kept.append(view)
        return code
    }

    override func view(_ code: UInt32) -> ValueView { code == 0 ? .null : kept.view(Int(code) - 1) }
}

/// Behind links: the code of each object that they lead to is looked up once.
private final class LinkedCoder: GroupCoder {
    private let first: ColumnCursor
    /// Of the steps behind the first.
    private let rest: [ColumnCursor]
    private let end: TableReader
    private let inner: GroupCoder
    private let links: UnsafeMutablePointer<Int64>
    /// By object key of the first target: the code + 1, or 0 where it is not known.
    private let known: UnsafeMutablePointer<UInt32>
    private let knownCount: Int
    private let row: UnsafeMutablePointer<UInt32>

    init(
        _ context: RunContext, _ steps: [PathStep], _ step: PathStep, _ end: TableReader, _ inner: GroupCoder,
        capacity: Int
    ) throws(DatabaseError) {
        first = try context.reader(step.origin).cursor(step.column)
        var rest: [ColumnCursor] = []
        for step in steps.dropFirst() { rest.append(try context.reader(step.origin).cursor(step.column)) }
        self.rest = rest
        self.end = end
        self.inner = inner
        knownCount = Int(max(0, try context.reader(step.target).nextKey))
        links = .allocate(capacity: capacity)
        row = .allocate(capacity: 1)
        row.initialize(to: 0)
        known = .allocate(capacity: max(1, knownCount))
        known.initialize(repeating: 0, count: max(1, knownCount))
    }

    deinit {
        links.deallocate()
        known.deallocate()
        row.deallocate()
    }

    override var count: Int { inner.count }
    override func view(_ code: UInt32) -> ValueView { inner.view(code) }

    override func codes(_ batch: GroupBatch, into output: UnsafeMutablePointer<UInt32>) throws(DatabaseError) {
        batch.decodeInts(try first.chunk(batch.rowGroup).pointee, into: links)
        for index in 0 ..< batch.rows.count {
            let link = links[index]
            guard link >= 0 else {
                output[index] = 0
                continue
            }
            if link < Int64(knownCount) {
                let code = known[Int(link)]
                if code != 0 {
                    output[index] = code &- 1
                    continue
                }
            }
            output[index] = try find(link)
        }
    }

    @inline(never)
    private func find(_ link: Int64) throws(DatabaseError) -> UInt32 {
        var key = link
        for step in rest where key >= 0 { key = try step.link(key) }
        var code: UInt32 = 0
        if key >= 0 {
            guard key < end.nextKey else {
                throw .corrupted("a link leads to an object of \(end.view.type.name) that never was")
            }
            let place = end.place(key)
            row.pointee = UInt32(truncatingIfNeeded: place.slot)
            let batch = GroupBatch(
                rowGroup: place.rowGroup, firstKey: key - Int64(place.slot), rows: Slots(start: row, count: 1),
                isDense: false)
            try withUnsafeMutablePointer(to: &code) { code throws(DatabaseError) in
                try inner.codes(batch, into: code)
            }
        }
        if link < Int64(knownCount) { known[Int(link)] = code + 1 }
        return code
    }
}
