/// Tokens to a predicate, by precedence climbing.
///
///     query      := [disjunction] {clause} [groups]            clauses: Parser+Ordering, groups: GroupClause
///     or-, and-  := operand {OR operand}, {AND operand}        AND binds tighter
///     unary      := NOT unary | '(' disjunction ')' | TRUEPREDICATE | FALSEPREDICATE | comparison
///     comparison := sum [operator sum]                         a path alone means == true
///     sum        := operands with + - * / and parentheses: Parser+Expressions
///     operand    := [ANY | SOME | ALL | NONE] path | literal | argument | '{' sum, ... '}' | subquery
///     path       := SELF | (name | $x) {'.' name | '[' key, index, '*' ']' | '.@' operator}
///     subquery   := SUBQUERY '(' path ',' $x ',' disjunction ')' '.@count'
import MotteColumns
import MotteValues

struct Parser {
    let source: QuerySource
    private let tokens: [Token]
    /// Of each parenthesis that opens, the one that closes it; of those that nothing closes, the end.
    private let closing: [Int]
    /// How many arguments are written as numbers; those with names come behind them.
    let numberedCount: Int
    var namedArguments: [Predicate.Name] = []
    /// Of the SUBQUERYs around.
    var variables: [String] = []
    private var index = 0
    private var depth = 0
    var argumentCount = 0
    /// Of arithmetic, in the comparison that is being read.
    var operatorCount = 0
    /// In HAVING, whose paths are columns of these.
    var groupsAround: Grouping?

    init(_ source: QuerySource) throws(DatabaseError) {
        self.source = source
        tokens = try Lexer.tokens(source)
        closing = Self.closing(tokens)
        numberedCount = tokens.reduce(0) { most, token in
            if case .argument(let number) = token.kind { max(most, number + 1) } else { most }
        }
    }

    static func parse(_ text: String) throws(DatabaseError) -> ParsedQuery {
        var parser = try Parser(QuerySource(text))
        return try parser.query()
    }

    private mutating func query() throws(DatabaseError) -> ParsedQuery {
        let isBare = token.kind == .end || startsClause || startsGroups
        let predicate = isBare ? Predicate.constant(true) : try disjunction()
        let ordering = try clauses()
        let grouping = startsGroups ? try groupClause() : nil
        guard token.kind == .end else {
            throw unexpected("AND, OR, SORT, DISTINCT, LIMIT, OFFSET, GROUP or the end of the query")
        }
        return ParsedQuery(
            predicate: predicate, hasCondition: !isBare, ordering: ordering, grouping: grouping, source: source,
            argumentCount: namedArguments.isEmpty ? argumentCount : numberedCount + namedArguments.count,
            namedArguments: namedArguments)
    }

    // MARK: Tokens

    private static func closing(_ tokens: [Token]) -> [Int] {
        var closing = [Int](repeating: tokens.count - 1, count: tokens.count)
        var open: [Int] = []
        for (index, token) in tokens.enumerated() {
            if token.kind == .openParenthesis { open.append(index) }
            if token.kind == .closeParenthesis, let start = open.popLast() { closing[start] = index }
        }
        return closing
    }

    /// What follows the parentheses that open here, and what follows that.
    var behindParentheses: (Token, Token) {
        let next = closing[index] + 1
        return (tokens[min(next, tokens.count - 1)], tokens[min(next + 1, tokens.count - 1)])
    }

    /// The last token is `.end` and is never passed.
    var token: Token { tokens[index] }
    var following: Token { peek(1) }

    func peek(_ ahead: Int) -> Token { tokens[min(index + ahead, tokens.count - 1)] }

    mutating func advance() {
        if index < tokens.count - 1 { index += 1 }
    }

    mutating func take(_ kind: Token.Kind) -> Bool {
        guard token.kind == kind else { return false }
        advance()
        return true
    }

    mutating func take(keyword: Keyword) -> Bool {
        guard self.keyword == keyword else { return false }
        advance()
        return true
    }

    mutating func expect(_ kind: Token.Kind, _ what: String) throws(DatabaseError) {
        guard take(kind) else { throw unexpected(what) }
    }

    /// The keyword the current token is.
    var keyword: Keyword? {
        guard case .name(let word, isQuoted: false) = token.kind else { return nil }
        return Keyword.named(word)
    }

