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

    /// Fields of every page and value that a file has, so that none is left out when the format grows.
    @Test func everyKindOfFieldIsChanged() throws {
        let names = try StoreFieldsFuzz.names()
        for kind in [
            "head page bytes", "slot level", "slot entries", "slot branches", "slot leaves", "slot extents",
            "slot journal pages", "slot log steps", "older slot version", "branch entries", "branch key's end",
            "child page", "leaf offset", "leaf value bytes", "extent byte count", "record bytes", "record entries",
            "header rows per cluster", "schema table", "schema type", "state next key", "state live rows",
            "tail rows", "tail bitmap", "tail's chunk rows", "chunk rows", "chunk width", "chunk's elements rows",
            "bitmap rows", "bitmap word", "list node children", "list node child's elements", "list leaf rows",
            "index block entries", "index block value width", "long value byte", "commit sections",
            "commit section bytes",
        ] { #expect(names.contains { $0.hasPrefix(kind) }, "\(kind)") }
    }

    @Test func aTargetThatFailsIsNoticed() throws {
        let target = FuzzTarget.alwaysFails
        #expect(throws: Finding.self) { try [UInt8]([1, 2]).withUnsafeBytes { try target.run($0) } }
    }
}
