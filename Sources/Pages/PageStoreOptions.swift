/// What to open and how. The defaults are what an application wants.
import CMotteShim
import MotteValues

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

package struct PageStoreOptions: Sendable {
    package enum Location: Sendable {
        case file(String)
        /// Stores with the same identifier in one process are one store, gone when the last user closes it; nil is a
        /// store of one's own.
        case memory(identifier: String?)
    }

    package enum Durability: Sendable {
        /// A commit that returned survives a power cut.
        case full
        /// A power cut can lose the last commits, but what is there is whole. Commits flush what was committed before
        /// them, every five seconds at most.
        case relaxed
        /// Nothing is flushed: a commit that returned survives the death of the process, but a power cut can lose
        /// later commits and damage the file. For data that can be made again.
        case none
    }

    package var location: Location
    /// For tests: a page file on this disk, which nobody else uses, wherever `location` points.
    package var disk: (any Disk)?
    /// Of a new file.
    package var pageBytes = 4096
    /// 64 bytes with which the file is encrypted.
    package var encryptionKey: [UInt8]?
    /// A missing file is an error instead of a new store.
    package var noCreate = false
    /// This user never writes; the file must exist.
    package var readOnly = false
    /// The file cannot change while it is open (a read-only medium): no lock files, no sidecar. Implies `readOnly`.
    package var immutable = false
    /// All that write a file in this process have to name the same.
    package var durability = Durability.full
    /// The most bytes the file may grow to while it is open, by commits that make it fuller (`SizeLimit`); nil: what
    /// the format allows, 16 TiB.
    package var mostFileBytes: Int?
    /// Bytes that pages of the file may take in this process's memory; what is in use may take more. nil: the
    /// environment variable MOTTE_MEMORY (bytes, or with K, M, G behind the number), else an eighth of the machine's
    /// memory, or of what the process may have. Who opens the file first says it for the process.
    package var memoryBytes: Int?
    /// A directory for the files that processes share beside the database, where its own directory cannot be written.
    /// Everybody who opens the file has to name the same one. nil: beside the file.
    package var lockDirectory: String?
    /// Rows of a row group, for a file that is made by this open; an existing file keeps its own. nil:
    /// `FileHeader.defaultRowGroupSize`.
    package var rowGroupSize: Int?
    /// Encoded bytes that a write keeps in memory; what is more goes to an unlinked file beside the database until the
    /// commit. nil: a quarter of what pages may take, 64 MB at most.
    package var writeMemoryBytes: Int?
    /// False where no byte may reach a disk but through the store itself; so it is with a key.
    package var maySpill = true
    /// How long to wait for another process that opens, compacts or deletes the same file; negative: no limit.
    package var openTimeoutMilliseconds: Int64 = 30_000
    /// Pages of the WAL, for a WAL that is made while this is open; 0: none. nil: the
    /// environment variable MOTTE_WAL_PAGES, else as suits the file's size.
    package var walPages: Int?
    /// Commits move some of what is at the end of the file to free pages before it, while most of it is free. Who opens
    /// the file first says it for the process.
    package var compactsAutomatically = false
    /// For tests: lets chosen commits fail.
    package var faults: FaultInjection?

    package init(location: Location) {
        self.location = location
    }

    package init(path: String) {
        self.init(location: .file(path))
    }
}

extension PageStoreOptions {
    /// Less would not do for one operation.
    package static let leastMemory = 64 << 10

    /// The option, the environment variable, or a share of what there is.
    func chosenMemory() throws(DatabaseError) -> Int {
        if let memoryBytes {
            guard memoryBytes >= PageStoreOptions.leastMemory else {
                throw DatabaseError(
                    .invalidArgument,
                    "memory is \(memoryBytes); it is \(PageStoreOptions.leastMemory) bytes or more")
            }
            return memoryBytes
        }
        guard let text = getenv("MOTTE_MEMORY") else { return PageStoreOptions.defaultMemory }
        guard let size = PageStoreOptions.memoryBytes(String(cString: text)) else {
            throw DatabaseError(
                .invalidArgument,
                "MOTTE_MEMORY is '\(String(cString: text))'; a number of bytes from"
                    + " \(PageStoreOptions.leastMemory) on is meant, or 512M or 4G")
        }
        return size
    }

    /// A number of bytes as people write it; nil if it is none, or too small.
    package static func memoryBytes(_ text: String) -> Int? {
        byteCount(text).flatMap { $0 >= leastMemory ? $0 : nil }
    }

    private static let defaultMemory = max(Int(motte_shim_memory_limit() / 8), 4 << 20)

    /// The same of any size but 0.
    package static func byteCount(_ text: String) -> Int? {
        var digits = Array(text.utf8)
        var shift = 0
        switch digits.last {
        case UInt8(ascii: "K"), UInt8(ascii: "k"): shift = 10
        case UInt8(ascii: "M"), UInt8(ascii: "m"): shift = 20
        case UInt8(ascii: "G"), UInt8(ascii: "g"): shift = 30
        default: break
        }
        if shift > 0 { digits.removeLast() }
        guard let number = Int(String(decoding: digits, as: UTF8.self)), number > 0 else { return nil }
        let (size, overflow) = number.multipliedReportingOverflow(by: 1 << shift)
        return overflow ? nil : size
    }
}
