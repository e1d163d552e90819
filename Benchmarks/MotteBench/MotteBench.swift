/// The workloads of docs/BENCHMARKS.md on Motte, SQLite and raw LMDB in one run: medians of interleaved rounds, the
/// ratio
/// to the best peer, and the target scaled by how fast SQLite (LMDB where SQLite has no figure) is on this machine
/// today.
///
///     MotteBench [--rows 1000000] [--rounds 3] [--only motte|own|sealed|sqlite|lmdb] [--workloads W1,W2]
///     MotteBench --growth 1000000
///     MotteBench --groups 1000
import Glibc

/// A workload: the figure SQLite (or LMDB) had when the targets were set, and the first target.
struct Workload {
    let key: String
    let title: String
    let unit: String
    let reference: Double
    let referenceEngine: String
    let target: Double

    static let all: [Workload] = [
        Workload(
            key: "W1", title: "bulk insert, 5 properties", unit: "ns/object", reference: 827, referenceEngine: "SQLite",
            target: 240),
        Workload(
            key: "W2", title: "the same with an ascending primary key", unit: "ns/object", reference: 920,
            referenceEngine: "SQLite", target: 400),
        Workload(
            key: "W2f", title: "bulk insert of whole persons", unit: "ns/object", reference: 956,
            referenceEngine: "SQLite", target: 1_500),
        Workload(
            key: "W3", title: "durable commit of one object, p50", unit: "us", reference: 51, referenceEngine: "SQLite",
            target: 160),
        Workload(
            key: "W3 p99", title: "durable commit of one object, p99", unit: "us", reference: 102,
            referenceEngine: "SQLite", target: 320),
        Workload(
            key: "W3 bytes", title: "bytes written by such a commit", unit: "KB", reference: 1, referenceEngine: "",
            target: 33),
        Workload(
            key: "W3 calls", title: "writes of such a commit", unit: "", reference: 1, referenceEngine: "", target: 4),
        Workload(
            key: "W3 flushes", title: "flushes of such a commit", unit: "", reference: 1, referenceEngine: "",
            target: 1),
        Workload(key: "open", title: "open the file", unit: "us", reference: 1, referenceEngine: "", target: 200),
        Workload(
            key: "W4", title: "get by primary key, read 2 properties", unit: "ns", reference: 1_425,
            referenceEngine: "SQLite", target: 1_300),
        Workload(
            key: "W5", title: "iterate all, read age and name", unit: "ns/object", reference: 108,
            referenceEngine: "SQLite", target: 100),
        Workload(key: "W6", title: "count age > 50", unit: "ms", reference: 43, referenceEngine: "SQLite", target: 2),
        Workload(
            key: "W7", title: "count city == X, no index", unit: "ms", reference: 51, referenceEngine: "SQLite",
            target: 4),
        Workload(
            key: "W7i", title: "count city == X, index", unit: "us", reference: 25, referenceEngine: "SQLite",
            target: 30),
        Workload(
            key: "W7i build", title: "build the city index", unit: "ms", reference: 1_339, referenceEngine: "SQLite",
            target: 900),
        Workload(key: "W11", title: "sum(score)", unit: "ms", reference: 47, referenceEngine: "SQLite", target: 4),
        Workload(
            key: "W12", title: "count best_friend.age > 90", unit: "ms", reference: 559, referenceEngine: "SQLite",
            target: 80),
        Workload(
            key: "W13", title: "update one int of a tenth of the objects", unit: "ms", reference: 362,
            referenceEngine: "SQLite", target: 150),
        Workload(
            key: "W17", title: "file size after W2f", unit: "MB", reference: 60, referenceEngine: "SQLite", target: 90),
    ]
}

