/// Opening a file whose pages may be damaged, for salvaging what it holds.
import MottePages
import MotteValues

package struct DamagedFile {
    package let database: Database
    /// Sentences about what is lost already.
    package let losses: [String]
    /// Where pages of the store may be missing.
    let gaps: [KeyGap]
    /// Keys of entries that may be of older versions.
    let older: Set<[UInt8]>
    /// The version that the file opens at, whose pages are kept while they are read.
    fileprivate var opened: PageSnapshot?

    package init(
        _ database: Database, losses: [String] = [], gaps: [KeyGap] = [], older: Set<[UInt8]> = []
    ) {
        self.database = database
        self.losses = losses
        self.gaps = gaps
        self.older = older
    }
}

extension Database {
    /// A file that opens at its newest version and whose pages are sound, as it is. Of another one what its intact
    /// pages and log records hold, and what was wrong with the others. The file is only read.
    package static func openForSalvage(
        _ options: DatabaseOptions
    ) throws(DatabaseError) -> DamagedFile {
        var damage: DatabaseError?
        var newest: PageSnapshot?
        var options = options
        if !options.immutable { options.readOnly = true }
        do throws(DatabaseError) {
            let database = try open(options)
            let snapshot = try database.pages.snapshot()
            if try snapshot.contentProblems().isEmpty {
                // What was passed over may have been acknowledged, and some of it may be intact: until the next commit.
                guard let passedOver = snapshot.passedOver, passedOver.opened == snapshot.version else {
                    return DamagedFile(database, losses: snapshot.passedOver.map { [$0.description] } ?? [])
                }
                newest = snapshot
            }
        } catch {
            guard try isDamage(error, options) else { throw error }
            damage = error
        }
        guard case .file(let path) = options.location else { throw damage ?? .corrupted("a database in memory") }
        do throws(DatabaseError) {
            let (store, report) = try PageStore.openSalvaged(
                path, encryptionKey: options.encryptionKey, memoryBytes: options.memoryBytes, at: newest?.version,
                columns: chunkColumns)
            let losses = (newest?.passedOver.map { [$0.description] } ?? []) + report.problems.map { $0.description }
            var file = DamagedFile(
                try joined(store), losses: losses + older(report), gaps: report.gaps, older: report.recoveredKeys)
            file.opened = newest
            return file
        } catch {
            // Where no page of ours is left, what opening said says more.
            guard error.code == .notAMotteFile, let damage else { throw error }
            guard damage.code == .corrupted else { throw damage }
            throw damage.advising("; nothing of it can be read; restore it from a copy")
        }
    }

    private static func isDamage(
        _ error: DatabaseError, _ options: DatabaseOptions
    ) throws(DatabaseError) -> Bool {
        switch error.code {
        case .corrupted, .notAMotteFile: return true
        case .unsupportedFormat:
            guard case .file(let path) = options.location else { return false }
            return try PageStore.hasDamagedHead(path)
        default: return false
        }
    }

    private static func chunkColumns(_ record: [UInt8]) -> [ChunkColumn]? {
        // A damaged catalog names no columns; pages are then known by their contents.
        guard let catalog = record.withUnsafeBytes({ try? Catalog.decode($0) }) else { return nil }
        return catalog.tables.flatMap { table in
            table.columns.map { column in
                ChunkColumn(
                    table: table.key.rawValue, column: column.key.rawValue,
                    kind: column.kind.rawValue | (column.isList ? ChunkMark.list : 0))
            }
        }
    }

    private static func older(_ report: PageSalvageReport) -> [String] {
        report.recoveredCount == 0
            ? []
            : [
                "\(report.recoveredCount) entries may be of older versions, or have been deleted since, because newer "
                    + "pages are damaged or missing"
            ]
    }
}
