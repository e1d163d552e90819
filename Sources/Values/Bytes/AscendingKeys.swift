/// Keys as most of the engine wants them: ascending, each once.
extension [Int64] {
    package var isStrictlyAscending: Bool {
        withUnsafeBufferPointer { keys in
            var next = 1
            while next < keys.count {
                let end = Swift.min(next &+ 256, keys.count)
                // Without a jump for each key. No difference overflows where none of the keys is negative.
                var signs: Int64 = keys[next &- 1]
                var rises: Int64 = -1
                for index in next ..< end {
                    signs |= keys[index]
                    rises &= keys[index &- 1] &- keys[index]
                }
                if signs < 0 {
                    for index in next ..< end where keys[index &- 1] >= keys[index] { return false }
                } else if rises >= 0 {
                    return false
                }
                next = end
            }
            return true
        }
    }

    /// Sorted and without repeats; itself, without a copy, where it is that already.
    package var ascending: [Int64] {
        if isStrictlyAscending { return self }
        var result: [Int64] = []
        result.reserveCapacity(count)
        for key in sorted() where result.last != key { result.append(key) }
        return result
    }
}
