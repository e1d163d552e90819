/// The conformance cases in Swift: every file of Tests/Conformance is a test of the engine, over ordinary and over tiny
/// row groups, and one of the Swift API.
///
/// C and Python run the same files (docs/testing.md). Cases that a runner cannot do are in conformance-skips.txt.
import Foundation
import Testing

@Suite struct ConformanceTests {
    private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("Conformance")

    static let cases = cases(without: skips(""))
    static let swiftCases = cases(without: skips("swift "))

    private static func cases(without skipped: Set<String>) -> [String] {
        let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)
        return (files?.compactMap { ($0 as? URL)?.path } ?? [])
            .filter { $0.hasSuffix(".steps") && !skipped.contains(name(of: $0)) }
            .sorted()
    }

    /// The names behind a prefix.
    private static func skips(_ prefix: String) -> Set<String> {
        let here = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        let file = here.appendingPathComponent("conformance-skips.txt")
        let text = (try? String(contentsOf: file, encoding: .utf8)) ?? ""
        let lines = text.split(separator: "\n").filter { !$0.hasPrefix("#") && $0.hasPrefix(prefix) }
        return Set(lines.map { $0.dropFirst(prefix.count).prefix { $0 != ":" } }.map(String.init))
    }

    private static func name(of path: String) -> String {
        URL(fileURLWithPath: path).deletingPathExtension().lastPathComponent
    }

    @Test func thereAreCases() { #expect(Self.cases.count >= 50) }

    @Test(arguments: cases)
    func behaves(_ file: String) throws { try run(file, rowGroupSize: nil) }

    @Test(arguments: cases)
    func behavesOverTinyRowGroups(_ file: String) throws { try run(file, rowGroupSize: 3) }

    #if canImport(Motte)
    @Test(arguments: swiftCases)
    func behavesThroughTheSwiftAPI(_ file: String) throws {
        try inAThread { try run(file, rowGroupSize: nil, SwiftDriver()) }
    }

    /// Whose run loop nobody else turns. `body` escapes: the thread lets go of it only after it has said that it is
    /// done.
    private func inAThread(_ body: @escaping () throws -> Void) throws {
        nonisolated(unsafe) let body = body
        nonisolated(unsafe) var outcome: Result<Void, any Error> = .success(())
        let done = DispatchSemaphore(value: 0)
        let thread = Thread {
            outcome = Result { try body() }
            done.signal()
        }
        thread.stackSize = 8 << 20
        thread.start()
        done.wait()
        try outcome.get()
    }
    #endif

    private func run(_ file: String, rowGroupSize: Int?, _ driver: CaseDriver = CaseDriver()) throws {
        let text = try String(contentsOfFile: file, encoding: .utf8)
        try CaseRunner(name: Self.name(of: file), rowGroupSize: rowGroupSize, driver).run(text)
    }
}
