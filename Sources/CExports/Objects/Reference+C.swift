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
