/// Regular expressions: which are refused, and how long they take. What they mean is compared with Python's in the
/// tests of the Python package.
import Foundation
import MotteColumns
import MotteValues
import TestSupport
import Testing

@Suite struct RegularExpressionTests {
    static func matches(_ pattern: String, _ text: String, ignoresCase: Bool = false) throws -> Bool {
        try RegularExpression(pattern, ignoresCase: ignoresCase).matches(text)
    }

    @Test(arguments: [
        ("a{1000}", true), ("a{1001}", false), ("(a{10}){100}", false), ("(a{10}){90}", true), ("a{40}{40}", false),
        ("((a{0,20}){20}){20}", false), ("[]a{9}]{999}", true), ("\\x{41}{999}", true), ("\\p{Lu}\\x{1F600}*", true),
        ("[[:alpha:]{2000}]", true), ("[\\]{2000}]", true), ("[\\Q]{2000}\\E]", true), ("a{,9}", true), ("a{x}", true),
        ("\\Qa{2000}\\E", true), ("(?<name>a|b)(?P<other>c)", true), ("(?i)a(?-i:b)(?s:.)", true), ("a??b*?c+?", true),
        ("(?#a note (?=)a", true), ("a++", false), ("a?+", false), ("a{2}+", false), ("(?>a)", false), ("(?=a)", false),
        ("(?!a)", false), ("(?<=a)", false), ("(?<!a)", false), ("(a)\\1", false), ("(?<n>a)\\k<n>", false),
        ("(?R)", false), ("(?1)", false), ("(?&n)", false), ("(?P=n)", false), ("(?(1)a)", false), ("(?C1)a", false),
        ("(*COMMIT)a", false), ("(?x)a #", false), ("\\R", false), ("\\X", false), ("\\C", false), ("a\\Kb", false),
        ("(", false), (")", false), ("[a", false), ("*", false), ("\\", false), ("[z-a]", false), ("\\p{Nope}", false),
        ("(?", false), ("(?<", false), ("(?i", false), ("\\Q", true), ("", true), ("\u{0}", true), ("a|", true),
    ])
    func whichPatternsThereAre(pattern: String, isUsable: Bool) {
        do throws(DatabaseError) {
            _ = try RegularExpression(pattern, ignoresCase: false)
            #expect(isUsable, "\(pattern) was taken")
        } catch {
            #expect(!isUsable, "\(pattern): \(error.message)")
            #expect(error.code == .queryArgument)
            #expect(error.message.contains("MATCHES"))
        }
    }

    @Test func longPatternsAreRefused() throws {
        #expect(throws: DatabaseError.self) { try Self.matches(String(repeating: "a", count: 1_001), "a") }
        #expect(throws: DatabaseError.self) { try Self.matches("\\Q" + String(repeating: "a", count: 20_000), "a") }
        let nested = String(repeating: "(", count: 4_000) + String(repeating: ")", count: 4_000)
        #expect(throws: DatabaseError.self) { try Self.matches(nested, "a") }
        let class_ = "[" + String(repeating: "a", count: 9_990) + "]*"
        #expect(try Self.matches(class_, "aaa"))
    }

    @Test func bytesThatAreNoTextDoNotMatch() throws {
        let expression = try RegularExpression(".*", ignoresCase: false)
        for bytes: [UInt8] in [[0xFF], [0x61, 0xC3], [0xED, 0xA0, 0x80], [0xF5, 0x80, 0x80, 0x80]] {
            #expect(bytes.withUnsafeBytes { !expression.matches($0) })
        }
        #expect([UInt8]().withUnsafeBytes { expression.matches($0) })
    }

