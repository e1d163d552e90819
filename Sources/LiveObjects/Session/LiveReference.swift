/// The way of objects, collections and queries from one session to another of the same file.
///
///     moved(to:)         at once, by whoever may use both
///     LiveReference      made where the thing is, taken to any thread, resolved there in another session
///
/// A reference keeps the version it was made at, and can be resolved any number of times. One that was made in a write
/// resolves once that write is committed, and never when the part of the write that made its object was undone: another
/// process may give the key to an object of its own. What has been deleted where it is resolved is nil, and so is what
/// belongs to another file.
import MotteSchemaModel
import MotteStorage
import MotteValues
import Synchronization

/// What a collection consists of, apart from any session. Never changes.
package indirect enum CollectionPlan {
    case elements(TableKey, ObjectKey, ColumnKey)
    case mapKeys(TableKey, ObjectKey, ColumnKey)
    case backlinks(TableKey, ObjectKey, origin: TableKey, ColumnKey)
    case nested(TableKey, ObjectKey, ColumnKey, NestedPath, isMap: Bool)
    case results(Source, [ResultsStage], [ValueStage])

    package enum Source {
        case table(TableKey)
        case collection(CollectionPlan)
        case section(CollectionPlan, SectionKey, SectionLayout.Key)
        case fixed(TableKey, [Int64])
        case fixedValues(FixedValues, PropertyType, Bool)
    }

    /// Whether elements depend on what a function says, which belongs to the thread it was given on.
    package var asksFunctions: Bool {
        guard case .results(let source, _, _) = self else { return false }
        return switch source {
        case .section(let base, let key, _): key.path == nil || base.asksFunctions
        case .collection(let base): base.asksFunctions
        case .table, .fixed, .fixedValues: false
        }
    }

    /// Whether it is within a mixed value, where its path goes by the version.
    var isNested: Bool {
        switch self {
        case .nested: true
        case .results(.collection(let base), _, _), .results(.section(let base, _, _), _, _): base.isNested
        case .elements, .mapKeys, .backlinks, .results: false
        }
    }

    /// The object that it belongs to.
    fileprivate var owner: (table: TableKey, key: ObjectKey)? {
        switch self {
        case .elements(let table, let key, _), .mapKeys(let table, let key, _), .backlinks(let table, let key, _, _),
            .nested(let table, let key, _, _, _):
            (table, key)
        case .results(.collection(let base), _, _), .results(.section(let base, _, _), _, _): base.owner
        case .results: nil
        }
    }

    /// The collection as a session shows it; nil when what it belongs to is not there. `since` is the version that the
    /// plan was made for: what is nested in a mixed value may have moved.
    package func open(in session: Session, since version: Version) throws(DatabaseError) -> LiveCollection? {
        switch self {
        case .elements(let table, let key, let column):
            return try session.object(table, at: key)?.elements(column)
        case .mapKeys(let table, let key, let column):
            return try session.object(table, at: key)?.map(column).mapKeys()
        case .backlinks(let table, let key, let origin, let column):
            return try session.object(table, at: key)?.backlinks(origin: origin, column)
        case .nested(let table, let key, let column, let path, let isMap):
            guard let owner = try session.object(table, at: key) else { return nil }
            let collection = try owner.type.property(column)?.collection ?? .none
            let root = NestedRoot(owner: owner, column: column, collection: collection)
            return try LiveNested.open(root, path, since: version).flatMap { $0.isMap == isMap ? $0 : nil }
        case .results(let source, let stages, let valueStages):
            guard let source = try Self.open(source, in: session, since: version) else { return nil }
            return LiveResults(session, source: source, stages: stages, valueStages: valueStages)
        }
    }

    private static func open(
        _ source: Source, in session: Session, since version: Version
    ) throws(DatabaseError) -> ResultsSource? {
        switch source {
        case .table(let table): return .table(table)
        case .fixed(let table, let keys): return .fixed(table, keys)
        case .fixedValues(let values, let type, let isNullable): return .fixedValues(values, type, isNullable)
        case .section(let plan, let key, let value):
            guard let base = try plan.open(in: session, since: version) else { return nil }
            return .section(LiveSection(LiveSections(base, by: key), value))
        case .collection(let plan):
            switch try plan.open(in: session, since: version) {
            case let list as LiveElements: return .list(list)
            case let nested as LiveNested: return .nested(nested)
            case let backlinks as LiveBacklinks: return .backlinks(backlinks)
            default: return nil
            }
        }
    }
}

extension Session {
    /// Whether both show the same file.
    func sharesFile(with other: Session) throws(DatabaseError) -> Bool {
        try check()
        return try database === other.database
    }
}

