/// Decimals against whole numbers of any size, and their texts.
import MotteValues
import TestSupport
import Testing

struct Decimal128Tests {
    private func decimal(_ text: String) -> Decimal128 { Decimal128(parsing: text) ?? .nan }

    /// realm-semantics 249.
    @Test(arguments: [
        ("3.75", "3.75"), ("0.3", "3E-1"), ("0.21", "2.1E-1"), ("123E4", "1.23E6"),
        ("1234567890e123", "1.23456789E132"), ("NaN", "NaN"), ("Infinity", "Inf"), ("-inf", "-Inf"), ("0", "0"),
        ("-0", "-0"), ("1.00", "1.00"), ("+5", "5"),
    ])
    func textIsPrintedAsRealmPrintsIt(_ pair: (String, String)) {
        #expect(decimal(pair.0).text == pair.1)
    }

    @Test(arguments: ["", "-", ".", "1e", "1e+", "e5", "1.2.3", "0x1", "1 ", " 1", "--1"])
    func malformedTextIsRefused(_ text: String) { #expect(Decimal128(parsing: text) == nil) }

    @Test func equalNumbersAreEqualWhateverTheirForm() {
        #expect(decimal("1.0") == decimal("1.00"))
        #expect(decimal("1.0").hashValue == decimal("1.00").hashValue)
        #expect(decimal("-0") == decimal("0"))
        #expect(decimal("1E2") == decimal("100"))
        #expect(Decimal128.nan == Decimal128.nan)
        #expect(Decimal128.nan < decimal("-inf"))
        #expect(decimal("-1E6144") < decimal("-1"))
    }

    @Test func comparisonWithDoublesIsExact() {
        // 0.1 as a double is a little above a tenth.
        #expect(Decimal128.compare(decimal("0.1"), 0.1) < 0)
        #expect(Decimal128.compare(decimal("0.1000000000000000055511151231257827"), 0.1) < 0)
        #expect(Decimal128.compare(decimal("0.1000000000000000055511151231257828"), 0.1) > 0)
        #expect(Decimal128.compare(decimal("0.5"), 0.5) == 0)
        #expect(Decimal128.compare(decimal("-9007199254740993"), -9_007_199_254_740_992) < 0)
        #expect(Decimal128.compare(decimal("1E400"), .greatestFiniteMagnitude) > 0)
        #expect(Decimal128.compare(decimal("1E-400"), .leastNonzeroMagnitude) < 0)
    }

    @Test func resultsAreRoundedHalfToEven() {
        let tall = String(repeating: "9", count: 34)
        #expect(decimal(tall).adding(decimal("1")) == decimal("1E34"))
        #expect(decimal("1E34").adding(decimal("5")) == decimal("1E34"))
        #expect(decimal("1E34").adding(decimal("15")) == decimal("10000000000000000000000000000000020"))
        #expect(decimal("1E34").adding(decimal("5.0000001")) == decimal("10000000000000000000000000000000010"))
        #expect(decimal("1E34").subtracting(decimal("1E-30")) == decimal("1E34"))
        #expect(decimal("1").dividing(by: decimal("3")).text == "3.333333333333333333333333333333333E-1")
        #expect(decimal("2").dividing(by: decimal("3")).text == "6.666666666666666666666666666666667E-1")
        #expect(decimal("1").dividing(by: decimal("8")).text == "1.25E-1")
        #expect(decimal(tall).multiplying(by: decimal(tall)) == decimal("9.999999999999999999999999999999998E67"))
        #expect(decimal("1").dividing(by: .zero) == .infinity)
        #expect(Decimal128.zero.dividing(by: .zero).isNaN)
        #expect(decimal("9E6144").multiplying(by: decimal("10")) == .infinity)
        #expect(decimal("1E-6176").dividing(by: decimal("10")).isZero)
    }

    /// Sums, products and quotients of whole numbers that fit are exact.
    @Test func arithmeticMatchesWholeNumbers() throws {
        try PropertyTest.run(rounds: 5_000) { random, _ in
            let left = Int64(truncatingIfNeeded: random.next()) >> Int64(random.below(60))
            let right = Int64(truncatingIfNeeded: random.next()) >> Int64(random.below(60))
            let scale = random.below(20) - 10
            let one = decimal("\(left)E\(scale)")
            let two = decimal("\(right)E\(scale)")
            let sum = Int128(left) + Int128(right)
            let product = Int128(left) * Int128(right)
            #expect(one.adding(two) == decimal("\(sum)E\(scale)"))
            #expect(one.subtracting(two) == decimal("\(Int128(left) - Int128(right))E\(scale)"))
            #expect(one.multiplying(by: two) == decimal("\(product)E\(scale * 2)"))
            if right != 0 {
                // A product divided by one factor is the other, where it has not been rounded.
                let exact = decimal("\(product)E\(scale * 2)")
                if "\(product.magnitude)".count <= 34 { #expect(exact.dividing(by: two) == one) }
            }
            #expect((one < two) == (left < right))
            #expect(Decimal128(left).int64Value == left)
            #expect(Decimal128.compare(Decimal128(left), Double(right)) == ValueOrdering.compare(left, Double(right)))
        }
    }
}
