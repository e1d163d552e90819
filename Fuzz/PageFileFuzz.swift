/// A whole page file of which bytes were changed, with checksums that fit all the way up to the root slots
/// or without: it is opened, read, checked, written, closed, opened again and salvaged. Each is done or is an error;
/// with checksums left alone what is read is what was written.
///
/// Input: a byte of flags (0x80: checksums are left as they are, 0x40: the file is cut short, 0x20: the file whose last
/// versions are in a WAL), then edits: a page (two bytes), an offset in it (two bytes), and a byte.
import CMotteShim
import MottePages
import MotteValues

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

extension FuzzTarget {
    package static let pageFile = FuzzTarget(name: "pageFile", seeds: PageFileFuzz.seeds, run: PageFileFuzz.run)
}

enum PageFileFuzz {
    private static let pageBytes = 4096
    private static let allowed: [ErrorCode] = [
        .corrupted, .unsupportedFormat, .notAMotteFile, .mapFull, .diskFull, .outOfMemory, .busy,
    ]
    /// A sound file, and what each version holds, the newest last.
    private typealias Made = (file: [UInt8], versions: [[[UInt8]]])
    private static let plain = try? makeFile(walPages: 0)
    private static let withWAL = try? makeFile(walPages: 24)

    private static func open(_ disk: MemoryDisk, walPages: Int = 4) throws -> PageStore {
        var options = PageStoreOptions(location: .memory(identifier: nil))
        options.disk = disk
        options.walPages = walPages
        options.mostFileBytes = 4 << 20
        return try PageStore.open(options)
    }

    static func soundFile() throws -> [UInt8] { try makeFile(walPages: 0).file }

    private static func makeFile(walPages: Int) throws -> Made {
        let disk = MemoryDisk()
        let store = try open(disk, walPages: walPages)
        var versions = [try contents(of: store)]
        for round in 0 ..< 4 {
            var changes: [(String, [UInt8]?)] = []
            for index in 0 ..< 24 where (index + round) % 3 != 0 || round == 0 {
                let size = index % 8 == 0 ? 5000 : index * 20
                changes.append(("key-\(index)", [UInt8](repeating: UInt8(round * 16 + index % 16), count: size)))
            }
            changes.append(("gone-\(round)", round % 2 == 0 ? [1] : nil))
            try commit(store, changes)
            versions.append(try contents(of: store))
        }
        for round in 0 ..< (walPages > 0 ? 4 : 0) {
            let changes: [(String, [UInt8]?)] = [
                ("key-\(round)", [UInt8](repeating: 0xA0, count: 700 * round)), ("new-\(round % 2)", [UInt8(round)]),
                ("key-\(20 - round)", nil),
            ]
            try commit(store, changes)
            versions.append(try contents(of: store))
        }
        store.close()
        return (disk.contents, versions)
    }

    private static func commit(_ store: PageStore, _ changes: [(String, [UInt8]?)]) throws {
        var batch = PageBatch()
        for (key, value) in changes {
            if let value { batch.put(Array(key.utf8), value) } else { batch.delete(Array(key.utf8)) }
        }
        let lock = try store.lockForWriting(timeoutMilliseconds: 0)
        defer { lock.release() }
        try store.commit(batch, lock: lock, version: Version(try store.snapshot().version.rawValue + 1))
    }

    private static func contents(of store: PageStore) throws -> [[UInt8]] {
        let cursor = try store.snapshot().makeCursor()
        var all: [[UInt8]] = []
        var found = try cursor.seek([])
        // A file that somebody made may lead in circles; nobody follows it for ever.
        while found, all.count < 10_000 {
            if !cursor.key.elementsEqual(FileHeader.key) {
                all.append(Array(cursor.key))
                all.append(Array(cursor.value.bytes))
            }
            found = try cursor.next()
        }
        return all
    }

