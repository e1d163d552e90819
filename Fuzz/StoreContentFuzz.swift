/// A store of which one or two stored values say something else, with checksums that fit: as somebody would make it who
/// means harm. Everything is read, verified, queried, salvaged and written; each of it is done or is an error.
///
/// Input: for each of up to two values two bytes that choose it, a byte of flags (0x80: checksums are left as they are,
/// 0x40: the value is missing, 0x20: it is cut short, 0x0F: how many edits), then the edits (see `FuzzInput.edit`).
import CMotteShim
import MotteColumns
import MotteExchange
import MotteLiveObjects
import MottePages
import MotteQueryEngine
import MotteSchemaModel
import MotteStorage
import MotteValues

extension FuzzTarget {
    package static let storeContent = FuzzTarget(
        name: "storeContent", seeds: StoreContentFuzz.seeds, run: StoreContentFuzz.run)
}

package enum StoreContentFuzz {
    static let schema = """
        Person {
            id: int key, name: string? indexed, any: mixed indexed, when: timestamp?, friend: link<Person>,
            home: link<Home>, tags: list<string>, friends: list<Person>, marks: set<int>, anys: list<mixed>,
            names: map<string?>, links: map<Person>, lovers: inverse<Person.friend>,
        }
        Mark { flag: bool?, f: float, d: double?, data: data?, decimal: decimal?, oid: objectId, uuid: uuid? }
        embedded Home { city: string, owner: link<Person>, annex: link<Home> }
        Place { name: string?, area: int, indexed(name [c]), indexed(area desc, name), unique(name, area) }
        """

    package typealias Entry = (key: [UInt8], value: [UInt8])

    /// What a sound store of all types holds, apart from the header record; made once.
    private static let made = Result { try makeEntries() }
    package static var entries: [Entry] { (try? made.get()) ?? [] }
    static let version = entries.lastIndex { $0.key.first == ChangeRecordFormat.keySpace }.flatMap {
        entries[$0].key.asBytes { ChangeRecordFormat.version(of: $0) }
    }

    nonisolated(unsafe) private static var storeNumber = 0  // one thread: a fuzzer's, or that of a serialized test

    private static func freshName() -> String {
        storeNumber += 1
        return "fuzz-\(storeNumber)"
    }

    // MARK: The sound store

    private static func options(_ name: String, _ schema: Schema? = nil) -> SessionOptions {
        var options = SessionOptions(.memory(name), schema: schema)
        options.rowGroupSize = 3
        return options
    }

    private static func makeEntries() throws -> [Entry] {
        let name = freshName()
        let session = try Session.open(options(name, try SchemaText.parse(schema)))
        defer { _ = try? session.close() }
        for round in 0 ..< 3 {
            try session.beginWrite()
            // Long lists of a few elements, so that there are trees of them.
            session.write?.listShape = LongListShape(
                leafElements: 4, leafBytes: 256, fanout: 3, inlineLimit: 6, returnLimit: 3)
            for number in round * 6 ..< round * 6 + 6 { try addPerson(session, number) }
            for _ in 0 ..< 4 { try addMark(session) }
            for number in round * 4 ..< round * 4 + 4 { try addPlace(session, number) }
            if round == 1 {
                let table = try session.tableKey("Person")
                if let person = try session.find(table, primaryKey: .int(2)) {
                    try session.delete(table, person.key)
                }
                if let person = try session.find(table, primaryKey: .int(3)) {
                    try person.set("name", to: .string("changed"))
                    try person.set("any", to: .list([.int(1), .map([MapEntry(key: "k", value: .null)])]))
                }
            }
            _ = try session.commit()
        }
        // What few rows of a commit leave: open row groups, one of them with a deleted row.
        try session.beginWrite()
        for number in 18 ..< 20 { try addPerson(session, number) }
        try addMark(session)
        _ = try session.commit()
        try session.beginWrite()
        let table = try session.tableKey("Person")
        if let person = try session.find(table, primaryKey: .int(18)) { try session.delete(table, person.key) }
        _ = try session.commit()
        let pages = try PageStore.open(pageOptions(name))
        let cursor = try pages.snapshot().makeCursor()
        var entries: [Entry] = []
        var found = try cursor.seek([])
        while found {
            if !cursor.key.elementsEqual(FileHeader.key) {
                entries.append((Array(cursor.key), Array(cursor.value.bytes)))
            }
            found = try cursor.next()
        }
        return entries
    }

    private static func addPerson(_ session: Session, _ number: Int) throws {
        let text = """
            {"id": \(number), "name": \(number % 4 == 0 ? "null" : "\"person \(number)\""), "any": \(anys[number % 5]),
             "when": \(number % 3 == 0 ? "null" : "\"2024-01-02T03:04:05Z\""), "tags": ["a", "b", "c"],
             "marks": [1, 5, 9], "anys": [1, "x", [2]], "names": {"de": "eins", "en": null},
             "home": {"city": "Rome", "annex": {"city": "Ostia"}}}
            """
        try text.utf8.map { $0 }.asBytes { bytes in
            try JSONImport(session, into: try session.tableKey("Person")).run(bytes)
        }
        let table = try session.tableKey("Person")
        guard let person = try session.find(table, primaryKey: .int(Int64(number))),
            let first = try session.find(table, primaryKey: .int(number > 6 ? 6 : 0))
        else { return }
        try person.set("friend", to: .link(ObjectLink(table: table, key: first.key)))
        guard let friends = try list("friends", of: person) else { return }
        if number == 8 { try person.set("name", to: .string(String(repeating: "long ", count: 1_000))) }
        for _ in 0 ..< (number == 4 ? 40 : 2) { try friends.append(.link(ObjectLink(table: table, key: first.key))) }
    }

    private static func list(_ name: String, of object: LiveObject) throws -> LiveList? {
        try object.session.schema.type(named: "Person").property(named: name)?.columnKey.map {
            try object.list($0)
        }
    }

    private static let anys = ["3", "\"text\"", "[1, {\"k\": [true, null]}]", "null", "1.5"]

    private static func addMark(_ session: Session) throws {
        let text = """
            {"flag": true, "f": 1.5, "d": -2.25, "data": "AAEC", "decimal": "12.5", "oid": "507f1f77bcf86cd799439011",
             "uuid": "00112233-4455-6677-8899-aabbccddeeff"}
            """
        try text.utf8.map { $0 }.asBytes { bytes in
            try JSONImport(session, into: try session.tableKey("Mark")).run(bytes)
        }
    }

    private static func addPlace(_ session: Session, _ number: Int) throws {
        let place = try session.create(try session.tableKey("Place"), primaryKey: nil).object
        let name = "\(number % 2 == 0 ? "Place" : "PLACE") \(number / 2)"
        if number % 5 != 4 { try place.set("name", to: .string(name)) }
        try place.set("area", to: .int(Int64(number % 3)))
    }

    static func emptySession() throws -> Session {
        try Session.open(options(freshName(), try SchemaText.parse(schema)))
    }

    /// The sound store, committed, for reading.
    static func soundSnapshot() throws -> Snapshot {
        let name = freshName()
        let pages = try store(name, entries.map { ($0.key, $0.value) })
        defer { pages.close() }
        return try Database.open(pageOptions(name)).snapshot()
    }

    /// A database in memory that holds these values.
    private static func store(_ name: String, _ entries: [Entry]) throws -> PageStore {
        guard let version else { throw Finding("the sound store has no versions") }
        let pages = try PageStore.open(pageOptions(name))
        var batch = PageBatch()
        for entry in entries { batch.put(entry.key, entry.value) }
        let lock = try pages.lockForWriting(timeoutMilliseconds: 0)
        defer { lock.release() }
        try pages.commit(batch, lock: lock, version: version)
        return pages
    }

    private static func pageOptions(_ name: String) -> PageStoreOptions {
        var options = PageStoreOptions(location: .memory(identifier: name))
        options.rowGroupSize = 3
        return options
    }

    // MARK: Changed

    @Sendable static func run(_ bytes: UnsafeRawBufferPointer) throws {
        let entries = try made.get()
        guard let version else { throw Finding("the sound store has no versions") }
        var input = FuzzInput(bytes)
        var changed: [Int: [UInt8]?] = [:]
        for _ in 0 ..< 2 where input.rest.count >= 3 {
            let chosen = input.half() % entries.count
            let flags = input.byte()
            var value = entries[chosen].value
            input.edit(&value, most: Int(flags & 0x0F))
            if flags & 0x20 != 0 { value.removeLast(value.count / 3) }
            if flags & 0x80 == 0 { Checksums.seal(&value, under: entries[chosen].key) }
            changed[chosen] = flags & 0x40 != 0 ? .some(nil) : value
        }
        let name = freshName()
        let pages = try store(
            name,
            entries.enumerated().compactMap { index, entry in
                (changed[index] ?? entry.value).map { (entry.key, $0) }
            })
        defer { pages.close() }
        try use(name, version)
    }

    /// How many problems a store has whose value at `index` is another one; an error is one.
    package static func problemCount(_ index: Int, _ value: [UInt8]) throws -> Int {
        let name = freshName()
        var entries = try made.get()
        entries[index].value = value
        let pages = try store(name, entries)
        defer { pages.close() }
        do throws(DatabaseError) {
            return try Database.open(pageOptions(name)).snapshot().verify().problems.count
        } catch {
            return 1
        }
    }

    /// Any error is polite, only not one that says we did not expect it.
    private static func attempt(_ body: () throws -> Void) throws {
        do {
            try body()
        } catch let error as DatabaseError {
            try Finding.require(error.code != .internal, "\(error.code): \(error.message)")
        }
    }

    private static let queries = [
        ("Person", "name == 'person 1'"), ("Person", "any == 3 or any.k[0] == true"),
        ("Person", "ALL friends.id > 3 SORT(when DESC)"), ("Place", "name ==[c] 'place 1'"),
        ("Place", "area == 1 AND name BEGINSWITH 'P'"), ("Place", "TRUEPREDICATE SORT(area DESC, name ASC) LIMIT(3)"),
        ("Place", "TRUEPREDICATE DISTINCT(area)"),
    ]

    private static func use(_ name: String, _ version: Version) throws {
        try attempt {
            let database = try Database.open(pageOptions(name))
            let snapshot = try database.snapshot()
            _ = try snapshot.verify(limit: 5)
            try attempt { _ = try DamagedFile(database).salvage { _ in } }
            for number in 0 ..< version.rawValue {
                try attempt { _ = try database.changes(from: Version(number), to: snapshot) }
            }
            for (name, query) in queries {
                try attempt {
                    guard let type = snapshot.schema[name], let table = type.tableKey else { return }
                    let bound = try BoundQuery.bind(
                        try ParsedQuery.parse(query), table: table, schema: snapshot.schema)
                    _ = try Executor(bound, snapshot).keys()
                }
            }
        }
        try attempt {
            let session = try Session.open(options(name))
            defer { _ = try? session.close() }
            try attempt {
                var sink = ByteSink()
                var export = try JSONExport(session)
                try export.store(to: &sink)
            }
            try write(session)
        }
    }

    static func write(_ session: Session) throws {
        try session.beginWrite()
        try attempt { try addPerson(session, 90) }
        try attempt { try addMark(session) }
        try attempt { try addPlace(session, 30) }
        try attempt { try session.delete(try session.tableKey("Place"), ObjectKey(2)) }
        let table = try session.tableKey("Person")
        for number in [0, 4, 7] {
            try attempt {
                guard let person = try session.find(table, primaryKey: .int(Int64(number))) else { return }
                try person.set("name", to: .string("new"))
                try list("friends", of: person)?.append(.link(ObjectLink(table: table, key: person.key)))
                try list("tags", of: person)?.append(.string("tag"))
            }
        }
        try attempt {
            if let person = try session.find(table, primaryKey: .int(5)) { try session.delete(table, person.key) }
        }
        try attempt { try session.delete(table, ObjectKey(4)) }
        try attempt { _ = try session.deleteAll(try session.tableKey("Mark")) }
        do throws(DatabaseError) {
            _ = try session.commit()
        } catch {
            if session.isInWrite { try session.cancel() }
            throw error
        }
    }

    /// Of each value two bytes changed, or it is missing or short.
    @Sendable static func seeds() throws -> [[UInt8]] {
        var seeds: [[UInt8]] = [[]]
        for index in try made.get().indices {
            let chosen = [UInt8(truncatingIfNeeded: index), UInt8(truncatingIfNeeded: index >> 8)]
            // A store takes a while; where exactly is the fuzzer's business.
            let place = [0, 4, 8, 16, 17, 24, 32, 40][index % 8]
            seeds.append(chosen + [2] + FuzzInput.edit(at: place, 0xFF) + FuzzInput.edit(at: place + 5, 0x7F))
            if index % 4 == 0 { seeds.append(chosen + [0x40]) }
            if index % 4 == 2 { seeds.append(chosen + [0x20]) }
        }
        return seeds
    }
}

