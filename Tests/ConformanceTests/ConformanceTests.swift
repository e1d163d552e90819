/// The conformance cases in Swift: every file of Tests/Conformance is a test, over ordinary and over tiny row groups.
///
/// C and Python run the same files (docs/testing.md). Cases that this runner cannot do are in conformance-skips.txt.
import Foundation
import Testing

@Suite struct ConformanceTests {
    private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("Conformance")

    static let cases: [String] = {
        let skipped = skips()
        let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)
        return (files?.compactMap { ($0 as? URL)?.path } ?? [])
            .filter { $0.hasSuffix(".steps") && !skipped.contains(name(of: $0)) }
            .sorted()
    }()

    private static func skips() -> Set<String> {
        let here = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        let file = here.appendingPathComponent("conformance-skips.txt")
        let text = (try? String(contentsOf: file, encoding: .utf8)) ?? ""
        let names = text.split(separator: "\n").filter { !$0.hasPrefix("#") }.map { $0.prefix { $0 != ":" } }
        return Set(names.map(String.init))
    }

    private static func name(of path: String) -> String {
        URL(fileURLWithPath: path).deletingPathExtension().lastPathComponent
    }

    @Test func thereAreCases() { #expect(Self.cases.count >= 50) }

    @Test(arguments: cases)
    func behaves(_ file: String) throws { try run(file, rowGroupSize: nil) }

    @Test(arguments: cases)
    func behavesOverTinyRowGroups(_ file: String) throws { try run(file, rowGroupSize: 3) }

    private func run(_ file: String, rowGroupSize: Int?) throws {
        let text = try String(contentsOfFile: file, encoding: .utf8)
        try CaseRunner(name: Self.name(of: file), rowGroupSize: rowGroupSize).run(text)
    }
}
