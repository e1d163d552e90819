/// Keys as most of the engine wants them: ascending, each once.
extension [Int64] {
    package var isStrictlyAscending: Bool {
        withUnsafeBufferPointer { keys in
            var index = 1
            while index < keys.count {
                if keys[index &- 1] >= keys[index] { return false }
                index &+= 1
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
