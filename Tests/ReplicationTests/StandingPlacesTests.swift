// Where a log or a follower stands and something between was lost, trimmed or taken in: it goes on, or says what is
// missing, and nothing else changes.
import MotteLiveObjects
import MotteReplication
import MotteSchemaModel
import MotteStorage
import MotteValues
import TestSupport
import Testing

@Suite(.serialized) struct StandingPlacesTests: StreamTesting {
    let folder = TemporaryDirectory()
    let network = SimulatedNetwork(seed: 3)

    /// Two commits that only the stream had: whoever stands at the first one goes on all the same.
    @Test func placesGoOnFromEachCommitThatWasTakenIn() throws {
        let session = try open("a.motte")
        let writer = try open("a.motte")
        try write(session, 0 ..< 3)
        func takeIn(_ id: Int64) throws {
            let own = try shipping(session, log()) { $0.isAsked = true }
            try acknowledgeOutOfSight(writer, own)
            #expect(failure { try write(writer, id ..< id + 1) }?.code == .outcomeUnknown)
            try writer.onCommit(nil)
            _ = try shipping(session, log()) { $0.isAsked = true }
            try writer.refresh()
        }
        try takeIn(3)
        let following = try follower("b.motte")
        let second = SimulatedNetwork(seed: 5)
        func other() -> StreamLog {
            let log = StreamLog(SimulatedServer(second), patienceMilliseconds: 100)
            log.temporaryFolder = folder.path
            return log
        }
        _ = try shipping(session, other()) { $0.consumer = "other" }
        for id in Int64(4) ..< 6 { try takeIn(id) }
        while try following.step() != .nothing {}
        #expect(try dump("b.motte") == StoreDump.text(session))
        let again = try shipping(session, other()) { $0.consumer = "other" }
        #expect(try again.shipped == session.version)
        #expect(try session.committedSnapshot().verify().isSound)
        _ = try following.session.close()
        _ = try writer.close()
        _ = try session.close()
    }

    /// A message in the middle is gone: no snapshot leads beyond it, until the leader makes one.
    @Test func whatIsMissingInTheMiddleLeavesTheFile() throws {
        let session = try open("a.motte")
        try write(session, 0 ..< 3)
        let own = try shipping(session, log())
        let following = try follower("b.motte")
        for id in Int64(3) ..< 6 {
            try write(session, id ..< id + 1)
            while try own.step() != .nothing {}
        }
        // The second of three, each in two parts.
        let messages = try #require(network.streams[.log])
        let missing = messages.count - 4 ..< messages.count - 2
        #expect(messages.suffix(6).allSatisfy { $0.subject == .changes })
        network.streams[.log]?.removeSubrange(missing)
        #expect(try following.step() != .nothing)
        let position = following.position
        let error = failure { for _ in 0 ..< 500 { _ = try following.step() } }
        #expect(error?.code == .corrupted && error?.message.contains("no snapshot there leads beyond") == true)
        #expect(following.position == position)
        _ = try own.shipSnapshot()
        #expect(failure { for _ in 0 ..< 500 { _ = try following.step() } }?.code == .outOfSequence)
        _ = try following.session.close()
        _ = try session.close()
    }

    /// What is no longer kept for the place is in the next snapshot.
    @Test func aChangeLogThatWasTrimmedIsNoEnd() throws {
        let session = try open("a.motte")
        try write(session, 0 ..< 3)
        let first = log()
        _ = try shipping(session, first)
        try session.keepChanges(since: nil, for: first.consumer, timeoutMilliseconds: -1)
        for id in Int64(3) ..< 200 { try write(session, id ..< id + 1) }
        #expect(failure { _ = try session.freeze().changeBatch(since: Version(4)) }?.code == .historyUnavailable)
        let now = try shipping(session, log())
        #expect(try now.shipped == session.version)
        try write(session, 200 ..< 201)
        while try now.step() != .nothing {}
        _ = try follower("b.motte").session.close()
        #expect(try dump("b.motte") == StoreDump.text(session))
        _ = try session.close()
    }

    /// Whoever can't take over changes nothing.
    @Test func aTakeoverThatIsRefusedLeavesTheLeader() throws {
        let session = try open("a.motte")
        try write(session, 0 ..< 3)
        let own = try shipping(session, log())
        let following = try follower("b.motte")
        for consumer in ["", String(repeating: "x", count: 2_000)] {
            let refused = failure {
                _ = try shipping(following.session, log()) {
                    ($0.takesOver, $0.leavesLeader, $0.consumer) = (true, true, consumer)
                }
            }
            #expect(refused?.code == .invalidArgument)
        }
        #expect(try log().leader()?.origin == session.changeOrigin())
        try write(session, 3 ..< 4)
        #expect(try own.step() != .nothing)
        _ = try following.session.close()
        _ = try session.close()
    }
}
