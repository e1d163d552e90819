/// Motte itself, through the layer that the C and Swift faces call.
import MotteColumns
import MottePages
import MotteSchemaModel
import MotteStorage
import MotteValues

final class MotteEngine: Engine {
    let name = "Motte"
    private var database: Database?
    private var snapshot: Snapshot?
    private var path = ""
    private var table = TableKey(0)
    private var columns: [String: ColumnKey] = [:]

    private static let five: [Property] = [
        Property(name: "name", type: .string), Property(name: "age", type: .int), Property(name: "score", type: .double),
        Property(name: "active", type: .bool), Property(name: "city", type: .string),
    ]
    private static let key = Property(name: "id", type: .int, isPrimaryKey: true)

    private func open(_ path: String, _ properties: [Property]) throws {
        close()
        self.path = path
        let database = try Database.open(PageStoreOptions(path: path))
        self.database = database
        let snapshot = try database.snapshot()
        _ = try database.reconcile(Schema([ObjectType(name: "Person", properties: properties)]), on: snapshot)
        self.snapshot = snapshot
        try readKeys(snapshot)
    }

    private func readKeys(_ snapshot: Snapshot) throws {
        guard let type = snapshot.schema["Person"], let key = type.tableKey else { throw BenchError("no table") }
        table = key
        columns = [:]
        for property in type.properties { columns[property.name] = property.columnKey }
    }

    private func column(_ name: String) throws -> ColumnKey {
        guard let key = columns[name] else { throw BenchError("no column \(name)") }
        return key
    }

    private func state() throws -> (Database, Snapshot) {
        guard let database, let snapshot else { throw BenchError("not open") }
        return (database, snapshot)
    }

    /// Inserts in batches of 1,024 rows, as the C and Python faces do.
    private func insert(_ data: PersonData, _ names: [String], _ fill: (Int, UnsafeMutablePointer<ValueView>) -> Void) throws -> Double {
        let (database, snapshot) = try state()
        let keys = try names.map { try column($0) }
        return try seconds {
            let write = try database.beginWrite(on: snapshot)
            let batch = 1_024
            let rows = UnsafeMutablePointer<ValueView>.allocate(capacity: batch * keys.count)
            defer { rows.deallocate() }
            var next = 0
            while next < data.count {
                let count = min(batch, data.count - next)
                for row in 0 ..< count { fill(next + row, rows + row * keys.count) }
                _ = try write.insertBatch(table, columns: keys, rows: rows, rowCount: count)
                next += count
            }
            try write.commit()
        }
    }

    private func fillFive(_ data: PersonData, _ row: Int, _ out: UnsafeMutablePointer<ValueView>) {
        // The arrays live as long as the data, so their storage may be lent beyond the closure.
        out[0] = data.names[row].withUnsafeBytes { .string($0) }
        out[1] = .int(data.ages[row])
        out[2] = .double(data.scores[row])
        out[3] = .bool(data.active[row])
        out[4] = data.cityNames[data.cities[row]].withUnsafeBytes { .string($0) }
    }

    func bulkInsert(_ data: PersonData, in folder: String) throws -> Double {
        try open(folder + "/w1.motte", Self.five)
        return try insert(data, Self.five.map(\.name)) { fillFive(data, $0, $1) }
    }

    func bulkInsertWithKey(_ data: PersonData, in folder: String) throws -> Double {
        try open(folder + "/w2.motte", [Self.key] + Self.five)
        return try insert(data, ["id"] + Self.five.map(\.name)) { row, out in
            out[0] = .int(Int64(row))
            fillFive(data, row, out + 1)
        }
    }

    private static let person = [key] + five + [
        Property(name: "created", type: .timestamp),
        Property(name: "best_friend", type: .link, isNullable: true, target: "Person"),
        Property(name: "tags", type: .string, collection: .list),
    ]

    private func fillPerson(_ data: PersonData, _ row: Int, id: Int64, _ out: UnsafeMutablePointer<ValueView>) {
        out[0] = .int(id)
        fillFive(data, row, out + 1)
        out[6] = .timestamp(Timestamp(seconds: data.created[row], nanoseconds: 0))
    }

    private static let scalars = ["id", "name", "age", "score", "active", "city", "created"]

    func load(_ data: PersonData, in folder: String) throws -> Double {
        try open(folder + "/person.motte", Self.person)
        let (database, snapshot) = try state()
        let keys = try Self.scalars.map { try column($0) }
        let friend = try column("best_friend"), tags = try column("tags")
        return try seconds {
            let write = try database.beginWrite(on: snapshot)
            let rows = UnsafeMutablePointer<ValueView>.allocate(capacity: 1_024 * keys.count)
            defer { rows.deallocate() }
            var next = 0
            while next < data.count {
                let count = min(1_024, data.count - next)
                for row in 0 ..< count { fillPerson(data, next + row, id: Int64(next + row), rows + row * keys.count) }
                _ = try write.insertBatch(table, columns: keys, rows: rows, rowCount: count)
                next += count
            }
            // Links may point forward, so they are set once all rows are there; keys were handed out from 0.
            for row in 0 ..< data.count where data.bestFriends[row] >= 0 {
                let link = ValueView.link(ObjectLink(table: table, key: ObjectKey(data.bestFriends[row])))
                try write.set(table, friend, ObjectKey(Int64(row)), to: link)
            }
            for row in 0 ..< data.count where !data.tags[row].isEmpty {
                let views = data.tags[row].map { tag in tag.withUnsafeBytes { ValueView.string($0) } }
                try write.listInsert(table, tags, ObjectKey(Int64(row)), at: 0, views)
            }
            try write.commit()
        }
    }

