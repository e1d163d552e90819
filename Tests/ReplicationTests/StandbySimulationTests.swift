// Machines with a file each, of which one leads, over random histories in virtual time: processes are killed between
// any two steps, links are cut, answers get lost, messages come late or never, replicas are behind, leases run out
// while their holder believes to have them. Commits are acknowledged or not. When the faults end all files are the
// same, one leads, and what was acknowledged is in them.
import MotteLiveObjects
import MotteReplication
import MotteSchemaModel
import MotteStorage
import MotteValues
import TestSupport
import Testing

/// One machine: its file, its process, its link.
final class Machine {
    let name: String
    let server: SimulatedServer
    let options: SessionOptions
    private let network: SimulatedNetwork
    private(set) var standby: Standby
    /// Another process, which writes.
    private var writer: Session?
    private(set) var setAside = 0
    /// How often it went on with another leader, and how often it had to begin again to follow it.
    private(set) var goneOn = 0, begun = 0
    /// What kept it from its last step.
    private(set) var problem = ""
    private(set) var last = ""

    private let keepSeconds: Int64?
    /// By its options; of who is begun again.
    var leaseSeconds = 3

    init(
        _ name: String, _ folder: TemporaryDirectory, _ network: SimulatedNetwork, _ faults: Faults, keeping: Int64?
    ) throws {
        self.name = name
        keepSeconds = keeping
        self.network = network
        server = SimulatedServer(network)
        server.step = { () throws(DatabaseError) in try faults.next(.write) }
        var options = SessionOptions(path: folder.file(name + ".motte"))
        options.isDurable = false
        options.rowGroupSize = 3
        self.options = options
        standby = try Self.begin(options, server, name, keeping, leaseSeconds)
    }

    private static func begin(
        _ options: SessionOptions, _ server: SimulatedServer, _ name: String, _ keepSeconds: Int64?,
        _ leaseSeconds: Int
    ) throws -> Standby {
        var shipping = ShippingOptions(name: name)
        shipping.keepSeconds = keepSeconds
        shipping.snapshotBytes = 900
        shipping.isAsked = true
        let log = StreamLog(server, patienceMilliseconds: 300)
        // Of who is killed, what it has made stays there.
        if case .file(let path) = options.location {
            log.temporaryFolder = path.split(separator: "/").dropLast().map { "/" + $0 }.joined()
        }
        return try Standby(options, log, StandbyOptions(shipping, leaseSeconds: leaseSeconds))
    }

    func kill() throws {
        try close()
        standby = try Self.begin(options, server, name, keepSeconds, leaseSeconds)
    }

    func close() throws {
        try endWriter()
        standby.close()
    }

    var role: String {
        standby.shipping.map { "leads \($0.origin.text.prefix(4)) at \($0.shipped?.rawValue ?? 0)" }
            ?? standby.following.map { "follows \($0.leader.name) at \($0.position.version.rawValue)" } ?? "nobody"
    }
    var leads: Bool { standby.shipping != nil }

    /// False where it was killed, or could not reach the server.
    func step() throws -> Bool {
        let event: StandbyEvent
        do throws(DatabaseError) { event = try standby.step() } catch {
            problem = error.message
            if error.message == Faults.killed { try kill() }
            let isPassing = [.timeout, .busy, .fileNotFound, .outcomeUnknown].contains(error.code)
            guard isPassing || error.message == Faults.killed else { throw error }
            // Who has the file open gives it back when it is to be set aside.
            if error.code == .busy { try endWriter() }
            return false
        }
        problem = ""
        if case .ended(let why) = event { last = why }
        if case .following(.goesOn) = event { goneOn += 1 }
        if case .setAside(let file, _) = event { file == nil ? (begun += 1) : (setAside += 1) }
        return true
    }

    private func endWriter() throws {
        _ = try writer?.close()
        writer = nil
    }

    enum Written { case acknowledged, committed, no }
    /// What ends between the acknowledgement and the commit.
    enum Dying { case nobody, writer, machine }

