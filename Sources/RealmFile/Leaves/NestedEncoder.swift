/// Lists and maps nested in a mixed value, put together as Motte encodes them (`NestedDocument`).
import MotteValues

struct NestedEncoder {
    /// A document above that is no value but the work of somebody who wants to use up memory.
    private static let mostBytes = 1 << 28

    private let scope: ReadingScope
    private let inner = Arena()
    private var output: [UInt8] = []

    /// A view in the scope's values.
    static func view(_ nested: (isMap: Bool, root: Int?), _ scope: ReadingScope) throws(DatabaseError) -> ValueView {
        var encoder = NestedEncoder(scope: ReadingScope(scope.file, visited: scope.visited))
        try encoder.append(nested, depth: 1)
        let bytes = encoder.output.withUnsafeBytes { scope.values.copy($0) }
        return nested.isMap ? .map(bytes) : .list(bytes)
    }

    private init(scope: ReadingScope) { self.scope = scope }

    private mutating func append(_ nested: (isMap: Bool, root: Int?), depth: Int) throws(DatabaseError) {
        guard depth <= NestedDocument.deepest else {
            throw Damage.found("more than \(NestedDocument.deepest) lists and maps are nested in each other")
        }
        append(UInt32((nested.isMap ? ValueKind.map : .list).rawValue))
        let start = output.count
        var ends: [UInt32] = []
        if let root = nested.root {
            if nested.isMap {
                try appendEntries(root, &ends, depth)
            } else {
                try appendElements(root, &ends, depth)
            }
        }
        // How many there are is known only now.
        var head: [UInt8] = []
        head.reserveCapacity(4 * ends.count + 4)
        withUnsafeBytes(of: UInt32(ends.count).littleEndian) { head.append(contentsOf: $0) }
        ends.withUnsafeBytes { head.append(contentsOf: $0) }
        output.insert(contentsOf: head, at: start)
    }

    private mutating func appendElements(_ root: Int, _ ends: inout [UInt32], _ depth: Int) throws(DatabaseError) {
        let start = output.count
        var tree = TreeCursor(root, scope, inner: inner)
        while let node = try tree.next() {
            let leaf = try Leaf(node, .mixed, isCollection: true, scope)
            try tree.counted(leaf.count)
            guard case .mixed(let values) = leaf.form else { throw node.unlike("a nested list") }
            for index in 0 ..< leaf.count {
                try append(values, index, depth)
                try end(&ends, from: start)
            }
        }
    }

    private mutating func appendEntries(_ root: Int, _ ends: inout [UInt32], _ depth: Int) throws(DatabaseError) {
        let start = output.count
        let pair = try MapPair(try scope.node(root))
        var keys = TreeCursor(pair.keys, scope, inner: inner)
        var names: [UnsafeRawBufferPointer] = []
        while let node = try keys.next() {
            let leaf = try Leaf(node, .key, isCollection: true, scope)
            try keys.counted(leaf.count)
            for index in 0 ..< leaf.count {
                let name = try leaf.value(index, scope).bytes
                if let last = names.last, ValueOrdering.compareBytes(last, name) >= 0 {
                    throw node.damage("keys of a map do not ascend")
                }
                names.append(name)
            }
        }
        var values = TreeCursor(pair.values, scope, inner: inner)
        var done = 0
        while let node = try values.next() {
            let leaf = try Leaf(node, .mixed, isCollection: true, scope)
            try values.counted(leaf.count)
            guard case .mixed(let mixed) = leaf.form else { throw node.unlike("a nested map") }
            for index in 0 ..< leaf.count {
                guard done < names.count else { throw unequal(root) }
                append(UInt32(names[done].count))
                output.append(contentsOf: names[done])
                done += 1
                try append(mixed, index, depth)
                try end(&ends, from: start)
            }
        }
        guard done == names.count else { throw unequal(root) }
    }

    private func unequal(_ root: Int) -> DatabaseError {
        Damage.at(root, "keys and values of a map differ in number")
    }

    private func end(_ ends: inout [UInt32], from start: Int) throws(DatabaseError) {
        guard output.count <= Self.mostBytes else {
            throw DatabaseError(.valueTooLarge, "a nested list or map takes more than \(Self.mostBytes >> 20) MB")
        }
        ends.append(UInt32(output.count - start).littleEndian)
    }

    private mutating func append(_ leaf: MixedLeaf, _ index: Int, _ depth: Int) throws(DatabaseError) {
        if let nested = try leaf.nested(index) {
            output.append(UInt8(nested.isMap ? ValueKind.map.rawValue : ValueKind.list.rawValue))
            return try append(nested, depth: depth + 1)
        }
        let view = try leaf.value(index, scope)
        output.append(UInt8(truncatingIfNeeded: view.kindNumber))
        switch view.form {
        case .bool: output.append(view.boolValue ? 1 : 0)
        case .int, .double: append(view.low)
        case .float: append(UInt32(truncatingIfNeeded: view.low))
        case .string, .data: output.append(contentsOf: view.bytes)
        case .timestamp:
            append(view.low)
            append(view.aux)
        case .link:
            append(view.aux)
            append(view.low)
        case .decimal:
            append(view.low)
            append(view.high)
        case .identifier: view.withOwnBytes { output.append(contentsOf: $0) }
        case .null, .list, .map, nil: break
        }
    }

    private mutating func append<T: FixedWidthInteger>(_ value: T) {
        withUnsafeBytes(of: value.littleEndian) { output.append(contentsOf: $0) }
    }
}