extension LiveObject {
    /// The same object in another session; nil where it is not there.
    package func moved(to other: Session) throws(DatabaseError) -> LiveObject? {
        guard try other.sharesFile(with: session), try exists() else { return nil }
        return try other.object(table, at: key)
    }
}

extension LiveCollection {
    /// The same collection in another session; nil where what it belongs to is not there.
    package func moved(to other: Session) throws(DatabaseError) -> LiveCollection? {
        guard try other.sharesFile(with: session), let plan = try plan() else { return nil }
        return try plan.open(in: other, since: try session.version)
    }
}

extension PreparedQuery {
    /// The same query in another session, with the arguments it has now.
    package func moved(to other: Session) throws(DatabaseError) -> PreparedQuery? {
        try session.check()
        guard try other.sharesFile(with: session) else { return nil }
        return PreparedQuery(other, copying: self)
    }
}

package final class LiveReference: @unchecked Sendable {
    // @unchecked: everything is constant; queries and plans are only read.
    private enum Subject {
        case object(TableKey, ObjectKey)
        case collection(CollectionPlan)
        case query(PreparedQuery)
    }

    private let subject: Subject
    private let database: Database
    private let options: SessionOptions
    /// Keeps the version it was made at.
    private let pin: Snapshot
    /// Of the write it was made in.
    private let outcome: WriteOutcome?
    /// The object that it leads to, or to something of, where that write has made it.
    private let made: WriteOutcome.Made?

    private init(_ subject: Subject, _ session: Session, of object: LiveObject?) throws(DatabaseError) {
        self.subject = subject
        database = try session.database
        options = session.options
        // Of a group nothing is shown elsewhere before it is durable.
        let shown = if let group = session.group { group.base } else { try session.committedSnapshot() }
        pin = shown.copy()
        outcome = session.outcomeOfWrite()
        made = object.flatMap { WriteOutcome.Made($0) }
    }

    package convenience init(_ object: LiveObject) throws(DatabaseError) {
        guard try object.exists() else { throw object.deleted(try object.type) }
        try self.init(.object(object.table, object.key), object.session, of: object)
    }

    package convenience init(_ collection: LiveCollection) throws(DatabaseError) {
        try collection.session.check()
        guard try collection.exists(), let plan = try collection.plan() else {
            throw DatabaseError(.objectDeleted, "the object that this collection belongs to has been deleted")
        }
        // Where it will be is known when the write ends.
        guard !plan.isNested || !collection.session.isInWrite else {
            throw DatabaseError(
                .alreadyInWrite,
                "a list or map in a mixed value may still move in this write: refer to it after the write, or to its "
                    + "object", path: collection.session.path)
        }
        // It is there, so that it is of this write if its key is.
        let owner = try plan.owner.map { owner throws(DatabaseError) in
            try collection.session.handle(owner.table, owner.key)
        }
        try self.init(.collection(plan), collection.session, of: owner)
    }

    package convenience init(_ query: PreparedQuery) throws(DatabaseError) {
        try query.session.check()
        try self.init(.query(PreparedQuery(query.session, copying: query)), query.session, of: nil)
    }

    /// The version whose state it was made in.
    package var version: Version { outcome?.committed ?? pin.version }

    /// False while the write it was made in is open, and for good when that, or the part of it, was undone.
    private func isReady(for session: Session) throws(DatabaseError) -> Bool {
        try session.check()
        guard try session.database === database else { return false }
        if let outcome {
            guard outcome.committed != nil else { return false }
            if let made, outcome.isUndone(made) { return false }
        }
        // A session that shows an older version is brought up to this one, never back.
        if try session.version < version, !session.isFrozen, !session.isInWrite { try session.refresh() }
        return true
    }

    package func object(in session: Session) throws(DatabaseError) -> LiveObject? {
        guard case .object(let table, let key) = subject, try isReady(for: session) else { return nil }
        return try session.object(table, at: key)
    }

    package func collection(in session: Session) throws(DatabaseError) -> LiveCollection? {
        guard case .collection(let plan) = subject, try isReady(for: session) else { return nil }
        return try plan.open(in: session, since: version)
    }

    package func query(in session: Session) throws(DatabaseError) -> PreparedQuery? {
        guard case .query(let query) = subject, try isReady(for: session) else { return nil }
        return PreparedQuery(session, copying: query)
    }

    /// A session that shows the version the reference was made at, for where there is none yet. `refresh` takes it on.
    package func openSession(confinement: SessionConfinement = .thread) throws(DatabaseError) -> Session {
        if let outcome, outcome.committed != nil {
            return try Session.open(try options.placed(at: database), confinement: confinement)
        }
        return Session.showing(pin.copy(), of: database, options, confinement)
    }
}
