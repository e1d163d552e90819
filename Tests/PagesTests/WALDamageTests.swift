// Damaged, hostile and cut WALs: what was closed is whole or an error; what was not closed ends at a version that
// was, and says so; and salvage gets what the intact records hold.
import MottePages
import MotteValues
import TestSupport
import Testing

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// A file with a tree and records behind it, by commits that change, add and delete.
struct WALFile {
    private(set) var bytes: [UInt8] = []
    private(set) var models: [UInt64: Contents] = [:]
    private(set) var newest: UInt64 = 0

    /// Without `isClosed` as a process leaves it that was killed.
    init(isClosed: Bool, sealed: Bool = false) throws {
        let disk = MemoryDisk()
        let store = try CutRun.open(disk, sealed: sealed, walPages: 40)
        var model: Contents = [:]
        func commit(_ changes: [(String, [UInt8]?)]) throws {
            for (key, value) in changes { model[key] = value }
            newest = try store.commitNext(changes).rawValue
            models[newest] = model
        }
        try commit((0 ..< 90).map { ("key-\($0)", [UInt8](repeating: UInt8($0), count: $0 % 9 == 0 ? 4500 : $0 * 12)) })
        try commit([("small", [1])])
        for round in 1 ... 6 {
            let size = round == 3 ? 9000 : 300 * round
            try commit([
                ("key-\(round)", [UInt8](repeating: UInt8(0x80 + round), count: size)), ("key-\(50 + round)", nil),
                ("new-\(round)", [UInt8(round)]), ("new-\(round - 2)", nil),
                ("again", [UInt8](repeating: UInt8(round), count: 20)),
            ])
        }
        if isClosed { store.close() }
        bytes = disk.contents
        if !isClosed { store.close() }
    }

    /// Where records begin, in their order.
    var records: [Int] { WALFile.records(bytes) }

    static func records(_ bytes: [UInt8]) -> [Int] {
        stride(from: 4 * 4096, to: bytes.count, by: 4096)
            .filter { bytes[$0 + 8 ..< $0 + 12].elementsEqual("MTJR".utf8) }
            .sorted { bytes[$0 + 16] < bytes[$1 + 16] }
    }

    static func pages(_ bytes: [UInt8], _ record: Int) -> Int {
        (Int(bytes[record + 12]) + Int(bytes[record + 13]) << 8 + 16 + 4095) / 4096
    }

    /// Makes the checksum of a changed record fit.
    static func resign(_ bytes: inout [UInt8], _ record: Int) {
        let count = Int(bytes[record + 12]) + Int(bytes[record + 13]) << 8
        let covered = Array(bytes[record + 8 ..< max(record + 8, min(record + count, bytes.count))])
        bytes.replaceSubrange(record ..< record + 8, with: HostileFile.checksum(covered))
    }

    /// What there is in these bytes, and at which version.
    static func open(_ disk: any Disk) throws -> (version: UInt64, contents: Contents, passedOver: PassedOver?) {
        var options = PageStoreOptions(location: .memory(identifier: nil))
        options.disk = disk
        options.readOnly = true
        options.mostFileBytes = 4 << 20
        options.encryptionKey = try CutRun.isSealed(disk) ? TestStore.key : nil
        let store = try PageStore.open(options)
        defer { store.close() }
        let snapshot = try store.snapshot()
        return (snapshot.version.rawValue, try CutRun.contents(snapshot), snapshot.passedOver)
    }

    static func open(_ bytes: [UInt8]) throws -> (version: UInt64, contents: Contents, passedOver: PassedOver?) {
        try open(MemoryDisk(bytes))
    }
}

@Suite struct WALDamageTests {
    private let expectedCodes: [ErrorCode] = [.corrupted, .mapFull, .unsupportedFormat, .notAMotteFile]

