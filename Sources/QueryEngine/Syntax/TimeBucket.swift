/// Spans of the calendar that times are grouped by, in UTC or as the clocks of a zone show it. Weeks begin on Monday,
/// quarters in January, April, July and October.
import MotteValues

package enum TimeBucket: String, Sendable, CaseIterable {
    case second, minute, hour, day, week, month, quarter, year

    /// The span that a second since 1970 is in; its end is the first second that is not.
    package func span(_ second: Int64) -> (start: Int64, end: Int64) {
        switch self {
        case .second: return Self.span(second, of: 1)
        case .minute: return Self.span(second, of: 60)
        case .hour: return Self.span(second, of: 3_600)
        case .day: return Self.span(second, of: Self.dayLength)
        case .week:
            // 1970 began on a Thursday.
            let week = Self.floor(Self.floor(second, Self.dayLength) + 3, 7)
            return (Self.seconds(week * 7 - 3), Self.seconds(week * 7 + 4))
        case .month: return Self.months(second, 1)
        case .quarter: return Self.months(second, 3)
        case .year: return Self.months(second, 12)
        }
    }

    private static let dayLength: Int64 = 86_400

    private static func floor(_ value: Int64, _ size: Int64) -> Int64 {
        let (quotient, rest) = value.quotientAndRemainder(dividingBy: size)
        return rest < 0 ? quotient - 1 : quotient
    }

    private static func span(_ second: Int64, of size: Int64) -> (start: Int64, end: Int64) {
        let start = Int128(floor(second, size)) * Int128(size)
        return (Int64(clamping: start), Int64(clamping: start + Int128(size)))
    }

    private static func seconds(_ days: Int64) -> Int64 { Int64(clamping: Int128(days) * Int128(dayLength)) }

    private static func months(_ second: Int64, _ count: Int64) -> (start: Int64, end: Int64) {
        let date = civil(floor(second, dayLength))
        let month = date.year * 12 + date.month - 1
        let first = floor(month, count) * count
        return (seconds(firstDay(first)), seconds(firstDay(first + count)))
    }

    /// The day since 1970 on which a month begins; months count from January of the year 0.
    private static func firstDay(_ month: Int64) -> Int64 {
        let year = floor(month, 12)
        return days(year, month - year * 12 + 1)
    }

    /// Days since 1970 of the first of a month, in the Gregorian calendar at all times; years begin in March here, so
    /// that the odd day of leap years comes last.
    private static func days(_ year: Int64, _ month: Int64) -> Int64 {
        let shifted = month <= 2 ? year - 1 : year
        let era = floor(shifted, 400)
        let yearOfEra = shifted - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    private static func civil(_ days: Int64) -> (year: Int64, month: Int64) {
        let shifted = days + 719_468
        let era = floor(shifted, 146_097)
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let part = (5 * dayOfYear + 2) / 153
        let month = part < 10 ? part + 3 : part - 9
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month)
    }
}

/// Spans of the calendar in a zone.
package struct TimeSpans: Sendable {
    package let bucket: TimeBucket
    /// nil: UTC.
    private let zone: ZoneTable?

    private static let farthest: Int64 = 1 << 60

    package init(_ bucket: TimeBucket, zone name: String? = nil) throws(DatabaseError) {
        self.bucket = bucket
        zone = try name.map { name throws(DatabaseError) in try ZoneTable.named(name) }
    }

    /// When the span that a second since 1970 is in begins, in UTC, and seconds around it that are in the same one.
    @inline(__always)
    package func span(_ second: Int64) -> (start: Int64, from: Int64, end: Int64) {
        // So far from 1970 there is no calendar, and hardly an Int64.
        guard let zone, second > -Self.farthest, second < Self.farthest else {
            let span = bucket.span(second)
            return (span.start, span.start, span.end)
        }
        return span(second, zone)
    }

    /// An hour that clocks show twice is two; a day is one, however long.
    @inline(never)
    private func span(_ second: Int64, _ zone: ZoneTable) -> (start: Int64, from: Int64, end: Int64) {
        let (offset, from, end) = zone.offset(at: second)
        let local = second + offset
        let span = bucket.span(local)
        let length = span.end - span.start
        let start = second - (local - span.start)
        // Midnights next to a change of clocks may come twice, or not at all.
        let isWithin = (from == .min || start - from >= 86_400) && (end == .max || start + length < end)
        switch bucket {
        case .second, .minute, .hour:
            let begin = start < from ? beginning(of: span.start, behind: from, offset, zone) : start
            return (begin, max(start, from), min(start + length, end))
        case .day, .week, .month, .quarter, .year:
            if isWithin { return (start, start, start + length) }
            let begin = zone.second(ofLocal: span.start), next = zone.second(ofLocal: span.end)
            return begin <= second && second < next ? (begin, begin, next) : (begin, second, second)
        }
    }

    /// Of a span in which clocks change: where they were put forward within it, it began before, else there.
    private func beginning(of local: Int64, behind change: Int64, _ offset: Int64, _ zone: ZoneTable) -> Int64 {
        let before = zone.offset(at: change - 1)
        let last = change - 1 + before.offset
        guard last < change + offset, bucket.span(last).start == local else { return change }
        return max(before.from, change - 1 - (last - local))
    }
}
