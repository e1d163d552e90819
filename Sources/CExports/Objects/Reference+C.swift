/// The way of objects, collections and queries to a realm of another thread.
import CMotte
import MotteLiveObjects
import MotteValues

final class ReferenceBox: Box {
    private enum Target {
        case object, collection, query
    }

    // @unchecked: a live reference is made to be handed over.
    private struct State: @unchecked Sendable {
        var reference: LiveReference?
    }

    private let target: Target
    /// Empty once it has been resolved, so that the version it was made at can go.
    private let state: Locked<State>

    init(_ box: Box) throws(DatabaseError) {
        let reference: LiveReference
        switch box {
        case let box as ObjectBox: (target, reference) = (.object, try LiveReference(box.object))
        case let box as CollectionBox: (target, reference) = (.collection, try LiveReference(box.collection))
        case let box as QueryBox: (target, reference) = (.query, try LiveReference(box.query))
        default:
            throw DatabaseError(.wrongKind, "\(box.kind.name) has no reference; objects, collections and queries have")
        }
        state = Locked(State(reference: reference))
        super.init(kind: .reference)
    }

    /// nil where what it stands for is not there: then it is as good as before.
    func resolve(in core: RealmCore) throws(DatabaseError) -> Box? {
        // Taken out meanwhile, so that of two threads one resolves it.
        let taken = state.withLock { state in
            let taken = state
            state.reference = nil
            return taken
        }
        guard let reference = taken.reference else {
            throw DatabaseError(
                .invalidArgument, "the reference has been resolved, which it can be once; make another")
        }
        do throws(DatabaseError) {
            if let found = try open(reference, core) { return found }
        } catch {
            state.withLock { $0 = taken }
            throw error
        }
        state.withLock { $0 = taken }
        return nil
    }

    private func open(_ reference: LiveReference, _ core: RealmCore) throws(DatabaseError) -> Box? {
        switch target {
        case .object: try reference.object(in: core.session).map { ObjectBox($0, core) }
        case .collection: try reference.collection(in: core.session).map { CollectionBox($0, core) }
        case .query: try reference.query(in: core.session).map { QueryBox($0, core) }
        }
    }
}

@_cdecl("motte_reference_new") @implementation
public func motte_reference_new(
    _ handle: UnsafeRawPointer?, _ out_reference: UnsafeMutablePointer<OpaquePointer?>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let out = try required(out_reference)
        let subject = try Handles.whatever(handle)
        try subject.box.check()
        try Handles.make(ReferenceBox(subject.box), out)
        return .ok
    }
}

@_cdecl("motte_reference_resolve") @implementation
public func motte_reference_resolve(
    _ reference: OpaquePointer?, _ realm: OpaquePointer?,
    _ out_handle: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let out = try required(out_handle, zero: nil)
        let reference = try Handles.any(reference, .reference, as: ReferenceBox.self)
        let realm = try Handles.realm(realm)
        guard let found = try reference.box.resolve(in: realm.box.core) else { return .notFound }
        try Handles.make(found, out)
        return .ok
    }
}

@_cdecl("motte_thaw") @implementation
public func motte_thaw(
    _ handle: UnsafeRawPointer?, _ realm: OpaquePointer?,
    _ out_handle: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let out = try required(out_handle, zero: nil)
        let subject = try Handles.whatever(handle)
        try subject.box.check()
        let core = try Handles.realm(realm).box.core
        guard let member = subject.box as? RealmMemberBox else { throw hasNoCounterpart(subject.box) }
        try bringUp(core.session, to: member.session)
        let found: Box?
        switch subject.box {
        case let box as ObjectBox: found = try box.object.moved(to: core.session).map { ObjectBox($0, core) }
        case let box as CollectionBox:
            found = try box.collection.moved(to: core.session).map { CollectionBox($0, core) }
        case let box as QueryBox: found = try box.query.moved(to: core.session).map { QueryBox($0, core) }
        default: throw hasNoCounterpart(subject.box)
        }
        guard let found else { return .notFound }
        try Handles.make(found, out)
        return .ok
    }
}

private func hasNoCounterpart(_ box: Box) -> DatabaseError {
    DatabaseError(.wrongKind, "\(box.kind.name) is not thawed; objects, collections and queries are")
}

/// A session that shows an older version than what comes from another advances, so that it has what that has.
private func bringUp(_ session: Session, to other: Session) throws(DatabaseError) {
    guard !session.isFrozen, !session.isInWrite, try session.database === other.database,
        try session.version < other.version
    else { return }
    try session.refresh()
}