/// Makes the checksums of what is stored under a key fit again.
enum Checksums {
    static func seal(_ value: inout [UInt8], under key: [UInt8]) {
        switch key.first {
        case 0x01: sealCatalog(&value)
        case 0x02 where value.count >= 36: value.store(crc([Array(value[..<32]), Array(value[36...]), key]), at: 32)
        case 0x03: sealOpenGroup(&value, key)
        case 0x04: ColumnChunkFuzz.seal(&value, kind: value.first ?? 0, key: key)
        case 0x05: sealBitmap(&value, key)
        case 0x06 where value.first == LongListInner.kind: sealInner(&value, key)
        case 0x06: ColumnChunkFuzz.seal(&value, kind: value.first ?? 0, key: key)
        case 0x07 where value.count >= IndexBlock.headerSize: value.withUnsafeMutableBytes { IndexBlock.seal($0, key) }
        case ChangeRecordFormat.keySpace:
            if let version = key.asBytes({ ChangeRecordFormat.version(of: $0) }) {
                ChangeRecordFuzz.seal(&value, version)
            }
        default: break
        }
    }

    static func sealCatalog(_ value: inout [UInt8]) {
        if value.count >= 8 { value.store(crc([Array(value[8...])]), at: 4) }
    }

    private static func crc(_ parts: [[UInt8]]) -> UInt32 {
        parts.reduce(0) { crc, part in part.asBytes { motte_shim_crc32c(crc, $0.baseAddress, $0.count) } }
    }

