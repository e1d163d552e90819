// A session's file gives back space while other sessions read it, write to it and observe it; and by itself, where that
// is wanted.
import MotteLiveObjects
import MotteStorage
import MotteValues
import TestSupport
import Testing

@Suite struct OnlineCompactionTests {
    private let schema = "Note { id: int key, text: string }"

    /// Of about a kilobyte each, so that files are large with few objects.
    private func fill(_ session: Session, _ ids: Range<Int>) throws {
        try session.inWrite {
            for id in ids {
                let text = (0 ..< 100).map { "\(id &* 7919 &+ $0 &* 104_729)" }.joined()
                try session.add("Note", ["id": .int(Int64(id)), "text": .string(text)])
            }
        }
    }

    private func notes(_ session: Session) throws -> LiveResults { try session.objects("Note") }

    /// In commits of a thousand.
    private func delete(_ session: Session, below id: Int) throws {
        for start in stride(from: 0, to: id, by: 1000) {
            try session.inWrite { _ = try session.objects("Note").filter("id < \(start + 1000)").deleteObjects() }
        }
    }

    @Test func othersGoOnBetweenTheSteps() throws {
        let store = TestStore(.file, schema: schema)
        let session = try store.open()
        for start in stride(from: 0, to: 6_000, by: 1_000) { try fill(session, start ..< start + 1_000) }
        try delete(session, below: 5_000)
        let other = try store.open()
        var steps = 0
        let outcome = try session.compactOnline(stepBytes: 100_000) { (progress) throws(DatabaseError) in
            steps += 1
            #expect(progress.done <= progress.total)
            // What another session does between two steps counts, and is seen.
            try typed { try fill(other, 6_000 + steps ..< 6_001 + steps) }
        }
        #expect(steps > 3)
        #expect(outcome.bytesAfter < outcome.bytesBefore / 2, "\(outcome) after \(steps) steps")
        try session.refresh()
        #expect(try notes(session).count() == 1_000 + steps)
        #expect(try session.committedSnapshot().verify().isSound)
        try other.close()
        try session.close()
    }

    /// Commits do it: nobody asks for it, and none of them is much longer than others.
    @Test(arguments: [false, true]) func aFileThatIsMostlyFreeShrinksByItself(isWanted: Bool) throws {
        let store = TestStore(.file, schema: schema)
        var options = try store.options
        options.compactsAutomatically = isWanted
        options.isDurable = true
        let session = try Session.open(options)
        for start in stride(from: 0, to: 20_000, by: 2_000) { try fill(session, start ..< start + 2_000) }
        let before = try session.database.pages.statistics().fileBytes
        try delete(session, below: 18_000)
        for id in 0 ..< 100 { try fill(session, 30_000 + id ..< 30_001 + id) }
        let after = try session.database.pages.statistics().fileBytes
        #expect(before > 16 << 20)
        #expect(isWanted ? after < before / 2 : after >= before * 9 / 10, "\(before) to \(after)")
        #expect(try notes(session).count() == 2_100)
        #expect(try session.committedSnapshot().verify().isSound)
        try session.close()
    }
}
