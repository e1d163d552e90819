/// How commands open a file, besides by its key: where the files lie that processes share, how long to wait for others,
/// and for commands that only read, that nothing can change the file.
import ArgumentParser
import MotteLiveObjects

struct OpenOptions: ParsableArguments {
    @OptionGroup var key: KeyOption
    @Option(
        name: .customLong("lock-directory"),
        help: ArgumentHelp(
            "Where the files are that processes share about the file; beside it without this. All must name the same.",
            valueName: "directory"))
    var lockDirectory: String?
    @Option(
        name: .customLong("open-timeout"),
        help: ArgumentHelp(
            "Wait at most that many seconds for who opens, compacts or deletes the file; 0: not at all; 30 without it.",
            valueName: "seconds"))
    var openTimeout: Double?
    @Option(
        name: .customLong("query-threads"),
        help: ArgumentHelp(
            "How many threads a query over many rows may use; as many as there are processors, at most 4, without it.",
            valueName: "count"))
    var queryThreads: Int?

    @Option(
        help: ArgumentHelp(
            "Memory for what is read of the file: bytes, or 64M, or 2G; an eighth of the machine's without this.",
            valueName: "bytes"))
    var memory: String?

    static let longestTimeout = 1e9

    func validate() throws {
        if let memory, SessionOptions.memoryBytes(memory) == nil {
            throw ValidationError("--memory is a number of bytes from \(SessionOptions.leastMemory) on, or 64M, or 2G")
        }
        guard (queryThreads ?? 1) >= 1 else { throw ValidationError("--query-threads is a number from 1 on") }
        guard let openTimeout else { return }
        guard openTimeout >= 0, openTimeout <= OpenOptions.longestTimeout else {
            throw ValidationError("--open-timeout is a number of seconds from 0 on")
        }
    }

    func options(_ path: String) throws -> SessionOptions {
        var options = SessionOptions(path: path)
        try apply(to: &options)
        return options
    }

    func apply(to options: inout SessionOptions) throws {
        options.encryptionKey = try key.bytes()
        options.lockDirectory = lockDirectory
        options.memoryBytes = memory.flatMap { SessionOptions.memoryBytes($0) }
        options.queryThreads = queryThreads
        if let openTimeout { options.openTimeoutMilliseconds = Int64((openTimeout * 1_000).rounded(.up)) }
    }
}

struct ReadOptions: ParsableArguments {
    @OptionGroup var opening: OpenOptions
    @Flag(
        help: """
            Nothing can change the file meanwhile, as on a medium that is only read: no locks, and nothing is made \
            beside it.
            """)
    var immutable = false

    func validate() throws {
        if immutable, opening.lockDirectory != nil {
            throw ValidationError("--immutable needs no --lock-directory: it makes no locks")
        }
    }
}
