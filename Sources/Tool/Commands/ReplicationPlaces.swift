/// Where files are shipped to and followed from, as users name it: a folder, or `nats://HOST:PORT/NAME`.
import ArgumentParser
import MotteReplication
import MotteValues

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// For servers; a folder needs none of them.
struct LoginOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp("For a server: a file with the user's token and seed.", valueName: "file"))
    var creds: String?
    @Option(
        name: .customLong("tls-ca"),
        help: ArgumentHelp("For a server: a file with certificates of who vouches for it.", valueName: "file"))
    var authorities: String?
    @Option(
        name: .customLong("tls-cert"),
        help: ArgumentHelp("For a server: a file with the client's certificate.", valueName: "file"))
    var certificate: String?
    @Option(
        name: .customLong("tls-key"), help: ArgumentHelp("For a server: a file with its key.", valueName: "file"))
    var key: String?

    func validate() throws {
        guard (certificate == nil) == (key == nil) else {
            throw ValidationError("--tls-cert and --tls-key go together")
        }
    }

    var nats: NatsOptions {
        var options = NatsOptions()
        (options.credentials, options.authorities) = (creds, authorities)
        (options.certificate, options.key) = (certificate, key)
        return options
    }
}

func checkPlace(_ place: String) throws {
    // The scheme ends where the first colon stands.
    let parts = place.parts(between: ":", most: 1)
    guard parts.count == 2, parts[1].beginsWithBytes(of: "//"), !NatsPlace.isOne(place) else { return }
    guard !PostgresFeed.isPlace(place) else {
        throw ValidationError("'\(place)' is fed by 'motte ship', and nobody can follow it")
    }
    throw ValidationError("'\(place)' is no place; name a folder, or nats://HOST:PORT/NAME")
}

/// What is followed from a place.
func openLog(_ place: String, _ login: LoginOptions) throws(DatabaseError) -> ReplicationLog {
    guard NatsPlace.isOne(place) else { return try FolderLog(place) }
    return StreamLog(try NatsServer(place, login.nats))
}

func openLogToShip(
    _ place: String, _ login: LoginOptions, replicas: Int?
) throws(DatabaseError) -> ReplicationLog {
    guard NatsPlace.isOne(place) else { return try FolderLog(place, making: true) }
    var options = login.nats
    options.replicas = replicas
    return StreamLog(try NatsServer(place, options))
}

/// A server that does not answer, or has nothing yet, is waited for; what else goes wrong ends the command.
struct Trouble {
    let isPatient: Bool
    private let socket: AcknowledgeSocket?
    /// A file that somebody has open is waited for too.
    private let waitsForFile: Bool
    private var said: String?
    private static let pauseMilliseconds: Int32 = 500

    init(isPatient: Bool, _ socket: AcknowledgeSocket? = nil, waitsForFile: Bool = false) {
        self.waitsForFile = waitsForFile
        self.isPatient = isPatient
        self.socket = socket
    }

    mutating func wait(_ error: DatabaseError) throws(DatabaseError) {
        let mayPass = [.timeout, .inputOutput, .fileNotFound, .outcomeUnknown].contains(error.code)
        let isOfServer = mayPass && error.details.path.map(NatsPlace.isOne) == true
        guard isPatient, isOfServer || waitsForFile && error.code == .busy else { throw error }
        if said != error.message { printError("motte: \(error.message); trying again") }
        said = error.message
        guard let socket else {
            usleep(UInt32(Self.pauseMilliseconds) * 1_000)
            return
        }
        // Who asks meanwhile is not to wait.
        socket.serve(milliseconds: Self.pauseMilliseconds) { batch throws(DatabaseError) in throw notAdded(error) }
    }

    mutating func isOver() { said = nil }
}

/// For who asks after a failure: of this commit nothing was sent.
private func notAdded(_ failure: DatabaseError) -> DatabaseError {
    guard failure.code == .outcomeUnknown else { return failure }
    return DatabaseError(.busy, "the commit is not made, as that of another one is not known: \(failure.message)")
}

/// Answers who asks for an acknowledgement, or waits for a change where nobody may.
func waitAsLeader(_ shipping: Shipping, _ socket: AcknowledgeSocket?, milliseconds: Int64) throws(DatabaseError) {
    guard let socket else {
        _ = try shipping.session.waitForChange(timeoutMilliseconds: shipping.log.isTrimming ? 0 : milliseconds)
        return
    }
    var failure: DatabaseError?
    socket.serve(milliseconds: 5) { batch throws(DatabaseError) in
        if let failure { throw notAdded(failure) }
        do throws(DatabaseError) { try shipping.acknowledge(batch) } catch {
            // What is wrong with the batch alone is for who sent it.
            if error.code != .invalidArgument { failure = error }
            throw error
        }
    }
    if let failure { throw failure }
}

struct LeaderOptions: ParsableArguments {
    @Option(help: "How followers call this file; its path, if not said.") var name: String?
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
    @Option(
        help: ArgumentHelp(
            "Acknowledge commits before they are made to who asks at this socket, which is made.", valueName: "socket"))
    var acknowledge: String?
    @Option(help: "On how many servers everything is; 3 where so many are named, else 1.")
    var replicas: Int?
    @Flag(help: "Of an encrypted file: its changes are not encrypted there.") var plain = false

    func validate() throws {
        guard (1 ... 5).contains(replicas ?? 1) else { throw ValidationError("--replicas is a number from 1 to 5") }
        guard (keepFor ?? 0) >= 0, (keepFor ?? 0) <= Int64(OpenOptions.longestTimeout), (snapshotBytes ?? 0) >= 0 else {
            throw ValidationError("--keep-for and --snapshot-bytes are numbers from 0 on")
        }
    }

    var areGiven: Bool {
        replicas != nil || name != nil || keepFor != nil || snapshotBytes != nil || acknowledge != nil || plain
    }

    func options(_ file: String, _ socket: AcknowledgeSocket?) -> ShippingOptions {
        var options = ShippingOptions(name: name ?? file)
        options.beats = true
        options.keepSeconds = keepFor
        options.snapshotBytes = snapshotBytes
        options.isAsked = acknowledge != nil
        options.isPlain = plain
        guard let socket else { return options }
        // It is used by the thread that ships alone.
        nonisolated(unsafe) let own = socket
        options.refuses = {
            var isAsked = false
            own.serve(milliseconds: 0) { batch throws(DatabaseError) in
                isAsked = true
                throw DatabaseError(
                    .busy, "the commit is not made: another one, that was sent before, is taken in first; try again")
            }
            return isAsked
        }
        return options
    }

    func socket() throws(DatabaseError) -> AcknowledgeSocket? {
        guard let acknowledge else { return nil }
        return try AcknowledgeSocket(acknowledge)
    }
}
