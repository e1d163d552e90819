/// Up to 256 objects of a class, column by column.
///
/// Views borrow from the cluster: until the cursor's next one, or while the cluster is held where `find` gave it.
/// Values of fixed size and short strings lie in leaves that are read once; larger ones (blobs, elements of
/// collections, nested lists and maps) are held from when they are read on, `heldBytes` of them, until `release`.
import MotteValues

package final class RealmCluster {
    /// 0 to 256.
    package var count: Int { node?.count ?? 0 }
    /// Objects of the table before it.
    package private(set) var firstPosition = 0

    /// Marks of `memory`: not read yet; read, and given up since.
    private static let unread = ValueView(kindNumber: .max)
    private static let released = ValueView(kindNumber: .max - 1)

    /// What was read of a column.
    private struct ColumnState {
        var leaf: Leaf?
        var collections: Integers?
        /// Of single values that are not in the leaf itself: those read so far.
        var memory: UnsafeMutablePointer<ValueView>?
        /// Of collections: which were read, to the end or not.
        var reads: UnsafeMutablePointer<CollectionRead>?
    }

    enum CollectionRead: UInt8 { case none, whole, part }

    let layout: TableLayout
    let file: FileContext
    let scope: ReadingScope
    let visited: VisitedNodes
    private var node: ClusterNode?
    /// By column; in place, since values are read from there one by one.
    private let states: UnsafeMutableBufferPointer<ColumnState>
    /// Those of reads that have ended. A read may begin within another one, for an object that contains others.
    private var idleScopes: [ElementScopes] = []

    init(_ layout: TableLayout, _ file: FileContext, _ visited: VisitedNodes) {
        self.layout = layout
        self.file = file
        self.visited = visited
        scope = ReadingScope(file, visited: visited)
        states = .allocate(capacity: layout.columns.count)
        states.initialize(repeating: ColumnState())
    }

    deinit {
        states.deinitialize()
        states.deallocate()
    }

    // MARK: Which objects

    func clear() {
        node = nil
        scope.nodes.reset()
        scope.values.reset()
        for index in states.indices { states[index] = ColumnState() }
    }

    func show(_ node: ClusterNode, firstPosition: Int) {
        self.node = node
        self.firstPosition = firstPosition
    }

    /// For looking up: what other clusters say is nobody's matter.
    func load(_ entry: ClusterIndex.Entry) throws(DatabaseError) {
        clear()
        visited.reset()
        show(try ClusterNode(try scope.node(entry.ref), offset: entry.offset, scope), firstPosition: entry.position)
    }

    package func key(_ row: Int) -> Int64 {
        guard let node, row >= 0, row < node.count else { return -1 }
        return node.key(row)
    }

    func row(of key: Int64) -> Int? {
        guard let node, UInt64(bitPattern: key) >= node.offset else { return nil }
        let inside = UInt64(bitPattern: key) - node.offset
        guard let keys = node.keys else { return inside < UInt64(node.count) ? Int(inside) : nil }
        var low = 0
        var high = node.count
        while low < high {
            let middle = (low + high) / 2
            if keys.unsigned(middle) < inside { low = middle + 1 } else { high = middle }
        }
        return low < node.count && keys.unsigned(low) == inside ? low : nil
    }

    // MARK: Single values

    /// A single value. A leaf is validated once per cluster and column, so this is cheap in a loop by column.
    package func value(_ column: Int, _ row: Int) throws(DatabaseError) -> ValueView {
        do throws(DatabaseError) {
            guard row >= 0, row < count else { throw outOfBounds }
            guard states.indices.contains(column) else { throw outOfBounds }
            if states[column].leaf == nil { try load(column) }
            if states[column].memory != nil { return try remembered(column, row) }
            // Never nil: it was loaded just now.
            return try states[column].leaf!.value(row, scope)
        } catch {
            throw located(error, column, row)
        }
    }

    private func remembered(_ column: Int, _ row: Int) throws(DatabaseError) -> ValueView {
        guard let leaf = states[column].leaf, let memory = states[column].memory else { return .null }
        let known = memory[row].kindNumber
        if known < Self.released.kindNumber { return memory[row] }
        // What was read and given up is known to belong to nothing else.
        scope.visited = known == Self.released.kindNumber ? nil : visited
        defer { scope.visited = visited }
        let value = try leaf.value(row, scope)
        memory[row] = value
        return value
    }

    private func load(_ column: Int) throws(DatabaseError) {
        guard let node else { throw outOfBounds }
        let stored = layout.columns[column]
        guard stored.collection == .none else {
            throw DatabaseError(.wrongKind, "the property is a collection")
        }
        let leaf = try Leaf(
            try node.leaf(stored.key.index, scope), stored.element, isCollection: false,
            enumerated: try layout.enumeratedStrings(column, file), scope)
        guard leaf.count == node.count else {
            throw Damage.at(leaf.ref, "a column has \(leaf.count) values for \(node.count) objects")
        }
        if leaf.isReadByValue {
            let memory = scope.nodes.allocate(node.count * MemoryLayout<ValueView>.stride)
                .bindMemory(to: ValueView.self, capacity: node.count)
            memory.initialize(repeating: Self.unread, count: node.count)
            states[column].memory = memory
        }
        states[column].leaf = leaf
    }

    // MARK: Collections

    /// Elements in order; with their keys for maps (empty otherwise). `body` may throw. Unresolved links are left out
    /// of lists and sets, and null elsewhere. With `keeping` false a view is valid only for the length of its call of
    /// `body`, so that a collection of any size takes no memory.
    package func elements(
        _ column: Int, _ row: Int, keeping: Bool = true,
        _ body: (_ mapKey: UnsafeRawBufferPointer, _ value: ValueView) throws(DatabaseError) -> Void
    ) throws(DatabaseError) {
        var isOfBody = false
        do throws(DatabaseError) {
            guard let root = try collection(column, row) else { return }
            let reads = readsOfCollections(column)
            let scopes = borrowScopes()
            switch reads[row] {
            case .none: scopes.begin(visited, keeping: keeping)
            case .whole: scopes.begin(nil, keeping: keeping)
            case .part: scopes.begin(VisitedNodes(limit: file.nodes.limit), keeping: keeping)
            }
            reads[row] = .part
            defer { giveBack(scopes) }
            try scopes.read(root, layout.columns[column]) { (key, value) throws(DatabaseError) in
                do throws(DatabaseError) { try body(key, value) } catch {
                    isOfBody = true
                    throw error
                }
            }
            reads[row] = .whole
        } catch {
            throw isOfBody ? error : located(error, column, row)
        }
    }

    /// As stored, with unresolved links.
    package func elementCount(_ column: Int, _ row: Int) throws(DatabaseError) -> Int {
        do throws(DatabaseError) {
            guard let root = try collection(column, row) else { return 0 }
            let scopes = borrowScopes()
            defer { giveBack(scopes) }
            return try scopes.count(root, layout.columns[column])
        } catch {
            throw located(error, column, row)
        }
    }

    func borrowScopes() -> ElementScopes { idleScopes.popLast() ?? ElementScopes(scope) }

    func giveBack(_ scopes: ElementScopes) {
        scopes.end()
        idleScopes.append(scopes)
    }

    /// The root of the collection; nil when it is empty.
    private func collection(_ column: Int, _ row: Int) throws(DatabaseError) -> Int? {
        guard let node, row >= 0, row < node.count, states.indices.contains(column) else { throw outOfBounds }
        let refs: Integers
        if let known = states[column].collections {
            refs = known
        } else {
            let stored = layout.columns[column]
            guard stored.collection != .none else {
                throw DatabaseError(.wrongKind, "the property is no collection")
            }
            let leaf = try node.leaf(stored.key.index, scope)
            refs = try leaf.refs("a column of collections")
            guard refs.count == node.count else {
                throw leaf.damage("a column has \(refs.count) values for \(node.count) objects")
            }
            states[column].collections = refs
        }
        switch refs.slot(row) {
        case .nothing: return nil
        case .ref(let root): return root
        case .tagged: throw Damage.at(node.ref, "a number is where a collection must be")
        }
    }

    private func readsOfCollections(_ column: Int) -> UnsafeMutablePointer<CollectionRead> {
        if let known = states[column].reads { return known }
        let reads = scope.nodes.allocate(count).bindMemory(to: CollectionRead.self, capacity: count)
        reads.initialize(repeating: .none, count: count)
        states[column].reads = reads
        return reads
    }

    // MARK: Memory

    /// Memory of larger values read so far.
    package var heldBytes: Int { scope.values.count }

    /// Memory for all that is held of the cluster.
    package var memoryBytes: Int { scope.nodes.count + scope.values.count }

    /// Gives that memory up: views of strings, data, nested lists and maps, and of elements, are no longer valid. For
    /// loops over rows with large values.
    package func release() {
        scope.values.reset()
        for column in states.indices {
            guard let memory = states[column].memory else { continue }
            for row in 0 ..< count where memory[row].kindNumber < Self.released.kindNumber {
                memory[row] = Self.released
            }
        }
    }

    // MARK: Backlinks

    /// The leaf of a column of backlinks.
    func backlinks(_ number: Int) throws(DatabaseError) -> Integers {
        guard let node else { throw outOfBounds }
        let leaf = try node.leaf(layout.backlinks[number].index, scope)
        let slots = try leaf.refs("a column of backlinks")
        guard slots.count == node.count else {
            throw leaf.damage("a column has \(slots.count) values for \(node.count) objects")
        }
        return slots
    }

    // MARK: Errors

    private var outOfBounds: DatabaseError { DatabaseError(.outOfBounds, "there is no such property or object") }

    private func located(_ error: DatabaseError, _ column: Int, _ row: Int) -> DatabaseError {
        let name = layout.columns.indices.contains(column) ? layout.columns[column].name : nil
        let key = row >= 0 && row < count ? key(row) : nil
        return Place(path: file.path, className: layout.name, propertyName: name, key: key).adding(to: error)
    }
}
