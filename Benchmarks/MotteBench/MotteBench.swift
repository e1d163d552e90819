/// The workloads of docs/BENCHMARKS.md on Motte, SQLite and raw LMDB in one run: medians of interleaved rounds, the
/// ratio to the best peer, and the target scaled by how fast SQLite is on this machine today.
///
///     MotteBench [--rows 1000000] [--rounds 3] [--only motte|sealed|sqlite|lmdb] [--workloads W1,W2]
///                [--row-group 480]
///     MotteBench --growth 1000000
///     MotteBench --groups 1000
///     MotteBench --pairs 400          small commits of Motte and of SQLite in turns; with --relaxed not flushed
///     MotteBench --memory 10000000    peaks of memory of large writes
///     MotteBench --queries 15         queries beside SQLite and beside plain columns in memory, so many rounds
///     MotteBench --all                the workloads, then memory, growth and groups
import Glibc

@main struct MotteBench {
    static func main() {
        var rows = 1_000_000
        var rounds = 3
        var only: String?
        var commits: Int?
        var groups: Int?
        var pairs: Int?
        var memoryRows: Int?
        var queryRounds: Int?
        var rowGroupSize: Int?
        var isEverything = false
        var isLoadPeak = false
        var isRelaxed = false
        var workloads: Set<String>?
        var arguments = CommandLine.arguments.dropFirst().makeIterator()
        while let option = arguments.next() {
            switch option {
            case "--rows": rows = arguments.next().flatMap { Int($0) } ?? rows
            case "--rounds": rounds = arguments.next().flatMap { Int($0) } ?? rounds
            case "--growth": commits = arguments.next().flatMap { Int($0) } ?? 100_000
            case "--groups": groups = arguments.next().flatMap { Int($0) } ?? 1_000
            case "--pairs": pairs = arguments.next().flatMap { Int($0) } ?? 400
            case "--queries": queryRounds = arguments.next().flatMap { Int($0) } ?? 15
            case "--memory": memoryRows = arguments.next().flatMap { Int($0) }
            case "--relaxed": isRelaxed = true
            case "--all": isEverything = true
            case "--row-group": rowGroupSize = arguments.next().flatMap { Int($0) }
            // What this program runs itself as, for W18.
            case "--load-peak": isLoadPeak = true
            case "--only": only = arguments.next()
            case "--workloads": workloads = arguments.next().map { Set($0.split(separator: ",").map(String.init)) }
            default:
                print("usage: MotteBench [--rows 1000000] [--rounds 3] [--only motte|sealed|sqlite|lmdb]")
                print("                  [--workloads W1,W2] [--row-group 480]     (rows per row group)")
                print("       MotteBench --growth 1000000     (commits)")
                print("       MotteBench --groups 1000        (writes of each measurement)")
                print("       MotteBench --pairs 400          (commits, Motte and SQLite in turns)")
                print("                  [--relaxed]         (not flushed; SQLite with synchronous=NORMAL)")
                print("       MotteBench --queries 15         (rounds)")
                print("       MotteBench --memory 10000000")
                print("       MotteBench --all [--rows 1000000] [--rounds 3]")
                exit(option == "--help" ? 0 : 2)
            }
        }
        do {
            if isLoadPeak { return try printMemory(rows: rows, only ?? "motte") }
            if let commits { return try FileGrowth.run(commits: commits) }
            if let groups { return try GroupCommits.run(writes: groups) }
            if let pairs {
                return try CommitPairs(rows: rows, commits: pairs, isRelaxed: isRelaxed).run(rounds: rounds)
            }
            if let queryRounds { return try QueryBench(data: PersonData(count: rows)).run(rounds: queryRounds, only) }
            if let memoryRows { return try MemoryBench(rows: memoryRows).run() }
            try run(rows: rows, rounds: rounds, only: only, workloads, rowGroupSize: rowGroupSize)
            if isEverything {
                print("")
                try MemoryBench(rows: rows * 10).run()
                print("")
                try FileGrowth.run(commits: rows / 10)
                print("")
                try GroupCommits.run(writes: 1_000)
            }
        } catch {
            print("benchmark failed: \(error)")
            exit(1)
        }
    }

