/// The typed Swift API beside GRDB: reading a property, iterating, adding, creating.
///
///     SwiftBench [--objects N] [--rounds N] [--cpu] [--only PART]
///
/// `--cpu` counts the time of the thread on a processor instead of the clock's, for machines that are busy. Rounds
/// alternate between the two, medians are printed in nanoseconds per operation. Both must compute the same sums, or the
/// run is void. `--only` runs one part on Motte alone, for `perf` and `callgrind`.
import Foundation
import GRDB
import Motte

struct BenchError: Swift.Error, CustomStringConvertible { let description: String }

/// Keeps what was computed from being computed away.
@inline(never) func keep<T>(_ value: T) {
    // Never so, but only known at run time.
    if clock < 0 { print(value) }
}

let clock = CommandLine.arguments.contains("--cpu") ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC

func nanoseconds(per count: Int, _ body: () throws -> Void) rethrows -> Double {
    let start = now()
    try body()
    return (now() - start) / Double(count)
}

func now() -> Double {
    var time = timespec()
    clock_gettime(clock, &time)
    return Double(time.tv_sec) * 1e9 + Double(time.tv_nsec)
}

struct Part {
    let name: String
    let target: Double
    let motte: () throws -> Double
    let grdb: () throws -> Double
}

final class Bench {
    let folder: URL
    let objects: Int
    let data: PersonData
    let realm: Realm
    let queue: DatabaseQueue
    private var files = 0

