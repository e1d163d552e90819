/// Timestamps as ISO 8601 text, both ways, by integers: exact to the nanosecond and fast enough for every cell of a
/// file.
///
///     2013-01-01   2013-01-01T10:00:00Z   2013-01-01 10:00:00.25+02:00
///
/// A time needs its zone: without one it would not say when it was. A plain date is its midnight in UTC.
package enum ISOTime {
    /// nil where the text is no such time.
    package static func parse(_ text: String) -> Timestamp? {
        var scan = Scan(text)
        guard let year = scan.number(4), scan.skip("-"), let month = scan.number(2), scan.skip("-"),
              let day = scan.number(2), (1 ... 12).contains(month), day >= 1, day <= daysIn(month, of: year)
        else { return nil }
        let midnight = daysSince1970(year, month, day) * 86_400
        if scan.isAtEnd { return Timestamp(seconds: midnight, nanoseconds: 0) }
        guard scan.skip("T") || scan.skip(" "), let hour = scan.number(2), hour < 24, scan.skip(":"),
              let minute = scan.number(2), minute < 60, scan.skip(":"), let second = scan.number(2), second < 60
        else { return nil }
        var nanoseconds: Int64 = 0
        if scan.skip(".") {
            guard let fraction = scan.fraction() else { return nil }
            nanoseconds = fraction
        }
        guard let offset = scan.zone(), scan.isAtEnd else { return nil }
        return Timestamp(
            seconds: midnight + hour * 3_600 + minute * 60 + second - offset, nanoseconds: UInt32(nanoseconds))
    }

    package static func text(_ time: Timestamp) -> String {
        let (days, rest) = floorDivided(time.seconds, 86_400)
        let (year, month, day) = date(days)
        var text = padded(year, 4) + "-" + padded(month, 2) + "-" + padded(day, 2)
        text += "T" + padded(rest / 3_600, 2) + ":" + padded(rest / 60 % 60, 2) + ":" + padded(rest % 60, 2)
        guard time.nanoseconds > 0 else { return text + "Z" }
        var fraction = padded(Int64(time.nanoseconds), 9)
        while fraction.utf8.last == UInt8(ascii: "0") { fraction.removeLast() }
        return text + "." + fraction + "Z"
    }

    // MARK: The calendar, in eras of 400 years that begin on 1 March

    private static func daysSince1970(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
        let (era, yearOfEra) = floorDivided(month > 2 ? year : year - 1, 400)
        let dayOfYear = (153 * ((month + 9) % 12) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    private static func date(_ days: Int64) -> (year: Int64, month: Int64, day: Int64) {
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

    private static func floorDivided(_ value: Int64, _ divisor: Int64) -> (quotient: Int64, remainder: Int64) {
        let (quotient, remainder) = value.quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
    }

    private static func padded(_ number: Int64, _ width: Int) -> String {
        let digits = String(number.magnitude)
        return (number < 0 ? "-" : "") + String(repeating: "0", count: max(0, width - digits.utf8.count)) + digits
    }

    // MARK: Reading

    private struct Scan {
        private var rest: Substring.UTF8View

        init(_ text: String) { rest = Substring(text).utf8 }

        var isAtEnd: Bool { rest.isEmpty }

        mutating func skip(_ character: Unicode.Scalar) -> Bool {
            guard let byte = rest.first, UInt32(byte) == character.value else { return false }
            rest.removeFirst()
            return true
        }

        private mutating func digit() -> Int64? {
            guard let byte = rest.first, byte >= 0x30, byte <= 0x39 else { return nil }
            rest.removeFirst()
            return Int64(byte - 0x30)
        }

        mutating func number(_ digits: Int) -> Int64? {
            var number: Int64 = 0
            for _ in 0 ..< digits {
                guard let digit = digit() else { return nil }
                number = number * 10 + digit
            }
            return number
        }

        /// Of a second, in nanoseconds; digits past the ninth are below what is kept.
        mutating func fraction() -> Int64? {
            guard var nanoseconds = digit() else { return nil }
            var count = 1
            while let digit = digit() {
                if count < 9 { nanoseconds = nanoseconds * 10 + digit }
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
            if skip("Z") { return 0 }
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
