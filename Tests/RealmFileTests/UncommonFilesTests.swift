// What no fixture has: classes and properties that Motte has not in that form, and damage that only their use shows.
import MotteExchange
import MotteLiveObjects
import MotteRealmFile
import MotteSchemaModel
import MotteStorage
import MotteValues
import TestSupport
import Testing

@Suite struct UncommonFilesTests {
    private let directory = TemporaryDirectory()

    private func convert(_ builder: RealmBuilder, _ tables: [(name: String, ref: Int)]) throws -> RealmSummary {
        var builder = builder
        TemporaryDirectory.write(builder.finish(tables), directory.file("made.realm"))
        return try RealmConversion.convert(directory.file("made.realm"), to: directory.file())
    }

    private func open() throws -> Session { try Session.open(SessionOptions(path: directory.file())) }

    @Test func asymmetricClassesAndWordsAreNoted() throws {
        var builder = RealmBuilder()
        let clusters = builder.clusters([0, 1, 2]) { builder, rows in
            [builder.shortStrings(rows.map { "event \($0)" })]
        }
        let columns = [RealmBuilder.Column(name: "text", type: 2, attributes: 256)]
        let table = builder.table(0, columns, clusters: clusters, flags: 2)
        let summary = try convert(builder, [("Event", table)])
        #expect(summary.created == 3)
        #expect(summary.notes.count == 2)
        #expect(summary.notes.contains { $0.propertyName == nil && $0.reason.contains("asymmetric") })
        #expect(summary.notes.contains { $0.propertyName == "text" && $0.reason.contains("full-text") })
        let type = try open().schema.type(named: "Event")
        #expect(!type.isEmbedded && type.storedProperties.count == 1)
    }

    /// Its objects can be linked to, which is all there is to them.
    @Test func aClassWithoutPropertiesIsKeptWhereSomethingLinksToIt() throws {
        let backlink = RealmBuilder.backlink
        var builder = RealmBuilder()
        let origins = builder.clusters([0, 1]) { builder, _ in [builder.ints([2, 1])] }
        let linkKey = RealmBuilder.columnKey(0, 12, 16)
        let backKey = RealmBuilder.columnKey(0, backlink)
        let origin = builder.table(
            0, [RealmBuilder.Column(name: "to", type: 12, attributes: 16, opposite: (1, backKey))], clusters: origins)
        let targets = builder.clusters([0, 1]) { builder, _ in [builder.refs([3, 1])] }
        let target = builder.table(
            1, [RealmBuilder.Column(name: "", type: backlink, opposite: (0, linkKey))], clusters: targets)
        let lone = builder.table(2, [], clusters: builder.clusters([0, 1, 2]) { _, _ in [] })

        let summary = try convert(builder, [("Origin", origin), ("Target", target), ("Lone", lone)])

        #expect(summary.notes.contains { $0.className == "Lone" && $0.count == 3 })
        #expect(summary.notes.contains { $0.className == "Target" && $0.count == 0 })
        let session = try open()
        #expect(try session.schema["Lone"] == nil)
        let type = try session.schema.type(named: "Origin")
        let table = try #require(type.tableKey)
        let column = try #require(type.property(named: "to")?.columnKey)
        #expect(try session.value(table, column, ObjectKey(0)).linkValue.key == ObjectKey(1))
        #expect(try session.value(table, column, ObjectKey(1)).linkValue.key == ObjectKey(0))
    }

    /// Owners with links to embedded objects, by the key of each; 0 for none.
    private func embedding(_ owners: [Int64], embedded: [Int64]) throws -> RealmSummary {
        var builder = RealmBuilder()
        let linkKey = RealmBuilder.columnKey(0, 12, 16)
        let backKey = RealmBuilder.columnKey(1, RealmBuilder.backlink)
        let links = builder.clusters(owners.indices.map { Int64($0) }) { builder, rows in
            [builder.ints(rows.map { owners[$0] })]
        }
        let owner = builder.table(
            0, [RealmBuilder.Column(name: "home", type: 12, attributes: 16, opposite: (1, backKey))], clusters: links)
        let objects = builder.clusters(embedded) { builder, rows in
            let numbers = builder.ints(rows.map { embedded[$0] * 10 })
            return [numbers, builder.refs(rows.map { _ in 0 })]
        }
        let home = builder.table(
            1,
            [
                RealmBuilder.Column(name: "number", type: 0),
                RealmBuilder.Column(name: "", type: RealmBuilder.backlink, opposite: (0, linkKey)),
            ], clusters: objects, flags: 1)
        return try convert(builder, [("Owner", owner), ("Home", home)])
    }

