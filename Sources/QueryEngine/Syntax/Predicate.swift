/// What a query asks, as a tree of values: what the text parses to and what typed front ends build.
///
/// Names are not looked up yet; `Binder` does that against a schema. Trees compare without regard to where in a text
/// their parts stood.
import MotteValues

package indirect enum Predicate: Sendable, Equatable {
    case constant(Bool)
    case comparison(Comparison)
    case not(Predicate)
    /// Two or more; an `and` directly inside an `and` is merged into it by the parser.
    case and([Predicate])
    case or([Predicate])

    /// Deeper trees are refused, because they are walked recursively.
    package static let deepest = 200

    package struct Comparison: Sendable, Equatable {
        package var left: Operand
        package var `operator`: Operator
        /// `[c]`: upper and lower case are the same.
        package var ignoresCase: Bool
        package var right: Operand
        package var position: SourcePosition

        package init(
            _ left: Operand, _ operator: Operator, _ right: Operand, ignoresCase: Bool = false,
            position: SourcePosition = .none
        ) {
            self.left = left
            self.operator = `operator`
            self.ignoresCase = ignoresCase
            self.right = right
            self.position = position
        }
    }

    package enum Operator: UInt8, Sendable, CaseIterable {
        case equal, notEqual, less, lessOrEqual, greater, greaterOrEqual
        case between, `in`
        case beginsWith, endsWith, contains, like

        package var text: String {
            switch self {
            case .equal: "=="
            case .notEqual: "!="
            case .less: "<"
            case .lessOrEqual: "<="
            case .greater: ">"
            case .greaterOrEqual: ">="
            case .between: "BETWEEN"
            case .in: "IN"
            case .beginsWith: "BEGINSWITH"
            case .endsWith: "ENDSWITH"
            case .contains: "CONTAINS"
            case .like: "LIKE"
            }
        }
    }

    /// How many elements of a collection must match.
    package enum Quantifier: String, Sendable, CaseIterable {
        case any = "ANY", all = "ALL", none = "NONE"
    }

    package enum CollectionOperator: String, Sendable, CaseIterable {
        case count, min, max, sum, avg
    }

    package struct Path: Sendable, Equatable {
        package var quantifier: Quantifier?
        /// Empty for `SELF`.
        package var names: [Name]
        /// Into the collection or the mixed value at the end: `map['key']`, `any[0]['key']`, `any[*]`.
        package var subscripts: [Subscript] = []
        /// `.@keys`, `.@values` and `.@type` behind that.
        package var aspect: Aspect?
        /// `list.@sum.price` and `list.price.@sum` are the same.
        package var collectionOperator: CollectionOperator?
        package var position: SourcePosition

        package init(
            _ names: [String], quantifier: Quantifier? = nil, collectionOperator: CollectionOperator? = nil,
            position: SourcePosition = .none
        ) {
            self.init(
                names: names.map { Name($0, position: .none) }, quantifier: quantifier,
                collectionOperator: collectionOperator, position: position)
        }

        init(
            names: [Name], quantifier: Quantifier?, collectionOperator: CollectionOperator?, position: SourcePosition
        ) {
            self.names = names
            self.quantifier = quantifier
            self.collectionOperator = collectionOperator
            self.position = position
        }
    }

    package enum Subscript: Sendable, Equatable {
        case key(Name)
        /// Negative ones count from the end: -1 is the last.
        case index(Int)
        /// A key or an index that is given later.
        case argument(Int, SourcePosition = .none)
        /// Every element or value.
        case all
    }

    package enum Aspect: String, Sendable, CaseIterable {
        case keys, values, type
    }

    /// A property's name as it stood in the text; equal by its bytes.
    package struct Name: Sendable, Equatable {
        package let text: String
        package let position: SourcePosition

        package init(_ text: String, position: SourcePosition) {
            self.text = text
            self.position = position
        }

        package static func == (left: Name, right: Name) -> Bool { left.text.utf8.elementsEqual(right.text.utf8) }
    }

    package enum Operand: Sendable, Equatable {
        case path(Path)
        case constant(Value, SourcePosition = .none)
        /// `$0`; `%@` has been numbered.
        case argument(Int, SourcePosition = .none)
        /// `{1, 2, $0}`: constants and arguments.
        case list([Operand], SourcePosition = .none)

        package var position: SourcePosition {
            switch self {
            case .path(let path): path.position
            case .constant(_, let position), .argument(_, let position), .list(_, let position): position
            }
        }
    }
}
