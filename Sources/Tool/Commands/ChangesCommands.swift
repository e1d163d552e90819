/// `motte changes` and `motte apply`: what changed in a file as a batch, and a batch into another file.
import ArgumentParser
import MotteExchange
import MotteLiveObjects
import MotteStorage
import MotteValues

struct ChangesCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "changes", abstract: "Write what changed in a file as a batch that another file can apply.",
        discussion: """
            Everything without --since and --for. The change log keeps what observers need; --keep makes it keep all
            changes from now on.
              motte changes leader.motte --output everything.batch
              motte changes leader.motte --for copy.motte --output later.batch
              motte changes leader.motte --since 17 --output later.batch
              motte changes leader.motte --keep
              motte changes leader.motte --drop /backup/people
            """)

    @Argument(help: "The file.") var file: String
    @OptionGroup var opening: OpenOptions
    @Option(help: ArgumentHelp("What changed after this version.", valueName: "version")) var since: UInt64?
    @Option(
        name: .customLong("for"),
        help: ArgumentHelp("What changed after the version up to which this file has the changes.", valueName: "copy"))
    var copy: String?
    @Option(name: [.short, .long], help: ArgumentHelp("Write the batch to this file.", valueName: "batch"))
    var output: String?
    @Flag(help: "Keep all changes after --since, or from now on.") var keep = false
    @Flag(name: .customLong("no-keep"), help: "Keep only what observers and consumers need.") var keepsNone = false
    @Option(
        help: ArgumentHelp(
            "Keep nothing any more for a consumer that is gone, as 'motte status' names it.", valueName: "consumer"))
    var drop: String?

    func validate() throws {
        if since != nil, copy != nil { throw ValidationError("--since and --for contradict each other") }
        if keep, keepsNone { throw ValidationError("--keep and --no-keep contradict each other") }
        if output == nil, !keep, !keepsNone, drop == nil {
            throw ValidationError("name a file with --output, or say --keep, --no-keep or --drop")
        }
    }

    func run() throws {
        let applied = try copy.map { copy in
            try reportingErrors(copy) { try openFile(copy, opening).replicaPositions() }
        }
        try reportingErrors(file) {
            let session = try openFile(file, opening, readOnly: !keep && !keepsNone && drop == nil)
            let origin = try session.changeOrigin()
            let version = since ?? applied?.first { $0.origin == origin }?.version.rawValue ?? 0
            if keep {
                let first = try since ?? session.version.rawValue
                try session.keepChanges(since: Version(first))
                printLine("keeping all changes after version \(first)")
            }
            if keepsNone {
                try session.keepChanges(since: nil)
                printLine("keeping what observers and consumers need")
            }
            if let drop { try self.drop(drop, session) }
            guard let output else { return }
            let batch = try session.changeBatch(since: Version(version))
            try OutputFile.create(output) { sink in batch.bytes.withUnsafeBytes { sink.append($0) } }
            printLine("\(batch.summary) to \(output)")
        }
    }
}

extension ChangesCommand {
    private func drop(_ name: String, _ session: Session) throws(DatabaseError) {
        let known = try session.keptChanges().consumers.map(\.name)
        guard known.contains(where: name.hasSameBytes) else {
            throw DatabaseError(
                .invalidArgument,
                "nothing is kept for a consumer '\(name)', only for "
                    + (known.isEmpty ? "nobody" : known.map { "'\($0)'" }.joined(separator: ", ")), path: file)
        }
        try session.keepChanges(since: nil, for: name)
        printLine("keeping nothing any more for \(name)")
    }
}

struct ApplyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "apply", abstract: "Apply batches of changes to a file, which is made if there is none.",
        discussion: """
            Each batch is one write, in the order given. One that the file has already is passed over.
              motte apply copy.motte everything.batch later.batch
            With --inverse they are taken back, the last one first, if they say what was there before: on the file that
            they were read from, or on a copy that has just these changes.
              motte apply people.motte change.batch --inverse
            """)

    @Argument(help: "The file.") var file: String
    @Argument(help: "The batches, as 'motte changes' writes them.") var batches: [String]
    @OptionGroup var opening: OpenOptions
    @Flag(help: "Take the changes of the batches back.") var inverse = false

    func run() throws {
        var read = try batches.map { path in
            try reportingErrors(path) {
                let input = try openInput(path)
                // The bytes are there as long as the input is.
                let batch = try withExtendedLifetime(input) { try ChangeBatch(copying: input.bytes) }
                return (path: path, batch: inverse ? try batch.inverse() : batch)
            }
        }
        if inverse { read.reverse() }
        try reportingErrors(file) {
            var options = try opening.options(file)
            if inverse { options.noCreate = true }
            let session = try Session.open(options)
            for (path, batch) in read {
                switch try session.apply(batch) {
                case .applied where inverse: printLine("took back \(try batch.inverse().summary) from \(path)")
                case .applied: printLine("applied \(batch.summary) from \(path)")
                case .known: printLine("passed over \(path): the file has its changes")
                }
            }
        }
    }
}

extension ChangeBatch {
    var summary: String {
        if isDifference { return "a difference of two files, \(bytes.count) bytes" }
        let what = isWhole ? "everything" : "changes after version \(from.rawValue)"
        return "\(what) up to version \(to.rawValue), \(bytes.count) bytes"
    }
}
