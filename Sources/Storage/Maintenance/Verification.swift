/// Everything in a file looked at and compared with everything else: schema, states, live rows, chunks, lists, links,
/// indexes, change log, and that no page belongs to nothing. What is wrong is said in sentences, and the walk goes on.
///
/// Each page of a file is checked first. Beside pages, memory is needed for values that are kept outside of chunks,
/// whose places are compared, and of an index that is wrong for the entries that may be (`EntryBalance`).
import MotteColumns
import MottePages
import MotteSchemaModel
import MotteValues

package struct VerificationReport: Sendable {
    /// Sentences, in the order of the walk; empty when all is well.
    package internal(set) var problems: [String] = []
    /// What is worth knowing of a sound file: that a power cut took a commit.
    package internal(set) var notes: [String] = []
    /// Further problems that were counted and not kept.
    package internal(set) var moreProblems = 0
    package internal(set) var classes = 0
    package internal(set) var objects = 0
    package internal(set) var chunks = 0
    package internal(set) var indexEntries = 0
    package internal(set) var logRecords = 0

    package var isSound: Bool { problems.isEmpty }

    package var text: String {
        let sum =
            "\(classes) classes, \(objects) objects, \(chunks) chunks, \(indexEntries) index entries, "
            + "\(logRecords) log records"
        guard !isSound else { return (["sound: " + sum] + notes).joined(separator: "\n") }
        let more = moreProblems > 0 ? ["and \(moreProblems) more"] : []
        return ([String(problems.count + moreProblems) + " problems in " + sum] + problems + more + notes)
            .joined(separator: "\n")
    }
}

extension Snapshot {
    package func verify(
        limit: Int = 200, progress: MaintenanceProgressHandler? = nil
    ) throws(DatabaseError) -> VerificationReport {
        var walk = VerificationWalk(self, limit: limit, progress: progress)
        walk.run()
        if let stopped = walk.stopped { throw stopped }
        return walk.report
    }
}

struct VerificationWalk {
    let source: Snapshot
    let limit: Int
    private(set) var progress: MaintenanceProgressHandler?
    var report = VerificationReport()
    /// What the progress handler threw: no problem of the file, and the end of the walk.
    private(set) var stopped: DatabaseError?
    private var done = 0
    private var total = 0

    init(_ source: Snapshot, limit: Int, progress: MaintenanceProgressHandler?) {
        // A copy: what was checked before must not be taken as checked.
        self.source = source.copy()
        self.limit = limit
        self.progress = progress
    }

    mutating func run() {
        if let passed = source.pages.passedOver {
            if passed.isDamage { note(passed.description) } else { report.notes.append(passed.description) }
        }
        attempt("the pages") { (walk) throws(DatabaseError) in
            for problem in try walk.source.pages.pageProblems() { walk.note(problem.description) }
        }
        checkHeader()
        checkSchema()
        total = Self.partsOfAStep * (source.catalog.tables.reduce(0) { $0 + $1.columns.count } + 2)
        for table in source.catalog.tables where stopped == nil {
            report.classes += 1
            attempt("class \(table.name)") { (walk) throws(DatabaseError) in try walk.check(table) }
        }
        guard stopped == nil else { return }
        checkLog()
        checkReplication()
        step()
        guard stopped == nil else { return }
        attempt("the pages") { (walk) throws(DatabaseError) in
            for problem in try walk.source.strayPages() { walk.note(problem) }
        }
        // Columns of a class that could not be read at all were not counted.
        tell(total)
    }

    mutating func note(_ problem: String) {
        if report.problems.count < limit { report.problems.append(problem) } else { report.moreProblems += 1 }
    }

    /// An error of `body` becomes a problem.
    mutating func attempt(_ what: String, _ body: (inout Self) throws(DatabaseError) -> Void) {
        do throws(DatabaseError) { try body(&self) } catch { note("\(what): \(error.damage)") }
    }

    private mutating func step() {
        done += Self.partsOfAStep
        tell(done)
    }

    /// Columns are steps, and their row groups parts of one.
    private static let partsOfAStep = 1_000

