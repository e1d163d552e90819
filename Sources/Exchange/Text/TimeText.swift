/// Timestamps as RFC 3339 text; how they are read is with the values.
///
/// Years outside 0000 ... 9999 have a sign and at least five digits (ISO 8601's expanded form), so that every timestamp
/// has a text.
import MotteValues

extension TimeText {
    package static func write(_ time: Timestamp, to sink: inout ByteSink) {
        write(time, between: "T", to: &sink)
        sink.append(UInt8(ascii: "Z"))
    }

    /// As SQLite's `datetime()` has it, with as many digits of the second as it takes: texts ascend as times do.
    static func writeSQL(_ time: Timestamp, to sink: inout ByteSink) { write(time, between: " ", to: &sink) }

    private static func write(_ time: Timestamp, between separator: StaticString, to sink: inout ByteSink) {
        let (days, rest) = floorDivided(time.seconds, 86_400)
        let (year, month, day) = date(days)
        if year < 0 || year > 9_999 {
            sink.append(year < 0 ? UInt8(ascii: "-") : UInt8(ascii: "+"))
            sink.append(abs(year), width: 5)
        } else {
            sink.append(year, width: 4)
        }
        let (hour, minute, second) = (rest / 3_600, rest / 60 % 60, rest % 60)
        for (mark, number) in [("-", month), ("-", day), (separator, hour), (":", minute), (":", second)]
            as [(StaticString, Int64)]
        {
            sink.append(mark)
            sink.append(number, width: 2)
        }
        if time.nanoseconds > 0 {
            sink.append(UInt8(ascii: "."))
            var fraction = Int64(time.nanoseconds)
            var width = 9
            while fraction % 10 == 0 {
                fraction /= 10
                width -= 1
            }
            sink.append(fraction, width: width)
        }
    }

    package static func text(_ time: Timestamp) -> String {
        var sink = ByteSink()
        write(time, to: &sink)
        return sink.string
    }
}
