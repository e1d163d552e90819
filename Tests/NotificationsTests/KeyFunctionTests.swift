// Key functions of sections that try to change something: they are refused before anything has moved, so that what is
// known of a version stays that version's, also for other sessions.
import MotteLiveObjects
import MotteNotifications
import MotteStorage
import MotteValues
import TestSupport
import Testing

private let schema = "Item { id: int key, rank: int, list: list<int> }"

@Suite struct KeyFunctionTests {
    /// Runs in the key function once it is armed.
    private final class Trap {
        var body: (() throws -> Void)?
        var code: ErrorCode?
        var ran = 0
    }

    private let store = TestStore(schema: schema)

    private func open() throws -> Session {
        let session = try store.open()
        guard try session.objects("Item").count() == 0 else { return session }
        try session.inWrite { for id in 0 ..< 3 { try session.add("Item", ["id": .int(Int64(id))]) } }
        return session
    }

    private func sections(_ session: Session, _ trap: Trap) throws -> LiveSections {
        LiveSections(
            try session.objects("Item"),
            by: SectionKey { (collection, index) throws(DatabaseError) in
                if let body = trap.body {
                    trap.body = nil
                    trap.ran += 1
                    trap.code = errorCode(body)
                }
                return try typed { try collection.object(at: index)?.get("rank") ?? .null }
            })
    }

    @Test func aWriteInAKeyFunctionMovesNothing() throws {
        let (session, other, third) = try (open(), open(), open())
        let trap = Trap()
        let token = try sections(session, trap).observe { _ in }
        // Evaluated whole, and shared with others.
        let query = "rank >= 0 DISTINCT(id)"
        let found = try session.objects("Item").filter(query)
        let results = try found.observe()
        let list = try #require(try session.objects("Item").object(at: 0)).collection("list").observe()
        try session.refresh()
        _ = try (results.pull(), list.pull())
        try other.inWrite { try other.add("Item", ["id": .int(5)]) }
        try third.refresh()
        for begin in [{ try session.beginWrite() }, { try session.beginGroup() }] {
            trap.body = {
                try other.inWrite {
                    try other.add("Item", ["id": .int(Int64(try other.objects("Item").count()) + 10)])
                    let object = try #require(try other.objects("Item").object(at: 0))
                    try object.list(object.column(named: "list")).append([.int(1)])
                }
                try begin()
            }
            try session.refresh()
            #expect(trap.code == .reentrant)
            #expect(try session.version < other.version)
            #expect(try found.count() == session.objects("Item").count())
            #expect(try third.objects("Item").filter(query).count() == third.objects("Item").count())
            try third.refresh()
        }
        #expect(trap.ran == 2)
        try session.refresh()
        #expect(try results.pull()?.insertions.count == 3 && list.pull()?.short == "+[0, 1]")
        #expect(try found.count() == session.objects("Item").count())
        token.stop()
    }

    @Test func nothingIsChangedInAWriteThatBegins() throws {
        let (session, other, third) = try (open(), open(), open())
        let trap = Trap()
        let token = try sections(session, trap).observe { _ in }
        let query = "rank >= 0 DISTINCT(id)"
        let results = try session.objects("Item").filter(query).observe()
        try session.refresh()
        _ = try results.pull()
        try other.inWrite { try other.add("Item", ["id": .int(5)]) }
        try third.refresh()
        trap.body = { try session.add("Item", ["id": .int(99)]) }
        try session.beginWrite()
        #expect(trap.ran == 1 && trap.code == .reentrant)
        #expect(try session.write?.hasChanges == false && session.objects("Item").count() == 4)
        try session.commit()
        #expect(try third.objects("Item").filter(query).count() == 4)
        #expect(try results.pull()?.insertions.count == 1)
        token.stop()
    }

    private enum State: CaseIterable { case outside, inWrite, inGroup }

    @Test func everythingThatMovesIsRefused() throws {
        let session = try open()
        let item = try #require(try session.objects("Item").object(at: 0))
        let table = try session.tableKey("Item")
        for state in State.allCases {
            let trap = Trap()
            let sections = try sections(session, trap)
            switch state {
            case .outside: break
            case .inWrite: try session.beginWrite()
            case .inGroup: try session.beginGroup()
            }
            let savepoint = session.isInWrite ? try session.savepoint() : nil
            var actions: [(name: String, body: () throws -> Void)] = [
                ("refresh", { try session.refresh() }), ("begin", { try session.beginWrite() }),
                ("group", { try session.beginGroup() }), ("end of a group", { try session.endGroup() }),
                ("compact", { _ = try session.compact() }), ("compact online", { _ = try session.compactOnline() }),
                ("commit", { try session.commit() }), ("cancel", { try session.cancel() }),
                ("savepoint", { _ = try session.savepoint() }),
                ("create", { try session.add("Item", ["id": .int(77)]) }),
                ("set", { try item.set("rank", to: .int(7)) }), ("delete", { try item.delete() }),
                ("delete all", { try session.deleteAll(table) }),
                ("append", { try item.list(item.column(named: "list")).append([.int(1)]) }),
                ("schema", { _ = try session.deleteType("Item") }),
            ]
            if let savepoint {
                actions.append(("release", { try session.release(savepoint) }))
                actions.append(("roll back", { try session.rollBack(to: savepoint) }))
            }
            let (version, epoch) = (try session.version, session.viewEpoch)
            for (name, body) in actions {
                trap.body = body
                // Asked anew each time.
                _ = try LiveSections(try session.objects("Item"), by: sections.key).count()
                #expect(trap.code == .reentrant, "\(name) \(state)")
                #expect(try session.version == version && session.viewEpoch == epoch, "\(name) \(state)")
            }
            #expect(trap.ran == actions.count)
            if session.isInWrite { try session.cancel() }
            if session.isInGroup { try session.endGroup() }
            // When the call has returned, everything goes on.
            try session.inWrite { try item.set("rank", to: .int(1)) }
        }
    }
}
