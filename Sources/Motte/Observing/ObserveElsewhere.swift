/// Observations whose callbacks run on another queue or actor than the realm's owner: what is observed is handed
/// over, and observed there in a realm of that place.
import Dispatch
import Foundation
import MotteLiveObjects
import MotteValues

enum ObserveElsewhere {
    static func on<C: RealmCollection>(
        _ queue: DispatchQueue, _ handle: _CollectionHandle, _ begin: @escaping (C) -> NotificationToken
    ) -> NotificationToken { on(queue, handle) { begin(C._collection($0)) } }

    static func on(
        _ queue: DispatchQueue, _ handle: _CollectionHandle,
        _ begin: @escaping (_CollectionHandle) -> NotificationToken
    ) -> NotificationToken {
        guard let reference = reference(handle.session, { () throws(DatabaseError) in try LiveReference(handle.live) })
        else { return NotificationToken() }
        return start(on: queue, handle.session, reference) { core throws(DatabaseError) in
            try reference.collection(in: core.session).map { begin(_CollectionHandle($0, core)) }
        }
    }

    static func on<Object: ObjectBase>(
        _ queue: DispatchQueue, _ object: Object, _ begin: @escaping (Object) -> NotificationToken
    ) -> NotificationToken {
        guard let live = object.live, let session = object.session,
            let reference = reference(session, { () throws(DatabaseError) in try LiveReference(live) })
        else { return NotificationToken() }
        let type = type(of: object)
        return start(on: queue, session, reference) { core throws(DatabaseError) in
            try reference.object(in: core.session).map { begin(core.object($0, as: type)) }
        }
    }

    /// The outer token is handed out at once; ending it ends what is begun later. Where the queue has no realm open
    /// yet, one begins at the version that the caller saw, so that what is written until then is reported.
    private static func start(
        on queue: DispatchQueue, _ session: RealmSession, _ reference: LiveReference,
        _ begin: @escaping (RealmSession) throws(DatabaseError) -> NotificationToken?
    ) -> NotificationToken {
        do throws(Realm.Error) { try queue.checkIsSerial() } catch {
            misuse(error)
            return NotificationToken()
        }
        let configuration = session.configuration
        let token = NotificationToken(keeping: []) {}
        // Called once, where the observation begins.
        nonisolated(unsafe) let begin = begin
        queue.async { [weak token] in
            guard let token, let core = open(configuration, .queue(queue), reference) else { return }
            let inner = attempt(or: nil) { () throws(DatabaseError) in try begin(core) }
            if let inner, !token.adopt(inner) { inner.invalidate() }
        }
        return token
    }

    static func on<A: Actor, C: RealmCollection>(
        _ actor: A, _ handle: _CollectionHandle, isolation: isolated (any Actor)? = #isolation,
        _ begin: @escaping (C) -> NotificationToken
    ) async -> NotificationToken { await on(actor, handle) { begin(C._collection($0)) } }

    static func on<A: Actor>(
        _ actor: A, _ handle: _CollectionHandle, isolation: isolated (any Actor)? = #isolation,
        _ begin: @escaping (_CollectionHandle) -> NotificationToken
    ) async -> NotificationToken {
        guard let reference = reference(handle.session, { () throws(DatabaseError) in try LiveReference(handle.live) })
        else { return NotificationToken() }
        return await start(on: actor, handle.session, reference) { core throws(DatabaseError) in
            try reference.collection(in: core.session).map { begin(_CollectionHandle($0, core)) }
        }
    }

    static func on<A: Actor>(
        _ actor: A, _ object: ObjectBase, isolation: isolated (any Actor)? = #isolation,
        _ begin: @escaping (ObjectBase) -> NotificationToken
    ) async -> NotificationToken {
        guard let live = object.live, let session = object.session,
            let reference = reference(session, { () throws(DatabaseError) in try LiveReference(live) })
        else { return NotificationToken() }
        let type = type(of: object)
        return await start(on: actor, session, reference) { core throws(DatabaseError) in
            try reference.object(in: core.session).map { begin(core.object($0, as: type)) }
        }
    }

    private static func start<A: Actor>(
        on actor: A, _ session: RealmSession, _ reference: LiveReference, isolation: isolated (any Actor)? = #isolation,
        _ begin: @escaping (RealmSession) throws(DatabaseError) -> NotificationToken?
    ) async -> NotificationToken {
        // Called once, where the observation begins.
        nonisolated(unsafe) let begin = begin
        guard !Task.isCancelled else { return ended() }
        let token = await run(on: actor, session.configuration, reference, begin)
        // The task may have been cancelled while it waited for the actor.
        if Task.isCancelled { token.invalidate() }
        return token
    }

    /// For a cancelled task: nothing is observed.
    private static func ended() -> NotificationToken {
        let token = NotificationToken()
        token.invalidate()
        return token
    }

    private static func run<A: Actor>(
        on actor: isolated A, _ configuration: Realm.Configuration, _ reference: LiveReference,
        _ begin: (RealmSession) throws(DatabaseError) -> NotificationToken?
    ) -> NotificationToken {
        guard let core = open(configuration, .actor(actor), reference) else { return NotificationToken() }
        return attempt(or: nil) { () throws(DatabaseError) in try begin(core) } ?? NotificationToken()
    }

    private static func open(
        _ configuration: Realm.Configuration, _ confinement: Confinement, _ reference: LiveReference
    ) -> RealmSession? {
        do { return try RealmOpening.open(configuration, confinement, at: reference) } catch {
            misuse(error)
            return nil
        }
    }

    private static func reference(
        _ session: RealmSession, _ make: () throws(DatabaseError) -> LiveReference
    ) -> LiveReference? {
        attempt { () throws(DatabaseError) in
            if session.session.isFrozen {
                throw DatabaseError(.frozen, "Frozen Realms do not change and do not have change notifications.")
            }
            if session.session.isInWrite {
                throw DatabaseError(
                    .alreadyInWrite, "Cannot register notification blocks from within write transactions.")
            }
            return try make()
        }
    }
}
