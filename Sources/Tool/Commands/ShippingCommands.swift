/// `motte ship` and `motte follow`: a file's changes to a folder as they are committed, and from there into other
/// files. Both may be killed at any time, and go on where they were when they are begun again.
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

/// What is followed from a place.
func openLog(_ place: String) throws(DatabaseError) -> ReplicationLog { try FolderLog(place) }

/// Folders alone so far.
private func checkIsFolder(_ place: String) throws {
    guard !place.contains("://") else { throw ValidationError("'\(place)' is no folder; name one") }
}

struct ShipCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ship",
        abstract: "Write a file's changes to a folder as they are committed, for others to follow.",
        discussion: """
            Runs until it is ended, and may be begun again at any time. The folder gets the whole file now and then, and
            what changed after that.
              motte ship people.motte --to /backup/people
              motte ship people.motte --to /backup/people --keep-for 2592000
            """)

    @Argument(help: "The file.") var file: String
    @OptionGroup var opening: OpenOptions
    @Option(help: ArgumentHelp("The folder, which is made if there is none.", valueName: "folder")) var to: String
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
        try checkIsFolder(to)
        guard (keepFor ?? 0) >= 0, (keepFor ?? 0) <= Int64(OpenOptions.longestTimeout), (snapshotBytes ?? 0) >= 0 else {
            throw ValidationError("--keep-for and --snapshot-bytes are numbers from 0 on")
        }
    }

    func run() throws {
        endWithSignals()
        try reportingErrors(file) {
            let session = try openFile(file, opening, readOnly: false)
            var options = ShippingOptions(name: name ?? file)
            options.keepSeconds = keepFor
            options.snapshotBytes = snapshotBytes
            options.takesOver = takesOver
            options.isPlain = plain
            let shipping = try Shipping(session, to: try FolderLog(to, making: true), options)
            while true {
                switch try shipping.step() {
                case .changes(let from, let to, let bytes):
                    printLine("shipped changes after version \(from.rawValue) up to \(to.rawValue), \(bytes) bytes")
                case .snapshot(let version, let bytes):
                    printLine("shipped a snapshot of version \(version.rawValue), \(bytes) bytes")
                case .nothing:
                    if once { return }
                    _ = try session.waitForChange(timeoutMilliseconds: 1_000)
                }
            }
        }
    }
}

struct FollowCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "follow", abstract: "Keep a file the same as one that is shipped to a folder.",
        discussion: """
            The file is made if there is none. Runs until it is ended, and may be begun again at any time. Others may
            have the file open, and observe it; who writes to it is refused, until --stop makes it a file of its own.
              motte follow copy.motte --from /backup/people
              motte follow copy.motte --stop
            """)

    @Argument(help: "The file.") var file: String
    @OptionGroup var opening: OpenOptions
    @Option(help: ArgumentHelp("The folder that the leader ships to.", valueName: "folder")) var from: String?
    @Flag(help: "Apply what there is, and end.") var once = false
    @Flag(help: "Follow nobody any more: others may write.") var stop = false

    private static let pauseMilliseconds: Int64 = 500

    func validate() throws {
        guard (from == nil) == stop else { throw ValidationError("name a folder with --from, or say --stop") }
        if let from { try checkIsFolder(from) }
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
            let following = try Following(try opening.options(file), from: try openLog(from))
            printLine(
                "following \(following.leader.name) from version \(following.position.version.rawValue)")
            while true {
                if case .applied(let from, let to, let bytes) = try following.step() {
                    printLine("applied changes after version \(from.rawValue) up to \(to.rawValue), \(bytes) bytes")
                } else if once {
                    return
                } else {
                    try following.log.wait(milliseconds: Self.pauseMilliseconds)
                }
            }
        }
    }
}
