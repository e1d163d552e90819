/// Which kinds of indexes there are: the one place where a kind is named outside its folder.
import MotteSchemaModel
import MotteValues

package enum IndexKinds {
    /// Those of this release.
    private static let own: [any IndexKind] = [
        EntryIndexKind.primaryKey, EntryIndexKind.values, EntryIndexKind.links, EntryIndexKind.mixedLinks,
        OrderedIndexKind.ordered, OrderedIndexKind.folded,
    ]

    private static let known = Locked<[NameKey: any IndexKind]>(
        ofProcess: Dictionary(uniqueKeysWithValues: own.map { (NameKey($0.name), $0) }))

    /// Adds a kind for this process. Before a file with an index of it is opened: an open file keeps what it knew then.
    package static func register(_ kind: any IndexKind) {
        known.withLock { $0[NameKey(kind.name)] = kind }
    }

    /// The kind of a stored index.
    static func kind(named name: String) -> any IndexKind {
        known.withLock { $0[NameKey(name)] } ?? UnknownIndexKind(name: name)
    }

    /// The kind of a declared index, which this release has to know.
    static func check(_ index: IndexDeclaration, of type: ObjectType) throws(DatabaseError) {
        guard let kind = known.withLock({ $0[NameKey(index.kind)] }), !(kind is EntryIndexKind) else {
            throw DatabaseError(
                .schemaInvalid,
                "the \(index.text) of \(type.name) has a kind that this release does not know or that properties "
                    + "have by themselves; mark the property as indexed, or update the library", className: type.name)
        }
        let collections = index.properties.filter { type.property(named: $0)?.isCollection ?? false }
        if let name = collections.first, index.properties.count > 1 {
            throw DatabaseError(
                .schemaInvalid,
                "the \(index.text) of \(type.name) has the collection \(name) beside other properties; an index of a "
                    + "collection's elements has no other property", className: type.name, propertyName: name)
        }
        try kind.check(index, of: type)
    }
}

extension Catalog {
    /// Throws where an index could not be kept in step with a write: a file with an index of a kind that this release
    /// does not know is one to read.
    func requireKnownIndexes() throws(DatabaseError) {
        guard hasUnknownIndexes else { return }
        for table in tables {
            for index in indexes(of: table.key) where index.kind is UnknownIndexKind {
                throw DatabaseError(
                    .unsupportedFormat,
                    "the file can only be read: \(table.name) has the \(index.text), a kind that this release does not "
                        + "know; update the library, or drop the index with a schema version of its own that does not "
                        + "declare it", className: table.name)
            }
        }
    }
}
