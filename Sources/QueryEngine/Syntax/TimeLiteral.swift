/// Times in query text.
///
///     2013-12-31                       a date is its midnight in UTC
///     2013-12-31T10:00:00.25+01:00     RFC 3339, also with a space for the T; the zone is not left out
///     2013-12-31@10:00:00:250          Realm's form, in UTC; the last number is nanoseconds
///
/// Four, two and two digits with nothing between them and the hyphens are a date; as a difference of numbers they are
/// written with spaces.
import MotteValues

enum TimeLiteral {
    enum Result {
        case nothing
        case mistake(String)
        case time(Timestamp, end: Int)
    }

    /// What begins with the digit at `start`.
    static func read(_ bytes: [UInt8], at start: Int) -> Result {
        var scan = Scan(bytes: bytes, position: start)
        guard let year = scan.number(), scan.take("-"), let month = scan.number(), scan.take("-"),
            let day = scan.number()
        else { return .nothing }
        if scan.take("@") { return realm(&scan, date: (year, month, day)) }
        guard year.digits == 4, month.digits == 2, day.digits == 2 else { return .nothing }
        let dateEnd = scan.position
        if scan.takesTime() {
            let hasZone = scan.time()
            let time = parsed(bytes, start, scan.position)
            if let time, !scan.isInWord { return .time(time, end: scan.position) }
            return .mistake(
                hasZone
                    ? noSuchTime
                    : "a time names its zone: 2013-12-31T10:00:00Z in UTC, or 2013-12-31T10:00:00+01:00")
        }
        scan.position = dateEnd
        guard !scan.isInWord, let time = parsed(bytes, start, dateEnd) else { return .mistake(noSuchTime) }
        return .time(time, end: dateEnd)
    }

    private static let noSuchTime =
        "there is no such time; times are written 2013-12-31T10:00:00Z, dates 2013-12-31, and differences with spaces"

    static func seconds(ofUnit letter: UInt8) -> Int64? {
        switch letter {
        case UInt8(ascii: "s"): 1
        case UInt8(ascii: "m"): 60
        case UInt8(ascii: "h"): 3_600
        case UInt8(ascii: "d"): 86_400
        case UInt8(ascii: "w"): 604_800
        default: nil
        }
    }

    private static func parsed(_ bytes: [UInt8], _ start: Int, _ end: Int) -> Timestamp? {
        bytes.withUnsafeBytes { TimeText.parse(UnsafeRawBufferPointer(rebasing: $0[start ..< end])) }
    }

    private typealias Number = (value: Int64, digits: Int)

    /// Behind the `@`: its numbers have any number of digits.
    private static func realm(_ scan: inout Scan, date: (year: Number, month: Number, day: Number)) -> Result {
        let mistake = Result.mistake("a time with an @ is 2013-12-31@10:00:00 or 2013-12-31@10:00:00:0, in UTC")
        guard let hour = scan.number(), scan.take(":"), let minute = scan.number(), scan.take(":"),
            let second = scan.number(), date.year.digits <= 4, hour.value < 24, minute.value < 60, second.value < 60
        else { return mistake }
        var nanoseconds: Int64 = 0
        if scan.take(":") {
            guard let number = scan.number() else { return mistake }
            nanoseconds = number.value
        }
        func padded(_ number: Number, _ width: Int) -> String {
            let digits = String(number.value)
            return String(repeating: "0", count: max(0, width - digits.utf8.count)) + digits
        }
        let text = padded(date.year, 4) + "-" + padded(date.month, 2) + "-" + padded(date.day, 2)
        guard nanoseconds < 1_000_000_000, !scan.isInWord, let midnight = TimeText.parse(text) else { return mistake }
        let time = Timestamp(
            seconds: midnight.seconds + hour.value * 3_600 + minute.value * 60 + second.value,
            nanoseconds: UInt32(nanoseconds))
        return .time(time, end: scan.position)
    }

    private struct Scan {
        let bytes: [UInt8]
        var position: Int

        private func byte(_ ahead: Int = 0) -> UInt8? {
            position + ahead < bytes.count ? bytes[position + ahead] : nil
        }

        private func isDigit(_ ahead: Int = 0) -> Bool { byte(ahead).map(Lexer.isDigit) == true }

        var isInWord: Bool { byte().map(Lexer.isWordByte) == true }

        mutating func take(_ character: Unicode.Scalar) -> Bool {
            guard let byte = byte(), UInt32(byte) == character.value else { return false }
            position += 1
            return true
        }

        /// nil without a digit and for more of them than any part of a time has.
        mutating func number() -> Number? {
            var value: Int64 = 0, digits = 0
            while let byte = byte(), Lexer.isDigit(byte) {
                digits += 1
                guard digits <= 9 else { return nil }
                value = value * 10 + Int64(byte - 0x30)
                position += 1
            }
            return digits > 0 ? (value, digits) : nil
        }

        /// The letter or space between a date and a time.
        mutating func takesTime() -> Bool {
            if take("T") || take("t") { return true }
            guard byte() == 0x20, isDigit(1), isDigit(2), byte(3) == UInt8(ascii: ":") else { return false }
            position += 1
            return true
        }

        /// To its end; whether there was a zone. What is wrong with it is found by reading the whole.
        mutating func time() -> Bool {
            while let byte = byte(), Lexer.isDigit(byte) || byte == UInt8(ascii: ":") || byte == UInt8(ascii: ".") {
                position += 1
            }
            if take("Z") || take("z") { return true }
            guard byte() == UInt8(ascii: "+") || byte() == UInt8(ascii: "-"), isDigit(1), isDigit(2) else {
                return false
            }
            position += 3
            if byte() == UInt8(ascii: ":"), isDigit(1), isDigit(2) {
                position += 3
            } else if isDigit(), isDigit(1) {
                position += 2
            }
            return true
        }
    }
}
