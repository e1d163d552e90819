/// The classes of a Realm file beside those of the database that they go to, in the order in which they are imported.
///
/// Classes come after those that they link to, so that most links are part of their row from the beginning. Where
/// classes link to each other in a circle, or to themselves, links to what comes later in that order are assigned in a
/// second pass. Which those are follows from positions alone, so nothing has to be remembered of single objects.
import MotteRealmFile
import MotteSchemaModel
import MotteValues

final class RealmClassPlan {
    struct Field {
        /// In the columns of the file.
        let index: Int
        let property: Property
        let column: ColumnKey
        /// Of links: the class, by its index in the file.
        let target: Int?
        /// Whether what it links to is embedded.
        let ownsTarget: Bool
        /// Whether it may link to what is imported later.
        let mayBeLate: Bool

        var isCollection: Bool { property.collection != .none }
        var hasLinks: Bool { property.type == .link || property.type == .mixed }
    }

    let source: RealmTable
    let type: ObjectType
    let table: TableKey
    /// Place in the order of import.
    let rank: Int
    let fields: [Field]

    // What the import knows of the class.

    /// The key of the first object, where `isUpdating` is false: the others follow without gaps.
    var firstKey: Int64 = 0
    /// From there on nobody had keys before the import, or before what it has not committed.
    var leastKey: Int64 = 0
    /// Whether rows are being imported, or were.
    var hasBegun = false
    /// Objects are found by their primary keys, because some were there before.
    var isUpdating = false
    /// Objects at the beginning that an earlier import has left.
    var resumedCount = 0
    /// By field: whether a link was left for the second pass.
    var isLate: [Bool]
    /// Of an embedded class: a bit for each object that has its owner.
    private var owned: [UInt64] = []
    private(set) var ownedCount = 0

    fileprivate init(_ source: RealmTable, _ type: ObjectType, _ table: TableKey, rank: Int, _ fields: [Field]) {
        self.source = source
        self.type = type
        self.table = table
        self.rank = rank
        self.fields = fields
        isLate = Array(repeating: false, count: fields.count)
    }

    /// Notes that an embedded object has an owner; false where it had one before.
    func adopt(_ position: Int) -> Bool {
        if owned.isEmpty { owned = Array(repeating: 0, count: (source.objectCount + 63) / 64) }
        guard position >> 6 < owned.count else { return false }
        let bit: UInt64 = 1 << UInt64(position & 63)
        guard owned[position >> 6] & bit == 0 else { return false }
        owned[position >> 6] |= bit
        ownedCount += 1
        return true
    }

    /// True for objects that are not embedded, which need no owner.
    func isOwned(_ position: Int) -> Bool {
        guard type.isEmbedded else { return true }
        return position >> 6 < owned.count && owned[position >> 6] & (1 << UInt64(position & 63)) != 0
    }
}

struct RealmPlan {
    /// By index in the file; nil where a class is left out.
    let classes: [RealmClassPlan?]
    /// In the order of import.
    let order: [RealmClassPlan]

    /// `stored` is the schema of the database.
    init(_ file: RealmFile, _ schema: RealmSchema, _ stored: Schema) throws(DatabaseError) {
        let order = RealmPlan.order(file.tables)
        var ranks = [Int](repeating: 0, count: file.tables.count)
        for (rank, index) in order.enumerated() { ranks[index] = rank }
        var classes: [RealmClassPlan?] = []
        for table in file.tables {
            guard let name = schema.classes[table.index].name else {
                classes.append(nil)
                continue
            }
            let type = try stored.type(named: name)
            guard let key = type.tableKey else { throw DatabaseError(.internal, "class \(name) is not stored") }
            let fields = try RealmPlan.fields(table, type, schema, stored, ranks)
            classes.append(RealmClassPlan(table, type, key, rank: ranks[table.index], fields))
        }
        self.classes = classes
        self.order = order.compactMap { classes[$0] }
    }

    private static func fields(
        _ table: RealmTable, _ type: ObjectType, _ schema: RealmSchema, _ stored: Schema, _ ranks: [Int]
    ) throws(DatabaseError) -> [RealmClassPlan.Field] {
        var fields: [RealmClassPlan.Field] = []
        for (index, column) in table.columns.enumerated() {
            let property = try type.requiredProperty(named: schema.classes[table.index].properties[index])
            guard let key = property.columnKey else {
                throw DatabaseError(.internal, "\(type.name).\(property.name) is not stored")
            }
            let target = property.type == .link ? column.target : nil
            let isLate = target.map { ranks[$0] >= ranks[table.index] } ?? (property.type == .mixed)
            fields.append(
                RealmClassPlan.Field(
                    index: index, property: property, column: key, target: target,
                    ownsTarget: property.target.flatMap { stored[$0]?.isEmbedded } ?? false,
                    mayBeLate: isLate))
        }
        return fields
    }

    /// Always the first class all of whose targets have been taken; in a circle, the one with the fewest that have not.
    private static func order(_ tables: [RealmTable]) -> [Int] {
        let targets = tables.map { table in
            Set(table.columns.compactMap(\.target)).subtracting([table.index])
        }
        var waiting = Array(tables.indices)
        var taken = Set<Int>()
        var order: [Int] = []
        while !waiting.isEmpty {
            var best = 0
            var fewest = Int.max
            for (place, index) in waiting.enumerated() {
                let open = targets[index].subtracting(taken).count
                if open < fewest { (best, fewest) = (place, open) }
                if open == 0 { break }
            }
            let index = waiting.remove(at: best)
            taken.insert(index)
            order.append(index)
        }
        return order
    }
}