    /// A commit of one object; `asking` first.
    func write(_ id: Int64, _ text: String, asking: Bool, dying: Dying = .nobody) throws -> Written {
        guard let shipping = standby.shipping else { return .no }
        if writer == nil {
            var own = options
            own.noCreate = true
            writer = try Session.open(own)
        }
        guard let session = writer else { return .no }
        var failure: DatabaseError?
        var isDead = false
        do {
            try session.onCommit(nil)
            if asking {
                try session.onCommit { batch throws(DatabaseError) in
                    failure = Self.failure(of: shipping, batch)
                    if let failure { throw failure }
                    isDead = dying != .nobody
                    if isDead { throw DatabaseError(.internal, Faults.killed) }
                }
            }
            let table = try session.tableKey("Person")
            try session.inWrite {
                let object =
                    try session.find(table, primaryKey: .int(id))
                    ?? session.create(table, primaryKey: .int(id)).object
                try object.set("name", to: .string(text))
            }
            return asking ? .acknowledged : .committed
        } catch {
            guard let error = error as? DatabaseError else { throw error }
            if isDead, dying == .writer {
                // Who ships goes on, and another one writes.
                try endWriter()
                return .acknowledged
            }
            if failure?.message == Faults.killed || isDead { try kill() }
            if let failure, failure.message != Faults.killed {
                do throws(DatabaseError) { try standby.failed(failure) } catch {
                    let isPassing = [.timeout, .busy, .fileNotFound, .outcomeUnknown].contains(error.code)
                    guard isPassing else { throw error }
                }
            }
            // It follows by now, or its version of the log is another one.
            guard
                [.readOnly, .timeout, .busy, .historyForked, .fileNotFound, .outcomeUnknown].contains(error.code)
                    || error.message == Faults.killed
            else { throw error }
            if error.code == .readOnly { try endWriter() }
            return isDead ? .acknowledged : .no
        }
    }

    private static func failure(of shipping: Shipping, _ batch: ChangeBatch) -> DatabaseError? {
        do throws(DatabaseError) { try shipping.acknowledge(batch) } catch { return error }
        return nil
    }

    func content() throws -> Content? {
        guard let session = standby.shipping?.session ?? standby.following?.session else { return nil }
        try session.refresh()
        return try World.content(session)
    }
}

@Suite(.serialized) struct StandbySimulationTests {
    private struct Outcome {
        var kills = 0, acknowledged = 0, takeovers = 0, setAside = 0, unknown = 0, goneOn = 0, begun = 0
    }

    @Test func noAcknowledgedCommitIsLost() throws {
        var all = Outcome()
        let rounds = 300
        try PropertyTest.run(rounds: rounds) { random, comment in
            let outcome = try Self.run(&random, comment)
            all.kills += outcome.kills
            all.acknowledged += outcome.acknowledged
            all.takeovers += outcome.takeovers
            all.setAside += outcome.setAside
            all.unknown += outcome.unknown
            all.goneOn += outcome.goneOn
            all.begun += outcome.begun
        }
        print(
            "note: \(TestScale.times(rounds)) runs, \(all.kills) kills, \(all.acknowledged) acknowledged commits, "
                + "\(all.takeovers) takeovers, \(all.goneOn) followers went on and \(all.begun) began again, "
                + "\(all.setAside) files set aside, \(all.unknown) answers lost, from seed "
                + "\(PropertyTest.firstSeed)")
        if TestScale.factor >= 0.5 {
            #expect(all.kills > 50 && all.acknowledged > 500 && all.takeovers > 20 && all.setAside > 10)
            #expect(all.goneOn > 20 && all.begun > 5)
        }
    }

