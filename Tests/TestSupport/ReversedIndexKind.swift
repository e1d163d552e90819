// A kind of index that the product does not have, as one would be added: this file, and `register` in its tests.
//
// It holds texts read backwards and ints, in order, one page an entry, of one or several properties or of the elements
// of a collection: what ends in something is a range. A parameter byte of 1 makes it unique.
//
//     page key    0x07 | index u32 | of each column: 0, or 1 and its bytes with 0 as 0 255, then 0 0 | object key u64
//     value       how often the entry is there, u32
//
// Of more than `longest` bytes the rest is cut off, and whoever asks looks at the rows.
import MottePages
import MotteSchemaModel
import MotteStorage
import MotteValues

package struct ReversedIndexKind: IndexKind {
    package let name = "reversed"
    package static let unique: [UInt8] = [1]

    package init() {}

    package func check(_ index: IndexDeclaration, of type: ObjectType) throws(DatabaseError) {
        for name in index.properties {
            let property = try type.requiredProperty(named: name)
            guard property.type == .string || property.type == .int else {
                throw DatabaseError(
                    .schemaInvalid, "a reversed index holds strings and ints, \(type.name).\(name) is neither",
                    className: type.name, propertyName: name)
            }
        }
        guard index.parameters.isEmpty || index.parameters == Self.unique else {
            throw DatabaseError(.schemaInvalid, "a reversed index is unique (1) or not", className: type.name)
        }
    }

    package func capabilities(of index: TableIndex) -> IndexCapabilities {
        var capabilities: IndexCapabilities = [.equality, .order, .count]
        if index.parameters == Self.unique { capabilities.insert(.unique) }
        if index.collection != nil { capabilities.insert(.several) }
        return capabilities
    }

    package func makeReader(of index: TableIndex, pages: PageSnapshot) -> any IndexReading {
        ReversedReader(index.key, pages)
    }

    package func makeWriter(of index: TableIndex, in context: IndexWriteContext) -> any IndexWriting {
        ReversedWriter(index, ReversedReader(index.key, context.pages))
    }

    package func answers(
        of index: TableIndex, _ reader: (any IndexReading)?, pending: (any IndexWriting)?
    ) -> any IndexAnswering {
        ReversedAnswers(
            columnCount: index.columns.count, reader: reader as? ReversedReader, writer: pending as? ReversedWriter)
    }

    package func makeCheck(of index: TableIndex) -> any IndexChecking {
        ReversedCheck(columnCount: index.columns.count)
    }
}

struct ReversedEntry: Hashable, Comparable {
    let bytes: [UInt8]
    let key: Int64

    static func < (left: ReversedEntry, right: ReversedEntry) -> Bool {
        left.bytes == right.bytes ? left.key < right.key : left.bytes.lexicographicallyPrecedes(right.bytes)
    }
}

enum ReversedBytes {
    static let longest = 60

    /// Of the first of `values`; nothing closes the last where `isOpen`.
    static func of(_ values: [ValueView], isOpen: Bool = false) -> [UInt8] {
        var bytes: [UInt8] = []
        for (position, value) in values.enumerated() {
            let isOpen = isOpen && position == values.count - 1
            if value.isNull {
                bytes.append(0)
                continue
            }
            bytes.append(1)
            let raw: [UInt8] =
                value.kind == .int
                ? withUnsafeBytes(of: (UInt64(bitPattern: value.intValue) ^ 1 << 63).bigEndian) { Array($0) }
                : value.bytes.reversed()
            for byte in raw { bytes += byte == 0 ? [0, 255] : [byte] }
            if !isOpen { bytes += [0, 0] }
        }
        return Array(bytes.prefix(longest))
    }

    static func entries(_ rows: IndexedRows, columnCount: Int) -> [ReversedEntry] {
        (0 ..< rows.count).filter { rows.isLive($0) }.map { row in
            ReversedEntry(bytes: of((0 ..< columnCount).map { rows.value($0, row) }), key: rows.key(row))
        }
    }
}

// MARK: - Reading

final class ReversedReader: IndexReading {
    private let prefix: [UInt8]
    private var pages: PageSnapshot

