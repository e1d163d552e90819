/// What computes the changes of one observed thing: remembers it as it was, and compares when the session moves.
///
/// On one thread at a time: that of the session, or for a copy in a frozen session that of the notifier
/// (`WatchedObserver`). `advance` is called with the session at a committed version and nothing changed in it.
import CMotteShim
import MotteLiveObjects
import MotteQueryEngine
import MotteStorage
import MotteValues

class Observer {
    let session: Session
    /// Which changes below the elements count; nil: all that are not too far away.
    let filter: KeyPathFilter?
    /// The version that is remembered.
    var version: Version

    init(_ session: Session, _ filter: KeyPathFilter? = nil) throws(DatabaseError) {
        self.session = session
        self.filter = filter
        version = try session.version
    }

    /// Of its change sets.
    var kind: ChangeSet.Kind { .collection }

    /// Whether the first delivery tells the state that observation starts from.
    var tellsInitialState: Bool { false }

    /// The query that the notifier may advance ahead of the session.
    var watchedQuery: WatchedQuery? { nil }

    /// What is observed, for the notifier; nil where only the session can say what changed.
    var thing: ObservedThing? { get throws(DatabaseError) { nil } }

    /// What is remembered, as a value of no session.
    var memory: ObserverMemory { .nothing }

    /// Remembers what another observer of the same thing remembers at a version.
    final func remember(_ memory: ObserverMemory, at version: Version) throws(DatabaseError) {
        try take(memory, at: version)
        self.version = version
    }

    /// For subclasses: each takes its own case.
    func take(_ memory: ObserverMemory, at version: Version) throws(DatabaseError) {
        guard case .nothing = memory else { throw memory.isOfAnother }
    }

    /// Puts what is known by now into the collection itself, which need not find it out again.
    func show() {}

    private lazy var slot = PreparedSlot()
    private var isWatched = false

    /// Remembers the present state.
    func initialState() throws(DatabaseError) -> ChangeSet {
        version = try session.version
        var changes = ChangeSet(.collection, from: version, to: version)
        changes.isInitial = true
        return changes
    }

    /// What changed since the remembered version, nil for nothing; remembers the present one.
    func advance(_ context: DeliveryContext) throws(DatabaseError) -> ChangeSet? { nil }

    /// The same, by what the notifier has found out if it was first.
    ///
    /// An observer that began after its session had moved without a delivery remembers a later version than the
    /// context begins with: the edits before that version are not for it.
    final func move(_ context: DeliveryContext) throws(DatabaseError) -> ChangeSet? {
        guard context.moved else { return try advance(context) }
        guard version == context.from else { return version == context.to ? nil : try resume(context) }
        guard isWatched else { return try advance(context) }
        if let ready = slot.take(from: context.from, to: context.to) {
            session.counters.add(movesTaken: 1)
            try remember(ready.memory, at: ready.to)
            show()
            return ready.changes
        }
        let start = motte_shim_monotonic_ns()
        defer { slot.note(nanoseconds: motte_shim_monotonic_ns() &- start) }
        return try advance(context)
    }

    /// After a failed `advance`, of which nothing can be relied on: remembers the present state, and says that
    /// everything may have changed.
    func resume(_ context: DeliveryContext) throws(DatabaseError) -> ChangeSet? { try initialState() }

    /// What the notifier needs to move it on.
    final func watched() throws(DatabaseError) -> WatchedObserver? {
        guard let thing = try thing, try session.version == version else { return nil }
        isWatched = true
        return WatchedObserver(thing: thing, filter: filter, memory: memory, slot: slot)
    }
}

/// What an observer remembers of what it has notified of, as a value that belongs to no session. Each kind of observer
/// has its case.
enum ObserverMemory: Sendable {
    case nothing
    /// Of what the change log has the edits of.
    case count(Int)
    /// Of backlinks.
    case objectKeys([Int64])
    case results(KeyBlocks)
    case values([Value])
    case groups(GroupTable?)
    case nested(NestedObserver.Remembered)
    indirect case sections(SectionsObserver.Remembered)

    /// Observers of the same thing are of one kind: anything else is a defect of this library.
    var isOfAnother: DatabaseError {
        DatabaseError(.internal, "an observer was given what one of another kind remembers; report this")
    }
}
