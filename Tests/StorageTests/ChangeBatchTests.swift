// Change batches: random histories on one file, applied to another in random groupings and with redelivery; what is
// refused; bytes that may be anything.
import MottePages
import MotteSchemaModel
import MotteStorage
import MotteValues
import TestSupport
import Testing

@Suite struct ChangeBatchTests {
    /// A database in memory with a snapshot that follows its own writes.
    final class Store {
        let database: Database
        let snapshot: Snapshot

        init(
            _ text: String? = nil, rowGroupSize: Int = 3, _ location: PageStoreOptions.Location? = nil,
            faults: FaultInjection? = nil
        ) throws {
            var options = PageStoreOptions(location: location ?? .memory(identifier: nil))
            options.faults = faults
            options.rowGroupSize = rowGroupSize
            options.durability = .none
            options.mostFileBytes = 256 << 20
            database = try Database.open(options)
            snapshot = try database.snapshot()
            if let text { _ = try database.reconcile(try SchemaText.parse(text), on: snapshot) }
        }

        var version: Version { snapshot.version }

        @discardableResult
        func write<Result>(_ body: (WriteTransaction) throws -> Result) throws -> Result {
            let write = try database.beginWrite(on: snapshot)
            do {
                let result = try body(write)
                try write.commit()
                return result
            } catch {
                write.cancel()
                throw error
            }
        }

        func batch(from version: Version) throws -> ChangeBatch {
            try database.changeBatch(from: version, to: snapshot)
        }

        @discardableResult
        func apply(_ batch: ChangeBatch) throws -> ChangeBatchOutcome { try write { try $0.apply(batch) } }

        func code(applying batch: ChangeBatch) throws -> ErrorCode? {
            let before = version
            do { try apply(batch) } catch let error as DatabaseError {
                #expect(version == before)
                return error.code
            }
            return nil
        }
    }

    /// Every object of classes with a primary key by that key, property by property; what it owns lies within it.
    static func dump(_ source: RowSource) throws -> [String: [String: String]] {
        var all: [String: [String: String]] = [:]
        for type in source.catalog.schema.objectTypes where !type.isEmbedded {
            guard let key = type.tableKey else { continue }
            let table = try source.table(key)
            for object in try liveKeys(table) {
                all[try name(ObjectLink(table: key, key: object), source)] = try properties(type, object, source)
            }
        }
        return all
    }

    static func liveKeys(_ table: TableView) throws -> [ObjectKey] {
        var keys: [ObjectKey] = []
        for key in 0 ..< table.nextKey where try table.locate(ObjectKey(key)) != nil { keys.append(ObjectKey(key)) }
        return keys
    }

