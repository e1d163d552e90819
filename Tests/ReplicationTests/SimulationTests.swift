// A leader, a folder and followers, over random histories in which any of them is killed between any two steps, the
// disk is full, files are torn, and batches come again: no follower ever shows what the leader never was, or goes back,
// and when the faults end all are the same.
import MotteLiveObjects
import MotteReplication
import MotteStorage
import MotteValues
import TestSupport
import Testing

@Suite(.serialized) struct SimulationTests {
    private struct Outcome {
        var kills = 0, applied = 0, snapshots = 0, damaged = 0, again = 0, takeovers = 0, begun = 0
    }

    @Test func followersNeverDiverge() throws {
        var all = Outcome()
        let rounds = 500
        try PropertyTest.run(rounds: rounds) { random, comment in
            let outcome = try Self.run(&random, comment)
            all.kills += outcome.kills
            all.applied += outcome.applied
            all.snapshots += outcome.snapshots
            all.damaged += outcome.damaged
            all.again += outcome.again
            all.takeovers += outcome.takeovers
            all.begun += outcome.begun
        }
        print(
            "note: \(TestScale.times(rounds)) runs, \(all.kills) kills and full disks, \(all.applied) batches applied, "
                + "\(all.snapshots) snapshots, \(all.damaged) damaged files found, \(all.again) delivered again, "
                + "\(all.takeovers) takeovers, \(all.begun) followers begun again, from seed "
                + "\(PropertyTest.firstSeed)")
        if TestScale.factor >= 0.5 {
            #expect(all.kills > 20 && all.applied > 50 && all.snapshots > 50 && all.damaged > 0 && all.again > 0)
            #expect(all.takeovers > 20 && all.begun > 20)
        }
    }

