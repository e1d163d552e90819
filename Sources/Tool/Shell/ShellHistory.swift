/// What was typed into shells before: a file that only its owner can read, a statement a line, in the directory that
/// XDG_STATE_HOME names (https://specifications.freedesktop.org/basedir-spec/).
import CMotteShim
import MotteExchange
import MotteValues

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

struct ShellHistory {
    private static let most = 1_000
    /// nil where there is no home.
    private let path: String?
    private var last = ""

    init() {
        let state = Colour.variable("XDG_STATE_HOME")
        let home = Colour.variable("HOME")
        // The specification takes absolute paths only.
        let base =
            state.beginsWithBytes(of: "/") ? state : home.beginsWithBytes(of: "/") ? home + "/.local/state" : ""
        path = base.isEmpty ? nil : base + "/motte/history"
    }

    /// Into the line editor. A file that has become long is cut to its end.
    mutating func load() {
        guard let path, let lines = Self.lines(path) else { return }
        for line in lines.suffix(Self.most) { motte_shim_edit_remember(line) }
        last = lines.last ?? ""
        guard lines.count > 2 * Self.most else { return }
        let temporary = "\(path).new-\(getpid())"
        let descriptor = motte_shim_open(temporary, O_WRONLY | O_CREAT | O_EXCL, 0o600)
        guard descriptor >= 0 else { return }
        let isWhole = writeAll(lines.suffix(Self.most).joined(separator: "\n") + "\n", to: descriptor)
        close(descriptor)
        if !isWhole || rename(temporary, path) != 0 { unlink(temporary) }
    }

    private static func lines(_ path: String) -> [String]? {
        // Without one there is nothing to remember yet.
        guard let input = try? InputFile(path) else { return nil }
        return input.text.parts(between: "\n").filter { !$0.isEmpty }
    }

    /// At once, so that it is kept whatever becomes of the program. What begins with a space is kept nowhere.
    mutating func add(_ statement: String) {
        guard !statement.beginsWithBytes(of: " ") else { return }
        let line = TableText.oneLine(StatementText.trimmed(statement))
        guard !line.isEmpty, line != last else { return }
        last = line
        motte_shim_edit_remember(line)
        guard let path else { return }
        Self.makeFolders(of: path)
        let descriptor = motte_shim_open(path, O_WRONLY | O_CREAT | O_APPEND, 0o600)
        guard descriptor >= 0 else { return }
        fchmod(descriptor, 0o600)
        // A history that cannot be written is no reason to stop.
        _ = writeAll(line + "\n", to: descriptor)
        close(descriptor)
    }

    private static func makeFolders(of path: String) {
        var folder = ""
        for part in path.parts(between: "/").dropLast() where !part.isEmpty {
            folder += "/" + part
            mkdir(folder, 0o700)
        }
    }
}
