/// Reading the elements of a collection: lists and sets from a B+ tree, maps from a pair of them (keys and values),
/// or before format 23 from a cluster tree of keys and values.
import MotteValues

typealias ElementBody = (_ mapKey: UnsafeRawBufferPointer, _ value: ValueView) throws(DatabaseError) -> Void

final class ElementScopes {
    private static var noKey: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: nil, count: 0) }

    private let file: FileContext
    private let inner = Arena()
    /// Where views stay with the cluster.
    private let kept: ReadingScope
    /// Where they are gone at the next leaf (nodes) and the next element (values).
    private let passing: ReadingScope
    private let passingKeys: ReadingScope
    private var isKeeping = true
    private var digits: [UInt8] = []

    init(_ cluster: ReadingScope) {
        file = cluster.file
        kept = ReadingScope(file, nodes: cluster.values, values: cluster.values, visited: nil)
        passing = ReadingScope(file, visited: nil)
        passingKeys = ReadingScope(file, visited: nil)
    }

    func begin(_ visited: VisitedNodes?, keeping: Bool) {
        isKeeping = keeping
        for scope in [kept, passing, passingKeys] { scope.visited = visited }
    }

    func end() {
        inner.reset()
        for scope in [passing, passingKeys] {
            scope.nodes.reset()
            scope.values.reset()
        }
    }

    func read(_ root: Int, _ column: TableLayout.Column, _ body: ElementBody) throws(DatabaseError) {
        switch column.collection {
        case .map: try readMap(root, column, body)
        case .none, .list: try readList(root, column.element, isSet: false, body)
        case .set: try readList(root, column.element, isSet: true, body)
        }
    }

    // MARK: Lists and sets

    private func readList(
        _ root: Int, _ type: ElementType, isSet: Bool, _ body: ElementBody
    ) throws(DatabaseError) {
        let scope = isKeeping ? kept : passing
        var tree = TreeCursor(root, scope, inner: inner)
        while true {
            if !isKeeping { scope.nodes.reset() }
            guard let node = try tree.next() else { return }
            let leaf = try Leaf(node, type, isCollection: true, scope)
            try tree.counted(leaf.count)
            var last: ValueView?
            for index in 0 ..< leaf.count where !leaf.isUnresolved(index) {
                let value = try leaf.value(index, scope)
                if isSet {
                    // Each NaN that was inserted is there.
                    if let last, last.isSame(value), !Self.isNaN(value) {
                        throw node.damage("a set has a value twice")
                    }
                    last = value
                }
                try body(Self.noKey, value)
                // The one before is compared with in sets; those of one leaf stay.
                if !isKeeping, !isSet { scope.values.reset() }
            }
            if !isKeeping { scope.values.reset() }
        }
    }

    private static func isNaN(_ value: ValueView) -> Bool {
        switch value.form {
        case .float: value.floatValue.isNaN
        case .double: value.doubleValue.isNaN
        case .decimal: value.decimalValue.isNaN
        default: false
        }
    }

    /// Backlinks to one object, which older files have in a single leaf.
    func readKeys(_ root: Int, _ visited: VisitedNodes, _ body: (Int64) -> Void) throws(DatabaseError) {
        begin(visited, keeping: false)
        var tree = TreeCursor(root, passing, inner: inner, hasLargeLeaves: true)
        while let node = try tree.next() {
            let keys = try node.numbers("a leaf of backlinks")
            try tree.counted(keys.count)
            for index in 0 ..< keys.count { body(keys[index]) }
            passing.nodes.reset()
        }
    }

    func count(_ root: Int, _ column: TableLayout.Column) throws(DatabaseError) -> Int {
        begin(nil, keeping: false)
        if column.collection != .map { return try count(list: root, column.element) }
        guard file.format >= 23 else { return try ClusterTree.count(root, passing) }
        let pair = try MapPair(try passing.node(root))
        return try count(list: pair.keys, column.hasIntKeys ? .intKey : .key)
    }

    private func count(list root: Int, _ type: ElementType) throws(DatabaseError) -> Int {
        if let total = try TreeCursor.total(root, file, inner) { return total }
        return try Leaf(try passing.node(root), type, isCollection: true, passing).count
    }

    // MARK: Maps

    private func readMap(_ root: Int, _ column: TableLayout.Column, _ body: ElementBody) throws(DatabaseError) {
        let keyType = column.hasIntKeys ? ElementType.intKey : .key
        guard file.format >= 23 else { return try readClusters(root, keyType, column.element, body) }
        let values = isKeeping ? kept : passing
        let keys = isKeeping ? kept : passingKeys
        let pair = try MapPair(try file.nodes.node(root, in: inner, values.visited))
        var entries = MapEntries(pair, keyType, keys: keys, values: values, inner: inner, isKeeping: isKeeping)
        entries.mustAscend = file.format >= 24
        while let entry = try entries.next() {
            try check(entry.value, column.element, pair.ref)
            try body(text(entry.key), entry.value)
        }
    }

    /// Values of maps are stored as mixed ones whatever the property's type.
    private func check(_ value: ValueView, _ type: ElementType, _ ref: Int) throws(DatabaseError) {
        let fits: Bool =
            switch (value.kind, type.stored) {
            case (_, .mixed): true
            case (.null, _): type.isNullable || type.stored == .link
            case (.int, .int), (.bool, .bool), (.string, .string), (.data, .data), (.timestamp, .timestamp): true
            case (.float, .float), (.double, .double), (.decimal, .decimal): true
            case (.objectID, .objectID), (.uuid, .uuid), (.link, .typedLink): true
            case (.link, .link): value.linkValue.table.rawValue == type.target
            default: false
            }
        guard fits else { throw Damage.at(ref, "a map has a value of another type") }
    }

    private func text(_ key: ValueView) -> UnsafeRawBufferPointer {
        guard key.kind == .int else { return key.bytes }
        digits = Array(String(key.intValue).utf8)
        return digits.withUnsafeBytes { (isKeeping ? kept : passingKeys).values.copy($0) }
    }

    private func readClusters(
        _ root: Int, _ keyType: ElementType, _ type: ElementType, _ body: ElementBody
    ) throws(DatabaseError) {
        let scope = isKeeping ? kept : passing
        var tree = ClusterTree(root, scope, hasObjectKeys: false)
        while true {
            if !isKeeping {
                scope.nodes.reset()
                scope.values.reset()
                passingKeys.values.reset()
            }
            guard let cluster = try tree.next() else { return }
            let keys = try Leaf(try cluster.leaf(0, scope), keyType, isCollection: true, scope)
            let values = try Leaf(try cluster.leaf(1, scope), .mixed, isCollection: true, scope)
            guard keys.count == cluster.count, values.count == cluster.count else {
                throw Damage.at(cluster.ref, "keys and values of a map differ in number")
            }
            for index in 0 ..< cluster.count {
                let value = try values.value(index, scope)
                try check(value, type, cluster.ref)
                try body(text(try keys.value(index, scope)), value)
            }
        }
    }
}

extension ValueView {
    /// The very same bytes.
    fileprivate func isSame(_ other: ValueView) -> Bool {
        guard kindNumber == other.kindNumber else { return false }
        switch kind {
        case .string, .data, .list, .map: return bytes.elementsEqual(other.bytes)
        // The first date that there is also stands for those before it.
        case .timestamp where intValue == .min: return false
        default: return aux == other.aux && low == other.low && high == other.high
        }
    }
}
