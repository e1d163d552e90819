/// The rows that every engine loads: a million persons from one fixed seed, as columns in memory.
///
/// `name` is 8 to 16 characters and nearly unique, `city` one of 1,000, `bestFriend` an earlier or later row or -1,
/// `tags` one to four words for every tenth row.
struct PersonData {
    let count: Int
    var names = TextColumn()
    var ages: [Int64] = []
    var scores: [Double] = []
    var active: [Bool] = []
    var cities: [Int] = []
    /// The names of `cities`, row by row.
    var cityColumn = TextColumn()
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
            cityColumn.append(cityNames[cities[cities.count - 1]])
            created.append(1_600_000_000 + Int64(random.below(100_000_000)))
            bestFriends.append(random.below(10) == 0 ? -1 : Int64(random.below(count)))
            tags.append(
                random.below(10) == 0 ? (0 ... random.below(4)).map { _ in Array("tag\(random.below(500))".utf8) } : [])
        }
    }
}

/// Texts behind each other, so that handing one to an engine costs no more than an address: what is measured are the
/// engines. Lives until the process ends.
struct TextColumn {
    private(set) var heap: UnsafeMutablePointer<UInt8>
    private(set) var offsets: UnsafeMutablePointer<Int64>
    private(set) var count = 0
    private var heapCapacity = 1 << 20
    private var offsetCapacity = 1 << 16

    init() {
        heap = .allocate(capacity: heapCapacity)
        offsets = .allocate(capacity: offsetCapacity)
        offsets[0] = 0
    }

    mutating func append(_ text: [UInt8]) {
        let used = Int(offsets[count])
        if used + text.count > heapCapacity {
            let larger = UnsafeMutablePointer<UInt8>.allocate(capacity: heapCapacity * 2)
            larger.moveInitialize(from: heap, count: used)
            heap.deallocate()
            heap = larger
            heapCapacity *= 2
        }
        if count + 2 > offsetCapacity {
            let larger = UnsafeMutablePointer<Int64>.allocate(capacity: offsetCapacity * 2)
            larger.moveInitialize(from: offsets, count: count + 1)
            offsets.deallocate()
            offsets = larger
            offsetCapacity *= 2
        }
        for (index, byte) in text.enumerated() { heap[used + index] = byte }
        count += 1
        offsets[count] = Int64(used + text.count)
    }

    @inline(__always)
    subscript(row: Int) -> UnsafeRawBufferPointer {
        let start = Int(offsets[row])
        return UnsafeRawBufferPointer(start: heap + start, count: Int(offsets[row + 1]) - start)
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
