/// Strings, data and mixed values too long for a chunk: each lies in a page of its own, and the chunk has a reference
/// of 24 bytes in its place, so that a value of 16 MB costs its neighbours in the row group nothing.
///
/// This is the one place where a reference becomes bytes, for chunks and for builders alike: `LongText.bytes` looks for
/// the page on first touch, checks it once and remembers it. What cannot be read shows as empty there and is an error
/// where `check` is asked next, which is what everything that hands values out does; after that it is looked for again,
/// since a read that failed once need not fail for ever.
///
///     reference: u64 version | u32 number | u32 byte count | u32 crc32c of the bytes | u32 zero
import CMotteShim
import MotteValues

/// Names one long value of a column for as long as the file lives: the commit that wrote it, and a number within that.
package struct LongTextReference: Hashable, Sendable {
    package let version: UInt64
    package let number: UInt32
    package let byteCount: UInt32
    package let crc: UInt32

    static let size = 24

    /// Of a new value.
    package init(version: UInt64, number: UInt32, of bytes: UnsafeRawBufferPointer) {
        self.version = version
        self.number = number
        byteCount = UInt32(truncatingIfNeeded: bytes.count)
        crc = motte_shim_crc32c(0, bytes.baseAddress, bytes.count)
    }

    init?(decoding bytes: UnsafeRawBufferPointer) {
        guard bytes.count == Self.size else { return nil }
        version = bytes.loadUnaligned(fromByteOffset: 0, as: UInt64.self)
        number = bytes.loadUnaligned(fromByteOffset: 8, as: UInt32.self)
        byteCount = bytes.loadUnaligned(fromByteOffset: 12, as: UInt32.self)
        crc = bytes.loadUnaligned(fromByteOffset: 16, as: UInt32.self)
        guard bytes.loadUnaligned(fromByteOffset: 20, as: UInt32.self) == 0 else { return nil }
    }

    func write(to place: UnsafeMutableRawPointer) {
        place.storeBytes(of: version, toByteOffset: 0, as: UInt64.self)
        place.storeBytes(of: number, toByteOffset: 8, as: UInt32.self)
        place.storeBytes(of: byteCount, toByteOffset: 12, as: UInt32.self)
        place.storeBytes(of: crc, toByteOffset: 16, as: UInt32.self)
        place.storeBytes(of: 0, toByteOffset: 20, as: UInt32.self)
    }
}

/// Where the long values of one column are, and, in a write, where new ones go: Storage knows.
package protocol LongTextSource: AnyObject {
    /// Texts with more bytes are kept apart.
    var limit: Int { get }

    /// How often what was found has been forgotten, so that its memory could go: it is found again then.
    var forgottenCount: UInt64 { get }

    /// The bytes, at an address that stays until `forgottenCount` changes; nil where there are none.
    func find(_ reference: LongTextReference) throws(DatabaseError) -> UnsafeRawBufferPointer?

    /// Copies bytes to where they stay until the write ends; nil outside a write.
    func keep(_ bytes: UnsafeRawBufferPointer) -> (reference: LongTextReference, copy: UnsafeRawBufferPointer)?
}

