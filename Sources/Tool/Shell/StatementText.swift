/// Where statements end in what is typed, and the words that they begin with. What is in quotes is one word, and no
/// semicolon in it ends anything.
struct StatementText {
    private let bytes: [UInt8]
    private var position = 0

    init(_ text: String) { bytes = Array(text.utf8) }

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
            index += bytes[index] == UInt8(ascii: "\\") && quote != UInt8(ascii: "`") ? 2 : 1
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

    /// A name, without the backquotes around it; nil, with nothing read, where something else stands.
    mutating func name() -> String? {
        skipSpace()
        let first = position
        if position < bytes.count, bytes[position] == UInt8(ascii: "`") {
            position = Self.end(of: position, in: bytes)
            return String(decoding: bytes[(first + 1) ..< max(first + 1, position - 1)], as: UTF8.self)
        }
        while position < bytes.count, Self.isNameByte(bytes[position]) { position += 1 }
        return first < position ? String(decoding: bytes[first ..< position], as: UTF8.self) : nil
    }

    /// Past a word that is there, in any case of letters.
    mutating func skip(_ word: String) -> Bool {
        let before = position
        if let found = name(), found.lowercased() == word { return true }
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
                _ = ahead.name()
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
            let found = (name() ?? "").lowercased()
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
        var text = Substring(text)
        while let last = text.last, last.isWhitespace { text.removeLast() }
        while let first = text.first, first.isWhitespace { text.removeFirst() }
        return String(text)
    }

    /// Words of a line as a command line has them: quotes keep spaces, a backslash the character behind it.
    static func arguments(_ line: String) -> [String] {
        var words: [String] = []
        var word: String?
        var quote: Character?
        var isEscaped = false
        for character in line {
            if isEscaped {
                word = (word ?? "") + String(character)
                isEscaped = false
            } else if character == "\\", quote != "'" {
                isEscaped = true
            } else if let open = quote {
                if character == open { quote = nil } else { word = (word ?? "") + String(character) }
            } else if character == "\"" || character == "'" {
                quote = character
                word = word ?? ""
            } else if character.isWhitespace {
                if let complete = word { words.append(complete) }
                word = nil
            } else {
                word = (word ?? "") + String(character)
            }
        }
        if let word { words.append(word) }
        return words
    }
}
