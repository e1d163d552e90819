/// What all handles of one realm share. It lives until the last of them is released; closing ends the session, and the
/// handles stay and answer `.closed`.
import CMotte
import CMotteShim
import MotteLiveObjects
import MotteNotifications
import MotteSchemaModel
import MotteValues
import Synchronization

final class RealmCore: Sendable {
    let session: Session
    /// Terminated names of classes and properties, for C.
    let names = NameCache()
    /// For calls about single rows.
    let shapes = RowShapes()
    /// Properties by name.
    let properties: PropertyCache
    /// By which the program calls what is stored under other names.
    let publicNames: PublicNames
    /// Handles to the realm itself, without those of its objects and the rest.
    fileprivate let realmHandles = Atomic<Int>(0)
    /// The session's number of the last write that motte_realm_begin_write() began, 0 if there is none: callbacks run
    /// within writes of the library.
    let begunWrite = Atomic<UInt32>(0)
    /// The queue that wakes for this realm, kept alive with it.
    private let queue: DeliveryQueue?
    /// Run by that queue.
    let writes: QueuedWrites?

    init(_ session: Session, _ publicNames: PublicNames = PublicNames()) {
        self.session = session
        self.publicNames = publicNames
        properties = PropertyCache(publicNames)
        queue = nil
        writes = nil
        logObservers()
    }

    /// With a queue that is notified of its changes.
    init(_ session: Session, _ publicNames: PublicNames, on queue: DeliveryQueue) throws(DatabaseError) {
        self.session = session
        self.publicNames = publicNames
        properties = PropertyCache(publicNames)
        self.queue = queue
        writes = try queue.bind(session)
        logObservers()
    }

    /// Of what is frozen from here.
    func core(of frozen: Session) -> RealmCore { frozen === session ? self : RealmCore(frozen, publicNames) }

    /// In calls that do not fail for them.
    private func logObservers() {
        guard !session.isFrozen else { return }
        session.onObserverFailure = { error in Log.write(.error, "observe", Wording.ofC(error.message)) }
    }
}

extension Session {
    /// `check()` as a value, because references are borrowed by closures that throw no typed errors.
    @inline(__always)
    fileprivate func refusal() -> DatabaseError? {
        do throws(DatabaseError) {
            try check()
            return nil
        } catch {
            return error
        }
    }
}

/// A box of something that lives in a realm.
class RealmMemberBox: Box {
    final let core: RealmCore
    /// The same session that `core` keeps alive, at hand without counting references.
    private final let heldSession: Unmanaged<Session>

    init(kind: HandleKind, _ core: RealmCore) {
        self.core = core
        heldSession = .passUnretained(core.session)
        super.init(kind: kind)
    }

    final var session: Session {
        @inline(__always) get { heldSession._withUnsafeGuaranteedRef { $0 } }
    }

    /// Why this thread may not use it now; nil if it may.
    @inline(__always)
    final func refusal() -> DatabaseError? { heldSession._withUnsafeGuaranteedRef { $0.refusal() } }

    /// Of a session whose views are short; for the first handle that a call checks.
    @inline(__always)
    final func endViews() {
        heldSession._withUnsafeGuaranteedRef {
            if motte_shim_calls() == $0.outermostCall, motte_shim_may_release() != 0 { $0.releaseMemory() }
        }
    }

    override func check() throws(DatabaseError) { try session.check() }
    override var isFrozen: Bool { session.isFrozen }
}

/// A realm handle.
final class RealmBox: RealmMemberBox {
    init(_ core: RealmCore) {
        core.realmHandles.add(1, ordering: .relaxed)
        super.init(kind: .realm, core)
    }

    /// Without a handle to the realm nobody can end its write, whose lock would keep all others waiting. Only the owner
    /// can cancel it: released elsewhere, it lasts until the realm's other handles are gone. What the work of a queued
    /// write leaves open is committed after it.
    deinit {
        guard core.realmHandles.subtract(1, ordering: .acquiringAndReleasing).newValue == 0, refusal() == nil,
            session.isInWrite, !session.isInGroup,
            session.writeSerial == core.begunWrite.load(ordering: .relaxed)
        else { return }
        do throws(DatabaseError) {
            try session.abandonWrite()
        } catch {
            Log.write(error)
        }
    }

    override func clone() throws(DatabaseError) -> Box { RealmBox(core) }

    override func freeze() throws(DatabaseError) -> Box {
        RealmBox(RealmCore(try session.freeze(), core.publicNames))
    }

