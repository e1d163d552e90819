/// Many small commits while one reader keeps the version before them: how large the file becomes beside the data that
/// is alive, over both pagers.
import MotteLiveObjects
import MotteSchemaModel
import MotteStorage
import MotteValues

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

enum PinnedReader {
    private static let rows = 20_000

    static func run(commits: Int) throws {
        for pager in ["own", "lmdb"] {
            let folder = try makeFolder()
            defer { removeFolder(folder) }
            setenv("MOTTE_PAGER", pager, 1)
            // LMDB uses no space again that became free after the pinned version: a tenth shows that well enough.
            try run(pager, folder + "/pinned.motte", commits: pager == "own" ? commits : commits / 10)
        }
    }

    private static func run(_ pager: String, _ path: String, commits: Int) throws {
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
        let pinned = try session.freeze()
        var random = SplitMix(state: 3)
        var largest = 0.0
        let time = try seconds {
            for number in 1 ... commits {
                try session.beginWrite()
                let key = ObjectKey(Int64(random.below(rows)))
                try session.set(table, columns[1], key, to: .int(Int64(number)))
                _ = try session.commit()
                if number % (commits / 10) == 0 {
                    let ratio = Double(sizeOfFile(path)) / Double(live)
                    largest = max(largest, ratio)
                    print("\(pager): \(number) commits, file \(sizeOfFile(path)) bytes, \(short(ratio)) x live data")
                }
            }
        }
        for reader in try session.database.readerStatistics() {
            print("\(pager): process \(reader.processID) pins version \(reader.version.rawValue)")
        }
        print("\(pager): at most \(short(largest)) x live data, \(short(time / Double(commits) * 1e6)) us a commit")
        _ = try pinned.close()
        _ = try session.close()
    }

    private static func short(_ value: Double) -> String { MotteBench.short(value) }
}
