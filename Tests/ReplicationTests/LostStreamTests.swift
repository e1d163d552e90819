// Streams that servers lose, whole or at their end, and commits of which nobody can tell what became of them.
import MotteLiveObjects
import MotteReplication
import MotteSchemaModel
import MotteStorage
import MotteValues
import TestSupport
import Testing

@Suite(.serialized) struct LostStreamTests: StreamTesting {
    let folder = TemporaryDirectory()
    let network = SimulatedNetwork(seed: 3)

    /// L6: what was meant for a stream that is gone never gets into another one, whatever numbers that has.
    @Test func nothingGetsIntoTheNextStream() throws {
        let session = try open("a.motte")
        try write(session, 0 ..< 3)
        let former = try shipping(session, log())
        let old = try #require(try log().server.range(of: .log))
        for stream in LogStream.allCases { network.lose(stream) }
        let other = try open("b.motte")
        try write(other, 0 ..< 3)
        let now = try shipping(other, log())
        while try #require(try log().server.range(of: .log)).last < old.last {
            try write(other, Int64(100 + (try other.version.rawValue)) ..< Int64(101 + (try other.version.rawValue)))
            while try now.step() != .nothing {}
        }
        try write(session, 3 ..< 4)
        let error = failure { _ = try former.step() }
        #expect(error?.code == .fileNotFound && error?.message.contains("is gone") == true)
        #expect(try log().leader()?.origin == other.changeOrigin())
        #expect(failure { _ = try shipping(session, log()) }?.code == .historyForked)
        _ = try Restoring.run(SessionOptions(path: folder.file("c.motte")), from: log(), at: nil)
        #expect(try dump("c.motte") == StoreDump.text(other))
        _ = try session.close()
        _ = try other.close()
    }

    /// L6: the file that led makes streams again, and a file that only followed does not.
    @Test func whoLedMakesStreamsAgain() throws {
        let session = try open("a.motte")
        try write(session, 0 ..< 3)
        _ = try shipping(session, log())
        let following = try follower("b.motte")
        for stream in LogStream.allCases { network.lose(stream) }
        let refused = failure {
            _ = try shipping(following.session, log()) { ($0.takesOver, $0.leavesLeader) = (true, true) }
        }
        #expect(refused?.code == .outOfSequence && network.streams[.log] == nil)
        #expect(failure { _ = try following.step() }?.code == .fileNotFound)
        try write(session, 3 ..< 6)
        _ = try shipping(session, log())
        // Its numbers are those of another stream now.
        #expect(failure { while true { _ = try following.step() } }?.code == .outOfSequence)
        let leader = following.leader
        _ = try following.session.close()
        var options = SessionOptions(path: folder.file("b.motte"))
        options.isDurable = false
        #expect(try Renewal(options, from: log(), of: leader, stuckAt: following.position.version).run())
        // Another process has done it.
        #expect(try !Renewal(options, from: log(), of: leader, stuckAt: following.position.version).run())
        _ = try follower("b.motte").session.close()
        #expect(try dump("b.motte") == StoreDump.text(session))
        _ = try session.close()
    }

    /// L5: a server that has lost the end of a stream gives numbers again.
    @Test func messagesOfFormerTermsArePassedOver() throws {
        let session = try open("a.motte")
        try write(session, 0 ..< 3)
        let former = try shipping(session, log())
        let message = { () -> LogMessage in
            try write(session, 3 ..< 4)
            _ = try former.step()
            return try #require(network.streams[.log]?.last)
        }
        let late = try message()
        network.streams[.log]?.removeLast()
        network.names[.log] = [:]
        // Another process of the same file begins there, and ships the same commit.
        let now = try shipping(session, log())
        let last = try #require(network.streams[.log]?.last).number
        network.streams[.log]?.append(
            LogMessage(in: late.identity, number: last + 1, subject: late.subject, bytes: late.bytes))
        #expect(try log().leader()?.origin == session.changeOrigin())
        #expect(try log().end(of: session.changeOrigin())?.version == now.shipped)
        try write(session, 4 ..< 6)
        // The number is taken by now: it begins again behind it.
        #expect(failure { while try now.step() != .nothing {} }?.code == .timeout)
        _ = try shipping(session, log())
        _ = try follower("b.motte").session.close()
        #expect(try dump("b.motte") == StoreDump.text(session))
        _ = try Restoring.run(SessionOptions(path: folder.file("c.motte")), from: log(), at: nil)
        #expect(try dump("c.motte") == StoreDump.text(session))
        _ = try session.close()
    }

    /// A server that is begun again without its streams between two answers, and one that has others by then.
    @Test(arguments: [false, true]) func whoLeadsIsAskedAgain(isMadeAgain: Bool) throws {
        let session = try open("a.motte")
        try write(session, 0 ..< 3)
        while try shipping(session, log()).step() != .nothing {}
        let server = SimulatedServer(network)
        server.asked = { [unowned server] in
            server.asked = {}
            network.lose(.log)
            network.lose(.chunks)
            if isMadeAgain { #expect(throws: Never.self) { try shipping(session, log()).step() } }
        }
        let leader = try StreamLog(server, patienceMilliseconds: 100).leader()
        #expect(leader?.origin == (isMadeAgain ? try session.changeOrigin() : nil))
        // A stream that has no leader for long is none of ours.
        if isMadeAgain {
            network.streams[.log]?.removeAll { $0.subject == .leader }
            #expect(failure { _ = try log().leader() }?.code == .corrupted)
        }
        _ = try session.close()
    }

    @Test func aLostSnapshotIsMadeAgain() throws {
        let session = try open("a.motte")
        try write(session, 0 ..< 3)
        let own = try shipping(session, log())
        network.lose(.chunks)
        #expect(try log().snapshots(of: session.changeOrigin()).isEmpty)
        let status = try ReplicationStatus(session, at: "here") { _ throws(DatabaseError) in log() }
        #expect(!status.isHealthy && status.problems.contains { $0.contains("no snapshot") }, "\(status.problems)")
        try own.beat()
        guard case .snapshot = try own.step() else {
            Issue.record("no snapshot was made")
            return
        }
        _ = try follower("b.motte").session.close()
        #expect(try dump("b.motte") == StoreDump.text(session))
        _ = try session.close()
    }

    /// Of a batch that is missing in the middle, in a folder and in a stream.
    @Test func nothingIsRestoredUpToAGap() throws {
        let session = try open("a.motte")
        let place = try FolderLog(folder.path + "/log", making: true)
        let own = try [shipping(session, place), shipping(session, log())]
        var middle = Version(0)
        for id in 0 ..< 6 {
            try write(session, Int64(id) ..< Int64(id + 1))
            if id == 3 { middle = try #require(own[0].shipped) }
            for each in own { while try each.step() != .nothing {} }
        }
        let changes = LogName.changes(after: middle)
        try LogFolder(folder.path + "/log/" + session.changeOrigin().text, making: false).remove(changes)
        let index = try #require(network.streams[.log]).firstIndex {
            $0.subject == .changes && (try? LogPart($0.bytes, ""))?.from == middle
        }
        network.streams[.log]?.remove(at: try #require(index))
        for (number, log) in ([place, log()] as [ReplicationLog]).enumerated() {
            let options = SessionOptions(path: folder.file("restored-\(number).motte"))
            let error = failure { _ = try Restoring.run(options, from: log, at: nil) }
            #expect(error?.code == .historyUnavailable && error?.message.contains("--partial") == true)
            #expect(!folder.names.contains { $0.hasPrefix("restored-\(number)") })
            let restored = try Restoring.run(options, from: log, at: nil, isPartial: true)
            #expect(restored.version == middle)
        }
        // A later snapshot does not fill it.
        let time = wallTimeNanoseconds()
        try write(session, 6 ..< 7)
        for each in own { _ = try each.shipSnapshot() }
        for (number, log) in ([place, log()] as [ReplicationLog]).enumerated() {
            let options = SessionOptions(path: folder.file("then-\(number).motte"))
            let error = failure { _ = try Restoring.run(options, from: log, at: time) }
            #expect(error?.code == .historyUnavailable && error?.message.contains("--partial") == true)
            #expect(!folder.names.contains { $0.hasPrefix("then-\(number)") })
            let restored = try Restoring.run(options, from: log, at: time, isPartial: true)
            #expect(restored.version == middle && restored.nextWallTimeNanoseconds == nil)
        }
        _ = try session.close()
        World.removeAll(folder.path + "/log")
    }

    @Test func eachChangeMayHaveASnapshot() throws {
        let session = try open("a.motte")
        try write(session, 0 ..< 3)
        var options = ShippingOptions(name: "the leader")
        options.snapshotBytes = 0
        let own = try Shipping(session, to: log(), options)
        for id in Int64(3) ..< 6 {
            var steps = 0
            while steps < 9, try own.step() != .nothing { steps += 1 }
            #expect(steps > 0 && steps < 9)
            #expect(try log().end(of: session.changeOrigin())?.snapshot?.version == own.shipped)
            try write(session, id ..< id + 1)
        }
        _ = try session.close()
    }

    // MARK: Status

    private func problems(_ session: Session, _ log: ReplicationLog) throws -> [String] {
        try ReplicationStatus(session, at: "here") { _ throws(DatabaseError) in log }.problems
    }

    /// What the file gets while it is looked at is no older copy.
    @Test func aBusyLeaderIsHealthy() throws {
        let session = try open("a.motte")
        let shown = try open("a.motte")
        try write(session, 0 ..< 3)
        let own = try shipping(session, log()) { $0.isAsked = true }
        #expect(try problems(shown, log()).isEmpty)
        // The log has a commit that is made a moment later.
        try shown.refresh()
        let writer = try open("a.motte")
        try acknowledgeOutOfSight(writer, own)
        let before = try writer.version
        #expect(failure { try rename(writer, 1) }?.code == .outcomeUnknown)
        try writer.onCommit(nil)
        let log = log()
        #expect(try problems(shown, log).contains { $0.contains("older copy") })
        let batch = try #require(try log.changes(after: before, of: session.changeOrigin()))
        var waits = 0
        (log.server as? SimulatedServer)?.waiting = {
            waits += 1
            if waits == 2 { do { try writer.takeIn(batch) } catch { Issue.record("\(error)") } }
        }
        #expect(try problems(shown, log).isEmpty && waits == 2)
        for each in [writer, shown, session] { _ = try each.close() }
    }

    @Test func whatNobodyCanGoOnWithIsAProblem() throws {
        let session = try open("a.motte")
        try write(session, 0 ..< 3)
        let own = try shipping(session, log())
        let before = network.streams[.log]
        try write(session, 3 ..< 6)
        while try own.step() != .nothing {}
        let following = try follower("b.motte")
        #expect(try problems(following.session, log()).isEmpty)
        network.streams[.log] = before
        #expect(try problems(following.session, log()).contains { $0.contains("older copy") })
        network.streams[.log]?.removeAll { $0.subject != .leader }
        #expect(try problems(following.session, log()).contains { $0.contains("nobody can begin") })
        _ = try following.session.close()
        _ = try session.close()
    }

    @Test func aClockThatIsAheadIsSaid() throws {
        let session = try open("a.motte")
        try write(session, 0 ..< 3)
        _ = try shipping(session, log())
        func problems(_ seconds: Int64, period: Int64) throws -> [String] {
            let time = wallTimeNanoseconds() + seconds * 1_000_000_000
            try log().beat(
                Heartbeat(
                    origin: session.changeOrigin(), wallTimeNanoseconds: time, version: Version(1), seconds: period))
            return try self.problems(session, log())
        }
        for period: Int64 in [0, 5] {
            #expect(try problems(20, period: period).isEmpty)
            let said = try problems(4_000, period: period)
            #expect(said.count == 1 && said.first?.contains("the clocks differ by 39") == true, "\(said)")
        }
        #expect(try problems(-60, period: 5).count == 1 && problems(-60, period: 0).isEmpty)
        _ = try session.close()
    }

    // MARK: What nobody can tell

    /// The stream gets the next commit of the writer, who does not learn that.
    /// Of a program that tries again and again, and so has the write lock nearly always: there is a moment between two
    /// tries, or one when it is refused.
    @Test(arguments: [false, true]) func aCommitIsTakenInWhileItsProgramTriesAgain(_ isRefused: Bool) throws {
        let session = try open("a.motte")
        let writer = try open("a.motte")
        try write(session, 0 ..< 3)
        let own = try shipping(session, log()) { $0.isAsked = true }
        try acknowledgeOutOfSight(writer, own)
        #expect(failure { try rename(writer, 1) }?.code == .outcomeUnknown)
        // It is not said to have gone another way: this one is made when that one has been taken in.
        try writer.onCommit { batch throws(DatabaseError) in try own.acknowledge(batch) }
        #expect(failure { try rename(writer, 2) }?.code == .timeout)
        try writer.onCommit(nil)
        let log = log()
        let program = Program(writer)
        try program.begin()
        if !isRefused { (log.server as? SimulatedServer)?.waiting = { program.look() } }
        let again = try shipping(session, log) {
            $0.isAsked = true
            if isRefused { $0.refuses = { program.look() } }
        }
        try session.refresh()
        let table = try session.tableKey("Person")
        let found = try #require(try session.find(table, primaryKey: .int(1)))
        #expect(try found.get("name") == .string("renamed"))
        #expect(try again.shipped == session.version && program.looks == 3)
        _ = try writer.close()
        _ = try session.close()
    }

    /// Gives the write lock back at the third look, and has it again at the next one.
    private final class Program: @unchecked Sendable {
        private let session: Session
        private(set) var looks = 0

        init(_ session: Session) { self.session = session }

        func begin() throws { try session.beginWrite(timeoutMilliseconds: 0) }

        @discardableResult
        func look() -> Bool {
            looks += 1
            if looks == 3 { try? session.cancel() }
            if looks == 4 { try? begin() }
            return looks == 3
        }
    }

    /// The stream has it, says so or that it ends elsewhere, and then nothing more.
    @Test(arguments: [false, true]) func anAnswerThatIsHalfOfOneTellsNothing(_ isForgotten: Bool) throws {
        let session = try open("a.motte")
        try write(session, 0 ..< 3)
        let log = log()
        _ = try shipping(session, log)
        let asked = try shipping(session, log) { $0.isAsked = true }
        let server = try #require(log.server as? SimulatedServer)
        let writer = try open("a.motte")
        try writer.onCommit { batch throws(DatabaseError) in try asked.acknowledge(batch) }
        server.lostAnswers = 1
        var calls = 0
        server.step = { () throws(DatabaseError) in
            calls += 1
            // Names are known for two minutes.
            if calls == 2, isForgotten { network.names[.log] = [:] }
            if calls == 3 { server.isCut = true }
        }
        #expect(failure { try rename(writer, 1) }?.code == .outcomeUnknown)
        #expect(calls > 3)
        (server.step, server.isCut) = ({}, false)
        let again = try shipping(session, log) { $0.isAsked = true }
        try session.refresh()
        #expect(try again.shipped == session.version)
        _ = try writer.close()
        _ = try session.close()
    }

    @Test func answersAreReadAsServersWriteThem() {
        let answer = JSONNumbers(Array(#"{"stream":"MOTTE_people", "seq": 5,"duplicate": true}"#.utf8))
        #expect(answer.isTrue("duplicate") && answer.number("seq") == 5 && answer.text("stream") == "MOTTE_people")
        #expect(!JSONNumbers(Array(#"{"stream":"MOTTE_people", "seq":5}"#.utf8)).isTrue("duplicate"))
    }

    /// The stream has the commit and its writer does not know: the file takes it in, and all go on.
    @Test func aCommitThatOnlyTheStreamHasIsTakenIn() throws {
        let session = try open("a.motte")
        let writer = try open("a.motte")
        try write(session, 0 ..< 3)
        let own = try shipping(session, log()) { $0.isAsked = true }
        try acknowledgeOutOfSight(writer, own)
        #expect(failure { try write(writer, 3 ..< 4) }?.code == .outcomeUnknown)
        let before = try writer.version
        try writer.onCommit(nil)
        let again = try shipping(session, log()) { $0.isAsked = true }
        try writer.refresh()
        #expect(try writer.version.rawValue == before.rawValue + 1)
        #expect(try writer.find(try writer.tableKey("Person"), primaryKey: .int(3)) != nil)
        // Whoever has it from the stream goes on, and so does who writes.
        try writer.onCommit { batch throws(DatabaseError) in try again.acknowledge(batch) }
        try write(writer, 4 ..< 7)
        try writer.onCommit(nil)
        try write(writer, 7 ..< 8)
        while try again.step() != .nothing {}
        let last = try shipping(session, log()) { $0.isAsked = true }
        #expect(try last.shipped == session.version)
        _ = try follower("b.motte").session.close()
        try session.refresh()
        #expect(try dump("b.motte") == StoreDump.text(session))
        #expect(try session.committedSnapshot().verify().isSound)
        _ = try writer.close()
        _ = try session.close()
    }

    /// Also while it goes on, when the writer has ended.
    @Test func aCommitWhoseWriterEndedIsTakenIn() throws {
        let session = try open("a.motte")
        let writer = try open("a.motte")
        try write(session, 0 ..< 3)
        let own = try shipping(session, log()) { $0.isAsked = true }
        try writer.onCommit { batch throws(DatabaseError) in
            try own.acknowledge(batch)
            throw DatabaseError(.internal, "it ends here")
        }
        #expect(failure { try write(writer, 3 ..< 4) } != nil)
        for _ in 0 ..< 30 { _ = try own.step() }
        try session.refresh()
        #expect(try session.find(try session.tableKey("Person"), primaryKey: .int(3)) != nil)
        #expect(try own.shipped == session.version)
        _ = try writer.close()
        _ = try session.close()
    }

    /// When something else was committed meanwhile the two have gone different ways.
    @Test func whatWasCommittedMeanwhileIsNotPassedOver() throws {
        let session = try open("a.motte")
        let writer = try open("a.motte")
        try write(session, 0 ..< 3)
        let own = try shipping(session, log()) { $0.isAsked = true }
        try acknowledgeOutOfSight(writer, own)
        #expect(failure { try write(writer, 3 ..< 4) } != nil)
        try writer.onCommit(nil)
        try write(writer, 8 ..< 9)
        #expect(failure { _ = try shipping(session, log()) { $0.isAsked = true } }?.code == .historyForked)
        _ = try writer.close()
        _ = try session.close()
    }

    @Test func anOutcomeThatIsNotKnownIsSaid() throws {
        let session = try open("a.motte")
        try write(session, 0 ..< 3)
        let log = log()
        _ = try shipping(session, log)
        let writer = try open("a.motte")
        let asked = try shipping(session, log) { $0.isAsked = true }
        network.lossy = 100
        try writer.onCommit { batch throws(DatabaseError) in try asked.acknowledge(batch) }
        #expect(failure { try write(writer, 3 ..< 4) }?.code == .outcomeUnknown)
        _ = try writer.close()
        _ = try session.close()
    }

    // MARK: Ages

    @Test func agesGoByTheUptime() {
        let origin = ChangeOrigin(high: 1, low: 2)
        func snapshot(_ version: UInt64, wall: Int64, up: Int64, start: String = "a") -> LogSnapshot {
            LogSnapshot(
                origin: origin,
                info: SnapshotInfo(
                    version: Version(version), wallTimeNanoseconds: wall * 1_000_000_000, checksum: 0, byteCount: 1,
                    uptime: Uptime(start: start, milliseconds: up * 1_000)))
        }
        func base(_ all: [LogSnapshot], wall: Int64, up: Int64, start: String = "a", _ seconds: Int64) -> UInt64? {
            SnapshotAges(
                all, leader: origin, wallTimeNanoseconds: wall * 1_000_000_000,
                uptime: Uptime(start: start, milliseconds: up * 1_000)
            ).newest(asOldAs: seconds)?.info.version.rawValue
        }
        let day: Int64 = 86_400
        let all = [snapshot(1, wall: 1_000, up: 100), snapshot(2, wall: 1_010, up: 110)]
        // The clock is ten days ahead, and then right again.
        let ahead = all + [snapshot(3, wall: 1_020 + 10 * day, up: 120)]
        #expect(base(ahead, wall: 1_030 + 10 * day, up: 130, day) == nil)
        #expect(base(ahead, wall: 1_040, up: 140, day) == nil)
        #expect(base(all, wall: 1_010 + day, up: 110 + day, day) == 2)
        #expect(base(all, wall: 1_005 + day, up: 105 + day, day) == 1)
        // After a new start it is the clock that counts.
        #expect(base(all, wall: 1_010 + day, up: 5, start: "b", day) == 2)
        #expect(base(all, wall: 1_000, up: 5, start: "b", 0) == 2)
    }
}
