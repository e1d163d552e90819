// What leaders and followers refuse, trimming, restoring to a time, and what status says.
import MotteLiveObjects
import MotteReplication
import MotteStorage
import MotteValues
import TestSupport
import Testing

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

@Suite(.serialized) struct ReplicationTests {
    private func world(commits: Int = 3) throws -> World {
        let world = try World()
        var random = SeededRandom(seed: 5)
        for _ in 0 ..< commits {
            try world.write(&random)
            #expect(try world.ship())
        }
        return world
    }

    private func open(_ place: String) throws(DatabaseError) -> ReplicationLog { try FolderLog(place) }

    private func code(_ body: () throws -> Void) -> ErrorCode? {
        do { try body() } catch { return (error as? DatabaseError)?.code }
        return nil
    }

    private func message(_ body: () throws -> Void) -> String {
        do { try body() } catch { return (error as? DatabaseError)?.message ?? "\(error)" }
        return ""
    }

    @Test func aFollowerRefusesWritersAndKeepsItsPosition() throws {
        let world = try world()
        let following = try Following(world.followerOptions("a.motte"), from: world.log)
        while try following.step() != .nothing {}
        #expect(try World.content(following.session) == World.content(world.leader))
        let words = message { try following.session.beginWrite() }
        #expect(words.contains("follows the leader") && words.contains("--stop"))
        #expect(code { try following.session.beginGroup() } == .readOnly)
        let other = try World()
        #expect(code { _ = try following.session.apply(try other.leader.changeBatch(since: Version(0))) } == .readOnly)
        #expect(
            code { _ = try Shipping(following.session, to: world.folder.path + "/third", world.options) } == .readOnly)
        _ = try following.session.close()
        let again = try Following(world.followerOptions("a.motte"), from: world.log)
        #expect(again.position == following.position)
        try again.session.follow(nil)
        try again.session.beginWrite()
        try again.session.cancel()
        _ = try again.session.close()
        // What was written to it meanwhile nobody knows.
        #expect(code { _ = try Following(world.followerOptions("a.motte"), from: world.log) } == .invalidArgument)
        World.removeAll(world.folder.path + "/third")
    }

    @Test func whoHasNothingToFollowGetsAnError() throws {
        let world = try World()
        #expect(code { _ = try Following(world.followerOptions("a.motte"), from: world.log) } == .fileNotFound)
        #expect(
            code { _ = try Restoring.run(world.followerOptions("b.motte"), from: FolderLog(world.log), at: nil) }
                == .fileNotFound)
        let shipped = try self.world()
        var options = shipped.followerOptions("own.motte")
        options.schema = nil
        _ = try Session.open(options).close()
        #expect(code { _ = try Following(options, from: shipped.log) } == .invalidArgument)
    }

    @Test func onlyOneProcessShips() throws {
        let world = try world()
        let second = try #require(world.shipping)
        #expect(code { _ = try Shipping(world.leader, to: world.log, world.options) } == .busy)
        #expect(try second.step() == .nothing)
    }

    @Test func anotherFileIsRefused() throws {
        let world = try world()
        let stranger = try World()
        try world.restartLeader()
        #expect(code { _ = try Shipping(stranger.leader, to: world.log, world.options) } == .historyForked)
        #expect(try world.ship())
    }

    @Test func aLeaderThatWasReplacedStops() throws {
        let world = try world()
        var random = SeededRandom(seed: 9)
        let following = try Following(world.followerOptions("a.motte"), from: world.log)
        while try following.step() != .nothing {}
        try following.session.follow(nil)
        try world.restartLeader()
        // It lacks what the leader has shipped since.
        try world.write(&random)
        #expect(try world.ship())
        try world.restartLeader()
        var options = ShippingOptions(name: "the second")
        #expect(code { _ = try Shipping(following.session, to: world.log, options) } == .historyForked)
        options.takesOver = true
        #expect(code { _ = try Shipping(following.session, to: world.log, options) } == .outOfSequence)
        // Nothing is added to a file that follows nobody.
        #expect(try following.step() == .left && following.step() == .left)
        let leader = following.leader
        try following.session.follow(FollowedLeader(origin: leader.origin, name: leader.name, source: world.log))
        while try following.step() != .nothing {}
        try following.session.follow(nil)
        do {
            let second = try Shipping(following.session, to: world.log, options)
            guard case .snapshot = try second.step() else {
                Issue.record("a new leader begins with a snapshot")
                return
            }
        }
        let deposed = message { _ = try world.ship() }
        #expect(deposed.contains("the second"), "\(deposed)")
        let waiting = try Following(world.followerOptions("new.motte"), from: world.log)
        #expect(waiting.leader.name == "the second")
        #expect(try World.content(waiting.session) == World.content(following.session))
        #expect(code { _ = try Following(world.followerOptions("a.motte"), from: world.log) } == .invalidArgument)
        _ = try waiting.session.close()
        _ = try following.session.close()
    }

    @Test func aLeaderThatIsDeposedWhileItRunsSaysWhatIsNotShipped() throws {
        let world = try world()
        var random = SeededRandom(seed: 3)
        let shipping = try #require(world.shipping)
        let end = try #require(shipping.shipped)
        let root = try LogFolder(world.log, making: false)
        let another = LeaderRecord(name: "another", origin: ChangeOrigin(high: 1, low: 2))
        try root.replace(LogName.leader, another.bytes(after: nil))
        try world.write(&random)
        let words = message { _ = try shipping.step() }
        #expect(words.contains("another has taken over") && words.contains("\(end.rawValue)"), "\(words)")
    }

    /// The leader is replaced by a copy that was made before its last commits, and goes another way.
    @Test(arguments: [0, 1, 2]) func anOlderCopyOfTheLeaderIsRefused(laterCommits: Int) throws {
        let folder = TemporaryDirectory()
        let (path, log) = (folder.file("leader.motte"), folder.path + "/log")
        defer { World.removeAll(log) }
        var options = SessionOptions(path: path)
        options.schema = try TestStore(schema: World.schema).options.schema
        func commit(_ id: Int64, ship: Bool) throws {
            let session = try Session.open(options)
            defer { _ = try? session.close() }
            let shipping = ship ? try Shipping(session, to: log, ShippingOptions(name: "leader")) : nil
            let table = try session.tableKey("Person")
            try session.inWrite { _ = try session.create(table, primaryKey: .int(id)) }
            while let step = try shipping?.step(), step != .nothing {}
        }
        try commit(1, ship: true)
        let older = TemporaryDirectory.read(path)
        try commit(2, ship: true)
        try commit(3, ship: true)
        #expect(TemporaryDirectory.write(older, path))
        for id in 0 ..< laterCommits { try commit(Int64(10 + id), ship: false) }
        let words = message { try commit(20, ship: true) }
        #expect(words.contains("replaced by an older copy"), "\(words)")
    }

    @Test func aFollowerThatIsTooFarBehindIsRefused() throws {
        let world = try world()
        let following = try Following(world.followerOptions("a.motte"), from: world.log)
        while try following.step() != .nothing {}
        try world.restartLeader()
        world.options.keepSeconds = 0
        var random = SeededRandom(seed: 4)
        for _ in 0 ..< 12 {
            try world.write(&random)
            #expect(try world.ship())
        }
        _ = try world.shipping?.shipSnapshot()
        let contents = try LogContents(of: try world.ownFolder)
        #expect(contents.snapshots.count == 1 && contents.changes.allSatisfy { $0 >= contents.snapshots[0] })
        _ = try following.session.close()
        let again = try Following(world.followerOptions("a.motte"), from: world.log)
        #expect(code { _ = try again.step() } == .outOfSequence)
        let new = try Following(world.followerOptions("b.motte"), from: world.log)
        while try new.step() != .nothing {}
        #expect(try World.content(new.session) == World.content(world.leader))
        _ = try again.session.close()
        _ = try new.session.close()
    }

    @Test func aFileIsRestoredToEachCommit() throws {
        let world = try World()
        var random = SeededRandom(seed: 6)
        var commits: [(version: Version, time: Int64, content: Content)] = []
        for _ in 0 ..< 14 {
            try world.write(&random)
            #expect(try world.ship())
            let position = try world.leader.ownPosition()
            guard position.version == world.shipping?.shipped else { continue }
            commits.append((position.version, position.wallTimeNanoseconds, try World.content(world.leader)))
        }
        #expect(commits.count > 8)
        for (number, commit) in commits.enumerated() {
            let options = world.followerOptions("restored-\(number).motte")
            let restored = try Restoring.run(options, from: FolderLog(world.log), at: commit.time)
            #expect(restored.version == commit.version && restored.wallTimeNanoseconds == commit.time)
            let session = try Session.open(options)
            #expect(try World.content(session) == commit.content)
            #expect(try session.leader() == nil)
            try session.beginWrite()
            try session.cancel()
            _ = try session.close()
            #expect(code { _ = try Following(options, from: world.log) } == .invalidArgument)
        }
        #expect(
            code { _ = try Restoring.run(world.followerOptions("never.motte"), from: FolderLog(world.log), at: 1) }
                == .historyUnavailable)
        #expect(
            code {
                _ = try Restoring.run(
                    world.followerOptions("restored-0.motte"), from: FolderLog(world.log), at: nil)
            }
                == .invalidArgument)
        let names = world.folder.names.filter { $0.contains("copying") }
        #expect(names.isEmpty, "\(names)")
    }

    @Test func statusSaysHowFarBehindAFollowerIs() throws {
        let world = try world()
        let following = try Following(world.followerOptions("a.motte"), from: world.log)
        while try following.step() != .nothing {}
        var status = try ReplicationStatus(following.session, at: nil, open: open)
        #expect(status.isHealthy && status.lagVersions == 0 && status.lagNanoseconds == 0)
        #expect(status.leader?.name == "the leader" && status.end?.version == following.position.version)
        var random = SeededRandom(seed: 8)
        for _ in 0 ..< 2 {
            try world.write(&random)
            #expect(try world.ship())
        }
        status = try ReplicationStatus(following.session, at: nil, open: open)
        #expect(status.isHealthy && (status.lagVersions ?? 0) >= 2 && (status.lagNanoseconds ?? 0) > 0)
        let own = try ReplicationStatus(world.leader, at: world.log, open: open)
        #expect(own.isHealthy && own.leader == nil && own.kept.oldest != nil && own.lagVersions == 0)
        World.removeAll(world.log)
        status = try ReplicationStatus(following.session, at: nil, open: open)
        #expect(!status.isHealthy && status.problems.count == 1)
        _ = try following.session.close()
    }

    /// Each place has a position of its own: what one has does not let the log be trimmed that another one needs.
    @Test func twoPlacesDoNotTrimEachOther() throws {
        let world = try world()
        var random = SeededRandom(seed: 12)
        let (second, options) = (world.folder.path + "/second", ShippingOptions(name: "the leader"))
        defer { World.removeAll(second) }
        do {
            let shipping = try Shipping(world.leader, to: second, options)
            while try shipping.step() != .nothing {}
        }
        let start = try #require(try world.leader.keptChanges()[FolderLog(second).consumer]?.version)
        world.options.snapshotBytes = nil
        try world.restartLeader()
        for _ in 0 ..< 1_300 {
            try world.write(&random)
            #expect(try world.ship())
        }
        let kept = try world.leader.keptChanges()
        #expect(kept.consumers.count == 2 && kept.oldest == start)
        #expect(kept.consumers.contains { $0.version.rawValue > start.rawValue + 1_000 })
        var status = try ReplicationStatus(world.leader, at: second, open: open)
        #expect((status.lagVersions ?? 0) > 1_000 && (status.lagNanoseconds ?? 0) > 0)
        #expect(status.backlogs.allSatisfy(\.isKept) && status.backlogs.contains { $0.commits > 1_000 })
        let later = try Shipping(world.leader, to: second, options)
        var steps: [ShippingStep] = []
        while steps.last != .nothing { steps.append(try later.step()) }
        guard case .changes(let from, _, _) = steps.first else {
            Issue.record("the log is there, and the whole file was shipped again: \(steps)")
            return
        }
        #expect(from >= start)
        // Who is there with everything is not behind, whatever else has been committed to keep the log.
        try later.settle()
        try later.settle()
        try #require(world.shipping).settle()
        status = try ReplicationStatus(world.leader, at: second, open: open)
        #expect(status.lagVersions == 0 && status.lagNanoseconds == 0 && status.backlogs.map(\.commits) == [0, 0])
        #expect(try world.leader.version > #require(status.end?.version))
        let version = try world.leader.version
        try later.settle()
        #expect(try world.leader.version == version)
    }

    /// An object that was made and deleted: two commits that leave nothing.
    @Test func commitsThatUndoEachOtherAreShipped() throws {
        let world = try world()
        let table = try world.leader.tableKey("Person")
        try world.leader.inWrite { _ = try world.leader.create(table, primaryKey: .int(99)) }
        try world.leader.inWrite {
            let found = try #require(try world.leader.find(table, primaryKey: .int(99)))
            try world.leader.delete(table, found.key)
        }
        #expect(try ReplicationStatus(world.leader, at: world.log, open: open).lagVersions == 2)
        #expect(try world.ship())
        #expect(try ReplicationStatus(world.leader, at: world.log, open: open).lagVersions == 0)
        let following = try Following(world.followerOptions("a.motte"), from: world.log)
        while try following.step() != .nothing {}
        #expect(try World.content(following.session) == World.content(world.leader))
        #expect(try following.session.keptChanges() == KeptChanges())
        _ = try following.session.close()
    }

    /// A follower that has applied everything leads in its place, and has shipped a snapshot.
    private func takenOver(_ world: World) throws -> Shipping {
        let following = try Following(world.followerOptions("second.motte"), from: world.log)
        while try following.step() != .nothing {}
        try following.session.follow(nil)
        try world.restartLeader()
        var options = ShippingOptions(name: "the second")
        options.takesOver = true
        let second = try Shipping(following.session, to: world.log, options)
        while try second.step() != .nothing {}
        return second
    }

    /// Who has taken over and shipped nothing yet had all that was there: so must the next one.
    @Test func nobodyTakesOverWithLessThanTheOneBeforeHad() throws {
        let world = try world()
        func follow(_ name: String) throws -> Following {
            let following = try Following(world.followerOptions(name), from: world.log)
            while try following.step() != .nothing {}
            return following
        }
        let behind = try follow("behind.motte")
        try world.leader.inWrite {
            _ = try world.leader.create(try world.leader.tableKey("Person"), primaryKey: .int(99))
        }
        #expect(try world.ship())
        let first = try follow("first.motte"), second = try follow("second.motte")
        for following in [behind, first, second] { try following.session.follow(nil) }
        try world.restartLeader()
        var options = ShippingOptions(name: "another")
        options.takesOver = true
        // Twice, as who is killed in between does.
        for _ in 0 ..< 2 { _ = try Shipping(first.session, to: world.log, options) }
        let refused = #expect(throws: DatabaseError.self) {
            _ = try Shipping(behind.session, to: world.log, options)
        }
        #expect(refused?.code == .outOfSequence)
        let shipping = try Shipping(second.session, to: world.log, options)
        while try shipping.step() != .nothing {}
        #expect(throws: DatabaseError.self) { _ = try Shipping(behind.session, to: world.log, options) }
        for following in [behind, first, second] { _ = try following.session.close() }
    }

    @Test func whatAFormerLeaderHasShippedIsTrimmed() throws {
        let world = try world()
        let former = try world.ownFolder
        let second = try takenOver(world)
        let snapshots = try second.log.allSnapshots()
        #expect(snapshots.count > 1 && snapshots.last?.origin == second.origin)
        // Who led before is needed for times from before the second's snapshot.
        let last = try #require(snapshots.last).info.wallTimeNanoseconds
        try second.log.trim(before: try #require(try second.log.allSnapshots().dropLast().last))
        let base = try #require(try second.log.allSnapshots().first)
        #expect(try base.origin == world.leader.changeOrigin() && second.log.allSnapshots().last == snapshots.last)
        #expect(try LogContents(of: former).changes.allSatisfy { $0 >= base.info.version })
        _ = try Restoring.run(world.followerOptions("early.motte"), from: second.log, at: last - 1)
        try second.log.trim(before: try #require(snapshots.last))
        #expect(try second.log.allSnapshots() == [try #require(snapshots.last)])
        #expect(try LogFolder(world.log, making: false).names() == [second.origin.text, LogName.leader].sorted())
        _ = try Restoring.run(world.followerOptions("late.motte"), from: second.log, at: last)
        let following = try Following(world.followerOptions("a.motte"), from: world.log)
        while try following.step() != .nothing {}
        #expect(try World.content(following.session) == World.content(second.session))
        _ = try following.session.close()
        _ = try second.session.close()
    }

    /// What cannot be read as a whole is nothing to begin with.
    @Test func aDamagedSnapshotLetsNothingBeTrimmed() throws {
        let world = try world()
        let second = try takenOver(world)
        let snapshots = try second.log.allSnapshots()
        let newest = try #require(snapshots.last)
        let path = world.log + "/" + second.origin.text + "/" + LogName.snapshot(newest.info.version)
        let bytes = TemporaryDirectory.read(path)
        var damaged = 0
        for place in stride(from: 200, to: bytes.count, by: 1_000) {
            var changed = bytes
            changed[place] ^= 4
            TemporaryDirectory.write(changed, path)
            // Pages that nobody needs may be anything.
            let copy = world.folder.file("copy-\(place).motte")
            let failure = code { try Database.copySeed(path, to: copy) }
            guard failure != nil else { continue }
            damaged += 1
            try second.log.trim(before: newest)
            #expect(try second.log.allSnapshots() == snapshots, "\(place)")
        }
        #expect(damaged > 3)
        TemporaryDirectory.write(Array(bytes.dropLast(4_096)), path)
        try second.log.trim(before: newest)
        unlink(path)
        try second.log.trim(before: newest)
        #expect(try second.log.allSnapshots() == snapshots.dropLast())
        TemporaryDirectory.write(bytes, path)
        try second.log.trim(before: newest)
        #expect(try second.log.allSnapshots() == [newest])
        _ = try second.session.close()
    }
}
