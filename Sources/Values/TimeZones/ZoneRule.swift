/// The rule by which a zone goes on after the last change that its file names: a POSIX TZ text such as
/// `CET-1CEST,M3.5.0,M10.5.0/3`, with the forms that RFC 8536 allows.
package struct ZoneRule: Sendable {
    /// Of standard time and of summer time, in seconds east of UTC.
    package let standard: Int64
    package let summer: Int64
    /// When summer time begins and ends; nil: never.
    private let change: (begin: Day, end: Day)?

    private struct Day: Sendable {
        enum Form: Sendable {
            /// The n-th weekday of a month, 5: the last; 0 is Sunday.
            case weekday(month: Int64, week: Int64, day: Int64)
            /// 1 to 365, without the odd day of leap years.
            case yearDay(Int64)
            /// 0 to 365, with it.
            case leapYearDay(Int64)
        }
        var form: Form
        /// In local time, from that day's midnight on.
        var seconds: Int64

        /// Seconds since 1970 in local time.
        func second(of year: Int64) -> Int64 {
            let days: Int64
            switch form {
            case .leapYearDay(let day): days = TimeText.daysSince1970(year, 1, 1) + day
            case .yearDay(let day):
                let march = TimeText.daysSince1970(year, 3, 1)
                days = day < 60 ? TimeText.daysSince1970(year, 1, 1) + day - 1 : march + day - 60
            case .weekday(let month, let week, let day):
                let first = TimeText.daysSince1970(year, month, 1)
                // 1970 began on a Thursday.
                let firstDay = TimeText.floorDivided(first + 4, 7).remainder
                var found = first + TimeText.floorDivided(day - firstDay, 7).remainder + (week - 1) * 7
                let next =
                    month == 12
                    ? TimeText.daysSince1970(year + 1, 1, 1) : TimeText.daysSince1970(year, month + 1, 1)
                while found >= next { found -= 7 }
                days = found
            }
            return days * 86_400 + seconds
        }
    }

    /// In UTC.
    package func changes(of year: Int64) -> (begin: Int64, end: Int64)? {
        change.map { ($0.begin.second(of: year) - standard, $0.end.second(of: year) - summer) }
    }

    // MARK: Text

    package init?(_ text: some Sequence<UInt8>) {
        var reader = Reader(bytes: Array(text))
        guard reader.name(), let west = reader.time(mostHours: 24) else { return nil }
        standard = -west
        guard !reader.isDone else {
            summer = standard
            change = nil
            return
        }
        guard reader.name() else { return nil }
        if reader.isAt(",") {
            summer = standard + 3_600
        } else {
            guard let west = reader.time(mostHours: 24) else { return nil }
            summer = -west
        }
        guard reader.take(","), let begin = reader.day(), reader.take(","), let end = reader.day(), reader.isDone else {
            return nil
        }
        change = (begin, end)
    }

    private struct Reader {
        let bytes: [UInt8]
        var index = 0

        var isDone: Bool { index == bytes.count }
        func isAt(_ sign: Unicode.Scalar) -> Bool { index < bytes.count && bytes[index] == UInt8(ascii: sign) }

        mutating func take(_ sign: Unicode.Scalar) -> Bool {
            guard isAt(sign) else { return false }
            index += 1
            return true
        }

        /// Letters, or anything in angle brackets; what it is does not matter.
        mutating func name() -> Bool {
            let start = index
            if take("<") {
                while index < bytes.count, !isAt(">") { index += 1 }
                return take(">")
            }
            while index < bytes.count, bytes[index] | 0x20 >= 97, bytes[index] | 0x20 <= 122 { index += 1 }
            return index - start >= 3
        }

        mutating func number(most: Int64) -> Int64? {
            let start = index
            var value: Int64 = 0
            while index < bytes.count, bytes[index] &- 48 < 10, index - start < 4 {
                value = value * 10 + Int64(bytes[index] - 48)
                index += 1
            }
            return index > start && value <= most ? value : nil
        }

        /// Hours with minutes and seconds, signed.
        mutating func time(mostHours: Int64) -> Int64? {
            let isNegative = take("-")
            if !isNegative { _ = take("+") }
            guard var seconds = number(most: mostHours).map({ $0 * 3_600 }) else { return nil }
            for unit in [Int64(60), 1] where take(":") {
                guard let part = number(most: 59) else { return nil }
                seconds += part * unit
            }
            return isNegative ? -seconds : seconds
        }

        mutating func day() -> Day? {
            let form: Day.Form
            if take("M") {
                guard let month = number(most: 12), month > 0, take("."), let week = number(most: 5), week > 0,
                    take("."), let day = number(most: 6)
                else { return nil }
                form = .weekday(month: month, week: week, day: day)
            } else if take("J") {
                guard let day = number(most: 365), day > 0 else { return nil }
                form = .yearDay(day)
            } else {
                guard let day = number(most: 365) else { return nil }
                form = .leapYearDay(day)
            }
            guard take("/") else { return Day(form: form, seconds: 7_200) }
            guard let seconds = time(mostHours: 167) else { return nil }
            return Day(form: form, seconds: seconds)
        }
    }
}
