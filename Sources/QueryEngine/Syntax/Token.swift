/// The kinds of word in query text, and where each stood.
import MotteValues

struct Token: Sendable {
    enum Kind: Sendable, Equatable {
        /// A word in backquotes is never a keyword.
        case name(String, isQuoted: Bool)
        case constant(Value)
        /// `$3`, and `%@`, which takes the next number.
        case argument(Int)
        /// `$x`, without the sign.
        case variable(String)
        /// `@count` and the like, lower case, without the sign.
        case collectionOperator(String)
        case comparison(Predicate.Operator)
        case and, or, not
        case openParenthesis, closeParenthesis, openBrace, closeBrace, openBracket, closeBracket
        case dot, comma
        /// `*` also stands for every element of a collection.
        case star, slash, plus, minus
        case end
    }

    let kind: Kind
    /// UTF-8 bytes of the text.
    let start: Int
    let end: Int

    var position: SourcePosition { SourcePosition(start) }
}

/// Words with a meaning of their own, in any case of letters. As names they stand in backquotes.
enum Keyword: String, Sendable, CaseIterable {
    case and, or, not
    case between, `in`, beginswith, endswith, contains, like, matches, geowithin
    case truepredicate, falsepredicate
    case anyOf = "any", someOf = "some", allOf = "all", noneOf = "none"
    case `true`, `false`, yes, no, null, `nil`
    case inf, infinity, nan
    case sort, distinct, limit, offset, group, subquery
    case `self`

    private static let byWord = Dictionary(uniqueKeysWithValues: allCases.map { ($0.rawValue, $0) })
    private static let longest = allCases.map(\.rawValue.utf8.count).max() ?? 0

    /// Whether the word, as a name or a keyword, stands for a value.
    static func endsValue(_ word: String) -> Bool {
        switch named(word) {
        case .true, .false, .yes, .no, .null, .nil, .inf, .infinity, .nan, .self, nil: true
        case .sort, .distinct, .limit, .offset, .subquery: true
        default: false
        }
    }

    static func named(_ word: String) -> Keyword? {
        guard word.utf8.count <= longest, word.utf8.allSatisfy({ $0 < 0x80 }) else { return nil }
        return byWord[word.lowercased()]
    }
}
