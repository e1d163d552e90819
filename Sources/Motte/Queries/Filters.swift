/// Narrowing and ordering collections: by text with arguments, by predicate objects, by key paths.
import Foundation
import MotteLiveObjects
import MotteQueryEngine
import MotteValues

extension RealmCollection {
    // MARK: Filtering

    /// By query text: `filter("age > %@ AND name BEGINSWITH[c] $1", 5, "R")`. Unknown names and text that cannot be
    /// read are misuse.
    @discardableResult
    public func filter(_ format: String, _ args: Any...) -> Results<Element> { _filtered(format, args) }

    public func filter(_ predicate: NSPredicate) -> Results<Element> {
        _derived { live throws(DatabaseError) in
            let (query, arguments) = try predicate._query()
            return try live.narrowed(by: StoredNames.query(query, of: Element._shape.target), arguments)
        }
    }

    private static func _parsed(_ format: FilterFormat) throws(DatabaseError) -> ParsedQuery {
        StoredNames.query(try format.parsed(), of: Element._shape.target)
    }

    package func _filtered(_ format: String, _ args: [Any?]) -> Results<Element> {
        _derived { live throws(DatabaseError) in
            let format = try FilterFormat(format, args)
            return try live.narrowed(by: try Self._parsed(format), format.arguments)
        }
    }

    /// By an expression over the properties: `where { $0.age > 5 }`.
    @discardableResult
    public func `where`(_ isIncluded: (Query<Element>) -> Query<Bool>) -> Results<Element> {
        _derived { live throws(DatabaseError) in
            let query = isIncluded(Query<Element>._root(Element._shape.target != nil))
            return try live.narrowed(by: try query.parsed())
        }
    }

    package func _derived(
        _ body: (LiveCollection) throws(DatabaseError) -> LiveCollection
    ) -> Results<Element> {
        guard let handle = _managed else {
            misuse(
                "This method may only be called on \(Self._kindName) instances retrieved from a Realm", .invalidInput)
            return Results()
        }
        let live = attempt { () throws(DatabaseError) in try body(handle.live) }
        return live.map { Results._collection(_CollectionHandle($0, handle.session)) } ?? Results()
    }

    // MARK: Ordering

    public func sorted<S: Sequence>(by descriptors: S) -> Results<Element>
    where S.Iterator.Element == SortDescriptor { _sorted(Array(descriptors)) }

    package func _sorted(_ descriptors: [SortDescriptor]) -> Results<Element> {
        _derived { live throws(DatabaseError) in
            if descriptors.isEmpty { return try live.results() }
            return try live.sorted(by: descriptors.map { (_columnPath($0.keyPath), $0.ascending) })
        }
    }

    /// The first of those that are equal in all of these.
    public func distinct<S: Sequence>(by keyPaths: S) -> Results<Element> where S.Iterator.Element == String {
        _derived { live throws(DatabaseError) in
            let paths = keyPaths.map { _columnPath($0) }
            return live.target == nil ? try live.distinct() : try live.distinct(by: paths)
        }
    }

    /// Names as the store has them.
    package func _columnPath(_ path: String) -> String { StoredNames.path(path, of: Element._shape.target) }
}

extension RealmCollection where Element: KeypathSortable {
    public func sorted(byKeyPath keyPath: String, ascending: Bool = true) -> Results<Element> {
        _sorted([SortDescriptor(keyPath: keyPath, ascending: ascending)])
    }
    public func sorted<T: _HasPersistedType>(
        by keyPath: KeyPath<Element, T>, ascending: Bool = true
    ) -> Results<Element> where T.PersistedType: SortableType, Element: ObjectBase {
        _sorted([SortDescriptor(keyPath: _name(for: keyPath), ascending: ascending)])
    }
    public func distinct<S: Sequence>(
        by keyPaths: S
    ) -> Results<Element> where S.Iterator.Element == PartialKeyPath<Element>, Element: ObjectBase {
        distinct(by: keyPaths.map { _name(for: $0) })
    }
}

