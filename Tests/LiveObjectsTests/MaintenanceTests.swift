// Verification finds what is wrong and names it, salvage brings back what can be read, statistics add up. Damage is
// done by committing other bytes in place of pages.
import MotteLiveObjects
import MottePages
import MotteSchemaModel
import MotteStorage
import MotteValues
import TestSupport
import Testing

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

@Suite struct MaintenanceTests {
    let schema = """
        Person { id: int key, name: string indexed, age: int?, friend: link<Person>, friends: list<Person>,
                 tags: list<string>, back: inverse<Person.friend> }
        Dog { name: string, owner: link<Person> }
        """

    /// Objects in row groups of three with gaps, an open row group, a long list, and a log.
    func store(
        _ kind: TestStore.Kind = .memory
    ) throws -> (TestStore, Session) {
        let store = TestStore(kind, schema: schema)
        let session = try store.open()
        var people: [LiveObject] = []
        for round in 0 ..< 4 {
            try session.inWrite {
                for number in 0 ..< 20 {
                    let id = round * 20 + number
                    let person = try session.add(
                        "Person",
                        ["id": .int(Int64(id)), "name": .string(id % 5 == 0 ? "" : "name longer than seven \(id % 9)")])
                    if id % 3 == 0 { try person.set("age", to: .int(Int64(id))) }
                    let tags = try #require(try person.collection("tags") as? LiveList)
                    for tag in 0 ..< id % 4 { try tags.append(.string("tag \(tag)")) }
                    let friends = try #require(try person.collection("friends") as? LiveList)
                    for friend in people.suffix(id % 3) { try friends.append(friend) }
                    if let last = people.last { try person.set("friend", to: .link(last)) }
                    people.append(person)
                    try session.add("Dog", ["name": .string("dog \(id)"), "owner": .link(person)])
                }
            }
        }
        try session.inWrite {
            let tags = try #require(try people[7].collection("tags") as? LiveList)
            try "long text".withUTF8Bytes { text in
                try typed { try tags.append([ValueView](repeating: .string(text), count: 2000)) }
            }
            for gone in [3, 30, 31, 32, 33, 34, 35, 79] { try people[gone].delete() }
        }
        // The last object is in the open row group.
        try session.inWrite { try session.add("Dog", ["name": .string("last")]) }
        return (store, session)
    }

    /// Commits a change of raw pages.
    func damage(_ session: Session, _ change: (PageSnapshot, inout PageBatch) throws -> Void) throws {
        let pages = try session.database.pages
        let lock = try pages.lockForWriting(timeoutMilliseconds: 1000)
        defer { lock.release() }
        let snapshot = try pages.snapshot()
        var batch = PageBatch()
        let version = Version(snapshot.version.rawValue + 1)
        try HistoryLog.append(ChangeRecorder(), version: version, over: snapshot, into: &batch)
        try change(snapshot, &batch)
        try pages.commit(batch, lock: lock, version: version)
    }

    func entries(_ snapshot: PageSnapshot, _ space: UInt8) throws -> [(key: [UInt8], value: [UInt8])] {
        var found: [([UInt8], [UInt8])] = []
        let cursor = try snapshot.makeCursor()
        var isThere = try [space].withUnsafeBytes { try cursor.seek($0) }
        while isThere, cursor.key.first == space {
            found.append(([UInt8](cursor.key), [UInt8](cursor.value.bytes)))
            isThere = try cursor.next()
        }
        return found
    }

    func report(_ store: TestStore) throws -> VerificationReport {
        var options = try store.options
        options.schema = nil
        return try Session.open(options).committedSnapshot().verify()
    }

    // MARK: Verification

    @Test(arguments: TestStore.Kind.allCases)
    func soundFilesAreFoundSound(kind: TestStore.Kind) throws {
        let (store, session) = try store(kind)
        let reports = Locked<[MaintenanceProgress]>([])
        let report = try session.committedSnapshot().verify { progress in reports.withLock { $0.append(progress) } }
        #expect(report.problems == [])
        #expect(report.objects == 72 + 81)
        #expect(report.classes == 2)
        #expect(report.logRecords > 0)
        #expect(report.indexEntries > 72 * 3)
        #expect(reports.withLock { $0.last.map { $0.done == $0.total } } == true)
        #expect(try self.report(store).isSound)
    }

