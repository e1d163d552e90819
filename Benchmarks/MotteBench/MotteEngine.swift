/// Motte itself, through sessions, batches and prepared queries: what the C and Python bindings call.
import MotteLiveObjects
import MotteQueryEngine
import MotteSchemaModel
import MotteStorage
import MotteValues

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

final class MotteEngine: Engine {
    /// What the bytes lie in.
    enum Form: String {
        case plain, sealed
    }

    let name: String
    private let form: Form
    private let rowGroupSize: Int?
    private let isRelaxed: Bool
    private var session: Session?
    private var path = ""
    private(set) var table = TableKey(0)
    private var columns: [String: ColumnKey] = [:]
    /// Found once, as a binding does for each class.
    private var age = ColumnKey(0)
    private var score = ColumnKey(0)
    private var queries: [String: PreparedQuery] = [:]

    private static let five: [Property] = [
        Property(name: "name", type: .string), Property(name: "age", type: .int),
        Property(name: "score", type: .double),
        Property(name: "active", type: .bool), Property(name: "city", type: .string),
    ]
    private static let key = Property(name: "id", type: .int, isPrimaryKey: true)

    init(_ form: Form, rowGroupSize: Int? = nil, isRelaxed: Bool = false) {
        self.form = form
        self.isRelaxed = isRelaxed
        self.rowGroupSize = rowGroupSize
        name = form == .plain ? "Motte" : "Motte \(form.rawValue)"
    }

    private func open(_ path: String, _ properties: [Property]) throws {
        close()
        self.path = path
        try take(Session.open(options(Schema([ObjectType(name: "Person", properties: properties)]))))
    }

    private func options(_ schema: Schema? = nil) -> SessionOptions {
        var options = SessionOptions(path: path, schema: schema)
        options.rowGroupSize = rowGroupSize
        if isRelaxed { options.durability = .relaxed }
        if form == .sealed { options.encryptionKey = [UInt8](repeating: 1, count: 64) }
        return options
    }

    private func take(_ session: Session) throws {
        self.session = session
        guard let type = try session.schema["Person"], let key = type.tableKey else { throw BenchError("no table") }
        table = key
        columns = [:]
        for property in type.properties { columns[property.name] = property.columnKey }
        age = try column("age")
        score = try column("score")
    }

    func column(_ name: String) throws -> ColumnKey {
        guard let key = columns[name] else { throw BenchError("no column \(name)") }
        return key
    }

    func state() throws -> Session {
        guard let session else { throw BenchError("not open") }
        return session
    }

    func query(_ text: String) throws -> PreparedQuery {
        if let known = queries[text] { return known }
        let made = try state().query(table, text, Arguments([Value.null]))
        queries[text] = made
        return made
    }

    /// Inserts in batches of 1,024 rows, from one typed array per property, as the C and Python bindings take them.
    /// What the data does not have in that form is made for a batch at a time: W18 counts memory of the engine.
    private func insert(_ data: PersonData, _ names: [String], ids: [Int64]? = nil) throws {
        let session = try state()
        let keys = try names.map { try column($0) }
        let batch = 1_024
        let flags = UnsafeMutablePointer<ValueView>.allocate(capacity: batch)
        defer { flags.deallocate() }
        let times = UnsafeMutablePointer<ValueView>.allocate(capacity: batch)
        defer { times.deallocate() }
        let numbers = UnsafeMutablePointer<Int64>.allocate(capacity: batch)
        defer { numbers.deallocate() }
        try data.ages.withUnsafeBufferPointer { ages in
            try data.scores.withUnsafeBufferPointer { scores in
                for first in stride(from: 0, to: data.count, by: batch) {
                    let rows = first ..< min(first + batch, data.count)
                    let sources = try names.map { name throws -> BatchColumn in
                        switch name {
                        case "id":
                            for row in rows { numbers[row - first] = ids?[row] ?? Int64(row) }
                            return .ints(numbers)
                        case "name": return .texts(data.names.heap, offsets: data.names.offsets + first)
                        case "age": return .ints(try start(ages) + first)
                        case "score": return .doubles(try start(scores) + first)
                        case "active":
                            for row in rows { flags[row - first] = .bool(data.active[row]) }
                            return .cells(flags, stride: 1)
                        case "city": return .texts(data.cityColumn.heap, offsets: data.cityColumn.offsets + first)
                        case "created":
                            for row in rows {
                                let created = Timestamp(seconds: data.created[row], nanoseconds: 0)
                                times[row - first] = .timestamp(created)
                            }
                            return .cells(times, stride: 1)
                        default: throw BenchError("no data for \(name)")
                        }
                    }
                    _ = try session.insertColumns(table, columns: keys, sources: sources, rowCount: rows.count)
                }
            }
        }
    }