    var startsClause: Bool {
        guard following.kind == .openParenthesis else { return false }
        switch keyword {
        case .sort, .limit, .offset, .distinct: return true
        default: return false
        }
    }

    func failure(_ message: String, _ code: ErrorCode = .querySyntax) -> DatabaseError {
        source.error(code, message, at: token.position)
    }

    func unexpected(_ wanted: String) -> DatabaseError {
        failure(token.kind == .end ? "the query ends where \(wanted) is expected" : "expected \(wanted) here")
    }

    mutating func nested<Result>(
        _ body: (inout Parser) throws(DatabaseError) -> Result
    ) throws(DatabaseError) -> Result {
        depth += 1
        defer { depth -= 1 }
        guard depth <= Predicate.deepest else {
            throw failure("the query is nested more than \(Predicate.deepest) deep")
        }
        guard StackGuard.hasRoom() else { throw Predicate.tooDeep() }
        return try body(&self)
    }

    // MARK: Logic

    mutating func disjunction() throws(DatabaseError) -> Predicate {
        var parts = [try conjunction()]
        while take(.or) { parts.append(try conjunction()) }
        guard parts.count > 1 else { return parts[0] }
        return .or(parts.flatMap { if case .or(let inner) = $0 { inner } else { [$0] } })
    }

    private mutating func conjunction() throws(DatabaseError) -> Predicate {
        var parts = [try unary()]
        while take(.and) { parts.append(try unary()) }
        guard parts.count > 1 else { return parts[0] }
        return .and(parts.flatMap { if case .and(let inner) = $0 { inner } else { [$0] } })
    }

    private mutating func unary() throws(DatabaseError) -> Predicate {
        if take(.not) { return .not(try nested { parser throws(DatabaseError) in try parser.unary() }) }
        if token.kind == .openParenthesis, !opensSum {
            advance()
            let inner = try nested { parser throws(DatabaseError) in try parser.disjunction() }
            try expect(.closeParenthesis, "')'")
            return inner
        }
        if take(keyword: .truepredicate) { return .constant(true) }
        if take(keyword: .falsepredicate) { return .constant(false) }
        return try comparison()
    }

    // MARK: Comparisons

    private mutating func comparison() throws(DatabaseError) -> Predicate {
        // Of this comparison; another one may be around its SUBQUERY.
        let outerCount = operatorCount
        operatorCount = 0
        defer { operatorCount = outerCount }
        let left = try sum()
        let position = token.position
        let isNegated = token.kind == .not && Self.isWordOperator(following)
        if isNegated { advance() }
        guard let sign = takeOperator() else {
            if isNegated { throw unexpected("IN, BETWEEN, LIKE, CONTAINS, BEGINSWITH, ENDSWITH or GEOWITHIN") }
            return try alone(left)
        }
        let options = try options(sign)
        let right: Predicate.Operand
        switch sign {
        case .between: right = try bounds()
        case .geoWithin where startsShape:
            let position = token.position
            right = .shape(try shape(), position)
        default: right = try sum()
        }
        let comparison = Predicate.comparison(
            .init(left, sign, right, options: options, position: position))
        return isNegated ? .not(comparison) : comparison
    }

    /// A path by itself says that it is true; a constant by itself is what it says.
    private func alone(_ operand: Predicate.Operand) throws(DatabaseError) -> Predicate {
        switch operand {
        case .path(let path):
            return .comparison(.init(operand, .equal, .constant(.bool(true)), position: path.position))
        case .constant(.bool(let value), _): return .constant(value)
        case .constant, .argument, .list, .subquery, .shape, .arithmetic, .now:
            throw unexpected("a comparison such as == or CONTAINS")
        }
    }

    static func isWordOperator(_ token: Token) -> Bool {
        guard case .name(let word, isQuoted: false) = token.kind else { return false }
        return Keyword.named(word).flatMap(wordOperator) != nil
    }

    private static func wordOperator(_ keyword: Keyword) -> Predicate.Operator? {
        switch keyword {
        case .between: .between
        case .in: .in
        case .beginswith: .beginsWith
        case .endswith: .endsWith
        case .contains: .contains
        case .like: .like
        case .matches: .matches
        case .geowithin: .geoWithin
        default: nil
        }
    }

    mutating func takeOperator() -> Predicate.Operator? {
        if case .comparison(let sign) = token.kind {
            advance()
            return sign
        }
        guard let keyword, let sign = Self.wordOperator(keyword) else { return nil }
        advance()
        return sign
    }

