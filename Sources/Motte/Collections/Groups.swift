/// The objects of a collection put together by keys, with counts, sums and other aggregates of each group.
///
///     realm.objects(Person.self).grouped("age > %@ GROUP(city) COUNT, AVG(age) SORT(COUNT DESC)", 18)
///     realm.objects(Person.self).grouped(by: "city", aggregating: [.count, .average("age").named("age")])
import Dispatch
import MotteLiveObjects
import MotteNotifications
import MotteQueryEngine
import MotteValues

/// What is computed of each group of ``RealmCollection/grouped(by:aggregating:)``.
public struct GroupAggregate: Sendable {
    let aggregate: Grouping.Aggregate

    private init(_ function: Grouping.Function, _ path: String?, name: String? = nil) {
        aggregate = Grouping.Aggregate(function, path.map(GroupKey.path), name: name)
    }

    /// How many objects a group has.
    public static let count = GroupAggregate(.count, nil)
    /// How many objects of a group have a property that is not null.
    public static func count(_ path: String) -> GroupAggregate { GroupAggregate(.count, path) }
    /// How many different values a property has, null aside.
    public static func distinctCount(_ path: String) -> GroupAggregate { GroupAggregate(.distinct, path) }
    /// The sum of the values that are not null; zero of none.
    public static func sum(_ path: String) -> GroupAggregate { GroupAggregate(.sum, path) }
    /// The average of the values that are not null.
    public static func average(_ path: String) -> GroupAggregate { GroupAggregate(.avg, path) }
    /// The smallest of the values that are not null.
    public static func min(_ path: String) -> GroupAggregate { GroupAggregate(.min, path) }
    /// The largest of the values that are not null.
    public static func max(_ path: String) -> GroupAggregate { GroupAggregate(.max, path) }
    /// The variance of a sample; null of fewer than two values.
    public static func variance(_ path: String) -> GroupAggregate { GroupAggregate(.variance, path) }
    /// The standard deviation of a sample; null of fewer than two values.
    public static func standardDeviation(_ path: String) -> GroupAggregate { GroupAggregate(.deviation, path) }
    /// The value in the middle.
    public static func median(_ path: String) -> GroupAggregate { GroupAggregate(.median, path) }
    /// The value below which a fraction of the others lie; a fraction beyond 0 and 1 is taken as the nearer of them.
    public static func percentile(_ path: String, _ fraction: Double) -> GroupAggregate {
        GroupAggregate(.percentile(fraction.isNaN ? 0 : Swift.min(1, Swift.max(0, fraction))), path)
    }

    /// The same as a column with another name than `COUNT` or `AVG(age)`.
    public func named(_ name: String) -> GroupAggregate {
        var named = aggregate
        named.name = name
        return GroupAggregate(named)
    }

    private init(_ aggregate: Grouping.Aggregate) { self.aggregate = aggregate }
}

/// What objects are grouped by: a property or a path over links, by its name.
public struct GroupKey: Sendable, ExpressibleByStringLiteral {
    /// A span of the calendar, in UTC. Weeks begin on Monday.
    public enum Unit: String, Sendable, CaseIterable {
        /// A span that times are grouped by.
        case second, minute, hour, day, week, month, quarter, year
    }

    let key: Grouping.Key

    /// A property, or one behind links: `"origin.name"`.
    public init(_ path: String) { key = Grouping.Key(Self.path(path)) }
    /// A property, or one behind links: `"origin.name"`.
    public init(stringLiteral path: String) { self.init(path) }
    /// Times by spans of the calendar, in UTC or as clocks show them in a zone such as `"Europe/Berlin"` or `"+05:30"`.
    public init(_ path: String, by unit: Unit, in zone: String? = nil) {
        key = Grouping.Key(Self.path(path), by: TimeBucket(rawValue: unit.rawValue), zone: zone)
    }

    private init(_ key: Grouping.Key) { self.key = key }

    /// The same as a column with another name.
    public func named(_ name: String) -> GroupKey {
        var named = key
        named.name = name
        return GroupKey(named)
    }

    static func path(_ path: String) -> MotteQueryEngine.Predicate.Path {
        MotteQueryEngine.Predicate.Path(path.parts(between: "."))
    }
}

/// Groups of a collection, live as it is: a row for each, in the order of their keys where no other was asked for. They
/// are computed on the first look, and again when the realm has changed.
public struct Groups: RandomAccessCollection {
    private let live: LiveGroups?
    private let session: RealmSession?

    init(_ live: LiveGroups?, _ session: RealmSession?) {
        self.live = live
        self.session = session
    }

    private var table: GroupTable? {
        guard let live else { return nil }
        return attempt { () throws(DatabaseError) in try live.table() }
    }

    /// What the columns are called, keys first: `city`, `COUNT`, `AVG(age)`, or the names they were given.
    public var columns: [String] { live?.grouping.shownColumns.map(\.name) ?? [] }
    /// How many of the columns are keys.
    public var keyCount: Int { live?.grouping.shownColumns.count { $0.isKey } ?? 0 }

    /// Zero.
    public var startIndex: Int { 0 }
    /// How many groups there are.
    public var endIndex: Int { table?.count ?? 0 }

    /// The group at a position, as it is now. A position that is not there is misuse.
    public subscript(position: Int) -> GroupRow {
        guard let table, position >= 0, position < table.count else {
            misuse("Index \(position) is out of bounds (must be less than \(count)).", .invalidInput)
            return GroupRow(nil, 0, session)
        }
        return GroupRow(table, position, session)
    }

