// Changes of encrypted files in folders and streams: nothing legible, nothing taken that was changed or is another's.
import CMotteShim
import MotteLiveObjects
import MotteReplication
import MotteStorage
import MotteValues
import TestSupport
import Testing

@Suite(.serialized) struct EncryptedLogTests {
    private static let secret = "nobody is to read this"
    private let folder = TemporaryDirectory()
    private let key = [UInt8](repeating: 3, count: 64)
    private var log: String { folder.path + "/log" }

    private func options(_ name: String, key: [UInt8]?) -> SessionOptions {
        var options = SessionOptions(path: folder.file(name))
        options.encryptionKey = key
        options.isDurable = false
        return options
    }

    private func leader() throws -> Session {
        var options = options("leader.motte", key: key)
        options.schema = try TestStore(schema: World.schema).options.schema
        return try Session.open(options)
    }

    private func write(_ session: Session, _ id: Int64) throws {
        let table = try session.tableKey("Person")
        try session.inWrite {
            let object = try session.create(table, primaryKey: .int(id)).object
            try object.set("name", to: .string(Self.secret))
        }
    }

    private func failure(_ body: () throws -> Void) -> DatabaseError? {
        do { try body() } catch { return error as? DatabaseError }
        return nil
    }

    /// Three commits of which each is a batch, behind a snapshot.
    private func ship(_ leader: Session, to log: ReplicationLog, plain: Bool = false) throws {
        var options = ShippingOptions(name: "secret")
        options.snapshotBytes = 1 << 30
        options.isPlain = plain
        let shipping = try Shipping(leader, to: log, options)
        for id in 1 ... 3 {
            while try shipping.step() != .nothing {}
            try write(leader, Int64(id))
        }
        while try shipping.step() != .nothing {}
    }

    private func follow(_ name: String, _ log: ReplicationLog, key: [UInt8]?) throws -> Content {
        let following = try Following(options(name, key: key), from: log)
        defer { _ = try? following.session.close() }
        while try following.step() != .nothing {}
        return try World.content(following.session)
    }

    private func batches() throws -> [String] {
        let root = try LogFolder(log, making: false)
        let origin = try #require(try LeaderRecord(in: root)).origin.text
        let own = try LogFolder(root.file(origin), making: false)
        return try own.names().filter { $0.hasSuffix(".batch") }.map { own.file($0) }
    }

    private func isLegible(_ bytes: [UInt8]) -> Bool {
        String(decoding: bytes, as: UTF8.self).contains(Self.secret)
    }

