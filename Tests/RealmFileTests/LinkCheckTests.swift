// Links that have no backlinks, backlinks that have no links, embedded objects without an owner or with two.
import MotteRealmFile
import MotteValues
import Testing

@Suite struct LinkCheckTests {
    /// A class that links to itself: keys of targets, and of origins for each object.
    private func file(_ targets: [Int64?], _ origins: [[Int64]], isEmbedded: Bool = false) throws -> RealmFile {
        var builder = RealmBuilder()
        let linkKey = RealmBuilder.columnKey(0, 12, 16)
        let backKey = RealmBuilder.columnKey(1, RealmBuilder.backlink)
        let columns = [
            RealmBuilder.Column(name: "next", type: 12, attributes: 16, opposite: (0, backKey)),
            RealmBuilder.Column(name: "", type: RealmBuilder.backlink, opposite: (0, linkKey)),
        ]
        let clusters = builder.clusters(targets.indices.map { Int64($0) }) { builder, _ in
            var backlinks: [Int64] = []
            for keys in origins {
                switch keys.count {
                case 0: backlinks.append(0)
                case 1: backlinks.append(keys[0] << 1 | 1)
                default: backlinks.append(Int64(builder.ints(keys)))
                }
            }
            return [builder.ints(targets.map { ($0 ?? -1) + 1 }), builder.refs(backlinks)]
        }
        let table = builder.table(0, columns, clusters: clusters, flags: isEmbedded ? 1 : 0)
        return try RealmFile(bytes: builder.finish([("Item", table)]))
    }

    private func problem(_ file: RealmFile) -> String? {
        do throws(DatabaseError) {
            try file.checkBacklinks()
            try file.tables[0].checkBacklinks()
            return nil
        } catch {
            #expect(error.code == .corrupted)
            return error.details.className.map { "\($0).\(error.details.propertyName ?? "-") \(error.message)" }
        }
    }

    @Test func linksThatFitAreNoProblem() throws {
        #expect(problem(try file([1, nil, 1, 0], [[3], [0, 2], [], []])) == nil)
    }

    @Test func differencesAreFoundInNumberOriginAndTarget() throws {
        let missing = problem(try file([1, nil, 1, 0], [[3], [0], [], []]))
        #expect(missing?.hasPrefix("Item.next ") == true)
        #expect(missing?.contains("3 links lead to Item, which has 2 backlinks") == true)
        let others: [[[Int64]]] = [
            [[3], [0, 3], [], []], [[], [0, 2], [3], []], [[3], [0, 0], [], []], [[0], [3, 2], [], []],
        ]
        for origins in others {
            let found = problem(try file([1, nil, 1, 0], origins))
            #expect(found?.contains("backlinks in Item are not those of the links") == true, "\(origins)")
        }
        // A link to no object, which nothing else notices before it is followed.
        #expect(problem(try file([7, nil], [[], []])) != nil)
    }

    @Test func anEmbeddedObjectHasOneOwner() throws {
        // A ring: each is owned by the one before.
        #expect(problem(try file([1, 2, 0], [[2], [0], [1]], isEmbedded: true)) == nil)
        #expect(
            problem(try file([1, nil, 1], [[], [0, 2], []], isEmbedded: true))?.contains("has 0 owners") == true)
        #expect(
            problem(try file([1, 0, 1], [[1], [0, 2], []], isEmbedded: true))?.contains("has 2 owners") == true)
    }
}
