/// The `motte` command: look into a file, query it, import into it, watch it change. One file per subcommand.
///
/// Exit codes: 0 done, 1 the command could not do what it was told (one sentence on stderr), 2 or 64 wrong arguments.
import ArgumentParser
import Foundation

@main
struct MotteCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "motte", abstract: "Look into Motte files, query, import, watch and mend them.",
        version: "0.1.0",
        subcommands: [
            InfoCommand.self, SchemaCommand.self, QueryCommand.self, ImportCommand.self, WatchCommand.self,
            VerifyCommand.self, CopyCommand.self, CompactCommand.self, SalvageCommand.self, SpaceCommand.self,
            ReadersCommand.self, MigrateCommand.self,
        ])
}