@main struct MotteBench {
    static func main() {
        var rows = 1_000_000
        var rounds = 3
        var only: String?
        var commits: Int?
        var groups: Int?
        var workloads: Set<String>?
        var arguments = CommandLine.arguments.dropFirst().makeIterator()
        while let option = arguments.next() {
            switch option {
            case "--rows": rows = arguments.next().flatMap { Int($0) } ?? rows
            case "--rounds": rounds = arguments.next().flatMap { Int($0) } ?? rounds
            case "--growth": commits = arguments.next().flatMap { Int($0) } ?? 100_000
            case "--groups": groups = arguments.next().flatMap { Int($0) } ?? 1_000
            case "--only": only = arguments.next()
            case "--workloads": workloads = arguments.next().map { Set($0.split(separator: ",").map(String.init)) }
            default:
                print("usage: MotteBench [--rows 1000000] [--rounds 3] [--only motte|own|sealed|sqlite|lmdb]")
                print("                  [--workloads W1,W2]")
                print("       MotteBench --growth 1000000     (commits)")
                print("       MotteBench --groups 1000        (writes of each measurement)")
                exit(option == "--help" ? 0 : 2)
            }
        }
        do {
            if let commits { return try FileGrowth.run(commits: commits) }
            if let groups { return try GroupCommits.run(writes: groups) }
            try run(rows: rows, rounds: rounds, only: only, workloads)
        } catch {
            print("benchmark failed: \(error)")
            exit(1)
        }
    }

    static func run(rows: Int, rounds: Int, only: String?, _ workloads: Set<String>?) throws {
        print("\(rows) objects, medians of \(rounds) interleaved rounds")
        let data = PersonData(count: rows)
        var results: [String: [String: [Double]]] = [:]
        var answers: [String: [String: String]] = [:]
        let makers: [(String, () -> any Engine)] = [
            ("motte", { MotteEngine(.lmdb) }), ("own", { MotteEngine(.own) }), ("sealed", { MotteEngine(.sealed) }),
            ("sqlite", { SQLiteEngine() }), ("lmdb", { LMDBEngine() }),
        ]
        for round in 1 ... rounds {
            for (key, make) in makers where only == nil || only == key {
                let engine = make()
                print("round \(round): \(engine.name)")
                let folder = try makeFolder()
                defer { removeFolder(folder) }
                var session = EnginePass(data: data, folder: folder, workloads)
                try session.measure(engine)
                engine.close()
                for (workload, value) in session.figures {
                    results[workload, default: [:]][engine.name, default: []].append(value)
                }
                for (question, answer) in session.answers { answers[question, default: [:]][engine.name] = answer }
            }
        }
        report(results)
        try compare(answers)
    }

    static func report(_ results: [String: [String: [Double]]]) {
        print("")
        print(
            row([
                "", "", "unit", "Motte", "own pager", "encrypted", "SQLite", "LMDB", "best peer/Motte", "target today",
                "",
            ]))
        for workload in Workload.all {
            guard let measured = results[workload.key] else { continue }
            let motte = median(measured["Motte"] ?? [])
            let own = median(measured["Motte own"] ?? [])
            let sealed = median(measured["Motte sealed"] ?? [])
            let sqlite = median(measured["SQLite"] ?? [])
            let lmdb = median(measured["LMDB"] ?? [])
            let peer = [sqlite, lmdb].filter { !$0.isNaN }.min() ?? .nan
            let today =
                measured[workload.referenceEngine].map { workload.target * median($0) / workload.reference }
                ?? workload.target
            print(
                row([
                    workload.key, workload.title, workload.unit, short(motte), short(own), short(sealed), short(sqlite),
                    short(lmdb),
                    short(peer / motte) + "x",
                    short(today), motte.isNaN ? "" : motte <= today ? "met" : "MISSED",
                ]))
        }
    }

    /// Engines that answer the same question differently make the run void.
    static func compare(_ answers: [String: [String: String]]) throws {
        for (question, byEngine) in answers where Set(byEngine.values).count > 1 {
            throw BenchError("engines disagree on \(question): \(byEngine)")
        }
        print("\nall engines agree on \(answers.count) answers")
    }

    static func row(_ cells: [String]) -> String {
        let widths = [11, 42, 10, 10, 10, 10, 10, 10, 16, 13, 6]
        return zip(cells, widths).map { cell, width in cell + String(repeating: " ", count: max(1, width - cell.count))
        }.joined()
    }

    static func short(_ value: Double) -> String {
        if value.isNaN { return "-" }
        if value >= 100 { return "\(Int(value.rounded()))" }
        let scaled = (value * 100).rounded() / 100
        return "\(scaled)"
    }
}

/// One engine's pass over all workloads.
struct EnginePass {
    let data: PersonData
    let folder: String
    var figures: [String: Double] = [:]
    var answers: [String: String] = [:]

    init(data: PersonData, folder: String, _ workloads: Set<String>?) {
        self.data = data
        self.folder = folder
        self.workloads = workloads
    }

