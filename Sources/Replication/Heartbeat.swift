/// What a leader says every few seconds to a log that it ships to, whether there is something new or not: so that who
/// looks at the log alone can tell a leader that has nothing to say from one that is gone.
import MotteStorage
import MotteValues

package struct Heartbeat: Equatable, Sendable {
    package let origin: ChangeOrigin
    package let wallTimeNanoseconds: Int64
    /// Newest version of the leader's file then.
    package let version: Version
    /// Within how many seconds it says something again; 0: it ships what there is, and ends.
    package let seconds: Int64

    /// How often something is said.
    package static let period: Int64 = 5
    /// For how many of these nothing has to come until the leader is taken for gone.
    private static let patience: Int64 = 6
    /// A heartbeat that promises the next one later than that is damaged.
    private static let mostSeconds: Int64 = 86_400

    package init(origin: ChangeOrigin, wallTimeNanoseconds: Int64, version: Version, seconds: Int64) {
        (self.origin, self.version, self.seconds) = (origin, version, seconds)
        self.wallTimeNanoseconds = wallTimeNanoseconds
    }

    init(_ bytes: [UInt8], _ place: String) throws(DatabaseError) {
        let text = try LogText(bytes, place)
        guard let origin = ChangeOrigin(text: try text.text("origin", place)) else { throw LogText.damaged(place) }
        self.origin = origin
        wallTimeNanoseconds = try text.number("time", place)
        version = Version(try text.number("version", place))
        seconds = try text.number("seconds", place)
        guard (0 ... Heartbeat.mostSeconds).contains(seconds) else { throw LogText.damaged(place) }
    }

    var bytes: [UInt8] {
        LogText([
            "origin": origin.text, "time": "\(wallTimeNanoseconds)", "version": "\(version.rawValue)",
            "seconds": "\(seconds)",
        ]).bytes
    }

    /// How long ago it was, by the clock of who asks.
    package func ageNanoseconds(at now: Int64) -> Int64 { max(0, now &- wallTimeNanoseconds) }

    /// How far the clock of who gave it is ahead of the one of who asks, where that is too much to tell whether it goes
    /// on; nil: it is not.
    package func secondsAhead(of now: Int64) -> Int64? {
        let (ahead, isFar) = wallTimeNanoseconds.subtractingReportingOverflow(now)
        let bound = max(seconds, Self.period) * Self.patience * 1_000_000_000
        return !isFar && ahead > bound ? ahead / 1_000_000_000 : nil
    }

    /// Whether another one should have come since.
    package func isOverdue(at now: Int64) -> Bool {
        seconds > 0 && ageNanoseconds(at: now) > seconds * Self.patience * 1_000_000_000
    }
}
