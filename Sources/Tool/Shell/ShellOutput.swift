/// Where a shell's output goes: the terminal, a pager when it is longer than that, or a file. Each takes the place of
/// standard output while it is in use, so that every command writes there.
import MotteValues

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

struct ShellOutput {
    let isTerminal = isatty(0) == 1 && isatty(1) == 1
    let isColoured = Colour.isWanted(on: 1)
    /// nil: none.
    var pager = ShellOutput.usualPager
    private var file: (path: String, terminal: Int32)?

    /// `less` leaves what fits on the screen where it is (F, X) and shows colours (R).
    private static var usualPager: String? {
        let named = Colour.variable("PAGER")
        if !named.isEmpty { return named == "cat" ? nil : named }
        let folders = Colour.variable("PATH").split(separator: ":")
        return folders.contains { access("\($0)/less", X_OK) == 0 } ? "less" : nil
    }

    var path: String? { file?.path }

    // MARK: A pager

    /// Runs `body` with its output in the pager.
    func paged(_ body: () throws(DatabaseError) -> Void) throws(DatabaseError) {
        guard isTerminal, file == nil, let pager else { return try body() }
        setenv("LESS", "FRX", 0)
        guard let pipe = popen(pager, "w") else { return try body() }
        let terminal = dup(1)
        dup2(fileno(pipe), 1)
        var failure: DatabaseError?
        do throws(DatabaseError) { try body() } catch { failure = error }
        dup2(terminal, 1)
        close(terminal)
        pclose(pipe)
        if let failure { throw failure }
    }

    // MARK: A file

    /// From here on output goes to a file; nil: to standard output again.
    mutating func redirect(to path: String?) throws(DatabaseError) {
        if let file {
            dup2(file.terminal, 1)
            close(file.terminal)
            self.file = nil
        }
        guard let path else { return }
        let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else {
            throw DatabaseError(
                .inputOutput, "cannot write '\(path)': \(String(cString: strerror(errno)))", systemError: errno)
        }
        file = (path, dup(1))
        dup2(descriptor, 1)
        close(descriptor)
    }
}
