/// A finished copy, reopened from its file and compared with what it was made of: every key and every value in
/// order, nothing besides, and pages that are sound and accounted for. Only then may it take the place of anything.
///
/// Reads through another path than the one it was written by: its own descriptor and memory, and checksums of what
/// the disk has. It keeps little in memory, whatever the size of the copy.
import MotteValues

struct CopyCheck {
    private let path: String
    private let sourcePath: String
    private let pages: TreePages
    private let snapshot: TreeSnapshot
    private var cursor: PageCursor
    /// Entries that were compared.
    private(set) var count = 0
    /// Read since memory was given back.
    private var readBytes = 0

    /// After so many it is seen to that memory can be given back.
    private static let mostReadBytes = 1 << 20

    /// Opens the copy, whose header record must be `header`.
    init(
        _ path: String, of sourcePath: String, encryptionKey: [UInt8]?, _ header: FileHeader, memoryBytes: Int
    ) throws(DatabaseError) {
        self.path = path
        self.sourcePath = sourcePath
        let pages: TreePages
        do throws(DatabaseError) {
            var options = PageStoreOptions(path: path)
            options.readOnly = true
            options.memoryBytes = memoryBytes
            let place = try FileLocation(path, options)
            options.encryptionKey = encryptionKey
            pages = try TreePages.openUnshared(place, options)
        } catch {
            throw CopyCheck.failure(sourcePath, error)
        }
        self.pages = pages
        pages.beginUse()
        defer { pages.endUse() }
        // From here on the snapshot keeps the file open.
        do throws(DatabaseError) {
            snapshot = try pages.treeSnapshot()
            cursor = try snapshot.makeCursor()
            guard try cursor.seek([]), cursor.key.elementsEqual(FileHeader.key),
                cursor.value.bytes.elementsEqual(header.encoded())
            else { throw .corrupted("its header record is another one") }
        } catch {
            throw CopyCheck.failure(sourcePath, error)
        }
    }

    /// The next entry of the copy must be this one.
    mutating func expect(_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws(DatabaseError) {
        do throws(DatabaseError) {
            if readBytes > CopyCheck.mostReadBytes { try giveBackMemory() }
            guard try cursor.next() else { throw .corrupted("it ends after \(count) entries") }
            guard ValueOrdering.compareBytes(cursor.key, key) == 0 else {
                throw .corrupted("the key of entry \(count + 1) is another one")
            }
            guard ValueOrdering.compareBytes(cursor.value.bytes, value) == 0 else {
                throw .corrupted("the value of entry \(count + 1) is another one")
            }
        } catch {
            throw CopyCheck.failure(sourcePath, error)
        }
        count += 1
        readBytes += key.count + value.count
    }

    /// All entries were expected.
    func finish() throws(DatabaseError) {
        do throws(DatabaseError) {
            guard try !cursor.next() else { throw .corrupted("it has entries that are not in what it was made of") }
            let found = try pages.statistics().entryCount
            guard found == count + 1 else { throw .corrupted("it counts \(found) entries and has \(count + 1)") }
            var check = TreeCheck(snapshot.image, snapshot.root, shown: snapshot.version)
            try check.run()
            try check.checkSpace()
            if let problem = check.problems.first { throw .corrupted(problem.description) }
        } catch {
            throw CopyCheck.failure(sourcePath, error)
        }
    }

    /// Nothing that was lent is used any more.
    private mutating func giveBackMemory() throws(DatabaseError) {
        readBytes = 0
        guard let hold = snapshot.hold, hold.isDue else { return }
        cursor = try snapshot.makeCursor(at: cursor) { hold.renew() }
    }

    /// Not the source is damaged, but what was to stand in for it.
    private static func failure(_ sourcePath: String, _ error: DatabaseError) -> DatabaseError {
        DatabaseError(
            .inputOutput,
            "the copy of '\(sourcePath)' does not read back as what was copied (\(error.damage)); it was removed and"
                + " nothing was replaced; run 'motte verify' and look at the disk",
            path: sourcePath, systemError: error.details.systemError)
    }
}
