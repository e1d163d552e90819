/// Where the bytes of a write wait for its commit: in large segments that never move, in memory up to a limit and past
/// it in an unlinked file beside the database, mapped, so that the kernel can write them back and take their memory.
///
/// Reserving never fails: where the file cannot grow, segments come from memory again. `makeRoom` is where a full disk
/// is an error; writers call it before they change anything. A store whose bytes must not reach a disk unencrypted
/// gives its spill files no folder (`SpillPlan.memory`).
///
/// Owned by one write transaction or one batch; one thread.
import CMotteShim
import MotteValues

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// What a spill file may use.
package struct SpillPlan: Sendable {
    /// Bytes kept in memory before the file is made.
    package var memoryBytes: Int
    /// Where the file is made; nil keeps everything in memory.
    package var folder: String?
    /// Of tests.
    var faults: FaultInjection?

    package init(memoryBytes: Int, folder: String?) {
        self.memoryBytes = memoryBytes
        self.folder = folder
    }

    package static let memory = SpillPlan(memoryBytes: .max, folder: nil)
    /// Of a write of a file whose pages may take so much.
    static func memoryBytes(beside pages: Int) -> Int { min(64 << 20, max(1 << 20, pages / 4)) }
}

/// A key and behind it its value, in a spill file.
package struct SpilledEntry {
    let start: UnsafeRawPointer
    let keyCount: Int
    let valueCount: Int

    package var value: UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: start + keyCount, count: valueCount)
    }
    package var key: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: start, count: keyCount) }
}

