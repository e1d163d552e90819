/// The edits that make one list or map in a mixed value of another: in maps key by key, in lists behind what both begin
/// with and before what both end with.
import MotteSchemaModel
import MotteValues

package struct NestedDifference {
    private(set) var edits: [(path: NestedPath, edit: NestedEdit)] = []
    /// Each edit costs what the whole value is long.
    private static let mostEdits = 32

    /// nil where they are not both lists or both maps, or have too little in common.
    package static func edits(from old: Value, to new: Value) -> [(path: NestedPath, edit: NestedEdit)]? {
        var difference = NestedDifference()
        guard difference.compare(old, new, []) else { return nil }
        return difference.edits
    }

    private mutating func add(_ path: NestedPath, _ edit: NestedEdit) -> Bool {
        edits.append((path, edit))
        return edits.count <= Self.mostEdits
    }

    /// False where it takes too many edits, or the value has to be replaced.
    private mutating func compare(_ old: Value, _ new: Value, _ path: NestedPath) -> Bool {
        switch (old, new) {
        case (.list(let old), .list(let new)): return lists(old, new, path)
        case (.map(let old), .map(let new)): return maps(old, new, path)
        default: return false
        }
    }

    private mutating func lists(_ old: [Value], _ new: [Value], _ path: NestedPath) -> Bool {
        var start = 0
        while start < min(old.count, new.count), Self.isSame(old[start], new[start]) { start += 1 }
        var end = 0
        while end < min(old.count, new.count) - start, Self.isSame(old[old.count - 1 - end], new[new.count - 1 - end]) {
            end += 1
        }
        let (oldCount, newCount) = (old.count - start - end, new.count - start - end)
        for index in start ..< start + min(oldCount, newCount) where !Self.isSame(old[index], new[index]) {
            let known = edits.count
            if compare(old[index], new[index], path + [.index(index)]) { continue }
            guard known <= Self.mostEdits else { return false }
            edits.removeSubrange(known...)
            guard add(path, .set(at: index, new[index])) else { return false }
        }
        if oldCount > newCount, !add(path, .remove(at: start + newCount, count: oldCount - newCount)) { return false }
        for index in start + min(oldCount, newCount) ..< start + newCount {
            guard add(path, .insert(at: index, new[index])) else { return false }
        }
        return true
    }

    private mutating func maps(_ old: [MapEntry], _ new: [MapEntry], _ path: NestedPath) -> Bool {
        // By bytes: Swift compares texts by what they look like.
        let former = Self.places(old), kept = Self.places(new)
        for entry in old where kept[Array(entry.key.utf8)] == nil {
            guard add(path, .removeKey(entry.key)) else { return false }
        }
        for entry in new {
            if let place = former[Array(entry.key.utf8)] {
                let value = old[place].value
                if Self.isSame(value, entry.value) { continue }
                let known = edits.count
                if compare(value, entry.value, path + [.key(entry.key)]) { continue }
                guard known <= Self.mostEdits else { return false }
                edits.removeSubrange(known...)
            }
            guard add(path, .put(entry.key, entry.value)) else { return false }
        }
        return true
    }

    private static func places(_ entries: [MapEntry]) -> [[UInt8]: Int] {
        Dictionary(entries.enumerated().map { (Array($1.key.utf8), $0) }) { first, _ in first }
    }

    /// Also of the same kind: 1 and 1.0 are equal, and not the same.
    private static func isSame(_ left: Value, _ right: Value) -> Bool {
        left.withView { left in
            right.withView { right in NestedDocument.encodeEntry(left) == NestedDocument.encodeEntry(right) }
        }
    }
}
