/// What comparisons of texts overlook, and what an index of texts is folded by.
package struct TextOptions: OptionSet, Sendable, Hashable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    /// `[c]`
    package static let ignoresCase = TextOptions(rawValue: 1)
    /// `[d]`
    package static let ignoresDiacritics = TextOptions(rawValue: 2)

    /// As it is written between brackets: `c`, `d`, `cd`; empty where nothing is overlooked.
    package var letters: String {
        (contains(.ignoresCase) ? "c" : "") + (contains(.ignoresDiacritics) ? "d" : "")
    }

    /// nil where it is none of these.
    package init?(letters: String) {
        switch letters {
        case "c": self = .ignoresCase
        case "d": self = .ignoresDiacritics
        case "cd", "dc": self = [.ignoresCase, .ignoresDiacritics]
        default: return nil
        }
    }
}
