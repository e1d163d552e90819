/// What an observation reports besides insertions and deletions: the changes that its key paths name.
///
///     nil                 everything that an element reaches over at most `DeliveryContext.linkDepth` links
///     none                only membership: what comes, goes, moves, and slots that are replaced
///     name                that property of an element
///     toys                the list itself: what comes and goes in it, and slots that are replaced
///     toys.brand.name     each property on the way, and the last one of whatever is reached
///
/// A path passes through links, lists, sets, maps, inverse properties, embedded objects and mixed values. What a mixed
/// value links to may be of any class, so that a path goes on in every class that has the properties it names.
/// Classes that come later are among them: such a filter is looked up again in the schema of each delivery
/// (`resolved`). Immutable; belongs to the observation it was made for, not to its target.
import MotteSchemaModel
import MotteValues

package struct KeyPathFilter: Sendable {
    /// How one property is followed and what counts as its change.
    struct Step: Sendable {
        enum Kind: Sendable, Equatable {
            /// A column of the object itself. Objects that it links to are found back by their backlinks.
            case column(ColumnKey, isMixed: Bool)
            /// Objects of `origin` whose column links here.
            case inverse(origin: TableKey, ColumnKey, isCollection: Bool)

            var isMixed: Bool { if case .column(_, isMixed: true) = self { true } else { false } }
        }

        let kind: Kind
        /// The class it leads to, if that is one.
        let target: TableKey?
    }

    struct Path: Sendable {
        /// The first property.
        let root: String
        /// For each name of the path, the classes whose objects it is read from.
        let levels: [[TableKey: Step]]
    }

    /// The classes that elements may have.
    package enum Elements: Sendable {
        case of(TableKey)
        /// Elements are mixed values.
        case ofAnyClass
        case values

        fileprivate func tables(_ schema: Schema) -> [TableKey] {
            switch self {
            case .of(let table): [table]
            case .ofAnyClass: schema.linkableTables
            case .values: []
            }
        }
    }

    private let texts: [String]
    private let elements: Elements
    let paths: [Path]
    /// Of the same bytes for filters that say the same.
    let identity: String

    /// Paths are names with dots between them.
    package init(_ texts: [String], from elements: Elements, _ schema: Schema) throws(DatabaseError) {
        let paths = try Self.paths(texts, from: elements, schema, isObserving: false)
        // No name has a newline in it.
        let sorted = texts.sorted { $0.precedesInBytes($1) }
        let start =
            switch elements {
            case .of(let table): "\(table.rawValue)"
            case .ofAnyClass: "*"
            case .values: ""
            }
        self.init(texts, elements, paths, identity: ([start] + sorted).joined(separator: "\n"))
    }

    private init(_ texts: [String], _ elements: Elements, _ paths: [Path], identity: String) {
        self.texts = texts
        self.elements = elements
        self.paths = paths
        self.identity = identity
    }

    private static func paths(
        _ texts: [String], from elements: Elements, _ schema: Schema, isObserving: Bool
    ) throws(DatabaseError) -> [Path] {
        try texts.map { text throws(DatabaseError) in
            var resolver = KeyPathResolver(text, schema, isObserving: isObserving)
            return try resolver.resolve(from: elements.tables(schema))
        }
    }

    /// Whether other classes than those of its schema may belong to it.
    var followsMixedValues: Bool {
        if case .ofAnyClass = elements { return true }
        return paths.contains { path in
            path.levels.dropLast().contains { level in level.values.contains { $0.kind.isMixed } }
        }
    }

    /// The same in another version's schema. Where no class is left that a path goes on in, it ends there.
    func resolved(in schema: Schema) throws(DatabaseError) -> KeyPathFilter {
        KeyPathFilter(
            texts, elements, try Self.paths(texts, from: elements, schema, isObserving: true), identity: identity)
    }

    /// More names in a row than any schema needs.
    static let longest = 64
}

/// Looks the names of one path up.
private struct KeyPathResolver {
    private let text: String
    private let names: [String]
    private let schema: Schema
    /// The path has been accepted when observing began: classes that lack something by now do not make it wrong.
    private let isObserving: Bool
    /// What could be reached from a class with the names from a position on; for mixed values, which have many.
    private var known: [Place: Bool] = [:]

    private struct Place: Hashable {
        let table: TableKey
        let position: Int
    }

    init(_ text: String, _ schema: Schema, isObserving: Bool) {
        self.text = text
        self.schema = schema
        self.isObserving = isObserving
        names = text.parts(between: ".")
    }

