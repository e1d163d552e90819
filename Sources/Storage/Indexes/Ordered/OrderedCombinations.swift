/// The combinations of values that the first columns of an ordered index have, each with its lowest key, found while
/// entries go by in order.
import MotteValues

struct OrderedCombinations {
    private let columns: [OrderedColumn]
    private let wanted: Int
    /// Of each, in order.
    private(set) var keys: [Int64] = []
    /// False once bytes came that were cut off, or whose columns cannot be distinguished.
    private(set) var isKnown = true
    /// The bytes of the last entry, and how many of them are its combination.
    private var last: [UInt8] = []
    private var lastEnd = 0

    /// `wanted` of the columns, one at least.
    init(_ columns: [OrderedColumn], _ wanted: Int) {
        self.columns = columns
        self.wanted = wanted
    }

    /// An entry behind those before: its bytes, how many of them it is known to share with the last one, its lowest
    /// key.
    mutating func take(_ bytes: UnsafeRawBufferPointer, shared: Int, _ key: UInt64) {
        let key = Int64(bitPattern: key)
        if !keys.isEmpty, isSame(bytes, shared: shared) {
            keys[keys.count - 1] = min(keys[keys.count - 1], key)
        } else if let end = end(of: bytes) {
            keys.append(key)
            lastEnd = end
        } else {
            isKnown = false
        }
        last.removeAll(keepingCapacity: true)
        last.append(contentsOf: bytes)
    }

    private func isSame(_ bytes: UnsafeRawBufferPointer, shared: Int) -> Bool {
        if shared >= lastEnd { return true }
        return bytes.count >= lastEnd && last[shared ..< lastEnd].elementsEqual(bytes[shared ..< lastEnd])
    }

    /// Where the combination ends in the bytes of an entry.
    private func end(of bytes: UnsafeRawBufferPointer) -> Int? {
        guard bytes.count < OrderedBytes.longest else { return nil }
        if wanted == columns.count { return bytes.count }
        var end = 0
        for column in columns.prefix(wanted) {
            guard let next = OrderedBytes.end(of: column, in: bytes, from: end) else { return nil }
            end = next
        }
        return end
    }
}

extension OrderedBytes {
    /// Behind the value of a column that begins at `start`; nil where that cannot be seen.
    fileprivate static func end(of column: OrderedColumn, in bytes: UnsafeRawBufferPointer, from start: Int) -> Int? {
        guard start < bytes.count else { return nil }
        let flip: UInt8 = column.isDescending ? 255 : 0
        var end = start + 1
        guard bytes[start] ^ flip != 0 else { return end }
        switch column.type {
        case .bool: end += 1
        case .int, .float, .double: end += 8
        case .timestamp, .objectID: end += 12
        case .uuid: end += 16
        case .string, .data:
            while end + 1 < bytes.count {
                guard bytes[end] ^ flip == 0 else {
                    end += 1
                    continue
                }
                let isEnd = bytes[end + 1] ^ flip == 0
                end += 2
                if isEnd { return end }
            }
            return nil
        case .decimal, .link, .mixed, .linkingObjects: return nil
        }
        return end <= bytes.count ? end : nil
    }
}

extension OrderedReader {
    /// Those in a span.
    func combinations(
        in span: OrderedSpan, _ columns: [OrderedColumn], wanted: Int
    ) throws(DatabaseError) -> OrderedCombinations {
        var found = OrderedCombinations(columns, wanted)
        var bytes: [UInt8] = []
        try forEachBlock(in: span) { block, isInside in
            // How many bytes the last entry that was taken shares with what follows.
            var shared = 0
            block.forEachGroup { group in
                shared = min(shared, group.shared)
                bytes.removeLast(max(0, bytes.count - group.shared))
                bytes.append(contentsOf: group.suffix)
                return bytes.withUnsafeBytes { bytes in
                    guard isInside || span.contains(bytes) else { return true }
                    found.take(bytes, shared: shared, group.firstKey)
                    shared = bytes.count
                    return found.isKnown
                }
            }
            return found.isKnown
        }
        return found
    }
}
