/// Random numbers for property tests: reproducible from a seed that a failing test prints.
///
/// The seed is `MOTTE_TEST_SEED` if set, else random. `MOTTE_TEST_SCALE` (default 1.0) multiplies how often such tests
/// run, from a tenth for a quick look to hundreds over night; 0 repeats the one round of a given seed.
#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

public struct SeededRandom: RandomNumberGenerator {
    public let seed: UInt64
    private var state: UInt64

    public init(seed: UInt64) {
        self.seed = seed
        state = seed
    }

    /// SplitMix64.
    public mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// Below `bound`, or 0 when there is nothing below it.
    public mutating func below(_ bound: Int) -> Int { bound <= 0 ? 0 : Int.random(in: 0 ..< bound, using: &self) }
    public mutating func chance(_ percent: Int) -> Bool { below(100) < percent }
    public mutating func pick<Element>(_ elements: [Element]) -> Element { elements[below(elements.count)] }
}

public enum TestScale {
    public static let factor: Double = environment("MOTTE_TEST_SCALE").flatMap(Double.init) ?? 1.0

    /// `count` times the scale, at least once.
    public static func times(_ count: Int) -> Int { max(1, Int((Double(count) * factor).rounded())) }

    static func environment(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }
}

/// Runs `body` with one generator per round and prints the seed of the round that throws or records an issue.
public enum PropertyTest {
    public static let firstSeed: UInt64 =
        TestScale.environment("MOTTE_TEST_SEED").flatMap { UInt64($0) } ?? UInt64.random(in: 1 ... 1_000_000_000)

    /// Where tests that run in parts begin each of them: apart, unless a single round is repeated (scale 0).
    public static func firstSeed(part: Int) -> UInt64 {
        TestScale.factor == 0 ? firstSeed : firstSeed &+ UInt64(part) << 32
    }

    /// `body` gets a generator and a sentence to attach to expectations: how to run this very round again.
    public static func run(
        rounds: Int, part: Int = 0, _ body: (inout SeededRandom, _ comment: String) throws -> Void
    ) throws {
        for round in 0 ..< TestScale.times(rounds) {
            let seed = firstSeed(part: part) &+ UInt64(round)
            let comment = "repeat with MOTTE_TEST_SEED=\(seed) MOTTE_TEST_SCALE=0"
            var random = SeededRandom(seed: seed)
            do {
                try body(&random, comment)
            } catch {
                print("failed: \(comment)")
                throw error
            }
        }
    }
}
