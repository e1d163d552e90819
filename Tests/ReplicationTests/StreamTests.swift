// The log in a stream: fencing, answers that get lost, batches in parts, trimming, places as users write them.
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

@Suite(.serialized) struct StreamTests {
    private let network = SimulatedNetwork(seed: 3)

    private let temporary = TemporaryDirectory()

    private func log() -> StreamLog {
        let log = StreamLog(SimulatedServer(network), patienceMilliseconds: 500)
        log.temporaryFolder = temporary.path
        return log
    }

    private func world(commits: Int = 3) throws -> (World, Shipping) {
        let world = try World()
        var random = SeededRandom(seed: 5)
        let shipping = try Shipping(world.leader, to: log(), world.options)
        for _ in 0 ..< commits {
            try world.write(&random)
            while try shipping.step() != .nothing {}
        }
        return (world, shipping)
    }

    private func failure(_ body: () throws -> Void) -> DatabaseError? {
        do { try body() } catch { return error as? DatabaseError }
        return nil
    }

    private func follow(_ world: World, _ name: String) throws -> Content {
        let following = try Following(world.followerOptions(name), from: log())
        while try following.step() != .nothing {}
        defer { _ = try? following.session.close() }
        return try World.content(following.session)
    }

    @Test func aFollowerBeginsWithASnapshotAndGoesOn() throws {
        let (world, shipping) = try world()
        var random = SeededRandom(seed: 6)
        #expect(try follow(world, "a.motte") == World.content(world.leader))
        for _ in 0 ..< 5 {
            try world.write(&random)
            while try shipping.step() != .nothing {}
            #expect(try follow(world, "a.motte") == World.content(world.leader))
        }
        // Parts of batches and chunks of snapshots are much smaller than what they are of.
        #expect(network.streams[.log]?.contains { $0.bytes.count == network.largestMessage } == true)
        #expect(try #require(network.streams[.chunks]).count > 20)
        #expect(temporary.names.isEmpty)
    }

