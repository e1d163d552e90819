/// The reader and writer of JSON by themselves: what RFC 8259 takes and refuses, and that numbers are exact.
import MotteExchange
import MotteValues
import TestSupport
import Testing

@Suite struct JSONTextTests {
    private func skipAll(_ text: [UInt8]) throws {
        try text.withUnsafeBytes { bytes in
            var reader = JSONReader(bytes)
            _ = try reader.skip()
            guard reader.isAtEnd else { throw reader.failure("something follows") }
        }
    }

    @Test(arguments: [
        "null", "true", " [ ] ", "{}", "-0", "0.5e-7", "1E+10", "\"\\ud83d\\ude00\"", "[1,[2,{\"a\":[]}],\"x\"]",
        "{\"a\":1,\"a\":2}", "\"\u{7F}é\u{2028}\"", "\t\n\r 7",
    ])
    func takes(_ text: String) throws { try skipAll(Array(text.utf8)) }

    @Test(arguments: [
        "", "nul", "nullx", "01", "-", "1.", ".5", "1e", "+1", "0x1F", "NaN", "[1,]", "[,1]", "[1 2]", "{\"a\":1,}",
        "{\"a\" 1}", "{a:1}", "{1:2}", "'x'", "\"a", "\"\n\"", "\"\\x\"", "\"\\u12\"", "\"\\ud800\"", "\"\\udc00x\"",
        "\"\\ud800\\u0041\"", "[", "{\"a\":", "[1}", "// 1", "1 2", "-01", "1.5.2", "truefalse",
    ])
    func refuses(_ text: String) throws {
        #expect(throws: DatabaseError.self, "\(text)") { try skipAll(Array(text.utf8)) }
    }

    @Test func textsAreWellFormedUTF8() throws {
        for bytes: [UInt8] in [[0x80], [0xC0, 0x80], [0xED, 0xA0, 0x80], [0xF5, 0x80, 0x80, 0x80], [0xE2, 0x82]] {
            let error = #expect(throws: DatabaseError.self) { try skipAll([0x22] + bytes + [0x22]) }
            #expect(error?.code == .invalidUTF8)
        }
    }

    @Test func mistakesAreNamedByLineAndColumn() throws {
        let error = #expect(throws: DatabaseError.self) { try skipAll(Array("{\n  \"a\": 1,\n  \"b\": tru\n}".utf8)) }
        #expect(error?.message == "line 3, column 8: expected true, found 'tru'")
    }

