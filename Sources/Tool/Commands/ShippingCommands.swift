/// `motte ship` and `motte follow`: a file's changes to a folder, or to a server, as they are committed, and from there
/// into other files. Both may be killed at any time, and go on where they were when they are begun again.
import ArgumentParser
import MotteLiveObjects
import MotteReplication
import MotteStorage
import MotteValues

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// For who waits for changes: the signals that end it do so at once, and nothing of this is worth keeping.
private func endWithSignals() {
    signal(SIGINT) { _ in _exit(0) }
    signal(SIGTERM) { _ in _exit(0) }
}

struct ShipCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ship",
        abstract: "Write a file's changes to a folder or a server as they are committed, for others to follow.",
        discussion: """
            Runs until it is ended, and may be begun again at any time. The folder gets the whole file now and then, and
            what changed after that.
              motte ship people.motte --to /backup/people
              motte ship people.motte --to /backup/people --keep-for 2592000
              motte ship people.motte --to nats://one:4222,two:4222,three:4222/people
            Into PostgreSQL it writes objects as rows of tables instead, for reports and other services:
              motte ship people.motte --to postgresql:///reports --class Person --class Dog
            """)

    @Argument(help: "The file.") var file: String
    @OptionGroup var opening: OpenOptions
    @OptionGroup var login: LoginOptions
    @Option(
        help: ArgumentHelp(
            "The folder, which is made if there is none, nats://HOST:PORT/NAME, or postgresql://HOST/DATABASE.",
            valueName: "place"))
    var to: String
    @Option(
        name: .customLong("class"),
        help: ArgumentHelp("For PostgreSQL: a class whose objects go there; all without it.", valueName: "class"))
    var classNames: [String] = []
    @Option(help: "On how many servers everything is; 3 where so many are named, else 1.")
    var replicas: Int?
    @Option(help: "How followers call this file; its path, if not said.") var name: String?
    @Flag(help: "Ship what there is, and end.") var once = false
    @Option(
        name: .customLong("keep-for"),
        help: ArgumentHelp(
            "Remove what is not needed to restore a time of the last so many seconds; without it nothing is.",
            valueName: "seconds"))
    var keepFor: Int64?
    @Option(
        name: .customLong("snapshot-bytes"),
        help: ArgumentHelp(
            "Write the whole file again after so many bytes of changes; without it as many as it had, or a megabyte.",
            valueName: "bytes"))
    var snapshotBytes: Int?
    @Flag(name: .customLong("take-over"), help: "Lead in place of another file, whose changes this one has all.")
    var takesOver = false
    @Flag(help: "Ship an encrypted file, though its changes are not encrypted in the folder.") var plain = false

    func validate() throws {
        guard !PostgresFeed.isPlace(to) else { return try checkFeed() }
        guard classNames.isEmpty else { throw ValidationError("--class is for postgresql://HOST/DATABASE") }
        try checkPlace(to)
        guard (1 ... 5).contains(replicas ?? 1) else { throw ValidationError("--replicas is a number from 1 to 5") }
        guard (keepFor ?? 0) >= 0, (keepFor ?? 0) <= Int64(OpenOptions.longestTimeout), (snapshotBytes ?? 0) >= 0 else {
            throw ValidationError("--keep-for and --snapshot-bytes are numbers from 0 on")
        }
    }

    func run() throws {
        endWithSignals()
        try reportingErrors(file) {
            let session = try openFile(file, opening, readOnly: false)
            if PostgresFeed.isPlace(to) { return try feed(session) }
            var options = ShippingOptions(name: name ?? file)
            options.keepSeconds = keepFor
            options.snapshotBytes = snapshotBytes
            options.takesOver = takesOver
            options.isPlain = plain
            var log: ReplicationLog?
            var shipping: Shipping?
            var trouble = Trouble(isPatient: !once)
            while true {
                do throws(DatabaseError) {
                    if log == nil { log = try openLogToShip(to, login, replicas: replicas) }
                    if let log, shipping == nil { shipping = try Shipping(session, to: log, options) }
                    guard let step = try shipping?.step() else { continue }
                    trouble.isOver()
                    Self.say(step)
                    guard step == .nothing else { continue }
                    if once { return }
                    _ = try session.waitForChange(timeoutMilliseconds: 1_000)
                } catch {
                    // What the place has is asked again by who begins again.
                    shipping = nil
                    try trouble.wait(error)
                }
            }
        }
    }

    private static func say(_ step: ShippingStep) {
        switch step {
        case .changes(let from, let to, let bytes):
            printLine("shipped changes after version \(from.rawValue) up to \(to.rawValue), \(bytes) bytes")
        case .snapshot(let version, let bytes):
            printLine("shipped a snapshot of version \(version.rawValue), \(bytes) bytes")
        case .nothing: break
        }
    }
}

struct FollowCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "follow", abstract: "Keep a file the same as one that is shipped to a folder or a server.",
        discussion: """
            The file is made if there is none. Runs until it is ended, and may be begun again at any time. Others may
            have the file open, and observe it; who writes to it is refused, until --stop makes it a file of its own.
              motte follow copy.motte --from /backup/people
              motte follow copy.motte --from nats://one:4222,two:4222,three:4222/people
              motte follow copy.motte --stop
            """)

    @Argument(help: "The file.") var file: String
    @OptionGroup var opening: OpenOptions
    @OptionGroup var login: LoginOptions
    @Option(help: ArgumentHelp("The folder, or nats://HOST:PORT/NAME, that the leader ships to.", valueName: "place"))
    var from: String?
    @Flag(help: "Apply what there is, and end.") var once = false
    @Flag(help: "Follow nobody any more: others may write.") var stop = false

    private static let pauseMilliseconds: Int64 = 250

    func validate() throws {
        guard (from == nil) == stop else { throw ValidationError("name a place with --from, or say --stop") }
        if let from { try checkPlace(from) }
    }

    func run() throws {
        endWithSignals()
        try reportingErrors(file) {
            guard let from else {
                let session = try openFile(file, opening, readOnly: false)
                guard let leader = try session.leader() else { return printLine("the file follows nobody") }
                try session.follow(nil)
                return printLine("the file follows \(leader.name) no longer")
            }
            let settings = try opening.options(file)
            var following: Following?
            var trouble = Trouble(isPatient: !once)
            while true {
                do throws(DatabaseError) {
                    if following == nil { following = try begin(from, settings) }
                    guard let current = following else { continue }
                    let step = try current.step()
                    trouble.isOver()
                    if case .applied(let from, let to, let bytes) = step {
                        printLine("applied changes after version \(from.rawValue) up to \(to.rawValue), \(bytes) bytes")
                    } else if once {
                        return
                    } else {
                        try current.log.wait(milliseconds: Self.pauseMilliseconds)
                    }
                } catch {
                    try trouble.wait(error)
                }
            }
        }
    }

    private func begin(_ place: String, _ settings: SessionOptions) throws(DatabaseError) -> Following {
        let following = try Following(settings, from: openLog(place, login))
        printLine("following \(following.leader.name) from version \(following.position.version.rawValue)")
        return following
    }
}