    mutating func resolve(from tables: [TableKey]) throws(DatabaseError) -> KeyPathFilter.Path {
        guard names.count <= KeyPathFilter.longest else {
            throw DatabaseError(
                .invalidArgument, "the key path '\(text)' has more than \(KeyPathFilter.longest) parts; shorten it")
        }
        guard !tables.isEmpty || isObserving else {
            throw DatabaseError(
                .unknownProperty, "the key path '\(text)' names a property, but the elements are plain values",
                propertyName: names[0])
        }
        var current = try going(on: tables, at: 0)
        var levels: [[TableKey: KeyPathFilter.Step]] = []
        for position in names.indices {
            var level: [TableKey: KeyPathFilter.Step] = [:]
            var next: [TableKey] = []
            for table in current {
                let type = try type(table)
                let property = try property(at: position, of: type)
                level[table] = try step(property, of: type)
                if position + 1 < names.count { next += try targets(of: property, type, before: position + 1) }
            }
            levels.append(level)
            current = next.sorted()
        }
        return KeyPathFilter.Path(root: names[0], levels: levels)
    }

    /// Those classes that have everything from a position on. With one class alone, its error says what is missing.
    private mutating func going(on tables: [TableKey], at position: Int) throws(DatabaseError) -> [TableKey] {
        if tables.count == 1, !isObserving {
            try check(tables[0], position)
            return tables
        }
        var found: [TableKey] = []
        for table in tables where passes(table, position) { found.append(table) }
        guard !found.isEmpty || isObserving else {
            throw DatabaseError(
                .unknownProperty,
                "no class has what the key path '\(text)' asks for from '\(names[position])' on",
                propertyName: names[position])
        }
        return found
    }

    private mutating func passes(_ table: TableKey, _ position: Int) -> Bool {
        let place = Place(table: table, position: position)
        if let known = known[place] { return known }
        // A yes or no for one class; where no class passes, the path is refused with its name.
        let passes = (try? check(table, position)) != nil
        known[place] = passes
        return passes
    }

    private mutating func check(_ table: TableKey, _ position: Int) throws(DatabaseError) {
        let type = try type(table)
        let property = try property(at: position, of: type)
        guard position + 1 < names.count else { return }
        _ = try targets(of: property, type, before: position + 1)
    }

    /// The classes that a property leads to, as far as the path goes on there.
    private mutating func targets(
        of property: Property, _ type: ObjectType, before position: Int
    ) throws(DatabaseError) -> [TableKey] {
        switch property.type {
        case .link, .linkingObjects: return try going(on: [try target(property, of: type)], at: position)
        case .mixed:
            return try going(on: schema.linkableTables, at: position)
        default:
            throw DatabaseError(
                .unknownProperty,
                "\(type.name).\(property.name) is \(property.type.name) and has no property '\(names[position])'",
                className: type.name, propertyName: names[position])
        }
    }

    private func property(at position: Int, of type: ObjectType) throws(DatabaseError) -> Property {
        try type.requiredProperty(named: names[position])
    }

    private func step(_ property: Property, of type: ObjectType) throws(DatabaseError) -> KeyPathFilter.Step {
        if property.type == .linkingObjects {
            let origin = try target(property, of: type)
            guard let back = schema[origin]?.property(named: property.origin ?? ""), let column = back.columnKey else {
                throw unstored(type)
            }
            return KeyPathFilter.Step(
                kind: .inverse(origin: origin, column, isCollection: back.isCollection), target: origin)
        }
        guard let column = property.columnKey else { throw unstored(type) }
        return KeyPathFilter.Step(
            kind: .column(column, isMixed: property.type == .mixed),
            target: property.type == .link ? try target(property, of: type) : nil)
    }

    private func target(_ property: Property, of type: ObjectType) throws(DatabaseError) -> TableKey {
        guard let target = property.target.flatMap({ schema[$0]?.tableKey }) else { throw unstored(type) }
        return target
    }

    private func type(_ table: TableKey) throws(DatabaseError) -> ObjectType {
        guard let type = schema[table] else {
            throw DatabaseError(.unknownClass, "the schema has no class with key \(table.rawValue)")
        }
        return type
    }

    private func unstored(_ type: ObjectType) -> DatabaseError {
        DatabaseError(.internal, "a key path was looked up in a schema that is not stored", className: type.name)
    }
}

extension Schema {
    /// What mixed values can link to.
    var linkableTables: [TableKey] { objectTypes.filter { !$0.isEmbedded }.compactMap(\.tableKey) }
}
