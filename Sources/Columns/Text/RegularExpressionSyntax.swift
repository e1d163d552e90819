/// What a regular expression may have: what can be matched by following all alternatives at once, so that no text takes
/// more time than anybody has. Each place of the pattern that a text can be at is followed once.
import MotteValues

package struct RegularExpressionSyntax {
    /// At most so many characters, classes and groups, those in repeats as often as they may come.
    static let mostPlaces = 1_000

    /// The pattern for following all alternatives. libpcre2 counts there how often `a+` and `[ab]{2,}` have matched,
    /// and takes each count for a place of its own; they are written `aa*` and `[ab]{2}[ab]*` instead.
    package private(set) var steady: [UInt8] = []

    private let pattern: [UInt8]
    private var index = 0
    /// The groups around the one at hand.
    private var outer: [(places: Int, start: Int)] = []
    private var places = 0
    /// What a quantifier would repeat, already among `places`.
    private var last = (places: 0, start: 0, isGroup: false)

    package init(_ pattern: [UInt8]) { self.pattern = pattern }

    /// How many places there are. What is no pattern at all is found by the library.
    package mutating func scan() throws(DatabaseError) -> Int {
        while let next = byte(0) {
            switch next {
            case UInt8(ascii: "\\"): try escape()
            case UInt8(ascii: "["): take(classSize())
            case UInt8(ascii: "("): try open()
            case UInt8(ascii: ")"): close()
            case UInt8(ascii: "*"), UInt8(ascii: "?"): try repeats(1, 1)
            case UInt8(ascii: "+"): try repeatsForever(1, 1)
            case UInt8(ascii: "{"): try brace()
            default: take(characterSize())
            }
        }
        for group in outer { places = Self.sum(places, group.places) }
        guard places <= Self.mostPlaces else {
            throw Self.failure(
                "it has more than \(Self.mostPlaces) characters, those in repeats counted as often as they may come",
                at: nil)
        }
        return places
    }

    static func failure(_ why: String, at offset: Int?) -> DatabaseError {
        let place = offset.map { " (at byte \($0) of it)" } ?? ""
        return DatabaseError(.queryArgument, "the pattern of MATCHES cannot be used: \(why)\(place)")
    }

    private func refused(_ what: String) -> DatabaseError { Self.failure("\(what) are not supported", at: index) }

    private func byte(_ offset: Int) -> UInt8? {
        index + offset < pattern.count ? pattern[index + offset] : nil
    }

    private func count(from offset: Int, atMost most: Int, _ belongs: (UInt8) -> Bool) -> Int {
        var count = 0
        while count < most, let next = byte(offset + count), belongs(next) { count += 1 }
        return count
    }

    private static func sum(_ one: Int, _ other: Int) -> Int {
        let (sum, overflows) = one.addingReportingOverflow(other)
        return overflows ? Int.max : sum
    }

    private static func product(_ one: Int, _ other: Int) -> Int {
        let (product, overflows) = one.multipliedReportingOverflow(by: other)
        return overflows ? Int.max : product
    }

    // MARK: What stands for one character

    /// What has this size is one place.
    private mutating func take(_ size: Int) {
        last = (1, steady.count, false)
        places = Self.sum(places, 1)
        copy(size)
    }

    private mutating func copy(_ size: Int) {
        let end = min(index + size, pattern.count)
        steady += pattern[index ..< end]
        index = end
    }

    private func characterSize() -> Int { 1 + count(from: 1, atMost: 3) { $0 & 0xC0 == 0x80 } }

    private mutating func escape() throws(DatabaseError) {
        guard let kind = byte(1) else { return copy(1) }
        switch kind {
        case UInt8(ascii: "1") ... UInt8(ascii: "9"), UInt8(ascii: "g"), UInt8(ascii: "k"):
            throw refused("references to what a group matched")
        case UInt8(ascii: "C"), UInt8(ascii: "G"), UInt8(ascii: "K"), UInt8(ascii: "R"), UInt8(ascii: "X"):
            throw refused("\\C, \\G, \\K, \\R and \\X")
        case UInt8(ascii: "E"): index += 2
        case UInt8(ascii: "Q"): quoted()
        case UInt8(ascii: "0"): take(2 + count(from: 2, atMost: 2) { (0x30 ... 0x37).contains($0) })
        case UInt8(ascii: "c"): take(3)
        case UInt8(ascii: "x") where byte(2) != UInt8(ascii: "{"):
            take(2 + count(from: 2, atMost: 2) { Self.isHexadecimal($0) })
        case UInt8(ascii: "p") where byte(2) != UInt8(ascii: "{"), UInt8(ascii: "P") where byte(2) != UInt8(ascii: "{"):
            take(3)
        default:
            guard kind < 0x80 else {
                index += 1
                return take(characterSize())
            }
            // `\x{41}`, `\p{Lu}`
            let takesName = byte(2) == UInt8(ascii: "{") && "xopPN".utf8.contains(kind)
            take(2 + (takesName ? count(from: 2, atMost: .max) { $0 != UInt8(ascii: "}") } + 1 : 0))
        }
    }

    private static func isHexadecimal(_ byte: UInt8) -> Bool {
        (0x30 ... 0x39).contains(byte) || (0x61 ... 0x66).contains(byte | 0x20)
    }

    /// `\Q...\E`, of which each character stands for itself.
    private mutating func quoted() {
        index += 2
        while let next = byte(0) {
            if next == UInt8(ascii: "\\"), byte(1) == UInt8(ascii: "E") {
                index += 2
                return
            }
            let size = characterSize()
            let isPlain =
                next >= 0x80 || next <= 0x20 || (0x30 ... 0x39).contains(next)
                || (0x61 ... 0x7A).contains(next | 0x20)
            let start = steady.count
            if !isPlain { steady.append(UInt8(ascii: "\\")) }
            take(size)
            last.start = start
        }
    }

    private func classSize() -> Int {
        var size = 1
        if byte(size) == UInt8(ascii: "^") { size += 1 }
        // At the beginning it stands for itself.
        if byte(size) == UInt8(ascii: "]") { size += 1 }
        var isQuoted = false
        while let next = byte(size) {
            if next == UInt8(ascii: "\\"), let escaped = byte(size + 1), !isQuoted || escaped == UInt8(ascii: "E") {
                isQuoted = escaped == UInt8(ascii: "Q")
                size += 2
            } else if next == UInt8(ascii: "["), !isQuoted, let end = nameEnd(size) {
                size = end
            } else {
                size += 1
                if next == UInt8(ascii: "]"), !isQuoted { break }
            }
        }
        return size
    }

    /// Behind `[:alpha:]`.
    private func nameEnd(_ start: Int) -> Int? {
        guard let mark = byte(start + 1), ":.=".utf8.contains(mark) else { return nil }
        var end = start + 2
        while let next = byte(end), let following = byte(end + 1) {
            if next == mark, following == UInt8(ascii: "]") { return end + 2 }
            guard next == UInt8(ascii: "^") || (0x61 ... 0x7A).contains(next | 0x20) else { return nil }
            end += 1
        }
        return nil
    }

    // MARK: Groups

    private mutating func open() throws(DatabaseError) {
        if byte(1) == UInt8(ascii: "*") { throw refused("verbs such as (*COMMIT)") }
        guard byte(1) == UInt8(ascii: "?") else { return push(1) }
        switch byte(2) {
        case UInt8(ascii: ":"): push(3)
        case UInt8(ascii: "#"): index += 3 + count(from: 3, atMost: .max) { $0 != UInt8(ascii: ")") } + 1
        case UInt8(ascii: "P") where byte(3) == UInt8(ascii: "<"): pushNamed(4, UInt8(ascii: ">"))
        case UInt8(ascii: "<") where byte(3) != UInt8(ascii: "=") && byte(3) != UInt8(ascii: "!"):
            pushNamed(3, UInt8(ascii: ">"))
        case UInt8(ascii: "'"): pushNamed(3, UInt8(ascii: "'"))
        case UInt8(ascii: "="), UInt8(ascii: "!"), UInt8(ascii: "<"): throw refused("(?=, (?!, (?<= and (?<!")
        default: try options()
        }
        index = min(index, pattern.count)
    }

    /// `(?i)` and `(?i:`
    private mutating func options() throws(DatabaseError) {
        let letters = count(from: 2, atMost: .max) { "imsU-".utf8.contains($0) }
        switch byte(2 + letters) {
        case UInt8(ascii: ")") where letters > 0: copy(letters + 3)
        case UInt8(ascii: ":"): push(letters + 3)
        default: throw refused("groups other than (...), (?:...), (?<name>...) and options of i, m, s and U")
        }
    }

    private mutating func pushNamed(_ size: Int, _ end: UInt8) {
        push(size + count(from: size, atMost: .max) { $0 != end && $0 != UInt8(ascii: ")") } + 1)
    }

    private mutating func push(_ size: Int) {
        outer.append((places, steady.count))
        copy(size)
        places = 1
        last = (0, steady.count, false)
    }

    private mutating func close() {
        copy(1)
        let inner = places
        let group = outer.popLast() ?? (0, 0)
        places = Self.sum(group.places, inner)
        last = (inner, group.start, true)
    }

    // MARK: Quantifiers

    private mutating func brace() throws(DatabaseError) {
        var bounds: [Int?] = [nil]
        for offset in 1 ..< max(1, pattern.count - index) {
            switch byte(offset) {
            case let digit? where (0x30 ... 0x39).contains(digit):
                let number = bounds[bounds.count - 1] ?? 0
                bounds[bounds.count - 1] = min(1_000_000, number * 10 + Int(digit - 0x30))
            case UInt8(ascii: ",") where bounds.count == 1: bounds.append(nil)
            case UInt8(ascii: " "): break
            case UInt8(ascii: "}") where bounds.contains { $0 != nil }:
                if bounds.count == 2, bounds[1] == nil { return try repeatsForever(bounds[0] ?? 0, offset + 1) }
                return try repeats(bounds.compactMap { $0 }.max() ?? 0, offset + 1)
            default: return take(1)
            }
        }
        // It stands for itself.
        take(1)
    }

    /// A quantifier of a size, by which what stands before it comes at most so often, or from then on for ever.
    private mutating func repeats(_ bound: Int, _ size: Int) throws(DatabaseError) {
        copy(try withLaziness(size))
        let repeated = Self.product(last.places, max(1, bound))
        places = Self.sum(places, repeated - last.places)
        last.places = repeated
    }

    private mutating func repeatsForever(_ bound: Int, _ size: Int) throws(DatabaseError) {
        guard !last.isGroup else { return try repeats(bound, size) }
        let whole = try withLaziness(size)
        let single = Array(steady[last.start...])
        let exactly = bound == 1 ? [] : Array("{\(bound)}".utf8)
        let star = Array(whole > size ? "*?)".utf8 : "*)".utf8)
        steady.replaceSubrange(last.start..., with: Array("(?:".utf8) + single + exactly + single + star)
        index += whole
        let repeated = Self.sum(Self.product(last.places, max(1, bound)), 1)
        places = Self.sum(places, repeated - last.places)
        last = (repeated, last.start, true)
    }

    private func withLaziness(_ size: Int) throws(DatabaseError) -> Int {
        if byte(size) == UInt8(ascii: "+") { throw refused("possessive quantifiers such as a++") }
        return byte(size) == UInt8(ascii: "?") ? size + 1 : size
    }
}
