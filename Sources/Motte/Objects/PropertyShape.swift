/// What a Swift property type is in the store. Opaque to programs.
import MotteSchemaModel
import MotteValues

public struct _PropertyShape {
    package var type: PropertyType
    package var collection: CollectionKind = .none
    package var isNullable = false
    package var target: Object.Type?
}

/// A stored value on its way between the store and a Swift type. Opaque to programs.
public struct _StoredValue {
    package let value: Value
    package init(_ value: Value) { self.value = value }
}

/// The column behind a property. Opaque to programs.
public struct _Column {
    package let key: ColumnKey
}