    private func start<T>(_ values: UnsafeBufferPointer<T>) throws -> UnsafePointer<T> {
        guard let start = values.baseAddress else { throw BenchError("no values") }
        return start
    }

    private func fillFive(_ data: PersonData, _ row: Int, _ out: UnsafeMutablePointer<ValueView>) {
        out[0] = .string(data.names[row])
        out[1] = .int(data.ages[row])
        out[2] = .double(data.scores[row])
        out[3] = .bool(data.active[row])
        out[4] = .string(data.cityColumn[row])
    }

    func bulkInsert(_ data: PersonData, in folder: String) throws -> Double {
        try open(folder + "/w1.motte", Self.five)
        let session = try state()
        return try seconds {
            try session.beginWrite()
            try insert(data, Self.five.map(\.name))
            _ = try session.commit()
        }
    }

    func bulkInsertWithKey(_ data: PersonData, _ ids: [Int64], areAscending: Bool, in path: String) throws -> Double {
        try open(path + ".motte", [Self.key] + Self.five)
        let session = try state()
        return try seconds {
            try session.beginWrite()
            try insert(data, ["id"] + Self.five.map(\.name), ids: ids)
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
            try insert(data, Self.scalars)
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

    private func scalarKeys() throws -> [ColumnKey] { try Self.scalars.map { try column($0) } }

    func commitOne(id: Int64, _ data: PersonData) throws {
        let session = try state()
        try session.beginWrite()
        try withUnsafeTemporaryAllocation(of: ValueView.self, capacity: Self.scalars.count) { row in
            guard let start = row.baseAddress else { return }
            fillPerson(data, Int(id) % data.count, id: id, start)
            _ = try session.insertBatch(table, columns: try scalarKeys(), rows: start, rowCount: 1)
        }
        _ = try session.commit()
    }

    func find(id: Int64) throws -> (age: Int64, score: Double)? {
        let session = try state()
        guard let key = try session.findKey(table, primaryKey: .int(id)) else { return nil }
        return (
            try session.value(table, age, key).intValue,
            try session.value(table, score, key).doubleValue
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
        try session.beginWrite()
        for id in ids {
            guard let key = try session.findKey(table, primaryKey: .int(id)) else { continue }
            try session.set(table, age, key, to: .int(try session.value(table, age, key).intValue + 1))
        }
        _ = try session.commit()
    }

    func rename(id: Int64, to name: [UInt8]) throws {
        let session = try state()
        let column = try column("name")
        try session.beginWrite()
        if let key = try session.findKey(table, primaryKey: .int(id)) {
            try name.withUnsafeBytes { try session.set(table, column, key, to: .string($0)) }
        }
        _ = try session.commit()
    }

    func delete(ids: [Int64]) throws {
        let session = try state()
        try session.beginWrite()
        var keys: [Int64] = []
        for id in ids { if let key = try session.findKey(table, primaryKey: .int(id)) { keys.append(key.rawValue) } }
        _ = try session.delete(table, keys)
        _ = try session.commit()
    }

    func makeReader() throws -> () throws -> Void {
        let session = try Session.open(options())
        let query = try session.query(table, "age > $0", Arguments([.int(50)]))
        return {
            _ = try session.refresh()
            _ = try query.count()
        }
    }

    func fileSize() throws -> Int { sizeOfFile(path) }

    func writeCounts() throws -> WriteCounts? {
        let statistics = try state().database.pages.statistics()
        return WriteCounts(
            bytes: statistics.writtenBytes, calls: statistics.writeCallCount, flushes: statistics.flushCount)
    }

    /// Alone in the process, so that it is a cold open as far as the engine goes.
    func reopen() throws { try take(Session.open(options())) }

    func close() {
        queries = [:]
        _ = try? session?.close()
        session = nil
    }
}
