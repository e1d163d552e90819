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

/// Each time is a commit, so it is not done at once.
let settlingMilliseconds: Int64 = 10_000

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
    @OptionGroup var leading: LeaderOptions
    @Option(
        help: ArgumentHelp(
            "By which name the file keeps its changes for the place; that of the place without it.", valueName: "name"))
    var consumer: String?
    @Flag(help: "Ship what there is, and end.") var once = false
    @Flag(name: .customLong("take-over"), help: "Lead in place of another file, whose changes this one has all.")
    var takesOver = false

    func validate() throws {
        guard !PostgresFeed.isPlace(to) else { return try checkFeed() }
        guard classNames.isEmpty else { throw ValidationError("--class is for postgresql://HOST/DATABASE") }
        try checkPlace(to)
    }

    func run() throws {
        endWithSignals()
        try reportingErrors(file) {
            var session = try openFile(file, opening, readOnly: false)
            if PostgresFeed.isPlace(to) { return try feed(session) }
            let socket = try leading.socket()
            var options = leading.options(file, socket)
            options.takesOver = takesOver
            options.once = once
            options.consumer = consumer
            var log: ReplicationLog?
            var shipping: Shipping?
            var trouble = Trouble(isPatient: !once, socket)
            while true {
                do throws(DatabaseError) {
                    if log == nil { log = try openLogToShip(to, login, replicas: leading.replicas) }
                    if let log, shipping == nil { shipping = try Shipping(session, to: log, options) }
                    guard let current = shipping else { continue }
                    try current.beat()
                    let step = try current.step()
                    trouble.isOver()
                    printShipped(step)
                    guard step == .nothing else { continue }
                    guard !once else {
                        if current.log.isTrimming { continue }
                        return try current.settle()
                    }
                    try current.settle(milliseconds: settlingMilliseconds)
                    try waitAsLeader(current, socket, milliseconds: 1_000)
                } catch {
                    // What the place has is asked again by who begins again.
                    shipping = nil
                    if try movedOn(error, session) {
                        session = try openFile(file, opening, readOnly: false)
                    } else {
                        try trouble.wait(error)
                    }
                }
            }
        }
    }

    /// Whether the schema was changed in a way that a session does not follow: another one goes on.
    func movedOn(_ error: DatabaseError, _ session: Session) throws(DatabaseError) -> Bool {
        guard error.code == .schemaChanged else { return false }
        _ = try session.close()
        return true
    }
}

private func printShipped(_ step: ShippingStep) {
    switch step {
    case .changes(let from, let to, let bytes):
        printLine("shipped changes after version \(from.rawValue) up to \(to.rawValue), \(bytes) bytes")
    case .snapshot(let version, let bytes):
        printLine("shipped a snapshot of version \(version.rawValue), \(bytes) bytes")
    case .nothing: break
    }
}