    private static func sealBitmap(_ value: inout [UInt8], _ key: [UInt8]) {
        guard value.count >= 12 else { return }
        value.store(0, at: 8)
        value.store(crc([value, key]), at: 8)
    }

    private static func sealInner(_ value: inout [UInt8], _ key: [UInt8]) {
        guard value.count >= LongListInner.headerSize else { return }
        value.store(crc([Array(value[..<16]), Array(value[LongListInner.headerSize...]), key]), at: 16)
    }

    private static func sealOpenGroup(_ value: inout [UInt8], _ key: [UInt8]) {
        guard value.count >= 32 else { return }
        let columns = value.word(at: 4)
        guard columns <= (value.count - 32) / 16 else { return }
        for index in 0 ..< columns {
            let (offset, size) = (value.word(at: 36 + index * 16), value.word(at: 40 + index * 16))
            guard offset >= 32 + columns * 16, size >= 16, size & 7 == 0, offset + size <= value.count else { continue }
            var chunk = Array(value[offset ..< offset + size])
            ColumnChunkFuzz.seal(&chunk, kind: chunk[0], key: key)
            value.replaceSubrange(offset ..< offset + size, with: chunk)
        }
        let (live, size) = (value.word(at: 16), value.word(at: 20))
        if live > 0, live + size <= value.count {
            var bitmap = Array(value[live ..< live + size])
            sealBitmap(&bitmap, key)
            value.replaceSubrange(live ..< live + size, with: bitmap)
        }
        value.store(crc([Array(value[..<24]), Array(value[32 ..< 32 + columns * 16]), key]), at: 24)
    }
}
