// Keys of maps that look alike are told apart by their bytes.
import Motte
import Testing

@Suite struct NamesByBytesTests {
    private let composed = "\u{E9}"
    private let decomposed = "e\u{301}"

    private func keys(_ map: Map<String, Int>) -> [[UInt8]] { map.keys.map { Array($0.utf8) } }

    @Test func aMapIsAssignedWithAllItsKeys() throws {
        let realm = try makeRealm([MarkedByName.self])
        let (one, other) = try realm.write { (realm.create(MarkedByName.self), realm.create(MarkedByName.self)) }
        try realm.write {
            one.marks[composed] = 1
            one.marks[decomposed] = 2
            other.marks[composed] = 3
        }
        #expect(one.marks.count == 2 && one.marks[composed] == 1 && one.marks[decomposed] == 2)

        try realm.write { other.marks = one.marks }

        #expect(keys(other.marks) == [decomposed, composed].map { Array($0.utf8) })
        #expect(other.marks[composed] == 1 && other.marks[decomposed] == 2)

        // What is not in the new ones goes.
        let less = Map<String, Int>()
        less[decomposed] = 5
        try realm.write { other.marks = less }

        #expect(keys(other.marks) == [Array(decomposed.utf8)])
    }
}

private final class MarkedByName: Object {
    @Persisted var marks: Map<String, Int>
}
