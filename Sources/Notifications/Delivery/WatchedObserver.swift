/// What the notifier computes ahead of a session, besides queries: the observers of single collections, sections and
/// objects.
///
/// An observer remembers what it has reported as a value (`Observer.memory`) that belongs to no session. The notifier
/// opens the same thing in a frozen session of the newest version, gives it a copy of that memory, lets it advance and
/// leaves the outcome in the observer's slot. The observer takes it if it moves between just these versions; if not, it
/// advances by itself.
import MotteLiveObjects
import MotteQueryEngine
import MotteStorage
import MotteValues
import Synchronization

/// What is observed, apart from any session.
struct ObservedThing: @unchecked Sendable {  // @unchecked: everything is constant, and plans are only read
    enum Kind {
        case object(TableKey, ObjectKey)
        case collection(CollectionPlan)
        case sections(CollectionPlan, SectionKey, only: SectionLayout.Key?)
        case groups(CollectionPlan, BoundGrouping)
    }

    let kind: Kind

    /// An observer of it in another session, `from` being the version that it was said for; nil where it is gone.
    fileprivate func observer(
        in session: Session, since from: Version, _ filter: KeyPathFilter?
    ) throws(DatabaseError) -> Observer? {
        switch kind {
        case .object(let table, let key):
            return try session.object(table, at: key).map { object throws(DatabaseError) in
                try ObjectObserver(object, filter)
            }
        case .collection(let plan):
            return try plan.open(in: session, since: from)?.observer(filter)
        case .sections(let plan, let key, let only):
            guard let base = try plan.open(in: session, since: from) else { return nil }
            return try SectionsObserver(LiveSections(base, by: key), only: only, filter)
        case .groups(let plan, let grouping):
            guard let base = try plan.open(in: session, since: from) as? LiveResults else { return nil }
            return try GroupsObserver(LiveGroups(base, grouping))
        }
    }
}

/// An observer as it was when its session last moved.
struct WatchedObserver: Sendable {
    let thing: ObservedThing
    let filter: KeyPathFilter?
    let memory: ObserverMemory
    let slot: PreparedSlot

    /// What the context's move means for it, in a session that shows the context's second version. nil where the thing
    /// is gone, which its session finds out as fast.
    func move(_ context: DeliveryContext, in session: Session) throws(DatabaseError) -> PreparedMove? {
        guard let twin = try thing.observer(in: session, since: context.from, filter) else { return nil }
        try twin.remember(memory, at: context.from)
        let changes = try twin.advance(context)
        return PreparedMove(from: context.from, to: context.to, memory: twin.memory, changes: changes)
    }
}

/// The change set of an observer for an advance, and what it remembers after it.
struct PreparedMove: Sendable {
    let from: Version
    let to: Version
    let memory: ObserverMemory
    let changes: ChangeSet?
}

/// Where the notifier leaves the last move that it has worked out for an observer.
final class PreparedSlot: Sendable {
    private let prepared = Locked<PreparedMove?>(nil)
    private let cost = Atomic<Int64>(0)

    func put(_ move: PreparedMove) {
        // What was there goes outside the lock.
        _ = prepared.withLock { prepared -> PreparedMove? in
            let before = prepared
            prepared = move
            return before
        }
    }

    /// Empties it, whatever was in there: the observer moves.
    func take(from: Version, to: Version) -> PreparedMove? {
        let taken = prepared.withLock { prepared -> PreparedMove? in
            let taken = prepared
            prepared = nil
            return taken
        }
        guard let taken, taken.from == from, taken.to == to else { return nil }
        return taken
    }

    func isThere(from: Version, to: Version) -> Bool {
        prepared.withLock { $0.map { $0.from == from && $0.to == to } ?? false }
    }

    /// What the next move may take, by the last ones.
    var expectedNanoseconds: Int64 { cost.load(ordering: .relaxed) }

    func note(nanoseconds: Int64) { cost.noteExpected(nanoseconds) }
}
