/// The keys of an observed query, one for all who observe it in this process, of whatever session. Whoever works out
/// first what lies between two versions, the notifier's thread or an observer that moves, leaves it here for the
/// others, and the blocks of keys are the same memory. Results that are evaluated at a version that is known here take
/// them too.
///
/// It lives as long as somebody observes the query. Kept are keys of results over a class, of one step without its
/// limit, and of the last few moves only: an observer that lags works out its own, and shares again from there. Nothing
/// is computed under a lock here.
import MotteQueryEngine
import MotteStorage
import MotteValues
import Synchronization

package final class SharedKeys: Sendable {
    package struct Move: Sendable {
        package let from: Version
        package let to: Version
        /// The key paths that say what counts as modified.
        package let filter: String?
        /// After it.
        package let keys: KeyBlocks
        /// What came, went and changed; nil where nothing that matters has changed.
        package let difference: SequenceDifference?
        /// What it took to work out.
        package let nanoseconds: Int64

        package init(
            from: Version, to: Version, filter: String?, keys: KeyBlocks, difference: SequenceDifference?,
            nanoseconds: Int64
        ) {
            self.from = from
            self.to = to
            self.filter = filter
            self.keys = keys
            self.difference = difference
            self.nanoseconds = nanoseconds
        }

        func isFor(_ from: Version, _ to: Version, _ filter: String?) -> Bool {
            self.to == to && self.from == from && self.filter.hasSameBytes(as: filter)
        }
    }

    private struct Known: Sendable {
        var version = Version(0)
        var keys: KeyBlocks?
        var moves: [Move] = []

        func keys(at version: Version) -> KeyBlocks? {
            self.version == version ? keys : moves.last { $0.to == version }?.keys
        }

        mutating func note(_ keys: KeyBlocks, at version: Version) {
            guard version > self.version else { return }
            self.version = version
            self.keys = keys
        }
    }

    /// The schema's identity is that of its file too: no two files share one.
    private struct Name: Hashable {
        let catalog: ObjectIdentifier
        let table: TableKey
        let texts: [NameKey]
    }

    private struct Entry: Sendable {
        weak var keys: SharedKeys?
    }

    /// For each set of key paths, and in all.
    private static let mostMoves = 4
    private static let mostOfAll = 32
    private static let all = Locked<[Name: Entry]>(ofProcess: [:])

    /// Kept, so that its identity is nobody else's.
    package let catalog: Catalog
    private let steps: [ResultsStage]
    private let known = Locked(Known())
    private let cost = Atomic<Int64>(0)

    private init(_ steps: [ResultsStage], _ catalog: Catalog) {
        self.steps = steps
        self.catalog = catalog
    }

    private static func name(_ table: TableKey, _ steps: [ResultsStage], _ catalog: Catalog) -> Name {
        Name(catalog: ObjectIdentifier(catalog), table: table, texts: steps.map { NameKey($0.text) })
    }

    /// Those of some steps over a class, or of all its objects; made on first use.
    package static func of(_ table: TableKey, _ steps: [ResultsStage], _ catalog: Catalog) -> SharedKeys {
        let name = name(table, steps, catalog)
        return all.withLock { all in
            if let found = all[name]?.keys {
                // Texts are alike where queries are; should they ever be so where not, nothing is shared.
                return found.isFor(steps) ? found : SharedKeys(steps, catalog)
            }
            let made = SharedKeys(steps, catalog)
            if all.count > 64 { all = all.filter { $0.value.keys != nil } }
            all[name] = Entry(keys: made)
            return made
        }
    }

    /// nil when nobody observes that, or at another version.
    static func keys(
        _ table: TableKey, _ steps: [ResultsStage], _ catalog: Catalog, at version: Version
    ) -> KeyBlocks? {
        // Before a name is made of the query's text.
        guard all.withLock({ !$0.isEmpty }) else { return nil }
        let name = name(table, steps, catalog)
        guard let found = all.withLock({ $0[name]?.keys }), found.isFor(steps) else { return nil }
        return found.keys(at: version)
    }

    private func isFor(_ others: [ResultsStage]) -> Bool {
        steps.count == others.count
            && zip(steps, others).allSatisfy { $0.predicate == $1.predicate && $0.ordering == $1.ordering }
    }

    package func keys(at version: Version) -> KeyBlocks? { known.withLock { $0.keys(at: version) } }

    /// The keys of a version; somebody else's if they are here already.
    package func share(_ keys: KeyBlocks, at version: Version) -> KeyBlocks {
        known.withLock { known in
            if let there = known.keys(at: version) { return there }
            known.note(keys, at: version)
            return keys
        }
    }

    package func move(from: Version, to: Version, filter: String?) -> Move? {
        known.withLock { known in known.moves.last { $0.isFor(from, to, filter) } }
    }

    /// Whoever is first wins: answers the move to go by, which is somebody else's if it is here already.
    package func share(_ move: Move) -> Move {
        note(nanoseconds: move.nanoseconds)
        return known.withLock { known in
            if let there = known.moves.last(where: { $0.isFor(move.from, move.to, move.filter) }) { return there }
            let shared = Move(
                from: move.from, to: move.to, filter: move.filter, keys: known.keys(at: move.to) ?? move.keys,
                difference: move.difference, nanoseconds: move.nanoseconds)
            known.note(shared.keys, at: move.to)
            if known.moves.count(where: { $0.filter.hasSameBytes(as: move.filter) }) == Self.mostMoves,
                let oldest = known.moves.firstIndex(where: { $0.filter.hasSameBytes(as: move.filter) })
            {
                known.moves.remove(at: oldest)
            } else if known.moves.count == Self.mostOfAll {
                known.moves.removeFirst()
            }
            known.moves.append(shared)
            return shared
        }
    }

    // MARK: What it costs

    /// What the next move may take, by the last ones.
    package var expectedNanoseconds: Int64 { cost.load(ordering: .relaxed) }

    /// That working out the query took so long.
    package func note(nanoseconds: Int64) {
        cost.noteExpected(nanoseconds)
    }
}

extension Atomic<Int64> {
    /// Keeps the most of the last times, which counts for less the longer ago it was. Of what two threads note at once
    /// one may be lost.
    package func noteExpected(_ nanoseconds: Int64) {
        store(Swift.max(nanoseconds, load(ordering: .relaxed) / 4 * 3), ordering: .relaxed)
    }
}
