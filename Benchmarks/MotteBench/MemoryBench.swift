/// What writes of any size keep in memory: the peaks of anonymous and of resident memory during one write each, sampled
/// every few milliseconds. Resident memory has mapped pages of the file and of the spill file in it, which the system
/// takes back when it needs them; anonymous memory is what a write really costs.
///
///     MotteBench --memory 10000000
import CSQLite
import Glibc
import MotteLiveObjects
import MotteSchemaModel
import MotteStorage
import MotteValues
import Synchronization

struct MemoryBench {
    let rows: Int

    func run() throws {
        let folder = try makeFolder()
        defer { removeFolder(folder) }
        print("peaks over what the process had before, in MB; \(rows) rows of six properties, integer primary key")
        let schema = Schema([
            ObjectType(
                name: "Row",
                properties: [
                    Property(name: "id", type: .int, isPrimaryKey: true), Property(name: "name", type: .string),
                    Property(name: "age", type: .int), Property(name: "score", type: .double),
                    Property(name: "active", type: .bool), Property(name: "city", type: .string),
                ])
        ])
        let session = try Session.open(SessionOptions(path: folder + "/memory.motte", schema: schema))
        let updated = min(rows, 1_000_000)
        try measure("insert \(rows)") {
            try session.beginWrite()
            try each(session, 0 ..< rows) { table, columns, values, count in
                _ = try session.insertBatch(table, columns: columns, rows: values, rowCount: count)
            }
        } commit: {
            _ = try session.commit()
        }
        try measure("upsert \(updated) that exist, changed") {
            try session.beginWrite()
            try each(session, 0 ..< updated, salt: 1) { table, columns, values, count in
                try session.upsertBatch(table, columns: columns, rows: values, rowCount: count, policy: .modified)
            }
        } commit: {
            _ = try session.commit()
        }
        try measure("upsert \(updated) that exist, the same") {
            try session.beginWrite()
            try each(session, 0 ..< updated, salt: 1) { table, columns, values, count in
                try session.upsertBatch(table, columns: columns, rows: values, rowCount: count, policy: .modified)
            }
        } commit: {
            _ = try session.commit()
        }
        try measure("delete all") {
            try session.beginWrite()
            _ = try session.deleteAll(try session.tableKey("Row"))
        } commit: {
            _ = try session.commit()
        }
        try session.close()
    }

    /// Batches of a thousand rows.
    private func each(
        _ session: Session, _ range: Range<Int>, salt: Int = 0,
        _ body: (TableKey, [ColumnKey], UnsafePointer<ValueView>, Int) throws -> Void
    ) throws {
        guard let type = try session.schema["Row"], let table = type.tableKey else { throw BenchError("no class") }
        let columns = type.properties.compactMap(\.columnKey)
        let cells = UnsafeMutablePointer<ValueView>.allocate(capacity: 1_000 * columns.count)
        let texts = UnsafeMutableRawBufferPointer.allocate(byteCount: 1_000 * 48, alignment: 8)
        defer {
            cells.deallocate()
            texts.deallocate()
        }
        for first in stride(from: range.lowerBound, to: range.upperBound, by: 1_000) {
            let count = min(1_000, range.upperBound - first)
            for row in 0 ..< count {
                let id = first + row
                let name = text("person \(id &* 31 &+ salt)", texts, at: row * 48)
                let city = text("city \(id % 1_000)", texts, at: row * 48 + 32)
                let start = cells + row * columns.count
                start[0] = .int(Int64(id))
                start[1] = .string(name)
                start[2] = .int(Int64((id &+ salt) % 100))
                start[3] = .double(Double(id) / 2)
                start[4] = .bool(id % 3 == 0)
                start[5] = .string(city)
            }
            try body(table, columns, cells, count)
        }
    }

    private func text(
        _ text: String, _ memory: UnsafeMutableRawBufferPointer, at offset: Int
    ) -> UnsafeRawBufferPointer {
        let bytes = Array(text.utf8)
        let place = UnsafeMutableRawBufferPointer(rebasing: memory[offset ..< offset + bytes.count])
        place.copyBytes(from: bytes)
        return UnsafeRawBufferPointer(place)
    }

    private func measure(_ what: String, _ work: () throws -> Void, commit: () throws -> Void) throws {
        let before = ProcessMemory.now
        let sampler = MemorySampler()
        let time = try seconds(work)
        let during = sampler.peak
        let commitTime = try seconds(commit)
        let peak = sampler.stop()
        func megabytes(_ peak: Int, _ base: Int) -> Int { max(0, peak - base) >> 20 }
        print(
            "\(what): write \(MotteBench.short(time)) s, anonymous \(megabytes(during.anonymous, before.anonymous)), "
                + "resident \(megabytes(during.resident, before.resident)); with commit "
                + "\(MotteBench.short(time + commitTime)) s, anonymous \(megabytes(peak.anonymous, before.anonymous)), "
                + "resident \(megabytes(peak.resident, before.resident))")
    }
}

/// What the kernel says of this process.
struct ProcessMemory {
    var anonymous = 0
    var resident = 0

    static var now: ProcessMemory {
        var memory = ProcessMemory()
        each { name, bytes in
            if name == "RssAnon" { memory.anonymous = bytes }
            if name == "VmRSS" { memory.resident = bytes }
        }
        return memory
    }

    /// Gives unused memory back and begins a new peak at what is resident now, which is answered.
    static func beginPeak() -> Int {
        malloc_trim(0)
        if let file = fopen("/proc/self/clear_refs", "w") {
            fputs("5", file)
            fclose(file)
        }
        return now.resident
    }

    /// The most that was resident since.
    static var peak: Int {
        var peak = 0
        each { name, bytes in if name == "VmHWM" { peak = bytes } }
        return peak
    }

    private static func each(_ body: (Substring, Int) -> Void) {
        guard let file = fopen("/proc/self/status", "r") else { return }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 256)
        while fgets(&line, Int32(line.count), file) != nil {
            let text = String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            guard let colon = text.firstIndex(of: ":") else { continue }
            body(text[..<colon], (Int(text[colon...].filter(\.isNumber)) ?? 0) << 10)
        }
    }
}

/// A thread that keeps the highest of what it sees.
final class MemorySampler: Sendable {
    private let state = Mutex((peak: ProcessMemory(), isRunning: true))

    init() {
        var thread = pthread_t()
        let box = Unmanaged.passRetained(self)
        pthread_create(
            &thread, nil,
            { context in
                guard let context else { return nil }
                Unmanaged<MemorySampler>.fromOpaque(context).takeRetainedValue().sample()
                return nil
            }, box.toOpaque())
        pthread_detach(thread)
    }

    private func sample() {
        while true {
            let now = ProcessMemory.now
            let goesOn = state.withLock { state in
                state.peak.anonymous = max(state.peak.anonymous, now.anonymous)
                state.peak.resident = max(state.peak.resident, now.resident)
                return state.isRunning
            }
            guard goesOn else { return }
            usleep(5_000)
        }
    }

    var peak: ProcessMemory { state.withLock { $0.peak } }

    func stop() -> ProcessMemory {
        state.withLock { state in
            state.isRunning = false
            return state.peak
        }
    }
}
