// The fuzz targets on their seeds, on random changes of them and on every input that once was a finding: so what the
// fuzzer found stays found in every build, under the sanitizers too.
import MotteFuzz
import TestSupport
import Testing

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

@Suite(.serialized) struct FuzzTests {
    /// `Fuzz/kept`, beside which the sources of this file are.
    private static let kept: String = {
        var parts = #filePath.split(separator: "/", omittingEmptySubsequences: false)
        parts.removeLast(3)
        return parts.joined(separator: "/") + "/Fuzz/kept"
    }()

    private static func names(in folder: String) -> [String] {
        guard let stream = opendir(folder) else { return [] }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            names.append(
                withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                    String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
                })
        }
        return names.filter { !$0.hasPrefix(".") }.sorted()
    }

    private static func read(_ path: String) throws -> [UInt8] {
        let file = try #require(fopen(path, "r"))
        defer { fclose(file) }
        var bytes: [UInt8] = []
        while case let byte = fgetc(file), byte != EOF { bytes.append(UInt8(truncatingIfNeeded: byte)) }
        return bytes
    }

    private func run(_ target: FuzzTarget, _ input: [UInt8], _ comment: String) {
        do {
            try input.withUnsafeBytes { try target.run($0) }
        } catch {
            Issue.record("\(target.name): \(error); \(comment)")
        }
    }

    @Test func whatOnceWasFoundStaysMended() throws {
        let folders = Self.names(in: Self.kept)
        #expect(!folders.isEmpty)
        for folder in folders {
            let target = try #require(FuzzTarget.named(folder), "Fuzz/kept/\(folder) belongs to no target")
            for name in Self.names(in: "\(Self.kept)/\(folder)") {
                run(target, try Self.read("\(Self.kept)/\(folder)/\(name)"), "Fuzz/kept/\(folder)/\(name)")
            }
        }
    }

    @Test(arguments: FuzzTarget.all.map(\.name))
    func seedsAndWhatLiesAroundThem(name: String) throws {
        let target = try #require(FuzzTarget.named(name))
        let seeds = try target.seeds()
        #expect(!seeds.isEmpty)
        // Some of them: they are there to begin from.
        for number in stride(from: 0, to: seeds.count, by: seeds.count / 40 + 1) {
            run(target, seeds[number], "seed \(number)")
        }
        try PropertyTest.run(rounds: 40) { random, comment in
            var input = random.pick(seeds)
            for _ in 0 ..< 1 + random.below(4) where !input.isEmpty {
                input[random.below(input.count)] = UInt8(truncatingIfNeeded: random.next())
            }
            if random.chance(10) { input.removeLast(random.below(input.count)) }
            run(target, input, comment)
        }
    }

    /// More of them in `make soak`. What never ends ends the process, with a word how to repeat it.
    @Test func filesChangedFieldByField() throws {
        var rounds = 0
        try PropertyTest.run(rounds: 100) { random, comment in
            var input = [UInt8(random.below(2))]
            for _ in 0 ..< (random.chance(70) ? 1 : 2 + random.below(3)) {
                for _ in 0 ..< 5 { input.append(UInt8(random.below(256))) }
            }
            fflush(nil)
            FileFieldAlarm.set(120, comment)
            run(.storeFields, input, comment)
            FileFieldAlarm.set(0, "")
            rounds += 1
        }
        print("note: \(rounds) files changed field by field are errors or data")
    }

    /// Fields of every page and value that a file has, so that none is left out when the format grows.
    @Test func everyKindOfFieldIsChanged() throws {
        let names = try StoreFieldsFuzz.names()
        for kind in [
            "head page bytes", "slot level", "slot entries", "slot branches", "slot leaves", "slot extents",
            "slot WAL pages", "slot log steps", "older slot version", "branch entries", "branch key's end",
            "child page", "leaf offset", "leaf value bytes", "extent byte count", "record bytes", "record entries",
            "header rows per row group", "schema table", "schema type", "state next key", "state live rows",
            "open row group rows", "open row group bitmap", "open row group's chunk rows", "chunk rows",
            "chunk width", "chunk's elements rows",
            "bitmap rows", "bitmap word", "list node children", "list node child's elements", "list leaf rows",
            "index block entries", "index block value width", "long value byte", "commit sections",
            "commit section bytes",
        ] { #expect(names.contains { $0.hasPrefix(kind) }, "\(kind)") }
    }

    /// Where pages have no checksums, as in memory: what is stored under each kind of key says by itself
    /// that it is damaged. Of an open row group what lies between its chunks has no meaning, of a node of a long list
    /// four zeros have none.
    @Test func aFlippedBitOfEveryKindOfValueIsFound() throws {
        let entries = StoreContentFuzz.entries
        var random = SeededRandom(seed: PropertyTest.firstSeed)
        var found: [UInt8: Int] = [:], tried: [UInt8: Int] = [:]
        #expect(try StoreContentFuzz.problemCount(0, entries[0].value) == 0)
        for (index, entry) in entries.enumerated() where index % 4 == 0 || (tried[entry.key[0]] ?? 0) < 8 {
            // Not fewer: some kinds have one value only, and of open row groups some bits have no meaning.
            for _ in 0 ..< max(8, TestScale.times(4)) {
                var value = entry.value
                value[random.below(value.count)] ^= 1 << UInt8(random.below(8))
                tried[entry.key[0], default: 0] += 1
                if try StoreContentFuzz.problemCount(index, value) > 0 { found[entry.key[0], default: 0] += 1 }
            }
        }
        for space: UInt8 in [0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x7F] {
            let (found, tried) = (found[space] ?? 0, tried[space] ?? 0)
            #expect(tried >= TestScale.times(4) && found * 2 > tried, "\(space): \(found) of \(tried)")
            #expect([0x03, 0x06].contains(space) || found == tried, "\(space): \(found) of \(tried)")
        }
        print("note: of \(tried.values.reduce(0, +)) bits flipped in values \(found.values.reduce(0, +)) were found")
    }

    @Test func aTargetThatFailsIsNoticed() throws {
        let target = FuzzTarget.alwaysFails
        #expect(throws: Finding.self) { try [UInt8]([1, 2]).withUnsafeBytes { try target.run($0) } }
    }
}

/// Ends a process that hangs.
private enum FileFieldAlarm {
    nonisolated(unsafe) private static var comment: [UInt8] = []  // one test sets it, and its signal reads it

    static func set(_ seconds: UInt32, _ text: String) {
        comment = Array("one file takes too long: \(text)\n".utf8)
        signal(SIGALRM) { _ in
            FileFieldAlarm.comment.withUnsafeBytes { _ = write(2, $0.baseAddress, $0.count) }
            abort()
        }
        alarm(seconds)
    }
}