    /// Nothing is made at a path where the file is not any more, and reading goes on.
    @Test(arguments: [false, true]) func compactingAFileThatWasMovedChangesNothing(isReplaced: Bool) throws {
        let directory = TemporaryDirectory()
        let path = directory.file()
        let session = try Session.open(SessionOptions(path: path, schema: try SchemaText.parse("Dog { name: string }")))
        try session.inWrite { try session.add("Dog", ["name": .string("Rex")]) }
        #expect(rename(path, path + ".2") == 0)
        if isReplaced { #expect(TemporaryDirectory.write(Array("mine".utf8), path)) }
        let error = #expect(throws: DatabaseError.self) { try session.compact() }
        #expect(error?.code == .fileMoved)
        #expect(isReplaced == (access(path, F_OK) == 0))
        #expect(try session.table(try session.tableKey("Dog")).liveCount == 1)
        #expect(rename(path + ".2", path) == 0)
        _ = try session.compact()
        try session.inWrite { try session.add("Dog", ["name": .string("Max")]) }
        #expect(try session.table(try session.tableKey("Dog")).liveCount == 2)
    }

    @Test func aDatabaseInMemoryIsNotCompactedAndStays() throws {
        let session = try TestStore(.memory, schema: "Dog { name: string }").open()
        try session.inWrite { try session.add("Dog", ["name": .string("Rex")]) }
        let error = #expect(throws: DatabaseError.self) { try session.compact() }
        #expect(error?.code == .unsupported)
        #expect(try session.table(try session.tableKey("Dog")).liveCount == 1)
    }

    @Test func everyKindOfPageIsLookedAt() throws {
        // One flipped byte in every page of the store, one at a time: each is noticed.
        let (_, session) = try store()
        let all = try (1 ... 0x7F).flatMap { try entries(session.database.pages.snapshot(), $0) }
        #expect(Set(all.map { $0.key[0] }).isSuperset(of: [1, 2, 3, 4, 5, 6, 7, 0x7F]))
        try PropertyTest.run(rounds: 20) { random, comment in
            let (store, session) = try self.store()
            let victim = random.pick(all)
            try damage(session) { _, batch in
                var value = victim.value
                value[random.below(value.count)] ^= UInt8(1 << random.below(8))
                batch.put(victim.key, value)
            }
            do {
                let report = try report(store)
                #expect(!report.isSound, "\(victim.key), \(comment): \(report.text)")
            } catch let error as DatabaseError {
                // A schema that cannot be read is found when the file is opened.
                #expect(victim.key == [1], "\(comment): \(error)")
            }
        }
    }

    @Test func problemsAreNamed() throws {
        let (store, session) = try store()
        let catalog = try session.committedSnapshot().catalog
        let person = try #require(catalog.table(named: "Person"))
        let name = try #require(person.column(named: "name")?.index)
        try damage(session) { snapshot, batch in
            // An index block that is missing, a chunk that is missing, and pages of nobody.
            let blocks = try entries(snapshot, 7).filter { $0.key[1 ..< 5] == [0, 0, 0, UInt8(name.rawValue)][...] }
            batch.delete(try #require(blocks.first).key)
            let links = try #require(person.column(named: "friend"))
            let chunks = try entries(snapshot, 4).filter {
                $0.key[4] == UInt8(person.key.rawValue) && $0.key[8] == UInt8(links.key.rawValue)
            }
            batch.delete(chunks[2].key)
            batch.put([0x04, 0, 0, 0, 99, 0, 0, 0, 1, 0, 0, 0, 0], [UInt8](repeating: 1, count: 20))
            batch.delete(try #require(try entries(snapshot, 6).last).key)
            batch.delete(try #require(try entries(snapshot, 0x7F).dropFirst().first).key)
        }
        let problems = try report(store).problems.joined(separator: "\n")
        #expect(problems.contains("the index of Person.name lacks"))
        #expect(problems.contains("the index of Person.friend lacks 0 entries and has 3 that belong to nothing"))
        #expect(problems.contains("Person.tags of object 7: a block of the list tags is missing"))
        #expect(problems.contains("1 pages under the key 040000006300000001 belong to nothing in the schema"))
        #expect(problems.contains("the change log has a gap"))
    }

    // MARK: Salvage

    // The page files have a report of the same name.
    func salvaged(
        _ session: Session, missing gaps: [KeyGap] = []
    ) throws -> (objects: [String: [Int64: [String: SalvagedContent]]], MotteStorage.SalvageReport) {
        var objects: [String: [Int64: [String: SalvagedContent]]] = [:]
        let report = try DamagedFile(session.database, gaps: gaps).salvage { object in
            objects[object.className, default: [:]][object.key] = Dictionary(
                uniqueKeysWithValues: object.properties.map { ($0.name, $0.content) })
        }
        return (objects, report)
    }

    func plain(_ content: SalvagedContent?) -> [Value] {
        switch content {
        case .value(let value): [value]
        case .elements(let values): values
        default: []
        }
    }

    @Test func salvageOfASoundFileIsEverything() throws {
        let (_, session) = try store()
        let (objects, report) = try salvaged(session)
        #expect(report.losses == [])
        #expect(report.objects == 153)
        for name in ["Person", "Dog"] {
            let table = try session.tableKey(name)
            #expect(try objects[name]?.keys.sorted() == session.objects(name).allKeys)
            for (key, properties) in objects[name] ?? [:] {
                let object = try #require(try session.object(table, at: ObjectKey(key)))
                for property in try object.type.storedProperties {
                    let wanted =
                        property.isList
                        ? try object.collection(property.name).allValues : [try object.get(property.name)]
                    #expect(plain(properties[property.name]) == wanted)
                }
            }
        }
    }

    @Test func damageLosesOnlyWhatItHits() throws {
        try PropertyTest.run(rounds: 20) { random, comment in
            let (_, session) = try self.store()
            let (whole, _) = try salvaged(session)
            var hit: [[UInt8]] = []
            try damage(session) { snapshot, batch in
                let all = try (1 ... 7).flatMap { try entries(snapshot, $0) }
                for _ in 0 ..< 1 + random.below(4) {
                    let victim = random.pick(all)
                    var value = victim.value
                    value[random.below(value.count)] ^= UInt8(1 << random.below(8))
                    batch.put(victim.key, value)
                    hit.append(victim.key)
                }
            }
            let (rest, report) = try salvaged(session)
            #expect(!report.losses.isEmpty || hit.allSatisfy { $0[0] == 7 }, "\(comment)")
            guard !hit.contains(where: { $0[0] == 1 || $0[0] == 3 }) else { return }
            for (name, objects) in whole {
                for (key, properties) in objects {
                    guard let found = rest[name]?[key] else {
                        // Nothing of an object of two properties is left when both are hit.
                        if name == "Dog", hit.count(where: { $0[0] == 4 && $0[4] == 2 }) > 1 { continue }
                        Issue.record("\(name) \(key) is lost, \(hit), \(comment): \(report.losses)")
                        return
                    }
                    for (property, content) in found {
                        let values = plain(content)
                        let wanted = plain(properties[property])
                        // Right, or the beginning of a long list.
                        #expect(values.elementsEqual(wanted.prefix(values.count)), "\(name).\(property), \(comment)")
                    }
                }
            }
        }
    }

    @Test func whatWasOnALostPageIsNoDefault() throws {
        let (_, session) = try store()
        let (whole, _) = try salvaged(session)
        // Ages and tags of the objects 3 to 5, which are all there but 3, and the bitmap that says so.
        let ages: [UInt8] = [4, 0, 0, 0, 1, 0, 0, 0, 3, 0, 0, 0, 1]
        let tags: [UInt8] = [4, 0, 0, 0, 1, 0, 0, 0, 6, 0, 0, 0, 1]
        let live: [UInt8] = [5, 0, 0, 0, 1, 0, 0, 0, 1]
        try damage(session) { _, batch in for key in [ages, tags, live] { batch.delete(key) } }
        func names(_ key: Int64, _ objects: [String: [Int64: [String: SalvagedContent]]]) -> Set<String>? {
            objects["Person"]?[key].map { Set($0.keys) }
        }

        // Nothing was lost: columns that are younger than their rows have no chunks.
        let (young, sound) = try salvaged(session)
        #expect(sound.losses == [] && names(4, young) == names(4, whole))
        #expect(plain(young["Person"]?[4]?["age"]) == [.null])

        for gap in [[ages, tags], [tags, ages], [[4], [6]], [[4], nil]] as [[[UInt8]?]] {
            let first = try #require(gap[0]), hasTags = gap[1] == tags
            let (rest, report) = try salvaged(session, missing: [KeyGap(from: first, to: gap[1])])
            let lost: Set<String> = gap[1] == ages ? [] : hasTags ? ["age"] : ["age", "tags"]
            let all = try #require(names(4, whole))
            #expect(names(4, rest) == all.subtracting(lost) && names(6, rest) == all)
            let text = report.losses.joined(separator: "\n")
            for name in lost { #expect(text.contains("Person.\(name) of objects 3 to 5: it was on a damaged page")) }
            #expect(text.contains("which objects of Person from 0 on are deleted") == (lost.count == 2))
            #expect(report.losses.count == (lost.count == 2 ? 3 : lost.count))
            #expect(rest["Person"]?.keys.contains(3) == true)
        }
    }

    @Test func aLostSchemaIsGuessed() throws {
        let (_, session) = try store()
        let (whole, _) = try salvaged(session)
        try damage(session) { _, batch in
            batch.delete([1])
            batch.delete([2, 0, 0, 0, 1])
        }
        let (rest, report) = try salvaged(session)
        #expect(report.losses.first?.hasPrefix("the schema: the stored schema is missing") == true)
        // A table without a state has the objects that its chunks have; deleted ones are known by their bitmaps.
        #expect(rest["table1"]?.keys.sorted() == whole["Person"]?.keys.sorted())
        #expect(plain(rest["table2"]?[5]?["column1"]) == [.string("dog 5")])
        #expect(plain(rest["table1"]?[7]?["column6"]).count == 2003)
    }

    /// One root slot that cannot be read is what a cut leaves, two are not.
    @Test(arguments: [1, 2]) func versionsThatCouldNotBeOpenedAreSaid(damaged: Int) throws {
        let (store, session) = try store(.file)
        let version = try session.version
        try session.close()
        let path = try store.options.name
        let file = try #require(fopen(path, "r+b"))
        var slots: [(sequence: UInt8, place: Int)] = []
        for page in 1 ... 3 {
            fseek(file, page * 4096 + 144, SEEK_SET)
            slots.append((UInt8(truncatingIfNeeded: fgetc(file)), page * 4096))
        }
        for slot in slots.sorted(by: { $0.sequence > $1.sequence }).prefix(damaged) {
            fseek(file, slot.place + 300, SEEK_SET)
            fputc(0x55, file)
        }
        fclose(file)

        let again = try store.open()
        #expect(try again.version.rawValue == version.rawValue - UInt64(damaged - 1))
        let report = try again.database.snapshot().verify()
        #expect(report.isSound == (damaged == 1) && report.classes == 2)
        let said = try #require(damaged == 1 ? report.notes.first : report.problems.first)
        #expect(said.contains(damaged == 1 ? "a root slot cannot be read" : "2 root slots cannot be read"))
        #expect(report.text.contains(said))
    }

    // MARK: Statistics

    @Test func spaceIsAccountedFor() throws {
        let (store, session) = try store(.file)
        let statistics = try session.database.spaceStatistics()
        #expect(statistics.classes.map(\.name) == ["Person", "Dog"])
        #expect(statistics.classes.map(\.objects) == [72, 81])
        let person = statistics.classes[0]
        #expect(person.chunkBytes > 72 * 20 && person.longListBytes > 2000 && person.indexBytes > 72 * 6)
        #expect(statistics.classes[1].longListBytes == 0)
        #expect(statistics.logRecords > 0 && statistics.logBytes > 0)
        let sum = statistics.classes.reduce(0) { $0 + $1.bytes } + statistics.logBytes + statistics.otherBytes
        #expect(sum < statistics.fileBytes - statistics.freeBytes)
        #expect(try store.open().version == statistics.version)
        #expect(sum * 3 > statistics.fileBytes - statistics.freeBytes)
    }

    @Test func readersAreListed() throws {
        let (store, session) = try store(.file)
        let old = try store.open()
        let before = try old.version
        for _ in 0 ..< 3 { try session.inWrite { try session.add("Dog") } }
        let readers = try session.database.readerStatistics()
        let oldest = try #require(readers.first)
        #expect(oldest.version == before)
        #expect(oldest.versionsBehind == 3)
        #expect(oldest.isThisProcess)
        #expect(oldest.behindForNanoseconds.map { $0 > 0 && $0 < 600_000_000_000 } == true)
        #expect(readers.last?.version.rawValue == before.rawValue + 3)
        #expect(readers.last?.versionsBehind == 0)
        try old.close()
    }
}
