// Files that are no Realm files or not of a format that is read, keys that fit and keys that do not.
import MotteRealmFile
import MotteValues
import TestSupport
import Testing

@Suite struct OpeningTests {
    private let folder = TemporaryDirectory()

    private func failure(_ path: String, key: [UInt8]? = nil) -> DatabaseError? {
        do throws(DatabaseError) {
            _ = try RealmFile(path, key: key)
            return nil
        } catch {
            return error
        }
    }

    private func write(_ bytes: [UInt8]) -> String {
        let path = folder.file("opened.realm")
        TemporaryDirectory.write(bytes, path)
        return path
    }

    @Test func theFormatIsReadFromTheFirstBytes() throws {
        #expect(try RealmFile.format(at: Fixture.tiny.path) == 24)
        #expect(try RealmFile.format(at: Fixture.copied.path) == 24)
        #expect(try RealmFile.format(at: Fixture.encrypted.path) == nil)
        #expect(try RealmFile.format(at: write([1, 2, 3])) == nil)
        #expect(throws: DatabaseError.self) { try RealmFile.format(at: folder.file("missing.realm")) }
    }

    @Test func aFileThatIsNotThereIsSaidSo() throws {
        #expect(failure(folder.file("missing.realm"))?.code == .fileNotFound)
        #expect(failure(folder.path)?.code == .unsupportedFormat)
    }

    @Test(arguments: [0, 9, 10, 11, 19, 25, 255]) func otherFormatsAreRefusedByNumber(_ format: UInt8) throws {
        var bytes = Fixture.tiny.bytes
        bytes[20] = format
        let error = failure(write(bytes))
        #expect(error?.code == .unsupportedFormat)
        #expect(error?.message.contains("its format is \(format), and formats 20 to 24 can be read") == true)
        #expect(error?.message.contains(format > 24 ? "newer" : "upgrades it") == true)
        #expect(try RealmFile.format(at: write(bytes)) == Int(format))
    }

    /// What differs before 24 is not in these small files, so they are sound files of those formats as well.
    @Test(arguments: 20 ... 24) func formatsTwentyToTwentyFourAreRead(_ format: Int) throws {
        var bytes = Fixture.tiny.bytes
        bytes[20] = UInt8(format)
        let file = try RealmFile(write(bytes))
        #expect(file.format == format)
        #expect(try WholeRead(file).objects == 4)
    }

    @Test func anEmptyDatabaseHasNoTables() throws {
        var bytes = [UInt8](repeating: 0, count: 4_096)
        bytes.replaceSubrange(16 ..< 20, with: Array("T-DB".utf8))
        let file = try RealmFile(write(bytes))
        #expect(file.tables.isEmpty && file.schemaVersion == .max && file.version == 0)
        try file.checkBacklinks()
    }

    @Test func somethingElseIsRefused() throws {
        let error = failure(write([UInt8](repeating: 7, count: 4_096)))
        #expect(error?.code == .unsupportedFormat)
        #expect(error?.message.contains("it is no Realm file, or it is encrypted and needs its key") == true)
        #expect(failure(write([]))?.code == .corrupted)
    }

    @Test func onlyTheRightKeyOpens() throws {
        let right = try #require(try Fixture.encrypted.key())
        var wrong = right
        wrong[63] ^= 1
        #expect(failure(Fixture.encrypted.path, key: right) == nil)
        #expect(failure(Fixture.encrypted.path, key: wrong)?.code == .wrongKey)
        #expect(failure(Fixture.encrypted.path)?.code == .unsupportedFormat)
        #expect(failure(Fixture.encrypted.path, key: Array(right.dropLast()))?.code == .invalidArgument)
        #expect(failure(Fixture.sizes.path, key: right)?.code == .wrongKey)
    }

    /// A write that was cut off between the entry and the page: the older pair says how to read the page.
    @Test func theOlderPairOfAPageCountsWhereTheNewerDoesNotFit() throws {
        var bytes = Fixture.encrypted.bytes
        let key = try Fixture.encrypted.key()
        let sound = try WholeRead(try Fixture.encrypted.open()).sum
        for page in 0 ..< 64 where bytes[page * 64] != 0 {
            let entry = page * 64
            bytes.replaceSubrange(entry + 32 ..< entry + 64, with: bytes[entry ..< entry + 32])
            bytes.replaceSubrange(entry ..< entry + 32, with: [9, 9, 0, 0] + [UInt8](repeating: 5, count: 28))
        }
        #expect(try WholeRead(try RealmFile(write(bytes), key: key)).sum == sound)
        // Without a number the older pair is none.
        bytes.replaceSubrange(32 ..< 36, with: [0, 0, 0, 0])
        #expect(failure(write(bytes), key: key)?.code == .wrongKey)
    }
}
