// Nested lists and maps as plain trees: random edits done to both, and the change log played back on them.
import MotteStorage
import MotteValues
import TestSupport
import Testing

enum NestedModel {
    /// `isSingle`: the property is one value; else the outermost level of `tree` is the property's own collection,
    /// which nested edits do not touch.
    static func step(
        _ tree: inout Value, _ isSingle: Bool, _ write: WriteTransaction, _ table: TableKey, _ column: ColumnKey,
        _ key: ObjectKey, _ random: inout SeededRandom
    ) throws {
        let paths = collections(in: tree, at: []).filter { isSingle || !$0.isEmpty }
        guard !paths.isEmpty else { return }
        let path = random.pick(paths)
        let edit = randomEdit(value(in: tree, at: path), &random)
        guard let edit else { return }
        _ = try write.nestedEdit(table, column, key, path: path, edit: edit)
        change(&tree, path[...]) { apply(edit, to: &$0) }
    }

    private static func collections(in value: Value, at path: NestedPath) -> [NestedPath] {
        switch value {
        case .list(let elements):
            [path] + elements.enumerated().flatMap { collections(in: $0.element, at: path + [.index($0.offset)]) }
        case .map(let entries): [path] + entries.flatMap { collections(in: $0.value, at: path + [.key($0.key)]) }
        default: []
        }
    }

    private static func value(in tree: Value, at path: NestedPath) -> Value {
        path.reduce(tree) { value, step in
            switch (value, step) {
            case (.list(let elements), .index(let index)): elements[index]
            case (.map(let entries), .key(let key)): entries.first { $0.key == key }?.value ?? .null
            default: .null
            }
        }
    }

    static func change(_ tree: inout Value, _ path: ArraySlice<NestedStep>, _ body: (inout Value) -> Void) {
        guard let step = path.first else { return body(&tree) }
        switch (tree, step) {
        case (.list(var elements), .index(let index)) where index < elements.count:
            change(&elements[index], path.dropFirst(), body)
            tree = .list(elements)
        case (.map(var entries), .key(let key)):
            guard let position = entries.firstIndex(where: { $0.key == key }) else { return }
            change(&entries[position].value, path.dropFirst(), body)
            tree = .map(entries)
        default: Issue.record("a path leads nowhere: \(path)")
        }
    }

    private static func randomEdit(_ target: Value, _ random: inout SeededRandom) -> NestedEdit? {
        let values: [Value] = [.int(Int64(random.below(100))), .string("text"), .null, .list([]), .map([])]
        let value = random.pick(values)
        switch target {
        case .list(let elements):
            switch random.below(6) {
            case 0: return .append(value)
            case 1: return .insert(at: random.below(elements.count + 1), value)
            case 2 where !elements.isEmpty: return .set(at: random.below(elements.count), value)
            case 3 where !elements.isEmpty: return .remove(at: random.below(elements.count), count: 1)
            case 4 where !elements.isEmpty:
                return .move(from: random.below(elements.count), to: random.below(elements.count))
            case 5 where random.below(8) == 0: return .clear
            default: return nil
            }
        default:
            let key = EverythingModel.randomKey(&random)
            switch random.below(5) {
            case 0 ... 2: return .put(key, value)
            case 3: return .removeKey(key)
            default: return random.below(8) == 0 ? .clear : nil
            }
        }
    }

    private static func apply(_ edit: NestedEdit, to value: inout Value) {
        switch (value, edit) {
        case (.list(var list), _):
            switch edit {
            case .append(let new): list.append(new)
            case .insert(let index, let new): list.insert(new, at: index)
            case .set(let index, let new): list[index] = new
            case .remove(let index, let count): list.removeSubrange(index ..< index + count)
            case .move(let from, let to): list.insert(list.remove(at: from), at: to)
            default: list.removeAll()
            }
            value = .list(list)
        case (.map(var map), .put(let key, let new)):
            map.removeAll { $0.key == key }
            map.append(MapEntry(key: key, value: new))
            value = .map(map.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) })
        case (.map(var map), .removeKey(let key)):
            map.removeAll { $0.key == key }
            value = .map(map)
        default: value = .map([])
        }
    }

    // MARK: The log

    /// Stands for what the log says is new without saying what it is.
    private static let unknown = Value.data(Array("unknown".utf8))

    static func replay(_ operations: [NestedOperation], from old: Value, to new: Value, _ comment: String) {
        var tree = old
        for operation in operations {
            // What is new is not known from the log, so edits inside of it cannot be followed.
            if isUnknown(tree, operation.path) { continue }
            change(&tree, operation.path[...]) { play(operation.change, on: &$0) }
        }
        #expect(matches(tree, new), "\(tree) does not lead to \(new) by \(operations); \(comment)")
    }

    private static func isUnknown(_ tree: Value, _ path: NestedPath) -> Bool {
        var value = tree
        for step in path {
            if value.kind == .data { return true }
            value = Self.value(in: value, at: [step])
        }
        return value.kind == .data
    }

    private static func play(_ change: NestedOperation.Change, on value: inout Value) {
        switch (value, change) {
        case (.list(var list), .inserted(let index, let count)):
            list.insert(contentsOf: repeatElement(unknown, count: count), at: index)
            value = .list(list)
        case (.list(var list), .removed(let index, let count)):
            list.removeSubrange(index ..< index + count)
            value = .list(list)
        case (.list(var list), .set(let index)):
            list[index] = unknown
            value = .list(list)
        case (.map(var map), .keyInserted(let key)), (.map(var map), .keyModified(let key)):
            map.removeAll { $0.key == key }
            map.append(MapEntry(key: key, value: unknown))
            value = .map(map.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) })
        case (.map(var map), .keyRemoved(let key)):
            map.removeAll { $0.key == key }
            value = .map(map)
        case (.list, .cleared): value = .list([])
        case (.map, .cleared): value = .map([])
        default: value = unknown
        }
    }

    private static func matches(_ replayed: Value, _ actual: Value) -> Bool {
        if replayed.kind == .data { return true }
        switch (replayed, actual) {
        case (.list(let one), .list(let two)):
            return one.count == two.count && zip(one, two).allSatisfy { matches($0, $1) }
        case (.map(let one), .map(let two)):
            return one.count == two.count
                && zip(one, two).allSatisfy { $0.key == $1.key && matches($0.value, $1.value) }
        default: return replayed == actual
        }
    }
}
