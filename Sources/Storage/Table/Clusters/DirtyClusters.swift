/// The clusters of a table that a write has touched, by number. Room is kept from the first of them to the last, so
/// that a write at the end of a large table costs no more than at the end of a small one.
struct DirtyClusters {
    private var first = 0
    private var clusters: [DirtyCluster?] = []

    /// nil where nothing was touched.
    @inline(__always)
    subscript(index: Int) -> DirtyCluster? {
        get {
            let place = index - first
            return place >= 0 && place < clusters.count ? clusters[place] : nil
        }
        set {
            makeRoom(for: index)
            clusters[index - first] = newValue
        }
    }

    private mutating func makeRoom(for index: Int) {
        if clusters.isEmpty { first = index }
        if index < first {
            // Doubled, so that going backwards through a table moves each only a few times.
            let count = min(first, max(first - index, clusters.count))
            clusters.insert(contentsOf: repeatElement(nil, count: count), at: 0)
            first -= count
        } else if index - first >= clusters.count {
            clusters.append(contentsOf: repeatElement(nil, count: index - first - clusters.count + 1))
        }
    }

    /// In ascending order, with gaps.
    func enumerated() -> Zip2Sequence<Range<Int>, [DirtyCluster?]> {
        zip(first ..< first + clusters.count, clusters)
    }
}
