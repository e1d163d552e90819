/// An index as the stored schema keeps it beside those that columns have by themselves.
///
///     u32 index key | text kind | u32 column count | u32 column keys | u32 byte count | parameters
import MotteSchemaModel
import MotteValues

package struct StoredIndex: Sendable {
    package let key: IndexKey
    package let kind: String
    /// In the order of the index.
    package let columns: [ColumnKey]
    /// In the kind's own form.
    package let parameters: [UInt8]

    func write(to body: inout ByteWriter) {
        body.write(key.rawValue)
        body.write(text: kind)
        body.write(UInt32(columns.count))
        for column in columns { body.write(column.rawValue) }
        body.write(UInt32(parameters.count))
        parameters.withUnsafeBytes { body.write(raw: $0) }
    }

    package init(key: IndexKey, kind: String, columns: [ColumnKey], parameters: [UInt8]) {
        self.key = key
        self.kind = kind
        self.columns = columns
        self.parameters = parameters
    }

    init(_ reader: inout ByteReader, of table: String, _ known: [StoredColumn]) throws(DatabaseError) {
        let number: UInt32 = try reader.read()
        key = IndexKey(number)
        kind = try reader.readText()
        let columnCount: UInt32 = try reader.read()
        guard number > 0, number < Catalog.keyLimit, columnCount > 0, columnCount <= known.count else {
            throw .corrupted("the stored schema has an impossible index in class \(table)")
        }
        var columns: [ColumnKey] = []
        for _ in 0 ..< columnCount { columns.append(ColumnKey(try reader.read())) }
        guard columns.allSatisfy({ column in known.contains { $0.key == column } }) else {
            throw .corrupted("the stored schema has an index of a property that class \(table) does not have")
        }
        self.columns = columns
        let byteCount: UInt32 = try reader.read()
        guard byteCount <= SchemaValidation.indexParameterBytes else {
            throw .corrupted("the stored schema has an index with impossible parameters in class \(table)")
        }
        var parameters: [UInt8] = []
        for _ in 0 ..< byteCount { parameters.append(try reader.read()) }
        self.parameters = parameters
    }
}

extension StoredTable {
    /// All of the class: those of its columns and those declared beside.
    func makeIndexes() -> [TableIndex] {
        var all: [TableIndex] = []
        for (slot, column) in columns.enumerated() {
            if let index = column.index {
                let kind: EntryIndexKind = column.isLink ? .links : column.isPrimaryKey ? .primaryKey : .values
                all.append(TableIndex(index, kind, of: self, slots: [slot]))
            }
            guard let index = column.linkIndex else { continue }
            all.append(TableIndex(index, EntryIndexKind.mixedLinks, of: self, slots: [slot]))
        }
        for index in indexes {
            let slots = index.columns.compactMap { column in columns.firstIndex { $0.key == column } }
            all.append(
                TableIndex(
                    index.key, IndexKinds.kind(named: index.kind), parameters: index.parameters, of: self,
                    slots: slots))
        }
        return all
    }

    func withElementIndexes() -> StoredTable {
        var table = self
        for slot in columns.indices where columns[slot].isList {
            table.columns[slot].elementIndexes = indexes.filter { $0.columns.contains(columns[slot].key) }.map(\.key)
        }
        return table
    }

    /// As users declare it.
    func declaration(of index: StoredIndex) -> IndexDeclaration {
        IndexDeclaration(
            kind: index.kind, properties: index.columns.compactMap { column($0)?.name },
            parameters: IndexKinds.kind(named: index.kind).declaredParameters(index.parameters))
    }

    /// Everything that has to go when the class goes.
    var indexKeys: [IndexKey] { columns.flatMap(\.indexes) + indexes.map(\.key) }

    func hasIndex(_ key: IndexKey) -> Bool {
        columns.contains { $0.index == key || $0.linkIndex == key } || indexes.contains { $0.key == key }
    }
}