    private mutating func tell(_ done: Int) {
        guard stopped == nil else { return }
        do throws(DatabaseError) {
            try progress?(MaintenanceProgress(done: done, total: total))
        } catch {
            stopped = error
        }
    }

    // MARK: The file as a whole

    private mutating func checkHeader() {
        attempt("the header") { (walk) throws(DatabaseError) in
            guard let record = try walk.source.pages.get(FileHeader.key) else {
                return walk.note("the header is missing")
            }
            let header = try FileHeader(decoding: record.bytes, path: "")
            if header.version != walk.source.version {
                walk.note("the header says version \(header.version.rawValue), not \(walk.source.version.rawValue)")
            }
        }
    }

    private mutating func checkSchema() {
        attempt("the schema") { (walk) throws(DatabaseError) in
            if let record = try walk.source.pages.get(PageKeys.catalog) { _ = try Catalog.decode(record.bytes) }
            _ = try walk.source.schema.validated()
            var indexes: Set<IndexKey> = []
            for table in walk.source.catalog.tables {
                for index in walk.source.catalog.indexes(of: table.key) where !indexes.insert(index.key).inserted {
                    walk.note("the \(index.text) of \(table.name) has the number of another index")
                }
                for column in table.columns {
                    if let target = column.target, walk.source.catalog.table(target) == nil {
                        walk.note("\(table.name).\(column.name) links to a class that is not there")
                    }
                }
            }
        }
    }

    private mutating func checkLog() {
        attempt("the change log") { (walk) throws(DatabaseError) in
            let pages = walk.source.pages
            guard let oldest = try HistoryLog.oldestVersion(in: pages) else {
                // A copy has none before its first commit.
                return
            }
            // The empty file has no commit to report.
            guard oldest.rawValue > 0 else { return walk.note("the change log has a record of version 0") }
            let from = Version(oldest.rawValue - 1)
            guard let records = try HistoryLog.records(from: from, to: pages.version, snapshot: pages) else {
                return walk.note("the change log has a gap between \(oldest.rawValue) and \(pages.version.rawValue)")
            }
            walk.report.logRecords = records.count
        }
    }

    // MARK: One class

    private mutating func check(_ table: StoredTable) throws(DatabaseError) {
        let view = try source.table(table.key)
        report.objects += view.liveCount
        try checkLiveRows(view)
        if table.isEmbedded { try checkOwners(view) }
        for (slot, column) in table.columns.enumerated() {
            let name = "\(table.name).\(column.name)"
            var entries = RowEntries(column)
            checkRows(view, slot, name, &entries)
            guard stopped == nil else { return }
            if !settle(&entries, name) {
                // What else is wrong with the rows has been said.
                var again = self
                again.progress = nil
                again.checkRows(view, slot, name, &entries)
                _ = settle(&entries, name)
            }
            attempt(name) { (walk) throws(DatabaseError) in
                try walk.checkReach(view, column)
                try walk.checkLongValues(view, column, entries)
            }
            step()
            guard stopped == nil else { return }
        }
        for index in view.layout.declaredIndexes {
            attempt("the \(index.text) of \(table.name)") { (walk) throws(DatabaseError) in
                try walk.check(index, view)
            }
        }
    }

    private mutating func checkRows(_ view: TableView, _ slot: Int, _ name: String, _ entries: inout RowEntries) {
        for rowGroup in 0 ..< view.rowGroupCount {
            // What was found of the ones before is not used again.
            letGo()
            if rowGroup & 0xFF == 0xFF {
                tell(done + rowGroup * Self.partsOfAStep / view.rowGroupCount)
                guard stopped == nil else { return }
            }
            attempt("\(name), objects from \(view.directory.firstKey(rowGroup))") { (walk) throws(DatabaseError) in
                try walk.check(view, slot, rowGroup, &entries)
            }
        }
    }

    func letGo() { if source.isMemoryWanted { source.releaseMemory() } }

    // MARK: Indexes

