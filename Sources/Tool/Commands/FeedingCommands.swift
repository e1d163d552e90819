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
            throw ValidationError("with postgresql://HOST/DATABASE only --class and --once stand")
        }
    }

    /// A server that is away is waited for.
    func feed(_ session: Session) throws(DatabaseError) {
        var feed: PostgresFeed?
        var said: String?
        while true {
            do throws(DatabaseError) {
                let current: PostgresFeed
                if let feed {
                    current = feed
                } else {
                    current = try PostgresFeed(session, to: to, classes: classNames.isEmpty ? nil : classNames)
                    feed = current
                }
                let step = try current.step()
                said = nil
                if case .fed(let version, let rows) = step {
                    printLine("fed changes up to version \(version.rawValue), \(rows) rows")
                    continue
                }
                if once { return }
                _ = try session.waitForChange(timeoutMilliseconds: 1_000)
            } catch {
                guard !once, error.code == .inputOutput else { throw error }
                if said != error.message { printError("motte: \(error.message); trying again") }
                said = error.message
                usleep(Self.pauseMicroseconds)
            }
        }
    }
}

extension StatusCommand {
    /// Whether the database has something of the file.
    func printFeed(_ address: String) throws(DatabaseError) -> Bool {
        let session: Session
        do { session = try openFile(file, reading) } catch let error as DatabaseError { throw error } catch {
            throw DatabaseError(.internal, "\(error)")
        }
        let own = try session.ownPosition()
        let fed = try PostgresFeed.version(of: own.origin, in: address)
        if prometheus {
            printMetric("healthy", "1 if the database has something of the file.", fed == nil ? "0" : "1")
            printMetric("version", "Newest version of the file.", "\(own.version.rawValue)")
            guard let fed else { return false }
            printMetric("fed_version", "Version of the file that the database has.", "\(fed.version.rawValue)")
            printMetric(
                "lag_versions", "Versions that are in the file and not in the database.",
                "\(own.version.rawValue - min(own.version.rawValue, fed.version.rawValue))")
            return true
        }
        printLine("version   \(own.version.rawValue)")
        guard let fed else {
            printLine("problem   nothing of this file has been fed to the database")
            return false
        }
        let time = fed.committedAt.map { " (\(TimeText.text($0)))" } ?? ""
        printLine("fed       \(fed.version.rawValue)\(time)")
        let behind = own.version.rawValue - min(own.version.rawValue, fed.version.rawValue)
        var seconds = ""
        if let then = fed.committedAt, own.wallTimeNanoseconds > 0 {
            let fedTime = then.seconds * 1_000_000_000 + Int64(then.nanoseconds)
            // The database has it to the microsecond.
            seconds = ", \(Self.seconds(behind == 0 ? 0 : max(0, own.wallTimeNanoseconds - fedTime))) s"
        }
        printLine("lag       \(behind) versions\(seconds)")
        return true
    }

    private func printMetric(_ name: String, _ help: String, _ value: String) {
        let label = "{file=\"\(Self.escaped(file))\"}"
        printLine("# HELP motte_\(name) \(help)")
        printLine("# TYPE motte_\(name) gauge")
        printLine("motte_\(name)\(label) \(value)")
    }
}
