/// The rows that every engine loads: a million persons from one fixed seed, as columns in memory.
///
/// `name` is 8 to 16 characters and nearly unique, `city` one of 1,000, `bestFriend` an earlier or later row or -1,
/// `tags` one to four words for every tenth row.
struct PersonData {
    let count: Int
    var names: [[UInt8]] = []
    var ages: [Int64] = []
    var scores: [Double] = []
    var active: [Bool] = []
    var cities: [Int] = []
    var created: [Int64] = []
    var bestFriends: [Int64] = []
    var tags: [[[UInt8]]] = []
    let cityNames: [[UInt8]]

    init(count: Int) {
        self.count = count
        var random = SplitMix(state: 42)
        cityNames = (0 ..< 1_000).map { Array("City\($0 * 7919 % 100_003)".utf8) }
        for _ in 0 ..< count {
            let length = 8 + random.below(9)
            names.append(
                (0 ..< length).map { index in index == 0 ? UInt8(65 + random.below(26)) : UInt8(97 + random.below(26)) }
            )
            ages.append(Int64(random.below(100)))
            scores.append(Double(random.below(1_000_000)) / 997)
            active.append(random.below(2) == 0)
            cities.append(random.below(1_000))
            created.append(1_600_000_000 + Int64(random.below(100_000_000)))
            bestFriends.append(random.below(10) == 0 ? -1 : Int64(random.below(count)))
            tags.append(
                random.below(10) == 0 ? (0 ... random.below(4)).map { _ in Array("tag\(random.below(500))".utf8) } : [])
        }
    }
}

struct SplitMix {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    mutating func below(_ bound: Int) -> Int { Int(next() % UInt64(bound)) }
}