    /// False where rows are to come once more.
    private mutating func settle(_ entries: inout RowEntries, _ name: String) -> Bool {
        entries.settle { index, rows, what in
            var isUnclear = false
            attempt("the \(what) of \(name)") { (walk) throws(DatabaseError) in
                isUnclear = try !walk.finish(rows, walk.source.reader(index), "\(what) of \(name)")
            }
            return isUnclear
        }
    }

    /// One that is declared with the class.
    private mutating func check(_ index: TableIndex, _ view: TableView) throws(DatabaseError) {
        guard !(index.kind is UnknownIndexKind) else {
            report.notes.append(
                "the \(index.text) of \(view.type.name) was not looked at: this release does not know the kind")
            return
        }
        guard !index.isOutdated else {
            report.notes.append(
                "the \(index.text) of \(view.type.name) was not looked at: it was made by another version of Unicode, "
                    + "so nothing reads it, and the next commit makes it again")
            return
        }
        let check = index.kind.makeCheck(of: index)
        let name = "\(index.text) of \(view.type.name)"
        var isSettled = false
        for _ in 0 ..< 2 where !isSettled {
            for rowGroup in 0 ..< view.rowGroupCount {
                letGo()
                try view.forEachRows(of: index, rowGroup) { check.add($0) }
            }
            isSettled = try finish(check, source.reader(of: index), name)
        }
    }

    /// False where rows are to come once more.
    private mutating func finish(
        _ check: any IndexChecking, _ reader: any IndexReading, _ name: String
    ) throws(DatabaseError) -> Bool {
        let source = source
        guard let findings = try check.finish(reader, { source.releaseMemory() }) else { return false }
        report.indexEntries += findings.entries
        if findings.isOutOfOrder {
            note("the \(name) is out of order")
            return true
        }
        guard findings.missing + findings.surplus > 0 else { return true }
        let key = findings.example.map { ", the first for object \($0)" } ?? ""
        note(
            "the \(name) lacks \(findings.missing) entries and has \(findings.surplus) that belong to "
                + "nothing\(key)")
        return true
    }

    /// Chunks and long lists of objects that never were, or are no more.
    private mutating func checkReach(_ view: TableView, _ column: StoredColumn) throws(DatabaseError) {
        let name = "\(view.type.name).\(column.name)"
        let cursor = try source.pages.makeCursor()
        cursor.skipsValues = true
        let end = PageKeys.chunk(view.key, column.key, Int(UInt32.max))
        let first = PageKeys.chunk(view.key, column.key, 0)
        let hasChunk = try end.withBytes { key throws(DatabaseError) in try cursor.seekLast(atMost: key) }
        if hasChunk, cursor.key.count == first.count, cursor.key.starts(with: first.prefix(9)) {
            let rowGroup = cursor.key.suffix(4).reduce(0) { $0 << 8 | Int($1) }
            if rowGroup >= view.directory.regularCount { note("\(name) has values of objects that never were") }
        }
        var next = PageKeys.longList(view.key, column.key, ObjectKey(0), 0)
        let prefix = Array(next.prefix(9))
        while try next.withBytes({ key throws(DatabaseError) in try cursor.seek(key) }),
            cursor.key.starts(with: prefix),
            cursor.key.count >= 17
        {
            let owner = ObjectKey(cursor.key[9 ..< 17].reduce(Int64(0)) { $0 << 8 | Int64($1) })
            if try view.locate(owner) == nil {
                note("\(name) has a long list of object \(owner.rawValue), which does not exist")
            }
            // The highest there can be: the one after it would be the first.
            if owner.rawValue == -1 { break }
            next = PageKeys.longList(view.key, column.key, ObjectKey(owner.rawValue &+ 1), 0)
        }
    }

    private mutating func checkLiveRows(_ view: TableView) throws(DatabaseError) {
        var live = 0
        for rowGroup in 0 ..< view.rowGroupCount { live += try view.directory.storedLiveCount(rowGroup) }
        if live != view.liveCount {
            note("class \(view.type.name) has \(live) objects, its state says \(view.liveCount)")
        }
    }
}
