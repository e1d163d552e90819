/// How far long work is, on stderr: a bar on a terminal, else a line every few seconds.
import MotteValues

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

final class ProgressReport {
    private let isTerminal = isatty(2) == 1
    private let isSilent: Bool
    private let noun: String
    private var last = ProgressReport.now()

    init(_ noun: String, isSilent: Bool) {
        self.noun = noun
        self.isSilent = isSilent
    }

    private static func now() -> Int {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Int(time.tv_sec) * 1_000 + Int(time.tv_nsec) / 1_000_000
    }

    /// `fraction` is nil where the end is not known.
    /// Where Ctrl-C is caught, the work ends here.
    func show(_ count: Int, _ fraction: Double?) throws(DatabaseError) {
        try Console.checkInterruption()
        guard !isSilent else { return }
        let now = Self.now()
        guard now - last >= (isTerminal ? 100 : 2_000) else { return }
        last = now
        let percent = fraction.map { "\(Int($0 * 100)) % " } ?? ""
        guard isTerminal else { return printError("\(percent)\(count) \(noun)") }
        guard let fraction else { return write("\r\(count) \(noun)") }
        let filled = max(0, min(40, Int(fraction * 40)))
        let bar = String(repeating: "=", count: filled) + String(repeating: " ", count: 40 - filled)
        write("\r[\(bar)] \(percent)\(count) \(noun)")
    }

    private func write(_ text: String) { _ = writeAll(text, to: 2) }

    func finish() {
        if isTerminal, !isSilent { write("\r\u{1B}[K") }
    }
}
