/// The engine's sentences in the words of `motte.h`, where a session is a realm.
import MotteValues

enum Wording {
    /// What stands before the word where it means the engine's own; a class may have that name too.
    private static let determiners = [
        "this", "a", "another", "live", "new", "last", "frozen", "the", "open", "other",
    ]
    private static let word = Array(" session".utf8)
    private static let replacement = Array(" realm".utf8)
    /// Said of objects, by the name of their class.
    private static let ofObjects = Array(" has been deleted".utf8)

    static func ofC(_ message: String) -> String {
        let bytes = Array(message.utf8)
        guard var found = position(of: word, in: bytes, from: 0) else { return message }
        var result: [UInt8] = []
        var copied = 0
        while true {
            let end = found + word.count
            if isDetermined(bytes[..<found]), !isLetter(bytes, end), !bytes[end...].starts(with: ofObjects) {
                result += bytes[copied ..< found]
                result += replacement
                copied = end
            }
            guard let next = position(of: word, in: bytes, from: end) else { break }
            found = next
        }
        return String(decoding: result + bytes[copied...], as: UTF8.self)
    }

    private static func position(of word: [UInt8], in bytes: [UInt8], from start: Int) -> Int? {
        guard bytes.count - start >= word.count else { return nil }
        return (start ... bytes.count - word.count).first { bytes[$0...].starts(with: word) }
    }

    private static func isDetermined(_ before: ArraySlice<UInt8>) -> Bool {
        let last = before.reversed().prefix { $0 != UInt8(ascii: " ") }
        return determiners.contains { $0.utf8.reversed().elementsEqual(last) }
    }

    private static func isLetter(_ bytes: [UInt8], _ index: Int) -> Bool {
        index < bytes.count && (bytes[index] | 0x20 >= 0x61 && bytes[index] | 0x20 <= 0x7A)
    }
}
