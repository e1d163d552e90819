/// A whole file of which one to four fields, chosen by their place in the format, say something else, with checksums
/// made again from the values up to the slots: as somebody would make it who knows the format and means harm. It is
/// opened, read, verified, salvaged, exported, copied and written; each of it is done or is an error, within memory and
/// time.
///
/// Input: a byte of flags (1: the file whose last commit is in a WAL), then for each field two bytes that choose
/// it, a byte that says what becomes of it, and two bytes that this needs.
import CMotteShim
import MotteExchange
import MotteLiveObjects
import MottePages
import MotteStorage
import MotteValues

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

extension FuzzTarget {
    package static let storeFields = FuzzTarget(
        name: "storeFields", seeds: StoreFieldsFuzz.seeds, run: StoreFieldsFuzz.run)
}

package enum StoreFieldsFuzz {
    private typealias Made = (file: [UInt8], map: FieldMap)
    private static let plain = Result { try makeFile(walPages: 0) }
    private static let withWAL = Result { try makeFile(walPages: 24) }

    /// What one input may take: the files have a few hundred kilobytes. An optimised build needs a tenth of the time.
    private static let mostSeconds = 30
    private static let mostMemory = 1 << 30

    // MARK: The sound files

    private static func makeFile(walPages: Int) throws -> Made {
        let entries = StoreContentFuzz.entries
        guard let version = StoreContentFuzz.version else { throw Finding("the sound store has no versions") }
        let disk = MemoryDisk()
        var options = PageStoreOptions(location: .memory(identifier: nil))
        options.rowGroupSize = 3
        options.disk = disk
        options.walPages = walPages
        options.mostFileBytes = 16 << 20
        let store = try PageStore.open(options)
        // Of the last versions a few values each: what a WAL takes.
        func those(_ spaces: [UInt8]) -> [StoreContentFuzz.Entry] {
            entries.filter { $0.key.first.map(spaces.contains) ?? false }
        }
        let parts = [entries, those([KeySpace.changeLog, KeySpace.tableStates]), those([KeySpace.openGroups])]
        for (number, part) in parts.enumerated() {
            var batch = PageBatch()
            for entry in part { batch.put(entry.key, entry.value) }
            let lock = try store.lockForWriting(timeoutMilliseconds: 0)
            defer { lock.release() }
            try store.commit(batch, lock: lock, version: Version(version.rawValue - 2 + UInt64(number)))
        }
        store.close()
        return (disk.contents, FieldMap(disk.contents))
    }

    /// Names of fields, each once.
    package static func names() throws -> Set<String> {
        Set(try plain.get().map.fields.map(\.name) + withWAL.get().map.fields.map(\.name))
    }

    // MARK: Changed

    @Sendable static func run(_ bytes: UnsafeRawBufferPointer) throws {
        var input = FuzzInput(bytes)
        let made = try (input.byte() & 1 == 0 ? plain : withWAL).get()
        var file = made.file
        var said: [String] = []
        for _ in 0 ..< 4 where input.rest.count >= 3 {
            let fields = made.map.fields
            let field = fields[input.half() % fields.count]
            let (kind, more) = (input.byte(), input.half())
            said.append(change(&file, field, kind, more, made.map))
        }
        made.map.seal(&file)
        let before = memory()
        let start = motte_shim_monotonic_ns()
        do {
            try use(file)
        } catch let finding as Finding {
            throw Finding("\(finding) (\(said.joined(separator: "; ")))")
        }
        let seconds = Int(motte_shim_monotonic_ns() - start) / 1_000_000_000
        let changes = said.joined(separator: "; ")
        try Finding.require(seconds <= mostSeconds, "\(seconds) seconds for a file of \(file.count) bytes (\(changes))")
        let taken = memory() - before
        try Finding.require(taken <= mostMemory, "\(taken) bytes for a file of \(file.count) (\(changes))")
    }

    /// Sets a field, and says what it is now.
    private static func change(
        _ file: inout [UInt8], _ field: FileField, _ kind: UInt8, _ more: Int, _ map: FieldMap
    ) -> String {
        let old = FieldMap.number(file, field.place, field.count)
        let bits = UInt64(field.count * 8)
        let most = UInt64.max >> (64 - bits)
        let other = map.fields[more % map.fields.count]
        let value: UInt64 =
            switch kind % 14 {
            case 0: 0
            case 1: 1
            case 2: most
            case 3: most >> 1
            case 4: old &+ 1
            case 5: old &- 1
            case 6: old &* 2
            case 7: 1 << (UInt64(more) % bits)
            case 8: UInt64(more) & 0xFF
            case 9: UInt64(more)
            case 10: old ^ 1 << (UInt64(more) % bits)
            // Anything, the same for the same input.
            case 11: UInt64(more &+ 1) &* 0x9E37_79B9_7F4A_7C15
            // What another field says.
            case 12: FieldMap.number(file, other.place, other.count)
            default: old
            }
        let to = map.references.last { (0 ..< PageRef.encodedCount).contains(field.place - $0) }
        if kind % 14 == 13, let to {
            // A whole reference in the place of another one.
            let from = map.references[more % map.references.count]
            let reference = Array(file[from ..< from + PageRef.encodedCount])
            file.replaceSubrange(to ..< to + PageRef.encodedCount, with: reference)
            return "\(field.name) is the reference at \(from)"
        }
        for index in 0 ..< field.count {
            file[field.place + index] = UInt8(truncatingIfNeeded: value >> UInt64(8 * index))
        }
        return "\(field.name) at \(field.place) \(old) -> \(value & most)"
    }

    /// The most memory that this process has had, whether it was touched or not.
    private static func memory() -> Int {
        guard let file = fopen("/proc/self/status", "r") else { return 0 }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 256)
        while fgets(&line, 256, file) != nil {
            let text = String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            guard text.hasPrefix("VmPeak:") else { continue }
            return (text.split(separator: " ").compactMap { Int($0) }.first ?? 0) << 10
        }
        return 0
    }

    /// Any error is polite, only not one that says we did not expect it.
    private static func attempt(_ body: () throws -> Void) throws {
        do {
            try body()
        } catch let error as DatabaseError {
            try Finding.require(error.code != .internal, "\(error.code): \(error.message)")
        }
    }

    nonisolated(unsafe) private static var fileNumber = 0  // one thread: a fuzzer's, or that of a serialized test

    private static func use(_ file: [UInt8]) throws {
        fileNumber += 1
        let folder = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
        let path = "\(folder)/motte-fields-\(getpid())-\(fileNumber).motte"
        defer { for name in [path, path + "-shared", path + "-saved", path + "-copy"] { unlink(name) } }
        try put(file, path)
        var options = PageStoreOptions(path: path)
        options.mostFileBytes = 16 << 20
        options.durability = .none
        try attempt {
            let store = try PageStore.open(options)
            defer { store.close() }
            try attempt { _ = try store.check() }
            try attempt { try walk(try store.snapshot()) }
            try attempt { _ = try store.statistics() }
        }
        try attempt { _ = try PageStore.salvage(path, to: path + "-saved") }
        try attempt { _ = try Database.openForSalvage(options).salvage { _ in } }
        try attempt {
            let database = try Database.open(options)
            let snapshot = try database.snapshot()
            try attempt { _ = try snapshot.verify(limit: 5) }
            try attempt { _ = try database.spaceStatistics() }
            let newest = snapshot.version.rawValue
            for number in newest - min(newest, 4) ..< newest {
                try attempt { _ = try database.changes(from: Version(number), to: snapshot) }
            }
        }
        try attempt { try useSession(path) }
        try attempt {
            let store = try PageStore.open(options)
            defer { store.close() }
            try walk(try store.snapshot())
            _ = try store.check()
        }
    }

    private static func useSession(_ path: String) throws {
        var options = SessionOptions(.file(path))
        options.mostFileBytes = 16 << 20
        options.durability = .none
        let session = try Session.open(options)
        defer { _ = try? session.close() }
        try attempt {
            var sink = ByteSink()
            var export = try JSONExport(session)
            try export.store(to: &sink)
        }
        for type in try session.schema.objectTypes where !type.isEmbedded {
            try attempt {
                var sink = ByteSink()
                var export = try CSVExport(session, ColumnPath.stored(of: type))
                let all = try session.query(try session.tableKey(type.name), "TRUEPREDICATE").results()
                try export.collection(all, to: &sink)
            }
        }
        try attempt { try session.copy(to: path + "-copy") }
        try attempt { try StoreContentFuzz.write(session) }
        try attempt { try StoreContentFuzz.write(session) }
    }

    /// From the first key to the last and back.
    private static func walk(_ snapshot: PageSnapshot) throws {
        let cursor = try snapshot.makeCursor()
        var found = try cursor.seek([])
        while found { found = try cursor.next() }
        found = try cursor.seekLast(atMost: [0xFF])
        while found { found = try cursor.previous() }
    }

    private static func put(_ bytes: [UInt8], _ path: String) throws {
        guard let file = fopen(path, "w") else { throw Finding("\(path) cannot be written") }
        defer { fclose(file) }
        guard fwrite(bytes, 1, bytes.count, file) == bytes.count else { throw Finding("\(path) cannot be written") }
    }

    /// Each field once, with what is most likely to go wrong, and each reference in the place of another.
    @Sendable static func seeds() throws -> [[UInt8]] {
        var seeds: [[UInt8]] = [[0], [1]]
        for (flag, made) in [(UInt8(0), try plain.get()), (1, try withWAL.get())] {
            for index in made.map.fields.indices where flag == 0 || made.map.fields[index].name.contains("record") {
                let chosen = [flag, UInt8(truncatingIfNeeded: index), UInt8(truncatingIfNeeded: index >> 8)]
                seeds.append(chosen + [UInt8(index % 14), UInt8(truncatingIfNeeded: index * 7), UInt8(index % 11)])
            }
        }
        return seeds
    }
}
