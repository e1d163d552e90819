// What applying a batch makes of two values of a mixed property: the edits that lead from one to the other, also of
// maps with very many keys, and of keys that Swift takes for the same text.
import MotteSchemaModel
import MotteStorage
import MotteValues
import TestSupport
import Testing

@Suite struct NestedDifferenceTests {
    private func map(_ keys: [String], value: (String) -> Value = { .string($0) }) -> Value {
        .map(keys.map { MapEntry(key: $0, value: value($0)) })
    }

    private func keys(removedOrPut edits: [(path: NestedPath, edit: NestedEdit)]?) throws -> [String] {
        try #require(edits).map { edit in
            switch edit.edit {
            case .removeKey(let key): "-\(key)"
            case .put(let key, _): "+\(key)"
            default: "another edit"
            }
        }
    }

    /// 30,000 keys took ten seconds when each was looked for among all others.
    @Test func largeMapsThatDifferInFewKeys() throws {
        let old = (0 ..< 100_000).map { "k\($0)" }
        var new = old.filter { $0 != "k70000" } + ["another"]
        new.swapAt(0, 50_000)
        let edits = NestedDifference.edits(
            from: map(old), to: map(new) { $0 == "k99999" ? .int(1) : .string($0) })
        #expect(try Set(keys(removedOrPut: edits)) == ["-k70000", "+another", "+k99999"])
    }

    @Test func keysAreTheirBytes() throws {
        let (composed, decomposed) = ("\u{e9}", "e\u{301}")
        #expect(composed == decomposed)
        let edits = NestedDifference.edits(
            from: map([composed]) { _ in .int(1) }, to: map([composed, decomposed]) { _ in .int(1) })
        let found = try #require(edits)
        #expect(found.count == 1)
        guard case .put(let key, _)? = found.first?.edit else {
            Issue.record("another edit")
            return
        }
        #expect(Array(key.utf8) == Array(decomposed.utf8))
    }

    @Test func tooManyDifferencesReplaceTheValue() {
        #expect(NestedDifference.edits(from: map([]), to: map((0 ..< 40).map(String.init))) == nil)
        #expect(NestedDifference.edits(from: map(["a"]), to: .list([])) == nil)
    }
}
