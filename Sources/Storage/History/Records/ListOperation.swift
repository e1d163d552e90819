/// One edit of a list, by positions at the moment it was made. Elements themselves are in the list.
package struct ListOperation: Equatable, Sendable {
    package enum Kind: UInt8, Sendable {
        /// `count` new elements at `index` and after.
        case insert = 1
        /// `count` elements removed from `index` on.
        case remove = 2
        /// `count` elements from `index` on replaced.
        case set = 3
        /// One element taken from `index` and put at `destination`, counted without it.
        case move = 4
        /// All `count` elements removed.
        case clear = 5
    }

    package let kind: Kind
    package var index: Int
    package var count: Int
    package let destination: Int

    private init(_ kind: Kind, _ index: Int, _ count: Int, _ destination: Int = 0) {
        self.kind = kind
        self.index = index
        self.count = count
        self.destination = destination
    }

    package static func insert(at index: Int, count: Int = 1) -> ListOperation { ListOperation(.insert, index, count) }
    package static func remove(at index: Int, count: Int = 1) -> ListOperation { ListOperation(.remove, index, count) }
    package static func set(at index: Int, count: Int = 1) -> ListOperation { ListOperation(.set, index, count) }
    package static func move(from index: Int, to destination: Int) -> ListOperation {
        ListOperation(.move, index, 1, destination)
    }
    package static func clear(count: Int) -> ListOperation { ListOperation(.clear, 0, count) }

    /// Takes in the edit made right after this one, if both are one: appending a thousand elements is one operation.
    package mutating func absorb(_ next: ListOperation) -> Bool {
        guard next.kind == kind else { return false }
        switch kind {
        case .insert where next.index >= index && next.index <= index + count:
            count += next.count
        case .remove where next.index == index:
            count += next.count
        case .remove where next.index + next.count == index:
            index = next.index
            count += next.count
        case .set where next.index == index + count:
            count += next.count
        case .set where next.index >= index && next.index + next.count <= index + count:
            break
        default:
            return false
        }
        return true
    }
}