    init(_ index: IndexKey, _ pages: PageSnapshot) {
        prefix = IndexSpace.everything(of: index)[0]
        self.pages = pages
    }

    func advance(to pages: PageSnapshot) { self.pages = pages }

    /// All entries whose bytes begin so, in order.
    func entries(beginningWith bytes: [UInt8] = []) throws(DatabaseError) -> [(entry: ReversedEntry, count: Int)] {
        var found: [(ReversedEntry, Int)] = []
        let cursor = try pages.makeCursor()
        let start = prefix + bytes
        var isThere = try cursor.seek(start)
        while isThere, cursor.key.starts(with: start) {
            let key = [UInt8](cursor.key)
            let value = [UInt8](cursor.value.bytes)
            guard key.count >= prefix.count + 8, value.count == 4 else {
                throw .corrupted("an entry of a reversed index has a wrong size")
            }
            let object = key.suffix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
            found.append(
                (
                    ReversedEntry(bytes: Array(key[prefix.count ..< key.count - 8]), key: Int64(bitPattern: object)),
                    Int(value.reduce(UInt32(0)) { $0 << 8 | UInt32($1) })
                ))
            isThere = try cursor.next()
        }
        return found
    }

    func pageKey(_ entry: ReversedEntry) -> [UInt8] {
        prefix + entry.bytes + withUnsafeBytes(of: UInt64(bitPattern: entry.key).bigEndian) { Array($0) }
    }
}

struct ReversedAnswers: IndexAnswering {
    let columnCount: Int
    let reader: ReversedReader?
    let writer: ReversedWriter?

    private func entries(beginningWith bytes: [UInt8]) throws(DatabaseError) -> [ReversedEntry] {
        var counts: [ReversedEntry: Int] = writer?.net.filter { $0.key.bytes.starts(with: bytes) } ?? [:]
        for (entry, count) in try reader?.entries(beginningWith: bytes) ?? [] { counts[entry, default: 0] += count }
        return counts.keys.sorted().flatMap { Array(repeating: $0, count: max(0, counts[$0] ?? 0)) }
    }

    /// What the entries in question begin with; nil where the index does not answer.
    private func bytes(_ question: IndexQuestion) -> [UInt8]? {
        func encoded(_ values: [Value], isOpen: Bool = false) -> [UInt8] {
            var views: [[UInt8]] = []
            for (position, value) in values.enumerated() {
                views.append(
                    value.withView { ReversedBytes.of([$0], isOpen: isOpen && position == values.count - 1) })
            }
            return Array(views.joined().prefix(ReversedBytes.longest))
        }
        switch question {
        case .all: return []
        case .equal(let values): return encoded(values)
        case .own("suffix", let values): return encoded(values, isOpen: true)
        case .own, .range, .prefix: return nil
        }
    }

    func entryCount() throws(DatabaseError) -> Int { try entries(beginningWith: []).count }

    func estimate(_ question: IndexQuestion, most: Int) throws(DatabaseError) -> IndexEstimate? {
        guard let bytes = bytes(question) else { return nil }
        let count = try entries(beginningWith: bytes).count
        return IndexEstimate(rows: count, isCounted: true, isExact: bytes.count < ReversedBytes.longest)
    }

    func keys(
        _ question: IndexQuestion, order: IndexOrder, limit: Int, into keys: inout [Int64]
    ) throws(DatabaseError) {
        guard let bytes = bytes(question) else { throw DatabaseError(.internal, "not a question for this index") }
        var found = try entries(beginningWith: bytes)
        switch order {
        case .byKey: found.sort { $0.key < $1.key }
        case .ascending: break
        case .descending: found.sort { $0.bytes == $1.bytes ? $0.key < $1.key : $1 < $0 }
        }
        keys += found.prefix(limit).map(\.key)
    }
}

// MARK: - Writing

final class ReversedWriter: IndexWriting {
    private enum Change {
        case added([ReversedEntry])
        case removed([ReversedEntry])
        case cleared
    }

    private let index: TableIndex
    private let reader: ReversedReader
    private var changes: [Change] = []
    /// By entry, what has come less what has gone.
    private(set) var net: [ReversedEntry: Int] = [:]

    init(_ index: TableIndex, _ reader: ReversedReader) {
        self.index = index
        self.reader = reader
    }

