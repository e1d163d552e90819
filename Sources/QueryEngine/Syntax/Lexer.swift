/// Query text to tokens.
///
/// Works on UTF-8 bytes. Every byte beyond ASCII counts as a letter, so names and strings may hold any character.
/// Literals: `12`, `-1.5e3`, `+inf`, `7d` (a week's seconds), `'text'`, `"text"`, `X'00ff'` (data), times (see
/// `TimeLiteral`), `T12:500` (a timestamp as it is printed), `decimal(1.50)`, `oid(507f...)`, `uuid(123e4567-...)`,
/// `O3:17` (the object with key 17 of table 3, as it is printed; people pass objects as arguments).
///
/// A sign belongs to the number behind it, except behind a value: `a -1` and `a - 1` are differences.
import MotteValues

struct Lexer {
    private let source: QuerySource
    private let bytes: [UInt8]
    private var position = 0
    private var nextPlaceholder = 0
    private var usesNumbers = false
    private var usesPlaceholders = false
    /// The kind of the token before.
    private var before = Token.Kind.end
    private var isBehindValue = false
    /// Whether the last bracket opened behind a value, as subscripts do and options such as `[c]` do not.
    private var isSubscript = false

    private init(_ source: QuerySource) {
        self.source = source
        bytes = Array(source.text.utf8)
    }

    /// The tokens of the whole text, `.end` last.
    static func tokens(_ source: QuerySource) throws(DatabaseError) -> [Token] {
        var lexer = Lexer(source)
        var tokens: [Token] = []
        while true {
            let token = try lexer.next()
            tokens.append(token)
            if token.kind == .end { return tokens }
        }
    }

    private func peek(_ ahead: Int = 0) -> UInt8? {
        position + ahead < bytes.count ? bytes[position + ahead] : nil
    }

    private func failure(_ message: String, at offset: Int) -> DatabaseError {
        source.error(.querySyntax, message, at: SourcePosition(offset))
    }

    private mutating func next() throws(DatabaseError) -> Token {
        while let byte = peek(), byte == 0x20 || (byte >= 0x09 && byte <= 0x0D) { position += 1 }
        let start = position
        let kind = try scan()
        if kind == .openBracket { isSubscript = isBehindValue }
        isBehindValue = endsValue(kind)
        before = kind
        return Token(kind: kind, start: start, end: position)
    }

    /// Whether a sign behind the token is an operator.
    private func endsValue(_ kind: Token.Kind) -> Bool {
        switch kind {
        case .constant, .argument, .variable, .collectionOperator, .closeParenthesis, .closeBrace: return true
        case .closeBracket: return isSubscript
        case .name(let word, let isQuoted): return isQuoted || before == .dot || Keyword.endsValue(word)
        case .and, .or, .not: return before == .dot
        default: return false
        }
    }

    private mutating func scan() throws(DatabaseError) -> Token.Kind {
        guard let byte = peek() else { return .end }
        if let kind = symbol(byte) { return kind }
        switch byte {
        case UInt8(ascii: "'"), UInt8(ascii: "\""): return .constant(.string(try quoted()))
        case UInt8(ascii: "`"):
            let start = position
            let name = try quoted()
            guard !name.isEmpty else { throw failure("a name in backquotes is empty", at: start) }
            return .name(name, isQuoted: true)
        case UInt8(ascii: "$"), UInt8(ascii: "%"): return try argument(byte)
        case UInt8(ascii: "@"): return try collectionOperator()
        case UInt8(ascii: "+"), UInt8(ascii: "-"): return try sign(byte)
        case UInt8(ascii: "."): return try dot()
        default: break
        }
        if Self.isDigit(byte) {
            if let time = try time() { return .constant(time) }
            return .constant(try number())
        }
        if Self.isWordByte(byte) { return try word() }
        throw failure("this character means nothing here", at: position)
    }

