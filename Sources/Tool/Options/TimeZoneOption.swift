/// `--zone`: in which zone times are that name none, by the C library and the system's table of zones.
///
/// The zone is one of the whole process, which this program has for itself.
import ArgumentParser
import MotteExchange
import MotteValues

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

enum TimeZoneOption {
    /// Of a time of day there, in seconds since 1970 as if it were in UTC, the real number of seconds; nil for a time
    /// that the clocks there skip. One that they show twice is the first.
    static func reader(_ name: String) throws(DatabaseError) -> @Sendable (Int64) -> Int64? {
        if let seconds = fixed(name) { return { $0 - seconds } }
        let folder = Colour.variable("TZDIR")
        let path = (folder.isEmpty ? "/usr/share/zoneinfo" : folder) + "/" + name
        // No path: a name of the table.
        let isOfTable = !name.parts(between: "/").contains { $0.isEmpty || $0.hasSameBytes(as: "..") }
        guard isOfTable, access(path, R_OK) == 0 else {
            throw DatabaseError(
                .invalidArgument,
                "there is no time zone '\(name)'; zones are UTC, +02:00, or names as Europe/Berlin, which take the "
                    + "system's table of zones (package tzdata)")
        }
        setenv("TZ", ":" + name, 1)
        tzset()
        return { seconds in local(seconds) }
    }

    private static func fixed(_ name: String) -> Int64? {
        if name == "UTC" || name == "Z" { return 0 }
        let digits = name.utf8.dropFirst().filter { $0 != UInt8(ascii: ":") }
        guard let sign = name.utf8.first, sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-"),
            digits.count == 4 || digits.count == 2, digits.allSatisfy({ (0x30 ... 0x39).contains($0) }),
            let number = Int64(String(decoding: digits, as: UTF8.self))
        else { return nil }
        let (hours, minutes) = digits.count == 4 ? (number / 100, number % 100) : (number, 0)
        guard hours < 24, minutes < 60 else { return nil }
        return (hours * 3_600 + minutes * 60) * (sign == UInt8(ascii: "-") ? -1 : 1)
    }

    private static func local(_ seconds: Int64) -> Int64? {
        var time = time_t(seconds)
        var wanted = tm()
        guard gmtime_r(&time, &wanted) != nil else { return nil }
        // Of two, the one in summer time is the first.
        for isSummer in [Int32(1), 0] {
            var parts = wanted
            parts.tm_isdst = isSummer
            var found = mktime(&parts)
            var back = tm()
            guard localtime_r(&found, &back) != nil, back.tm_isdst == isSummer else { continue }
            if back.tm_hour == wanted.tm_hour, back.tm_min == wanted.tm_min, back.tm_sec == wanted.tm_sec,
                back.tm_mday == wanted.tm_mday
            {
                return Int64(found)
            }
        }
        return nil
    }
}