    @Sendable static func run(_ bytes: UnsafeRawBufferPointer) throws {
        var input = FuzzInput(bytes)
        let flags = input.byte()
        guard let made = flags & 0x20 == 0 ? plain : withWAL else {
            throw Finding("the sound file could not be made")
        }
        let versions = made.versions
        var file = made.file
        var edited: Set<Int> = []
        for _ in 0 ..< 24 where input.rest.count >= 5 {
            let page = input.half() % (file.count / pageBytes)
            let offset = input.half() % pageBytes
            file[page * pageBytes + offset] = input.byte()
            edited.insert(page)
        }
        let isHonest = flags & 0x80 != 0
        // Its first page may say, with a checksum that fits, that the file is encrypted.
        let allowed = isHonest ? PageFileFuzz.allowed : PageFileFuzz.allowed + [.wrongKey]
        if !isHonest { for page in edited.sorted() { reseal(&file, page) } }
        if flags & 0x40 != 0 { file.removeLast(input.half() % file.count) }
        let disk = MemoryDisk(file)
        _ = try politely(allowed) { try salvage(file) }
        _ = try politely(allowed) {
            let store = try open(disk)
            defer { store.close() }
            if let read = try politely(allowed, { try contents(of: store) }), isHonest {
                // The newest slot and something else damaged at once look like a commit that a power cut stopped: then
                // it is the version before, whole.
                let damages = edited.count + (flags & 0x40 == 0 ? 0 : 1)
                let mayBeOlder = edited.contains { (1 ..< TreeFormat.firstPage.rawValue).contains($0) } && damages > 1
                try Finding.require(
                    read == versions.last || mayBeOlder && versions.contains(read),
                    "a change without a fitting checksum is not found out")
            }
            _ = try politely(allowed) { try store.check() }
            _ = try politely(allowed) {
                try commit(store, [("key-5", [1]), ("new", [UInt8](repeating: 2, count: 6000)), ("key-9", nil)])
                try commit(store, [("key-8", nil), ("key-16", [3])])
            }
            _ = try politely(allowed) { try contents(of: store) }
            _ = try politely(allowed) { try store.statistics() }
        }
        _ = try politely(allowed) {
            let store = try open(disk)
            defer { store.close() }
            _ = try contents(of: store)
        }
    }

    private static func salvage(_ file: [UInt8]) throws {
        var salvage = try TreeSalvage(MemoryDisk(file), pageBytes: pageBytes, nil, memoryBytes: 1 << 20)
        try salvage.run({ _ in nil }, at: nil)
        try Finding.require(salvage.entries.count < 10_000, "more was saved than there is")
    }

    /// Makes the checksum of a page fit, and those of all that point at it, up to the slots.
    private static func reseal(_ file: inout [UInt8], _ page: Int) {
        var page = page
        if page == 0 {
            return PageNodeFuzz.sealHead(&file)
        }
        for _ in 0 ..< 4 {
            let start = page * pageBytes
            let old = Array(file[start ..< start + 8])
            var bytes = Array(file[start ..< start + sealedCount(file, page)])
            PageNodeFuzz.seal(&bytes)
            file.replaceSubrange(start ..< start + 8, with: bytes[..<8])
            guard page >= TreeFormat.firstPage.rawValue,
                let parent = replace(old, with: Array(bytes[..<8]), in: &file)
            else {
                return
            }
            page = parent
        }
    }

    /// What the checksum at the beginning of a page is over: of a record of the WAL its bytes, else the page.
    private static func sealedCount(_ file: [UInt8], _ page: Int) -> Int {
        let rest = file[(page * pageBytes)...]
        return rest.withUnsafeBytes { bytes in
            func half(_ offset: Int) -> UInt32 {
                UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
            }
            let count = Int(half(12))
            let isRecord = half(8) == WALRecord.magic && (WALRecord.headerBytes ... bytes.count).contains(count)
            return isRecord ? count : pageBytes
        }
    }

    /// Puts a new checksum where references have the old one; answers the last page that had one.
    private static func replace(_ old: [UInt8], with new: [UInt8], in file: inout [UInt8]) -> Int? {
        guard old != new, old.contains(where: { $0 != 0 }) else { return nil }
        var found: Int?
        var places: [Int] = []
        file.withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress else { return }
            var start = pageBytes
            while let hit = memchr(base + start, Int32(old[0]), bytes.count - 8 - start) {
                let place = UnsafeRawPointer(hit) - base
                if place % pageBytes >= 8, memcmp(hit, old, 8) == 0 { places.append(place) }
                start = place + 1
            }
        }
        for place in places {
            file.replaceSubrange(place ..< place + 8, with: new)
            found = place / pageBytes
        }
        return found
    }

    @Sendable static func seeds() throws -> [[UInt8]] {
        func edit(_ page: Int, _ offset: Int, _ byte: UInt8) -> [UInt8] {
            [
                UInt8(truncatingIfNeeded: page), UInt8(truncatingIfNeeded: page >> 8),
                UInt8(truncatingIfNeeded: offset), UInt8(truncatingIfNeeded: offset >> 8), byte,
            ]
        }
        var seeds: [[UInt8]] = [[], [0x40, 0, 16]]
        for (flag, made) in [(UInt8(0), plain), (0x20, withWAL)] {
            for page in 0 ..< (made?.file.count ?? 0) / pageBytes {
                for offset in [12, 14, 16, 32, 33, 40, 48, 64, 88, 150, 160, 170, 180, 196] {
                    seeds.append([flag] + edit(page, offset, 0xFF))
                    seeds.append([flag | 0x80] + edit(page, offset, 0x55))
                }
            }
        }
        return seeds
    }
}
