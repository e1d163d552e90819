/// One property of a class as users declare it; with its column key once the file holds it.
///
/// For a collection, `isNullable` speaks of the elements. For `linkingObjects`, `target` is the class whose objects are
/// listed and `origin` its property that links here.
import MotteValues

package struct Property: Sendable {
    package var name: String
    package var type: PropertyType
    /// Of ints, alone or in a collection.
    package var width: IntWidth
    package var collection: CollectionKind
    package var isNullable: Bool
    package var isPrimaryKey: Bool
    package var isIndexed: Bool
    /// No two objects have the same value; nulls do not count. Kept by an index of its own.
    package var isUnique: Bool
    package var target: String?
    package var origin: String?
    /// nil before it is stored, and always for `linkingObjects`.
    package var columnKey: ColumnKey?
    /// Of a stored map: the column of its keys, in step with the values.
    package var keyColumn: ColumnKey?
    /// Of a declared schema only.
    package var rule: PropertyRule?

    package init(
        name: String, type: PropertyType, width: IntWidth = .bits64, collection: CollectionKind = .none,
        isNullable: Bool = false, isPrimaryKey: Bool = false, isIndexed: Bool = false, target: String? = nil
    ) {
        self.name = name
        self.type = type
        self.width = width
        self.collection = collection
        self.isNullable = isNullable
        self.isPrimaryKey = isPrimaryKey
        self.isIndexed = isIndexed
        isUnique = false
        self.target = target
    }

    package func unique(_ isUnique: Bool) -> Property {
        var property = self
        property.isUnique = isUnique
        return property
    }

    /// The same as an inverse of that property of its target.
    package func listing(origin: String?) -> Property {
        var property = self
        property.origin = origin
        return property
    }

    /// The same where the file holds it, in these columns.
    package func stored(in column: ColumnKey, keys: ColumnKey?) -> Property {
        var property = self
        property.columnKey = column
        property.keyColumn = keys
        return property
    }

    package var isList: Bool { collection == .list }
    package var isSet: Bool { collection == .set }
    package var isMap: Bool { collection == .map }
    package var isCollection: Bool { collection != .none }
    /// False for `linkingObjects`, which is computed.
    package var isStored: Bool { type != .linkingObjects }
    /// Whether equality is answered by an index.
    package var hasIndex: Bool { isPrimaryKey || isIndexed }

    /// Equal as declarations; column keys do not count.
    package func declaresSame(as other: Property) -> Bool {
        name.hasSameBytes(as: other.name) && type == other.type && width == other.width
            && collection == other.collection
            && isNullable == other.isNullable && isPrimaryKey == other.isPrimaryKey && isIndexed == other.isIndexed
            && isUnique == other.isUnique
            && target.hasSameBytes(as: other.target) && origin.hasSameBytes(as: other.origin)
    }
}
