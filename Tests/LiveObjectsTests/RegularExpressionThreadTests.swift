/// A regular expression that several threads match texts with, some of which take its one slow way.
import MotteColumns
import Testing

@Suite struct RegularExpressionThreadTests {
    private static func matches(_ expression: RegularExpression, _ text: String) -> Bool {
        var text = text
        return text.withUTF8 { expression.matches(UnsafeRawBufferPointer($0)) }
    }

    @Test func oneExpressionServesManyThreads() async throws {
        let expression = try RegularExpression("(a|aa)+[bc]|.*x.*", ignoresCase: false)
        let texts = (0 ..< 60).map { String(repeating: "a", count: $0) + ["b", "d", "x"][$0 % 3] }
        let expected = texts.enumerated().map { $0.offset % 3 == 2 || ($0.offset % 3 == 0 && $0.offset > 0) }
        await withTaskGroup(of: Bool.self) { group in
            for _ in 0 ..< 4 {
                group.addTask { (0 ..< 20).allSatisfy { _ in texts.map { Self.matches(expression, $0) } == expected } }
            }
            for await isRight in group { #expect(isRight) }
        }
    }
}
