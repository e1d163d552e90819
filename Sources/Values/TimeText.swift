/// Timestamps from RFC 3339 text, by integers: exact to the nanosecond, fast enough for every cell of a file. How they
/// are written is in the module that exchanges data.
///
///     2013-01-01   2013-01-01T10:00:00Z   2013-01-01 10:00:00.25+02:00   +12345-01-01T00:00:00Z
///
/// A time needs its zone: without one it would not say when it was. A plain date is its midnight in UTC. Years outside
/// 0000 ... 9999 have a sign and at least five digits (ISO 8601's expanded form), so that every timestamp has a text.
package enum TimeText {
    /// nil where the text is no such time, or has more than nine digits of a second that count.
    package static func parse(_ text: UnsafeRawBufferPointer) -> Timestamp? { parse(text, needsZone: true) }

    /// The same with times that name no zone, in the one that `local` knows: from seconds as if they were in UTC to
    /// those that they are, or nil for a time that there is not.
    package static func parse(_ text: UnsafeRawBufferPointer, local: ((Int64) -> Int64?)?) -> Timestamp? {
        if let time = parse(text) { return time }
        guard let local, let time = parse(text, needsZone: false), let seconds = local(time.seconds) else { return nil }
        return Timestamp(seconds: seconds, nanoseconds: time.nanoseconds)
    }

    /// As SQLite has times: without a zone they are in UTC.
    package static func parseSQL(_ text: UnsafeRawBufferPointer) -> Timestamp? { parse(text, needsZone: false) }

    private static func parse(_ text: UnsafeRawBufferPointer, needsZone: Bool) -> Timestamp? {
        var scan = Scan(text)
        guard let year = scan.year(), scan.skip("-"), let month = scan.number(2), scan.skip("-"),
            let day = scan.number(2), (1 ... 12).contains(month), day >= 1, day <= daysIn(month, of: year)
        else { return nil }
        let days = daysSince1970(year, month, day)
        if scan.isAtEnd { return timestamp(days, 0, 0) }
        guard scan.skip("T") || scan.skip("t") || scan.skip(" "), let hour = scan.number(2), hour < 24, scan.skip(":"),
            let minute = scan.number(2), minute < 60, scan.skip(":"), let second = scan.number(2), second < 60
        else { return nil }
        var nanoseconds: Int64 = 0
        if scan.skip(".") {
            guard let fraction = scan.fraction() else { return nil }
            nanoseconds = fraction
        }
        let isPlain = !needsZone && scan.isAtEnd
        guard let offset = isPlain ? 0 : scan.zone(), scan.isAtEnd else { return nil }
        return timestamp(days, hour * 3_600 + minute * 60 + second - offset, nanoseconds)
    }

    package static func parse(_ text: String) -> Timestamp? { text.withUTF8Bytes { parse($0) } }

    private static func timestamp(_ days: Int64, _ seconds: Int64, _ nanoseconds: Int64) -> Timestamp? {
        let total = Int128(days) * 86_400 + Int128(seconds)
        return Int64(exactly: total).map { Timestamp(seconds: $0, nanoseconds: UInt32(nanoseconds)) }
    }

    // MARK: The calendar, in eras of 400 years that begin on 1 March

    package static func daysSince1970(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
        let (era, yearOfEra) = floorDivided(month > 2 ? year : year - 1, 400)
        let dayOfYear = (153 * ((month + 9) % 12) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    package static func date(_ days: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let (era, dayOfEra) = floorDivided(days + 719_468, 146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shifted = (5 * dayOfYear + 2) / 153
        let month = shifted < 10 ? shifted + 3 : shifted - 9
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * shifted + 2) / 5 + 1)
    }

    private static func daysIn(_ month: Int64, of year: Int64) -> Int64 {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    package static func floorDivided(_ value: Int64, _ divisor: Int64) -> (quotient: Int64, remainder: Int64) {
        let (quotient, remainder) = value.quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
    }

    // MARK: Reading

    private struct Scan {
        private let bytes: UnsafeRawBufferPointer
        private var position = 0

        init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

        var isAtEnd: Bool { position == bytes.count }

        mutating func skip(_ character: Unicode.Scalar) -> Bool {
            guard position < bytes.count, UInt32(bytes[position]) == character.value else { return false }
            position += 1
            return true
        }

        private mutating func digit() -> Int64? {
            guard position < bytes.count, bytes[position] &- 0x30 < 10 else { return nil }
            position += 1
            return Int64(bytes[position - 1] - 0x30)
        }

        mutating func number(_ digits: Int) -> Int64? {
            var number: Int64 = 0
            for _ in 0 ..< digits {
                guard let digit = digit() else { return nil }
                number = number * 10 + digit
            }
            return number
        }

        mutating func year() -> Int64? {
            let isNegative = skip("-")
            guard isNegative || skip("+") else { return number(4) }
            // As many as the largest timestamp's year has, and at least the five that make it differ.
            guard var year = number(5) else { return nil }
            var count = 5
            while let digit = digit() {
                count += 1
                guard count <= 12 else { return nil }
                year = year * 10 + digit
            }
            return isNegative ? -year : year
        }

        /// Of a second, in nanoseconds.
        mutating func fraction() -> Int64? {
            guard var nanoseconds = digit() else { return nil }
            var count = 1
            while let digit = digit() {
                if count < 9 { nanoseconds = nanoseconds * 10 + digit } else if digit != 0 { return nil }
                count += 1
            }
            while count < 9 {
                nanoseconds *= 10
                count += 1
            }
            return nanoseconds
        }

        /// Seconds east of UTC: Z, +02:00, +0200 or +02.
        mutating func zone() -> Int64? {
            if skip("Z") || skip("z") { return 0 }
            let isEast = skip("+")
            guard isEast || skip("-"), let hours = number(2), hours < 24 else { return nil }
            var minutes: Int64 = 0
            if skip(":") || !isAtEnd {
                guard let number = number(2), number < 60 else { return nil }
                minutes = number
            }
            return (hours * 3_600 + minutes * 60) * (isEast ? 1 : -1)
        }
    }
}