    /// Not asked for by name: everything.
    private let workloads: Set<String>?
    private func wants(_ workload: String) -> Bool { workloads?.contains(workload) ?? true }
    private var wantsReads: Bool { workloads.map { !$0.isSubset(of: ["W1", "W2", "W3", "W13", "open"]) } ?? true }
    private var wantsMoreThanInserts: Bool { workloads.map { !$0.isSubset(of: ["W1", "W2"]) } ?? true }

    mutating func measure(_ engine: any Engine) throws {
        let count = Double(data.count)
        if wants("W1") { figures["W1"] = try engine.bulkInsert(data, in: folder) / count * 1e9 }
        if wants("W2") { figures["W2"] = try engine.bulkInsertWithKey(data, in: folder) / count * 1e9 }
        // Everything else needs the file of this one.
        guard wantsMoreThanInserts else { return }
        figures["W2f"] = try engine.load(data, in: folder) / count * 1e9
        figures["W17"] = Double(try engine.fileSize()) / 1e6
        if wantsReads { try measureReads(engine) }
        try measureCommits(engine)
        try measureUpdate(engine)
        if let time = try engine.reopening() { figures["open"] = time * 1e6 }
    }

    private mutating func measureReads(_ engine: any Engine) throws {
        var random = SplitMix(state: 7)
        let ids = (0 ..< 200_000).map { _ in Int64(random.below(data.count)) }
        var sum: Int64 = 0
        _ = try engine.find(id: 0)
        figures["W4"] =
            try seconds {
                for id in ids { sum &+= try engine.find(id: id)?.age ?? 0 }
            } / Double(ids.count) * 1e9
        answers["sum of ages found by key"] = "\(sum)"

        var checksum: Int64 = 0
        figures["W5"] = try best(of: 3) { checksum = try engine.iterate() } / Double(data.count) * 1e9
        answers["sum over all"] = "\(checksum)"

        var older = 0
        var inCity = 0
        var friends = 0
        figures["W6"] = try best(of: 5) { older = try engine.countOlder(than: 50) } * 1e3
        figures["W7"] = try best(of: 5) { inCity = try engine.count(city: data.cityNames[17]) } * 1e3
        figures["W12"] = try best(of: 3) { friends = try engine.countFriendsOlder(than: 90) } * 1e3
        var scores = 0.0
        figures["W11"] = try best(of: 5) { scores = try engine.sumScores() } * 1e3
        figures["W7i build"] = try seconds { try engine.indexCities() } * 1e3
        var indexed = 0
        figures["W7i"] =
            try seconds {
                for city in 0 ..< 1_000 { indexed += try engine.count(city: data.cityNames[city]) }
            } / 1_000 * 1e6
        answers["older"] = "\(older)"
        answers["in one city"] = "\(inCity)"
        answers["in all cities"] = "\(indexed)"
        answers["older friends"] = "\(friends)"
        answers["sum of scores"] = "\(Int(scores.rounded()))"
    }

    private mutating func measureCommits(_ engine: any Engine) throws {
        var times: [Double] = []
        let before = try engine.writeCounts()
        for index in 0 ..< 400 {
            times.append(try seconds { try engine.commitOne(id: Int64(data.count + index), data) } * 1e6)
        }
        figures["W3"] = percentile(times, 0.5)
        if let before, let after = try engine.writeCounts() {
            figures["W3 bytes"] = Double(after.bytes - before.bytes) / Double(times.count) / 1e3
            figures["W3 calls"] = Double(after.calls - before.calls) / Double(times.count)
            figures["W3 flushes"] = Double(after.flushes - before.flushes) / Double(times.count)
        }
        figures["W3 p99"] = percentile(times, 0.99)
    }

    private mutating func measureUpdate(_ engine: any Engine) throws {
        var random = SplitMix(state: 11)
        let ids = (0 ..< data.count / 10).map { _ in Int64(random.below(data.count)) }
        figures["W13"] = try seconds { try engine.updateAges(ids: ids) } * 1e3
        answers["older after the update"] = "\(try engine.countOlder(than: 50))"
    }

    /// Warm times: what matters is the work, not the first touch of the page cache.
    private func best(of times: Int, _ body: () throws -> Void) throws -> Double {
        median(try (0 ..< times).map { _ in try seconds(body) })
    }
}