    /// What a leader has left that was killed while it made a snapshot goes with the next one; nothing else does.
    @Test func whatAKilledLeaderHasLeftIsRemoved() throws {
        func folder(_ name: String, with file: String) {
            mkdir(temporary.file(name), 0o700)
            TemporaryDirectory.write([1, 2, 3], temporary.file(name + "/" + file))
        }
        folder("motte-snapshot-1f", with: "snapshot.motte")
        folder("motte-snapshot-2f", with: ".motte-copying-77")
        folder("motte-other-3f", with: "snapshot.motte")
        TemporaryDirectory.write([1], temporary.file("motte-snapshot-4f"))
        symlink(temporary.file("motte-other-3f"), temporary.file("motte-snapshot-5f"))
        let others = ["motte-other-3f", "motte-snapshot-4f", "motte-snapshot-5f"]
        // Somebody else is at work.
        var held: SnapshotFolder? = try SnapshotFolder(in: temporary.path)
        let path = try #require(held?.path)
        TemporaryDirectory.write([1], try #require(held?.file("snapshot.motte")))
        let (world, shipping) = try world()
        #expect(try follow(world, "a.motte") == World.content(world.leader))
        #expect(shipping.shipped != nil && temporary.names.count == others.count + 1)
        #expect(TemporaryDirectory.read(path + "/snapshot.motte") == [1])
        held = nil
        #expect(temporary.names == others)
        #expect(TemporaryDirectory.read(temporary.file("motte-other-3f/snapshot.motte")) == [1, 2, 3])
        World.removeAll(temporary.file("motte-other-3f"))
    }

    /// L1: whoever began later leads, and what the other one adds is refused by the stream itself.
    @Test func whoLedBeforeAddsNothingAnyMore() throws {
        let (world, shipping) = try world()
        var random = SeededRandom(seed: 7)
        let end = try #require(shipping.shipped)
        let following = try Following(world.followerOptions("a.motte"), from: log())
        while try following.step() != .nothing {}
        try following.session.follow(nil)
        var options = ShippingOptions(name: "the second")
        options.takesOver = true
        let second = try Shipping(following.session, to: log(), options)
        while try second.step() != .nothing {}
        let before = network.streams[.log]
        try world.write(&random)
        let refused = failure { _ = try shipping.step() }
        #expect(refused?.code == .historyForked)
        #expect(refused?.message.contains("the second") == true && refused?.message.contains("\(end.rawValue)") == true)
        #expect(network.streams[.log] == before)
        #expect(try follow(world, "b.motte") == World.content(following.session))
        _ = try following.session.close()
    }

    @Test func ofTwoProcessesThatShipOneFileTheLaterOneDoes() throws {
        let (world, shipping) = try world()
        var random = SeededRandom(seed: 7)
        let second = try Shipping(world.leader, to: log(), world.options)
        try world.write(&random)
        #expect(failure { _ = try shipping.step() }?.code == .busy)
        while try second.step() != .nothing {}
        #expect(try follow(world, "a.motte") == World.content(world.leader))
    }

    /// L3: what a leader began and did not finish is never seen, and whoever leads next goes on behind it.
    @Test func partsThatWereNeverFinishedArePassedOver() throws {
        let (world, shipping) = try world()
        var random = SeededRandom(seed: 8)
        let server = SimulatedServer(network)
        var left = 3
        server.step = { () throws(DatabaseError) in
            left -= 1
            if left < 0 { throw DatabaseError(.internal, Faults.killed) }
        }
        let before = try World.content(world.leader)
        while try shipping.step() != .nothing {}
        let dying = StreamLog(server)
        dying.temporaryFolder = temporary.path
        left = 1_000
        let second = try Shipping(world.leader, to: dying, world.options)
        for _ in 0 ..< 3 { try world.write(&random) }
        left = 3
        #expect(failure { _ = try second.step() }?.message == Faults.killed)
        #expect(try follow(world, "a.motte") == before)
        let third = try Shipping(world.leader, to: log(), world.options)
        while try third.step() != .nothing {}
        #expect(try follow(world, "a.motte") == World.content(world.leader))
    }

    /// L2, with answers that get lost and messages that come late.
    @Test(arguments: [20, 60]) func whatIsUnknownIsAsked(percent: Int) throws {
        let (world, first) = try world()
        var random = SeededRandom(seed: 9)
        network.lossy = percent
        network.lagging = 30
        var shipping: Shipping? = first
        for _ in 0 ..< 30 {
            try world.write(&random)
            do throws(DatabaseError) {
                if shipping == nil { shipping = try Shipping(world.leader, to: log(), world.options) }
                while let step = try shipping?.step(), step != .nothing {}
            } catch {
                #expect(error.code == .timeout, "\(error.message)")
                shipping = nil
            }
        }
        (network.lossy, network.lagging) = (0, 0)
        shipping = nil
        let last = try Shipping(world.leader, to: log(), world.options)
        while try last.step() != .nothing {}
        #expect(try follow(world, "a.motte") == World.content(world.leader))
        #expect(network.lostAnswers > 10)
    }

    @Test func whatNobodyNeedsIsRemoved() throws {
        let (world, _) = try world()
        var random = SeededRandom(seed: 10)
        var options = world.options
        options.keepSeconds = 0
        let shipping = try Shipping(world.leader, to: log(), options)
        let following = try Following(world.followerOptions("behind.motte"), from: log())
        for _ in 0 ..< 30 {
            try world.write(&random)
            while try shipping.step() != .nothing {}
        }
        #expect(try #require(network.removed[.log]) > 10 && #require(network.removed[.chunks]) > 10)
        #expect(try log().snapshots(of: world.leader.changeOrigin()).count < 3)
        let late = failure { for _ in 0 ..< 200 { _ = try following.step() } }
        #expect(late?.code == .outOfSequence)
        _ = try following.session.close()
        #expect(try follow(world, "a.motte") == World.content(world.leader))
        // Who ships next finds the leader in what is left.
        let next = try Shipping(world.leader, to: log(), options)
        #expect(try next.step() == .nothing)
    }

    @Test func whatMustBeRestorableStaysAfterATakeover() throws {
        let world = try World()
        var random = SeededRandom(seed: 11)
        var options = world.options
        options.keepSeconds = 3_600
        var commits: [(time: Int64, content: Content)] = []
        let first = try Shipping(world.leader, to: log(), options)
        for _ in 0 ..< 6 {
            try world.write(&random)
            while try first.step() != .nothing {}
            commits.append((try world.leader.ownPosition().wallTimeNanoseconds, try World.content(world.leader)))
        }
        let following = try Following(world.followerOptions("a.motte"), from: log())
        while try following.step() != .nothing {}
        let next = following.session
        (options.name, options.takesOver, options.leavesLeader) = ("the next", true, true)
        let second = try Shipping(next, to: log(), options)
        let table = try next.tableKey("Person")
        let before = commits.count
        for id in 100 ..< 103 {
            try next.inWrite { _ = try next.create(table, primaryKey: .int(Int64(id))) }
            // Two are in its first snapshot.
            if id > 100 { while try second.step() != .nothing {} }
            commits.append((try next.ownPosition().wallTimeNanoseconds, try World.content(next)))
        }
        #expect(network.removed.isEmpty)
        for (number, commit) in commits.enumerated() {
            let options = world.followerOptions("restored-\(number).motte")
            let restored = try Restoring.run(options, from: log(), at: commit.time)
            let session = try Session.open(options)
            // What the next one committed before its first snapshot may have been before that time too.
            let isCovered = number == before
            #expect(try World.content(session) == commits[isCovered ? before - 1 : number].content)
            #expect((restored.nextWallTimeNanoseconds != nil) == (isCovered || number == before - 1))
            _ = try session.close()
        }
        #expect(
            failure { _ = try Restoring.run(world.followerOptions("never.motte"), from: log(), at: 1) }?.code
                == .historyUnavailable)
    }

    private func loseAChunk(of info: SnapshotInfo, _ origin: ChangeOrigin) throws {
        let snapshot = try #require(try log().streamSnapshots(of: origin).first { $0.info == info })
        network.streams[.chunks]?.removeAll { $0.number == snapshot.firstChunk + 1 }
    }

