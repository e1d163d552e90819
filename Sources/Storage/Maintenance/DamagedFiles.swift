/// Opening a file whose pages may be damaged, for salvaging what it holds.
import MottePages
import MotteValues

package struct DamagedFile {
    package let database: Database
    /// Sentences about what is lost already.
    package let losses: [String]
    /// Where pages of the store may be missing.
    let gaps: [KeyGap]

    package init(_ database: Database, losses: [String] = [], gaps: [KeyGap] = []) {
        self.database = database
        self.losses = losses
        self.gaps = gaps
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
            if try database.pages.check().isEmpty { return DamagedFile(database) }
        } catch {
            guard error.code == .corrupted || error.code == .notAMotteFile else { throw error }
            damage = error
        }
        guard case .file(let path) = options.location else { throw damage ?? .corrupted("a database in memory") }
        do throws(DatabaseError) {
            let (store, report) = try PageStore.openSalvaged(
                path, encryptionKey: options.encryptionKey, columns: chunkColumns)
            return DamagedFile(
                try joined(store), losses: report.problems.map(\.description) + older(report), gaps: report.gaps)
        } catch {
            // Where no page of ours is left, what opening said says more.
            throw error.code == .notAMotteFile ? damage ?? error : error
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
            ? [] : ["\(report.recoveredCount) entries may be of older versions, because newer pages are damaged"]
    }
}
