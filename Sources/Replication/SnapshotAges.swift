/// How old snapshots are. Between two that the same machine has made without a restart in between it is the time that
/// the machine has run that counts: a clock that was ahead for a while, or was put right, makes nothing older.
import CMotteShim
import MotteStorage
import MotteValues

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// For how long a machine has run, and since which start.
package struct Uptime: Equatable, Sendable {
    let start: String
    let milliseconds: Int64

    private static let startPath = "/proc/sys/kernel/random/boot_id"
    private static let thisStart: String? = {
        guard let file = motte_shim_open_text(startPath) else { return nil }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 64)
        guard fgets(&line, Int32(line.count), file) != nil else { return nil }
        let text = line.prefix { $0 != 0 && $0 != 10 }.map { UInt8(bitPattern: $0) }
        return text.isEmpty ? nil : String(decoding: text, as: UTF8.self)
    }()

    package init(start: String, milliseconds: Int64) { (self.start, self.milliseconds) = (start, milliseconds) }

    /// nil where the system does not tell.
    static var now: Uptime? {
        guard let thisStart else { return nil }
        var now = timespec()
        guard clock_gettime(CLOCK_BOOTTIME, &now) == 0 else { return nil }
        return Uptime(start: thisStart, milliseconds: Int64(now.tv_sec) * 1_000 + Int64(now.tv_nsec) / 1_000_000)
    }
}

package struct SnapshotAges {
    private struct Moment {
        var wallTimeNanoseconds: Int64
        var uptime: Uptime?

        func milliseconds(until later: Moment) -> Int64 {
            if let uptime, let other = later.uptime, uptime.start == other.start {
                return max(0, other.milliseconds - uptime.milliseconds)
            }
            return max(0, later.wallTimeNanoseconds / 1_000_000 - wallTimeNanoseconds / 1_000_000)
        }
    }

    /// The oldest first.
    private var snapshots: [(snapshot: LogSnapshot, milliseconds: Int64)] = []

    /// Of all who have led, `origin` last.
    package init(_ all: [LogSnapshot], leader origin: ChangeOrigin, wallTimeNanoseconds now: Int64, uptime: Uptime?) {
        var later = Moment(wallTimeNanoseconds: now, uptime: uptime)
        var age: Int64 = 0
        let own = all.filter { $0.origin == origin }.sorted { $0.info.version < $1.info.version }
        for snapshot in all.filter({ $0.origin != origin }) + own { snapshots.append((snapshot, 0)) }
        for index in snapshots.indices.reversed() {
            let info = snapshots[index].snapshot.info
            let moment = Moment(wallTimeNanoseconds: info.wallTimeNanoseconds, uptime: info.uptime)
            age += moment.milliseconds(until: later)
            snapshots[index].milliseconds = age
            later = moment
        }
    }

    /// The newest that is as old.
    package func newest(asOldAs seconds: Int64) -> LogSnapshot? {
        snapshots.last { $0.milliseconds >= seconds * 1_000 }?.snapshot
    }
}
