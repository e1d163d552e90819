/// How the objects of a table lie in the file: its array, its spec, and where links lead.
///
///     table array: spec | - | clusters | tagged key | indexes | tagged | tagged | opposite tables | opposite columns
///                  | - | - | tagged key of the primary key's column | tagged flags | tombstones
///     spec:        types | names | attributes | - | lists of enumerated strings | column keys
///
/// A column key says the column's place in each cluster, its type and its attributes; the position in the spec is the
/// order of declaration. Columns of backlinks are behind all others and have no name.
import MotteValues

/// A column key.
struct StoredColumnKey: Equatable {
    let rawValue: Int64

    var index: Int { Int(rawValue & 0xFFFF) }
    var type: UInt8 { UInt8(rawValue >> 16 & 0x3F) }
    var attributes: Int { Int(rawValue >> 22 & 0xFF) }
    var isNullable: Bool { attributes & 16 != 0 }
}

final class TableLayout {
    struct Column {
        let key: StoredColumnKey
        let name: String
        let collection: RealmColumn.Collection
        /// Of attributes, those of the spec: with the bits for indexes.
        let attributes: Int
        let hasIntKeys: Bool
        var element: ElementType
        /// Of links to one class: key of the table, and of the column of backlinks there.
        var opposite: (table: Int64, column: Int64)?
        /// Ref of the list of strings that the leaves number.
        let enumerated: Int?
    }

    struct LinkOrigin: Hashable {
        let table: Int64
        let column: Int64
    }

    struct Backlinks {
        let index: Int
        let key: Int64
        let origin: (table: Int64, column: Int64)
        /// Left behind by a column of mixed values that a migration removed: no links belong to them.
        fileprivate(set) var isLeftBehind = false
    }

    static let noTable: Int64 = 0x7FFF_FFFF

    let key: Int64
    let name: String
    let kind: RealmTable.Kind
    let clusters: Int
    private(set) var columns: [Column] = []
    private(set) var backlinks: [Backlinks] = []
    /// Which of them are of links from there; columns and columns of backlinks by key.
    private var backlinksByOrigin: [LinkOrigin: Int] = [:]
    private var columnsByKey: [Int64: Int] = [:]
    private var backlinksByKey: [Int64: Int] = [:]
    private(set) var primaryKey: Int?
    private var enumerated: [Int: StringLeaf] = [:]
    private let enumeratedNodes = Arena()

    init(_ ref: Int, name: String, slot: Int, _ scope: ReadingScope) throws(DatabaseError) {
        self.name = name
        let node = try scope.node(ref)
        let slots = try node.refs("the description of a class")
        guard (12 ... 14).contains(slots.count), case .tagged(let key) = slots.slot(3), Int(key & 0xFFFF) == slot,
            case .ref(let clusters) = slots.slot(2), let flags = slots.slot(12).number, slots.slot(11).number != nil
        else { throw node.unlike("the description of a class") }
        self.key = key
        self.clusters = clusters
        switch flags & 3 {
        case 0: kind = .object
        case 1: kind = .embedded
        case 2: kind = .asymmetric
        default: throw node.damage("a class is of no known kind")
        }
        let tables = try scope.node(slots, 7, "the list of linked classes", ref).numbers("the list of linked classes")
        let columns = try scope.node(slots, 8, "the list of linked columns", ref).numbers("the list of linked columns")
        let spec = try scope.node(slots, 0, "the list of columns", ref)
        try readSpec(spec, (tables, columns), scope)
        // A tagged 0 is a key too: of the first column of a class from before format 10, where it has no attributes.
        if case .tagged(let primaryKey) = slots.slot(11) {
            self.primaryKey = columnsByKey[primaryKey]
            guard self.primaryKey != nil else { throw node.damage("the primary key is no column") }
        }
    }

    private func readSpec(
        _ node: Node, _ opposites: (tables: Integers, columns: Integers), _ scope: ReadingScope
    ) throws(DatabaseError) {
        let slots = try node.refs("the list of columns")
        guard slots.count == 6 else { throw node.unlike("the list of columns") }
        let types = try scope.node(slots, 0, "types of columns", node.ref).numbers("types of columns")
        let names = try TableNames(try scope.node(slots, 1, "names of columns", node.ref), scope)
        let attributes = try scope.node(slots, 2, "attributes of columns", node.ref).numbers("attributes of columns")
        let keys = try scope.node(slots, 5, "keys of columns", node.ref).numbers("keys of columns")
        guard types.count == keys.count, attributes.count == keys.count, names.count <= keys.count else {
            throw node.damage("types, names, attributes and keys of columns differ in number")
        }
        var enumerated: Integers?
        if case .ref(let ref) = slots.slot(4) { enumerated = try scope.node(ref).refs("lists of strings") }
        var indexes: Set<Int> = []
        var knownNames: Set<[UInt8]> = []
        for position in 0 ..< keys.count {
            let key = StoredColumnKey(rawValue: keys[position])
            guard key.rawValue >= 0, indexes.insert(key.index).inserted else {
                throw node.damage("two columns are in the same place")
            }
            let isBacklink = key.type == ElementType.Stored.backlink.rawValue
            guard isBacklink == (position >= names.count) else {
                throw node.damage("columns and their names do not fit")
            }
            var opposite: (table: Int64, column: Int64)?
            if key.index < opposites.tables.count, key.index < opposites.columns.count {
                let found = (table: opposites.tables[key.index], column: opposites.columns[key.index])
                if found.table != Self.noTable { opposite = found }
            }
            if isBacklink {
                guard let opposite else { throw node.damage("backlinks say not where they are from") }
                backlinksByKey[key.rawValue] = backlinks.count
                let origin = LinkOrigin(table: opposite.table, column: opposite.column)
                guard backlinksByOrigin.updateValue(backlinks.count, forKey: origin) == nil else {
                    throw node.damage("two columns of backlinks are from the same column")
                }
                backlinks.append(Backlinks(index: key.index, key: key.rawValue, origin: opposite))
                continue
            }
            let name = try names.text(position, scope)
            guard knownNames.insert(Array(name.utf8)).inserted else {
                throw node.damage("two columns are named '\(name)'")
            }
            var strings: Int?
            if let enumerated, position < enumerated.count, case .ref(let ref) = enumerated.slot(position) {
                strings = ref
            }
            columnsByKey[key.rawValue] = columns.count
            columns.append(
                try Self.column(key, name, types[position], attributes[position], (opposite, strings), node))
        }
    }

