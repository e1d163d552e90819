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

    package init(start: Start = .plain, allowed: AllowedValues? = nil, filler: (any PropertyFiller)? = nil) {
        self.start = start
        self.filler = filler
        self.allowed = allowed
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
    private enum Form: Sendable {
        case few([Value])
        case many([Value], Set<Value>)
        case range(least: Value, most: Value)
        case midnights
    }

    private let form: Form
    private static let most = 24

    package init(_ values: [Value]) {
        form = values.count > Self.most ? .many(values, Set(values)) : .few(values)
    }

    /// Both included, which have one kind; nil where there is none between them.
    package init?(from least: Value, to most: Value) {
        guard Self.order(least, most).map({ $0 <= 0 }) == true else { return nil }
        form = .range(least: least, most: most)
    }

    private init(_ form: Form) { self.form = form }

    /// Points in time that begin a day in UTC: dates.
    package static let midnights = AllowedValues(.midnights)

    package func contains(_ view: ValueView) -> Bool {
        if view.isNull { return true }
        switch form {
        case .few(let values): return values.contains { Self.order($0, view) == 0 }
        case .many(_, let set): return set.contains(view.owned)
        case .range(let least, let most):
            return Self.order(least, view).map { $0 <= 0 } == true && Self.order(most, view).map { $0 >= 0 } == true
        case .midnights:
            guard case .timestamp(let time) = view.owned else { return false }
            return time.nanoseconds == 0 && time.seconds % 86_400 == 0
        }
    }

    /// As messages list them.
    package var text: String {
        switch form {
        case .few(let values), .many(let values, _):
            values.prefix(10).map(\.text).joined(separator: ", ") + (values.count > 10 ? ", ..." : "")
        case .range(let least, let most): "\(least.text) to \(most.text)"
        case .midnights: "dates: midnights in UTC"
        }
    }

    /// nil: of different kinds.
    private static func order(_ value: Value, _ other: Value) -> Int? { other.withView { order(value, $0) } }

    private static func order(_ value: Value, _ view: ValueView) -> Int? {
        value.withView { $0.kindNumber == view.kindNumber ? ValueOrdering.compare($0, view) : nil }
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