    private static func properties(
        _ type: ObjectType, _ key: ObjectKey, _ source: RowSource
    ) throws -> [String: String] {
        let table = try source.table(try #require(type.tableKey))
        var properties: [String: String] = [:]
        for property in type.properties {
            guard let column = property.columnKey else { continue }
            var texts: [String] = []
            for index in 0 ..< (property.isCollection ? try table.listCount(column, key) : 0) {
                let name = property.isMap ? String(decoding: try table.mapKey(column, key, index), as: UTF8.self) : ""
                texts.append(name + ":" + (try text(try table.listElement(column, key, index).owned, source)))
            }
            if property.isSet { texts.sort() }
            properties[property.name] =
                property.isCollection
                ? texts.joined(separator: ",") : try text(try table.value(column, key).owned, source)
        }
        return properties
    }

    /// How an object is called in both files.
    static func name(_ link: ObjectLink, _ source: RowSource) throws -> String {
        let table = try source.table(link.table)
        guard let primary = table.type.primaryKey?.columnKey else { return "\(table.type.name)" }
        return "\(table.type.name)(\(try table.value(primary, link.key).owned.text))"
    }

    private static func text(_ value: Value, _ source: RowSource) throws -> String {
        switch value {
        case .link(let link):
            let type = try source.table(link.table).type
            guard type.isEmbedded else { return try name(link, source) }
            let inner = try properties(type, link.key, source).sorted { $0.key < $1.key }
            return "{" + inner.map { "\($0.key)=\($0.value)" }.joined(separator: " ") + "}"
        case .list(let elements): return "[" + (try elements.map { try text($0, source) }).joined(separator: ",") + "]"
        case .map(let entries):
            return "<" + (try entries.map { $0.key + ":" + (try text($0.value, source)) }).joined(separator: ",") + ">"
        default: return "\(value.kind) \(value.text)"
        }
    }

    // MARK: Random histories

    @Test(arguments: [3, 480]) func randomHistoriesLeadToTheSameObjects(rowGroupSize: Int) throws {
        var applied = 0
        try PropertyTest.run(rounds: 4) { random, comment in
            applied += try history(rowGroupSize, &random, comment)
        }
        print("note: \(applied) batches of random histories applied, from seed \(PropertyTest.firstSeed)")
    }

    private func history(_ rowGroupSize: Int, _ random: inout SeededRandom, _ comment: String) throws -> Int {
        let origin = try Store(EverythingModel.text, rowGroupSize: rowGroupSize)
        let other = try Store(rowGroupSize: random.chance(50) ? 3 : 480)
        try origin.write { try $0.keepChanges(since: Version(1)) }
        var model = try EverythingModel(origin.snapshot.schema)
        var position = Version(0)
        var old: [ChangeBatch] = []
        var before = try Self.dump(other.snapshot)
        for round in 0 ..< 16 {
            if round == 8 {
                _ = try origin.database.reconcile(try SchemaText.parse(EverythingModel.later), on: origin.snapshot)
            }
            try origin.write { write in
                try model.steps(write, below: 120, &random)
                if round > 8, let extra = write.catalog.schema["Extra"]?.tableKey {
                    let name = Value.string("extra \(round)")
                    _ = try name.withView { try write.create(extra, primaryKey: $0) }
                }
            }
            guard random.chance(55) || round == 15 else { continue }
            let batch = try origin.batch(from: position)
            #expect(try ChangeBatch(batch.bytes) == batch)
            let version = other.version
            if batch.to == position {
                #expect(try other.apply(batch) == .known, "\(comment)")
            } else {
                #expect(try other.apply(batch) == .applied, "\(comment), round \(round)")
                let after = try Self.dump(other.snapshot)
                let expected = try Self.dump(origin.snapshot)
                Self.compare(after, expected, "\(comment), round \(round)")
                if position > Version(0) {
                    let theirs = try #require(try origin.database.changes(from: position, to: origin.snapshot))
                    let ours = try #require(try other.database.changes(from: version, to: other.snapshot))
                    try Self.checkChanges(ours, other.snapshot, theirs, origin.snapshot, before, after, comment)
                }
                before = after
            }
            position = batch.to
            old.append(batch)
            let again = random.pick(old)
            #expect(try other.apply(again) == .known, "\(comment)")
            #expect(try other.snapshot.replicaPosition(batch.origin)?.version == position)
            let report = try other.snapshot.verify()
            #expect(report.isSound, "\(report.text); \(comment)")
        }
        #expect(try other.database.strayPages() == [], "\(comment)")
        return old.count
    }

    static func compare(
        _ actual: [String: [String: String]], _ expected: [String: [String: String]], _ comment: String
    ) {
        guard actual != expected else { return }
        for name in Set(actual.keys).union(expected.keys).sorted() where actual[name] != expected[name] {
            let (mine, theirs) = (actual[name] ?? [:], expected[name] ?? [:])
            for property in Set(mine.keys).union(theirs.keys).sorted() where mine[property] != theirs[property] {
                Issue.record("\(name).\(property): \(mine[property] ?? "-") is \(theirs[property] ?? "-"); \(comment)")
                return
            }
        }
    }

    /// Observers of the file that applied a batch are notified of what differs, and of nothing that did not change at
    /// the origin.
    private static func checkChanges(
        _ ours: ChangeSummary, _ mine: Snapshot, _ theirs: ChangeSummary, _ origin: Snapshot,
        _ before: [String: [String: String]], _ after: [String: [String: String]], _ comment: String
    ) throws {
        let own = try modifications(ours, mine)
        let recorded = try modifications(theirs, origin)
        // What takes the place of an object with its primary key is made there, and goes on in that object here.
        var made: Set<String> = []
        for table in theirs.tables {
            for key in table.inserted.keys {
                made.insert(try name(ObjectLink(table: table.table, key: ObjectKey(key)), origin))
            }
        }
        for (name, properties) in own where !made.contains(name) {
            #expect(properties.isSubset(of: recorded[name] ?? []), "\(name); \(comment)")
        }
        var inserted: Set<String> = []
        for table in ours.tables where mine.catalog.table(table.table)?.isEmbedded == false {
            for key in table.inserted.keys {
                inserted.insert(try name(ObjectLink(table: table.table, key: ObjectKey(key)), mine))
            }
        }
        #expect(inserted == Set(after.keys).subtracting(before.keys), "\(comment)")
        let things = try #require(mine.schema["Thing"]?.tableKey)
        let gone = Set(before.keys).subtracting(after.keys)
        #expect((ours.table(things)?.deleted.count ?? 0) == gone.count, "\(comment)")
        for (name, values) in after {
            guard let old = before[name] else { continue }
            for (property, value) in values where old[property] != value && old[property] != nil {
                // What an embedded object holds is in its owner's text, and modified there.
                let isWithin = value.contains("{") || old[property]?.contains("{") ?? false
                #expect(isWithin || own[name]?.contains(property) ?? false, "\(name).\(property); \(comment)")
            }
        }
    }

    private static func modifications(
        _ summary: ChangeSummary, _ source: Snapshot
    ) throws -> [String: Set<String>] {
        var modified: [String: Set<String>] = [:]
        for table in summary.tables {
            guard let stored = source.catalog.table(table.table), !stored.isEmbedded else { continue }
            for column in table.columns {
                guard let property = stored.column(column.column)?.name else { continue }
                for key in column.keys {
                    let name = try name(ObjectLink(table: table.table, key: ObjectKey(key)), source)
                    modified[name, default: []].insert(property)
                }
            }
        }
        return modified
    }

    // MARK: What is refused

    private static let people = "Person { id: int key, name: string } Note { text: string, about: link<Person> }"

    private func person(_ write: WriteTransaction, _ id: Int64, _ name: String) throws -> ObjectKey {
        let table = try #require(write.catalog.schema["Person"]?.tableKey)
        let column = try #require(write.catalog.schema["Person"]?.property(named: "name")?.columnKey)
        let key = try write.create(table, primaryKey: .int(id))
        try Value.string(name).withView { try write.set(table, column, key, to: $0) }
        return key
    }

    private func pair() throws -> (origin: Store, other: Store) {
        let origin = try Store(Self.people)
        try origin.write { try $0.keepChanges(since: Version(0)) }
        try origin.write { _ = try person($0, 1, "Ada") }
        let other = try Store()
        try other.apply(try origin.batch(from: Version(0)))
        return (origin, other)
    }

    @Test func gapsAndOverlapsAreRefused() throws {
        let (origin, other) = try pair()
        let start = origin.version
        try origin.write { _ = try person($0, 2, "Bo") }
        let middle = origin.version
        let first = try origin.batch(from: start)
        try origin.write { _ = try person($0, 3, "Cy") }
        let second = try origin.batch(from: middle)
        let both = try origin.batch(from: start)
        #expect(try other.code(applying: second) == .outOfSequence)
        #expect(try other.apply(first) == .applied)
        #expect(try other.code(applying: both) == .outOfSequence)
        #expect(try other.apply(first) == .known)
        #expect(try other.apply(second) == .applied)
        #expect(try other.apply(both) == .known)
        #expect(try Self.dump(other.snapshot) == Self.dump(origin.snapshot))
        let empty = try Store()
        #expect(try empty.code(applying: both) == .outOfSequence)
        #expect(try origin.code(applying: both) == .invalidArgument)
    }

    @Test func aForkIsRefused() throws {
        let folder = TemporaryDirectory()
        let path = folder.file("origin.motte")
        var batches: [ChangeBatch] = []
        let other = try Store()
        do {
            let origin = try Store(Self.people, .file(path))
            try origin.write { try $0.keepChanges(since: Version(0)) }
            try other.apply(try origin.batch(from: Version(0)))
            let start = origin.version
            #expect(TemporaryDirectory.write(TemporaryDirectory.read(path), folder.file("older.motte")))
            try origin.write { _ = try person($0, 2, "Bo") }
            batches.append(try origin.batch(from: start))
        }
        let older = try Store(nil, .file(folder.file("older.motte")))
        let start = older.version
        try older.write { _ = try person($0, 2, "Ben") }
        let same = try older.batch(from: start)
        let middle = older.version
        try older.write { _ = try person($0, 3, "Cy") }
        try other.apply(batches[0])
        #expect(try other.code(applying: same) == .historyForked)
        #expect(try other.code(applying: try older.batch(from: middle)) == .historyForked)
    }

    @Test func aCommitThatFailsLeavesNeitherObjectsNorPosition() throws {
        let origin = try Store(Self.people)
        try origin.write { try $0.keepChanges(since: Version(0)) }
        try origin.write { _ = try person($0, 1, "Ada") }
        let whole = try origin.batch(from: Version(0))
        try origin.write { _ = try person($0, 2, "Bo") }
        let later = try origin.batch(from: whole.to)
        let folder = TemporaryDirectory()
        let faults = FaultInjection()
        do {
            let other = try Store(nil, .file(folder.file()), faults: faults)
            for batch in [whole, later] {
                let before = try Self.dump(other.snapshot)
                let position = try other.snapshot.replicaPosition(batch.origin)
                faults.failCommit(1)
                #expect(throws: DatabaseError.self) { try other.apply(batch) }
                #expect(try Self.dump(other.snapshot) == before)
                #expect(try other.snapshot.replicaPosition(batch.origin) == position)
                #expect(try other.apply(batch) == .applied)
            }
        }
        let again = try Store(nil, .file(folder.file()))
        #expect(try again.apply(later) == .known)
        #expect(try Self.dump(again.snapshot) == Self.dump(origin.snapshot))
    }

    @Test func aTrimmedLogSaysSo() throws {
        let origin = try Store(Self.people)
        let start = origin.version
        for id in 0 ..< 140 { try origin.write { _ = try person($0, Int64(id), "someone") } }
        let error = #expect(throws: DatabaseError.self) { _ = try origin.batch(from: start) }
        #expect(error?.code == .historyUnavailable)
        let later = #expect(throws: DatabaseError.self) { _ = try origin.batch(from: Version(10_000)) }
        #expect(later?.code == .historyUnavailable)
        let kept = try Store(Self.people)
        try kept.write { try $0.keepChanges(since: start) }
        for id in 0 ..< 140 { try kept.write { _ = try person($0, Int64(id), "someone") } }
        #expect(try kept.batch(from: start).from == start)
        #expect(try kept.snapshot.keptChanges().oldest == start)
        try kept.write { try $0.keepChanges(since: nil) }
        for id in 140 ..< 280 { try kept.write { _ = try person($0, Int64(id), "someone") } }
        #expect(throws: DatabaseError.self) { _ = try kept.batch(from: start) }
    }

    @Test func anotherSchemaIsRefusedAndAdditionsAreNot() throws {
        let (origin, other) = try pair()
        var start = origin.version
        let more =
            "Person { id: int key, name: string indexed, age: int? } "
            + "Note { text: string, about: link<Person> } New { a: int }"
        _ = try origin.database.reconcile(try SchemaText.parse(more), on: origin.snapshot)
        #expect(try other.apply(try origin.batch(from: start)) == .applied)
        #expect(other.snapshot.schema["New"] != nil)
        #expect(other.snapshot.schema["Person"]?.property(named: "name")?.isIndexed == true)
        #expect(try other.snapshot.verify().isSound)
        start = origin.version
        _ = try origin.database.deleteType("New", on: origin.snapshot)
        #expect(try other.code(applying: try origin.batch(from: start)) == .schemaMismatch)
        let conflicting = try Store("Person { id: string key, name: string }")
        #expect(try conflicting.code(applying: try origin.batch(from: Version(0))) == .schemaMismatch)
    }

    @Test func objectsWithThePrimaryKeyGoOn() throws {
        let (origin, other) = try pair()
        let start = origin.version
        let table = try #require(origin.snapshot.schema["Person"]?.tableKey)
        try origin.write { write in
            _ = try write.delete(table, [0])
            _ = try person(write, 1, "another Ada")
        }
        #expect(try other.apply(try origin.batch(from: start)) == .applied)
        #expect(try Self.dump(other.snapshot) == Self.dump(origin.snapshot))
        // Next changes are of the object that goes on.
        let middle = origin.version
        let column = try #require(origin.snapshot.schema["Person"]?.property(named: "name")?.columnKey)
        try origin.write { write in
            try Value.string("third").withView { try write.set(table, column, ObjectKey(1), to: $0) }
        }
        #expect(try other.apply(try origin.batch(from: middle)) == .applied)
        #expect(try Self.dump(other.snapshot) == Self.dump(origin.snapshot))
    }

    @Test func whatIsNestedIsEdited() throws {
        let origin = try Store("Person { id: int key, any: mixed }")
        try origin.write { try $0.keepChanges(since: Version(0)) }
        let table = try #require(origin.snapshot.schema["Person"]?.tableKey)
        let column = try #require(origin.snapshot.schema["Person"]?.property(named: "any")?.columnKey)
        let value = Value.map([
            MapEntry(key: "a", value: .list([.int(1), .int(2), .int(3)])), MapEntry(key: "b", value: .string("text")),
        ])
        try origin.write { write in
            _ = try write.create(table, primaryKey: .int(1))
            try value.withView { try write.set(table, column, ObjectKey(0), to: $0) }
        }
        let other = try Store()
        try other.apply(try origin.batch(from: Version(0)))
        let start = origin.version
        try origin.write { write in
            try write.nestedEdit(table, column, ObjectKey(0), path: [.key("a")], edit: .insert(at: 1, .int(9)))
            try write.nestedEdit(table, column, ObjectKey(0), path: [], edit: .removeKey("b"))
        }
        let version = other.version
        try other.apply(try origin.batch(from: start))
        #expect(try Self.dump(other.snapshot) == Self.dump(origin.snapshot))
        let summary = try #require(try other.database.changes(from: version, to: other.snapshot))
        let edits = try #require(summary.tables.first?.nested.first?.operations)
        #expect(
            edits == [
                NestedOperation(path: [], change: .keyRemoved("b")),
                NestedOperation(path: [.key("a")], change: .inserted(at: 1, count: 1)),
            ])
    }

