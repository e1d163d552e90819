/// The keys of results as an observer keeps them: a value whose copies share what did not change, so that whoever shows
/// an older version keeps it without a copy.
package enum KeyBlocks: Sendable {
    /// In the order of the keys.
    case ascending(KeySet)
    /// In the order of a query.
    case ordered(OrderedKeys)

    package var count: Int {
        switch self {
        case .ascending(let keys): keys.count
        case .ordered(let keys): keys.count
        }
    }

    /// `position` is below the count.
    package subscript(position: Int) -> Int64 {
        switch self {
        case .ascending(let keys): keys[position]
        case .ordered(let keys): keys[position]
        }
    }

    /// As one array, which costs a copy.
    package var all: [Int64] { prefix(count) }

    package func prefix(_ limit: Int) -> [Int64] {
        switch self {
        case .ascending(let keys): keys.prefix(limit)
        case .ordered(let keys): keys.prefix(limit)
        }
    }

    /// The first keys.
    package func limited(to limit: Int) -> KeyBlocks {
        if limit >= count { return self }
        return switch self {
        case .ascending(let keys): .ascending(KeySet(keys.prefix(limit)))
        case .ordered(let keys): .ordered(OrderedKeys(keys.prefix(limit)))
        }
    }

    /// Where a key is, if that is known without looking at all.
    package func position(of key: Int64) -> (position: Int, isThere: Bool)? {
        guard case .ascending(let keys) = self else { return nil }
        return keys.place(of: key)
    }
}
