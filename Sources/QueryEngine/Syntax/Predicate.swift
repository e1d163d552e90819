/// What a query asks, as a tree of values: what the text parses to and what typed front ends build.
///
/// Names are not looked up yet; `Binder` does that against a schema. Trees compare without regard to where in a text
/// their parts stood, and `parse(describe(x)) == x`. What typed front ends need, and what it is as text:
///
///     Comparison(.path(Path(["age"])), .greater, .constant(.int(5)))           age > 5
///     Comparison(.path(Path(["a"])), .lessOrEqual, .path(Path(["b", "c"])))    a <= b.c
///     Comparison(.path(Path(["name"])), .contains, .path(Path(["nick"])),
///                options: [.ignoresCase, .ignoresDiacritics])                  name CONTAINS[cd] nick
///     Comparison(.path(Path(["age"])), .in, .list([.constant(.int(1))]))       age IN {1}
///     Path(["dogs", "age"], quantifier: .any)                                  ANY dogs.age; also .all and .none
///     Path(["dogs", "age"], collectionOperator: .sum)                          dogs.age.@sum; .count behind the list
///     Path(["map"], subscripts: [.key(.init("k", position: .none))])           map["k"]
///     Path(["map"], quantifier: .any, aspect: .keys)                           ANY map.@keys; .values likewise
///     Path(["any"], quantifier: .any, subscripts: [.index(0), .all])           ANY any[0][*]
///     path.functions = [.trim, .length]                                        length(trim(name))
///     .subquery(Subquery(Path(["dogs"]), "x", inner))                          SUBQUERY(dogs, $x, inner).@count, where
///     Path(["age"], variable: "x")                                             $x.age is a path of inner
///     .arithmetic(Arithmetic(.path(Path(["a"])), .add, .constant(.int(1))))    a + 1
///
/// A bool property by itself is compared with `.constant(.bool(true))`. Clauses are `Ordering`, both are `ParsedQuery`.
import MotteColumns
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
        /// `[c]`, `[d]`, `[cd]`: what texts may differ in.
        package var options: TextOptions
        package var right: Operand
        package var position: SourcePosition

        package init(
            _ left: Operand, _ operator: Operator, _ right: Operand, options: TextOptions,
            position: SourcePosition = .none
        ) {
            self.left = left
            self.operator = `operator`
            self.options = options
            self.right = right
            self.position = position
        }

        package init(
            _ left: Operand, _ operator: Operator, _ right: Operand, ignoresCase: Bool = false,
            position: SourcePosition = .none
        ) {
            self.init(left, `operator`, right, options: ignoresCase ? .ignoresCase : [], position: position)
        }
    }

    package enum Operator: UInt8, Sendable, CaseIterable {
        case equal, notEqual, less, lessOrEqual, greater, greaterOrEqual
        case between, `in`
        case beginsWith, endsWith, contains, like, matches
        case geoWithin

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
            case .matches: "MATCHES"
            case .geoWithin: "GEOWITHIN"
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
        /// `$x` of the SUBQUERY around it, without the sign: the path starts at the element.
        package var variable: String?
        /// Empty for `SELF`.
        package var names: [Name]
        /// Into the collection or the mixed value at the end: `map['key']`, `any[0]['key']`, `any[*]`.
        package var subscripts: [Subscript] = []
        /// `.@keys`, `.@values` and `.@type` behind that.
        package var aspect: Aspect?
        /// `list.@sum.price` and `list.price.@sum` are the same.
        package var collectionOperator: CollectionOperator?
        /// What is computed of the text at the end, the innermost first.
        package var functions: [TextFunction] = []
        package var position: SourcePosition

        package init(
            _ names: [String], quantifier: Quantifier? = nil, variable: String? = nil, subscripts: [Subscript] = [],
            aspect: Aspect? = nil, collectionOperator: CollectionOperator? = nil, position: SourcePosition = .none
        ) {
            self.init(
                names: names.map { Name($0, position: .none) }, quantifier: quantifier,
                collectionOperator: collectionOperator, position: position)
            self.variable = variable
            self.subscripts = subscripts
            self.aspect = aspect
        }

        /// Where the path is a name and nothing else.
        package var onlyName: String? {
            guard names.count == 1, quantifier == nil, variable == nil, subscripts.isEmpty, aspect == nil,
                collectionOperator == nil, functions.isEmpty
            else { return nil }
            return names[0].text
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

    /// `SUBQUERY(collection, $variable, predicate).@count`: how many elements pass. Paths in the predicate start with
    /// the variable.
    package struct Subquery: Sendable, Equatable {
        package var collection: Path
        /// Without the sign.
        package var variable: String
        package var predicate: Predicate
        package var position: SourcePosition

        package init(
            _ collection: Path, _ variable: String, _ predicate: Predicate, position: SourcePosition = .none
        ) {
            self.collection = collection
            self.variable = variable
            self.predicate = predicate
            self.position = position
        }
    }

    package enum Operand: Sendable, Equatable {
        case path(Path)
        case subquery(Subquery)
        /// For `geoWithin`; a text can be one too.
        case shape(GeoShape, SourcePosition = .none)
        case constant(Value, SourcePosition = .none)
        /// `$0`; `%@` has been numbered.
        case argument(Int, SourcePosition = .none)
        /// `{1, 2, $0}`: constants and arguments, and what is computed from them.
        case list([Operand], SourcePosition = .none)
        /// `price * quantity + 1`
        indirect case arithmetic(Arithmetic)
        /// `now()`: when the query is bound.
        case now(SourcePosition = .none)

        package var position: SourcePosition {
            switch self {
            case .path(let path): path.position
            case .subquery(let subquery): subquery.position
            case .arithmetic(let arithmetic): arithmetic.position
            case .now(let position): position
            case .constant(_, let position), .argument(_, let position), .list(_, let position),
                .shape(_, let position):
                position
            }
        }
    }
}
