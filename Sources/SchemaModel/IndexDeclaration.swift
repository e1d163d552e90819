/// An index of a class as it is declared, apart from those that a property has by itself (`Property.hasIndex`, links).
///
/// Which kinds there are, which properties they take and what their parameters mean is Storage's (`IndexKind`). A
/// declaration is what a stored schema keeps of an index, so a kind that this release does not know is kept as it is.
import MotteValues

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

    package func declaresSame(as other: IndexDeclaration) -> Bool {
        kind.hasSameBytes(as: other.kind) && parameters == other.parameters
            && properties.count == other.properties.count
            && zip(properties, other.properties).allSatisfy { $0.hasSameBytes(as: $1) }
    }

    /// For messages: `ordered index of city, age`.
    package var text: String { "\(kind) index of \(properties.joined(separator: ", "))" }
}
