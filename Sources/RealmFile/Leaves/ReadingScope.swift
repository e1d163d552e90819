/// What reading needs besides the bytes: the file, where nodes and values are put, and what was visited already.
import MotteValues

/// Of the whole file, the same for all tables.
final class FileContext {
    let path: String
    let format: Int
    let nodes: NodeSource
    /// By slot of the file's list of tables: key and, for classes that a user declared, index in `RealmFile.tables`.
    var tableKeys: [Int64] = []
    var tableIndexes: [Int] = []
    /// Of the classes, by that index.
    var layouts: [TableLayout] = []
    /// How many timestamps were before all that can be expressed, and given as the least.
    var clampedTimestamps = 0

    init(path: String, format: Int, nodes: NodeSource) {
        self.path = path
        self.format = format
        self.nodes = nodes
    }

    /// Of a class that a user declared; nil where there is none.
    func index(ofTable key: Int64) -> Int? {
        let slot = Int(key & 0xFFFF)
        guard slot < tableKeys.count, tableKeys[slot] == key, tableIndexes[slot] >= 0 else { return nil }
        return tableIndexes[slot]
    }
}

final class ReadingScope {
    let file: FileContext
    /// Nodes that stay for as long as what is read from them.
    let nodes: Arena
    /// Larger values, given up before the nodes.
    let values: Arena
    /// nil where the same was read before, so that it is known to be a tree.
    var visited: VisitedNodes?
    /// For putting nested lists and maps together.
    var document: [UInt8] = []

    init(_ file: FileContext, nodes: Arena = Arena(), values: Arena = Arena(), visited: VisitedNodes?) {
        self.file = file
        self.nodes = nodes
        self.values = values
        self.visited = visited
    }

    /// To stay with the leaf.
    func node(_ ref: Int) throws(DatabaseError) -> Node { try file.nodes.node(ref, in: nodes, visited) }

    /// A node that some array refers to.
    func node(_ array: Integers, _ index: Int, _ what: String, _ owner: Int) throws(DatabaseError) -> Node {
        guard case .ref(let ref) = array.slot(index) else { throw Damage.at(owner, "\(what) is missing") }
        return try node(ref)
    }

    /// Part of a value.
    func valueNode(_ ref: Int) throws(DatabaseError) -> Node { try file.nodes.node(ref, in: values, visited) }

    /// A timestamp as Motte writes it: nanoseconds count forwards. Both are checked to be in range and of one sign.
    func timestamp(_ seconds: Int64, _ nanoseconds: Int64) -> Timestamp {
        if nanoseconds >= 0 { return Timestamp(seconds: seconds, nanoseconds: UInt32(nanoseconds)) }
        guard seconds > .min else {
            file.clampedTimestamps += 1
            return Timestamp(seconds: .min, nanoseconds: 0)
        }
        return Timestamp(seconds: seconds - 1, nanoseconds: UInt32(1_000_000_000 + nanoseconds))
    }

    static func isTimestamp(_ seconds: Int64, _ nanoseconds: Int64) -> Bool {
        (-999_999_999 ... 999_999_999).contains(nanoseconds)
            && (nanoseconds == 0 || seconds == 0 || (nanoseconds < 0) == (seconds < 0))
    }
}
