/// Objects that are older than a property get what the program that adds it declares for new ones.
import MotteSchemaModel
import MotteValues

extension WriteTransaction {
    /// Of properties that this write has added to classes with objects. `mayStayEmpty`: somebody else gives values to
    /// those that have to have one.
    func fillAdditions(
        _ declared: Schema, mayStayEmpty: Bool, by call: SchemaRequest.Fill?
    ) throws(DatabaseError) {
        guard let rules = DeclaredRules(declared) else { return }
        for table in catalog.tables where rules.hasRules(table.name) {
            guard let before = base.catalog.table(table.key) else { continue }
            for column in table.columns where before.column(column.key) == nil && !column.isMapKeys {
                guard let rule = rules.rule(table.name, column.name) else { continue }
                if let filler = rule.filler, let call {
                    try call(self, table.key, column.key, try olderKeys(table.key), filler)
                }
                guard !column.isList else { continue }
                try fill(table, column, rule, mayStayEmpty: mayStayEmpty)
            }
        }
    }

    private func fill(
        _ table: StoredTable, _ column: StoredColumn, _ rule: PropertyRule, mayStayEmpty: Bool
    ) throws(DatabaseError) {
        var count = 0
        for rowGroup in 0 ..< (try self.table(table.key).rowGroupCount) {
            count += try olderKeys(table.key, rowGroup).count
        }
        guard count > 0 else { return }
        switch rule.start {
        case .plain: return
        case .required:
            if mayStayEmpty { return }
            throw SchemaRequest.needsValues(table.name, column.name, objects: count)
        case .value(let value):
            try requireAllowed([value], table, column, rule)
            // What older rows show anyway.
            let zero = column.type.defaultValue(isNullable: column.isNullable).owned
            if value == zero { return }
            try fill(table.key, column.key, KeptViews([value])) { _ in 0 }
        case .made(let make):
            let values = try make(count)
            guard values.count == count else {
                throw DatabaseError(.internal, "there are fewer values than objects", className: table.name)
            }
            try requireAllowed(values, table, column, rule)
            try fill(table.key, column.key, KeptViews(values)) { $0 }
        }
    }

    private func requireAllowed(
        _ values: [Value], _ table: StoredTable, _ column: StoredColumn, _ rule: PropertyRule
    ) throws(DatabaseError) {
        guard let allowed = rule.allowed else { return }
        for value in values where !value.withView({ allowed.contains($0) }) {
            throw TableRules.refused(value, allowed, table.name, column.name)
        }
    }

    private func olderKeys(_ table: TableKey) throws(DatabaseError) -> [Int64] {
        var keys: [Int64] = []
        for rowGroup in 0 ..< (try self.table(table).rowGroupCount) { keys += try olderKeys(table, rowGroup) }
        return keys
    }

    /// Objects that fillers have made before in this write have what they were made with.
    private func olderKeys(_ table: TableKey, _ rowGroup: Int) throws(DatabaseError) -> [Int64] {
        let limit = try base.table(table).nextKey
        let keys = try self.table(table).rowGroup(rowGroup).liveKeys
        return keys.last.map { $0 < limit } ?? true ? keys : keys.filter { $0 < limit }
    }

    private func fill(
        _ table: TableKey, _ column: ColumnKey, _ values: KeptViews, _ place: (Int) -> Int
    ) throws(DatabaseError) {
        defer { withExtendedLifetime(values) {} }
        var done = 0
        for rowGroup in 0 ..< (try self.table(table).rowGroupCount) {
            for key in try olderKeys(table, rowGroup) {
                try set(table, column, ObjectKey(key), to: values.views[place(done)])
                done += 1
            }
        }
    }
}

extension SchemaRequest {
    /// Gives values to objects in a property that they have got.
    package typealias Fill = (
        WriteTransaction, TableKey, ColumnKey, [Int64], any PropertyFiller
    ) throws(DatabaseError) -> Void

    static func needsValues(_ className: String, _ property: String, objects: Int) -> DatabaseError {
        DatabaseError(
            .schemaMismatch,
            "\(className).\(property) is new, has to have a value and has no default, and \(className) has objects "
                + "already (\(objects)); declare a default, make it optional, or set it in a migration",
            className: className, propertyName: property)
    }
}

extension Snapshot {
    /// Properties that have to have a value cannot come by themselves where there are objects.
    func checkAdditions(_ difference: SchemaDifference) throws(DatabaseError) {
        for added in difference.addedProperties where added.property.rule?.isRequired == true {
            guard let table = schema[added.className]?.tableKey else { continue }
            let count = try self.table(table).liveCount
            guard count == 0 else {
                throw SchemaRequest.needsValues(added.className, added.property.name, objects: count)
            }
        }
    }
}