    // MARK: Bytes

    @Test func damagedBatchesAreErrors() throws {
        let origin = try Store(EverythingModel.text)
        var model = try EverythingModel(origin.snapshot.schema)
        var random = SeededRandom(seed: 7)
        try origin.write { write in
            var candidates: [ObjectLink] = []
            for _ in 0 ..< 400 { try model.step(write, &random, &candidates) }
        }
        let bytes = try origin.batch(from: Version(0)).bytes
        for count in stride(from: 0, to: bytes.count, by: max(1, bytes.count / 50)) {
            #expect(throws: DatabaseError.self) { _ = try ChangeBatch(Array(bytes[..<count])) }
        }
        var refused = 0
        for _ in 0 ..< TestScale.times(150) {
            var changed = bytes
            for _ in 0 ... random.below(3) {
                let place = ChangeBatchFormat.headerSize + random.below(bytes.count - ChangeBatchFormat.headerSize)
                changed[place] = UInt8(random.below(256))
            }
            if changed != bytes { #expect(throws: DatabaseError.self) { _ = try ChangeBatch(changed) } }
            changed.store(
                u32: changed.withUnsafeBytes { ChangeBatchFormat.checksum(of: $0) },
                at: ChangeBatchFormat.checksumOffset)
            let other = try Store()
            do { try other.apply(try ChangeBatch(changed)) } catch is DatabaseError {
                refused += 1
                #expect(other.version == Version(0))
            }
            let report = try other.snapshot.verify()
            #expect(report.isSound, "\(report.text)")
        }
        #expect(refused > 0)
    }

    @Test func listEditsLeadFromOldToNew() throws {
        try PropertyTest.run(rounds: 400) { random, comment in
            var list = (0 ..< random.below(12)).map { "\($0)" }
            let old = list
            var operations: [ListOperation] = []
            for step in 0 ..< random.below(14) {
                switch random.below(5) {
                case 0:
                    let index = random.below(list.count + 1)
                    let count = random.below(3) + 1
                    list.insert(contentsOf: (0 ..< count).map { "n\(step).\($0)" }, at: index)
                    operations.append(.insert(at: index, count: count))
                case 1 where !list.isEmpty:
                    let index = random.below(list.count)
                    let count = min(list.count - index, random.below(3) + 1)
                    list.removeSubrange(index ..< index + count)
                    operations.append(.remove(at: index, count: count))
                case 2 where !list.isEmpty:
                    let index = random.below(list.count)
                    list[index] = "s\(step)"
                    operations.append(.set(at: index))
                case 3 where !list.isEmpty:
                    let from = random.below(list.count)
                    let to = random.below(list.count)
                    list.insert(list.remove(at: from), at: to)
                    operations.append(.move(from: from, to: to))
                default:
                    guard random.below(12) == 0, !list.isEmpty else { continue }
                    operations.append(.clear(count: list.count))
                    list = []
                }
            }
            let edits = try #require(ListEdits(operations, newCount: list.count), "\(comment)")
            #expect(edits.oldCount == old.count, "\(comment)")
            var replayed = old
            for edit in edits.edits {
                switch edit {
                case .insert(let index, let count):
                    replayed.insert(contentsOf: list[index ..< index + count], at: index)
                case .remove(let index, let count): replayed.removeSubrange(index ..< index + count)
                case .set(let index, let count):
                    replayed.replaceSubrange(index ..< index + count, with: list[index ..< index + count])
                case .move(let from, let to): replayed.insert(replayed.remove(at: from), at: to)
                }
            }
            #expect(replayed == list, "\(comment)")
        }
    }
}