    @Test func depthHasALimit() throws {
        let deep = String(repeating: "[", count: 256) + String(repeating: "]", count: 256)
        try skipAll(Array(deep.utf8))
        let error = #expect(throws: DatabaseError.self) {
            try skipAll(Array(String(repeating: "[", count: 100_000).utf8))
        }
        #expect(error?.message.contains("more than 256") == true)
    }

    private func int(_ text: String) -> Int64? {
        Array(text.utf8).withUnsafeBytes { JSONNumber(exactly: $0)?.int }
    }

    private func double(_ text: String) -> Double? {
        Array(text.utf8).withUnsafeBytes { JSONNumber(exactly: $0)?.double }
    }

    private func float(_ text: String) -> Float? {
        Array(text.utf8).withUnsafeBytes { JSONNumber(exactly: $0)?.float }
    }

    @Test func intsAreExact() {
        #expect(int("9223372036854775807") == .max)
        #expect(int("-9223372036854775808") == .min)
        #expect(int("9223372036854775808") == nil)
        #expect(int("1.0") == 1)
        #expect(int("1e3") == 1_000)
        #expect(int("1200e-2") == 12)
        #expect(int("1.5") == nil)
        #expect(int("10000000000000000000000e-20") == 100)
        #expect(int("0.00e999999999999") == 0)
        #expect(int("1e999999999999") == nil)
        #expect(int("00501") == nil)
    }

    /// The standard library's reading of numbers is the model.
    @Test func doublesAreNearest() throws {
        try PropertyTest.run(rounds: 20) { random, comment in
            for _ in 0 ..< 2_000 {
                let value = Double(bitPattern: random.next())
                guard value.isFinite else { continue }
                #expect(double(value.description)?.bitPattern == value.bitPattern, "\(value) \(comment)")
                // Of everyday size, with more and fewer digits than it takes.
                let everyday = Double.random(in: -1_000 ... 1_000, using: &random)
                #expect(double(everyday.description) == everyday, "\(everyday) \(comment)")
                var digits = random.chance(50) ? "-" : ""
                digits += "\(random.below(10_000))."
                for _ in 0 ... random.below(24) { digits += "\(random.below(10))" }
                if random.chance(30) { digits += "e\(random.below(40) - 20)" }
                #expect(double(digits) == Double(digits), "\(digits) \(comment)")
                #expect(float(digits) == Float(digits), "\(digits) \(comment)")
            }
        }
        // Halfway between two doubles, and a hair beside it.
        for text in [
            "9007199254740993", "9007199254740993.0000000001", "0.500000000000000166533453693773481063544750213623",
        ] {
            #expect(double(text) == Double(text), "\(text)")
        }
        #expect(double("1e400") == nil)
        #expect(float("1e39") == nil)
        #expect(double("-0.0")?.sign == .minus)
        #expect(double("4.9e-324") == Double.leastNonzeroMagnitude)
    }

    @Test func timesAreExactOverTheirWholeRange() throws {
        func parsed(_ text: String) -> Timestamp? { TimeText.parse(text) }
        #expect(parsed("2013-01-01") == Timestamp(seconds: 1_356_998_400, nanoseconds: 0))
        #expect(parsed("2013-01-01T10:00:00.25+02:00") == Timestamp(seconds: 1_357_027_200, nanoseconds: 250_000_000))
        #expect(parsed("1969-12-31T23:59:59.5Z") == Timestamp(seconds: -1, nanoseconds: 500_000_000))
        #expect(parsed("9999-12-31 23:59:59-0130") == Timestamp(seconds: 253_402_306_199, nanoseconds: 0))
        for text in [
            "", "2013", "2013-13-01", "13-01-01", "2013-01-01T10:00:60Z", "2013-01-01T10:00:00.Z",
            "2013-01-01T10:00:00Z ", "2013-01-01T10:00:00+",
            "2013-02-29", "2013-01-01T10:00:00", "2013-01-01T24:00:00Z", "2013-1-1", "2013-01-01T10:00:00.0000000001Z",
            "+2013-01-01", "99999-01-01", "2013-01-01T10:00:00Zx", "+999999999999-01-01T00:00:00Z",
        ] {
            #expect(parsed(text) == nil, "\(text)")
        }
        for (time, text) in [
            (Timestamp(seconds: -1, nanoseconds: 500_000_000), "1969-12-31T23:59:59.5Z"),
            (Timestamp(seconds: 951_825_600, nanoseconds: 1), "2000-02-29T12:00:00.000000001Z"),
            (Timestamp(seconds: 253_402_300_800, nanoseconds: 0), "+10000-01-01T00:00:00Z"),
        ] {
            #expect(TimeText.text(time) == text)
        }
        for seconds in [Int64.min, -62_167_219_201, -62_167_219_200, 0, 253_402_300_799, 253_402_300_800, .max] {
            let time = Timestamp(seconds: seconds, nanoseconds: 1)
            #expect(parsed(TimeText.text(time)) == time, "\(TimeText.text(time))")
        }
        try PropertyTest.run(rounds: 5) { random, comment in
            for _ in 0 ..< 2_000 {
                let seconds = Int64(bitPattern: random.next()) >> Int64(random.below(40))
                let time = Timestamp(seconds: seconds, nanoseconds: UInt32(random.below(1_000_000_000)))
                #expect(parsed(TimeText.text(time)) == time, "\(TimeText.text(time)) \(comment)")
            }
        }
    }
}
