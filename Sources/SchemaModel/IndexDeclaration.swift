/// An index of a class as it is declared, apart from those that a property has by itself (`Property.hasIndex`, links).
///
/// Which kinds there are, which properties they take and what their parameters mean is Storage's (`IndexKind`). A
/// declaration is what a stored schema keeps of an index, so a kind that this release does not know is kept as it is.
import MotteValues

/// A property as an ordered index has it.
package struct IndexPart: Sendable {
    package let name: String
    package let isDescending: Bool
    /// What it overlooks of texts, which it then keeps folded.
    package let folding: TextOptions

    package init(_ name: String, isDescending: Bool = false, folding: TextOptions = []) {
        self.name = name
        self.isDescending = isDescending
        self.folding = folding
    }
}

package struct IndexDeclaration: Sendable {
    /// The name of the kind.
    package var kind: String
    /// In the order in which the index has them.
    package var properties: [String]
    /// In the kind's own form.
    package var parameters: [UInt8]

    package init(kind: String, properties: [String], parameters: [UInt8] = []) {
        self.kind = kind
        self.properties = properties
        self.parameters = parameters
    }

    /// What a property that is marked as unique has.
    package static func unique(_ property: String) -> IndexDeclaration {
        .ordered([IndexPart(property)], isUnique: true)
    }

    /// One that keeps the order of its properties' values: what users declare by hand.
    package static func ordered(_ parts: [IndexPart], isUnique: Bool = false) -> IndexDeclaration {
        let isFolded = parts.contains { !$0.folding.isEmpty }
        let isPlain = !isUnique && !isFolded && !parts.contains(where: \.isDescending)
        return IndexDeclaration(
            kind: isFolded ? folded : ordered, properties: parts.map(\.name),
            parameters: isPlain
                ? [] : [isUnique ? 1 : 0] + parts.map { ($0.isDescending ? 1 : 0) | $0.folding.rawValue << 1 })
    }

    package static let ordered = "ordered"
    /// One of ordered values, of which some are texts that are folded.
    package static let folded = "folded"

    /// nil of other kinds, and of parameters that this release does not know.
    package var orderedForm: (parts: [IndexPart], isUnique: Bool)? {
        let isFolded = kind.hasSameBytes(as: Self.folded)
        guard isFolded || kind.hasSameBytes(as: Self.ordered), parameters.first ?? 0 <= 1,
            parameters.dropFirst().allSatisfy({ $0 <= (isFolded ? 7 : 1) }),
            (parameters.isEmpty && !isFolded) || parameters.count == properties.count + 1
        else { return nil }
        let parts = properties.enumerated().map { place, name in
            let bits = parameters.isEmpty ? 0 : parameters[place + 1]
            return IndexPart(name, isDescending: bits & 1 == 1, folding: TextOptions(rawValue: bits >> 1))
        }
        return (parts, parameters.first == 1)
    }

    /// The property that is unique by this.
    package var uniqueProperty: String? {
        guard properties.count == 1, declaresSame(as: .unique(properties[0])) else { return nil }
        return properties[0]
    }

    package func declaresSame(as other: IndexDeclaration) -> Bool {
        kind.hasSameBytes(as: other.kind) && parameters == other.parameters
            && properties.count == other.properties.count
            && zip(properties, other.properties).allSatisfy { $0.hasSameBytes(as: $1) }
    }

    /// For messages: `ordered index of city, age`.
    package var text: String { "\(kind) index of \(properties.joined(separator: ", "))" }
}

extension ObjectType {
    /// A unique property has an index, and an index of that kind makes its property unique: each says both.
    static func settled(
        _ properties: [Property], _ indexes: [IndexDeclaration]
    ) -> (properties: [Property], indexes: [IndexDeclaration]) {
        let known = indexes.compactMap(\.uniqueProperty)
        guard !known.isEmpty || properties.contains(where: \.isUnique) else { return (properties, indexes) }
        var (properties, indexes) = (properties, indexes)
        for index in properties.indices {
            let name = properties[index].name
            if known.contains(where: { $0.hasSameBytes(as: name) }) {
                properties[index].isUnique = true
            } else if properties[index].isUnique {
                indexes.append(.unique(name))
            }
        }
        return (properties, indexes)
    }
}