    /// The fixed signs, longest first.
    private mutating func symbol(_ byte: UInt8) -> Token.Kind? {
        func take(_ count: Int, _ kind: Token.Kind) -> Token.Kind {
            position += count
            return kind
        }
        let second = peek(1)
        let equals = UInt8(ascii: "=")
        switch byte {
        case equals:
            // Two of them are written the other way round, too.
            if second == UInt8(ascii: ">") { return take(2, .comparison(.greaterOrEqual)) }
            if second == UInt8(ascii: "<") { return take(2, .comparison(.lessOrEqual)) }
            return take(second == equals ? 2 : 1, .comparison(.equal))
        case UInt8(ascii: "!"): return second == equals ? take(2, .comparison(.notEqual)) : take(1, .not)
        case UInt8(ascii: "<"):
            if second == equals { return take(2, .comparison(.lessOrEqual)) }
            return second == UInt8(ascii: ">") ? take(2, .comparison(.notEqual)) : take(1, .comparison(.less))
        case UInt8(ascii: ">"):
            return second == equals ? take(2, .comparison(.greaterOrEqual)) : take(1, .comparison(.greater))
        case UInt8(ascii: "&") where second == byte: return take(2, .and)
        case UInt8(ascii: "|") where second == byte: return take(2, .or)
        case UInt8(ascii: "("): return take(1, .openParenthesis)
        case UInt8(ascii: ")"): return take(1, .closeParenthesis)
        case UInt8(ascii: "{"): return take(1, .openBrace)
        case UInt8(ascii: "}"): return take(1, .closeBrace)
        case UInt8(ascii: "["): return take(1, .openBracket)
        case UInt8(ascii: "]"): return take(1, .closeBracket)
        case UInt8(ascii: ","): return take(1, .comma)
        case UInt8(ascii: "*"): return take(1, .star)
        case UInt8(ascii: "/"): return take(1, .slash)
        default: return nil
        }
    }

    private mutating func dot() throws(DatabaseError) -> Token.Kind {
        if let digit = peek(1), Self.isDigit(digit) { throw failure("a number starts with a digit: 0.5", at: position) }
        position += 1
        return .dot
    }

    // MARK: Words

    private mutating func word() throws(DatabaseError) -> Token.Kind {
        let start = position
        while let byte = peek(), Self.isWordByte(byte) { position += 1 }
        let word = String(decoding: bytes[start ..< position], as: UTF8.self)
        if let literal = try prefixedLiteral(start) { return .constant(literal) }
        switch Keyword.named(word) {
        case .and: return .and
        case .or: return .or
        case .not: return .not
        case nil:
            if peek() == UInt8(ascii: "("), let literal = try namedLiteral(word, start) { return .constant(literal) }
            return .name(word, isQuoted: false)
        default: return .name(word, isQuoted: false)
        }
    }

    /// `X'..'`, `T1:2`, `T-1:2` and `O1:2`, after the word that begins them has been read.
    private mutating func prefixedLiteral(_ start: Int) throws(DatabaseError) -> Value? {
        let length = position - start
        switch (bytes[start], peek()) {
        case (UInt8(ascii: "X"), UInt8(ascii: "'")?), (UInt8(ascii: "X"), UInt8(ascii: "\"")?):
            return length == 1 ? .data(try hexBytes()) : nil
        case (UInt8(ascii: "T"), UInt8(ascii: "-")?) where length == 1:
            return try pair(start) { (seconds, nanoseconds) in Self.timestamp(seconds, nanoseconds) }
        case (UInt8(ascii: "T"), UInt8(ascii: ":")?):
            return try pair(start) { (seconds, nanoseconds) in Self.timestamp(seconds, nanoseconds) }
        case (UInt8(ascii: "O"), UInt8(ascii: ":")?):
            return try pair(start) { (table, key) in
                guard let table = UInt32(exactly: table), key >= 0 else { return nil }
                return .link(ObjectLink(table: TableKey(table), key: ObjectKey(key)))
            }
        default: return nil
        }
    }

    /// `decimal(1.50)`, `oid(5f43...)` and `uuid(123e4567-...)`, after the word; nil for other words.
    private mutating func namedLiteral(_ word: String, _ start: Int) throws(DatabaseError) -> Value? {
        let make: (String) -> Value?
        let form: String
        switch word.lowercased() {
        case "decimal":
            make = { text in Decimal128.reading(text).flatMap { $0.isExact ? Value.decimal($0.value) : nil } }
            form = "a decimal is written decimal(1.50)"
        case let word:
            guard let identifier = IdentifierType.all.first(where: { $0.word == word }) else { return nil }
            make = { identifier.value($0)?.owned }
            form = "\(identifier.kind.name) is written \(identifier.word)(\(identifier.example))"
        }
        position += 1
        let content = position
        while let byte = peek(), byte != UInt8(ascii: ")") { position += 1 }
        let text = String(decoding: bytes[content ..< position], as: UTF8.self)
        guard peek() != nil, let value = make(text) else { throw failure(form, at: start) }
        position += 1
        return value
    }