    @Test func aSnapshotThatIsNotWholeIsNotAllThatStays() throws {
        let (world, _) = try world()
        var random = SeededRandom(seed: 12)
        var options = world.options
        options.keepSeconds = 3_600
        let own = log()
        let shipping = try Shipping(world.leader, to: own, options)
        let origin = try world.leader.changeOrigin()
        while try own.snapshots(of: origin).count < 4 {
            try world.write(&random)
            while try shipping.step() != .nothing {}
        }
        let snapshots = try own.snapshots(of: origin)
        try loseAChunk(of: snapshots[2], origin)
        try own.trim(before: LogSnapshot(origin: origin, info: snapshots[2]))
        #expect(network.removed.isEmpty)
        try own.trim(before: LogSnapshot(origin: origin, info: snapshots[1]))
        #expect(try own.snapshots(of: origin) == Array(snapshots[1...]))
        // A follower begins with one that is whole, and goes on from there.
        try loseAChunk(of: snapshots[3], origin)
        #expect(try follow(world, "a.motte") == World.content(world.leader))
        try loseAChunk(of: snapshots[1], origin)
        #expect(failure { _ = try Following(world.followerOptions("b.motte"), from: log()) }?.code == .busy)
    }

    @Test func aDamagedMessageIsAnErrorThatNamesIt() throws {
        let (world, _) = try world()
        let count = try #require(network.streams[.log]).count
        let before = network.streams
        for index in 0 ..< count {
            guard let message = network.streams[.log]?[index] else { continue }
            var bytes = message.bytes
            bytes[bytes.count / 2] ^= 4
            network.streams[.log]?[index] = LogMessage(
                in: message.identity, number: message.number, subject: message.subject, bytes: bytes)
            if let error = failure({ _ = try follow(world, "damaged-\(index).motte") }) {
                #expect(error.code == .corrupted && error.message.contains("\(message.number)"), "\(error.message)")
            }
            network.streams = before
        }
    }

    @Test func aDamagedSnapshotIsRefused() throws {
        let (world, _) = try world()
        let index = try #require(network.streams[.chunks]).count - 3
        let message = try #require(network.streams[.chunks])[index]
        var bytes = message.bytes
        bytes[0] ^= 1
        network.streams[.chunks]?[index] = LogMessage(
            in: message.identity, number: message.number, subject: .chunk, bytes: bytes)
        #expect(failure { _ = try follow(world, "a.motte") }?.code == .corrupted)
        #expect(!world.folder.names.contains { $0.contains("a.motte") })
    }

    @Test func placesAreReadAsUsersWriteThem() throws {
        let one = try NatsPlace("nats://one:4222/people")
        #expect(one.servers == ["nats://one:4222"] && one.name == "people" && one.text == "nats://one:4222/people")
        let three = try NatsPlace("tls://ada:sec@ret@a:1,b:2,c:3/p-1_x")
        #expect(three.servers == ["tls://a:1", "tls://b:2", "tls://c:3"])
        #expect(three.user == "ada" && three.password == "sec@ret")
        let encoded = try NatsPlace("nats://a%2fb:s3cr%23t%40x%zz%@one/people")
        #expect(encoded.user == "a/b" && encoded.password == "s3cr#t@x%zz%" && encoded.text == "nats://one/people")
        let token = try NatsPlace("nats://t0ken@one/people")
        #expect(token.user == "t0ken" && token.password == nil)
        #expect(three.text == "tls://a:1,b:2,c:3/p-1_x" && three.needsTLS)
        for wrong in ["nats://one", "nats:///x", "nats://one/", "nats://one/a.b", "http://one/x", "nats://u:secret@/x"]
        {
            let error = failure { _ = try NatsPlace(wrong) }
            #expect(error?.code == .invalidArgument && error?.message.contains("secret") == false, "\(wrong)")
        }
    }

    @Test func numbersAreFoundInAnswers() {
        let answer = JSONNumbers(
            Array(
                #"{"type":"x","state":{"messages":3,"last_seq":12},"error":{"description":"no"},"duplicate":true}"#.utf8
            ))
        #expect(answer.number("messages") == 3 && answer.number("last_seq") == 12 && answer.number("first_seq") == nil)
        #expect(answer.text("description") == "no" && answer.isTrue("duplicate") && !answer.isTrue("type"))
        for (text, bytes) in [("", ""), ("Zg==", "f"), ("Zm8=", "fo"), ("Zm9v", "foo"), ("Zm9vYg==", "foob")] {
            #expect(Base64.decoded(text) == Array(bytes.utf8))
        }
        #expect(Base64.decoded("+/+/") == [0xFB, 0xFF, 0xBF])
        for wrong in ["Z", "Zg=", "Z===", "====", "Zg=a", "Zm9-"] { #expect(Base64.decoded(wrong) == nil, "\(wrong)") }
        #expect(JSONNumbers([]).number("x") == nil && JSONNumbers(Array("\"x\":".utf8)).number("x") == nil)
    }
}
