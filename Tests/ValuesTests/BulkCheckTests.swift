/// What is checked of many bytes or keys at once, beside the same one by one.
import MotteValues
import TestSupport
import Testing

@Suite struct BulkCheckTests {
    @Test func textIsValidAsTheStandardLibrarySaysIt() throws {
        let pieces: [[UInt8]] = [
            Array("é".utf8), Array("€".utf8), Array("🙂".utf8), [0x80], [0xC0, 0x80], [0xED, 0xA0, 0x80], [0xF4, 0x90],
            [0xE2, 0x82], [0xF0, 0x9F, 0x99], [0xFF],
        ]
        try PropertyTest.run(rounds: 5_000) { random, comment in
            var bytes = (0 ..< random.below(30)).map { _ in UInt8(random.below(0x80)) }
            for _ in 0 ..< random.below(3) {
                bytes.insert(contentsOf: random.pick(pieces), at: random.below(bytes.count + 1))
            }
            let isValid = bytes.withUnsafeBytes { UTF8Validation.isValid($0) }
            #expect(isValid == (String(validating: bytes, as: UTF8.self) != nil), "\(bytes); \(comment)")
        }
    }

    @Test func keysAscendAsEachOfThemSays() throws {
        try PropertyTest.run(rounds: 500) { random, comment in
            var keys = (0 ..< Int64(random.pick([0, 1, 2, 255, 256, 257, 258, 700]))).map { $0 * 5 }
            if random.chance(30) { keys = keys.map { $0 - 400 } }
            if random.chance(10), !keys.isEmpty { keys[0] = .min }
            if random.chance(10), !keys.isEmpty { keys[keys.count - 1] = .max }
            if random.chance(50), !keys.isEmpty {
                let index = random.below(keys.count)
                keys[index] = random.pick([keys[max(index - 1, 0)], keys[index] &+ 1, keys[index] &- 6, .min, .max])
            }
            let ascends = zip(keys, keys.dropFirst()).allSatisfy { $0 < $1 }
            #expect(keys.isStrictlyAscending == ascends, "\(comment)")
            #expect(keys.ascending == Set(keys).sorted(), "\(comment)")
        }
    }
}
