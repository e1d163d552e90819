// Which changes upserts and assignments report: modified only what differs, all everything that was given.
import MotteLiveObjects
import MotteNotifications
import MotteSchemaModel
import MotteValues
import TestSupport
import Testing

@Suite struct UpsertNotificationTests {
    struct World {
        let session: Session
        let ada: LiveObject
        let object: Observation
        let people: Observation

        init() throws {
            session = try TestStore(schema: kennelSchema).open()
            let session = session
            ada = try session.inWrite {
                try session.add("Person", ["id": .int(1), "name": .string("Ada"), "age": .int(36)])
            }
            object = try ada.observe()
            people = try session.objects("Person").observe()
            _ = try people.pull()
        }

        func upsert(_ name: String, _ age: Int64, _ policy: UpdatePolicy) throws {
            let columns = try ["id", "name", "age"].map { try ada.column(named: $0) }
            let text = Value.string(name)
            try session.inWrite {
                try text.withView { (view: ValueView) throws in
                    let values = [ValueView.int(1), view, .int(age)]
                    _ = try values.withUnsafeBufferPointer {
                        try session.upsert(ada.table, columns: columns, values: $0, policy: policy)
                    }
                }
            }
        }

        func changedNames() throws -> [String]? {
            try object.pull()?.properties.map(\.name)
        }
    }

    @Test func modified51ReportsOnlyWhatDiffers() throws {
        let world = try World()
        try world.upsert("Ada", 36, .modified)
        #expect(try world.changedNames() == nil)
        #expect(try world.people.pull() == nil)
        try world.upsert("Ada", 37, .modified)
        #expect(try world.changedNames() == ["age"])
        #expect(try world.people.pull()?.short == "~[0]~[0]")
    }

    @Test func all51ReportsEqualValuesToo() throws {
        let world = try World()
        try world.upsert("Ada", 36, .all)
        #expect(try world.changedNames() == ["name", "age"])
        #expect(try world.people.pull()?.short == "~[0]~[0]")
    }

    @Test func assigning52AnEqualValueIsAModification() throws {
        let world = try World()
        try world.session.inWrite { try world.ada.set("age", to: .int(36)) }
        #expect(try world.changedNames() == ["age"])
    }

    @Test func aSetManyThatFailsReportsNothing() throws {
        let world = try World()
        let columns = try ["age", "name"].map { try world.ada.column(named: $0) }
        try world.session.inWrite {
            let wrong = [ValueView.int(5), .int(6)]
            #expect(
                errorCode { try wrong.withUnsafeBufferPointer { try world.ada.setMany(columns, values: $0) } }
                    == .wrongType)
        }
        #expect(try world.changedNames() == nil)
        #expect(try world.people.pull() == nil)
    }

    @Test func lists55AreComparedElementByElement() throws {
        let world = try World()
        let list = try #require(try world.ada.collection("tags") as? LiveList)
        func assign(_ texts: [String], _ policy: UpdatePolicy) throws {
            let values = try world.session.inWrite { () throws -> LiveResults in
                let scratch = try world.session.add("Person", ["id": .int(99)])
                let tags = try #require(try scratch.collection("tags") as? LiveList)
                for text in texts { try tags.append(.string(text)) }
                let fixed = try tags.snapshot()
                try scratch.delete()
                return fixed
            }
            try world.session.inWrite { try list.assign(from: values, policy: policy) }
        }
        try assign(["a", "b", "c"], .modified)
        let token = try list.observe()
        _ = try token.pull()
        _ = try world.object.pull()
        try assign(["a", "b", "c"], .modified)
        #expect(try token.pull() == nil)
        #expect(try world.object.pull() == nil)
        try assign(["a", "x", "c", "d"], .modified)
        #expect(try token.pull()?.short == "+[3] ~[1]~[1]")
        try assign(["a", "x"], .modified)
        #expect(try token.pull()?.short == "-[2, 3]")
        try assign(["a", "x"], .all)
        #expect(try token.pull()?.short == "~[0, 1]~[0, 1]")
        try world.session.inWrite { try list.assign(from: list) }
        #expect(try token.pull() == nil)
        #expect(try list.allValues == [.string("a"), .string("x")])
        try assign([], .all)
        #expect(try token.pull()?.short == "-[0, 1]")
    }
}
