// Bytes that wait for a commit stay where they are and what they are, in memory and past the limit in a file.
import MottePages
import MotteValues
import TestSupport
import Testing

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

@Suite struct SpillFileTests {
    private func files(in folder: TemporaryDirectory) -> [String] {
        guard let directory = opendir(folder.path) else { return [] }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names
    }

    @Test func bytesStayAsTheyWere() throws {
        try PropertyTest.run(rounds: 20) { random, _ in
            let folder = TemporaryDirectory()
            let spill = SpillFile(SpillPlan(memoryBytes: random.pick([0, 1 << 12, 1 << 18]), folder: folder.path))
            var expected: [(SpilledEntry, key: [UInt8], value: [UInt8])] = []
            for number in 0 ..< 400 {
                let key = [UInt8](repeating: UInt8(number % 251), count: 1 + random.below(30))
                let size = random.chance(2) ? random.below(1 << 20) : random.below(5_000)
                let value = [UInt8](repeating: UInt8(random.below(256)), count: size)
                if random.chance(10) { try spill.makeRoom() }
                expected.append(
                    (key.withUnsafeBytes { key in value.withUnsafeBytes { spill.add(key, $0) } }, key, value))
            }
            for (entry, key, value) in expected {
                #expect(entry.key.elementsEqual(key) && entry.value.elementsEqual(value))
            }
            #expect(spill.fileBytes > 0)
            #expect(files(in: folder) == [])
        }
    }

    @Test func memoryPlansMakeNoFile() throws {
        let spill = SpillFile(.memory)
        for _ in 0 ..< 100 {
            try spill.makeRoom()
            _ = spill.reserve(1 << 20)
        }
        #expect(spill.fileBytes == 0 && spill.heapBytes >= 100 << 20)
    }

    @Test func aFolderThatTakesNoFileLeavesMemory() throws {
        let spill = SpillFile(SpillPlan(memoryBytes: 0, folder: "/nonexistent"))
        try spill.makeRoom()
        let place = spill.reserve(100)
        place.storeBytes(of: 7, as: UInt8.self)
        #expect(place.load(as: UInt8.self) == 7 && spill.fileBytes == 0)
    }

    /// Entries of a spill file and copied ones in one batch: sorted, and the later of equal keys wins.
    @Test(arguments: StoreForm.allCases)
    func batchesTakeWhatLiesInASpill(_ form: StoreForm) throws {
        let test = try TestStore(form)
        let spill = SpillFile(.memory)
        func spilled(_ key: [UInt8], _ value: [UInt8]) -> SpilledEntry {
            key.withUnsafeBytes { key in value.withUnsafeBytes { spill.add(key, $0) } }
        }
        var batch = PageBatch()
        batch.put([9], [1])
        batch.put([8], spilled([8], [2]))
        batch.put([9], spilled([9], [3, 3]))
        batch.put([7], [4])
        let lock = try test.store.lockForWriting(timeoutMilliseconds: 0)
        defer { lock.release() }
        try test.store.commit(batch, lock: lock, version: Version(1))

        let snapshot = try test.store.snapshot()
        for (key, value) in [(7, [4]), (8, [2]), (9, [3, 3])] as [(UInt8, [UInt8])] {
            let found = try [key].withUnsafeBytes { bytes throws(DatabaseError) in try snapshot.get(bytes) }
            #expect(found.map { [UInt8]($0.bytes) } == value)
        }
    }

    // MARK: What of the file is in memory

    /// Values that a write left in the order of its rows, and a commit takes in the order of keys.
    private func values(_ spill: SpillFile, rows: Int, columns: Int, bytes: Int) -> [(key: [UInt8], SpilledEntry)] {
        var entries: [(key: [UInt8], SpilledEntry)] = []
        for row in 0 ..< rows {
            for column in 0 ..< columns {
                let key = [UInt8(column), UInt8(row >> 8), UInt8(row & 255)]
                let value = [UInt8](repeating: UInt8(truncatingIfNeeded: row &+ column), count: bytes)
                entries.append((key, key.withUnsafeBytes { key in value.withUnsafeBytes { spill.add(key, $0) } }))
            }
        }
        return entries.sorted { $0.key.lexicographicallyPrecedes($1.key) }
    }

    private func residentBytes(_ spill: SpillFile) throws -> Int {
        try spill.mapped.reduce(0) { try $0 + ResidentMemory.bytes(in: $1) }
    }

    @Test func whatWasReadIsLetGo() throws {
        let folder = TemporaryDirectory()
        let spill = SpillFile(SpillPlan(memoryBytes: 0, folder: folder.path))
        let entries = values(spill, rows: 500, columns: 4, bytes: 6_000)
        #expect(try residentBytes(spill) > 0)
        spill.letGo()
        #expect(try residentBytes(spill) == 0)
        var sum = 0
        for (_, entry) in entries {
            let place = try #require(entry.value.baseAddress)
            #expect(spill.noteRead(place))
            sum += Int(place.load(as: UInt8.self))
        }
        #expect(try residentBytes(spill) > spill.fileBytes / 2 && sum > 0)
        spill.letGoOfRead()
        #expect(try residentBytes(spill) == 0)
        var byte: UInt8 = 0
        #expect(!withUnsafePointer(to: &byte) { spill.noteRead($0) })
    }

    /// Each column has something in all of the file, so that reading one after another would map it whole.
    @Test func aCommitHasLittleOfTheFileInMemory() throws {
        let folder = TemporaryDirectory()
        let test = try TestStore(.file)
        let spill = SpillFile(SpillPlan(memoryBytes: 0, folder: folder.path))
        var batch = PageBatch(SpillPlan(memoryBytes: 0, folder: folder.path))
        let entries = values(spill, rows: 1_000, columns: 4, bytes: 10_000)
        for (key, entry) in entries { batch.put(key, entry) }
        batch.put([200], valueCount: 1 << 20) { $0.initializeMemory(as: UInt8.self, repeating: 7, count: 1 << 20) }
        batch.lends(spill)
        let lock = try test.store.lockForWriting(timeoutMilliseconds: 0)
        defer { lock.release() }
        try test.store.commit(batch, lock: lock, version: Version(1))
        #expect(spill.fileBytes > 32 << 20)
        // What was read since it was let go last, and what the system maps around it.
        #expect(try residentBytes(spill) < 12 << 20)

        let snapshot = try test.store.snapshot()
        for (key, entry) in entries {
            let found = try key.withUnsafeBytes { bytes throws(DatabaseError) in try snapshot.get(bytes) }
            #expect(found.map { ValueOrdering.compareBytes($0.bytes, entry.value) } == 0)
        }
        let last = try [UInt8(200)].withUnsafeBytes { bytes throws(DatabaseError) in try snapshot.get(bytes) }
        #expect(last.map { $0.bytes.count == 1 << 20 && $0.bytes[1 << 19] == 7 } == true)
    }
}
