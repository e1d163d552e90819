/// Many small commits, with readers that advance and with one that keeps the version before them: how large the file
/// becomes beside the data that is alive.
import MotteLiveObjects
import MotteNotifications
import MotteSchemaModel
import MotteStorage
import MotteValues

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

enum FileGrowth {
    private static let rows = 20_000

    private enum Readers: String {
        case advance = "readers that advance"
        case pinned = "one pinned reader"
    }

    static func run(commits: Int) throws {
        for readers in [Readers.advance, .pinned] {
            let folder = try makeFolder()
            defer { removeFolder(folder) }
            try run(readers, folder + "/growth.motte", commits: commits)
        }
    }

    private static func run(_ readers: Readers, _ path: String, commits: Int) throws {
        let properties = [
            Property(name: "name", type: .string), Property(name: "age", type: .int),
            Property(name: "score", type: .double),
        ]
        var options = SessionOptions(
            path: path, schema: Schema([ObjectType(name: "Person", properties: properties)]))
        // What is measured is space.
        options.durability = .none
        let session = try Session.open(options)
        guard let type = try session.schema["Person"], let table = type.tableKey else { throw BenchError("no table") }
        let columns = type.properties.compactMap(\.columnKey)
        try session.beginWrite()
        let cells = UnsafeMutablePointer<ValueView>.allocate(capacity: 3)
        defer { cells.deallocate() }
        let name = Array("somebody's name".utf8)
        try name.withUnsafeBytes { name in
            for number in 0 ..< rows {
                (cells[0], cells[1], cells[2]) = (.string(name), .int(Int64(number)), .double(Double(number) / 3))
                _ = try session.insertBatch(table, columns: columns, rows: cells, rowCount: 1)
            }
        }
        _ = try session.commit()
        let live = try session.database.pages.statistics().usedBytes
        let pinned = readers == .pinned ? try session.freeze() : nil
        // Two that advance at different times, one of which observes and so keeps the history of changes too.
        let (often, seldom) = (try Session.open(options), try Session.open(options))
        let token = readers == .advance ? try seldom.objects("Person").observe() : nil
        var random = SplitMix(state: 3)
        var largest = 0.0
        let time = try seconds {
            for number in 1 ... commits {
                try session.beginWrite()
                let key = ObjectKey(Int64(random.below(rows)))
                try session.set(table, columns[1], key, to: .int(Int64(number)))
                _ = try session.commit()
                if readers == .advance {
                    if number % 10 == 0 { _ = try often.refresh() }
                    if number % 1_000 == 0 { _ = try seldom.refresh() }
                }
                if number % max(1, commits / 10) == 0 {
                    let ratio = Double(sizeOfFile(path)) / Double(live)
                    largest = max(largest, ratio)
                }
            }
        }
        withExtendedLifetime(token) {}
        for reader in try session.database.readerStatistics() where readers == .pinned {
            print("process \(reader.processID) pins version \(reader.version.rawValue)")
        }
        print(
            "\(readers.rawValue): \(commits) commits, file \(sizeOfFile(path)) bytes, live \(live),"
                + " at most \(short(largest)) x live data, \(short(time / Double(commits) * 1e6)) us a commit")
        _ = try often.close()
        _ = try seldom.close()
        _ = try pinned?.close()
        _ = try session.close()
    }

    private static func short(_ value: Double) -> String { MotteBench.short(value) }
}