    static func run(
        rows: Int, rounds: Int, only: String?, _ workloads: Set<String>?, rowGroupSize: Int?
    ) throws {
        print("\(rows) objects, medians of \(rounds) interleaved rounds")
        let data = PersonData(count: rows)
        var results: [String: [String: [Double]]] = [:]
        var peaks: [String: [String: [Double]]] = [:]
        var answers: [String: [String: String]] = [:]
        for round in 1 ... rounds {
            // In turns: who comes first finds fresh memory, and who comes last what all others have left.
            let order = round % 2 == 1 ? makers(rowGroupSize) : makers(rowGroupSize).reversed()
            for (key, make) in order where only == nil || only == key {
                let engine = make()
                print("round \(round): \(engine.name)")
                let folder = try makeFolder()
                defer { removeFolder(folder) }
                let session = EnginePass(data: data, folder: folder, workloads)
                try session.measure(engine)
                engine.close()
                for (workload, value) in session.figures {
                    results[workload, default: [:]][engine.name, default: []].append(value)
                }
                if workloads?.isDisjoint(with: ["W18", "W18q"]) != true {
                    let (peak, after) = try memory(rows: rows, key)
                    results["W18", default: [:]][engine.name, default: []].append(peak)
                    results["W18q", default: [:]][engine.name, default: []].append(after)
                }
                for (workload, value) in session.peaks {
                    peaks[workload, default: [:]][engine.name, default: []].append(value)
                }
                for (question, answer) in session.answers { answers[question, default: [:]][engine.name] = answer }
            }
        }
        report(results)
        report(peaks: peaks)
        try compare(answers)
    }

    /// nil: as many rows per row group as files have otherwise.
    static func makers(_ rowGroupSize: Int? = nil) -> [(String, () -> any Engine)] {
        let forms: [(String, MotteEngine.Form)] = [("motte", .plain), ("sealed", .sealed)]
        return forms.map { name, form in (name, { MotteEngine(form, rowGroupSize: rowGroupSize) }) }
            + [("sqlite", { SQLiteEngine() }), ("lmdb", { LMDBEngine() })]
    }

    /// In MB. Measured in a new process: here engines would find memory that those before them have left.
    static func memory(rows: Int, _ engine: String) throws -> (peakOfLoad: Double, afterReads: Double) {
        guard let pipe = popen("/proc/\(getpid())/exe --load-peak --rows \(rows) --only \(engine)", "r") else {
            throw BenchError("cannot start a process")
        }
        var line = [CChar](repeating: 0, count: 64)
        let isRead = fgets(&line, Int32(line.count), pipe) != nil
        let text = String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        let bytes = text.split(whereSeparator: \.isWhitespace).compactMap { Double($0) }
        guard pclose(pipe) == 0, isRead, bytes.count == 2 else { throw BenchError("no peak of a load by \(engine)") }
        return (bytes[0] / 1e6, bytes[1] / 1e6)
    }

    static func printMemory(rows: Int, _ name: String) throws {
        guard let make = makers().first(where: { $0.0 == name })?.1 else { throw BenchError("no engine \(name)") }
        let folder = try makeFolder()
        defer { removeFolder(folder) }
        let engine = make()
        let (peak, after) = try EnginePass(data: PersonData(count: rows), folder: folder, nil).memory(engine)
        print(peak, after)
        engine.close()
    }

    static func report(_ results: [String: [String: [Double]]]) {
        print("")
        print(
            row([
                "", "", "unit", "Motte", "encrypted", "SQLite", "LMDB", "best peer/Motte",
                "target today", "",
            ]))
        for workload in Workload.all {
            guard let measured = results[workload.key] else { continue }
            let motte = median(measured["Motte"] ?? [])
            let sealed = median(measured["Motte sealed"] ?? [])
            let sqlite = median(measured["SQLite"] ?? [])
            let lmdb = median(measured["LMDB"] ?? [])
            let peers = [sqlite, lmdb].filter { !$0.isNaN }
            let peer = (workload.isMoreBetter ? peers.max() : peers.min()) ?? .nan
            let isMet = { (target: Double) in workload.isMoreBetter ? motte >= target : motte <= target }
            let today =
                measured[workload.referenceEngine].map { workload.target * median($0) / workload.reference }
                ?? workload.target
            print(
                row([
                    workload.key, workload.title, workload.unit, short(motte), short(sealed), short(sqlite),
                    short(lmdb), short(workload.isMoreBetter ? motte / peer : peer / motte) + "x",
                    short(today), motte.isNaN ? "" : isMet(today) ? "met" : "MISSED",
                ]))
        }
    }

    static func report(peaks: [String: [String: [Double]]]) {
        print("\npeak memory beyond what there was before, mapped pages included, MB")
        for workload in Workload.all {
            guard let measured = peaks[workload.key] else { continue }
            let names = ["Motte", "Motte sealed", "SQLite", "LMDB"]
            print(row([workload.key, workload.title, "MB"] + names.map { short(median(measured[$0] ?? [])) }))
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
        let widths = [11, 42, 10, 10, 10, 10, 10, 16, 13, 6]
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