    override func isSame(as other: Box) -> Bool { (other as? RealmBox)?.session === session }
}

/// An object handle.
final class ObjectBox: RealmMemberBox {
    let object: LiveObject

    init(_ object: LiveObject, _ core: RealmCore) {
        self.object = object
        super.init(kind: .object, core)
    }

    override func check() throws(DatabaseError) {
        try session.check()
        guard try object.exists() else { throw DatabaseError(.objectDeleted, "the object has been deleted") }
    }

    override func clone() throws(DatabaseError) -> Box { ObjectBox(object, core) }

    override func freeze() throws(DatabaseError) -> Box {
        let frozen = try object.freeze()
        return ObjectBox(frozen, core.core(of: frozen.session))
    }

    /// The same row; one of a cancelled write differs from a later one with the same key by not being there.
    override func isSame(as other: Box) -> Bool {
        guard let other = (other as? ObjectBox)?.object else { return false }
        return other.session === session && other.link == object.link && other.isValid == object.isValid
    }
}

/// A handle to a collection of any kind.
final class CollectionBox: RealmMemberBox {
    let collection: LiveCollection

    init(_ collection: LiveCollection, _ core: RealmCore) {
        self.collection = collection
        super.init(kind: .coll, core)
    }

    override func check() throws(DatabaseError) {
        try session.check()
        guard try collection.exists() else {
            throw DatabaseError(.objectDeleted, "the object that this collection belongs to has been deleted")
        }
    }

    override func clone() throws(DatabaseError) -> Box { CollectionBox(collection, core) }

    override func freeze() throws(DatabaseError) -> Box {
        let frozen = try collection.freeze()
        return CollectionBox(frozen, core.core(of: frozen.session))
    }

    override func isSame(as other: Box) -> Bool {
        guard let other = (other as? CollectionBox)?.collection else { return false }
        if other === collection { return true }
        if let left = collection as? LiveElements, let right = other as? LiveElements {
            return left.column == right.column && isSameOwner(left.owner, right.owner)
        }
        if let left = collection as? LiveNested, let right = other as? LiveNested {
            return left.column == right.column && isSameOwner(left.owner, right.owner) && isSamePlace(left, right)
        }
        if let left = collection as? LiveBacklinks, let right = other as? LiveBacklinks {
            return left.origin == right.origin && left.column == right.column
                && isSameOwner(left.owner, right.owner)
        }
        return false
    }

    private func isSamePlace(_ left: LiveNested, _ right: LiveNested) -> Bool {
        // What is gone is at no place.
        guard let path = try? left.path(), let other = try? right.path() else { return false }
        return path == other
    }

    private func isSameOwner(_ left: LiveObject, _ right: LiveObject) -> Bool {
        left.session === right.session && left.link == right.link && left.isValid == right.isValid
    }
}

extension Pinned where Kind: RealmMemberBox {
    /// Where views end with the next call, they end here, unless this is called back from one that may use them.
    @inline(__always)
    func check() throws(DatabaseError) {
        if let refusal = reference._withUnsafeGuaranteedRef({ $0.refusal() }) { throw refusal }
        reference._withUnsafeGuaranteedRef { $0.endViews() }
    }
}

/// Handles that are usable on this thread now.
extension Handles {
    @inline(__always)
    static func realm(_ handle: OpaquePointer?) throws(DatabaseError) -> Pinned<RealmBox> {
        let pinned = try any(handle, .realm, as: RealmBox.self)
        try pinned.check()
        return pinned
    }

    @inline(__always)
    static func object(_ handle: OpaquePointer?) throws(DatabaseError) -> Pinned<ObjectBox> {
        let pinned = try any(handle, .object, as: ObjectBox.self)
        try pinned.check()
        return pinned
    }

    @inline(__always)
    static func collection(_ handle: OpaquePointer?) throws(DatabaseError) -> Pinned<CollectionBox> {
        let pinned = try any(handle, .coll, as: CollectionBox.self)
        try pinned.check()
        return pinned
    }

    static func make(
        _ object: LiveObject, _ core: RealmCore, _ out: UnsafeMutablePointer<OpaquePointer?>
    ) throws(DatabaseError) {
        try make(ObjectBox(object, core), out)
    }

    static func make(
        _ collection: LiveCollection, _ core: RealmCore, _ out: UnsafeMutablePointer<OpaquePointer?>
    ) throws(DatabaseError) {
        try make(CollectionBox(collection, core), out)
    }
}
