/// Object identifiers of the Swift API: text, time, order, and that new ones never repeat.
import Foundation
import Motte
import Testing

@Suite struct ObjectIdTests {
    @Test func isZeroUnlessGenerated() {  // 251
        #expect(ObjectId().stringValue == "000000000000000000000000")
        #expect(ObjectId() == ObjectId())
        #expect(ObjectId.generate() != ObjectId())
    }

    @Test(arguments: ["1234567890ab1234567890ab", "1234567890AB1234567890AB"])
    func readsHexadecimalOfEitherCaseAndPrintsLower(_ text: String) throws {
        #expect(try ObjectId(string: text).stringValue == text.lowercased())
        #expect("\(try ObjectId(string: text))" == text.lowercased())
        #expect(try ObjectId(string: text) == ObjectId("1234567890ab1234567890ab"))
    }

    @Test(arguments: ["", "abc", "1234567890ab1234567890abc", "1234567890ab1234567890ag", "éééééééééééé"])
    func refusesOtherText(_ text: String) {  // 7
        #expect {
            try ObjectId(string: text)
        } throws: { error in
            (error as? Realm.Error)?.code == .invalidInput && "\(error)".contains("must be 24 hex digits")
        }
    }

    @Test func generatesAscendingOnes() {  // 251
        let ids = (0 ..< 10_000).map { _ in ObjectId.generate() }

        #expect(zip(ids, ids.dropFirst()).allSatisfy { $0 < $1 })
    }

    @Test func generatesDifferentOnesOnAllThreads() async {
        let all = await withTaskGroup(of: [ObjectId].self) { group in
            for _ in 0 ..< 8 { group.addTask { (0 ..< 1_000).map { _ in ObjectId.generate() } } }
            return await group.reduce(into: []) { $0 += $1 }
        }

        #expect(Set(all).count == 8_000)
    }

    @Test func knowsItsTime() throws {
        let now = Date()
        let made = ObjectId.generate().timestamp

        #expect(abs(made.timeIntervalSince(now)) < 3)
        #expect(try ObjectId(string: "000004d20000000000000000").timestamp == Date(timeIntervalSince1970: 1_234))
    }

    @Test func isMadeOfATimeAMachineAndAProcess() {
        let time = Date(timeIntervalSince1970: 1_700_000_000.75)
        let first = ObjectId(timestamp: time, machineId: 10, processId: 20)
        let second = ObjectId(timestamp: time, machineId: 10, processId: 20)

        #expect(first.timestamp == Date(timeIntervalSince1970: 1_700_000_000))
        #expect(first.stringValue.hasPrefix("6553f10000000a0014"))
        #expect(first != second)
        #expect(ObjectId(timestamp: .distantPast, machineId: 0, processId: 0).timestamp.timeIntervalSince1970 == 0)
        #expect(
            ObjectId(timestamp: Date(timeIntervalSince1970: .nan), machineId: -1, processId: -1)
                .stringValue.hasPrefix("00000000ffffffffff"))
    }

    @Test func ordersByBytes() throws {  // 251
        let ascending = try [
            "000000000000000000000000", "000000000000000000000001", "0000000000000000000000ff",
            "000000000000000100000000", "7f0000000000000000000000", "ff0000000000000000000000",
        ].map { try ObjectId(string: $0) }

        #expect(ascending.shuffled().sorted() == ascending)
        #expect(ascending[1].isEqual(ascending[1]) && !ascending[1].isEqual("x"))
    }

    @Test func isCodedAsText() throws {  // 1.15
        let id = ObjectId("1234567890ab1234567890ab")
        let encoded = try JSONEncoder().encode([id])

        #expect(String(decoding: encoded, as: UTF8.self) == #"["1234567890ab1234567890ab"]"#)
        #expect(try JSONDecoder().decode([ObjectId].self, from: encoded) == [id])
        #expect(throws: DecodingError.self) {
            try JSONDecoder().decode([ObjectId].self, from: Data(#"["12"]"#.utf8))
        }
    }
}
