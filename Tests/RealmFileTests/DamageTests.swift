// Files that were damaged: each is an error that says so, or data, in a time and a memory that go by the file's size.
import MotteRealmFile
import MotteValues
import TestSupport
import Testing

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

@Suite(.serialized) struct DamageTests {
    private let folder = TemporaryDirectory()

    private enum Outcome { case error, other, same }

    /// What becomes of a file with these bytes.
    private func read(_ bytes: [UInt8], _ key: [UInt8]?, sound: UInt64, _ comment: String) -> Outcome {
        do {
            let file = try RealmFile(bytes: bytes, key: key)
            let sum = try WholeRead(file).sum
            try file.checkBacklinks()
            return sum == sound ? .same : .other
        } catch let error as DatabaseError {
            let allowed: [ErrorCode] = [.corrupted, .unsupportedFormat, .wrongKey, .unsupported, .valueTooLarge]
            #expect(allowed.contains(error.code), "\(error.code) \(error.message); \(comment)")
            #expect(error.details.path == "memory", "\(error.message); \(comment)")
            return .error
        } catch {
            Issue.record("\(error); \(comment)")
            return .error
        }
    }

    private func flip(_ fixture: Fixture, _ places: some Sequence<Int>, _ comment: String) throws {
        let key = try fixture.key()
        let sound = try WholeRead(try fixture.open()).sum
        var bytes = fixture.bytes
        var counts: [Outcome: Int] = [:]
        for bit in places {
            bytes[bit / 8] ^= 1 << UInt8(bit % 8)
            FileAlarm.set(30, "\(fixture) with bit \(bit) flipped")
            counts[read(bytes, key, sound: sound, "bit \(bit) of \(fixture), \(comment)"), default: 0] += 1
            bytes[bit / 8] ^= 1 << UInt8(bit % 8)
        }
        FileAlarm.set(0, "")
        print(
            "note: \(fixture): of \(counts.values.reduce(0, +)) flipped bits \(counts[.error] ?? 0) are errors, "
                + "\(counts[.other] ?? 0) change values, \(counts[.same] ?? 0) nothing")
    }

    @Test(arguments: [Fixture.tiny, .renamed]) func everyFlippedBitIsAnErrorOrData(_ fixture: Fixture) throws {
        // Of every byte all bits; in quicker runs than usual of every fifth.
        let step = TestScale.factor >= 1 ? 1 : 5
        let bytes = stride(from: 0, to: fixture.bytes.count, by: step)
        try flip(fixture, bytes.flatMap { byte in (0 ..< 8).map { byte * 8 + $0 } }, "")
    }

    @Test(arguments: Fixture.allCases) func flippedBitsAreErrorsOrData(_ fixture: Fixture) throws {
        var random = SeededRandom(seed: PropertyTest.firstSeed)
        let comment = "repeat with MOTTE_TEST_SEED=\(random.seed)"
        let count = fixture.bytes.count * 8
        try flip(fixture, (0 ..< TestScale.times(60)).map { _ in random.below(count) }, comment)
    }

    @Test(arguments: Fixture.allCases) func aTruncatedFileSaysSo(_ fixture: Fixture) throws {
        let key = try fixture.key()
        let bytes = fixture.bytes
        let path = folder.file("cut.realm")
        // Of the larger some, so that there are as many.
        let step = max(8, bytes.count / TestScale.times(500) & ~7)
        let cuts = Array(stride(from: 0, to: bytes.count, by: fixture == .tiny ? 8 : step)) + [bytes.count - 8]
        for cut in cuts {
            TemporaryDirectory.write(Array(bytes[..<cut]), path)
            do {
                let file = try RealmFile(path, key: key)
                _ = try WholeRead(file)
                Issue.record("\(fixture) cut at byte \(cut) is read")
            } catch let error as DatabaseError {
                #expect(error.code == .corrupted, "\(cut): \(error.message)")
                #expect(error.message.contains("truncated"), "\(cut): \(error.message)")
            }
        }
    }

    @Test func aSizeThatIsNoMultipleOfEightIsTruncated() throws {
        let path = folder.file("odd.realm")
        TemporaryDirectory.write(Fixture.tiny.bytes + [0, 0, 0], path)
        #expect(throws: DatabaseError.self) { try RealmFile(path) }
    }

    @Test(arguments: [Fixture.collections, .encrypted]) func aFileCutUnderAReaderIsAnError(_ fixture: Fixture) throws {
        let path = folder.file("cut-later.realm")
        TemporaryDirectory.write(fixture.bytes, path)
        let file = try RealmFile(path, key: try fixture.key())
        truncate(path, 4_096)
        do {
            _ = try WholeRead(file)
            try file.checkUnchanged()
            Issue.record("nothing was noticed")
        } catch let error as DatabaseError {
            #expect(error.code == .corrupted && error.message.contains("truncated"), "\(error.message)")
        }
    }

    @Test(arguments: [Fixture.tiny, .encrypted]) func aCommitUnderAReaderIsNoticed(_ fixture: Fixture) throws {
        let path = folder.file("changed.realm")
        var bytes = fixture.bytes
        TemporaryDirectory.write(bytes, path)
        let file = try RealmFile(path, key: try fixture.key())
        try file.checkUnchanged()
        bytes[fixture == .tiny ? 23 : 0] ^= 1
        TemporaryDirectory.write(bytes, path)
        do {
            try file.checkUnchanged()
            Issue.record("nothing was noticed")
        } catch {
            #expect(error.code == .busy, "\(error.message)")
        }
    }

    /// The place of an error says what a user knows: path, class, property and key.
    @Test func anErrorNamesClassPropertyAndObject() throws {
        let path = folder.file("named.realm")
        var bytes = Fixture.tiny.bytes
        // The second dog's list of toys: no kind of node.
        bytes[0x57C] = 0xFF
        TemporaryDirectory.write(bytes, path)
        do {
            _ = try WholeRead(try RealmFile(path))
            Issue.record("nothing was noticed")
        } catch let error as DatabaseError {
            #expect(
                error.message == "the Realm file '\(path)' is damaged: Dog.toys of the object with key 1: there is no "
                    + "node, at byte 1400; restore it from a copy")
            #expect(error.details.className == "Dog" && error.details.propertyName == "toys")
        }
    }
}

/// Ends a process that hangs.
enum FileAlarm {
    nonisolated(unsafe) private static var comment: [UInt8] = []  // one suite sets it, and its signal reads it

    static func set(_ seconds: UInt32, _ text: String) {
        comment = Array("one file takes too long: \(text)\n".utf8)
        signal(SIGALRM) { _ in
            FileAlarm.comment.withUnsafeBytes { _ = write(2, $0.baseAddress, $0.count) }
            abort()
        }
        alarm(seconds)
    }
}
