// Pending changes of an ordered index against a naive model: runs move to the spill file whether or not somebody looks
// in between, and going back to a savepoint takes out what came after it, wherever it lies, and nothing else.
import MottePages
import MotteStorage
import MotteValues
import TestSupport
import Testing

@Suite struct OrderedChangesTests {
    private struct Entry: Hashable {
        let text: String
        let key: UInt64

        /// Ended, as all bytes of values are.
        var bytes: [UInt8] { Array(text.utf8) + [0, 0] }
    }

    private struct Change {
        let entry: Entry
        let isRemoved: Bool
        let mark: Int
    }

    private static func apply(_ changes: inout OrderedChanges, _ entry: Entry, isRemoved: Bool) {
        entry.bytes.withUnsafeBytes { changes.append($0, entry.key, isRemoved: isRemoved) }
    }

    private static func span(_ text: String) -> OrderedSpan {
        let low = Array(text.utf8)
        return OrderedSpan(low: low, high: OrderedBytes.successor(low))
    }

    /// What is left of the changes, in order: `text key +` or `-`.
    private static func expected(_ made: [Change], _ prefix: String) -> [String] {
        var balances: [Entry: Int] = [:]
        for change in made { balances[change.entry, default: 0] += change.isRemoved ? -1 : 1 }
        return balances.filter { $0.value != 0 && $0.key.text.hasPrefix(prefix) }
            .sorted { ($0.key.text, $0.key.key) < ($1.key.text, $1.key.key) }
            .map { "\($0.key.text) \($0.key.key) \($0.value < 0 ? "-" : "+")" }
    }

    private static func text(_ change: OrderedChanges.Change) -> String {
        "\(String(decoding: change.bytes.dropLast(2), as: UTF8.self)) \(change.key) \(change.isRemoved ? "-" : "+")"
    }

    @Test func lookingKeepsNoRunInMemory() throws {
        var changes = OrderedChanges(SpillFile(), mostNear: 100)
        for number in 0 ..< 1_000 {
            Self.apply(&changes, Entry(text: "text \(number * 7 % 1_000)", key: UInt64(number)), isRemoved: false)
            #expect(changes.changes(in: Self.span("text \(number * 7 % 1_000)\0")).count == 1)
            try changes.checkInvariants()
        }
        #expect(changes.nearCount < 100)
    }

    @Test func historiesAreThoseOfTheModel() throws {
        try PropertyTest.run(rounds: 20) { random, comment in
            var changes = OrderedChanges(SpillFile(), mostNear: 20 + random.below(60))
            var made: [Change] = []
            for _ in 0 ..< 300 {
                switch random.below(10) {
                case 0:
                    let prefix = "text \(random.below(10))"
                    let found = changes.changes(in: Self.span(prefix)).map(Self.text)
                    #expect(found == Self.expected(made, prefix), "\(comment)")
                case 1 where random.chance(30) && !made.isEmpty:
                    let kept = made.count - random.below(min(made.count, 80))
                    changes.rollBack(to: kept < made.count ? made[kept].mark : changes.end)
                    made.removeLast(made.count - kept)
                    try changes.checkInvariants()
                default:
                    for _ in 0 ..< 1 + random.below(4) {
                        let isUndoing = random.chance(20) && !made.isEmpty
                        let other = isUndoing ? random.pick(made) : nil
                        let entry =
                            other?.entry
                            ?? Entry(text: "text \(random.below(60))", key: UInt64(random.below(5)))
                        let isRemoved = other.map { !$0.isRemoved } ?? random.chance(30)
                        made.append(Change(entry: entry, isRemoved: isRemoved, mark: changes.end))
                        Self.apply(&changes, entry, isRemoved: isRemoved)
                    }
                }
            }
            try changes.checkInvariants()
            var found: [String] = []
            try changes.forEach { change throws(DatabaseError) in found.append(Self.text(change)) }
            #expect(found == Self.expected(made, ""), "\(comment)")
            #expect(changes.count == made.count, "\(comment)")
        }
    }
}