    /// All groups as they are now, read once: for loops over many.
    public var rows: [GroupRow] {
        guard let table else { return [] }
        return (0 ..< table.count).map { GroupRow(table, $0, session) }
    }

    /// How the groups would be made now; with `analyze` they are made for it.
    public func explain(analyze: Bool = false) -> QueryPlan {
        guard let live else { return QueryPlan() }
        return attempt { () throws(DatabaseError) in QueryPlan(try live.explain(isAnalyzed: analyze)) } ?? QueryPlan()
    }

    // MARK: Observing and freezing

    /// Notifies which groups came, went or have other values; the first call has the groups as they are. Groups are
    /// distinguished by their keys; those that an order moves are deleted and inserted. Observing in a write
    /// transaction, or of something frozen, is misuse.
    ///
    /// - Parameters:
    ///   - queue: a serial queue to be notified on; nil: the owner of the realm.
    ///   - block: gets the change sets, with groups to look at where it is called.
    public func observe(
        on queue: DispatchQueue? = nil, _ block: @escaping (RealmCollectionChange<Groups>) -> Void
    ) -> NotificationToken {
        guard let live, let session else { return unmanagedToken() }
        guard let queue else {
            return session.token { () throws(DatabaseError) in
                try live.observe { (changes) throws(DatabaseError) in block(.from(changes, of: self)) }
            }
        }
        let grouping = live.grouping
        return ObserveElsewhere.on(queue, _CollectionHandle(live.base, session)) { (handle: _CollectionHandle) in
            guard let base = handle.live as? LiveResults else { return NotificationToken() }
            return Groups(LiveGroups(base, grouping), handle.session).observe(block)
        }
    }

    /// The groups as they are now, for ever and for every thread; within a write transaction as they were before it.
    public func freeze() -> Groups {
        guard let live, let session else {
            misuse("Groups of unmanaged collections cannot be frozen.", .invalidInput)
            return self
        }
        if live.session.isFrozen { return self }
        return attempt(or: self) { () throws(DatabaseError) in
            let frozen = try session.frozen()
            guard let base = try live.base.frozen(in: frozen.session) as? LiveResults else { return self }
            return Groups(LiveGroups(base, live.grouping), frozen)
        }
    }

    /// Whether they are fixed, and may be used on every thread.
    public var isFrozen: Bool { live?.session.isFrozen ?? false }

    /// Over the groups as they are when it is made.
    public func makeIterator() -> IndexingIterator<[GroupRow]> { rows.makeIterator() }
}

/// One group, as it was when it was read: its keys and aggregates by the names of their columns.
public struct GroupRow {
    private let table: GroupTable?
    private let row: Int
    private let session: RealmSession?

    init(_ table: GroupTable?, _ row: Int, _ session: RealmSession?) {
        self.table = table
        self.row = row
        self.session = session
    }

    /// A value by the name of its column: `row["AVG(age)"]`. An unknown name is misuse.
    public subscript(name: String) -> AnyRealmValue { value(name) ?? .none }

    /// A value by the position of its column.
    public subscript(column: Int) -> AnyRealmValue {
        guard let table, table.columns.indices.contains(column) else {
            misuse("Groups have no column \(column).", .invalidInput)
            return .none
        }
        return AnyRealmValue._decode(_Stored(table.view(column, row), session)) ?? .none
    }

    /// A value as what it is: `row["COUNT", as: Int.self]`. nil where it is null or of another type.
    public subscript<Value: _Persistable>(name: String, as type: Value.Type) -> Value? {
        guard let view = view(name), !view.isNull else { return nil }
        return Value._decode(_Stored(view, session))
    }

    private func value(_ name: String) -> AnyRealmValue? {
        view(name).flatMap { AnyRealmValue._decode(_Stored($0, session)) }
    }

    private func view(_ name: String) -> ValueView? {
        guard let table else { return nil }
        guard let column = table.index(ofColumn: name) else {
            let names = table.columns.map(\.name).joined(separator: ", ")
            misuse("Groups have no column '\(name)'; they have \(names).", .invalidInput)
            return nil
        }
        return table.view(column, row)
    }
}

extension RealmCollection {
    /// The groups of the elements that match a query text with a GROUP clause. Unknown names, text that cannot be read
    /// and collections of values are misuse.
    public func grouped(_ format: String, _ args: Any...) -> Groups {
        _grouped { live throws(DatabaseError) in
            let filter = try FilterFormat(format, args)
            return try live.grouped(
                by: StoredNames.query(filter.query, of: _mappedType), try filter.arguments(in: live.session))
        }
    }

    /// The groups of all elements by one or several keys; without keys all are one group.
    public func grouped(by keys: GroupKey..., aggregating aggregates: [GroupAggregate] = [.count]) -> Groups {
        _grouped { live throws(DatabaseError) in
            let grouping = Grouping(keys.map(\.key), aggregates.map(\.aggregate))
            let query = ParsedQuery(.constant(true), grouping: grouping)
            return try live.grouped(by: StoredNames.query(query, of: _mappedType))
        }
    }

    private func _grouped(_ body: (LiveCollection) throws(DatabaseError) -> LiveGroups) -> Groups {
        guard let handle = _managed else {
            misuse(
                "This method may only be called on \(Self._kindName) instances retrieved from a Realm", .invalidInput)
            return Groups(nil, nil)
        }
        return Groups(attempt { () throws(DatabaseError) in try body(handle.live) }, handle.session)
    }
}
