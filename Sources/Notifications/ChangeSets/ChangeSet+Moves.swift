/// Which elements of a change set have changed their place. Few ask, so that of results it is worked out when somebody
/// does, from the keys before and after or from the edits of the list, which cost nothing to keep.
import MotteLiveObjects
import MotteStorage

extension ChangeSet {
    /// From a position in the old collection to one in the new.
    package struct Move: Sendable, Equatable {
        package let old: Int
        package let new: Int

        package init(old: Int, new: Int) {
            self.old = old
            self.new = new
        }
    }

    enum MoveSource: Sendable {
        /// `set`: new positions of slots that were set, which hold other elements than before.
        case listed([Move], set: Set<Int> = [])
        /// What was moved in a list.
        case edits(ListRuns)
        /// An object that is at a deletion of the old keys and at an insertion of the new ones.
        case keys(old: KeyBlocks, new: KeyBlocks)
    }

    /// Elements that are both, a deletion and an insertion, because they changed their place: old and new position,
    /// paired, by old ones. None of change sets that leave out commits.
    package var moves: [Move] {
        switch moveSource {
        case .listed(let moves, _): return moves
        case .edits(let replay): return replay.moves()
        case .keys(let old, let new):
            guard !deletions.isEmpty, !insertions.isEmpty else { return [] }
            var places: [Int64: Int] = [:]
            places.reserveCapacity(insertions.count)
            for position in insertions { places[new[position]] = position }
            // An object may be in a list twice: each of its places is taken once.
            return deletions.compactMap { position in
                places.removeValue(forKey: old[position]).map { Move(old: position, new: $0) }
            }
        }
    }

    private var setSlots: Set<Int> {
        switch moveSource {
        case .listed(_, let set): set
        case .edits(let replay): replay.setSlots()
        case .keys: []
        }
    }

    /// What moved in this one, in `next` or in both, as far as it is there before and after.
    func moves(followedBy next: ChangeSet, _ first: PositionMap, _ second: PositionMap) -> MoveSource {
        if case .keys(let old, _) = moveSource, case .keys(_, let new) = next.moveSource {
            return .keys(old: old, new: new)
        }
        let earlier = moves
        let (earlierSet, laterSet) = (setSlots, next.setSlots)
        var later: [Int: Int] = [:]
        for move in next.moves { later[move.old] = move.new }
        var all = earlier.compactMap { move -> Move? in
            guard let new = later.removeValue(forKey: move.new) ?? second.new(ofOld: move.new),
                !laterSet.contains(new)
            else { return nil }
            return Move(old: move.old, new: new)
        }
        for (middle, new) in later where !earlierSet.contains(middle) {
            if let old = first.old(ofNew: middle) { all.append(Move(old: old, new: new)) }
        }
        let set = laterSet.union(earlierSet.compactMap { second.new(ofOld: $0) })
        return .listed(all.sorted { $0.old < $1.old }, set: set)
    }
}
