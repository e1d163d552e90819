/// The entries of a map: refs of two B+ trees, one of keys and one of mixed values, whose leaves need not end
/// together.
import MotteValues

struct MapPair {
    let ref: Int
    let keys: Int
    let values: Int

    init(_ node: Node) throws(DatabaseError) {
        let slots = try node.refs("a map")
        guard slots.count == 2, case .ref(let keys) = slots.slot(0), case .ref(let values) = slots.slot(1) else {
            throw node.unlike("a map")
        }
        (ref, self.keys, self.values) = (node.ref, keys, values)
    }
}

struct MapEntries {
    /// One of the two halves.
    private struct Half {
        let type: ElementType
        let scope: ReadingScope
        let isKeeping: Bool
        var tree: TreeCursor
        var leaf: Leaf?
        var index = 0

        /// The next element, which takes the place of the one before unless they are kept; nil at the end.
        mutating func next() throws(DatabaseError) -> ValueView? {
            if !isKeeping { scope.values.reset() }
            while true {
                if let leaf, index < leaf.count {
                    index += 1
                    return try leaf.value(index - 1, scope)
                }
                leaf = nil
                if !isKeeping { scope.nodes.reset() }
                guard let node = try tree.next() else { return nil }
                let next = try Leaf(node, type, isCollection: true, scope)
                try tree.counted(next.count)
                leaf = next
                index = 0
            }
        }
    }

    private let ref: Int
    private var keys: Half
    private var values: Half
    private var lastKey: [UInt8]?
    private var lastNumber: Int64?
    /// Or only differ from their neighbours: before format 24 other orders were in use.
    var mustAscend = true

    init(
        _ pair: MapPair, _ keyType: ElementType, keys: ReadingScope, values: ReadingScope, inner: Arena,
        isKeeping: Bool
    ) {
        ref = pair.ref
        self.keys = Half(
            type: keyType, scope: keys, isKeeping: isKeeping, tree: TreeCursor(pair.keys, keys, inner: inner))
        self.values = Half(
            type: .mixed, scope: values, isKeeping: isKeeping, tree: TreeCursor(pair.values, values, inner: inner))
    }

    mutating func next() throws(DatabaseError) -> (key: ValueView, value: ValueView)? {
        let key = try keys.next()
        let value = try values.next()
        guard let key, let value else {
            guard key == nil, value == nil else { throw Damage.at(ref, "keys and values of a map differ in number") }
            return nil
        }
        try check(key)
        return (key, value)
    }

    private mutating func check(_ key: ValueView) throws(DatabaseError) {
        guard key.kind != .int else {
            if let lastNumber, lastNumber >= key.intValue { throw unsorted }
            lastNumber = key.intValue
            return
        }
        if let lastKey {
            let order = lastKey.withUnsafeBytes { ValueOrdering.compareBytes($0, key.bytes) }
            guard order < 0 || (order > 0 && !mustAscend) else { throw unsorted }
        }
        lastKey = lastKey ?? []
        lastKey?.replaceSubrange(0..., with: key.bytes)
    }

    private var unsorted: DatabaseError { Damage.at(ref, "keys of a map do not ascend") }
}