    /// `[c]`, `[d]` and `[cd]`.
    mutating func options(_ sign: Predicate.Operator) throws(DatabaseError) -> TextOptions {
        guard token.kind == .openBracket else { return [] }
        let open = token
        advance()
        guard case .name(let word, isQuoted: false) = token.kind else { throw unexpected("the option c, d or cd") }
        let options: TextOptions
        switch word.lowercased() {
        case "c": options = .ignoresCase
        case "d": options = .ignoresDiacritics
        case "cd", "dc": options = [.ignoresCase, .ignoresDiacritics]
        default: throw failure("the options are [c], which ignores case, [d], which ignores diacritics, and [cd]")
        }
        advance()
        try expect(.closeBracket, "']'")
        switch sign {
        case .equal, .notEqual, .beginsWith, .endsWith, .contains, .like, .in: return options
        case .matches where options == .ignoresCase: return options
        case .matches:
            throw source.error(.queryInvalid, "MATCHES cannot ignore diacritics", at: open.position)
        case .less, .lessOrEqual, .greater, .greaterOrEqual, .between, .geoWithin:
            throw source.error(.queryInvalid, "\(sign.text) cannot ignore case or diacritics", at: open.position)
        }
    }

    // MARK: Operands

    mutating func operand() throws(DatabaseError) -> Predicate.Operand {
        let start = token
        switch start.kind {
        case .constant(let value):
            advance()
            return .constant(value, start.position)
        case .argument,
            .variable where following.kind != .dot && isArgument(start):
            guard let number = try argument(start) else { throw unexpected("an argument") }
            advance()
            return .argument(number, start.position)
        case .openBrace: return .list(try elements(), start.position)
        case .name, .variable: return try wordOperand()
        default: throw unexpected("a property, a value or an argument")
        }
    }

    private mutating func wordOperand() throws(DatabaseError) -> Predicate.Operand {
        let position = token.position
        if groupsAround != nil, Self.literal(keyword) == nil { return try groupColumn() }
        if keyword == .subquery, following.kind == .openParenthesis { return .subquery(try subquery()) }
        if let value = Self.literal(keyword), following.kind != .dot {
            advance()
            return .constant(value, position)
        }
        var quantifier: Predicate.Quantifier?
        switch keyword {
        case .anyOf, .someOf: quantifier = .any
        case .allOf: quantifier = .all
        case .noneOf: quantifier = Predicate.Quantifier.none
        default: break
        }
        // A property may be called like a quantifier: then no name follows.
        if quantifier != nil {
            switch following.kind {
            case .name where !Self.isWordOperator(following): advance()
            case .variable: advance()
            default: quantifier = nil
            }
        }
        return .path(try appliedPath(quantifier, position))
    }

    var textFunction: TextFunction? {
        guard following.kind == .openParenthesis, case .name(let word, isQuoted: false) = token.kind else { return nil }
        return TextFunction.named(word)
    }

    /// A path, or functions of one.
    private mutating func appliedPath(
        _ quantifier: Predicate.Quantifier?, _ position: SourcePosition
    ) throws(DatabaseError) -> Predicate.Path {
        guard var function = textFunction else { return try path(quantifier, position) }
        let start = token
        advance()
        advance()
        var path = try nested { parser throws(DatabaseError) in try parser.appliedPath(quantifier, position) }
        if case .part = function {
            try expect(.comma, "',' and the number of the first character")
            let first = try place()
            function = .part(start: first, count: take(.comma) ? try place(isCount: true) : nil)
        }
        try expect(.closeParenthesis, "')'")
        guard path.functions.last != .length else {
            throw source.error(
                .queryInvalid, "\(function.word) is for texts, and length gives a number", at: start.position)
        }
        path.functions.append(function)
        return path
    }

    private mutating func place(isCount: Bool = false) throws(DatabaseError) -> Int {
        guard case .constant(.int(let number)) = token.kind, number >= 0 || !isCount, let place = Int(exactly: number)
        else { throw unexpected(isCount ? "a number of characters" : "the number of the first character") }
        advance()
        return place
    }

    static func literal(_ keyword: Keyword?) -> Value? {
        switch keyword {
        case .true, .yes: .bool(true)
        case .false, .no: .bool(false)
        case .null, .nil: .null
        case .nan: .double(.nan)
        case .inf, .infinity: .double(.infinity)
        default: nil
        }
    }

