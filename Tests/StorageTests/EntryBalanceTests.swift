// Whether two bags of entries are distinguished by sums of their hashes, and which entries are then to be compared.
import MotteStorage
import TestSupport
import Testing

@Suite struct EntryBalanceTests {
    private func balance(_ rows: [IndexEntry], _ stored: [IndexEntry]) -> EntryBalance {
        let balance = EntryBalance()
        for entry in rows { balance.add(balance.hash(entry)) }
        for entry in stored { balance.take(balance.hash(entry)) }
        return balance
    }

    @Test func equalBagsAreEvenInAnyOrderWithEntriesThatAreThereTwice() throws {
        try PropertyTest.run(rounds: 20) { random, comment in
            let rows = (0 ..< random.below(2_000)).map { _ in
                IndexEntry(value: UInt64(random.below(50)), key: UInt64(random.below(50)))
            }
            var stored = rows
            for index in stored.indices { stored.swapAt(index, random.below(stored.count)) }
            #expect(balance(rows, stored).isEven, "\(comment)")
        }
    }

    @Test func whateverDiffersIsInAPartThatIsUneven() throws {
        try PropertyTest.run(rounds: 200) { random, comment in
            let rows = (0 ..< 2 + random.below(1_000)).map { IndexEntry(value: UInt64($0 % 7), key: UInt64($0)) }
            var stored = rows
            let place = random.below(stored.count), other = (place + 1) % stored.count
            var differing = [stored[place]]
            switch random.below(4) {
            case 0: stored.remove(at: place)
            case 1: stored.append(stored[place])
            case 2: stored[place].key += 1_000_000
            default:
                // The same values and the same keys, otherwise together.
                guard stored[place].value != stored[other].value else { return }
                differing.append(stored[other])
                (stored[place].value, stored[other].value) = (stored[other].value, stored[place].value)
            }
            let balance = balance(rows, stored)
            #expect(!balance.isEven, "\(comment)")
            for entry in differing { #expect(balance.isUneven(balance.hash(entry)), "\(comment)") }
            // Of a few that differ only few others need be looked at.
            let compared = rows.count { balance.isUneven(balance.hash($0)) }
            #expect(compared < 60, "\(compared) of \(rows.count); \(comment)")
        }
    }

    @Test func nullsAreOtherEntriesThanZeros() {
        let balance = EntryBalance()
        balance.add(balance.hash(null: 5))
        balance.take(balance.hash(IndexEntry(value: 0, key: 5)))
        #expect(!balance.isEven)
    }
}
