import MotteValues
import TestSupport
import Testing

// Bytes that wait for a commit stay where they are and what they are, in memory and past the limit in a file.
@testable import MottePages

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
}
