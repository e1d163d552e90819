// After a takeover followers go on with the new leader, in the file that they have, whoever has it open.
import MotteLiveObjects
import MotteReplication
import MotteStorage
import MotteValues
import TestSupport
import Testing

@Suite(.serialized) struct HandoverTests {
    private let folder = TemporaryDirectory()
    private let network = SimulatedNetwork(seed: 4)

    private func machine(_ name: String) throws -> Machine {
        try Machine(name, folder, network, Faults(), keeping: nil)
    }

    /// Three machines, of which the first one leads.
    private func machines() throws -> [Machine] {
        let machines = try ["one", "two", "three"].map { try machine($0) }
        var options = machines[0].options
        options.schema = try TestStore(schema: World.schema).options.schema
        _ = try Session.open(options).close()
        try go(machines)
        #expect(machines[0].leads && machines[1].standby.following != nil && machines[2].standby.following != nil)
        return machines
    }

    private func go(_ machines: [Machine], times: Int = 30) throws {
        for _ in 0 ..< times {
            for machine in machines { _ = try machine.step() }
            network.pass(200)
        }
    }

    private func write(_ machine: Machine, _ ids: Range<Int>) throws {
        for id in ids { #expect(try machine.write(Int64(id), "of \(machine.name)", asking: true) == .acknowledged) }
    }

    private func code(_ body: () throws -> Void) -> ErrorCode? {
        do { try body() } catch { return (error as? DatabaseError)?.code }
        return nil
    }

    @Test func whoHasTheFileOpenGoesOnReading() throws {
        let machines = try machines()
        let (one, two, three) = (machines[0], machines[1], machines[2])
        try write(one, 0 ..< 5)
        try go(machines)
        let reader = try Session.open(three.options.readingOnly)
        #expect(try World.content(reader).count == 5)
        try one.close()
        network.pass(5_000)
        // This one is to lead.
        try go([two], times: 10)
        #expect(two.leads)
        try write(two, 3 ..< 9)
        try go([two, three])
        try reader.refresh()
        #expect(try World.content(reader) == two.content())
        #expect(try World.content(reader).values.filter { $0.contains("of two") }.count == 6)
        #expect(three.goneOn == 1 && three.begun == 0)
        #expect(try reader.leader()?.name == "two")
        #expect(code { try reader.beginWrite() } == .readOnly)
        // And once more, with the other one gone as well.
        try two.close()
        network.pass(5_000)
        try go([three])
        #expect(three.leads)
        try write(three, 7 ..< 12)
        try reader.refresh()
        #expect(try World.content(reader).count == 12)
        #expect(try reader.committedSnapshot().verify().isSound)
        try reader.close()
        try three.close()
    }

    /// All servers are away for longer than a bucket may be silent: it is none that was lost.
    @Test func serversThatWereAwayHaveLostNoBucket() throws {
        let machines = try machines()
        for _ in 0 ..< 3 {
            for machine in machines { machine.server.isCut = true }
            try go(machines, times: 300)
            for machine in machines { machine.server.isCut = false }
            try go(machines)
        }
        #expect(network.buckets.keys.sorted() == [1])
        #expect(machines.allSatisfy { $0.server.leaseNumber == 1 } && machines.filter(\.leads).count == 1)
        for machine in machines { try machine.close() }
    }

    /// Also where nobody has led yet, so that there is no log either.
    @Test func aBucketThatIsLostFromTheBeginning() throws {
        network.buckets[1] = .init(isLost: true)
        let one = try machine("one")
        var options = one.options
        options.schema = try TestStore(schema: World.schema).options.schema
        _ = try Session.open(options).close()
        try go([one], times: 300)
        #expect(one.leads && one.server.leaseNumber == 2)
        try one.close()
    }

    /// A bucket that is lost is followed by another one, and whoever comes later learns of that from the leader.
    @Test func theLeaderSaysWhichBucketItsLeaseIsIn() throws {
        let machines = try machines()
        network.loseLease()
        try go(machines, times: 300)
        let found = machines.first(where: \.leads)
        let leader = try #require(found)
        #expect(leader.server.leaseNumber == 2 && machines.filter(\.leads).count == 1)
        let late = try machine("four")
        let terms = network.streams[.log]?.filter { $0.subject == .leader }.count
        try go(machines + [late])
        #expect(late.server.leaseNumber == 2 && leader.leads && !late.leads)
        #expect(network.streams[.log]?.filter { $0.subject == .leader }.count == terms)
        try write(leader, 0 ..< 3)
        for machine in machines + [late] { try machine.close() }
    }

    /// One that was away while the lead went on.
    @Test func whoWasAwayAppliesTheRestFirst() throws {
        let machines = try machines()
        let (one, two, three) = (machines[0], machines[1], machines[2])
        try write(one, 0 ..< 3)
        try go(machines)
        try three.close()
        try write(one, 2 ..< 6)
        try go([two])
        try one.close()
        network.pass(5_000)
        try go([two])
        try write(two, 5 ..< 8)
        try go([two])
        try three.kill()
        var existing = three.options
        existing.noCreate = true
        let reader = try Session.open(existing)
        try go([two, three])
        try reader.refresh()
        #expect(try World.content(reader) == two.content() && three.begun == 0)
        try reader.close()
        try two.close()
        try three.close()
    }

    /// The two that are left when the first leader is gone, and its lease.
    private func left() throws -> (Machine, Machine) {
        let machines = try machines()
        try write(machines[0], 0 ..< 4)
        try go(machines)
        try machines[0].close()
        network.pass(5_000)
        return (machines[1], machines[2])
    }

    /// The new leader is killed before it has shipped anything, and goes on, or another one does.
    @Test(arguments: [true, false]) func aLeaderThatHasShippedNothingIsKilled(comesBack: Bool) throws {
        let (two, three) = try left()
        while !two.leads {
            _ = try two.step()
            network.pass(200)
        }
        #expect(two.standby.shipping?.shipped != nil)
        let origin = try #require(two.standby.shipping?.origin)
        try comesBack ? two.kill() : two.close()
        try go(comesBack ? [two, three] : [three])
        let leader = comesBack ? two : three
        #expect(leader.leads && (leader.standby.shipping?.origin == origin) == comesBack)
        try write(leader, 3 ..< 7)
        try go(comesBack ? [two, three] : [three])
        #expect(three.begun == 0)
        if comesBack { #expect(try three.goneOn == 1 && three.content() == two.content()) }
        try leader.close()
        if comesBack { try three.close() }
    }

    /// The log is trimmed every 64 versions, whatever the new leader is just doing.
    @Test(arguments: [1, 2, 3]) func theLogIsKeptFromWhereItWasHandedOver(versions: UInt64) throws {
        let (two, three) = try left()
        let session = try #require(two.standby.following?.session)
        while try (session.version.rawValue + versions) % 64 != 0 { try session.keepChanges(since: nil) }
        try go([two])
        #expect(two.leads)
        try write(two, 3 ..< 7)
        try go([two, three])
        #expect(try three.goneOn == 1 && three.begun == 0 && three.content() == two.content())
        try two.close()
        try three.close()
    }

    /// Without it, or with one that is damaged, followers begin again from a snapshot.
    @Test(arguments: [true, false]) func withoutNamesFollowersBeginAgain(isGone: Bool) throws {
        let (two, three) = try left()
        try go([two])
        let found = try StreamLog(two.server).foundLeader()
        let place = try #require(found?.handover?.firstChunk)
        network.streams[.chunks] = try #require(network.streams[.chunks]).compactMap { message in
            guard message.number == place else { return message }
            var bytes = message.bytes
            bytes[20] ^= 1
            return isGone ? nil : LogMessage(in: message.identity, number: place, subject: .chunk, bytes: bytes)
        }
        try write(two, 3 ..< 7)
        try go([two, three])
        #expect(try three.goneOn == 0 && three.begun == 1 && three.content() == two.content())
        try two.close()
        try three.close()
    }
}