    @Test(arguments: [false, true], [false, true])
    func theFileHasWhatTheTestsAreAbout(isClosed: Bool, sealed: Bool) throws {
        let file = try WALFile(isClosed: isClosed, sealed: sealed)
        #expect(file.records.count == 6 && file.records.map { WALFile.pages(file.bytes, $0) }.max() == 3)
        let found = try WALFile.open(file.bytes)
        #expect(found.version == file.newest && found.contents == file.models[file.newest])
        #expect(found.passedOver == nil)
    }

    /// Places in the slots and the records, by turns: each bit of each byte in the optimised build. Fewer of an
    /// encrypted file, which takes longer to open.
    private func places(_ file: WALFile, sealed: Bool) -> [(position: Int, mask: UInt8)] {
        let step = (TestScale.factor >= 10 ? 1 : 41) * (sealed ? 5 : 1)
        let pages =
            [4096, 8192, 12288].map { $0 ..< $0 + 4096 }
            + file.records.map { $0 ..< $0 + 4096 * WALFile.pages(file.bytes, $0) }
        return pages.flatMap { page in
            page.filter { ($0 + Int(PropertyTest.firstSeed)) % step == 0 || ($0 - page.lowerBound) < 64 }
                .map { ($0, UInt8(1 << ($0 % 8))) }
        }
    }

    @Test(arguments: [false, true]) func everyFlippedByteOfAClosedWALIsFoundOrHarmless(sealed: Bool) throws {
        let file = try WALFile(isClosed: true, sealed: sealed)
        let disk = FlippingDisk(file.bytes)
        var found = 0
        for place in places(file, sealed: sealed) {
            disk.flip = place
            do {
                let read = try WALFile.open(disk)
                let isSame = read.version == file.newest && read.contents == file.models[file.newest]
                if !isSame { Issue.record("byte \(place.position): version \(read.version)") }
            } catch let error as DatabaseError {
                found += 1
                #expect(error.code == .corrupted, "byte \(place.position): \(error)")
            }
        }
        #expect(found > 100)
        let count = places(file, sealed: sealed).count
        print("note: of \(count) bytes flipped in slots and a closed WAL \(found) were found")
    }

    /// Of a process that was killed: what is found is a version that was, whole; and if it is an older one, it says so.
    @Test(arguments: [false, true]) func everyFlippedByteOfAWALInUseIsFoundOrHarmless(sealed: Bool) throws {
        let file = try WALFile(isClosed: false, sealed: sealed)
        let disk = FlippingDisk(file.bytes)
        var older = 0
        for place in places(file, sealed: sealed) where place.position >= file.records[0] {
            disk.flip = place
            let read = try WALFile.open(disk)
            if read.contents != file.models[read.version] { Issue.record("byte \(place.position)") }
            guard read.version < file.newest else { continue }
            older += 1
            let warning = try #require(read.passedOver, "byte \(place.position)")
            #expect(warning.description.hasPrefix("opened version \(read.version) and not "))
        }
        #expect(older > 100)
    }

    @Test func aFileCutWithinItsWALIsFound() throws {
        for isClosed in [false, true] {
            let file = try WALFile(isClosed: isClosed)
            let slots = [4096, 8192, 12288].map { Int(file.bytes[$0 + 32]) + Int(file.bytes[$0 + 33]) << 8 }
            let end = try #require(slots.max()) * 4096
            #expect(end > file.records[0] + 40 * 4096)
            for size in stride(from: end - 4096, to: file.records[0] - 4096, by: -4096) {
                do {
                    // Of a file in use it looks like a root that a power cut took, and is reported like one.
                    let read = try WALFile.open(Array(file.bytes[..<size]))
                    #expect(!isClosed && read.passedOver != nil && read.version < file.newest, "\(size)")
                    #expect(read.contents == file.models[read.version], "\(size)")
                } catch let error as DatabaseError {
                    #expect(error.code == .corrupted, "\(size)")
                }
            }
        }
    }