    private static func run(_ random: inout SeededRandom, _ comment: String) throws -> Outcome {
        let folder = TemporaryDirectory()
        let network = SimulatedNetwork(seed: UInt64(random.below(1 << 30)))
        network.largestMessage = 400
        let faults = Faults()
        var outcome = Outcome()
        // Whether what is before the newest snapshot goes.
        let keeping: Int64? = random.chance(50) ? 0 : nil
        let machines = try ["a", "b", "c"].map { try Machine($0, folder, network, faults, keeping: keeping) }
        try begin(machines[0])
        /// What must be there, by id: the value that was acknowledged last, or any that was written later without.
        var allowed: [Int64: Set<String>] = [:]
        var leader: String?
        var number = 0
        func note(_ machine: Machine) {
            if machine.leads, machine.name != leader {
                if leader != nil { outcome.takeovers += 1 }
                leader = machine.name
            }
        }
        func write(_ machine: Machine, dying: Machine.Dying = .nobody) throws {
            let id = Int64(random.below(12))
            number += 1
            let text = "\(number)"
            let long = text + String(repeating: "x", count: random.chance(20) ? 600 : 3)
            switch try machine.write(id, long, asking: random.chance(70), dying: dying) {
            case .acknowledged:
                outcome.acknowledged += 1
                allowed[id] = [text]
            // Not promised, and not impossible.
            case .committed, .no: allowed[id, default: [""]].insert(text)
            }
        }
        for _ in 0 ..< 60 + random.below(60) {
            let machine = machines[random.below(3)]
            switch random.below(23) {
            case 0 ..< 9: if try !machine.step() { outcome.kills += 1 }
            case 9 ..< 14: try write(machines.first(where: \.leads) ?? machine)
            case 14: try write(machine, dying: random.chance(60) ? .nobody : random.chance(50) ? .writer : .machine)
            case 15:
                faults.kill(at: random.below(8) + 1)
                if try !machine.step() { outcome.kills += 1 }
            case 16: machine.server.isCut = random.chance(50)
            case 17: (network.lossy, network.lagging) = (random.below(3) * 15, random.below(3) * 15)
            case 18: try machine.kill()
            case 19, 20:
                guard let stalled = machines.first(where: \.leads) else { break }
                try stall(while: machines.filter { $0 !== stalled }, network, note)
                try write(stalled)
            case 21: if random.chance(20) { network.loseLease() }
            default: network.pass(Int64(random.below(2_500)))
            }
            faults.clear()
            note(machine)
            network.pass(Int64(random.below(40)))
        }
        (network.lossy, network.lagging) = (0, 0)
        for machine in machines { machine.server.isCut = false }
        try settle(machines, network, comment)
        machines.forEach(note)
        let contents = try machines.map { try $0.content() }
        let end = try #require(contents[0], "\(comment)")
        #expect(contents[1] == end && contents[2] == end, "\(comment)")
        for (id, texts) in allowed {
            let found = end[id].map { String($0.split(separator: ";")[1].filter(\.isNumber)) }
            #expect(texts.contains(found ?? ""), "\(id) is \(found ?? "gone"), of \(texts.count); \(comment)")
        }
        #expect(machines.filter(\.leads).count == 1, "\(comment)")
        outcome.setAside = machines.map(\.setAside).reduce(0, +)
        outcome.goneOn = machines.map(\.goneOn).reduce(0, +)
        outcome.begun = machines.map(\.begun).reduce(0, +)
        outcome.unknown = network.lostAnswers
        for machine in machines { try machine.close() }
        return outcome
    }

    private static func machine(
        _ name: String, _ folder: TemporaryDirectory, _ network: SimulatedNetwork
    ) throws -> Machine {
        try Machine(name, folder, network, Faults(), keeping: 0)
    }

    /// Steps until it leads, or has everything.
    private static func go(_ machine: Machine, _ network: SimulatedNetwork) throws {
        for _ in 0 ..< 30 {
            _ = try machine.step()
            network.pass(200)
        }
    }

    /// It is killed after its writers were refused, and meanwhile all that the log had of it is removed.
    @Test func aFileThatLedIsKeptWhateverTheLogHas() throws {
        let folder = TemporaryDirectory()
        let network = SimulatedNetwork(seed: 1)
        let (one, two) = (try Self.machine("one", folder, network), try Self.machine("two", folder, network))
        try Self.begin(one)
        try Self.go(two, network)
        #expect(try one.write(1, "kept", asking: false) == .committed)
        one.server.isCut = true
        network.pass(5_000)
        try Self.go(two, network)
        #expect(two.leads)
        for id in 2 ..< 9 {
            #expect(try two.write(Int64(id), String(repeating: "x", count: 300), asking: true) != .no)
            try Self.go(two, network)
        }
        one.server.isCut = false
        // Its writer has the file open.
        _ = try one.step()
        #expect(try !one.step() && folder.names.contains("one.motte.next"))
        try one.kill()
        for _ in 0 ..< 9 {
            _ = try one.step()
            _ = try two.step()
        }
        #expect(one.setAside == 1 && one.standby.following != nil)
        #expect(try one.content() == two.content())
        let former = try Session.open(SessionOptions(path: folder.file("one.motte.former-1")).readingOnly)
        #expect(try World.content(former)[1]?.contains("kept") == true)
        try former.close()
        try one.close()
        try two.close()
    }