    init(objects: Int) throws {
        self.objects = objects
        data = PersonData(count: objects)
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("motte-swift-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        realm = try Realm(configuration: Bench.configuration(folder.appendingPathComponent("persons.motte")))
        queue = try Bench.database(folder.appendingPathComponent("persons.sqlite"))
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    static func configuration(_ url: URL) -> Realm.Configuration {
        Realm.Configuration(fileURL: url, objectTypes: [Person.self])
    }

    static func database(_ url: URL) throws -> DatabaseQueue {
        var configuration = GRDB.Configuration()
        configuration.journalMode = .wal
        // As durable as Motte's commits.
        configuration.prepareDatabase { try $0.execute(sql: "PRAGMA synchronous = FULL") }
        let queue = try DatabaseQueue(path: url.path, configuration: configuration)
        try queue.write { try PersonRecord.createTable($0) }
        return queue
    }

    private func freshURL(_ suffix: String) -> URL {
        files += 1
        return folder.appendingPathComponent("fresh-\(files).\(suffix)")
    }

    // MARK: Filling

    func fillMotte() throws {
        try realm.write { for index in 0 ..< objects { realm.add(Person(data, index)) } }
    }

    func fillGRDB() throws {
        try queue.write { database in
            for index in 0 ..< objects { try PersonRecord(data, index).insert(database) }
        }
    }

    // MARK: Parts

    /// One property of one object again and again; of GRDB a column of a fetched row.
    func readInt(_ count: Int) -> Double {
        guard let person = realm.object(ofType: Person.self, forPrimaryKey: objects / 2) else { return .nan }
        var sum = 0
        let time = nanoseconds(per: count) { for _ in 0 ..< count { sum &+= person.age } }
        keep(sum)
        return sum == count * data.ages[objects / 2] ? time : .nan
    }

    func readDouble(_ count: Int) -> Double {
        guard let person = realm.object(ofType: Person.self, forPrimaryKey: objects / 2) else { return .nan }
        var sum = 0.0
        let time = nanoseconds(per: count) { for _ in 0 ..< count { sum += person.score } }
        keep(sum)
        return time
    }

    func readString(_ count: Int) -> Double {
        guard let person = realm.object(ofType: Person.self, forPrimaryKey: objects / 2) else { return .nan }
        var sum = 0
        let time = nanoseconds(per: count) { for _ in 0 ..< count { sum &+= person.name.utf8.count } }
        keep(sum)
        return time
    }

    func readRow(_ count: Int, _ read: (Row) -> Void) throws -> Double {
        let row = try queue.read { database in
            try Row.fetchOne(database, sql: "SELECT * FROM person WHERE id = ?", arguments: [objects / 2])
        }
        guard let row else { throw BenchError(description: "the row is missing") }
        return nanoseconds(per: count) { for _ in 0 ..< count { read(row) } }
    }

    private(set) var sums: Set<Double> = []

    func iterateMotte() -> Double {
        var (ages, scores) = (0, 0.0)
        let time = nanoseconds(per: objects) {
            for person in realm.objects(Person.self) {
                ages &+= person.age
                scores += person.score
            }
        }
        sums.insert(Double(ages) + scores)
        return time
    }

    func iterateRecords() throws -> Double {
        var (ages, scores) = (0, 0.0)
        let time = try nanoseconds(per: objects) {
            try queue.read { database in
                let persons = try PersonRecord.fetchCursor(database)
                while let person = try persons.next() {
                    ages &+= person.age
                    scores += person.score
                }
            }
        }
        sums.insert(Double(ages) + scores)
        return time
    }

    /// Two columns, without records: the least that GRDB can do.
    func iterateRows() throws -> Double {
        var (ages, scores) = (0, 0.0)
        let time = try nanoseconds(per: objects) {
            try queue.read { database in
                let rows = try Row.fetchCursor(database, sql: "SELECT age, score FROM person")
                while let row = try rows.next() {
                    ages &+= row[0] as Int
                    scores += row[1] as Double
                }
            }
        }
        sums.insert(Double(ages) + scores)
        return time
    }

    /// With making the objects and with the durable commit.
    func addMotte(_ count: Int) throws -> Double {
        let realm = try Realm(configuration: Bench.configuration(freshURL("motte")))
        let time = try nanoseconds(per: count) {
            try realm.write { for index in 0 ..< count { realm.add(Person(data, index)) } }
        }
        guard realm.objects(Person.self).count == count else { return .nan }
        return time
    }

    /// The same of objects that are there.
    func addReadyMotte(_ count: Int) throws -> Double {
        let realm = try Realm(configuration: Bench.configuration(freshURL("motte")))
        let persons = (0 ..< count).map { Person(data, $0) }
        return try nanoseconds(per: count) { try realm.write { realm.add(persons) } }
    }

    func addGRDB(_ count: Int) throws -> Double {
        let queue = try Bench.database(freshURL("sqlite"))
        return try nanoseconds(per: count) {
            try queue.write { database in
                for index in 0 ..< count { try PersonRecord(data, index).insert(database) }
            }
        }
    }

    func createMotte(_ count: Int) -> Double {
        nanoseconds(per: count) { for _ in 0 ..< count { keep(Person()) } }
    }

    func createFilledMotte(_ count: Int) -> Double {
        nanoseconds(per: count) { for index in 0 ..< count { keep(Person(data, index % objects)) } }
    }

    func createGRDB(_ count: Int) -> Double {
        nanoseconds(per: count) { for index in 0 ..< count { keep(PersonRecord(data, index % objects)) } }
    }

    func parts() -> [Part] {
        let reads = 2_000_000
        let adds = min(objects, 100_000)
        return [
            Part(name: "read an Int property", target: 10) {
                self.readInt(reads)
            } grdb: {
                try self.readRow(reads) { keep($0[2] as Int) }
            },
            Part(name: "read a Double property", target: 10) {
                self.readDouble(reads)
            } grdb: {
                try self.readRow(reads) { keep($0[3] as Double) }
            },
            Part(name: "read a String property", target: .nan) {
                self.readString(reads)
            } grdb: {
                try self.readRow(reads) { keep(($0[1] as String).utf8.count) }
            },
            Part(name: "iterate, 2 properties; records", target: 60, motte: iterateMotte, grdb: iterateRecords),
            Part(name: "iterate, 2 properties; bare rows", target: 60, motte: iterateMotte, grdb: iterateRows),
            Part(name: "add, objects made on the way", target: 1_000) {
                try self.addMotte(adds)
            } grdb: {
                try self.addGRDB(adds)
            },
            Part(name: "add, objects ready", target: 1_000) {
                try self.addReadyMotte(adds)
            } grdb: {
                try self.addGRDB(adds)
            },
            Part(name: "create unmanaged", target: 150) {
                self.createMotte(reads)
            } grdb: {
                self.createGRDB(reads)
            },
            Part(name: "create unmanaged, set 6 properties", target: .nan) {
                self.createFilledMotte(reads)
            } grdb: {
                self.createGRDB(reads)
            },
        ]
    }
}

@main struct SwiftBench {
    static func main() throws {
        var arguments = CommandLine.arguments.dropFirst()
        func value(_ name: String) -> String? {
            guard let index = arguments.firstIndex(of: name), index + 1 < arguments.endIndex else { return nil }
            defer { arguments.removeSubrange(index ... index + 1) }
            return arguments[index + 1]
        }
        let objects = value("--objects").flatMap { Int($0) } ?? 1_000_000
        let rounds = value("--rounds").flatMap { Int($0) } ?? 5
        let bench = try Bench(objects: objects)
        if let only = value("--only") { return try run(only, bench, rounds) }
        guard arguments.allSatisfy({ $0 == "--cpu" }) else {
            throw BenchError(description: "unknown arguments: \(Array(arguments))")
        }
        try bench.fillMotte()
        try bench.fillGRDB()
        print("\(objects) objects, \(rounds) rounds; medians in ns per operation\n")
        print("| what | Motte | GRDB | ratio | target |\n|---|---:|---:|---:|---:|")
        for part in bench.parts() {
            var (motte, grdb): ([Double], [Double]) = ([], [])
            for _ in 0 ..< rounds {
                motte.append(try part.motte())
                grdb.append(try part.grdb())
            }
            let (ours, theirs) = (median(motte), median(grdb))
            let target = part.target.isNaN ? "" : number(part.target)
            print("| \(part.name) | \(number(ours)) | \(number(theirs)) | \(number(ours / theirs)) | \(target) |")
        }
        guard bench.sums.count == 1 else { throw BenchError(description: "the sums differ: \(bench.sums)") }
    }

    /// One part of Motte's, `rounds` times.
    static func run(_ name: String, _ bench: Bench, _ rounds: Int) throws {
        let count = bench.objects
        if !["create", "filled", "add", "ready"].contains(name) { try bench.fillMotte() }
        for _ in 0 ..< rounds {
            switch name {
            case "read": print(bench.readInt(count))
            case "double": print(bench.readDouble(count))
            case "string": print(bench.readString(count))
            case "iterate": print(bench.iterateMotte())
            case "add": print(try bench.addMotte(count))
            case "ready": print(try bench.addReadyMotte(count))
            case "filled": print(bench.createFilledMotte(count))
            case "create": print(bench.createMotte(count))
            case "none": break
            default: throw BenchError(description: "no part is called \(name)")
            }
        }
    }

    static func median(_ values: [Double]) -> Double {
        let sorted = values.sorted()
        return sorted.isEmpty ? .nan : sorted[sorted.count / 2]
    }

    static func number(_ value: Double) -> String { String(format: value < 100 ? "%.1f" : "%.0f", value) }
}