    @Test(arguments: ["J1", "J2", "S3"]) func checkNamesInvariantsThatDoNotHold(invariant: String) throws {
        let file = try WALFile(isClosed: false)
        let disk = MemoryDisk(file.bytes)
        var options = PageStoreOptions(location: .memory(identifier: nil))
        options.disk = disk
        options.mostFileBytes = 4 << 20
        var bytes = file.bytes
        switch invariant {
        case "J2":
            // The first entry is that of the header, 128 bytes; behind the second, others come before it now.
            let record = file.records[1]
            bytes[record + 48 + 144 + 8] = 0xFF
            WALFile.resign(&bytes, record)
            options.disk = MemoryDisk(bytes)
        case "S3":
            // A slot that forgets its WAL.
            for slot in [4096, 8192, 12288] where bytes[slot + 156] == 48 {
                for offset in 208 ..< 4096 { bytes[slot + offset - 48] = bytes[slot + offset] }
                bytes[slot + 156] = 0
                HostileFile.sealSlot(&bytes, slot)
            }
            options.disk = MemoryDisk(bytes)
        default: break
        }
        let store = try PageStore.open(options)
        #expect(try store.check().isEmpty == (invariant == "J1"))
        if invariant == "J1" {
            // Under the feet of who has it open.
            [UInt8(0xFF)].withUnsafeBytes { disk.write($0, at: file.records[2] + 100) }
        }
        let problems = try store.check().map(\.description)
        #expect(problems.count > 0 && problems.allSatisfy { $0.contains("(\(invariant))") }, "\(problems)")
    }

    /// Two courses of things from one state: what the first left behind the second one's records never counts.
    @Test(arguments: [false, true]) func recordsOfAnotherCourseDoNotCount(sealed: Bool) throws {
        let start = try WALFile(isClosed: false, sealed: sealed)
        func course(_ values: [UInt8]) throws -> (bytes: [UInt8], records: [Int]) {
            let disk = MemoryDisk(start.bytes)
            let store = try CutRun.open(disk, walPages: 40)
            for value in values { try store.commitNext([("course", [value])]) }
            let bytes = disk.contents
            store.close()
            return (bytes, Array(WALFile.records(bytes).suffix(values.count)))
        }
        let (first, records) = try course([1, 2, 3])
        let (second, _) = try course([4])
        #expect(records.count == 3 && first.count == second.count)
        var grafted = second
        let behind = records[1] ..< records[2] + 4096
        grafted.replaceSubrange(behind, with: first[behind])

        let found = try WALFile.open(grafted)

        #expect(found.version == start.newest + 1 && found.contents["course"] == [4])
        #expect(found.passedOver?.description.contains("not \(start.newest + 3)") == true)
        // Nor after the next commits, which are as long as those of the first course.
        let disk = MemoryDisk(grafted)
        let store = try CutRun.open(disk, walPages: 40)
        try store.commitNext([("course", [5])])
        let again = try WALFile.open(disk.contents)
        store.close()
        #expect(again.version == start.newest + 2 && again.contents["course"] == [5])
    }

