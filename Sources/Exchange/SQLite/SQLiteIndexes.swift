/// The indexes of an ordinary table as those of a class, and what UNIQUE and a primary key of several columns say.
///
/// A rule is kept where it means the same: NULL is equal to nothing on both sides, and texts, data and numbers are
/// equal when SQLite says so. It is not where two values may become one, as with times and UUIDs, which texts write in
/// several ways, under a collation, and where a value is too long for a unique one. An index that is no rule is only
/// faster.
import MotteSchemaModel
import MotteValues

struct SQLiteIndexes {
    private(set) var properties: [Property]
    private(set) var indexes: [IndexDeclaration] = []
    private(set) var notes: [String] = []

    private let declared: DeclaredTable
    private let file: SQLiteConnection

    /// What an ordered index keeps of a row, less what it needs beside the values (docs/FILE_FORMAT.md).
    private static let longest = 440

    init(
        _ declared: DeclaredTable, _ properties: [Property], _ file: SQLiteConnection
    ) throws(DatabaseError) {
        self.declared = declared
        self.properties = properties
        self.file = file
        try addPrimaryKey()
        for index in declared.indexes where !index.isOfPrimaryKey { try add(index) }
    }

    private func position(_ column: String) -> Int? {
        declared.columns.firstIndex { SQLiteNames.isSame($0.name, column) }
    }

    // MARK: Rules

    private mutating func addPrimaryKey() throws(DatabaseError) {
        let key = declared.primaryKey.sorted { $0.keyPosition < $1.keyPosition }
        guard key.count > 1 else { return }
        // What makes the rule is an index, which has the collations.
        let columns =
            declared.indexes.first(where: \.isOfPrimaryKey)?.columns
            ?? key.map { DeclaredIndex.Column(name: $0.name, isDescending: false, collation: "BINARY") }
        let names = key.map(\.name).joined(separator: ", ")
        let what = "the primary key (\(names)) has several columns; they are ordinary properties"
        if let why = try problem(ofUnique: columns) {
            notes.append("\(what): \(why)")
        } else {
            notes.append("\(what), unique together")
            append(.ordered(parts(columns), isUnique: true))
        }
    }

    /// Why the values of these columns cannot be unique in the same sense.
    private func problem(ofUnique columns: [DeclaredIndex.Column]) throws(DatabaseError) -> String? {
        if let folded = columns.first(where: { $0.collation != "BINARY" }) {
            return "\(folded.name) is compared by \(folded.collation)"
        }
        var lengths: [String] = []
        for column in columns {
            guard let position = position(column.name) else { return "there is no column \(column.name)" }
            switch properties[position].type {
            case .bool, .int, .double, .float: lengths.append("9")
            case .string, .data:
                let bytes = "CAST(\(SQLiteNames.quoted(column.name)) AS BLOB)"
                lengths.append("3 + ifnull(length(\(bytes)) * iif(instr(\(bytes), x'00') > 0, 2, 1), 0)")
            case .timestamp, .uuid: return "one \(properties[position].type.name) may be written in several ways"
            case let type: return "\(column.name) is \(type.name)"
            }
        }
        let longest = try file.int(
            "SELECT max(\(lengths.joined(separator: " + "))) FROM \(SQLiteNames.quoted(declared.name))")
        return longest ?? 0 > Int64(Self.longest) ? "values are longer than about \(Self.longest) bytes" : nil
    }

    // MARK: Indexes

    private mutating func add(_ index: DeclaredIndex) throws(DatabaseError) {
        let names = index.columns.map(\.name).joined(separator: ", ")
        let what = "the \(index.isUnique ? "UNIQUE " : "")index of (\(names))"
        guard index.isPlain, !index.columns.isEmpty else {
            return notes.append("\(what) is not kept: it is not of all rows by their columns")
        }
        if index.isUnique {
            if let why = try problem(ofUnique: index.columns) {
                notes.append("that \(index.columns.count > 1 ? "(\(names))" : names) is UNIQUE is not kept: \(why)")
            } else {
                return addUnique(index)
            }
        }
        let positions = index.columns.compactMap { position($0.name) }
        guard positions.count == index.columns.count else { return notes.append("\(what) is not kept") }
        if index.columns.count == 1, let column = index.columns.first, let position = positions.first {
            return addSingle(column, position)
        }
        guard positions.allSatisfy({ properties[$0].type.canBeUnique }) else {
            if !index.isUnique { notes.append("\(what) is not kept: it has a link or a mixed value") }
            return
        }
        append(.ordered(parts(index.columns)))
    }

    private mutating func addUnique(_ index: DeclaredIndex) {
        guard index.columns.count == 1, let column = index.columns.first, let position = position(column.name) else {
            return append(.ordered(parts(index.columns), isUnique: true))
        }
        if !properties[position].isPrimaryKey { properties[position].isUnique = true }
    }

    private mutating func addSingle(_ column: DeclaredIndex.Column, _ position: Int) {
        let property = properties[position]
        // Links have one by themselves.
        if property.type == .link || property.isPrimaryKey { return }
        if property.type == .string, column.collation == "NOCASE" {
            notes.append(
                "the index of \(column.name) is one without case, [c], of all letters and not of ASCII's alone")
            return append(.ordered(parts([column])))
        }
        if property.isUnique { return }
        if property.type.canBeIndexed {
            properties[position].isIndexed = true
        } else if property.type.canBeUnique {
            append(.ordered(parts([column])))
        } else {
            notes.append("the index of \(column.name) is not kept: \(property.type.name)")
        }
    }

    private func parts(_ columns: [DeclaredIndex.Column]) -> [IndexPart] {
        columns.compactMap { column in
            position(column.name).map { position in
                let isFolded = properties[position].type == .string && column.collation == "NOCASE"
                return IndexPart(
                    properties[position].name, isDescending: column.isDescending && !isFolded,
                    folding: isFolded ? .ignoresCase : [])
            }
        }
    }

    /// Once.
    private mutating func append(_ index: IndexDeclaration) {
        if !indexes.contains(where: { $0.declaresSame(as: index) }) { indexes.append(index) }
    }
}
