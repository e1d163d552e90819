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
    guard place.contains("://"), !NatsPlace.isOne(place) else { return }
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
    private var said: String?
    private static let pauseMicroseconds: UInt32 = 500_000

    init(isPatient: Bool) { self.isPatient = isPatient }

    mutating func wait(_ error: DatabaseError) throws(DatabaseError) {
        let mayPass = [.timeout, .inputOutput, .fileNotFound].contains(error.code)
        guard isPatient, mayPass, let place = error.details.path, NatsPlace.isOne(place) else { throw error }
        if said != error.message { printError("motte: \(error.message); trying again") }
        said = error.message
        usleep(Self.pauseMicroseconds)
    }

    mutating func isOver() { said = nil }
}
