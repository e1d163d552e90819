/// Small durable writes that wait together and share one flush, beside one flush each: transactions a second with 1 to
/// 64 in the queue. Each is a transaction of its own either way: one object set, one version, one
/// entry in the change log.
import MotteLiveObjects
import MotteSchemaModel
import MotteStorage
import MotteValues

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

enum GroupCommits {
    private static let rows = 20_000
    private static let rounds = 3

    static func run(writes: Int) throws {
        print("queued   transactions/s   one flush each   ratio   (\(writes) writes, medians of \(rounds) rounds)")
        let folder = try makeFolder()
        defer { removeFolder(folder) }
        let bench = try Bench(folder + "/groups.motte", writes)
        for queued in [1, 2, 4, 8, 16, 32, 64] {
            var together: [Double] = []
            var alone: [Double] = []
            for _ in 0 ..< rounds {
                together.append(try bench.together(queued))
                alone.append(try bench.alone())
            }
            let (group, single) = (median(together), median(alone))
            let cells = ["\(queued)", "\(Int(group))", "\(Int(single))", MotteBench.short(group / single) + "x"]
            print(
                zip(cells, [9, 17, 17, 8]).map { $0 + String(repeating: " ", count: max(1, $1 - $0.count)) }.joined())
        }
    }

    private final class Bench {
        let session: Session
        let table: TableKey
        let column: ColumnKey
        let writes: Int
        var random = SplitMix(state: 5)

        init(_ path: String, _ writes: Int) throws {
            self.writes = writes
            let type = ObjectType(
                name: "Person",
                properties: [Property(name: "name", type: .string), Property(name: "age", type: .int)])
            session = try Session.open(SessionOptions(path: path, schema: Schema([type])))
            guard let stored = try session.schema["Person"], let table = stored.tableKey,
                let name = stored.properties[0].columnKey, let age = stored.properties[1].columnKey
            else { throw BenchError("no table") }
            (self.table, column) = (table, age)
            try session.beginWrite()
            let cells = UnsafeMutablePointer<ValueView>.allocate(capacity: 2)
            defer { cells.deallocate() }
            try Array("somebody's name".utf8).withUnsafeBytes { text in
                for number in 0 ..< rows {
                    (cells[0], cells[1]) = (.string(text), .int(Int64(number)))
                    _ = try session.insertBatch(table, columns: [name, age], rows: cells, rowCount: 1)
                }
            }
            _ = try session.commit()
        }

        private func change() throws(DatabaseError) {
            try session.set(table, column, ObjectKey(Int64(random.below(rows))), to: .int(Int64(random.below(1 << 30))))
        }

        func alone() throws -> Double {
            let time = try seconds {
                for _ in 0 ..< writes {
                    try session.beginWrite()
                    try change()
                    _ = try session.commit()
                }
            }
            return Double(writes) / time
        }

        func together(_ queued: Int) throws -> Double {
            let count = max(1, writes / queued)
            let time = try seconds {
                for _ in 0 ..< count {
                    try session.beginGroup()
                    for _ in 0 ..< queued {
                        try session.beginWrite()
                        try change()
                        _ = try session.commit()
                    }
                    _ = try session.endGroup()
                }
            }
            return Double(count * queued) / time
        }
    }
}
