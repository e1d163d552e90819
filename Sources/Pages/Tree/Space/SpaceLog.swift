/// How the free-space map is kept in the file: a checkpoint with every free run, and behind it what each commit did.
/// The newest part of that log lies in the root slot; when it is full there, it moves to a page of its own, and when
/// those pages outweigh a checkpoint, a new checkpoint takes their place. So a small commit writes no page for it.
///
///     log      commit { version u64, steps u16, step ... }
///     step     u8 kind, page u40, count u32; kind 2 also birth u48
///              1: taken for use   2: died in this version
///     log page PageRef of the page before, or zero; u32 bytes of log; log
///     checkpoint  u64 run count; u64 page count; run { page u40, count u24, birth u64, death u64 }; birth 0 and
///                 death 0: free
///
/// Steps of a kind ascend. Free pages at the end of the file are dropped without a record: the slot's page count
/// says it.
import MotteValues

package struct SpaceLog {
    package enum Kind: UInt8 {
        case taken = 1
        case died
    }

    package static let commitHeader = 10
    package static let runBytes = 24
    /// Counts in a checkpoint have 24 bits.
    private static let mostRunPages: PageCount = 0xFF_FFFF
    package static let pageHeader = PageRef.encodedCount + 4

    /// What one commit does, while it is being made.
    package private(set) var bytes: [UInt8] = []
    private var stepCount = 0

    package init(_ version: Version) {
        SpaceLog.append(version.rawValue, 8, &bytes)
        SpaceLog.append(0, 2, &bytes)
    }

    /// False when a commit has more steps than a record should count: then it needs a checkpoint.
    var isComplete: Bool { stepCount < 60_000 }

    package mutating func take(_ run: PageRun) { step(.taken, run.start, run.count) }

    package mutating func die(_ run: PageRun, birth: Version) {
        step(.died, run.start, run.count)
        SpaceLog.append(birth.rawValue, 6, &bytes)
    }

    private mutating func step(_ kind: Kind, _ page: PageNumber, _ count: PageCount) {
        guard stepCount < Int(UInt16.max) else { return }
        stepCount += 1
        bytes[8] = UInt8(truncatingIfNeeded: stepCount)
        bytes[9] = UInt8(truncatingIfNeeded: stepCount >> 8)
        bytes.append(kind.rawValue)
        SpaceLog.append(UInt64(page.rawValue), 5, &bytes)
        SpaceLog.append(UInt64(count.rawValue), 4, &bytes)
    }

    private static func append(_ value: UInt64, _ count: Int, _ bytes: inout [UInt8]) {
        for index in 0 ..< count { bytes.append(UInt8(truncatingIfNeeded: value >> (8 * UInt64(index)))) }
    }

    // MARK: Reading.

    /// Does to `map` what the commits after `version` did. False: this is no log.
    package static func replay(_ bytes: UnsafeRawBufferPointer, after version: Version, _ map: inout SpaceMap) -> Bool {
        var offset = 0
        func number(_ count: Int) -> UInt64? {
            guard offset + count <= bytes.count else { return nil }
            var value: UInt64 = 0
            for index in 0 ..< count { value |= UInt64(bytes[offset + index]) << (8 * UInt64(index)) }
            offset += count
            return value
        }
        while offset < bytes.count {
            guard let commit = number(8).map({ Version($0) }), let steps = number(2) else { return false }
            for _ in 0 ..< steps {
                guard let kind = number(1).flatMap({ Kind(rawValue: UInt8($0)) }), let page = number(5),
                    let count = number(4)
                else { return false }
                let run = PageRun(start: PageNumber(Int(page)), count: PageCount(Int(count)))
                var birth = Version.zero
                if kind == .died {
                    guard let number = number(6) else { return false }
                    birth = Version(number)
                }
                guard commit > version else { continue }
                switch kind {
                case .taken:
                    // Records list pages in order: what the file grew past was left free.
                    if run.start > map.pageCount.end {
                        map.insert([PageRun(start: map.pageCount.end, count: run.start - map.pageCount.end)])
                    }
                    map.remove(run)
                    map.pageCount = max(map.pageCount, run.end.pagesBefore)
                case .died:
                    map.pageCount = max(map.pageCount, run.end.pagesBefore)
                    map.die(run, birth: birth, death: commit)
                }
            }
        }
        return true
    }

    // MARK: Checkpoints.

    package static let checkpointHeader = 16
    package static func checkpointBytes(_ runCount: Int) -> Int { checkpointHeader + runCount * runBytes }
    /// Room for so many runs in a file of so many pages, of which long ones take several entries.
    package static func checkpointBytes(_ runCount: Int, of pageCount: PageCount) -> Int {
        checkpointBytes(runCount + 1 + pageCount.rawValue / mostRunPages.rawValue)
    }

    package static func encodeCheckpoint(_ map: SpaceMap, _ target: UnsafeMutableRawBufferPointer) {
        guard let base = target.baseAddress else { return }
        var offset = checkpointHeader
        func add(_ run: PageRun, _ birth: Version, _ death: Version) {
            base.storeBytes(
                of: (UInt64(run.start.rawValue) | UInt64(run.count.rawValue) << 40).littleEndian,
                toByteOffset: offset, as: UInt64.self)
            base.storeBytes(of: birth.rawValue.littleEndian, toByteOffset: offset + 8, as: UInt64.self)
            base.storeBytes(of: death.rawValue.littleEndian, toByteOffset: offset + 16, as: UInt64.self)
            offset += runBytes
        }
        func addInParts(_ run: PageRun, _ birth: Version, _ death: Version) {
            var rest = run
            while rest.count > 0 {
                let part = PageRun(start: rest.start, count: min(mostRunPages, rest.count))
                add(part, birth, death)
                rest = PageRun(start: part.end, count: rest.count - part.count)
            }
        }
        for run in map.free { addInParts(run, .zero, .zero) }
        for dead in map.dead { addInParts(dead.run, dead.birth, dead.death) }
        base.storeBytes(of: UInt64((offset - checkpointHeader) / runBytes).littleEndian, as: UInt64.self)
        base.storeBytes(of: UInt64(map.pageCount.rawValue).littleEndian, toByteOffset: 8, as: UInt64.self)
    }

    /// nil: this is no checkpoint.
    package static func decodeCheckpoint(_ bytes: UnsafeRawBufferPointer) -> SpaceMap? {
        guard let base = bytes.baseAddress, bytes.count >= checkpointHeader else { return nil }
        let count = UInt64(littleEndian: base.loadUnaligned(as: UInt64.self))
        let pageCount = UInt64(littleEndian: base.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
        guard count <= UInt64((bytes.count - checkpointHeader) / runBytes), pageCount < 1 << 44 else { return nil }
        var map = SpaceMap(pageCount: PageCount(Int(pageCount)))
        var free: [PageRun] = []
        for index in 0 ..< Int(count) {
            let offset = checkpointHeader + index * runBytes
            let word = UInt64(littleEndian: base.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
            let run = PageRun(start: PageNumber(Int(word & 0xFF_FFFF_FFFF)), count: PageCount(Int(word >> 40)))
            let birth = Version(
                UInt64(littleEndian: base.loadUnaligned(fromByteOffset: offset + 8, as: UInt64.self)))
            let death = Version(
                UInt64(littleEndian: base.loadUnaligned(fromByteOffset: offset + 16, as: UInt64.self)))
            if death == .zero { free.append(run) } else { map.die(run, birth: birth, death: death) }
        }
        map.insert(free)
        return map
    }
}
