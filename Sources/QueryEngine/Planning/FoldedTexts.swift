/// What a test of texts asks of an index that keeps them without their case or diacritics.
///
/// An index answers alone what overlooks the same as it does. What overlooks less, such as a plain `==`, passes among
/// what the index finds, so that these rows are looked at; what overlooks more is not found by it.
import MotteColumns
import MotteValues

enum FoldedTexts {
    /// Folded, each once; nil where the test is no equality that the index serves.
    static func equal(_ test: ColumnTest, _ folding: TextOptions) -> [Value]? {
        guard let found = texts(test, folding) else { return nil }
        var seen: Set<[UInt8]?> = []
        return found.filter { seen.insert($0).inserted }.map { bytes in
            bytes.map { .string(String(decoding: $0, as: UTF8.self)) } ?? .null
        }
    }

    /// nil among them is null.
    private static func texts(_ test: ColumnTest, _ folding: TextOptions) -> [[UInt8]?]? {
        switch test {
        case .null: return [nil]
        case .text(.equal, let bytes): return [folded(bytes, folding)]
        case .textSet(let texts): return texts.map { folded($0, folding) }
        case .match(let matcher) where matcher.isEquality && folding.isSuperset(of: matcher.options):
            return [folded(matcher.pattern, folding)]
        case .any(let tests):
            var all: [[UInt8]?] = []
            for test in tests {
                guard let more = texts(test, folding) else { return nil }
                all += more
            }
            return all
        default: return nil
        }
    }

    /// Folded; nil where the test is no beginning that the index serves.
    static func beginning(_ test: ColumnTest, _ folding: TextOptions) -> [UInt8]? {
        guard case .match(let matcher) = test, matcher.isBeginning, folding.isSuperset(of: matcher.options) else {
            return nil
        }
        let prefix = folded(matcher.pattern, folding)
        // Nothing but diacritics: every text begins with that.
        return prefix.isEmpty ? nil : prefix
    }

    /// Whether everything that the index finds passes.
    static func isJust(_ test: ColumnTest, _ folding: TextOptions) -> Bool {
        switch test {
        case .null: true
        case .match(let matcher): matcher.options == folding
        case .any(let tests): tests.allSatisfy { isJust($0, folding) }
        default: false
        }
    }

    private static func folded(_ bytes: [UInt8], _ folding: TextOptions) -> [UInt8] {
        bytes.withBytes { TextFolding.folded($0, folding) }
    }
}
