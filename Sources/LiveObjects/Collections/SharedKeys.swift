/// The keys of an observed query, one for all who observe it in this process, of whatever session: the first observer
/// to move to a version works out what that changed, the others take it from here, and the blocks of keys are the same
/// memory. Results that are evaluated at a version that an observer has been told of take them too.
///
/// It lives as long as somebody observes the query. Kept are keys of results over a class with at most one step,
/// without their limit, and of the last few moves only: an observer that lags works out its own, and shares again from
/// there.
import MotteQueryEngine
import MotteStorage
import MotteValues

package final class SharedKeys: Sendable {
    package struct Move: Sendable {
        package let from: Version
        package let to: Version
        /// The key paths that say what counts as modified.
        package let filter: String?
        /// After it.
        package let keys: KeyBlocks
        /// What observers are told of it, which is the floor above's to know.
        package let told: any Sendable

        package init(from: Version, to: Version, filter: String?, keys: KeyBlocks, told: any Sendable) {
            self.from = from
            self.to = to
            self.filter = filter
            self.keys = keys
            self.told = told
        }
    }

    private struct Known: Sendable {
        var version = Version(0)
        var keys: KeyBlocks?
        var moves: [Move] = []
    }

    /// The schema's identity is that of its file too: no two files share one.
    private struct Name: Hashable {
        let catalog: ObjectIdentifier
        let table: TableKey
        let text: String
    }

    private struct Entry: Sendable {
        weak var keys: SharedKeys?
    }

    private static let mostMoves = 4
    private static let all = Locked<[Name: Entry]>([:])

    /// Kept, so that its identity is nobody else's.
    package let catalog: Catalog
    private let stage: ResultsStage?
    private let known = Locked(Known())

    private init(_ stage: ResultsStage?, _ catalog: Catalog) {
        self.stage = stage
        self.catalog = catalog
    }

    /// Those of a step without a limit, or of all objects of a class; made on first use.
    package static func of(_ table: TableKey, _ stage: ResultsStage?, _ catalog: Catalog) -> SharedKeys {
        let name = Name(catalog: ObjectIdentifier(catalog), table: table, text: stage?.text ?? "")
        return all.withLock { all in
            if let found = all[name]?.keys {
                // Texts are alike where queries are; should they ever be so where not, nothing is shared.
                return found.isFor(stage) ? found : SharedKeys(stage, catalog)
            }
            let made = SharedKeys(stage, catalog)
            if all.count > 64 { all = all.filter { $0.value.keys != nil } }
            all[name] = Entry(keys: made)
            return made
        }
    }

    /// nil when nobody observes that, or at another version.
    static func keys(
        _ table: TableKey, _ stage: ResultsStage?, _ catalog: Catalog, at version: Version
    ) -> KeyBlocks? {
        let found = all.withLock { all -> SharedKeys? in
            // Before a name is made of the query's text.
            guard !all.isEmpty else { return nil }
            return all[Name(catalog: ObjectIdentifier(catalog), table: table, text: stage?.text ?? "")]?.keys
        }
        guard let found, found.isFor(stage) else { return nil }
        return found.keys(at: version)
    }

    private func isFor(_ other: ResultsStage?) -> Bool {
        stage?.predicate == other?.predicate && stage?.ordering == other?.ordering
    }

    package func keys(at version: Version) -> KeyBlocks? {
        known.withLock { known in
            if known.version == version { return known.keys }
            return known.moves.last { $0.to == version }?.keys
        }
    }

    /// The keys of a version; somebody else's if they are here already.
    package func share(_ keys: KeyBlocks, at version: Version) -> KeyBlocks {
        if let there = self.keys(at: version) { return there }
        known.withLock { known in
            guard version > known.version else { return }
            known.version = version
            known.keys = keys
        }
        return keys
    }

    package func move(from: Version, to: Version, filter: String?) -> Move? {
        known.withLock { known in known.moves.last { $0.from == from && $0.to == to && $0.filter == filter } }
    }

    /// Answers the keys to keep: somebody else's if they are here already.
    package func share(_ move: Move) -> KeyBlocks {
        let keys = share(move.keys, at: move.to)
        let shared = Move(from: move.from, to: move.to, filter: move.filter, keys: keys, told: move.told)
        known.withLock { known in
            if known.moves.count == Self.mostMoves { known.moves.removeFirst() }
            known.moves.append(shared)
        }
        return keys
    }
}
