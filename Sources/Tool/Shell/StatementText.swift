/// Where statements end in what is typed, and the words that they begin with. What is in quotes is one word, and no
/// semicolon in it ends anything.
///
/// Works on UTF-8 bytes, as the query language does: to Swift's characters, a quote with a combining mark behind it is
/// no quote, and the two that end a line of some systems are one.
import MotteQueryEngine
import MotteValues

struct StatementText {
    private let source: QuerySource
    private let bytes: [UInt8]
    private var position = 0

    init(_ text: String) {
        source = QuerySource(text)
        bytes = Array(text.utf8)
    }

    // MARK: Statements

    /// Takes the first statement from a text, without its semicolon; nil where it is not complete yet.
    static func take(from text: inout String) -> String? {
        let bytes = Array(text.utf8)
        var index = 0
        while index < bytes.count {
            if bytes[index] == UInt8(ascii: ";") {
                defer { text = String(decoding: bytes[(index + 1)...], as: UTF8.self) }
                return String(decoding: bytes[..<index], as: UTF8.self)
            }
            index = end(of: index, in: bytes)
        }
        return nil
    }

    /// Behind a byte, or behind the quoted text that begins there; one that is not closed goes to the end.
    private static func end(of index: Int, in bytes: [UInt8]) -> Int {
        let quote = bytes[index]
        guard quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'") || quote == UInt8(ascii: "`") else {
            return index + 1
        }
        var index = index + 1
        while index < bytes.count, bytes[index] != quote {
            index += bytes[index] == UInt8(ascii: "\\") ? 2 : 1
        }
        return min(index + 1, bytes.count)
    }

    // MARK: Words

    private mutating func skipSpace() {
        while position < bytes.count, bytes[position] <= 0x20 { position += 1 }
    }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        byte >= 0x80 || byte == UInt8(ascii: "_") || (0x30 ... 0x39).contains(byte)
            || (0x61 ... 0x7A).contains(byte | 0x20)
    }

    /// Whether a name in backquotes follows, which is no word of the language.
    var isAtQuotedName: Bool {
        mutating get {
            skipSpace()
            return position < bytes.count && bytes[position] == UInt8(ascii: "`")
        }
    }

    /// A name, without the backquotes around it; nil, with nothing read, where something else stands.
    mutating func name() throws(DatabaseError) -> String? {
        guard isAtQuotedName else { return word() }
        let read = try QuotedText(bytes, at: position, in: source)
        position = read.end
        return read.text
    }

    /// A name or a word without quotes.
    mutating func word() -> String? {
        skipSpace()
        let first = position
        while position < bytes.count, Self.isNameByte(bytes[position]) { position += 1 }
        return first < position ? String(decoding: bytes[first ..< position], as: UTF8.self) : nil
    }

    /// Past a word that is there, in any case of letters.
    mutating func skip(_ word: String) -> Bool {
        let before = position
        if let found = self.word(), found.lowercased() == word { return true }
        position = before
        return false
    }

    mutating func skipMark(_ character: Unicode.Scalar) -> Bool {
        skipSpace()
        guard position < bytes.count, UInt32(bytes[position]) == character.value else { return false }
        position += 1
        return true
    }

    /// Everything before a word that stands outside of quotes and brackets, and past it; nil where there is none.
    mutating func text(before word: String) -> String? {
        var ahead = self
        let first = position
        while let end = ahead.skipValue(stoppingAt: [word]) {
            if end == word {
                let text = String(decoding: bytes[first ..< ahead.position], as: UTF8.self)
                _ = ahead.word()
                self = ahead
                return Self.trimmed(text)
            }
        }
        return nil
    }

    /// What stands up to a comma or one of the words, which are not read.
    mutating func value(before words: [String]) -> String {
        skipSpace()
        let first = position
        while let end = skipValue(stoppingAt: words, ",") { if !end.isEmpty { break } }
        return Self.trimmed(String(decoding: bytes[first ..< position], as: UTF8.self))
    }

    /// Past one thing: a word, a quoted text or what brackets hold. The word or mark that it stopped at instead, nil at
    /// the end.
    private mutating func skipValue(stoppingAt words: [String], _ marks: String = "") -> String? {
        skipSpace()
        guard position < bytes.count else { return nil }
        let byte = bytes[position]
        if marks.utf8.contains(byte) { return String(UnicodeScalar(byte)) }
        if Self.isNameByte(byte) {
            let before = position
            let found = (word() ?? "").lowercased()
            guard words.contains(found) else { return "" }
            position = before
            return found
        }
        guard "([{".utf8.contains(byte) else {
            position = Self.end(of: position, in: bytes)
            return ""
        }
        var depth = 0
        repeat {
            if "([{".utf8.contains(bytes[position]) { depth += 1 }
            if ")]}".utf8.contains(bytes[position]) { depth -= 1 }
            position = Self.end(of: position, in: bytes)
        } while depth > 0 && position < bytes.count
        return ""
    }

    var rest: String { Self.trimmed(String(decoding: bytes[position...], as: UTF8.self)) }

    static func trimmed(_ text: String) -> String {
        var scalars = Substring(text).unicodeScalars
        while let last = scalars.last, last.properties.isWhitespace { scalars.removeLast() }
        while let first = scalars.first, first.properties.isWhitespace { scalars.removeFirst() }
        return String(scalars)
    }

    /// Words of a line as a command line has them: quotes keep spaces, a backslash the character behind it.
    static func arguments(_ line: String) -> [String] {
        var words: [String] = []
        var word = String.UnicodeScalarView()
        // One in quotes may be empty.
        var isInWord = false
        var quote: Unicode.Scalar?
        var isEscaped = false
        for scalar in line.unicodeScalars {
            if isEscaped {
                word.append(scalar)
                isEscaped = false
            } else if scalar == "\\", quote != "'" {
                isEscaped = true
                continue
            } else if let open = quote {
                if scalar == open { quote = nil } else { word.append(scalar) }
            } else if scalar == "\"" || scalar == "'" {
                quote = scalar
            } else if scalar.properties.isWhitespace {
                if isInWord { words.append(String(word)) }
                word = String.UnicodeScalarView()
                isInWord = false
                continue
            } else {
                word.append(scalar)
            }
            isInWord = true
        }
        return isInWord ? words + [String(word)] : words
    }
}
