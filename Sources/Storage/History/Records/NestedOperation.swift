/// One edit of a list or map that is nested in a mixed value: which one by its path, and what happened in it. Paths and
/// positions are those at the moment of the edit.
///
/// In a collection of mixed values the first step of a path is the element's index or key.
import MotteValues

package struct NestedOperation: Equatable, Sendable {
    package enum Change: Equatable, Sendable {
        /// The value at the path gave way to another, or went with its key: what was nested in it is gone.
        case replaced
        case inserted(at: Int, count: Int)
        case removed(at: Int, count: Int)
        case set(at: Int)
        case keyInserted(String)
        case keyModified(String)
        case keyRemoved(String)
        /// All elements or entries.
        case cleared(count: Int)

        fileprivate var number: UInt8 {
            switch self {
            case .replaced: 0
            case .inserted: 1
            case .removed: 2
            case .set: 3
            case .keyInserted: 4
            case .keyModified: 5
            case .keyRemoved: 6
            case .cleared: 7
            }
        }
    }

    package let path: NestedPath
    package let change: Change

    package init(path: NestedPath, change: Change) {
        self.path = path
        self.change = change
    }

    func write(to bytes: inout [UInt8]) {
        bytes.append(change.number)
        bytes.append(varint: path.count)
        for step in path {
            switch step {
            case .index(let index):
                bytes.append(0)
                bytes.append(varint: index)
            case .key(let key):
                bytes.append(1)
                Self.write(key, to: &bytes)
            }
        }
        switch change {
        case .replaced: break
        case .inserted(let index, let count), .removed(let index, let count):
            bytes.append(varint: index)
            bytes.append(varint: count)
        case .set(let index): bytes.append(varint: index)
        case .cleared(let count): bytes.append(varint: count)
        case .keyInserted(let key), .keyModified(let key), .keyRemoved(let key): Self.write(key, to: &bytes)
        }
    }

    private static func write(_ key: String, to bytes: inout [UInt8]) {
        bytes.append(varint: key.utf8.count)
        bytes.append(contentsOf: key.utf8)
    }
}

extension LogReader {
    mutating func nestedOperation() throws(DatabaseError) -> NestedOperation {
        let number = try byte()
        let depth = try count(minimumSize: 2)
        guard depth <= NestedDocument.deepest + 1 else {
            throw .corrupted("a change record has a path that is too deep")
        }
        var path: NestedPath = []
        for _ in 0 ..< depth {
            switch try byte() {
            case 0: path.append(.index(Int(try position())))
            case 1: path.append(.key(try text()))
            default: throw .corrupted("a change record has an unknown step of a path")
            }
        }
        let change: NestedOperation.Change
        switch number {
        case 0: change = .replaced
        case 1: change = .inserted(at: Int(try position()), count: Int(try position()))
        case 2: change = .removed(at: Int(try position()), count: Int(try position()))
        case 3: change = .set(at: Int(try position()))
        case 4: change = .keyInserted(try text())
        case 5: change = .keyModified(try text())
        case 6: change = .keyRemoved(try text())
        case 7: change = .cleared(count: Int(try position()))
        default: throw .corrupted("a change record has an unknown nested operation")
        }
        return NestedOperation(path: path, change: change)
    }

    private mutating func text() throws(DatabaseError) -> String {
        guard let text = String(validating: try run(Int(try position())), as: UTF8.self) else {
            throw .corrupted("a change record has text that is not UTF-8")
        }
        return text
    }
}

/// Edits within the mixed values of one column in one transaction, per owner in the order they were made.
final class RecordedNested {
    let key: ColumnKey
    private var owners: [Int64: [NestedOperation]] = [:]

    init(_ key: ColumnKey) { self.key = key }

    func append(_ owner: Int64, _ operation: NestedOperation) {
        owners[owner, default: []].append(operation)
    }

    /// Takes the owner's last operation back.
    func undo(_ owner: Int64) {
        owners[owner]?.removeLast()
        if owners[owner]?.isEmpty == true { owners[owner] = nil }
    }

    func changes(without gone: KeyRuns) -> [ChangeRecord.Nested] {
        let order = owners.keys.sorted().filter { !gone.contains($0) }
        return order.map { ChangeRecord.Nested(column: key, owner: $0, operations: owners[$0] ?? []) }
    }
}