    @Test func aFolderHasNothingThatIsLegible() throws {
        let leader = try leader()
        defer { World.removeAll(log) }
        try ship(leader, to: try FolderLog(log, making: true))
        let names = try batches()
        #expect(names.count == 3)
        for name in names { #expect(!isLegible(TemporaryDirectory.read(name))) }
        #expect(try follow("a.motte", try FolderLog(log), key: key) == World.content(leader))
        #expect(failure { _ = try follow("b.motte", try FolderLog(log), key: nil) }?.code == .wrongKey)
        let restored = try Restoring.run(options("c.motte", key: key), from: try FolderLog(log), at: nil)
        #expect(restored.batches == 3)
        let status = try ReplicationStatus(leader, at: log) { place throws(DatabaseError) in try FolderLog(place) }
        #expect(status.isHealthy && status.end?.version == restored.version)
        _ = try leader.close()
    }

    @Test func aStreamHasNothingThatIsLegible() throws {
        let leader = try leader()
        let network = SimulatedNetwork(seed: 3)
        func log() -> StreamLog {
            let log = StreamLog(SimulatedServer(network), patienceMilliseconds: 500)
            log.temporaryFolder = folder.path
            return log
        }
        try ship(leader, to: log())
        for messages in network.streams.values {
            #expect(!isLegible(messages.flatMap(\.bytes)))
        }
        #expect(try follow("a.motte", log(), key: key) == World.content(leader))
        // Who ships next finds out how far the stream is.
        try write(leader, 4)
        let again = try Shipping(leader, to: log(), ShippingOptions(name: "secret"))
        while try again.step() != .nothing {}
        #expect(try follow("a.motte", log(), key: key) == World.content(leader))
        _ = try leader.close()
    }

    /// B2.
    @Test func noByteMayBeAnother() throws {
        let leader = try leader()
        defer { World.removeAll(log) }
        try ship(leader, to: try FolderLog(log, making: true))
        let names = try batches()
        let sound = TemporaryDirectory.read(names[1])
        let right = BatchKey()
        try right.use(key)
        let batch = try right.decoded(sound, "it")
        for index in sound.indices {
            var changed = sound
            changed[index] ^= 1
            #expect(failure { _ = try right.decoded(changed, "it") } != nil, "byte \(index)")
            // With a checksum that fits.
            let sum = changed.withUnsafeBytes { motte_shim_crc32c(0, $0.baseAddress.map { $0 + 8 }, $0.count - 8) }
            withUnsafeBytes(of: sum.littleEndian) { changed.replaceSubrange(4 ..< 8, with: $0) }
            guard changed != sound else { continue }
            #expect(failure { _ = try right.decoded(changed, "it") } != nil, "byte \(index)")
        }
        for count in 0 ..< sound.count {
            #expect(failure { _ = try right.decoded(Array(sound[..<count]), "it") } != nil, "\(count) bytes")
        }
        // Twice the same batch are different bytes.
        let again = try right.encoded(batch)
        #expect(again != sound && again.count == sound.count)
        #expect(try right.decoded(again, "it").bytes == batch.bytes)
        let wrong = BatchKey()
        try wrong.use([UInt8](repeating: 4, count: 64))
        #expect(failure { _ = try wrong.decoded(sound, "it") }?.code == .wrongKey)
        #expect(failure { _ = try BatchKey().decoded(sound, "it") }?.message.contains("--key-file") == true)
        #expect(failure { try wrong.use([1]) }?.code == .invalidArgument)
        // One of another version under this name.
        TemporaryDirectory.write(TemporaryDirectory.read(names[2]), names[1])
        let moved = failure { _ = try follow("a.motte", try FolderLog(log), key: key) }
        #expect(moved?.code == .corrupted)
        _ = try leader.close()
    }

    /// B1.
    @Test func whatIsNotEncryptedIsTakenWhenAskedFor() throws {
        let leader = try leader()
        defer { World.removeAll(log) }
        try ship(leader, to: try FolderLog(log, making: true), plain: true)
        #expect(try isLegible(TemporaryDirectory.read(batches()[0])))
        let refused = failure { _ = try follow("a.motte", try FolderLog(log), key: key) }
        #expect(refused?.code == .invalidArgument && refused?.message.contains("--plain") == true)
        let asked = try FolderLog(log)
        asked.key.isPlain = true
        #expect(try follow("a.motte", asked, key: key) == World.content(leader))
        _ = try leader.close()
    }

    /// B1, of snapshots: whoever can write there could make one.
    @Test func aSnapshotThatIsNotEncryptedIsRefused() throws {
        let leader = try leader()
        defer { World.removeAll(log) }
        try ship(leader, to: try FolderLog(log, making: true))
        let root = try LogFolder(log, making: false)
        let origin = try #require(try LeaderRecord(in: root)).origin.text
        let own = try LogFolder(root.file(origin), making: false)
        let place = own.file(try #require(try own.names().first { $0.hasSuffix(".motte") }))
        let plain = folder.file("plain.motte")
        var reading = SessionOptions(path: place).readingOnly
        reading.encryptionKey = key
        let snapshot = try Session.open(reading)
        try snapshot.copy(to: plain, encryption: .plain)
        _ = try snapshot.close()
        TemporaryDirectory.write(TemporaryDirectory.read(plain), place)
        let refused = failure { _ = try follow("a.motte", try FolderLog(log), key: key) }
        #expect(refused?.code == .invalidArgument && refused?.message.contains("--plain") == true)
        let restored = failure {
            var options = SessionOptions(path: folder.file("r.motte"))
            options.encryptionKey = key
            _ = try Restoring.run(options, from: try FolderLog(log), at: nil)
        }
        #expect(restored?.code == .invalidArgument)
        let asked = try FolderLog(log)
        asked.key.isPlain = true
        #expect(try follow("a.motte", asked, key: key) == World.content(leader))
        _ = try leader.close()
    }
}
