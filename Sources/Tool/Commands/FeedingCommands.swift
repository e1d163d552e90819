/// `motte ship FILE --to postgresql://...` and its status: objects as rows of tables, for who reads SQL.
import ArgumentParser
import MotteExchange
import MotteLiveObjects
import MotteReplication
import MotteStorage
import MotteValues

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

extension ShipCommand {
    private static let pauseMicroseconds: UInt32 = 500_000

    /// What is said of folders and servers has no meaning for a feed.
    func checkFeed() throws {
        guard !leading.areGiven, !takesOver else {
            throw ValidationError("with postgresql://HOST/DATABASE only --class, --consumer and --once stand")
        }
    }

    /// A server that is away is waited for.
    func feed(_ first: Session) throws {
        var session = first
        var feed: PostgresFeed?
        var said: String?
        while true {
            do throws(DatabaseError) {
                let current: PostgresFeed
                if let feed {
                    current = feed
                } else {
                    let classes = classNames.isEmpty ? nil : classNames
                    current = try PostgresFeed(session, to: to, classes: classes, consumer: consumer)
                    feed = current
                }
                let step = try current.step()
                said = nil
                if case .fed(let version, let rows) = step {
                    printLine("fed changes up to version \(version.rawValue), \(rows) rows")
                    continue
                }
                if once { return try current.settle() }
                try current.settle(milliseconds: settlingMilliseconds)
                _ = try session.waitForChange(timeoutMilliseconds: 1_000)
            } catch {
                if try movedOn(error, session) {
                    feed = nil
                    session = try openFile(file, opening, readOnly: false)
                    continue
                }
                guard !once, error.code == .inputOutput else { throw error }
                if said != error.message { printError("motte: \(error.message); trying again") }
                said = error.message
                usleep(Self.pauseMicroseconds)
            }
        }
    }
}

extension StatusCommand {
    /// Whether the database has something of the file, and of no other copy of it.
    func printFeed(_ address: String) throws(DatabaseError) -> Bool {
        let session: Session
        do { session = try openFile(file, reading) } catch let error as DatabaseError { throw error } catch {
            throw DatabaseError(.internal, "\(error)")
        }
        let fed = try PostgresFeed.status(of: session, in: address)
        let version = try session.version
        if prometheus {
            let isHealthy = fed != nil && fed?.problem == nil
            printMetric(
                "healthy", "1 if the database has something of the file, and of no other copy of it.",
                isHealthy ? "1" : "0")
            printMetric("version", "Newest version of the file.", "\(version.rawValue)")
            guard let fed else { return false }
            printMetric("fed_version", "Version of the file that the database has.", "\(fed.version.rawValue)")
            guard isHealthy else { return false }
            let backlog = try session.backlog(after: fed.version)
            printMetric(
                "lag_versions", "Commits that changed something and are not in the database.", "\(backlog.commits)")
            if let age = backlog.nanoseconds(at: wallTimeNanoseconds()) {
                printMetric("lag_seconds", "How long ago the first of these was committed.", Self.seconds(age))
            }
            return true
        }
        printLine("version   \(version.rawValue)")
        guard let fed else {
            printLine("problem   nothing of this file has been fed to the database")
            return false
        }
        let time = fed.committedAt.map { " (\(TimeText.text($0)))" } ?? ""
        printLine("fed       \(fed.version.rawValue)\(time)")
        if let problem = fed.problem {
            printLine("problem   \(problem)")
            return false
        }
        let backlog = try session.backlog(after: fed.version)
        printLine("lag       \(Self.lag(backlog.commits, backlog.nanoseconds(at: wallTimeNanoseconds())))")
        return true
    }

    private func printMetric(_ name: String, _ help: String, _ value: String) {
        let label = "{file=\"\(Self.escaped(file))\"}"
        printLine("# HELP motte_\(name) \(help)")
        printLine("# TYPE motte_\(name) gauge")
        printLine("motte_\(name)\(label) \(value)")
    }
}