    /// Another one with the same number upon the same state, as whoever exchanges pages of two copies could leave it.
    @Test func theLastRecordOfAClosedFileIsTheOneThatWasSealed() throws {
        let start = try WALFile(isClosed: false)
        func closed(_ value: UInt8) throws -> (bytes: [UInt8], last: Int) {
            let disk = MemoryDisk(start.bytes)
            let store = try CutRun.open(disk, walPages: 40)
            try store.commitNext([("course", [value])])
            store.close()
            return (disk.contents, try #require(WALFile.records(disk.contents).last))
        }
        let (first, second) = try (closed(1), closed(2))
        #expect(first.last == second.last)
        #expect(try WALFile.open(first.bytes).contents["course"] == [1])
        var grafted = first.bytes
        let record = first.last ..< first.last + 4096
        #expect(grafted[record] != second.bytes[record])
        grafted.replaceSubrange(record, with: second.bytes[record])

        let error = try failure { try WALFile.open(grafted) }

        #expect(error.code == .corrupted && error.message.contains("write-ahead log is damaged"), "\(error)")
    }

    /// Any bytes in any record, with a checksum that fits.
    @Test(arguments: [false, true]) func recordsOfSomebodyElseAreCheckedBeforeUse(sealed: Bool) throws {
        let file = try WALFile(isClosed: false, sealed: sealed)
        try PropertyTest.run(rounds: 400) { random, comment in
            var bytes = file.bytes
            let record = random.pick(file.records)
            for _ in 0 ..< 1 + random.below(4) {
                let place = random.chance(50) ? 12 + random.below(60) : 12 + random.below(1000)
                bytes[record + place] = UInt8(truncatingIfNeeded: random.next())
            }
            WALFile.resign(&bytes, record)
            do {
                let store = try CutRun.open(MemoryDisk(bytes), walPages: 40)
                defer { store.close() }
                let snapshot = try store.snapshot()
                #expect(snapshot.version.rawValue > 0, "\(comment)")
                _ = try snapshot.contents()
                try store.commitNext([("key-5", [1]), ("new", [2]), ("key-90", nil)])
                _ = try store.check()
            } catch let error as DatabaseError {
                #expect(expectedCodes.contains(error.code), "\(comment): \(error)")
            }
        }
    }

    /// Any place of the WAL that a slot may name, with a checksum that fits.
    @Test func placesOfSomebodyElseAreCheckedBeforeUse() throws {
        let file = try WALFile(isClosed: true)
        try PropertyTest.run(rounds: 300) { random, comment in
            var bytes = file.bytes
            for slot in [4096, 8192, 12288] where bytes[slot + 156] != 0 {
                for _ in 0 ..< 1 + random.below(3) {
                    bytes[slot + 156 + random.below(52)] = random.pick([0, 1, 0x7F, 0xFF, UInt8(random.below(256))])
                }
                HostileFile.sealSlot(&bytes, slot)
            }
            do {
                let read = try WALFile.open(bytes)
                #expect(read.version <= file.newest, "\(comment)")
                let store = try CutRun.open(MemoryDisk(bytes), walPages: 40)
                defer { store.close() }
                try store.commitNext([("key-5", [1])])
                _ = try store.check()
            } catch let error as DatabaseError {
                #expect(expectedCodes.contains(error.code), "\(comment): \(error)")
            }
        }
    }

    // MARK: Salvage

    private func salvage(
        _ bytes: [UInt8], sealed: Bool = false
    ) throws -> (report: PageSalvageReport, contents: Contents) {
        let scratch = try Scratch()
        try scratch.write(bytes)
        let key = sealed ? TestStore.key : nil
        let report = try PageStore.salvage(scratch.path(), to: scratch.path("saved.motte"), encryptionKey: key)
        var options = PageStoreOptions(path: scratch.path("saved.motte"))
        options.encryptionKey = key
        let saved = try PageStore.open(options)
        #expect(try saved.check().isEmpty)
        return (report, try CutRun.contents(saved.snapshot()))
    }

    private func newestNode(_ bytes: [UInt8]) throws -> Int {
        let slots = [4096, 8192, 12288].filter { bytes[$0 + 8 ..< $0 + 12].elementsEqual("MTRT".utf8) }
        let newest = try #require(slots.max { bytes[$0 + 16] < bytes[$1 + 16] })
        return (0 ..< 6).reduce(0) { $0 | Int(bytes[newest + 48 + $1]) << (8 * $1) } * 4096
    }

    /// Head and roots gone, in a file that was closed and in one that was not: everything is still there.
    @Test(arguments: [false, true], [false, true])
    func salvageFindsRecordsWithoutRoots(isClosed: Bool, sealed: Bool) throws {
        let file = try WALFile(isClosed: isClosed, sealed: sealed)
        var damaged = file.bytes
        // The salt of an encrypted file has to be somewhere.
        for position in 0 ..< 4 * 4096 where !sealed || position % 4096 < 4096 - 64 { damaged[position] = 0xAA }
        let (report, contents) = try salvage(damaged, sealed: sealed)
        #expect(contents == file.models[file.newest])
        #expect(report.recoveredCount == 0 && report.lostValueCount == 0 && report.gaps.isEmpty)
        // With its roots as well.
        #expect(try salvage(file.bytes, sealed: sealed).contents == file.models[file.newest])
    }

    /// Later records count, whatever is wrong with those before them; what they delete stays away.
    @Test(arguments: [false, true], [false, true])
    func salvageGetsRecordsBehindADamagedOne(isClosed: Bool, sealed: Bool) throws {
        let file = try WALFile(isClosed: isClosed, sealed: sealed)
        let whole = try #require(file.models[file.newest])
        for (number, record) in file.records.enumerated() {
            var damaged = file.bytes
            damaged[record + 60] ^= 1
            let (report, contents) = try salvage(damaged, sealed: sealed)
            #expect(!report.problems.isEmpty)
            let round = number + 1
            // What only this one said.
            let only = ["key-\(round)", "key-\(50 + round)", "new-\(round)", "new-\(round - 2)", "again"]
            #expect(contents.filter { !only.contains($0.key) } == whole.filter { !only.contains($0.key) }, "\(round)")
            if round < 6 {
                #expect(contents["again"] == whole["again"] && contents["key-6"] == whole["key-6"])
                #expect(report.recoveredCount > 0)
            }
            if round + 2 <= 6 { #expect(contents["new-\(round)"] == nil) }
        }
    }

    /// Records are younger than the leaves that take the place of those that are gone. Of a file that was closed the
    /// leaves are known to be those of the newest version.
    @Test(arguments: [false, true]) func salvageTakesRecordsForLeavesThatAreGone(isClosed: Bool) throws {
        let file = try WALFile(isClosed: isClosed)
        let whole = try #require(file.models[file.newest])
        var damaged = file.bytes
        damaged[try newestNode(file.bytes) + 100] ^= 1
        let (report, contents) = try salvage(damaged)
        #expect(isClosed ? report.recoveredCount == 0 && contents == whole : report.recoveredCount > 0)
        // Of the tree before and of every record.
        for round in 1 ... 6 {
            #expect(contents["key-\(round)"] == whole["key-\(round)"] && contents["key-\(50 + round)"] == nil)
            #expect(contents["new-\(round)"] == whole["new-\(round)"])
        }
    }

    /// No node is left at all.
    @Test func salvageReadsRecordsAlone() throws {
        let file = try WALFile(isClosed: true)
        var damaged = file.bytes
        for page in stride(from: 0, to: damaged.count, by: 4096) where !file.records.contains(page) {
            if damaged[page + 8 ..< page + 12].elementsEqual("MTND".utf8) || page < 4 * 4096 { damaged[page + 9] ^= 1 }
        }
        let contents = try salvage(damaged).contents
        #expect(contents["key-6"] == file.models[file.newest]?["key-6"] && contents["new-3"] == nil)
        #expect(contents.count == 9)
    }

    @Test func whatIsLeftOfAFileCutWithinItsWALIsSalvaged() throws {
        let file = try WALFile(isClosed: true)
        for record in file.records {
            // Behind the WAL there may be pages of the tree as well.
            let model = try #require(file.models[UInt64(file.bytes[record + 16])])
            let size = record + WALFile.pages(file.bytes, record) * 4096
            let (whole, cut) = try (salvage(Array(file.bytes[..<size])), salvage(Array(file.bytes[..<(size - 4096)])))
            #expect(whole.contents["again"] == model["again"] && whole.contents["key-51"] == nil)
            #expect(cut.contents["again"]?.first == model["again"]?.first.flatMap { $0 > 1 ? $0 - 1 : nil })
        }
    }
}