    private static func column(
        _ key: StoredColumnKey, _ name: String, _ type: Int64, _ attributes: Int64,
        _ refers: (opposite: (table: Int64, column: Int64)?, enumerated: Int?), _ node: Node
    ) throws(DatabaseError) -> Column {
        guard let stored = ElementType.Stored(rawValue: key.type) else {
            throw node.damage("column '\(name)' has the unknown type \(key.type)")
        }
        // Where a file of format 23 was upgraded, a list of links is a link in the key and still a list here.
        let isLink = stored == .link || stored == .links
        let low = type & 0xFFFF
        guard low == Int64(key.type) || (isLink && (low == 12 || low == 13)), type >> 16 == 0 || type >> 16 == 2 else {
            throw node.damage("the types of column '\(name)' contradict each other")
        }
        let collection: RealmColumn.Collection
        switch key.attributes & 0xE0 {
        case 0: collection = stored == .links ? .list : .none
        case 32: collection = .list
        case 64: collection = .map
        case 128: collection = .set
        default: throw node.damage("column '\(name)' is collections of several kinds")
        }
        guard attributes & 0xE0 == Int64(key.attributes & 0xE0), attributes & 16 == Int64(key.attributes & 16) else {
            throw node.damage("the attributes of column '\(name)' contradict each other")
        }
        guard !isLink || refers.opposite != nil else { throw node.damage("links of column '\(name)' lead to no class") }
        return Column(
            key: key, name: name, collection: collection, attributes: Int(attributes),
            hasIntKeys: collection == .map && type >> 16 == 0,
            element: ElementType(stored: stored == .links ? .link : stored, isNullable: key.isNullable),
            opposite: isLink ? refers.opposite : nil, enumerated: collection == .none ? refers.enumerated : nil)
    }

    /// The list that the column's leaves number; nil where there is none. Read once, and kept.
    func enumeratedStrings(_ column: Int, _ file: FileContext) throws(DatabaseError) -> StringLeaf? {
        if let known = enumerated[column] { return known }
        guard let ref = columns[column].enumerated else { return nil }
        let scope = ReadingScope(file, nodes: enumeratedNodes, values: enumeratedNodes, visited: nil)
        let strings = try StringLeaf(try scope.node(ref), isText: true, scope)
        enumerated[column] = strings
        return strings
    }

    /// Backlinks of links to one class go with their column, those of mixed values stay.
    private func isLeftBehind(_ back: Backlinks, _ layouts: [TableLayout], _ file: FileContext) -> Bool {
        let type = StoredColumnKey(rawValue: back.origin.column).type
        guard type == ElementType.Stored.mixed.rawValue || type == ElementType.Stored.typedLink.rawValue else {
            return false
        }
        guard let origin = file.index(ofTable: back.origin.table) else { return true }
        return layouts[origin].column(back.origin.column) == nil
    }

    /// Once all tables are known: which class links lead to. Both sides name each other.
    func resolveLinks(_ layouts: [TableLayout], _ file: FileContext) throws(DatabaseError) {
        for position in columns.indices {
            let column = columns[position]
            guard let opposite = column.opposite else { continue }
            guard let target = file.index(ofTable: opposite.table),
                let back = layouts[target].backlinksByKey[opposite.column],
                layouts[target].backlinks[back].origin == (key, column.key.rawValue)
            else { throw Damage.found("class \(name): the links of '\(column.name)' and their backlinks do not fit") }
            columns[position].element.target = target
        }
        for number in backlinks.indices {
            let back = backlinks[number]
            if isLeftBehind(back, layouts, file) {
                backlinks[number].isLeftBehind = true
                continue
            }
            guard let origin = file.index(ofTable: back.origin.table),
                let column = layouts[origin].column(back.origin.column),
                column.opposite.map({ $0 == (key, back.key) })
                    ?? (column.element.stored == .mixed || column.element.stored == .typedLink)
            else { throw Damage.found("class \(name): backlinks are from a column that there is not") }
        }
    }

    /// By key.
    func column(_ key: Int64) -> Column? { columnsByKey[key].map { columns[$0] } }

    /// The number of the class' column of backlinks of links from there; nil where there are none.
    func backlinks(from table: Int64, _ column: Int64) -> Int? {
        backlinksByOrigin[LinkOrigin(table: table, column: column)]
    }
}

/// Names of tables or of columns, where null is the empty text.
struct TableNames {
    private let leaf: StringLeaf
    private let ref: Int

    init(_ node: Node, _ scope: ReadingScope) throws(DatabaseError) {
        ref = node.ref
        guard !node.hasRefs else { throw node.unlike("a list of names") }
        leaf = try StringLeaf(node, isText: true, scope)
    }

    var count: Int { leaf.count }

    func text(_ index: Int, _ scope: ReadingScope) throws(DatabaseError) -> String {
        guard let bytes = try leaf.value(index, scope) else { return "" }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw Damage.at(ref, "a name is not UTF-8")
        }
        return text
    }
}
