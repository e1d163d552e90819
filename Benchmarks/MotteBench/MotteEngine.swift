/// Motte itself, through sessions, batches and prepared queries: what the C and Python faces call.
import MotteLiveObjects
import MotteQueryEngine
import MotteSchemaModel
import MotteValues

final class MotteEngine: Engine {
    let name = "Motte"
    private var session: Session?
    private var path = ""
    private var table = TableKey(0)
    private var columns: [String: ColumnKey] = [:]
    private var queries: [String: PreparedQuery] = [:]

    private static let five: [Property] = [
        Property(name: "name", type: .string), Property(name: "age", type: .int),
        Property(name: "score", type: .double),
        Property(name: "active", type: .bool), Property(name: "city", type: .string),
    ]
    private static let key = Property(name: "id", type: .int, isPrimaryKey: true)

    private func open(_ path: String, _ properties: [Property]) throws {
        close()
        self.path = path
        let session = try Session.open(
            SessionOptions(path: path, schema: Schema([ObjectType(name: "Person", properties: properties)])))
        self.session = session
        guard let type = try session.schema["Person"], let key = type.tableKey else { throw BenchError("no table") }
        table = key
        columns = [:]
        for property in type.properties { columns[property.name] = property.columnKey }
    }

    private func column(_ name: String) throws -> ColumnKey {
        guard let key = columns[name] else { throw BenchError("no column \(name)") }
        return key
    }

    private func state() throws -> Session {
        guard let session else { throw BenchError("not open") }
        return session
    }

    private func query(_ text: String) throws -> PreparedQuery {
        if let known = queries[text] { return known }
        let made = try state().query(table, text, Arguments([Value.null]))
        queries[text] = made
        return made
    }

    /// Inserts in batches of 1,024 rows, as the C and Python faces do.
    private func insert(_ count: Int, _ names: [String], _ fill: (Int, UnsafeMutablePointer<ValueView>) -> Void) throws
    {
        let session = try state()
        let keys = try names.map { try column($0) }
        let rows = UnsafeMutablePointer<ValueView>.allocate(capacity: 1_024 * keys.count)
        defer { rows.deallocate() }
        var next = 0
        while next < count {
            let size = min(1_024, count - next)
            for row in 0 ..< size { fill(next + row, rows + row * keys.count) }
            _ = try session.insertBatch(table, columns: keys, rows: rows, rowCount: size)
            next += size
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
        let session = try state()
        return try seconds {
            try session.beginWrite()
            try insert(data.count, Self.five.map(\.name)) { fillFive(data, $0, $1) }
            _ = try session.commit()
        }
    }

    func bulkInsertWithKey(_ data: PersonData, in folder: String) throws -> Double {
        try open(folder + "/w2.motte", [Self.key] + Self.five)
        let session = try state()
        return try seconds {
            try session.beginWrite()
            try insert(data.count, ["id"] + Self.five.map(\.name)) { row, out in
                out[0] = .int(Int64(row))
                fillFive(data, row, out + 1)
            }
            _ = try session.commit()
        }
    }

    private static let person =
        [key] + five + [
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
        let session = try state()
        let friend = try column("best_friend")
        let tags = try column("tags")
        return try seconds {
            try session.beginWrite()
            try insert(data.count, Self.scalars) { row, out in fillPerson(data, row, id: Int64(row), out) }
            // Links may point forward, so they are set once all rows are there; keys were handed out from 0.
            for row in 0 ..< data.count where data.bestFriends[row] >= 0 {
                let link = ValueView.link(ObjectLink(table: table, key: ObjectKey(data.bestFriends[row])))
                try session.set(table, friend, ObjectKey(Int64(row)), to: link)
            }
            for row in 0 ..< data.count where !data.tags[row].isEmpty {
                let views = data.tags[row].map { tag in tag.withUnsafeBytes { ValueView.string($0) } }
                try session.object(table, at: ObjectKey(Int64(row)))?.list(tags).append(views)
            }
            _ = try session.commit()
        }
    }

    func commitOne(id: Int64, _ data: PersonData) throws {
        let session = try state()
        try session.beginWrite()
        try insert(1, Self.scalars) { _, out in fillPerson(data, Int(id) % data.count, id: id, out) }
        _ = try session.commit()
    }

    func find(id: Int64) throws -> (age: Int64, score: Double)? {
        let session = try state()
        guard let key = try session.findKey(table, primaryKey: .int(id)) else { return nil }
        return (
            try session.value(table, try column("age"), key).intValue,
            try session.value(table, try column("score"), key).doubleValue
        )
    }

    /// In bulk, through the live collection.
    func iterate() throws -> Int64 {
        let all = try state().objects(table)
        let age = try column("age")
        let name = try column("name")
        let count = try all.count()
        let ages = UnsafeMutablePointer<Int64>.allocate(capacity: 4_096)
        let names = UnsafeMutablePointer<UnsafeRawBufferPointer>.allocate(capacity: 4_096)
        defer {
            ages.deallocate()
            names.deallocate()
        }
        var sum: Int64 = 0
        var first = 0
        while first < count {
            let got = try all.readInts(age, first: first, count: 4_096, into: ages, validity: nil)
            _ = try all.readBytes(name, first: first, count: 4_096, into: names)
            for row in 0 ..< got { sum &+= ages[row] &+ Int64(names[row].count) }
            first += got
        }
        return sum
    }

    private func count(_ text: String, _ argument: Value) throws -> Int {
        let query = try query(text)
        try query.bind(0, to: argument)
        return try query.count()
    }

    func countOlder(than age: Int64) throws -> Int { try count("age > $0", .int(age)) }
    func count(city: [UInt8]) throws -> Int { try count("city == $0", .string(String(decoding: city, as: UTF8.self))) }
    func countFriendsOlder(than age: Int64) throws -> Int { try count("best_friend.age > $0", .int(age)) }

    /// Opening the file with the property marked as indexed builds the index.
    func indexCities() throws {
        queries = [:]
        _ = try state().close()
        var properties = Self.person
        properties[5].isIndexed = true
        try open(path, properties)
    }

    func sumScores() throws -> Double {
        guard case .double(let sum) = try state().objects(table).aggregate(.sum, try column("score")) else {
            throw BenchError("no sum")
        }
        return sum
    }

    func updateAges(ids: [Int64]) throws {
        let session = try state()
        let age = try column("age")
        try session.beginWrite()
        for id in ids {
            guard let key = try session.findKey(table, primaryKey: .int(id)) else { continue }
            try session.set(table, age, key, to: .int(try session.value(table, age, key).intValue + 1))
        }
        _ = try session.commit()
    }

    func fileSize() throws -> Int { sizeOfFile(path) }

    func close() {
        queries = [:]
        _ = try? session?.close()
        session = nil
    }
}
