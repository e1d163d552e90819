/// Where a realm belongs: to a thread, a serial queue or an actor. How it is known whether the caller is there, and how
/// something is run there.
import CMotteShim
import Dispatch
import Foundation
import MotteLiveObjects

/// Where a realm may be used.
package enum Confinement: @unchecked Sendable {  // @unchecked: queues and actors are, and Foundation says so elsewhere
    case thread
    /// The main thread, the main queue and the main actor. A program that ends its main function with `dispatchMain()`
    /// runs the latter two on any thread.
    case main
    case queue(DispatchQueue)
    case actor(any Actor)

    /// What tells sessions of one file apart: of a thread its number, which no later thread gets; of the others the
    /// address, which is theirs for as long as a session keeps them.
    enum Identity: Hashable, Sendable {
        case thread(UInt64)
        case object(ObjectIdentifier)
    }

    var identity: Identity {
        switch self {
        case .thread: .thread(motte_shim_thread_serial())
        case .main: .object(ObjectIdentifier(MainActor.shared))
        case .queue(let queue): .object(ObjectIdentifier(queue))
        case .actor(let actor): .object(ObjectIdentifier(actor))
        }
    }

    /// Where it is, if that is the main place.
    var orMain: Confinement {
        switch self {
        case .thread: Self.isMain ? .main : self
        case .queue(let queue): QueueOwners.isMain(queue) ? .main : self
        case .actor(let actor): actor === MainActor.shared ? .main : self
        case .main: self
        }
    }

    /// In a program with an asynchronous main function any thread runs the main queue and the main actor.
    static var isMain: Bool {
        Thread.isMainThread || ExecutorPlaces.isCurrent(ExecutorPlaces.main) || QueueOwners.isCurrent(QueueOwners.main)
    }

    /// Whether a task can wait here while others go on.
    var isActor: Bool {
        switch self {
        case .actor, .main: true
        case .thread, .queue: false
        }
    }

    var engine: SessionConfinement {
        switch self {
        case .thread: return .thread
        case .main:
            let isHere: @Sendable () -> Bool = { Self.isMain }
            return .custom(name: "the main thread", opensOnOwnThread: Thread.isMainThread, isHere: isHere)
        case .queue(let queue):
            QueueOwners.mark(queue)
            let id = ObjectIdentifier(queue)
            return .custom(name: "the queue '\(queue.label)'") { QueueOwners.isCurrent(id) }
        case .actor(let actor):
            let executor = ExecutorPlaces.key(of: actor)
            return .custom(name: "the actor \(type(of: actor))") { ExecutorPlaces.isCurrent(executor) }
        }
    }

    /// Runs `body` there, soon.
    func run(_ body: @escaping @Sendable () -> Void) {
        switch self {
        case .thread: body()
        case .main: DispatchQueue.main.async(execute: body)
        // A barrier, which a serial queue is at any time: nothing else of the queue runs meanwhile, whatever it is.
        case .queue(let queue): queue.async(flags: .barrier, execute: body)
        case .actor(let actor): Task { await Self.on(actor, body) }
        }
    }

    private static func on(_ actor: isolated any Actor, _ body: @Sendable () -> Void) { body() }
}

/// Which queue runs the caller, by a mark on the queues that have realms.
private enum QueueOwners {
    private static let key = DispatchSpecificKey<ObjectIdentifier>()

    /// `DispatchQueue.main` may be another object each time, but it keeps what it is marked with.
    static let main: ObjectIdentifier = {
        let id = ObjectIdentifier(MainActor.shared)
        DispatchQueue.main.setSpecific(key: key, value: id)
        return id
    }()

    static func isMain(_ queue: DispatchQueue) -> Bool { queue.getSpecific(key: key) == main }
    static func mark(_ queue: DispatchQueue) { queue.setSpecific(key: key, value: ObjectIdentifier(queue)) }
    static func isCurrent(_ id: ObjectIdentifier) -> Bool { DispatchQueue.getSpecific(key: key) == id }
}

extension DispatchQueue {
    /// Whether it runs several blocks at once, where nothing can be confined to it. The system has no way to ask; its
    /// objects begin with a pointer to what they are an instance of, which is compared with those of queues that are
    /// known to be concurrent.
    package var isConcurrent: Bool { Self.kind(of: self).map { Self.concurrentKinds.contains($0) } ?? false }

    /// Throws where a realm cannot be confined to the queue.
    package func checkIsSerial() throws(Realm.Error) {
        guard isConcurrent else { return }
        throw Realm.Error(
            .invalidInput,
            "Invalid queue '\(label)' (concurrent): Realms can only be confined to serial queues or the main queue. "
                + "What is opened or observed there needs a serial queue: DispatchQueue(label:) without .concurrent")
    }

    private static let concurrentKinds: Set<UInt> = {
        let queues = [DispatchQueue(label: "motte", attributes: .concurrent), .global()]
        let kinds = Set(queues.compactMap(kind))
        // Where serial ones look the same nothing can be known.
        return kinds.subtracting([DispatchQueue(label: "motte"), .main].compactMap(kind))
    }()

    private static func kind(of queue: DispatchQueue) -> UInt? {
        for child in Mirror(reflecting: queue).children {
            if let object = child.value as? OpaquePointer { return UnsafeRawPointer(object).load(as: UInt.self) }
        }
        return nil
    }
}

/// Which actor runs the caller. The runtime knows, and answers without ending the program when asked by this function;
/// the standard library's own way to ask is a precondition.
private enum ExecutorPlaces {
    typealias Key = (UInt, UInt)

    static let main = key(of: MainActor.shared)
    /// Two words: the executor's identity and implementation.
    static func key(of actor: any Actor) -> Key { unsafeBitCast(actor.unownedExecutor, to: Key.self) }
    static func isCurrent(_ key: Key) -> Bool { motte_shim_is_current_executor(key.0, key.1) }
}
