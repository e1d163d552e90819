/// Decimals of the Swift API: where they come from, how they are written, counted with, ordered and coded.
import Foundation
import Motte
import Testing

@Suite struct Decimal128Tests {
    @Test(arguments: [
        ("3.75", "3.75"), ("0.3", "3E-1"), ("0.21", "2.1E-1"), ("123E4", "1.23E6"),
        ("1234567890e123", "1.23456789E132"),
        ("-12.5", "-12.5"), ("0", "0"), ("11.111110", "11.111110"), ("nan", "NaN"), ("Infinity", "Inf"),
        ("-inf", "-Inf"), ("nonsense", "NaN"), ("", "NaN"), ("1.2.3", "NaN"),
    ])
    func readsAndPrintsText(_ text: String, _ printed: String) throws {  // 7, 249
        #expect(try Decimal128(string: text).stringValue == printed)
        #expect(try Decimal128(string: text).description == printed)
        #expect(Decimal128(stringLiteral: text).stringValue == printed)
        #expect(Decimal128(value: text).stringValue == printed)
    }

    /// What has more digits than there are is rounded half to even, and what is out of range is infinite or zero, as
    /// with the peer.
    @Test(arguments: [
        ("1234567890123456789012345678901234", "1234567890123456789012345678901234"),
        ("12345678901234567890123456789012344", "1.234567890123456789012345678901234E34"),
        ("12345678901234567890123456789012345", "1.234567890123456789012345678901234E34"),
        ("12345678901234567890123456789012355", "1.234567890123456789012345678901236E34"),
        ("123456789012345678901234567890123450000000000000000000000001", "1.234567890123456789012345678901235E59"),
        ("99999999999999999999999999999999995", "1E35"),
        ("1E6145", "Inf"), ("-1E6145", "-Inf"), ("1E-6177", "0E-6176"),
    ])
    func roundsTextAsThePeerDoes(_ text: String, _ printed: String) throws {
        #expect(try Decimal128(string: text).stringValue == printed)
        #expect(Decimal128(stringLiteral: text).stringValue == printed)
        #expect(Decimal128(value: text).stringValue == printed)
    }

    @Test func comesFromLiterals() {
        let float: Decimal128 = 3.14159
        let integer: Decimal128 = 123
        let negative: Decimal128 = -123.321
        let text: Decimal128 = "9.876543"

        #expect(float == "3.14159")
        #expect(integer == "123")
        #expect(negative.stringValue == "-123.321")
        #expect(text.stringValue == "9.876543")
        #expect(Decimal128() == 0)
    }

    @Test(
        arguments: [
            (Int(5), "5"), (Int8(-5), "-5"), (UInt64.max, "18446744073709551615"), (3.5, "3.5"), (Float(0.1), "1E-1"),
            ("2.50", "2.50"), (NSNumber(value: 3.25), "3.25"), (NSNumber(value: 7), "7"),
            (Decimal(string: "1.25") ?? 0, "1.25"),
            (Decimal128("4"), "4"), (Double.nan, "NaN"), (-Double.infinity, "-Inf"), (NSNull(), "NaN"), ([1], "NaN"),
        ] as [(Any & Sendable, String)])
    func comesFromAnyValue(_ value: Any & Sendable, _ printed: String) {
        #expect(Decimal128(value: value).stringValue == printed)
    }

    @Test func comesFromNumberObjects() {
        #expect(Decimal128(number: 3.14159) == 3.14159)
        #expect(Decimal128(number: NSNumber(value: Int64.max)) == Decimal128(exactly: Int64.max))
        #expect(Decimal128(number: NSNumber(value: UInt64.max)) == Decimal128(exactly: UInt64.max))
        #expect(Decimal128(number: NSNumber(value: true)) == 1)
    }

    @Test func takesIntegersExactlyOrNotAtAll() {
        #expect(Decimal128(exactly: 0b101) == 5)
        #expect(Decimal128(exactly: Int8.min) == -128)
        #expect(Decimal128(exactly: 9_999_999_999_999_999_999_999_999_999_999_999 as Int128) != nil)
        #expect(Decimal128(exactly: 10_000_000_000_000_000_000_000_000_000_000_001 as Int128) == nil)
    }

    @Test func counts() {
        let one: Decimal128 = "1.234567"
        let two: Decimal128 = "9.876543"

        #expect((one + two).description == "11.111110")
        #expect(("2.5" as Decimal128) - "3.5" == -1)
        #expect(("2.5" as Decimal128 - "3.5").description == "-1.0")
        #expect(7 * 3.5 as Decimal128 == 24.5)
        #expect(("0.21" as Decimal128) * "0.7" == 0.147)
        #expect(("0.21" as Decimal128) / "0.7" == 0.3)
        #expect(((1 as Decimal128) / 0).stringValue == "Inf")
        #expect(((0 as Decimal128) / 0).isNaN)
        #expect(-one == "-1.234567")
        #expect([one, two].reduce(0, +) == "11.111110")

        var product: Decimal128 = 6
        product *= 7
        #expect(product == 42)
        product /= 4
        #expect(product == 10.5)
    }