    private static func timestamp(_ seconds: Int64, _ nanoseconds: Int64) -> Value? {
        guard nanoseconds >= 0, nanoseconds < 1_000_000_000 else { return nil }
        return .timestamp(Timestamp(seconds: seconds, nanoseconds: UInt32(nanoseconds)))
    }

    private mutating func pair(
        _ start: Int, _ make: (Int64, Int64) -> Value?
    ) throws(DatabaseError) -> Value {
        position = start + 1
        if peek() == UInt8(ascii: "-") { position += 1 }
        while let byte = peek(), Self.isDigit(byte) { position += 1 }
        let first = String(decoding: bytes[start + 1 ..< position], as: UTF8.self)
        var second = ""
        if peek() == UInt8(ascii: ":") {
            position += 1
            let secondStart = position
            while let byte = peek(), Self.isDigit(byte) { position += 1 }
            second = String(decoding: bytes[secondStart ..< position], as: UTF8.self)
        }
        if peek().map(Self.isWordByte) != true, let high = Int64(first), let low = Int64(second),
            let value = make(high, low)
        {
            return value
        }
        throw failure(
            "a timestamp is T<seconds>:<nanoseconds>, with 0 to 999999999 nanoseconds; an object is O<table>:<key>",
            at: start)
    }

    private mutating func hexBytes() throws(DatabaseError) -> [UInt8] {
        let start = position
        let digits = Array(try quoted().utf8)
        var data: [UInt8] = []
        guard digits.count % 2 == 0 else { throw failure("data needs an even number of hexadecimal digits", at: start) }
        for index in stride(from: 0, to: digits.count, by: 2) {
            guard let high = Self.hexDigit(digits[index]), let low = Self.hexDigit(digits[index + 1]) else {
                throw failure("data is written in hexadecimal digits, as in X'00ff'", at: start)
            }
            data.append(high << 4 | low)
        }
        return data
    }

    // MARK: Numbers and arguments

    private mutating func sign(_ byte: UInt8) throws(DatabaseError) -> Token.Kind {
        let isMinus = byte == UInt8(ascii: "-")
        if !isBehindValue {
            if let next = peek(1), Self.isDigit(next) { return .constant(try number()) }
            position += 1
            if let special = specialNumber(isNegative: isMinus) { return .constant(special) }
        } else {
            position += 1
        }
        return isMinus ? .minus : .plus
    }

    private mutating func time() throws(DatabaseError) -> Value? {
        switch TimeLiteral.read(bytes, at: position) {
        case .nothing: return nil
        case .mistake(let message): throw failure(message, at: position)
        case .time(let time, let end):
            position = end
            return .timestamp(time)
        }
    }

    private mutating func number() throws(DatabaseError) -> Value {
        let start = position
        if let sign = peek(), sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-") { position += 1 }
        var isFloating = false
        skipDigits()
        if peek() == UInt8(ascii: "."), let digit = peek(1), Self.isDigit(digit) {
            isFloating = true
            position += 1
            skipDigits()
        }
        if let mark = peek(), mark | 0x20 == UInt8(ascii: "e") {
            let signs = peek(1) == UInt8(ascii: "+") || peek(1) == UInt8(ascii: "-") ? 1 : 0
            if let digit = peek(1 + signs), Self.isDigit(digit) {
                isFloating = true
                position += 1 + signs
                skipDigits()
            }
        }
        let text = String(decoding: bytes[start ..< position], as: UTF8.self)
        let unit = takeUnit() ?? 1
        if let byte = peek(), Self.isWordByte(byte) {
            throw failure(
                "a name cannot start with a digit; lengths of time are written 30s, 5m, 12h, 7d and 2w", at: start)
        }
        if isFloating {
            if let value = Double(text), (value * Double(unit)).isFinite { return .double(value * Double(unit)) }
            throw failure("this number is too large for a double", at: start)
        }
        if let value = Int64(text) {
            let (product, overflow) = value.multipliedReportingOverflow(by: unit)
            if !overflow { return .int(product) }
        }
        throw failure("this number does not fit in 64 bits", at: start)
    }

