/// Colours, where somebody looks: on a terminal that has some, unless NO_COLOR forbids them (https://no-color.org).
#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

enum Colour {
    static let bold = "\u{1B}[1m"
    static let red = "\u{1B}[31m"
    static let green = "\u{1B}[32m"
    static let yellow = "\u{1B}[33m"
    static let plain = "\u{1B}[0m"

    static func isWanted(on descriptor: Int32) -> Bool {
        guard isatty(descriptor) == 1, variable("NO_COLOR").isEmpty else { return false }
        return variable("TERM") != "dumb"
    }

    static func text(_ text: String, _ colour: String, on descriptor: Int32 = 1) -> String {
        isWanted(on: descriptor) ? colour + text + plain : text
    }

    /// Empty where there is none.
    static func variable(_ name: String) -> String { getenv(name).map { String(cString: $0) } ?? "" }
}
