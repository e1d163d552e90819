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
    /// A file that opens and whose pages are sound, as it is. Of another one what its intact pages hold, in memory, and
    /// what was wrong with the others.
    package static func openForSalvage(
        _ options: DatabaseOptions
    ) throws(DatabaseError) -> DamagedFile {
        var damage: DatabaseError?
        do throws(DatabaseError) {
            let database = try open(options)
            if try database.pages.check().isEmpty {
                // What was passed over may have been acknowledged.
                let passedOver = try database.pages.snapshot().passedOver
                return DamagedFile(database, losses: passedOver.map { [$0.description] } ?? [])
            }
        } catch {
            guard try isDamage(error, options) else { throw error }
            damage = error
        }
        guard case .file(let path) = options.location else { throw damage ?? .corrupted("a database in memory") }
        do throws(DatabaseError) {
            let (store, report) = try PageStore.openSalvaged(
                path, encryptionKey: options.encryptionKey, columns: chunkColumns)
            return DamagedFile(
                try joined(store), losses: report.problems.map(\.description) + older(report), gaps: report.gaps,
                older: report.recoveredKeys)
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
