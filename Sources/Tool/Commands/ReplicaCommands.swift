/// `motte status` and `motte restore`: how far copies are, and a file as it was at a time.
import ArgumentParser
import MotteExchange
import MotteLiveObjects
import MotteReplication
import MotteStorage
import MotteValues

struct StatusCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Print whom a file follows, how far behind it is, and what a folder has of it.",
        discussion: """
            Ends with 0 if all is well, and with 1 if the place cannot be read, has another leader or another history,
            has no snapshot, its leader has given no heartbeat for half a minute, or the clocks differ by that.
              motte status copy.motte
              motte status people.motte --folder /backup/people --prometheus
              motte status people.motte --folder postgresql:///reports
            """)

    @Argument(help: "The file.") var file: String
    @OptionGroup var reading: ReadOptions
    @OptionGroup var login: LoginOptions
    @Option(
        help: ArgumentHelp(
            "The folder, nats://HOST:PORT/NAME or postgresql://HOST/DATABASE; that of the file's leader without it.",
            valueName: "place"))
    var folder: String?
    @Flag(help: "As text for Prometheus.") var prometheus = false

    func run() throws {
        let isHealthy = try reportingErrors(file) {
            if let folder, PostgresFeed.isPlace(folder) { return try printFeed(folder) }
            let status = try ReplicationStatus(try openFile(file, reading), at: folder) { place throws(DatabaseError) in
                try openLog(place, login)
            }
            prometheus ? printMetrics(status) : printStatus(status)
            return status.isHealthy
        }
        if !isHealthy { throw ExitCode(1) }
    }

    private func printStatus(_ status: ReplicationStatus) {
        printLine("version   \(status.version.rawValue)")
        if let leader = status.leader { printLine("follows   \(leader.name) by \(leader.source)") }
        for position in status.positions {
            let time = Self.text(position.wallTimeNanoseconds)
            printLine("applied   \(position.version.rawValue)\(time) of \(position.origin.text)")
        }
        printKept(status)
        if let end = status.end {
            printLine(
                "place     \(end.version.rawValue)\(Self.text(end.wallTimeNanoseconds)) of "
                    + "\(status.leads?.name ?? ""), newest snapshot "
                    + "\(end.snapshot.map { "\($0.version.rawValue)" } ?? "none")")
        }
        if let versions = status.lagVersions, let time = status.lagNanoseconds {
            printLine("lag       \(Self.lag(versions, time))")
        }
        if let heartbeat = status.heartbeat, let age = status.heartbeatNanoseconds {
            let ended = heartbeat.seconds == 0 ? ", by a leader that ended then" : ""
            printLine("heartbeat \(Self.seconds(age)) s ago\(ended)")
        }
        for problem in status.problems { printLine("problem   \(problem)") }
    }

    private func printMetrics(_ status: ReplicationStatus) {
        let label = "{file=\"\(Self.escaped(file))\"}"
        func metric(_ name: String, _ help: String, _ value: String?) {
            guard let value else { return }
            printLine("# HELP motte_\(name) \(help)")
            printLine("# TYPE motte_\(name) gauge")
            printLine("motte_\(name)\(label) \(value)")
        }
        metric(
            "healthy", "1 if the place can be read, has the file's leader and history, and that leader's heartbeat.",
            status.isHealthy ? "1" : "0")
        metric("version", "Newest version of the file.", "\(status.version.rawValue)")
        metric("following", "1 if the file follows another.", status.leader == nil ? "0" : "1")
        metric(
            "applied_version", "Version of the leader that the file has.",
            status.position.map { "\($0.version.rawValue)" })
        metric("shipped_version", "Newest version in the folder.", status.end.map { "\($0.version.rawValue)" })
        metric(
            "snapshot_version", "Newest snapshot in the folder.",
            status.end?.snapshot.map { "\($0.version.rawValue)" })
        metric(
            "lag_versions", "Versions of the leader that the follower, or the leader's folder, does not have.",
            status.lagVersions.map { "\($0)" })
        metric(
            "lag_seconds", "How long ago the first of these was committed.", status.lagNanoseconds.map(Self.seconds))
        metric(
            "heartbeat_seconds", "How long ago the leader's last heartbeat was.",
            status.heartbeatNanoseconds.map(Self.seconds))
        metric("kept_version", "The change log is kept from there on.", status.kept.oldest.map { "\($0.rawValue)" })
        printConsumerMetrics(status)
    }

    private func printConsumerMetrics(_ status: ReplicationStatus) {
        let consumers = Array(zip(status.kept.consumers, status.backlogs))
        func metric(_ name: String, _ help: String, _ value: (KeptChanges.Consumer, ChangeBacklog) -> String?) {
            let values = consumers.compactMap { consumer, backlog in
                value(consumer, backlog).map { (name: consumer.name, value: $0) }
            }
            guard !values.isEmpty else { return }
            printLine("# HELP motte_consumer_\(name) \(help)")
            printLine("# TYPE motte_consumer_\(name) gauge")
            for each in values {
                let labels = "file=\"\(Self.escaped(file))\",consumer=\"\(Self.escaped(each.name))\""
                printLine("motte_consumer_\(name){\(labels)} \(each.value)")
            }
        }
        metric("version", "The file's changes after it are kept for the consumer.") { consumer, _ in
            "\(consumer.version.rawValue)"
        }
        metric("lag_versions", "Commits that changed something and are kept for the consumer.") { _, backlog in
            "\(backlog.commits)"
        }
        metric("lag_seconds", "How long ago the first of these was committed.") { _, backlog in
            backlog.nanoseconds(at: status.wallTimeNanoseconds).map(Self.seconds)
        }
        metric("is_kept", "1 if the change log has what the consumer lacks.") { _, backlog in
            backlog.isKept ? "1" : "0"
        }
    }

    private func printKept(_ status: ReplicationStatus) {
        guard let oldest = status.kept.oldest else { return }
        printLine("keeps     changes after version \(oldest.rawValue)")
        for (consumer, backlog) in zip(status.kept.consumers, status.backlogs) {
            let lag = Self.lag(backlog.commits, backlog.nanoseconds(at: status.wallTimeNanoseconds))
            let lost = backlog.isKept ? "" : ", which are no longer there"
            printLine("consumer  \(consumer.name): \(consumer.version.rawValue), lag \(lag)\(lost)")
        }
        guard let unnamed = status.kept.unnamed, let backlog = status.backlogs.last else { return }
        printLine("program   \(unnamed.rawValue), lag \(Self.lag(backlog.commits, nil))")
    }

    static func lag(_ versions: UInt64, _ nanoseconds: Int64?) -> String {
        "\(versions) versions" + (nanoseconds.map { ", \(seconds($0)) s" } ?? "")
    }

    /// In parentheses, behind a version.
    static func text(_ wallTime: Int64) -> String {
        wallTime == 0 ? "" : " (\(TimeText.text(timestamp(wallTime))))"
    }

    static func seconds(_ nanoseconds: Int64) -> String {
        let thousandths = String(nanoseconds % 1_000_000_000 / 1_000_000)
        return "\(nanoseconds / 1_000_000_000).\(String(repeating: "0", count: 3 - thousandths.count))\(thousandths)"
    }

    static func escaped(_ text: String) -> String {
        text.map { $0 == "\\" || $0 == "\"" ? "\\\($0)" : $0 == "\n" ? "\\n" : "\($0)" }.joined()
    }
}