    @Test func arithmeticLeavesItsOperandsAlone() {
        let one: Decimal128 = 3
        var sum = one
        sum += 4

        #expect(one == 3)
        #expect(sum == 7)
    }

    @Test func stepsAndDistances() {
        let ten: Decimal128 = 10

        #expect(ten.distance(to: 5) == -5)
        #expect(ten.distance(to: 15) == 5)
        #expect(ten.advanced(by: -20.5) == -10.5)
        #expect(ten.decimalNumber(byAdding: 1) == 11)
        #expect(ten.decimalNumber(bySubtracting: 1) == 9)
        #expect(ten.decimalNumber(byMultiplyingBy: 2) == 20)
        #expect(ten.decimalNumber(byDividingBy: 4) == 2.5)
    }

    @Test func negatesInPlace() {
        let decimal: Decimal128 = -123.321
        decimal.negate()

        #expect(decimal == 123.321)
        #expect(decimal.magnitude == 123.321)
        #expect((-4 as Decimal128).magnitude == 4)
    }

    @Test func ordersByTheNumber() {  // 212, 250
        let ascending: [Decimal128] = ["NaN", "-Inf", .min, -1, 0, "1E-6176", "0.5", 1, 1.5, .max, "Inf"]

        for (index, left) in ascending.enumerated() {
            for (other, right) in ascending.enumerated() {
                #expect((left < right) == (index < other))
                #expect((left == right) == (index == other))
                #expect(left.isGreaterThan(right) == (index > other))
                #expect(left.isLessThanOrEqual(to: right) == (index <= other))
            }
        }
    }

    @Test func equalNumbersHashAlike() {  // 250
        let forms: [Decimal128] = ["1", "1.0", "1.00", "10E-1", 1]

        #expect(Set(forms).count == 1)
        #expect(Set<Decimal128>(["NaN", "nan", "abc"]).count == 1)
        #expect(Set<Decimal128>([0, "-0", "0.000"]).count == 1)
    }

    @Test func equalsNumberObjectsOfTheSameValue() {  // 250
        let decimal: Decimal128 = 2.5

        #expect(decimal.isEqual(NSNumber(value: 2.5)))
        #expect(decimal.isEqual(Decimal128("2.50")))
        #expect(!decimal.isEqual(NSNumber(value: 2)))
        #expect(!decimal.isEqual("2.5"))
        #expect(!decimal.isEqual(nil))
    }

    @Test func knowsItsLimits() {
        #expect(Decimal128.min < Decimal128.max)
        #expect(Decimal128.max.stringValue == "9.999999999999999999999999999999999E6144")
        #expect(Decimal128.min.stringValue == "-9.999999999999999999999999999999999E6144")
        #expect(Decimal128.maximumDecimalNumber == .max)
        #expect(Decimal128.minimumDecimalNumber == .min)
        #expect((Decimal128.max + .max).stringValue == "Inf")
        // Each asks for a number of its own: changing one must not change the limits.
        Decimal128.max.negate()
        #expect(Decimal128.max > 0)
    }

    @Test func hasOneNaN() {
        let nan = Decimal128(value: NSNull())

        #expect(nan.isNaN && nan.isSignaling && nan.isSignalingNaN)
        #expect(!(1 as Decimal128).isNaN)
        #expect(nan.doubleValue.isNaN)
        #expect(("0.1" as Decimal128).doubleValue == 0.1)
    }

    @Test(arguments: [("\"1.50\"", "1.50"), ("3", "3"), ("2.5", "2.5"), ("\"abc\"", "NaN")])
    func decodesTextAndNumbers(_ json: String, _ printed: String) throws {  // 1.15
        let decoded = try JSONDecoder().decode([Decimal128].self, from: Data("[\(json)]".utf8))

        #expect(decoded.map(\.stringValue) == [printed])
    }

    @Test func encodesAsText() throws {  // 1.15
        let encoded = try JSONEncoder().encode(["a": Decimal128("12.50")])

        #expect(String(decoding: encoded, as: UTF8.self) == #"{"a":"12.50"}"#)
        #expect(throws: DecodingError.self) {
            try JSONDecoder().decode([Decimal128].self, from: Data("[{}]".utf8))
        }
    }
}