    /// The seconds of the unit of time that a number ends with.
    private mutating func takeUnit() -> Int64? {
        guard let letter = peek(), let seconds = TimeLiteral.seconds(ofUnit: letter),
            peek(1).map(Self.isWordByte) != true
        else { return nil }
        position += 1
        return seconds
    }

    private mutating func specialNumber(isNegative: Bool) -> Value? {
        var length = 0
        while let byte = peek(length), Self.isWordByte(byte), length < 16 { length += 1 }
        let word = String(decoding: bytes[position ..< position + length], as: UTF8.self)
        switch Keyword.named(word) {
        case .inf, .infinity:
            position += length
            return .double(isNegative ? -Double.infinity : .infinity)
        case .nan:
            position += length
            return .double(.nan)
        default: return nil
        }
    }

    private mutating func skipDigits() {
        while let byte = peek(), Self.isDigit(byte) { position += 1 }
    }

    /// `$3` and `%@`, also in the spellings of format strings, `%d`, `%lu`, `%f`, ...; `$x` is what a SUBQUERY names.
    private mutating func argument(_ sign: UInt8) throws(DatabaseError) -> Token.Kind {
        let start = position
        position += 1
        if sign == UInt8(ascii: "$"), let byte = peek(), Self.isWordByte(byte), !Self.isDigit(byte) {
            let name = position
            while let byte = peek(), Self.isWordByte(byte) { position += 1 }
            return .variable(String(decoding: bytes[name ..< position], as: UTF8.self))
        }
        if sign == UInt8(ascii: "%") {
            guard takeFormat() else { throw failure("an argument is written $0, $1, ... or %@", at: start) }
            usesPlaceholders = true
            nextPlaceholder += 1
        } else {
            usesNumbers = true
        }
        guard !(usesNumbers && usesPlaceholders) else {
            throw failure("use either $0, $1, ... or %@, not both", at: start)
        }
        if sign == UInt8(ascii: "%") {
            guard nextPlaceholder <= Arguments.most else {
                throw failure("a query has at most \(Arguments.most) arguments", at: start)
            }
            return .argument(nextPlaceholder - 1)
        }
        let digits = position
        skipDigits()
        // More than a query could need, and small enough for an array of flags.
        guard let number = Int(String(decoding: bytes[digits ..< position], as: UTF8.self)), number < Arguments.most,
            peek().map(Self.isWordByte) != true
        else { throw failure("an argument is written $0, $1, ... up to $\(Arguments.most - 1)", at: start) }
        return .argument(number)
    }

    /// What stands behind the percent sign.
    private mutating func takeFormat() -> Bool {
        if peek() == UInt8(ascii: "@") {
            position += 1
            return true
        }
        let start = position
        while let byte = peek(), Self.isWordByte(byte) { position += 1 }
        return Self.formats.contains(String(decoding: bytes[start ..< position], as: UTF8.self))
    }

    private static let formats: Set<String> = [  // names: ASCII
        "d", "i", "u", "ld", "li", "lu", "lld", "lli", "llu", "zd", "zu", "f", "lf", "g", "lg", "hhd", "hd",
    ]

    private mutating func collectionOperator() throws(DatabaseError) -> Token.Kind {
        let start = position
        position += 1
        while let byte = peek(), Self.isWordByte(byte) { position += 1 }
        guard position > start + 1 else {
            throw failure("'@' must be followed by count, min, max, sum or avg", at: start)
        }
        return .collectionOperator(String(decoding: bytes[start + 1 ..< position], as: UTF8.self).lowercased())
    }

    // MARK: Quoted text

    private mutating func quoted() throws(DatabaseError) -> String {
        let read = try QuotedText(bytes, at: position, in: source)
        position = read.end
        return read.text
    }

    // MARK: Bytes

    static func isDigit(_ byte: UInt8) -> Bool { byte >= 0x30 && byte <= 0x39 }

    static func isWordByte(_ byte: UInt8) -> Bool {
        let lowered = byte | 0x20
        return isDigit(byte) || (lowered >= 0x61 && lowered <= 0x7A) || byte == 0x5F || byte >= 0x80
    }

    static func hexDigit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case 0x30 ... 0x39: byte - 0x30
        case 0x41 ... 0x46: byte - 0x41 + 10
        case 0x61 ... 0x66: byte - 0x61 + 10
        default: nil
        }
    }
}