    mutating func path(
        _ quantifier: Predicate.Quantifier? = nil, _ position: SourcePosition? = nil
    ) throws(DatabaseError) -> Predicate.Path {
        var path = Predicate.Path(
            names: [], quantifier: quantifier, collectionOperator: nil, position: position ?? token.position)
        if case .variable(let name) = token.kind {
            path.variable = name
            advance()
        } else if keyword == .self {
            advance()
        } else {
            guard case .name(let word, _) = token.kind else { throw unexpected("a property") }
            if textFunction != nil { throw failure("functions such as \(word) stand in conditions only") }
            path.names.append(.init(word, position: token.position))
            advance()
        }
        while true {
            if take(.dot) {
                try step(&path)
            } else if token.kind == .openBracket, !path.names.isEmpty, path.aspect == nil,
                path.collectionOperator == nil
            {
                advance()
                path.subscripts.append(try subscripted())
                try expect(.closeBracket, "']'")
            } else {
                return path
            }
        }
    }

    /// `SUBQUERY(path, $x, predicate).@count`
    private mutating func subquery() throws(DatabaseError) -> Predicate.Subquery {
        let position = token.position
        advance()
        advance()
        let collection = try path()
        try expect(.comma, "',' and a variable such as $x")
        guard case .variable(let variable) = token.kind else { throw unexpected("a variable such as $x") }
        advance()
        try expect(.comma, "',' and a condition")
        variables.append(variable)
        let predicate = try nested { parser throws(DatabaseError) in try parser.disjunction() }
        variables.removeLast()
        try expect(.closeParenthesis, "')'")
        guard take(.dot), take(.collectionOperator("count")) || take(.collectionOperator("size")) else {
            throw unexpected("'.@count', which is all that SUBQUERY gives,")
        }
        return Predicate.Subquery(collection, variable, predicate, position: position)
    }

    private mutating func subscripted() throws(DatabaseError) -> Predicate.Subscript {
        let start = token
        defer { advance() }
        switch start.kind {
        case .constant(.string(let key)): return .key(.init(key, position: start.position))
        case .constant(.int(let index)):
            guard let index = Int(exactly: index) else { throw failure("this index does not fit") }
            return .index(index)
        case .argument, .variable:
            guard let number = try argument(start) else { break }
            return .argument(number, start.position)
        case .star: return .all
        case .name(let word, isQuoted: false) where word.lowercased() == "first": return .index(0)
        case .name(let word, isQuoted: false) where word.lowercased() == "last": return .index(-1)
        default: break
        }
        throw unexpected("a key in quotes, an index, FIRST, LAST, * or an argument")
    }

    private mutating func step(_ path: inout Predicate.Path) throws(DatabaseError) {
        if path.aspect != nil, token.kind != .collectionOperator("count") {
            throw failure("only @count can follow @\(path.aspect?.rawValue ?? "")")
        }
        if !path.subscripts.isEmpty {
            guard case .collectionOperator = token.kind else {
                throw failure("a path cannot go on behind a subscript yet", .unsupported)
            }
        }
        switch token.kind {
        case .name(let word, _): path.names.append(.init(word, position: token.position))
        // Words that are operators elsewhere are plain names after a dot.
        case .and: path.names.append(.init("and", position: token.position))
        case .or: path.names.append(.init("or", position: token.position))
        case .not: path.names.append(.init("not", position: token.position))
        case .collectionOperator(let word):
            if let aspect = Self.aspect(word) {
                guard path.collectionOperator == nil else { throw failure("@\(word) stands before other operators") }
                path.aspect = aspect
                break
            }
            guard path.collectionOperator == nil else { throw failure("a path has at most one operator such as @sum") }
            let known = Predicate.CollectionOperator(rawValue: word == "size" ? "count" : word)
            guard let known else {
                throw failure("the operators are @count, @min, @max, @sum, @avg, @keys, @values and @type")
            }
            if known == .count, following.kind == .dot { throw failure("nothing can follow @count") }
            path.collectionOperator = known
        default: throw unexpected("a property or an operator such as @count")
        }
        advance()
    }

    private static func aspect(_ word: String) -> Predicate.Aspect? {
        switch word {
        case "keys", "allkeys": .keys
        case "values", "allvalues": .values
        case "type": .type
        default: nil
        }
    }
}
