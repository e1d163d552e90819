/// Narrowing and ordering collections: by text with arguments, by predicate objects, by key paths.
import Foundation
import MotteLiveObjects
import MotteQueryEngine
import MotteValues

extension RealmCollection {
    // MARK: Filtering

    /// The elements that a query text holds for: `filter("age > %@ AND name BEGINSWITH[c] $1", 5, "R")`. Unknown names
    /// and text that cannot be read are misuse.
    @discardableResult
    public func filter(_ format: String, _ args: Any...) -> Results<Element> { _filtered(format, args) }

    /// The elements that a predicate holds for: one made from a format, a constant, or several joined by
    /// `NSCompoundPredicate`. A predicate made of a block is misuse, for a database cannot evaluate it.
    public func filter(_ predicate: NSPredicate) -> Results<Element> {
        _queried { live throws(DatabaseError) in
            let (query, arguments) = try predicate._query(in: live.session)
            return try live.narrowed(by: StoredNames.query(query, of: _mappedType), arguments)
        }
    }

    package func _filtered(_ format: String, _ args: [Any?]) -> Results<Element> {
        _queried { live throws(DatabaseError) in
            let filter = try FilterFormat(format, args)
            return try live.narrowed(
                by: StoredNames.query(filter.query, of: _mappedType), try filter.arguments(in: live.session))
        }
    }

    /// The elements that an expression over their properties holds for: `where { $0.age > 5 }`. What cannot be asked is
    /// misuse.
    @discardableResult
    public func `where`(_ isIncluded: (Query<Element>) -> Query<Bool>) -> Results<Element> {
        _queried { live throws(DatabaseError) in
            let query = isIncluded(Query<Element>._root(Element._shape.target != nil))
            let parsed = try query.parsed(for: live.session.databaseNumber)
            return try live.narrowed(by: StoredNames.query(parsed, of: _mappedType))
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

    private func _queried(
        _ body: (LiveCollection) throws(DatabaseError) -> LiveCollection
    ) -> Results<Element> {
        let results = _derived(body)
        Logger.write(.trace, .query) {
            // What cannot be explained fails where it is asked for.
            (try? results._managed?.live.explain(isAnalyzed: false).text) ?? ""
        }
        return results
    }

    // MARK: Ordering

    /// The elements in the order of several keys; where the first finds no difference the second decides, and so on.
    /// Ties keep the order they had. A key path that leads to no single value is misuse.
    public func sorted<S: Sequence>(by descriptors: S) -> Results<Element>
    where S.Iterator.Element == SortDescriptor { _sorted(Array(descriptors)) }

    package func _sorted(_ descriptors: [SortDescriptor]) -> Results<Element> {
        _derived { live throws(DatabaseError) in
            if descriptors.isEmpty { return try live.results() }
            do throws(DatabaseError) {
                return try live.sorted(by: descriptors.map { (_columnPath($0.keyPath), $0.ascending) })
            } catch {
                throw OrderingTexts.error(error, "sort", descriptors.map(\.keyPath)) { path throws(DatabaseError) in
                    _ = try live.sorted(by: [(_columnPath(path), true)])
                }
            }
        }
    }

    /// The first of those elements that are equal in all of these properties, by their names or paths over links. Of a
    /// collection of values, each value once.
    public func distinct<S: Sequence>(by keyPaths: S) -> Results<Element> where S.Iterator.Element == String {
        _derived { live throws(DatabaseError) in
            if live.target == nil { return try live.distinct() }
            let paths = Array(keyPaths)
            do throws(DatabaseError) { return try live.distinct(by: paths.map { _columnPath($0) }) } catch {
                throw OrderingTexts.error(error, "distinct", paths) { path throws(DatabaseError) in
                    _ = try live.distinct(by: [_columnPath(path)])
                }
            }
        }
    }

    /// Names as the store has them.
    package func _columnPath(_ path: String) -> String { StoredNames.path(path, of: _mappedType) }

    /// Whose property names are those of paths: the program's class, also where the elements are seen by name.
    var _mappedType: ObjectBase.Type? {
        guard let type = Element._shape.target, type == DynamicObject.self, let handle = _managed else {
            return Element._shape.target
        }
        return handle.live.target.flatMap { handle.session.swiftType(of: $0) }
    }
}

extension RealmCollection where Element: KeypathSortable {
    /// The elements in the order of a property, by its name or a path over links. Ties keep the order they had.
    public func sorted(byKeyPath keyPath: String, ascending: Bool = true) -> Results<Element> {
        _sorted([SortDescriptor(keyPath: keyPath, ascending: ascending)])
    }
    /// The elements in the order of a property, which the key path reaches over links only. Ties keep the order they
    /// had.
    public func sorted<T: _HasPersistedType>(
        by keyPath: KeyPath<Element, T>, ascending: Bool = true
    ) -> Results<Element> where T.PersistedType: SortableType, Element: ObjectBase {
        _sorted([SortDescriptor(keyPath: _name(for: keyPath), ascending: ascending)])
    }
    /// The first of those elements that are equal in all of these properties.
    public func distinct<S: Sequence>(
        by keyPaths: S
    ) -> Results<Element> where S.Iterator.Element == PartialKeyPath<Element>, Element: ObjectBase {
        distinct(by: keyPaths.map { _name(for: $0) })
    }
}

extension RealmCollection where Element.PersistedType: SortableType {
    /// The elements in the order of values: numbers by size, dates by time, texts by their UTF-8 bytes.
    public func sorted(ascending: Bool = true) -> Results<Element> {
        _sorted([SortDescriptor(keyPath: "self", ascending: ascending)])
    }
    /// Each element once, at its first position.
    public func distinct() -> Results<Element> {
        _derived { live throws(DatabaseError) in try live.distinct() }
    }
}

/// What RealmSwift says of key paths that nothing can be ordered by.
private enum OrderingTexts {
    /// Names the first path that `attempt` refuses by itself.
    static func error(
        _ error: DatabaseError, _ what: String, _ paths: [String], _ attempt: (String) throws(DatabaseError) -> Void
    ) -> DatabaseError {
        guard error.code == .queryInvalid || error.code == .unknownProperty else { return error }
        for path in paths {
            do throws(DatabaseError) { try attempt(path) } catch {
                return DatabaseError(error.code, "Cannot \(what) on key path '\(path)': \(reason(error, path))")
            }
        }
        return error
    }

    private static func reason(_ error: DatabaseError, _ path: String) -> String {
        if path.contains("@") { return "KVC collection operators are not supported. \(error.message)" }
        guard error.code == .unknownProperty, let type = error.details.className,
            let property = error.details.propertyName
        else { return error.message }
        return "property '\(type).\(property)' does not exist. \(error.message)"
    }
}