    private static func run(_ random: inout SeededRandom, _ comment: String) throws -> Outcome {
        let world = try World()
        let trims = random.chance(50)
        if trims { world.options.keepSeconds = 0 }
        var outcome = Outcome()
        var names = ["a.motte", "b.motte"]
        var followers: [String: Following] = [:]
        var positions: [String: Version] = [:]
        func follow(_ name: String, faulty: Bool) throws {
            do {
                let following =
                    try followers[name]
                    ?? Following(world.followerOptions(name), from: world.log) { step throws(DatabaseError) in
                        if faulty { try world.faults.next(step) }
                    }
                followers[name] = following
                while case .applied(let from, let to, _) = try following.step() {
                    outcome.applied += 1
                    #expect(from < to, "\(comment)")
                    if let before = positions[name] { #expect(to > before, "\(comment)") }
                    positions[name] = to
                    let shown = try World.content(following.session)
                    let expected = try world.state(following)
                    #expect(shown == expected, "version \(to.rawValue), \(comment)")
                }
            } catch let error as DatabaseError {
                // The last one of a file that was killed before it was written whom it follows.
                let beginsAgain = [.historyForked, .outOfSequence, .invalidArgument].contains(error.code)
                let mayBe = [.diskFull, .fileNotFound].contains(error.code) || beginsAgain
                guard error.message == Faults.killed || mayBe else { throw error }
                _ = try? followers[name]?.session.close()
                followers[name] = nil
                if beginsAgain {
                    // Another one leads by now, or the log was trimmed.
                    #expect(outcome.takeovers > 0 || trims, "\(error); \(comment)")
                    _ = try Session.deleteFile(world.followerOptions(name))
                    positions[name] = nil
                    outcome.begun += 1
                    if !faulty { try follow(name, faulty: false) }
                } else if error.code != .fileNotFound {
                    outcome.kills += 1
                }
            }
        }
        for _ in 0 ..< 10 + random.below(10) {
            switch random.below(13) {
            case 0 ..< 5: try world.write(&random)
            case 5, 6:
                world.faults.kill(at: random.below(14) + 1)
                if try !world.ship() { outcome.kills += 1 }
                if random.chance(30) { world.leaveUnfinished(&random) }
            case 7:
                world.faults.fill(at: random.below(10) + 1)
                if try !world.ship() { outcome.kills += 1 }
            case 8:
                world.faults.clear()
                _ = try world.ship()
            case 9:
                world.faults.kill(at: random.below(8) + 1)
                try follow(names[random.below(2)], faulty: true)
            case 10: if try damage(world, &random, followers[names[0]], comment) { outcome.damaged += 1 }
            case 11:
                let place = random.below(2)
                if random.chance(70), try world.ship() { try follow(names[place], faulty: false) }
                world.faults.kill(at: random.chance(50) ? random.below(8) + 1 : 1_000)
                if let following = followers[names[place]], try world.takeOver(following, names[place]) {
                    followers[names[place]] = nil
                    outcome.takeovers += 1
                    names[place] = "follower-\(outcome.takeovers).motte"
                }
            default: try follow(names[random.below(2)], faulty: false)
            }
            world.faults.clear()
        }
        // Without faults everybody arrives.
        try world.write(&random)
        #expect(try world.ship(), "\(comment)")
        if trims {
            _ = try world.shipping?.shipSnapshot()
            let left = try FolderLog(world.log).allSnapshots().map(\.origin)
            #expect(try left == [world.leader.changeOrigin()], "\(comment)")
        }
        for name in names + ["late.motte"] {
            // Whoever goes on looks for another leader only now and then.
            _ = try followers[name]?.session.close()
            followers[name] = nil
            try follow(name, faulty: false)
            guard let following = followers[name] else {
                Issue.record("\(name) did not follow; \(comment)")
                continue
            }
            #expect(try World.content(following.session) == World.content(world.leader), "\(name), \(comment)")
            let report = try following.session.committedSnapshot().verify()
            #expect(report.isSound, "\(report.text); \(comment)")
            let refused = #expect(throws: DatabaseError.self) { try following.session.beginWrite() }
            #expect(refused?.code == .readOnly && refused?.message.contains("the leader") == true)
            if try again(world, following, comment) { outcome.again += 1 }
        }
        outcome.snapshots += try LogContents(of: try world.ownFolder).snapshots.count
        #expect(try chainIsWhole(try world.ownFolder), "\(comment)")
        for following in followers.values { _ = try following.session.close() }
        return outcome
    }

    /// A batch that is cut short, or has a byte changed, is an error, and nothing is applied; mended, all goes on.
    private static func damage(
        _ world: World, _ random: inout SeededRandom, _ following: Following?, _ comment: String
    ) throws -> Bool {
        guard let following, try following.leader.origin == world.leader.changeOrigin() else { return false }
        let name = LogName.changes(after: following.position.version)
        let folder = try world.ownFolder
        guard let bytes = try folder.read(name) else { return false }
        var changed = bytes
        if random.chance(50) {
            changed.removeLast(1 + random.below(bytes.count))
        } else {
            changed[random.below(bytes.count)] ^= 4
        }
        TemporaryDirectory.write(changed, folder.file(name))
        let before = following.position
        let content = try World.content(following.session)
        let error = #expect(throws: DatabaseError.self) { try following.step() }
        #expect(error?.message.contains(name) == true, "\(comment)")
        #expect(try following.position == before && World.content(following.session) == content, "\(comment)")
        TemporaryDirectory.write(bytes, folder.file(name))
        return true
    }

    private static func again(_ world: World, _ following: Following, _ comment: String) throws -> Bool {
        guard let first = try LogContents(of: try world.ownFolder).changes.last,
            let batch = try (try world.ownFolder).changes(after: first)
        else { return false }
        #expect(try following.session.apply(batch) == .known, "\(comment)")
        return true
    }

    /// From the oldest snapshot to the end, and through every other one.
    private static func chainIsWhole(_ folder: LogFolder) throws -> Bool {
        let contents = try LogContents(of: folder)
        guard var version = contents.snapshots.first else { return false }
        var passed: Set<Version> = [version]
        while let batch = try folder.changes(after: version) {
            version = batch.to
            passed.insert(version)
        }
        return contents.snapshots.allSatisfy(passed.contains) && contents.changes.allSatisfy { $0 < version }
    }
}
