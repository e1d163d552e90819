/// What a zone's clocks show: the changes that its file in the system's time zone database names (RFC 8536), and the
/// rule by which they go on. Also of a fixed offset such as `+05:30`.
///
/// Read here, because libc knows one zone for the whole process only, which is the program's to choose.
#if canImport(Glibc)
import CMotteShim
import Glibc
#elseif canImport(Musl)
import Musl
#endif

private func readBytes(_ file: Int32, _ place: UnsafeMutableRawPointer, _ count: Int) -> Int {
    read(file, place, count)
}

package final class ZoneTable: Sendable {
    /// Seconds since 1970 from which on `offsets` hold, ascending.
    private let changes: [Int64]
    private let offsets: [Int64]
    /// Before the first change.
    private let first: Int64
    private let rule: ZoneRule?

    private init(changes: [Int64], offsets: [Int64], first: Int64, rule: ZoneRule?) {
        self.changes = changes
        self.offsets = offsets
        self.first = first
        self.rule = rule
    }

    /// Throws where there is no such zone.
    package static func named(_ name: String) throws(DatabaseError) -> ZoneTable {
        if name == "UTC" || name == "Z" { return ZoneTable(changes: [], offsets: [], first: 0, rule: nil) }
        if let seconds = fixedOffset(name) { return ZoneTable(changes: [], offsets: [], first: seconds, rule: nil) }
        guard isName(name) else { throw unknown(name) }
        let folder = getenv("TZDIR").map { String(cString: $0) } ?? "/usr/share/zoneinfo"
        guard let bytes = read(folder + "/" + name) else {
            guard access(folder, R_OK) != 0 else { throw unknown(name) }
            throw DatabaseError(
                .unsupported,
                "the time zone database is not in '\(folder)'; install Debian's package tzdata, or let TZDIR name its"
                    + " folder", path: folder)
        }
        guard let table = bytes.withUnsafeBytes({ parse($0) }) else {
            throw DatabaseError(.queryArgument, "'\(folder)/\(name)' is no time zone file", path: folder + "/" + name)
        }
        return table
    }

    private static func unknown(_ name: String) -> DatabaseError {
        DatabaseError(
            .queryArgument,
            "there is no time zone '\(name)'; zones are written as 'Europe/Berlin', 'UTC' or '+05:30'")
    }

    /// Nothing that leads out of the folder.
    private static func isName(_ name: String) -> Bool {
        let bytes = Array(name.utf8)
        guard let first = bytes.first, bytes.count <= 64, first | 0x20 >= 97, first | 0x20 <= 122 else { return false }
        return bytes.allSatisfy { byte in
            (byte | 0x20 >= 97 && byte | 0x20 <= 122) || byte &- 48 < 10 || "_-+/".utf8.contains(byte)
        }
    }

    private static func fixedOffset(_ name: String) -> Int64? {
        let bytes = Array(name.utf8)
        guard bytes.count == 6, bytes[0] == UInt8(ascii: "+") || bytes[0] == UInt8(ascii: "-"),
            bytes[3] == UInt8(ascii: ":")
        else { return nil }
        var digits: [Int64] = []
        for index in [1, 2, 4, 5] {
            guard bytes[index] &- 48 < 10 else { return nil }
            digits.append(Int64(bytes[index] - 48))
        }
        let hours = digits[0] * 10 + digits[1], minutes = digits[2] * 10 + digits[3]
        guard hours < 24, minutes < 60 else { return nil }
        let seconds = hours * 3_600 + minutes * 60
        return bytes[0] == UInt8(ascii: "-") ? -seconds : seconds
    }

    // MARK: File

    private static func read(_ path: String) -> [UInt8]? {
        let file = motte_shim_open_plain(path, O_RDONLY)
        guard file >= 0 else { return nil }
        defer { _ = close(file) }
        // Zones have some thousand bytes.
        let most = 1 << 20
        var bytes = [UInt8](repeating: 0, count: most)
        var used = 0
        while used < most {
            let wanted = most - used
            let count = bytes.withUnsafeMutableBytes { buffer in
                buffer.baseAddress.map { readBytes(file, $0 + used, wanted) } ?? -1
            }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { return nil }
            if count == 0 { break }
            used += count
        }
        return Array(bytes[..<used])
    }

    /// nil where it is none.
    package static func parse(_ bytes: UnsafeRawBufferPointer) -> ZoneTable? {
        guard let old = Header(bytes, at: 0) else { return nil }
        // From the second version on, times of 64 bits follow those of 32.
        guard old.version >= 2 else { return table(bytes, old, rule: nil) }
        guard let header = Header(bytes, at: old.end(timeBytes: 4)) else { return nil }
        let end = header.end(timeBytes: 8)
        guard end <= bytes.count else { return nil }
        let footer = bytes[end...]
        var rule: ZoneRule?
        if footer.count > 2 {
            guard footer.first == 10, let last = footer.dropFirst().firstIndex(of: 10) else { return nil }
            let text = footer[(footer.startIndex + 1) ..< last]
            if !text.isEmpty {
                guard let parsed = ZoneRule(text) else { return nil }
                rule = parsed
            }
        }
        return table(bytes, header, rule: rule)
    }

    private struct Header {
        let start: Int
        let version: Int
        let isUTCCount, isStandardCount, leapCount, timeCount, typeCount, nameBytes: Int

        init?(_ bytes: UnsafeRawBufferPointer, at start: Int) {
            guard start >= 0, bytes.count - start >= 44, bytes[start ..< (start + 4)].elementsEqual("TZif".utf8) else {
                return nil
            }
            func count(_ index: Int) -> Int {
                Int(UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: start + 20 + 4 * index, as: UInt32.self)))
            }
            self.start = start
            version = bytes[start + 4] == 0 ? 1 : Int(bytes[start + 4]) - 48
            (isUTCCount, isStandardCount, leapCount) = (count(0), count(1), count(2))
            (timeCount, typeCount, nameBytes) = (count(3), count(4), count(5))
            let most = bytes.count
            guard [isUTCCount, isStandardCount, leapCount, timeCount, typeCount, nameBytes].allSatisfy({ $0 <= most })
            else { return nil }
        }

        func end(timeBytes: Int) -> Int {
            start + 44 + timeCount * (timeBytes + 1) + typeCount * 6 + nameBytes + leapCount * (timeBytes + 4)
                + isStandardCount + isUTCCount
        }
    }

    private static func table(_ bytes: UnsafeRawBufferPointer, _ header: Header, rule: ZoneRule?) -> ZoneTable? {
        let isWide = header.version >= 2
        guard header.end(timeBytes: isWide ? 8 : 4) <= bytes.count, header.typeCount > 0 else { return nil }
        let times = header.start + 44
        let indexes = times + header.timeCount * (isWide ? 8 : 4)
        let types = indexes + header.timeCount
        func offset(_ type: Int) -> Int64? {
            guard type < header.typeCount else { return nil }
            let seconds = bytes.loadUnaligned(fromByteOffset: types + type * 6, as: Int32.self)
            let offset = Int64(Int32(bigEndian: seconds))
            return abs(offset) < 200_000 ? offset : nil
        }
        guard let first = offset(0) else { return nil }
        var changes: [Int64] = []
        var offsets: [Int64] = []
        for index in 0 ..< header.timeCount {
            let place = times + index * (isWide ? 8 : 4)
            let time =
                isWide
                ? Int64(bigEndian: bytes.loadUnaligned(fromByteOffset: place, as: Int64.self))
                : Int64(Int32(bigEndian: bytes.loadUnaligned(fromByteOffset: place, as: Int32.self)))
            guard let offset = offset(Int(bytes[indexes + index])), changes.last.map({ $0 < time }) ?? true else {
                return nil
            }
            changes.append(time)
            offsets.append(offset)
        }
        return ZoneTable(changes: changes, offsets: offsets, first: first, rule: rule)
    }

    // MARK: Asking

    /// Times further from 1970 than any calendar is sure of keep one offset.
    private static let farthest: Int64 = 1 << 47

    /// Seconds east of UTC at a time, and from when to when that holds.
    package func offset(at second: Int64) -> (offset: Int64, from: Int64, end: Int64) {
        let number = changes.partitioningIndex { $0 > second }
        guard number == changes.count else {
            return (
                number == 0 ? first : offsets[number - 1], number == 0 ? .min : changes[number - 1], changes[number]
            )
        }
        let from = changes.last ?? .min
        guard let rule else { return (offsets.last ?? first, from, .max) }
        guard second > -Self.farthest, second < Self.farthest else {
            return (rule.standard, from, .max)
        }
        let year = TimeText.date(TimeText.floorDivided(second, 86_400).quotient).year
        var around: [(second: Int64, offset: Int64)] = []
        for year in year - 1 ... year + 1 {
            guard let (begin, end) = rule.changes(of: year) else { return (rule.standard, from, .max) }
            around.append((begin, rule.summer))
            around.append((end, rule.standard))
        }
        around.sort { $0.second < $1.second }
        let next = around.firstIndex { $0.second > second } ?? around.count
        let before = next > 0 ? around[next - 1] : (second: from, offset: rule.standard)
        return (before.offset, max(from, before.second), next < around.count ? around[next].second : .max)
    }

    /// The first time at which clocks show `local` or more, seconds since 1970 as if it were UTC. Where a change leaves
    /// it out, the time of the change.
    package func second(ofLocal local: Int64) -> Int64 {
        // No zone is further from UTC.
        let day: Int64 = 86_400
        var (offset, from, end) = self.offset(at: Self.difference(local, day * 2))
        for _ in 0 ..< 16 {
            let candidate = Self.difference(local, offset)
            if candidate < end { return max(candidate, from) }
            if end == .max { return candidate }
            (offset, from, end) = self.offset(at: end)
        }
        return Self.difference(local, offset)
    }

    private static func difference(_ left: Int64, _ right: Int64) -> Int64 {
        let (difference, overflow) = left.subtractingReportingOverflow(right)
        return overflow ? (left < 0 ? .min : .max) : difference
    }
}

extension Array {
    /// The first index whose element holds, of elements of which the last ones do.
    fileprivate func partitioningIndex(_ holds: (Element) -> Bool) -> Int {
        var low = 0, high = count
        while low < high {
            let middle = (low + high) / 2
            if holds(self[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
