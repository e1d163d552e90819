/// Where a shell's output goes: the terminal, a pager when it is longer than that, or a file. Each takes the place of
/// standard output while a statement runs, so that every command writes there, and prompts do not.
import CMotteShim
import MotteExchange
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
    private(set) var file: OutputFile?

    /// `less` leaves what fits on the screen where it is (F, X) and shows colours (R).
    private static var usualPager: String? {
        let named = Colour.variable("PAGER")
        if !named.isEmpty { return named == "cat" ? nil : named }
        let folders = Colour.variable("PATH").parts(between: ":")
        return folders.contains { !$0.isEmpty && access("\($0)/less", X_OK) == 0 } ? "less" : nil
    }

    // MARK: A pager

    /// Runs `body` with its output in the pager.
    func paged(_ body: () throws(DatabaseError) -> Void) throws(DatabaseError) {
        guard isTerminal, file == nil, let pager else { return try body() }
        setenv("LESS", "FRX", 0)
        guard let pipe = popen(pager, "w") else { return try body() }
        let result = Self.captured(fileno(pipe), body)
        // Ctrl-C is the pager's now.
        motte_shim_be_patient(1)
        pclose(pipe)
        motte_shim_be_patient(0)
        try result.get()
    }

    /// Runs `body` with another standard output.
    private static func captured(
        _ descriptor: Int32, _ body: () throws(DatabaseError) -> Void
    ) -> Result<Void, DatabaseError> {
        // Not for programs that the body runs, whose output would never end.
        let before = motte_shim_duplicate(1)
        dup2(descriptor, 1)
        defer {
            dup2(before, 1)
            close(before)
        }
        do throws(DatabaseError) { return .success(try body()) } catch { return .failure(error) }
    }

    // MARK: A file

    /// From here on output goes to a file, which has it when the next `.output` comes or the shell ends well; nil: to
    /// standard output again.
    mutating func redirect(to path: String?) throws(DatabaseError) {
        let before = file
        file = nil
        try before?.finish()
        if let path { file = try OutputFile(path) }
    }

    /// Runs a statement with its output in the file, if there is one.
    func run(_ body: () throws(DatabaseError) -> Void) throws(DatabaseError) {
        guard let file else { return try body() }
        Console.setFile(file)
        defer { Console.setFile(nil) }
        try Self.captured(file.descriptor, body).get()
    }
}
