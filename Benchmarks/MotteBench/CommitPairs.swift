/// Small commits, durable or relaxed, of Motte and of SQLite in turns of a few, so that both meet the same machine:
/// W3, W3i and W3t after loading and building the index, then W3 again after W13 and W14. Prints medians, their
/// ratio, what of each commit was the processor's time, and the longest of a hundred.
import Glibc

struct CommitPairs {
    let rows: Int
    let commits: Int
    var isRelaxed = false

    /// Commits of one before the other's turn: few, and yet most of them find what the one before left in the caches.
    private static let turn = 20

    private struct Times {
        var clock: [Double] = []
        var processor: [Double] = []
    }

    func run(rounds: Int) throws {
        let data = PersonData(count: rows)
        let heading = "medians, µs, the processor's part in brackets, and 99 of 100"
        print("\(rows) objects, \(commits) commits of each in turns; \(heading)")
        var ratios: [String: [Double]] = [:]
        for round in 1 ... rounds {
            let folder = try makeFolder()
            defer { removeFolder(folder) }
            let engines: [any Engine] = [
                MotteEngine(.plain, isRelaxed: isRelaxed), SQLiteEngine(isRelaxed: isRelaxed),
            ]
            for engine in engines {
                _ = try engine.load(data, in: folder)
                try engine.indexCities()
            }
            var next = rows
            func insert(_ name: String) throws {
                let first = next
                try measure(name, round, engines, &ratios) { try $0.commitOne(id: Int64(first + $1), data) }
                next += commits
            }
            try insert("W3")
            var random = SplitMix(state: 17)
            let ids = (0 ..< commits).map { _ in Int64(random.below(rows)) }
            try measure("W3i", round, engines, &ratios) { try $0.updateAges(ids: [ids[$1]]) }
            let names = ids.indices.map { Array(data.names[(ids.count + $0) % rows]) }
            try measure("W3t", round, engines, &ratios) { try $0.rename(id: ids[$1], to: names[$1]) }
            let changed = (0 ..< rows / 10).map { _ in Int64(random.below(rows)) }
            let gone = Set((0 ..< rows / 10).map { _ in Int64(random.below(rows)) }).sorted()
            for engine in engines {
                try engine.updateAges(ids: changed)
                try engine.delete(ids: gone)
            }
            try insert("W3a")
            for engine in engines { engine.close() }
        }
        for (name, ratios) in ratios.sorted(by: { $0.key < $1.key }) {
            print("\(name): median ratio \(MotteBench.short(median(ratios)))")
        }
    }

    private func measure(
        _ name: String, _ round: Int, _ engines: [any Engine], _ ratios: inout [String: [Double]],
        _ commit: (any Engine, Int) throws -> Void
    ) throws {
        var times = engines.map { _ in Times() }
        let before = try engines[0].writeCounts()
        for first in stride(from: 0, to: commits, by: CommitPairs.turn) {
            for (number, engine) in engines.enumerated() {
                for index in first ..< min(first + CommitPairs.turn, commits) {
                    let processor = processorSeconds()
                    times[number].clock.append(try seconds { try commit(engine, index) } * 1e6)
                    times[number].processor.append((processorSeconds() - processor) * 1e6)
                }
            }
        }
        let cells = zip(engines, times).map { engine, times in
            "\(engine.name) \(MotteBench.short(median(times.clock))) (\(MotteBench.short(median(times.processor))))"
                + " \(MotteBench.short(percentile(times.clock, 0.99)))"
        }
        let ratio = median(times[0].clock) / median(times[1].clock)
        ratios[name, default: []].append(ratio)
        let longest = percentile(times[0].clock, 0.99) / percentile(times[1].clock, 0.99)
        ratios[name + " 99th", default: []].append(longest)
        var calls = ""
        if let before, let after = try engines[0].writeCounts() {
            calls =
                "  \(MotteBench.short(Double(after.calls - before.calls) / Double(commits))) writes,"
                + " \(MotteBench.short(Double(after.bytes - before.bytes) / Double(commits) / 1e3)) KB"
        }
        print("round \(round) \(name)  \(cells.joined(separator: "  "))  \(MotteBench.short(ratio))x\(calls)")
    }

    private func processorSeconds() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}