    @Test func embeddedObjectsWithoutOwnersAreLeftOut() throws {
        let summary = try embedding([2, 0, 4], embedded: [0, 1, 2, 3, 4])
        let note = try #require(summary.notes.first)
        #expect(note.className == "Home" && note.count == 3 && note.firstKey == 0)
        #expect(summary.created == 3 + 2)
        let session = try open()
        let table = try #require(try session.schema.type(named: "Home").tableKey)
        #expect(try session.table(table).liveCount == 2)
        #expect(try session.committedSnapshot().verify().isSound)
    }

    @Test func anEmbeddedObjectWithTwoOwnersIsDamage() throws {
        let error = #expect(throws: DatabaseError.self) { try embedding([2, 2], embedded: [0, 1]) }
        #expect(error?.code == .corrupted)
        #expect(error?.message.contains("Owner.home of the object with the key 1") == true)
        #expect(directory.names == ["made.realm"])
    }

    @Test func aPrimaryKeyThatOccursTwiceIsAnError() throws {
        var builder = RealmBuilder()
        let clusters = builder.clusters([0, 1]) { builder, _ in [builder.ints([1, 2]), builder.ints([5, 5])] }
        let table = builder.table(
            0, [RealmBuilder.Column(name: "other", type: 0), RealmBuilder.Column(name: "id", type: 0)],
            clusters: clusters, primaryKey: RealmBuilder.columnKey(1, 0))
        let error = #expect(throws: DatabaseError.self) { try convert(builder, [("Twice", table)]) }
        #expect(error?.code == .duplicatePrimaryKey)
        #expect(error?.message.contains("object with the key 1 of Twice") == true)
        #expect(directory.names == ["made.realm"])
    }

    @Test func aLinkToNothingIsDamage() throws {
        let error = #expect(throws: DatabaseError.self) { try embedding([9], embedded: [0, 1]) }
        #expect(error?.code == .corrupted)
        #expect(error?.message.contains("Owner.home") == true)
        #expect(directory.names == ["made.realm"])
    }

    /// Classes that link to each other in a circle, more objects than a cluster, back and forth.
    @Test func linksGoInCircles() throws {
        let count = 700
        var builder = RealmBuilder()
        let back = RealmBuilder.columnKey(1, RealmBuilder.backlink)
        let link = RealmBuilder.columnKey(0, 12, 16)
        func table(_ slot: Int, to other: Int64, _ target: @escaping (Int) -> Int) -> Int {
            let clusters = builder.clusters((0 ..< count).map { Int64($0) }) { builder, rows in
                [builder.ints(rows.map { Int64(target($0)) + 1 }), builder.refs(rows.map { _ in 0 })]
            }
            return builder.table(
                slot,
                [
                    RealmBuilder.Column(name: "next", type: 12, attributes: 16, opposite: (other, back)),
                    RealmBuilder.Column(name: "", type: RealmBuilder.backlink, opposite: (other, link)),
                ], clusters: clusters)
        }
        let one = table(0, to: 1) { count - 1 - $0 }
        let two = table(1, to: 0) { ($0 * 7) % count }
        let summary = try convert(builder, [("One", one), ("Two", two)])
        #expect(summary.created == 2 * count && summary.notes.isEmpty)
        let session = try open()
        for (name, target) in [("One", { count - 1 - $0 }), ("Two", { ($0 * 7) % count })] as [(String, (Int) -> Int)] {
            let type = try session.schema.type(named: name)
            let table = try #require(type.tableKey)
            let column = try #require(type.property(named: "next")?.columnKey)
            for row in 0 ..< count {
                let value = try session.value(table, column, ObjectKey(Int64(row)))
                #expect(value.linkValue.key == ObjectKey(Int64(target(row))))
            }
        }
    }
}
