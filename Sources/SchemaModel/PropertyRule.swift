/// What a program declares of a property beyond what the file holds: what new objects have in it where nobody gives a
/// value, and which values it takes.
///
/// Rules belong to the declared schema of whoever opened the file. They are not stored, and no two schemas differ by
/// them.
import MotteValues

/// Gives values to objects that have none yet, in a property that no plain value can start: a collection, a link. The
/// layer that knows objects knows how.
package protocol PropertyFiller: AnyObject, Sendable {}

package struct PropertyRule: Sendable {
    package enum Start: Sendable {
        /// The zero of its type, or null.
        case plain
        case value(Value)
        /// So many values, for as many objects.
        case made(@Sendable (Int) throws(DatabaseError) -> [Value])
        /// An object without a value is refused.
        case required
    }

    package let start: Start
    /// Null and these, of a collection the elements; nil: all values of the type.
    package let allowed: AllowedValues?

    /// Called for new objects that were given no value.
    package let filler: (any PropertyFiller)?

    package init(start: Start = .plain, allowed: [Value]? = nil, filler: (any PropertyFiller)? = nil) {
        self.start = start
        self.filler = filler
        self.allowed = allowed.map { AllowedValues($0) }
    }

    package var hasStart: Bool {
        switch start {
        case .value, .made: true
        case .plain, .required: false
        }
    }

    package var isRequired: Bool {
        if case .required = start { return true }
        return false
    }
}

package struct AllowedValues: Sendable {
    private let values: [Value]
    /// Where there are many.
    private let set: Set<Value>
    private static let few = 24

    init(_ values: [Value]) {
        self.values = values
        set = values.count > Self.few ? Set(values) : []
    }

    package func contains(_ view: ValueView) -> Bool {
        if view.isNull { return true }
        if values.count > Self.few { return set.contains(view.owned) }
        for value in values {
            let isSame = value.withView { $0.kindNumber == view.kindNumber && ValueOrdering.compare($0, view) == 0 }
            if isSame { return true }
        }
        return false
    }

    /// As messages list them.
    package var text: String {
        values.prefix(10).map(\.text).joined(separator: ", ") + (values.count > 10 ? ", ..." : "")
    }
}

/// The rules of a declared schema by the names of class and property.
package struct DeclaredRules: Sendable {
    private let types: [NameKey: [NameKey: PropertyRule]]

    /// nil where there are none.
    package init?(_ schema: Schema) {
        var types: [NameKey: [NameKey: PropertyRule]] = [:]
        for type in schema.objectTypes {
            var rules: [NameKey: PropertyRule] = [:]
            for property in type.properties { rules[NameKey(property.name)] = property.rule }
            if !rules.isEmpty { types[NameKey(type.name)] = rules }
        }
        guard !types.isEmpty else { return nil }
        self.types = types
    }

    package func rule(_ type: String, _ property: String) -> PropertyRule? {
        types[NameKey(type)]?[NameKey(property)]
    }

    /// Whether a class has a property that is filled by a function.
    package func hasFillers(_ type: String) -> Bool {
        types[NameKey(type)]?.values.contains { $0.filler != nil } ?? false
    }

    package func hasRules(_ type: String) -> Bool { types[NameKey(type)] != nil }
}
