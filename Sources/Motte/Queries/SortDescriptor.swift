/// One key of a sort order: what is compared, and in which direction.

/// A property to sort by, and which way.
public struct SortDescriptor: Hashable, Sendable {
    /// The name of the property, or names with dots between them; "self" for the elements of a collection of values.
    public let keyPath: String
    /// Whether smaller values come first.
    public let ascending: Bool

    /// By a property's name, or by a path of names over links to one. It is looked up when a collection is sorted.
    public init(keyPath: String, ascending: Bool = true) {
        self.keyPath = keyPath
        self.ascending = ascending
    }

    /// By the property that a key path reaches over links.
    public init<Element: ObjectBase>(keyPath: PartialKeyPath<Element>, ascending: Bool = true) {
        self.init(keyPath: _name(for: keyPath), ascending: ascending)
    }

    /// The same key in the other direction.
    public func reversed() -> SortDescriptor { SortDescriptor(keyPath: keyPath, ascending: !ascending) }
}

extension SortDescriptor: CustomStringConvertible {
    /// The key path and the direction, for people to read.
    public var description: String {
        "SortDescriptor(keyPath: \(keyPath), direction: \(ascending ? "ascending" : "descending"))"
    }
}

extension SortDescriptor: ExpressibleByStringLiteral {
    /// Ascending by the path that the literal names.
    public init(stringLiteral value: String) { self.init(keyPath: value) }
}
