/// Change batches: what changed in a realm between two versions, for another realm to apply.
import Foundation
import MotteLiveObjects
import MotteStorage
import MotteValues

/// What changed in a realm after one version up to another, complete in itself. `data` is to be stored or sent.
public struct ChangeBatch: Sendable, Equatable {
    let core: MotteStorage.ChangeBatch

    init(_ core: MotteStorage.ChangeBatch) { self.core = core }

    /// The batch of these bytes. Throws for other bytes, and for damaged ones.
    public init(data: Data) throws {
        core = try translating { try MotteStorage.ChangeBatch([UInt8](data)) }
    }

    /// The bytes to be stored or sent.
    public var data: Data { Data(core.bytes) }
    /// The realm that it was read from, as `Realm.changeOrigin` of it.
    public var origin: UUID { core.origin.uuid }
    /// Changes up to this version are not in it.
    public var fromVersion: UInt64 { core.from.rawValue }
    /// Changes up to this version are.
    public var toVersion: UInt64 { core.to.rawValue }
    /// Whether it has everything that there was, not only changes.
    public var isWhole: Bool { core.isWhole }
    /// Whether nothing changed.
    public var isEmpty: Bool { core.isEmpty }
    /// Whether it is for the realm that it was read from: an inverse.
    public var isPatch: Bool { core.isPatch }
    /// Whether it leads from one file to another: see `Realm.changes(to:)`.
    public var isDifference: Bool { core.isDifference }

    /// The batch that leads back, for undo and redo: applied to the realm it was read from, at any time, or to a copy
    /// that has just these changes. Throws unless the batch was read with `Realm.changes(since:)` of a frozen realm, or
    /// with `Realm.changes(to:)`.
    public func inverse() throws -> ChangeBatch { ChangeBatch(try translating { try core.inverse() }) }

    /// When `toVersion` was committed, if that is known.
    public var committedAt: Date? {
        let nanoseconds = core.wallTimeNanoseconds
        return nanoseconds == 0 ? nil : Date(timeIntervalSince1970: Double(nanoseconds) / 1e9)
    }
}

extension ChangeOrigin {
    fileprivate var uuid: UUID {
        func byte(_ word: UInt64, _ index: Int) -> UInt8 { UInt8(truncatingIfNeeded: word >> UInt64(56 - 8 * index)) }
        func bytes(_ word: UInt64) -> [UInt8] { (0 ..< 8).map { byte(word, $0) } }
        let all = bytes(high) + bytes(low)
        return UUID(
            uuid: (
                all[0], all[1], all[2], all[3], all[4], all[5], all[6], all[7], all[8], all[9], all[10], all[11],
                all[12],
                all[13], all[14], all[15]
            ))
    }

    fileprivate init(_ uuid: UUID) {
        let bytes = withUnsafeBytes(of: uuid.uuid) { [UInt8]($0) }
        func word(_ start: Int) -> UInt64 { bytes[start ..< start + 8].reduce(0) { $0 << 8 | UInt64($1) } }
        self.init(high: word(0), low: word(8))
    }
}

extension RealmSession {
    /// A call that commits throws what the block that is asked before commits threw.
    func committing<T>(_ body: () throws -> T) throws -> T {
        commitRefusal = nil
        defer { commitRefusal = nil }
        do { return try translating(session.path, body) } catch { throw commitRefusal ?? error }
    }
}

/// Whoever a realm keeps its change log for.
public struct ChangeConsumer: Sendable, Equatable {
    /// nil: what `keepChanges(since:)` said.
    public let name: String?
    /// It needs all changes after this version.
    public let version: UInt64
    /// Commits after it that have changed something; all of them where the log does not say.
    public let commits: UInt64
    /// Whether the change log has them.
    public let isKept: Bool
}

extension Realm {
    /// By which change batches name this realm's file. A copy has another one.
    public var changeOrigin: UUID {
        get throws { try translating(core.session.path) { try core.session.changeOrigin().uuid } }
    }

