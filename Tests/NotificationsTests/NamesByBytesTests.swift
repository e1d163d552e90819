// Keys of maps and names of properties that look alike are told apart by observers.
import MotteLiveObjects
import MotteNotifications
import MotteSchemaModel
import MotteValues
import TestSupport
import Testing

@Suite struct NamesByBytesTests {
    private let composed = "\u{E9}"
    private let decomposed = "e\u{301}"

    private func bytes(_ names: [String]) -> [[UInt8]] { names.map { Array($0.utf8) } }

    @Test func aKeyThatGoesAndAnotherThatComesInTwoCommits() throws {
        let session = try TestStore(schema: "Box { id: int key, names: map<int> }").open()
        let box = try session.inWrite { try session.add("Box", ["id": .int(1)]) }
        let names = try box.map(box.column(named: "names"))
        try session.inWrite {
            try names.put(composed, .int(1))
            try names.put("x", .int(5))
        }
        let token = try names.observe()
        _ = try token.pull()

        try session.inWrite { try names.remove(composed) }
        try session.inWrite { try names.put(decomposed, .int(2)) }

        let changes = try #require(try token.pull())
        #expect(bytes(changes.keyDeletions) == bytes([composed]))
        #expect(bytes(changes.keyInsertions) == bytes([decomposed]))
        #expect(changes.keyModifications.isEmpty)
    }

    @Test func keyPathsThatLookAlike() throws {
        let store = TestStore(schema: "Row { id: int key, \(composed): int, \(decomposed): int }")
        let session = try store.open()
        let row = try session.inWrite { try session.add("Row", ["id": .int(1)]) }
        let rows = try session.objects("Row")
        let tokens = try [composed, decomposed].map { try rows.observe(keyPaths: [$0]) }
        for token in tokens { _ = try token.pull() }

        try session.inWrite { try row.set(decomposed, to: .int(5)) }

        #expect(try tokens[0].pull() == nil)
        #expect(try tokens[1].pull()?.short == "~[0]~[0]")

        try session.inWrite { try row.set(composed, to: .int(6)) }

        #expect(try tokens[1].pull() == nil)
        #expect(try tokens[0].pull()?.short == "~[0]~[0]")
    }

    @Test func queriesThatLookAlike() throws {
        let session = try TestStore(schema: "Row { id: int key, name: string }").open()
        try session.inWrite {
            for (id, name) in [composed, decomposed, decomposed].enumerated() {
                try session.add("Row", ["id": .int(Int64(id)), "name": .string(name)])
            }
        }
        let results = try [composed, decomposed].map { try session.objects("Row").filter("name == '\($0)'") }
        let tokens = try results.map { try $0.observe() }
        for token in tokens { _ = try token.pull() }
        #expect(try results.map { try $0.count() } == [1, 2])

        try session.inWrite { try session.add("Row", ["id": .int(3), "name": .string(composed)]) }

        #expect(try tokens[0].pull()?.short == "+[1]")
        #expect(try tokens[1].pull() == nil)
    }
}