package final class LongText {
    package let reference: LongTextReference
    let hash: UInt8
    private let kind: ColumnKind
    private let source: any LongTextSource
    private var found: UnsafeRawBufferPointer?
    /// The source's `forgottenCount` then.
    private var foundAt: UInt64 = 0
    /// Until somebody has been told.
    private var failure: DatabaseError?

    /// One that a chunk refers to.
    init(_ reference: LongTextReference, _ kind: ColumnKind, hash: UInt8, in source: any LongTextSource) {
        self.reference = reference
        self.kind = kind
        self.hash = hash
        self.source = source
    }

    /// A new one; nil where the source keeps none.
    init?(keeping bytes: UnsafeRawBufferPointer, _ kind: ColumnKind, in source: any LongTextSource) {
        guard let (reference, copy) = source.keep(bytes) else { return nil }
        self.reference = reference
        self.kind = kind
        self.source = source
        hash = TextRun.hash(bytes)
        found = copy
        foundAt = source.forgottenCount
    }

    /// What stands in for a mixed value that cannot be read: null.
    nonisolated(unsafe) private static let null: UnsafeRawBufferPointer = {
        let byte = UnsafeMutableRawBufferPointer.allocate(byteCount: 1, alignment: 1)
        byte[0] = 0
        return UnsafeRawBufferPointer(byte)
    }()

    private var place: UnsafeRawBufferPointer? { foundAt == source.forgottenCount ? found : nil }

    var bytes: UnsafeRawBufferPointer { place ?? fetch() }

    package func check() throws(DatabaseError) {
        if place != nil, failure == nil { return }
        // What has been shown as empty meanwhile is told first, whatever a second look would find.
        if failure == nil { _ = fetch() }
        guard let failure else { return }
        self.failure = nil
        throw failure
    }

    @inline(never)
    private func fetch() -> UnsafeRawBufferPointer {
        do throws(DatabaseError) {
            let bytes = try read()
            found = bytes
            foundAt = source.forgottenCount
            return bytes
        } catch { failure = error }
        return kind == .mixed ? Self.null : UnsafeRawBufferPointer(start: nil, count: 0)
    }

    private func read() throws(DatabaseError) -> UnsafeRawBufferPointer {
        guard let bytes = try source.find(reference) else { throw .corrupted("a long value is missing") }
        guard bytes.count == Int(reference.byteCount) else { throw .corrupted("a long value has a wrong size") }
        guard motte_shim_crc32c(0, bytes.baseAddress, bytes.count) == reference.crc else {
            throw .corrupted("a long value fails its checksum")
        }
        try kind.check(bytes)
        return bytes
    }
}

/// The long values of one chunk, by row. Whoever made the chunk keeps this as long as the chunk is used.
package final class LongTexts {
    private let places: [Int32]
    private let texts: [LongText]
    private let source: any LongTextSource
    /// The source's `forgottenCount` when all were there.
    private var checkedAt: UInt64?

    /// `marks` has a bit for each row; `reference` gives the bytes in a marked row's place.
    init(
        _ marks: UnsafeRawPointer, _ count: Int, _ kind: ColumnKind, _ hashes: UnsafeRawPointer,
        in source: any LongTextSource, reference: (Int) -> UnsafeRawBufferPointer
    ) throws(DatabaseError) {
        var places = [Int32](repeating: -1, count: count)
        var texts: [LongText] = []
        for row in 0 ..< count
        where marks.load(fromByteOffset: row >> 3, as: UInt8.self) & (1 << UInt8(row & 7)) != 0 {
            guard let named = LongTextReference(decoding: reference(row)) else {
                throw .corrupted("a chunk has a reference of a wrong form")
            }
            places[row] = Int32(truncatingIfNeeded: texts.count)
            texts.append(
                LongText(named, kind, hash: hashes.load(fromByteOffset: row, as: UInt8.self), in: source))
        }
        self.places = places
        self.texts = texts
        self.source = source
    }

    func text(_ row: Int) -> LongText? { places[row] < 0 ? nil : texts[Int(places[row])] }

    var references: [LongTextReference] { texts.map(\.reference) }

    func check() throws(DatabaseError) {
        let now = source.forgottenCount
        if checkedAt == now { return }
        for text in texts { try text.check() }
        checkedAt = now
    }
}

extension ColumnChunk {
    package var hasLongTexts: Bool { longTexts != nil }

    @inline(never)
    func longText(_ row: Int) -> LongText? { longTexts?._withUnsafeGuaranteedRef { $0.text(row) } }

    /// nil where the row's value lies in the chunk itself.
    package func longReference(_ row: Int) -> LongTextReference? { longText(row)?.reference }

    package var longReferences: [LongTextReference] { longTexts?._withUnsafeGuaranteedRef { $0.references } ?? [] }

    /// Throws where a long value cannot be read: of every row, of some, or of one.
    package func checkLongTexts() throws(DatabaseError) {
        if let longTexts { try longTexts.takeUnretainedValue().check() }
    }

    package func checkLongTexts(_ rows: Range<Int>) throws(DatabaseError) {
        guard longTexts != nil else { return }
        for row in rows { try longText(row)?.check() }
    }

    @inline(__always)
    package func checkLongText(_ row: Int) throws(DatabaseError) {
        if longTexts != nil { try longText(row)?.check() }
    }
}
