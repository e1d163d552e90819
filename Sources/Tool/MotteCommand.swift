/// The `motte` command: look into files, query them, import and export, watch them change, mend them. One file per
/// subcommand.
///
/// Exit codes: 0 done, 1 the command failed (one sentence on stderr), 2 wrong arguments.
import ArgumentParser

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

struct MotteCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "motte", abstract: "Look into Motte files, query, import, export, watch and mend them.",
        version: "0.1.0",
        subcommands: [
            InfoCommand.self, SchemaCommand.self, QueryCommand.self, StatsCommand.self, InsertCommand.self,
            UpdateCommand.self, DeleteCommand.self, ImportCommand.self, ExportCommand.self, DiffCommand.self,
            WatchCommand.self, VerifyCommand.self, CopyCommand.self, CompactCommand.self, SalvageCommand.self,
            SpaceCommand.self, ReadersCommand.self, MigrateCommand.self, ChangesCommand.self,
            ApplyCommand.self, ShipCommand.self, FollowCommand.self, StatusCommand.self, RestoreCommand.self,
            ShellCommand.self,
        ],
        // `motte FILE`.
        defaultSubcommand: ShellCommand.self)
}

@main
enum Main {
    static func main() {
        occupyStandardDescriptors()
        // A file that may not grow further is an error of the call that writes, like a full disk.
        signal(SIGXFSZ, SIG_IGN)
        do {
            var command = try MotteCommand.parseAsRoot()
            try command.run()
        } catch {
            let code = MotteCommand.exitCode(for: error)
            if code == .success {
                // Help and the version, which the parser would print without looking whether it could.
                printLine(MotteCommand.fullMessage(for: error))
                MotteCommand.exit()
            }
            // Wrong arguments end with 2, as with most commands; the parser's own number is 64.
            guard code == .validationFailure else { MotteCommand.exit(withError: error) }
            printError(MotteCommand.fullMessage(for: error))
            MotteCommand.exit(withError: ExitCode(2))
        }
    }
}