    /// Backtracking would take longer than there is time for each of these.
    @Test(arguments: [
        "(a+)+[bc]", "(a|aa)+[bc]", "(a|a?)+[bc]", "(.*a){12}[bc]", "(a*)*[bc]", "(a?){300}a{300}[bc]",
        "((a+)?(a*)+)+[bc]", ".*.*.*.*.*.*=[bc]",
    ])
    func timeFollowsTheText(pattern: String) throws {
        let expression = try RegularExpression(pattern, ignoresCase: false)
        func steps(_ count: Int) -> Duration {
            let text = String(repeating: "a", count: count)
            let clock = ContinuousClock()
            return (0 ..< 3).map { _ in clock.measure { #expect(!expression.matches(text)) } }.min() ?? .zero
        }
        // Twice the text takes about twice the time, and four times would not be seen here for reasons of chance.
        _ = steps(100)
        let (short, long) = (steps(1_000), steps(8_000))
        #expect(long < short * 40 + .milliseconds(20), "\(short) and \(long)")
    }

    /// No pattern takes more room than was kept for it, whatever it is.
    @Test func randomPatternsHaveRoomEnough() throws {
        let parts = [
            "a", "b", ".", "[ab]", "(", ")", "|", "*", "+", "?", "{2}", "{0,30}", "{3,}", "\\w", "\\b", "^", "$", "(?:",
            "a?", "(a*)*", "(a|b|)", "é",
        ]
        var usable = 0
        try PropertyTest.run(rounds: 3_000) { random, comment in
            var pattern = ""
            for _ in 0 ..< 1 + random.below(14) { pattern += random.pick(parts) }
            let closing = pattern.filter { $0 == "(" }.count - pattern.filter { $0 == ")" }.count
            if closing > 0 { pattern += String(repeating: ")", count: closing) }
            guard let expression = try? RegularExpression(pattern, ignoresCase: random.chance(30)) else { return }
            usable += 1
            // Longer than backtracking follows.
            let short = String(repeating: "ab", count: random.below(6))
            let long = String(repeating: random.pick(["a", "ab", "aab", "é"]), count: 50 + random.below(200))
            for text in [short, long + short, long + "!"] {
                _ = expression.matches(text)
                #expect(expression.hasRoom(for: text), "\(pattern) and \(text.count) letters; \(comment)")
            }
        }
        #expect(usable > 30)
    }

    /// Both forms of a pattern match the same.
    @Test func whatIsWrittenOtherwiseMeansTheSame() throws {
        let atoms = [
            "a", "b", "é", ".", "[ab]", "[^a]", "[[:alpha:]é]", "\\w", "\\x61", "\\x{62}", "\\141", "\\0", "\\Qa+\\E",
            "\\Q(\\E",
            "(?i:A|b)", "(a|é)", "(?:)", "\\p{L}", "\\pN", "\\+", "(?#note)a",
        ]
        let repeats = ["", "", "+", "+?", "*", "?", "{2,}", "{0,}", "{1,}?", "{1,3}", "{2}{1,2}", "+{2}", "{,2}"]
        let letters = ["a", "b", "é", "+", "(", "1", "\0", "\n", "{", "A"]
        var found = 0
        try PropertyTest.run(rounds: 2_000) { random, comment in
            var pattern = ""
            for _ in 0 ..< 1 + random.below(4) {
                let piece = random.pick(atoms) + random.pick(repeats)
                pattern += random.chance(20) ? "(\(piece)|b)" + random.pick(repeats) : piece
            }
            var syntax = RegularExpressionSyntax(Array(pattern.utf8))
            guard let expression = try? RegularExpression(pattern, ignoresCase: false), (try? syntax.scan()) != nil
            else { return }
            let other = try RegularExpression(String(decoding: syntax.steady, as: UTF8.self), ignoresCase: false)
            for _ in 0 ..< 20 {
                let text = (0 ..< random.below(8)).map { _ in random.pick(letters) }.joined()
                let matches = expression.matches(text)
                #expect(other.matches(text) == matches, "\(pattern) and \(text.debugDescription); \(comment)")
                if matches { found += 1 }
            }
        }
        #expect(found > 50)
    }
}

extension RegularExpression {
    func matches(_ text: String) -> Bool {
        var text = text
        return text.withUTF8 { matches(UnsafeRawBufferPointer($0)) }
    }

    func hasRoom(for text: String) -> Bool {
        var text = text
        return text.withUTF8 { status(UnsafeRawBufferPointer($0)) >= 0 }
    }
}
