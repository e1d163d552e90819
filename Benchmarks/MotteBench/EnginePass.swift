/// One engine through all workloads, in the order in which each needs the file of those before it.
import Glibc

final class EnginePass {
    let data: PersonData
    let folder: String
    /// Not asked for by name: everything.
    private let workloads: Set<String>?
    private(set) var figures: [String: Double] = [:]
    /// The most memory a workload took beyond what there was before it, mapped pages included, in MB.
    private(set) var peaks: [String: Double] = [:]
    private(set) var answers: [String: String] = [:]

    private static let commits = 400
    private static let secondsBesideWriter = 2.0

    init(data: PersonData, folder: String, _ workloads: Set<String>?) {
        self.data = data
        self.folder = folder
        self.workloads = workloads
    }

    private func wants(_ names: String...) -> Bool { workloads.map { !$0.isDisjoint(with: names) } ?? true }

    func measure(_ engine: any Engine) throws {
        let count = Double(data.count)
        if wants("W1") {
            try watchingMemory("W1") {
                figures["W1"] = try engine.bulkInsert(data, in: folder) / count * 1e9
            }
        }
        if wants("W2") { try insertWithKeys("W2", (0 ..< Int64(data.count)).map { $0 }, areAscending: true, engine) }
        if wants("W2r") {
            var random = SplitMix(state: 5)
            let ids = (0 ..< data.count).map { _ in Int64(random.next() >> 2) }
            try insertWithKeys("W2r", ids, areAscending: false, engine)
        }
        // Everything else needs the file of this one.
        guard workloads.map({ !$0.isSubset(of: ["W1", "W2", "W2r"]) }) ?? true else { return }
        try watchingMemory("W2f") { figures["W2f"] = try engine.load(data, in: folder) / count * 1e9 }
        figures["W17"] = Double(try engine.fileSize()) / 1e6
        if wants("W4", "W5", "W6", "W7", "W7i", "W11", "W12") { try measureReads(engine) }
        if wants("W3") { try measureCommits("W3", engine, from: data.count) }
        if wants("W3i", "W3t") { try measureEdits(engine) }
        if wants("W13", "W14", "W3a", "W19") { try measureChanges(engine) }
        if wants("W16", "open") { try measureOpening(engine) }
    }

    /// For a process that does nothing else; bytes: the most there was during the load, and memory of its own that is
    /// left of it and of the workloads that read.
    func memory(_ engine: any Engine) throws -> (peakOfLoad: Int, afterReads: Int) {
        let before = ProcessMemory.beginPeak()
        let ownBefore = ProcessMemory.now.anonymous
        _ = try engine.load(data, in: folder)
        let peak = ProcessMemory.peak - before
        try measureReads(engine)
        _ = ProcessMemory.beginPeak()
        return (max(0, peak), max(0, ProcessMemory.now.anonymous - ownBefore))
    }

    private func insertWithKeys(
        _ name: String, _ ids: [Int64], areAscending: Bool, _ engine: any Engine
    ) throws {
        try watchingMemory(name) {
            figures[name] =
                try engine.bulkInsertWithKey(data, ids, areAscending: areAscending, in: folder + "/" + name)
                / Double(data.count) * 1e9
        }
    }

    private func watchingMemory(_ name: String, _ body: () throws -> Void) rethrows {
        let before = ProcessMemory.beginPeak()
        try body()
        peaks[name] = Double(max(0, ProcessMemory.peak - before)) / 1e6
    }

    private func measureReads(_ engine: any Engine) throws {
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

    private func measureCommits(_ name: String, _ engine: any Engine, from first: Int) throws {
        try measureSmall(name, engine) { try engine.commitOne(id: Int64(first + $0), data) }
    }

    /// One int, then one text, of persons all over the file.
    private func measureEdits(_ engine: any Engine) throws {
        var random = SplitMix(state: 17)
        let ids = (0 ..< EnginePass.commits).map { _ in Int64(random.below(data.count)) }
        try measureSmall("W3i", engine) { try engine.updateAges(ids: [ids[$0]]) }
        let names = ids.indices.map { Array(data.names[(ids.count + $0) % data.count]) }
        try measureSmall("W3t", engine) { try engine.rename(id: ids[$0], to: names[$0]) }
        answers["age after an edit"] = "\(try engine.find(id: ids[0])?.age ?? -1)"
    }

    private func measureSmall(_ name: String, _ engine: any Engine, _ commit: (Int) throws -> Void) throws {
        var times: [Double] = []
        let before = try engine.writeCounts()
        for index in 0 ..< EnginePass.commits { times.append(try seconds { try commit(index) } * 1e6) }
        figures[name] = percentile(times, 0.5)
        figures[name + " p99"] = percentile(times, 0.99)
        if let before, let after = try engine.writeCounts() {
            figures[name + " bytes"] = Double(after.bytes - before.bytes) / Double(times.count) / 1e3
            figures[name + " calls"] = Double(after.calls - before.calls) / Double(times.count)
            figures[name + " flushes"] = Double(after.flushes - before.flushes) / Double(times.count)
        }
    }

    private func measureChanges(_ engine: any Engine) throws {
        var random = SplitMix(state: 11)
        let ids = (0 ..< data.count / 10).map { _ in Int64(random.below(data.count)) }
        try watchingMemory("W13") {
            figures["W13"] = try seconds { try engine.updateAges(ids: ids) } * 1e3
        }
        answers["older after the update"] = "\(try engine.countOlder(than: 50))"
        guard wants("W14", "W3a", "W19") else { return }

        var left = (0 ..< Int64(data.count)).map { $0 }
        var gone: [Int64] = []
        for _ in 0 ..< data.count / 10 {
            left.swapAt(random.below(left.count), left.count - 1)
            gone.append(left.removeLast())
        }
        try watchingMemory("W14") { figures["W14"] = try seconds { try engine.delete(ids: gone) } * 1e3 }
        answers["older after deleting"] = "\(try engine.countOlder(than: 50))"
        if wants("W3a") { try measureCommits("W3a", engine, from: data.count + EnginePass.commits) }
        if wants("W19") { try measureBesideWriter(engine, left) }
    }

    private func measureBesideWriter(_ engine: any Engine, _ ids: [Int64]) throws {
        var random = SplitMix(state: 13)
        let reader = RepeatingThread { try engine.makeReader() }
        var commits = 0
        let start = now()
        while now() - start < EnginePass.secondsBesideWriter {
            try engine.updateAges(ids: (0 ..< 100).map { _ in ids[random.below(ids.count)] })
            commits += 1
        }
        let time = now() - start
        figures["W19 commits"] = Double(commits) / time
        figures["W19 reads"] = Double(try reader.stop()) / time
    }

    private func measureOpening(_ engine: any Engine) throws {
        var opening: [Double] = []
        var both: [Double] = []
        for _ in 0 ..< 5 {
            engine.close()
            let start = now()
            try engine.reopen()
            opening.append((now() - start) * 1e6)
            _ = try engine.find(id: Int64(data.count) / 2)
            both.append((now() - start) * 1e6)
        }
        figures["open"] = median(opening)
        figures["W16"] = median(both)
    }

    /// Warm times: what matters is the work, not the first touch of the page cache.
    private func best(of times: Int, _ body: () throws -> Void) throws -> Double {
        median(try (0 ..< times).map { _ in try seconds(body) })
    }
}
