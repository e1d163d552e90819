/// `motte FILE`: a shell on a file; statements come from the terminal, from standard input or from `--command`.
import ArgumentParser
import MotteLiveObjects
import MotteValues

struct ShellCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "shell", abstract: "Run statements, one after the other; 'motte FILE' does the same.",
        discussion: """
            On a terminal lines can be edited, with Tab for names and a history; '.help' lists what there is. Statements
            on standard input end with the first mistake.
              motte people.motte
              motte people.motte --command 'count Person age > 30'
              motte people.motte < statements.txt
            """)

    @Argument(help: "The file.") var file: String?
    @OptionGroup var opening: OpenOptions
    @Option(
        name: [.customShort("c"), .customLong("command")],
        help: ArgumentHelp(
            "Statements to run, instead of those on standard input; several times: one after the other.",
            valueName: "statements"))
    var statements: [String] = []

    func validate() throws {
        guard let file else { return }
        guard fileExists(file) else {
            throw ValidationError("there is neither a command '\(file)' nor a file of that name")
        }
    }

    func run() throws {
        guard let file else { throw CleanExit.helpRequest(MotteCommand.self) }
        try reportingErrors(file) {
            let shell = try Shell(file, opening)
            let isDone = statements.isEmpty ? shell.run() : statements.allSatisfy(shell.run(text:))
            if isDone { try shell.output.redirect(to: nil) }
            // A write that is still open is undone.
            try shell.session.close()
            if !isDone { throw ExitCode(1) }
        }
    }
}