private func timestamp(_ nanoseconds: Int64) -> Timestamp {
    Timestamp(seconds: nanoseconds / 1_000_000_000, nanoseconds: UInt32(nanoseconds % 1_000_000_000))
}

struct RestoreCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore", abstract: "Make a file as one that is shipped to a folder or a server was at a time.",
        discussion: """
            The newest commit before the time, or of all, and everything before it. The file follows nobody.
              motte restore people.motte --from /backup/people --at 2026-11-22T10:00:00Z
            """)

    @Argument(help: "The new file; there must not be one.") var file: String
    @OptionGroup var opening: OpenOptions
    @OptionGroup var login: LoginOptions
    @Option(help: ArgumentHelp("The folder, or nats://HOST:PORT/NAME, that the leader ships to.", valueName: "place"))
    var from: String
    @Option(help: ArgumentHelp("The time, as in RFC 3339; the newest there is without it.", valueName: "time"))
    var at: String?
    @Flag(help: "Of an encrypted file: its changes are not encrypted there.") var plain = false
    @Flag(help: "Where changes are missing there, make the file of those before.") var partial = false

    /// Within what nanoseconds in 64 bits reach.
    private static let longestSeconds: Int64 = 9_000_000_000

    func validate() throws {
        guard let at else { return }
        guard let time = TimeText.parse(at), abs(time.seconds) < Self.longestSeconds else {
            throw ValidationError("'\(at)' is no time like 2026-11-22T10:00:00Z")
        }
    }

    func run() throws {
        try reportingErrors(file) {
            let time = at.flatMap { TimeText.parse($0) }.map { $0.seconds * 1_000_000_000 + Int64($0.nanoseconds) }
            let log = try openLog(from, login)
            log.key.isPlain = plain
            let restored = try Restoring.run(try opening.options(file), from: log, at: time, isPartial: partial)
            printLine(
                "restored version \(restored.version.rawValue) of "
                    + "\(TimeText.text(timestamp(restored.wallTimeNanoseconds))), from a snapshot and "
                    + "\(restored.batches) batches")
            if restored.hasLaterTimes {
                printLine(
                    "clocks were put back: some of these commits have times after \(at ?? "that time"), and later ones "
                        + "have not")
            }
            guard let next = restored.nextWallTimeNanoseconds else { return }
            printLine(
                "what was committed after it, up to \(TimeText.text(timestamp(next))), is there in one piece: some of "
                    + "it may have been before \(at ?? "that time"), and is left out")
        }
    }
}
