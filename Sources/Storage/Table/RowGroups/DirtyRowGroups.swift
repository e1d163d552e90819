/// The row groups of a table that a write has touched, by number. Room is kept from the first of them to the last, so
/// that a write at the end of a large table costs no more than at the end of a small one.
struct DirtyRowGroups {
    private var first = 0
    private var rowGroups: [DirtyRowGroup?] = []

    /// nil where nothing was touched.
    @inline(__always)
    subscript(index: Int) -> DirtyRowGroup? {
        get {
            let place = index - first
            return place >= 0 && place < rowGroups.count ? rowGroups[place] : nil
        }
        set {
            makeRoom(for: index)
            rowGroups[index - first] = newValue
        }
    }

    private mutating func makeRoom(for index: Int) {
        if rowGroups.isEmpty { first = index }
        if index < first {
            // Doubled, so that going backwards through a table moves each only a few times.
            let count = min(first, max(first - index, rowGroups.count))
            rowGroups.insert(contentsOf: repeatElement(nil, count: count), at: 0)
            first -= count
        } else if index - first >= rowGroups.count {
            rowGroups.append(contentsOf: repeatElement(nil, count: index - first - rowGroups.count + 1))
        }
    }

    /// In ascending order, with gaps.
    func enumerated() -> Zip2Sequence<Range<Int>, [DirtyRowGroup?]> {
        zip(first ..< first + rowGroups.count, rowGroups)
    }
}