    func commitOne(id: Int64, _ data: PersonData) throws {
        let (database, snapshot) = try state()
        let keys = try Self.scalars.map { try column($0) }
        let write = try database.beginWrite(on: snapshot)
        try withUnsafeTemporaryAllocation(of: ValueView.self, capacity: keys.count) { row in
            guard let row = row.baseAddress else { return }
            fillPerson(data, Int(id) % data.count, id: id, row)
            _ = try write.insertBatch(table, columns: keys, rows: row, rowCount: 1)
        }
        try write.commit()
    }

    func find(id: Int64) throws -> (age: Int64, score: Double)? {
        let (_, snapshot) = try state()
        let view = try snapshot.table(table)
        guard let key = try view.find(primaryKey: .int(id)) else { return nil }
        return (try view.value(try column("age"), key).intValue, try view.value(try column("score"), key).doubleValue)
    }

    func iterate() throws -> Int64 {
        let (_, snapshot) = try state()
        let view = try snapshot.table(table)
        let age = try column("age"), name = try column("name")
        var sum: Int64 = 0
        for cluster in 0 ..< view.clusterCount {
            let rows = try view.cluster(cluster)
            let ages = try view.chunk(age, cluster), names = try view.chunk(name, cluster)
            for row in 0 ..< rows.rowCount { sum &+= ages.int(row) &+ Int64(names.bytes(row).count) }
        }
        return sum
    }

    private func count(_ select: (TableView, Int, SelectionWords) throws -> Void) throws -> Int {
        let (_, snapshot) = try state()
        let view = try snapshot.table(table)
        let words = SelectionWords.allocate(capacity: 1_024)
        defer { words.deallocate() }
        var total = 0
        for cluster in 0 ..< view.clusterCount {
            let rows = try view.cluster(cluster)
            try select(view, cluster, words)
            if let live = rows.liveWords { live.withUnsafeBufferPointer { if let live = $0.baseAddress { Selection.formAnd(words, live, rows: rows.rowCount) } } }
            total += Selection.count(words, rows: rows.rowCount)
        }
        return total
    }

    func countOlder(than age: Int64) throws -> Int {
        let column = try column("age")
        return try count { view, cluster, words in
            ComparisonKernels.selectInts(try view.chunk(column, cluster), .greater, age, into: words)
        }
    }

    private var isIndexed = false

    func count(city: [UInt8]) throws -> Int {
        let column = try column("city")
        if isIndexed {
            let (_, snapshot) = try state()
            return try city.withUnsafeBytes { try snapshot.table(table).indexCount(column, equal: .string($0)) ?? 0 }
        }
        return try city.withUnsafeBytes { city in
            try count { view, cluster, words in TextKernels.select(try view.chunk(column, cluster), .equal, city, into: words) }
        }
    }

    func indexCities() throws {
        let (database, snapshot) = try state()
        var properties = Self.person
        properties[5].isIndexed = true
        _ = try database.reconcile(Schema([ObjectType(name: "Person", properties: properties)]), on: snapshot)
        isIndexed = true
    }

    func sumScores() throws -> Double {
        let (_, snapshot) = try state()
        let view = try snapshot.table(table)
        var summary = AggregateKernels.DoubleSummary()
        for cluster in 0 ..< view.clusterCount { AggregateKernels.addDoubles(try view.chunk(try column("score"), cluster), nil, to: &summary) }
        return summary.sum
    }

    func countFriendsOlder(than age: Int64) throws -> Int {
        let (_, snapshot) = try state()
        let view = try snapshot.table(table)
        let ages = try column("age"), friend = try column("best_friend")
        var old = [UInt64](repeating: 0, count: Int(view.nextKey) / 64 + 16)
        let words = SelectionWords.allocate(capacity: 64)
        defer { words.deallocate() }
        for cluster in 0 ..< view.clusterCount {
            let rows = try view.cluster(cluster)
            ComparisonKernels.selectInts(try view.chunk(ages, cluster), .greater, age, into: words)
            for row in 0 ..< rows.rowCount where Selection.contains(words, row) {
                let key = Int(rows.firstKey) + row
                old[key >> 6] |= 1 << UInt64(key & 63)
            }
        }
        var total = 0
        for cluster in 0 ..< view.clusterCount {
            let chunk = try view.chunk(friend, cluster)
            for row in 0 ..< chunk.count {
                let key = chunk.link(row)
                if key >= 0, old[Int(key >> 6)] & (1 << UInt64(key & 63)) != 0 { total += 1 }
            }
        }
        return total
    }

    func updateAges(ids: [Int64]) throws {
        let (database, snapshot) = try state()
        let age = try column("age")
        let write = try database.beginWrite(on: snapshot)
        let view = try write.table(table)
        for id in ids {
            guard let key = try view.find(primaryKey: .int(id)) else { continue }
            try write.set(table, age, key, to: .int(try view.value(age, key).intValue + 1))
        }
        try write.commit()
    }

    func fileSize() throws -> Int { sizeOfFile(path) }

    func close() {
        snapshot = nil
        database = nil
        isIndexed = false
    }
}
