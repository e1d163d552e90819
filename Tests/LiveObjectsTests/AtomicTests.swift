// Savepoints of sessions: calls that are all or nothing, objects that never were, nested lists that are back where they
// were; and values that are borrowed from what a call changes.
import MotteLiveObjects
import MotteNotifications
import MotteSchemaModel
import MotteStorage
import MotteValues
import TestSupport
import Testing

private let schema = """
    Item {
        id: int key, title: string?, text: string? indexed, blob: data?, any: mixed, friend: link<Item>,
        texts: list<string>, blobs: list<data>, anys: list<mixed>, textSet: set<string>, anySet: set<mixed>,
        textMap: map<string>, anyMap: map<mixed>, partMap: map<Part>
    }
    Other { id: string key, title: string?, text: string?, any: mixed }
    embedded Part { name: string, any: mixed }
    """

@Suite struct AtomicTests {
    private struct Stop: Error {}

    @Test func whatThrowsLeavesNothing() throws {
        let session = try TestStore(schema: schema).open()
        let first = try session.inWrite { try session.add("Item", ["id": .int(1), "title": .string("one")]) }
        let epoch = session.viewEpoch
        try session.beginWrite()
        var made: LiveObject?
        #expect(throws: Stop.self) {
            try session.atomically {
                made = try session.add("Item", ["id": .int(2)])
                try first.set("title", to: .string("changed"))
                try first.list(first.column(named: "texts")).append(.string("a"))
                throw Stop()
            }
        }
        #expect(made?.isValid == false)
        #expect(try first.get("title") == .string("one"))
        #expect(try first.list(first.column(named: "texts")).count() == 0)
        #expect(session.viewEpoch > epoch)
        // Its key is not given to another one.
        let later = try session.add("Item", ["id": .int(2)])
        #expect(later.key != made?.key && later.isValid && made?.isValid == false)
        #expect(made?.isSame(as: later) == false)
        #expect(throws: DatabaseError.self) { try made?.get("title") }
        #expect(throws: DatabaseError.self) { try made?.set("title", to: .null) }
        try session.commit()
        #expect(made?.isValid == false && later.isValid)
        try session.inWrite { try later.delete() }
        #expect(made?.isValid == false && !later.isValid)
    }

    @Test func objectsOfEarlierPartsOfAWriteStay() throws {
        let session = try TestStore(schema: schema).open()
        try session.beginWrite()
        let early = try session.add("Item", ["id": .int(1)])
        try? session.atomically {
            try session.add("Item", ["id": .int(2)])
            throw Stop()
        }
        let late = try session.add("Item", ["id": .int(3)])
        #expect(early.isValid && late.isValid)
        try session.cancel()
        #expect(!early.isValid && !late.isValid)
        try session.beginWrite()
        let again = try session.add("Item", ["id": .int(1)])
        #expect(again.isValid && !early.isValid && !late.isValid)
        try session.commit()
        #expect(again.isValid && !early.isValid && !late.isValid)
    }

    /// Undone with what was undone within them, an object made before that and one made after it.
    @Test(arguments: [false, true]) func objectsAroundWhatWasUndoneGoWithIt(afterAChange: Bool) throws {
        let session = try TestStore(schema: schema).open()
        try session.beginWrite()
        let kept = afterAChange ? try session.add("Item", ["id": .int(0)]) : nil
        var undone: [LiveObject] = []
        #expect(throws: Stop.self) {
            try session.atomically {
                undone.append(try session.add("Item", ["id": .int(1)]))
                try? session.atomically {
                    undone.append(try session.add("Item", ["id": .int(2)]))
                    throw Stop()
                }
                undone.append(try session.add("Item", ["id": .int(3)]))
                throw Stop()
            }
        }
        #expect(undone.count == 3)
        let later = try (1 ... 3).map { try session.add("Item", ["id": .int($0)]) }
        #expect(undone.allSatisfy { !$0.isValid })
        #expect(later.allSatisfy { $0.isValid } && kept?.isValid != false)
        try session.commit()
        #expect(undone.allSatisfy { !$0.isValid })
        #expect(later.allSatisfy { $0.isValid } && kept?.isValid != false)
    }

    @Test func nestedListsAreBackWhereTheyWere() throws {
        let session = try TestStore(schema: schema).open()
        let item = try session.inWrite {
            try session.add("Item", ["id": .int(1), "any": .list([.int(0), .list([.int(1)]), .int(2)])])
        }
        let any = try item.column(named: "any")
        let outer = try #require(try item.nested(any))
        let inner = try #require(try outer.nested(at: 1))
        try session.beginWrite()
        try outer.insert(.int(9), at: 0)
        #expect(try inner.value(at: 0).owned == .int(1))
        try? session.atomically {
            try outer.remove(at: 0)
            try outer.insert(.int(7), at: 0)
            try outer.insert(.int(8), at: 0)
            try inner.insert(.int(5), at: 0)
            #expect(try inner.allValues == [.int(5), .int(1)])
            throw Stop()
        }
        #expect(try inner.allValues == [.int(1)])
        #expect(try outer.count() == 4)
        try? session.atomically {
            try item.set("any", to: .null)
            #expect(!inner.isValid)
            throw Stop()
        }
        #expect(try inner.isValid && inner.allValues == [.int(1)])
        try session.commit()
        #expect(try inner.allValues == [.int(1)])
        #expect(try inner.path() == [.index(2)])
    }

    @Test func observersReceiveNothingOfWhatWasUndone() throws {
        let session = try TestStore(schema: schema).open()
        let item = try session.inWrite { try session.add("Item", ["id": .int(1)]) }
        let token = try item.observe()
        let all = try session.objects("Item").observe()
        _ = try all.next()
        try session.inWrite {
            try? session.atomically {
                try item.set("title", to: .string("x"))
                try session.add("Item", ["id": .int(2)])
                throw Stop()
            }
            try session.add("Other", ["id": .string("o")])
        }
        if case .changes(let changes) = try token.next() { Issue.record("\(changes)") }
        if case .changes(let changes) = try all.next() { Issue.record("\(changes)") }
    }

    // MARK: Values borrowed from what is changed

    /// Every text and document that the objects hold, as it is lent.
    private func lent(_ item: LiveObject) throws -> [ValueView] {
        var views: [ValueView] = []
        for name in ["title", "text", "any"] { views.append(try item.get(item.column(named: name))) }
        for name in ["texts", "textSet", "textMap", "anys"] {
            let elements = try item.elements(item.column(named: name))
            for index in 0 ..< (try elements.count()) { views.append(try elements.value(at: index)) }
        }
        return views.filter { $0.kind == .string }
    }

    /// In a write that has just changed them, so that what is lent goes with the next change.
    private func filled(_ session: Session, _ random: inout SeededRandom) throws -> LiveObject {
        let item = try session.add("Item", ["id": .int(Int64(random.below(1 << 40)))])
        func text() -> Value { .string(String(repeating: "\(random.below(10))", count: 1 + random.below(60))) }
        for name in ["title", "text", "any"] { try item.set(name, to: text()) }
        for name in ["texts", "anys"] {
            let list = try item.list(item.column(named: name))
            for _ in 0 ..< 3 + random.below(40) { try list.append(text()) }
        }
        for _ in 0 ..< 3 + random.below(20) {
            try item.set(item.column(named: "textSet")).put(text())
            try item.map(item.column(named: "textMap")).put("k\(random.below(30))", text())
        }
        return item
    }

    @Test func callsTakeTheirOwnViews() throws {
        try PropertyTest.run(rounds: 60) { random, comment in
            let session = try TestStore(rowGroupSize: random.pick([3, 480]), schema: schema).open()
            try session.beginWrite()
            for _ in 0 ..< 1 + random.below(3) { _ = try filled(session, &random) }
            let item = try filled(session, &random)
            let views = try lent(item)
            let values = (0 ..< 1 + random.below(6)).map { _ in random.pick(views) }
            let wanted = values.map(\.owned)
            let texts = wanted.compactMap { if case .string(let text) = $0 { text } else { nil } }
            func list(_ name: String) throws -> LiveList { try item.list(item.column(named: name)) }
            let name = random.pick(["texts", "anys"])
            switch random.below(12) {
            case 0:
                try list(name).assign(values)
                #expect(try list(name).allValues == wanted, "\(comment)")
            case 1:
                let count = try list(name).count()
                try list(name).splice(at: 0, removing: count, inserting: values)
                #expect(try list(name).allValues == wanted, "\(comment)")
            case 2:
                let before = try list(name).allValues
                let index = random.below(before.count + 1)
                try list(name).insert(values, at: index)
                let expected = Array(before[..<index]) + wanted + Array(before[index...])
                #expect(try list(name).allValues == expected, "\(comment)")
            case 3:
                try list(name).set(0, to: values[0])
                #expect(try list(name).allValues[0] == wanted[0], "\(comment)")
            case 4:
                let set = try item.set(item.column(named: "textSet"))
                try set.assign(values)
                #expect(try Set(set.allValues) == Set(wanted), "\(comment)")
            case 5:
                // Texts of the values as keys, and other way round.
                let map = try item.map(item.column(named: random.pick(["textMap", "anyMap"])))
                try map.putMany(values.map { ($0.bytes, values[0]) })
                for text in texts { #expect(try map.get(text) == wanted[0], "\(comment)") }
            case 6:
                let map = try item.map(item.column(named: "textMap"))
                try map.assign(values.map { ($0.bytes, $0) })
                #expect(try Set(map.allValues) == Set(wanted), "\(comment)")
            case 7:
                let key = values[0].bytes
                let part = try item.map(item.column(named: "partMap")).embeddedPut(key)
                #expect(part.isValid, "\(comment)")
                #expect(try item.map(item.column(named: "partMap")).keyText(at: 0) == texts[0], "\(comment)")
            case 8:
                let columns = try ["title", "text", "any"].map { try item.column(named: $0) }
                let three = [values[0], random.pick(values), random.pick(values)]
                let expected = three.map(\.owned)
                try three.withUnsafeBufferPointer {
                    try session.setMany(item.table, item.key, columns: columns, values: $0)
                }
                #expect(try ["title", "text", "any"].map { try item.get($0) } == expected, "\(comment)")
            case 9, 10:
                let other = try session.tableKey("Other")
                let type = try session.schema.type(named: "Other")
                let columns = try ["id", "title", "text", "any"].map {
                    try #require(type.property(named: $0)?.columnKey)
                }
                var rows: [ValueView] = []
                for value in values { rows += [value, random.pick(values), value, value] }
                let expected = rows.map(\.owned)
                var keys = [Int64](repeating: -1, count: values.count)
                let policy: UpdatePolicy = random.pick([.all, .modified])
                for _ in 0 ..< 2 {
                    try session.upsertBatch(
                        other, columns: columns, rows: rows, rowCount: values.count, policy: policy, keys: &keys)
                    // The second time with what the first one has stored.
                    rows = try keys.flatMap { key in
                        try columns.map { try session.value(other, $0, ObjectKey(key)) }
                    }
                }
                for (row, key) in keys.enumerated() {
                    let object = try #require(try session.object(other, at: ObjectKey(key)))
                    #expect(try object.get("id") == expected[row * 4], "\(comment)")
                }
            default:
                let columns = try ["id", "title", "text"].map { try item.column(named: $0) }
                var rows: [ValueView] = []
                for (index, value) in values.enumerated() {
                    rows += [.int(Int64(-1 - index)), value, random.pick(values)]
                }
                let expected = rows.map(\.owned)
                let first = try session.insertBatch(item.table, columns: columns, rows: rows, rowCount: values.count)
                for row in values.indices {
                    let object = try session.object(item.table, at: ObjectKey(first.rawValue + Int64(row)))
                    #expect(try object?.get("title") == expected[row * 3 + 1], "\(comment)")
                    #expect(try object?.get("text") == expected[row * 3 + 2], "\(comment)")
                }
            }
            try session.commit()
        }
    }
}