    var isCleared: Bool { changes.contains { if case .cleared = $0 { true } else { false } } }
    var isEmpty: Bool { net.isEmpty && !isCleared }

    func checkPostponed() throws(DatabaseError) {}
    func forgetPostponed() {}
    /// The reader looks at pages while it answers only.
    func forgetPlaces() {}

    func check(adding rows: IndexedRows, isPostponed: Bool) throws(DatabaseError) {
        guard index.parameters == ReversedIndexKind.unique else { return }
        var own: [[UInt8]: Int64] = [:]
        let answers = ReversedAnswers(
            columnCount: index.columns.count, reader: isCleared ? nil : reader, writer: self)
        for entry in ReversedBytes.entries(rows, columnCount: index.columns.count) {
            var holders: [Int64] = []
            let values = (0 ..< index.columns.count).map { rows.value($0, Int(entry.key - rows.key(0))).owned }
            try answers.keys(.equal(values), order: .byKey, limit: .max, into: &holders)
            if let other = own.updateValue(entry.key, forKey: entry.bytes) { holders.append(other) }
            if let other = holders.first(where: { $0 != entry.key }) {
                throw DatabaseError(
                    .duplicatePrimaryKey, "object \(other) has the values of \(entry.key) in the unique \(index.text)")
            }
        }
    }

    func add(_ rows: IndexedRows) {
        let entries = ReversedBytes.entries(rows, columnCount: index.columns.count)
        changes.append(.added(entries))
        count(entries, 1)
    }

    func remove(_ rows: IndexedRows) {
        let entries = ReversedBytes.entries(rows, columnCount: index.columns.count)
        changes.append(.removed(entries))
        count(entries, -1)
    }

    func clear() {
        changes.append(.cleared)
        net = [:]
    }

    private func count(_ entries: [ReversedEntry], _ step: Int) {
        for entry in entries {
            let count = net[entry, default: 0] + step
            net[entry] = count == 0 ? nil : count
        }
    }

    var mark: Int { changes.count }

    func rollBack(to mark: Int) {
        let kept = changes.prefix(mark)
        changes = []
        net = [:]
        for change in kept {
            changes.append(change)
            switch change {
            case .added(let entries): count(entries, 1)
            case .removed(let entries): count(entries, -1)
            case .cleared: net = [:]
            }
        }
    }

    func encode(over pages: PageSnapshot, into batch: inout PageBatch) throws(DatabaseError) {
        let isCleared = isCleared
        for (entry, change) in net {
            let key = reader.pageKey(entry)
            var count = change
            if !isCleared, let stored = try pages.get(key) {
                count += Int(stored.bytes.reduce(UInt32(0)) { $0 << 8 | UInt32($1) })
            }
            if count <= 0 {
                batch.delete(key)
            } else {
                batch.put(key, withUnsafeBytes(of: UInt32(count).bigEndian) { Array($0) })
            }
        }
    }

    func checkInvariants() throws(DatabaseError) {
        if net.values.contains(0) { throw DatabaseError(.internal, "an entry that is as it was is still noted") }
    }
}

// MARK: - Verification

final class ReversedCheck: IndexChecking {
    private let columnCount: Int
    private var wanted: [ReversedEntry: Int] = [:]

    init(columnCount: Int) { self.columnCount = columnCount }

    func add(_ rows: IndexedRows) {
        for entry in ReversedBytes.entries(rows, columnCount: columnCount) { wanted[entry, default: 0] += 1 }
    }

    func finish(_ reader: any IndexReading, _ letGo: () -> Void) throws(DatabaseError) -> IndexFindings? {
        var findings = IndexFindings()
        guard let reader = reader as? ReversedReader else { return findings }
        for (entry, count) in try reader.entries() {
            findings.entries += count
            let expected = wanted.removeValue(forKey: entry) ?? 0
            for _ in 0 ..< max(0, count - expected) { findings.hasTooMuch(entry.key) }
            for _ in 0 ..< max(0, expected - count) { findings.lacks(entry.key) }
        }
        for (entry, count) in wanted { for _ in 0 ..< count { findings.lacks(entry.key) } }
        return findings
    }
}