extension RealmCollection where Element.PersistedType: SortableType {
    public func sorted(ascending: Bool = true) -> Results<Element> {
        _sorted([SortDescriptor(keyPath: "self", ascending: ascending)])
    }
    public func distinct() -> Results<Element> {
        _derived { live throws(DatabaseError) in try live.distinct() }
    }
}

/// Text with `%@`, `%K`, `%d` and their like, turned into text with `$0` and arguments.
package struct FilterFormat {
    package private(set) var text = ""
    /// As the program gave them, in the order of their numbers.
    package private(set) var given: [Any?] = []
    package private(set) var values: [Argument] = []
    package var arguments: Arguments { Arguments(values) }

    package init(_ format: String, _ args: [Any?]) throws(DatabaseError) {
        try self.init(numbering: format, args)
        for argument in given { values.append(try Self.argument(argument)) }
    }

    /// With the arguments as they are, for what asks no store.
    package init(numbering format: String, _ args: [Any?]) throws(DatabaseError) {
        guard format.contains("%") else {
            text = format
            given = args
            return
        }
        var rest = args[...]
        var characters = format.makeIterator()
        var quote: Character?
        while let character = characters.next() {
            if quote == nil, character == "%" {
                try substitute(&characters, &rest, format)
                continue
            }
            if character == quote { quote = nil } else if quote == nil, "'\"".contains(character) { quote = character }
            text.append(character)
            if character == "\\", quote != nil, let escaped = characters.next() { text.append(escaped) }
        }
        // Every percent sign stood in quotes: the arguments are those of $0 and its like.
        if rest.count == args.count { given = args }
        guard rest.isEmpty || rest.count == args.count else {
            throw DatabaseError(
                .queryArgument, "the filter '\(format)' uses \(args.count - rest.count) of \(args.count) arguments")
        }
    }

    private mutating func substitute(
        _ characters: inout String.Iterator, _ rest: inout ArraySlice<Any?>, _ format: String
    ) throws(DatabaseError) {
        var specifier = characters.next()
        while let length = specifier, "lhqzt.0123456789".contains(length) { specifier = characters.next() }
        guard let specifier else { throw DatabaseError(.querySyntax, "the filter '\(format)' ends with a lone '%'") }
        if specifier == "%" { return text.append("%") }
        guard let argument = rest.popFirst() else {
            throw DatabaseError(.queryArgument, "the filter '\(format)' has more placeholders than arguments")
        }
        switch specifier {
        case "K":
            guard let path = Dynamic.flattened(argument) as? String else {
                throw DatabaseError(.queryArgument, "%K in the filter '\(format)' wants the name of a property")
            }
            text += path
        case "@", "d", "i", "u", "D", "U", "f", "g", "e", "F", "s", "x", "X", "o", "c":
            text += "$\(given.count)"
            given.append(argument)
        default: throw DatabaseError(.querySyntax, "the filter '\(format)' has an unknown placeholder '%\(specifier)'")
        }
    }

    package static func argument(_ argument: Any?) throws(DatabaseError) -> Argument {
        if let value = Dynamic.storedValue(argument) { return .value(value) }
        if let shape = GeoText.text(argument) { return .value(.string(shape)) }
        if let elements = Dynamic.elements(argument) {
            var values: [Value] = []
            for element in elements {
                guard let value = Dynamic.storedValue(element) else { throw unusable(element) }
                values.append(value)
            }
            return .list(values)
        }
        throw unusable(argument)
    }

    private static func unusable(_ argument: Any?) -> DatabaseError {
        if let object = argument as? ObjectBase, object.live == nil {
            return DatabaseError(.queryArgument, "Object must be managed by a Realm to be used in a query")
        }
        return DatabaseError(.queryArgument, "a value of type \(type(of: argument)) cannot be used in a filter")
    }
}