    /// The bucket says for how long a lease lasts, whatever the options of who takes it say by now.
    @Test(arguments: [[20, 20], [20, 1], [1, 20]]) func aLeaderLeadsOnWithOtherOptions(_ seconds: [Int]) throws {
        let folder = TemporaryDirectory()
        let network = SimulatedNetwork(seed: 1)
        let machines = try ["one", "two"].map { try Self.machine($0, folder, network) }
        func go(_ rounds: Int) throws {
            for _ in 0 ..< rounds {
                for machine in machines { _ = try machine.step() }
                network.pass(100)
            }
        }
        try Self.begin(machines[0])
        try go(50)
        for (machine, seconds) in zip(machines, seconds) {
            machine.leaseSeconds = seconds
            try machine.kill()
        }
        for id in 1 ..< 9 {
            try go(90)
            #expect(machines[0].leads && machines[1].standby.following != nil)
            #expect(try machines[0].write(Int64(id), "n", asking: true) == .acknowledged)
        }
        #expect(machines.allSatisfy { $0.standby.leaseMilliseconds == 3_000 && $0.setAside == 0 })
        try go(20)
        #expect(try machines[0].content() == machines[1].content())
        for machine in machines { try machine.close() }
    }

    @Test func aFileOfTheUsersIsNotTakenForAFetchedSnapshot() throws {
        let folder = TemporaryDirectory()
        let network = SimulatedNetwork(seed: 1)
        let (one, two) = (try Self.machine("one", folder, network), try Self.machine("two", folder, network))
        try Self.begin(one)
        try Self.go(two, network)
        try one.close()
        network.pass(5_000)
        try Self.go(two, network)
        _ = try Session.open(SessionOptions(path: folder.file("one.motte.next"))).close()
        do {
            for _ in 0 ..< 4 { _ = try one.step() }
            Issue.record("it was taken")
        } catch {
            let message = (error as? DatabaseError)?.message ?? ""
            #expect(message.contains("move it away"), "\(message)")
        }
        #expect(folder.names.contains("one.motte.next") && folder.names.contains("one.motte"))
        try one.close()
        try two.close()
    }

    @Test func aFollowerOfAnotherLogIsLeftAlone() throws {
        let folder = TemporaryDirectory()
        let networks = [SimulatedNetwork(seed: 1), SimulatedNetwork(seed: 2)]
        let (one, two) = (try Self.machine("one", folder, networks[0]), try Self.machine("two", folder, networks[0]))
        let other = try Self.machine("other", folder, networks[1])
        try Self.begin(one)
        try Self.go(two, networks[0])
        try Self.begin(other)
        let content = try two.content()
        try two.close()
        let wrong = try Standby(
            two.options, StreamLog(SimulatedServer(networks[1]), patienceMilliseconds: 300),
            StandbyOptions(ShippingOptions(name: "two"), leaseSeconds: 3))
        do {
            _ = try wrong.step()
            Issue.record("it was begun again")
        } catch { #expect(error.code == .invalidArgument && error.message.contains("name a new one")) }
        try Self.go(two, networks[0])
        #expect(try two.content() == content)
        for machine in [one, two, other] { try machine.close() }
        #expect(folder.names.filter { $0.contains("copying") || $0.contains("former") }.isEmpty)
    }

    /// A process stands still for longer than its lease, and goes on as if nothing had been.
    private static func stall(
        while others: [Machine], _ network: SimulatedNetwork, _ note: (Machine) -> Void
    ) throws {
        for _ in 0 ..< 12 {
            for other in others {
                _ = try other.step()
                note(other)
            }
            network.pass(300)
        }
    }

    /// The first file, which leads first.
    private static func begin(_ machine: Machine) throws {
        var options = machine.options
        options.schema = try TestStore(schema: World.schema).options.schema
        _ = try Session.open(options).close()
        #expect(try machine.step() && machine.step())
    }

    /// Until nothing happens any more.
    private static func settle(_ machines: [Machine], _ network: SimulatedNetwork, _ comment: String) throws {
        // For long enough that a follower has what is in the log, and who leads has noticed a commit that was lost.
        var calm = 0
        for _ in 0 ..< 500 {
            for machine in machines {
                _ = try machine.step()
                network.pass(50)
            }
            let contents = try machines.map { try $0.content() }
            let isOne = contents[0] != nil && contents.allSatisfy { $0 == contents[0] }
            calm = isOne && machines.filter(\.leads).count == 1 ? calm + 1 : 0
            if calm == 15 { return }
        }
        let leader = try StreamLog(machines[0].server).foundLeader()
        let roles = machines.map { "\($0.name) \($0.role), \($0.problem), \($0.last)" }
        Issue.record("it never settles: \(roles), \(leader.debugDescription); \(comment)")
    }
}