    /// What changed after a version up to the newest one, or of a frozen realm up to what it shows; from version 0,
    /// everything. Throws where the change log does not reach back so far: see `keepChanges(since:)`.
    public func changes(since version: UInt64) throws -> ChangeBatch {
        try translating(core.session.path) {
            ChangeBatch(try core.session.changeBatch(since: Version(version)))
        }
    }

    /// What changed after the version that a frozen realm of the same file shows, with what was there before: such a
    /// batch has an inverse. Throws if the schema was changed in between.
    public func changes(since before: Realm) throws -> ChangeBatch {
        try translating(core.session.path) { ChangeBatch(try core.session.changeBatch(since: before.core.session)) }
    }

    /// What leads from what this realm shows to what another one shows, most often of another file: applied to this
    /// one, or to one that has the same objects with the same values where they differ, it gives what the other one
    /// has. Objects are the same if they have the same primary key, or, without one, the same key. It has an inverse,
    /// unless it adds to the schema. Throws if the other one's schema is not this one's with additions.
    public func changes(to other: Realm) throws -> ChangeBatch {
        try translating(core.session.path) { ChangeBatch(try core.session.changeBatch(to: other.core.session)) }
    }

    /// Calls `block` before each commit of this realm that changes something, with the changes as a batch, in the call
    /// that commits and before anything is durable. What it throws cancels the write transaction, and that call throws
    /// it. Using the realm meanwhile is misuse. With `reversible`, batches have inverses, unless the schema changes.
    /// One block a realm; nil: none.
    public func onCommit(reversible: Bool = false, _ block: ((ChangeBatch) throws -> Void)?) throws {
        try translating(core.session.path) {
            guard let block else { return try core.session.onCommit(nil) }
            try core.session.onCommit(isReversible: reversible) { [weak core] (batch) throws(DatabaseError) in
                do { try block(ChangeBatch(batch)) } catch {
                    core?.commitRefusal = error
                    throw DatabaseError(.callback, "the block that is asked before commits refused: \(error)")
                }
            }
        }
    }

    /// Applies a batch as one write transaction, of which observers are notified as of any other. False if the realm
    /// has these changes already. Throws, and changes nothing, if the batch is not what comes next after those that
    /// were applied, or of another schema.
    @discardableResult
    public func apply(_ batch: ChangeBatch) throws -> Bool {
        let isNew = try core.committing { try core.session.apply(batch.core) == .applied }
        try core.makeDurable()
        core.startDueDelivery()
        return isNew
    }

    /// Up to which version the batches of an origin have been applied to this realm; nil: none.
    public func appliedVersion(of origin: UUID) throws -> UInt64? {
        try translating(core.session.path) {
            try core.session.replicaPosition(ChangeOrigin(origin))?.version.rawValue
        }
    }

    /// From now on the change log keeps all changes after that version; with nil, only what observers need. A commit of
    /// its own.
    public func keepChanges(since version: UInt64?) throws {
        try core.committing { try core.session.keepChanges(since: version.map { Version($0) }) }
        try core.makeDurable()
    }

    /// The same for a consumer of that name, of 1 to 1,024 bytes: a position of its own, that no other moves. The log
    /// is kept from the oldest position on, for 64 consumers at most. With nil nothing is kept for it any more; false
    /// if there was none of that name.
    @discardableResult
    public func keepChanges(since version: UInt64?, for consumer: String) throws -> Bool {
        let isDone = try core.committing {
            try core.session.keepChanges(since: version.map { Version($0) }, for: consumer)
        }
        try core.makeDurable()
        return isDone
    }

    /// Whoever the change log is kept for, by name; what `keepChanges(since:)` said first.
    public var changeConsumers: [ChangeConsumer] {
        get throws {
            try translating(core.session.path) {
                try core.session.changeConsumers().map { consumer in
                    ChangeConsumer(
                        name: consumer.name, version: consumer.version.rawValue, commits: consumer.backlog.commits,
                        isKept: consumer.backlog.isKept)
                }
            }
        }
    }
}
