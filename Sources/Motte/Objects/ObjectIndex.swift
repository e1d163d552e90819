/// An index that a class declares beside those of single properties:
///
///     override class func indexes() -> [ObjectIndex] {
///         [ObjectIndex("city", .descending("age")), .unique("country", "code")]
///     }
import MotteSchemaModel
import MotteValues

/// An ordered index of one property or several.
public struct ObjectIndex: Sendable {
    /// A property as an index has it; a text is the name of one whose values ascend.
    public struct Part: Sendable, ExpressibleByStringLiteral {
        let name: String
        let isDescending: Bool
        let folding: TextOptions

        private init(name: String, isDescending: Bool, folding: TextOptions = []) {
            self.name = name
            self.isDescending = isDescending
            self.folding = folding
        }

        /// The property with this name, its values ascending.
        public init(stringLiteral name: String) { self.init(name: name, isDescending: false) }
        /// The property with this name, its values ascending; nil first.
        public static func ascending(_ name: String) -> Part { Part(name: name, isDescending: false) }
        /// The property with this name, its values descending; nil last.
        public static func descending(_ name: String) -> Part { Part(name: name, isDescending: true) }
        /// The string property with this name, its texts without their case, and without diacritics if asked: for
        /// comparisons with `[c]`, or with `[cd]`. Such an index is not unique.
        public static func folded(_ name: String, diacritics: Bool = false) -> Part {
            Part(
                name: name, isDescending: false,
                folding: diacritics ? [.ignoresCase, .ignoresDiacritics] : .ignoresCase)
        }
    }

    let parts: [Part]
    let isUnique: Bool

    private init(parts: [Part], isUnique: Bool) {
        self.parts = parts
        self.isUnique = isUnique
    }

    /// An index of these properties, in this order.
    public init(_ parts: Part...) { self.init(parts: parts, isUnique: false) }
    /// One of which no two objects have the same values; nil is equal to nothing.
    public static func unique(_ parts: Part...) -> ObjectIndex { ObjectIndex(parts: parts, isUnique: true) }

    func declaration(_ columnName: (String) -> String) -> IndexDeclaration {
        .ordered(
            parts.map {
                IndexPart(columnName($0.name), isDescending: $0.isDescending, folding: $0.folding)
            }, isUnique: isUnique)
    }
}
