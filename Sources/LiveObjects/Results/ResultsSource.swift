/// What results read from, before their stages narrow and order it.
import MotteSchemaModel
import MotteStorage
import MotteValues

package enum ResultsSource {
    /// All objects of a class, in the order of their keys.
    case table(TableKey)
    /// The elements of a list or set, or the values of a map.
    case list(LiveElements)
    /// A list or map inside a mixed value.
    case nested(LiveNested)
    case backlinks(LiveBacklinks)
    /// One section of a collection.
    case section(LiveSection)
    /// A snapshot of objects.
    case fixed(TableKey, [Int64])
    /// A snapshot of values.
    case fixedValues(FixedValues, PropertyType, Bool)

    var elementType: PropertyType {
        switch self {
        case .table, .backlinks, .fixed: .link
        case .list(let list): list.elementType
        case .nested: .mixed
        case .section(let section): section.base.elementType
        case .fixedValues(_, let type, _): type
        }
    }

    var isElementNullable: Bool {
        switch self {
        case .table, .backlinks, .fixed: false
        case .list(let list): list.isElementNullable
        case .nested: true
        case .section(let section): section.base.isElementNullable
        case .fixedValues(_, _, let isNullable): isNullable
        }
    }

    var target: TableKey? {
        switch self {
        case .table(let table), .fixed(let table, _): table
        case .list(let list): list.target
        case .backlinks(let backlinks): backlinks.target
        case .section(let section): section.base.target
        case .fixedValues, .nested: nil
        }
    }

    /// Whether what it belongs to still exists.
    func exists() throws(DatabaseError) -> Bool {
        switch self {
        case .table, .fixed, .fixedValues: true
        case .list(let list): try list.exists()
        case .nested(let nested): try nested.exists()
        case .backlinks(let backlinks): try backlinks.exists()
        // Also while it has no elements.
        case .section(let section): try section.sections.exists()
        }
    }

    /// Keys of all objects in it, in order; none when the list's or backlinks' owner is gone.
    func keys(_ session: Session) throws(DatabaseError) -> [Int64] {
        switch self {
        case .table(let table):
            return try session.table(table).liveKeys()
        case .list(let list):
            guard try list.exists() else { return [] }
            let keys = try list.keys()
            // Of maps, the keys whose objects were deleted.
            return keys.contains(-1) ? keys.filter { $0 >= 0 } : keys
        case .backlinks(let backlinks): return try backlinks.keys()
        case .fixed(_, let keys): return keys
        case .section(let section):
            let positions = try section.positions()
            if positions.isEmpty { return [] }
            let all = try section.base.keys()
            return positions.compactMap { all[$0] >= 0 ? all[$0] : nil }
        case .fixedValues, .nested: return []
        }
    }

    /// Number of values; only of collections of values.
    func valueCount() throws(DatabaseError) -> Int {
        switch self {
        case .list(let list): try list.exists() ? list.count() : 0
        case .nested(let nested): try nested.exists() ? nested.count() : 0
        case .section(let section): try section.positions().count
        case .fixedValues(let values, _, _): values.count
        case .table, .backlinks, .fixed: 0
        }
    }

    /// Only of collections of values; `index` is in range.
    func value(at index: Int) throws(DatabaseError) -> ValueView {
        switch self {
        case .list(let list): try list.value(at: index)
        case .nested(let nested): try nested.value(at: index)
        case .section(let section): try section.value(at: index)
        case .fixedValues(let values, _, _): values[index]
        case .table, .backlinks, .fixed: .null
        }
    }

    func plan() throws(DatabaseError) -> CollectionPlan.Source? {
        switch self {
        case .table(let table): .table(table)
        case .list(let list): try list.plan().map { .collection($0) }
        case .nested(let nested): try nested.plan().map { .collection($0) }
        case .backlinks(let backlinks): try backlinks.plan().map { .collection($0) }
        case .section(let section): try section.base.plan().map { .section($0, section.sections.key, section.key) }
        case .fixed(let table, let keys): .fixed(table, keys)
        case .fixedValues(let values, let type, let isNullable): .fixedValues(values, type, isNullable)
        }
    }

    func frozen(in session: Session) throws(DatabaseError) -> ResultsSource {
        switch self {
        case .table, .fixed, .fixedValues:
            return self
        case .list(let list):
            return .list(try list.counterpart(of: try list.owner.frozen(in: session)))
        case .nested(let nested):
            return .nested(try nested.frozen(in: session))
        case .backlinks(let backlinks):
            let owner = try backlinks.owner.frozen(in: session)
            return .backlinks(try owner.backlinks(origin: backlinks.origin, backlinks.column))
        case .section(let section):
            return .section(LiveSection(try section.sections.frozen(in: session), section.key))
        }
    }
}