private func printApplied(_ step: FollowingStep) {
    switch step {
    case .applied(let from, let to, let bytes):
        printLine("applied changes after version \(from.rawValue) up to \(to.rawValue), \(bytes) bytes")
    case .goesOn(let name, let version): printLine("following \(name) from version \(version.rawValue)")
    case .nothing, .left: break
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
    @Flag(
        name: .customLong("may-lead"),
        help: "Lead when nobody does, by a lease of the server; the options of leading are those of 'motte ship'.")
    var mayLead = false
    @Option(
        help: ArgumentHelp(
            "Take over from a leader that has not renewed its lease for so long; whoever begins first says it for all.",
            valueName: "seconds"))
    var lease = 5
    @OptionGroup var leading: LeaderOptions

    private static let pauseMilliseconds: Int64 = 250
    private static let gapMilliseconds: Int64 = 10_000

    func validate() throws {
        guard (from == nil) == stop else { throw ValidationError("name a place with --from, or say --stop") }
        if let from { try checkPlace(from) }
        guard !mayLead || from.map(NatsPlace.isOne) == true else {
            throw ValidationError("--may-lead is for servers: name nats://HOST:PORT/NAME with --from")
        }
        guard !mayLead || !once else { throw ValidationError("--may-lead goes on; take --once away") }
        guard (1 ... 3_600).contains(lease) else { throw ValidationError("--lease is a number from 1 to 3600") }
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
            if mayLead { return try runAsStandby(from, settings) }
            var following: Following?
            var renewal: Renewal?
            var trouble = Trouble(isPatient: !once, waitsForFile: true)
            while true {
                do throws(DatabaseError) {
                    if let pending = renewal {
                        if try pending.run() { printLine("the file begins again from a snapshot") }
                        renewal = nil
                    }
                    if following == nil { following = try begin(from, settings) }
                    guard let current = following else { continue }
                    let step = try current.step()
                    trouble.isOver()
                    printApplied(step)
                    if step == .left {
                        return printLine("the file follows \(current.leader.name) no longer: somebody has ended that")
                    }
                    guard step == .nothing else { continue }
                    if once { return }
                    try current.log.wait(milliseconds: Self.pauseMilliseconds)
                } catch {
                    if let current = following, [.outOfSequence, .schemaChanged].contains(error.code) {
                        // Where only the schema was changed by a batch another session goes on.
                        if error.code == .outOfSequence {
                            renewal = try Renewal(
                                settings, from: current.log, of: current.leader, stuckAt: current.position.version)
                        }
                        _ = try current.session.close()
                        following = nil
                    } else {
                        try trouble.wait(error)
                    }
                }
            }
        }
    }

    private func begin(_ place: String, _ settings: SessionOptions) throws(DatabaseError) -> Following {
        let log = try openLog(place, login)
        log.key.isPlain = leading.plain
        let following = try Following(settings, from: log)
        if !once { following.gapMilliseconds = Self.gapMilliseconds }
        printLine("following \(following.leader.name) from version \(following.position.version.rawValue)")
        return following
    }

    private func runAsStandby(_ place: String, _ settings: SessionOptions) throws {
        let socket = try leading.socket()
        var standby: Standby?
        var trouble = Trouble(isPatient: true, socket, waitsForFile: true)
        while true {
            do throws(DatabaseError) {
                if standby == nil {
                    var options = login.nats
                    options.replicas = leading.replicas
                    standby = try Standby(
                        settings, StreamLog(try NatsServer(place, options)),
                        StandbyOptions(leading.options(file, socket), leaseSeconds: lease))
                }
                guard let current = standby else { continue }
                let event = try current.step()
                trouble.isOver()
                printEvent(event)
                switch event {
                case .nothing, .ended, .following(.nothing), .leading(.nothing): try wait(current, socket)
                // Who always has something to ship is there as well.
                default: try beat(current)
                }
            } catch {
                try trouble.wait(error)
            }
        }
    }

    private func beat(_ standby: Standby) throws(DatabaseError) {
        guard let shipping = standby.shipping else { return }
        do throws(DatabaseError) {
            try shipping.beat()
            try shipping.settle(milliseconds: settlingMilliseconds)
        } catch {
            try standby.failed(error)
        }
    }

    private func wait(_ standby: Standby, _ socket: AcknowledgeSocket?) throws(DatabaseError) {
        try beat(standby)
        if let shipping = standby.shipping {
            do throws(DatabaseError) {
                // And says so as often as who looks at the log expects.
                let most = min(standby.leaseMilliseconds / 4, Heartbeat.period * 1_000)
                try waitAsLeader(shipping, socket, milliseconds: most)
            } catch {
                try standby.failed(error)
            }
        } else if let following = standby.following {
            try following.log.wait(milliseconds: Self.pauseMilliseconds)
        } else if let socket {
            // The file of who does not lead yet may be written to, and who asks is not to wait.
            socket.serve(milliseconds: Int32(Self.pauseMilliseconds)) { batch throws(DatabaseError) in
                throw DatabaseError(.busy, "'\(file)' does not lead at the moment; try again")
            }
        } else {
            usleep(UInt32(Self.pauseMilliseconds) * 1_000)
        }
    }

    private func printEvent(_ event: StandbyEvent) {
        switch event {
        case .nothing: break
        case .follows(let name, let version): printLine("following \(name) from version \(version.rawValue)")
        case .leads(let version): printLine("leading from version \(version.rawValue)")
        case .following(let step): printApplied(step)
        case .leading(let step): printShipped(step)
        case .ended(let why): printLine("beginning again: \(why)")
        case .setAside(let file, let batch):
            if let file { printLine("the file that led before is kept as \(file)") }
            if let batch { printLine("what it had committed and not shipped is in \(batch)") }
            printLine("the file begins again from a snapshot")
        }
    }
}
