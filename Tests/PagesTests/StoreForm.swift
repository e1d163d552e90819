// What every test of the storage interface starts from: a store of each form, in a directory of its own, and short ways
// to read it. The same tests run on all forms, so that any of them can stand for another in all layers above.
import CMotteShim
import MottePages
import MotteValues
import TestSupport
import Testing

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

enum StoreForm: String, CaseIterable, CustomTestStringConvertible {
    /// A page file without a WAL; in memory; encrypted; with a WAL from the first commit on, as larger files
    /// have one; on a disk in memory, with larger pages.
    case file, memory, sealed, withWAL, disk
    var testDescription: String { rawValue }
    static let files: [StoreForm] = [.file, .sealed, .withWAL]
    var hasFile: Bool { StoreForm.files.contains(self) }
}

/// A directory that goes away with its last user.
final class Scratch: Sendable {
    let directory: String

    init() throws {
        let base = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
        var template = Array((base + "/motte-pages-XXXXXX").utf8CString)
        directory = try template.withUnsafeMutableBufferPointer { buffer in
            let made = mkdtemp(try #require(buffer.baseAddress))
            return String(cString: try #require(made))
        }
    }

    deinit {
        for name in Scratch.names(in: directory) { unlink(directory + "/" + name) }
        rmdir(directory)
    }

    func path(_ name: String = "test.motte") -> String { directory + "/" + name }

    static func names(in directory: String) -> [String] {
        guard let stream = opendir(directory) else { return [] }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names.sorted()
    }

    func read(_ name: String = "test.motte") throws -> [UInt8] { TemporaryDirectory.read(path(name)) }

    func write(_ bytes: [UInt8], _ name: String = "test.motte") throws {
        #expect(TemporaryDirectory.write(bytes, path(name)))
    }
}

/// A store with the directory it lives in.
struct TestStore {
    let scratch: Scratch
    let store: PageStore
    static let key = [UInt8](repeating: 0x5A, count: 63) + [1]
    /// Full after a few commits.
    static let walPages = 8

    /// For opening a file of any form again.
    /// `isBeside`: while this process has it open, which agrees on one durability.
    static func options(_ path: String, isBeside: Bool = false) throws -> PageStoreOptions {
        var options = PageStoreOptions(path: path)
        if isBeside { options.durability = .none }
        if try PageStore.isEncrypted(path) { options.encryptionKey = key }
        return options
    }

    init(_ form: StoreForm, faults: FaultInjection? = nil) throws {
        scratch = try Scratch()
        var options: PageStoreOptions
        switch form {
        case .file, .sealed, .withWAL: options = PageStoreOptions(location: .file(scratch.path()))
        case .memory, .disk: options = PageStoreOptions(location: .memory(identifier: nil))
        }
        if form == .disk { options.disk = MemoryDisk() }
        if form == .disk { options.pageBytes = 16384 }
        options.walPages = form == .withWAL ? TestStore.walPages : 0
        if form == .sealed { options.encryptionKey = TestStore.key }
        options.faults = faults
        // Tests check contents, not the disk; flushing has a test of its own.
        options.durability = .none
        store = try PageStore.open(options)
    }

    /// Commits puts and deletes (nil) as the next version.
    @discardableResult
    func commit(_ changes: [(String, [UInt8]?)]) throws -> Version { try store.commitNext(changes) }
}

extension PageStore {
    @discardableResult
    func commitNext(_ changes: [(String, [UInt8]?)]) throws -> Version {
        var batch = PageBatch()
        for (key, value) in changes {
            if let value { batch.put(Array(key.utf8), value) } else { batch.delete(Array(key.utf8)) }
        }
        return try commitNext(batch)
    }

    @discardableResult
    func commitNext(_ batch: borrowing PageBatch, _ compaction: OnlineCompaction? = nil) throws -> Version {
        let lock = try lockForWriting(timeoutMilliseconds: 10_000)
        defer { lock.release() }
        let version = Version(try snapshot().version.rawValue + 1)
        try commit(batch, lock: lock, version: version, compaction: compaction)
        return version
    }
}

extension PageSnapshot {
    func value(_ key: String) throws -> [UInt8]? { try get(Array(key.utf8)).map { [UInt8]($0.bytes) } }

    /// All entries but the header record.
    func contents() throws -> [(key: [UInt8], value: [UInt8])] {
        let cursor = try makeCursor()
        var all: [(key: [UInt8], value: [UInt8])] = []
        var found = try cursor.seek([])
        while found {
            if !cursor.key.elementsEqual(FileHeader.key) {
                all.append((key: [UInt8](cursor.key), value: [UInt8](cursor.value.bytes)))
            }
            found = try cursor.next()
        }
        return all
    }
}

/// Runs `body`, which must fail, and answers its error.
func failure<Result: ~Copyable>(_ body: () throws -> Result) throws -> DatabaseError {
    do {
        _ = try body()
    } catch let error as DatabaseError {
        return error
    }
    Issue.record("no error was thrown")
    throw DatabaseError(.internal, "no error was thrown")
}