package final class SpillFile {
    private enum Origin { case heap, mapping }
    private var segments: [(bytes: UnsafeMutableRawBufferPointer, origin: Origin)] = []
    /// Mapped segments, by address.
    package private(set) var mapped: [Range<UnsafeRawPointer>] = []
    /// Those of them that were read in since they were let go, in the order in which they were.
    private var readIn: [Range<UnsafeRawPointer>] = []
    private var next: UnsafeMutableRawPointer?
    private var room = 0
    private var descriptor: Int32 = -1
    package let plan: SpillPlan
    /// Of one mapping.
    private let mappedBytes: Int
    package private(set) var heapBytes = 0
    package private(set) var fileBytes = 0

    private static let firstSegmentBytes = 16 << 10
    private static let mostMappedBytes = 16 << 20
    private static let leastMappedBytes = 2 << 20
    /// Segments that are let go once more: who took note of a value reads it a little later.
    private static let fewLastRead = 4

    package init(_ plan: SpillPlan = .memory) {
        self.plan = plan
        mappedBytes = min(Self.mostMappedBytes, max(Self.leastMappedBytes, plan.memoryBytes / 4))
    }

    private var largestSegmentBytes: Int { min(4 << 20, mappedBytes) }
    /// What `makeRoom` wants to be free: enough for some thousand rows.
    private var comfortableRoom: Int { mappedBytes / 4 }

    deinit {
        for segment in segments {
            switch segment.origin {
            case .heap: segment.bytes.deallocate()
            case .mapping: motte_shim_unmap(segment.bytes.baseAddress, segment.bytes.count)
            }
        }
        if descriptor >= 0 { closeDescriptor(descriptor) }
    }

    // MARK: Adding

    /// Uninitialized bytes that stay where they are as long as the spill file lives.
    @inline(__always)
    package func reserve(_ count: Int) -> UnsafeMutableRawPointer {
        // Keys and values differ in length; starting each at 8 bytes keeps the copies and checksums aligned.
        let size = (count &+ 7) & ~7
        if let place = next, size <= room {
            next = place + size
            room &-= size
            return place
        }
        return reserveInNewSegment(size)
    }

    /// Copies the key and lends room for the value behind it.
    package func reserve(
        key: UnsafeRawBufferPointer, valueCount: Int
    ) -> (entry: SpilledEntry, value: UnsafeMutableRawPointer) {
        let start = reserve(key.count + valueCount)
        UnsafeMutableRawBufferPointer(start: start, count: key.count).copyMemory(from: key)
        return (SpilledEntry(start: start, keyCount: key.count, valueCount: valueCount), start + key.count)
    }

    package func add(_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) -> SpilledEntry {
        let (entry, place) = reserve(key: key, valueCount: value.count)
        UnsafeMutableRawBufferPointer(start: place, count: value.count).copyMemory(from: value)
        return entry
    }

    /// Fails with `.diskFull` where the memory is used up and the file cannot grow; nothing has changed then.
    package func makeRoom() throws(DatabaseError) {
        try plan.faults?.willGrow()
        guard usesFile, room < comfortableRoom else { return }
        let status = addMappedSegment(mappedBytes)
        if status == ENOSPC || status == EDQUOT || status == EFBIG {
            throw DatabaseError(
                .diskFull, "the disk is full; the write is still open, with everything in it", path: plan.folder)
        }
        // A folder without room for a file of ours, or a file system without mappings: memory has to do.
    }

    /// What lies in the file need not be in memory until it is read again.
    package func letGo() {
        for bytes in mapped { SpillFile.letGo(bytes) }
        readIn.removeAll(keepingCapacity: true)
    }

    /// Whether it lies in the file: what is about to be read comes into memory then, with what is around it.
    package func noteRead(_ place: UnsafeRawPointer) -> Bool {
        if let last = readIn.last, last.contains(place) { return true }
        let next = firstMapping(above: place)
        guard next > 0, mapped[next - 1].contains(place) else { return false }
        readIn.append(mapped[next - 1])
        return true
    }

    /// Lets go of what notes were taken of, and what was read with it.
    package func letGoOfRead() {
        for bytes in readIn { SpillFile.letGo(bytes) }
        readIn.removeFirst(max(0, readIn.count - SpillFile.fewLastRead))
    }

    private static func letGo(_ bytes: Range<UnsafeRawPointer>) {
        madvise(UnsafeMutableRawPointer(mutating: bytes.lowerBound), bytes.upperBound - bytes.lowerBound, MADV_DONTNEED)
    }

    private func firstMapping(above place: UnsafeRawPointer) -> Int {
        var low = 0
        var high = mapped.count
        while low < high {
            let middle = (low + high) / 2
            if mapped[middle].lowerBound <= place { low = middle + 1 } else { high = middle }
        }
        return low
    }

    private var usesFile: Bool { plan.folder != nil && heapBytes >= plan.memoryBytes }

    // MARK: Segments

    @inline(never)
    private func reserveInNewSegment(_ size: Int) -> UnsafeMutableRawPointer {
        if usesFile, addMappedSegment(max(size, mappedBytes)) == 0, let place = next {
            next = place + size
            room -= size
            return place
        }
        let start = addHeapSegment(atLeast: size)
        next = start + size
        room -= size
        return start
    }

    private func addHeapSegment(atLeast size: Int) -> UnsafeMutableRawPointer {
        let grown = segments.last.map { min($0.bytes.count * 2, largestSegmentBytes) }
        let count = max(grown ?? Self.firstSegmentBytes, size)
        let hugePage = 2 << 20
        let isLarge = count >= hugePage
        let start = UnsafeMutableRawPointer.allocate(byteCount: count, alignment: isLarge ? hugePage : 16)
        // Fresh memory is most of what a bulk load waits for; large pages save nine of ten faults.
        if isLarge { madvise(start, count, MADV_HUGEPAGE) }
        install(UnsafeMutableRawBufferPointer(start: start, count: count), .heap)
        heapBytes += count
        return start
    }

    /// 0, or what the system answered.
    private func addMappedSegment(_ count: Int) -> Int32 {
        guard let folder = plan.folder else { return EINVAL }
        if descriptor < 0 {
            let opened = Self.openUnlinked(in: folder)
            guard opened >= 0 else { return -opened }
            descriptor = opened
        }
        let page = Int(sysconf(Int32(_SC_PAGESIZE)))
        let size = (count + page - 1) / page * page
        // The blocks are there before the memory is: else a full disk would be a signal in the middle of a copy.
        let status = posix_fallocate(descriptor, off_t(fileBytes), off_t(size))
        guard status == 0 else { return status }
        guard let mapped = motte_shim_map_scratch(descriptor, Int64(fileBytes), size) else { return errno }
        // What was filled before can go: the file keeps it until the commit reads it.
        if let last = segments.last, last.origin == .mapping {
            madvise(last.bytes.baseAddress, last.bytes.count, MADV_DONTNEED)
        }
        fileBytes += size
        let start = UnsafeRawPointer(mapped)
        self.mapped.insert(start ..< start + size, at: firstMapping(above: start))
        install(UnsafeMutableRawBufferPointer(start: mapped, count: size), .mapping)
        return 0
    }

    private func install(_ bytes: UnsafeMutableRawBufferPointer, _ origin: Origin) {
        segments.append((bytes, origin))
        next = bytes.baseAddress
        room = bytes.count
    }

    /// A file without a name, so that nothing is left behind however the process ends; -errno where there is none.
    static func openUnlinked(in folder: String) -> Int32 {
        var template = Array((folder + "/.motte-spill-XXXXXX").utf8CString)
        return template.withUnsafeMutableBufferPointer { name in
            guard let name = name.baseAddress else { return -EINVAL }
            let opened = motte_shim_open_temporary(name)
            guard opened >= 0 else { return -errno }
            unlink(name)
            return opened
        }
    }
}
