/// How a query compares strings.

import MotteValues

/// How texts are compared.
public struct StringOptions: OptionSet, Sendable {
    /// The options as bits: 1 for case, 2 for accents.
    public let rawValue: Int8
    /// The options whose bits are set.
    public init(rawValue: Int8) { self.rawValue = rawValue }

    /// `[c]`: upper and lower case are the same.
    public static let caseInsensitive = StringOptions(rawValue: 1)
    /// `[d]`: letters are the same with and without their accents.
    public static let diacriticInsensitive = StringOptions(rawValue: 2)

    package var engine: TextOptions {
        var options: TextOptions = []
        if contains(.caseInsensitive) { options.insert(.ignoresCase) }
        if contains(.diacriticInsensitive) { options.insert(.ignoresDiacritics) }
        return options
    }

    /// As it is written behind an operator: "", "[c]", "[d]" or "[cd]".
    package var text: String {
        switch (contains(.caseInsensitive), contains(.diacriticInsensitive)) {
        case (false, false): ""
        case (true, false): "[c]"
        case (false, true): "[d]"
        case (true, true): "[cd]"
        }
    }
}
