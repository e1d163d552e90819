/// Opening a file whose pages may be damaged, for salvaging what it holds.
import MottePages
import MotteValues

extension Database {
    /// A file that opens and whose pages are sound, as it is. One of our own form that is not: what its intact pages
    /// hold, in memory, and what was wrong with the others.
    package static func openForSalvage(
        _ options: DatabaseOptions
    ) throws(DatabaseError) -> (database: Database, losses: [String]) {
        var damage: DatabaseError?
        do throws(DatabaseError) {
            let database = try open(options)
            if try database.pages.check().isEmpty { return (database, []) }
        } catch {
            guard error.code == .corrupted || error.code == .notAMotteFile else { throw error }
            damage = error
        }
        guard case .file(let path) = options.location else { throw damage ?? .corrupted("a store in memory") }
        do throws(DatabaseError) {
            let (store, report) = try PageStore.openSalvaged(path, encryptionKey: options.encryptionKey)
            return (try joined(store), report.problems.map(\.description) + older(report))
        } catch {
            // Where no page of ours is left, what opening said says more.
            throw error.code == .notAMotteFile ? damage ?? error : error
        }
    }

    private static func older(_ report: PageSalvageReport) -> [String] {
        report.recoveredCount == 0
            ? [] : ["\(report.recoveredCount) entries are of older versions, because the newer pages are damaged"]
    }
}
