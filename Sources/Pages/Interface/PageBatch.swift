/// A run of puts and deletes that a commit applies as one version. Entries may come in any order and repeat a key: the
/// later one wins. Committing does not consume it, so that a failed commit loses nothing.
///
/// Keys and values are copied into a spill file, so adding an entry allocates nothing of its own and a growing batch
/// copies no bytes; entries that lie in a spill file of the caller are taken as they are. Memory is the bytes added, as
/// far as the spill file's plan leaves them there, plus 40 per entry.
import MotteValues

package struct PageBatch: ~Copyable {
    package struct Entry {
        /// The first eight bytes of the key as a big-endian number: decides nearly every comparison of a sort.
        var prefix: UInt64
        var start: UnsafeRawPointer
        var valueStart: UnsafeRawPointer
        var valueCount: Int
        var keyCount: Int32
        var isDelete: Bool
        /// What the key has stays; where `Evacuation` concerns it, in another place.
        var isMove = false

        /// `valueStart`: nil where the value lies behind the key.
        init(
            _ start: UnsafeRawPointer, _ keyCount: Int, _ valueCount: Int, isDelete: Bool,
            valueStart: UnsafeRawPointer? = nil
        ) {
            prefix = PageBatch.prefix(of: UnsafeRawBufferPointer(start: start, count: keyCount))
            self.start = start
            self.valueStart = valueStart ?? start + keyCount
            self.keyCount = Int32(keyCount)
            self.valueCount = valueCount
            self.isDelete = isDelete
        }

        package var key: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: start, count: Int(keyCount)) }
        package var value: UnsafeRawBufferPointer {
            UnsafeRawBufferPointer(start: valueStart, count: valueCount)
        }
    }

    package private(set) var entries: [Entry] = []
    /// Keys so far ascend strictly: nothing to sort, nothing given twice.
    private var isAscending = true
    /// A key or a value that no store takes; reported by the commit, so that adding never throws.
    private(set) var refusal: DatabaseError?
    private let spill: SpillFile
    /// Keys of values in the file, as sorting looks at all keys.
    private var keys: SpillFile?
    /// Where entries lie.
    private var spills: [SpillFile]

    private static let longestValue = Int(Int32.max)

    package init(_ plan: SpillPlan = .memory) {
        spill = SpillFile(plan)
        spills = [spill]
    }

    /// Sorted, for a commit.
    package struct Changes {
        let entries: [Entry]
        let byteCount: Int
        /// Where they lie, so that what was written of it can leave memory.
        let spills: [SpillFile]
        let effect: Effect
        let recordBytes: Int
    }

    package var changes: Changes {
        Changes(
            entries: effectiveEntries(), byteCount: byteCount, spills: spills, effect: effect, recordBytes: recordBytes)
    }

    /// What a commit does to a file that has a limit; see `SizeLimit`.
    package enum Effect: Int {
        /// It deletes objects and makes none.
        case deletes
        /// It changes values of objects that there are.
        case changes
        case adds
    }
    package var effect = Effect.adds

    /// Adds deletions of what nobody needs.
    package typealias Shrinking = (inout PageBatch) throws(DatabaseError) -> Void

    /// Of the change records in it, which make any commit larger.
    package var recordBytes = 0

    /// For what is committed together with others.
    mutating func note(_ effect: Effect, recordBytes: Int) {
        self.effect = effect
        self.recordBytes = recordBytes
    }

    /// Entries are put that lie in that spill file.
    package mutating func lends(_ spill: SpillFile) { spills.append(spill) }

    package var isEmpty: Bool { entries.isEmpty }
    /// Entries added, repeated keys included.
    package var count: Int { entries.count }
    /// Bytes of keys and values added.
    package private(set) var byteCount = 0

    package mutating func put(_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) {
        add(key, value, isDelete: false)
    }

    package mutating func put(_ key: [UInt8], _ value: UnsafeRawBufferPointer) {
        key.withUnsafeBytes { add($0, value, isDelete: false) }
    }

    package mutating func put(_ key: UnsafeRawBufferPointer, _ value: [UInt8]) {
        value.withUnsafeBytes { add(key, $0, isDelete: false) }
    }

    /// A value of `valueCount` bytes that `write` makes where it is going to lie.
    @inline(__always)
    package mutating func put(_ key: [UInt8], valueCount: Int, _ write: (UnsafeMutableRawPointer) -> Void) {
        guard refusal == nil, mayAdd(key.count, valueCount) else { return }
        let (start, place) = key.withUnsafeBytes { reserve($0, valueCount) }
        write(place)
        append(Entry(start, key.count, valueCount, isDelete: false, valueStart: UnsafeRawPointer(place)))
    }

    package mutating func put(_ key: [UInt8], _ value: [UInt8]) {
        key.withUnsafeBytes { keyBytes in value.withUnsafeBytes { add(keyBytes, $0, isDelete: false) } }
    }

    /// Removes the key's entry; a key that is not there is fine.
    package mutating func delete(_ key: UnsafeRawBufferPointer) {
        add(key, UnsafeRawBufferPointer(start: nil, count: 0), isDelete: true)
    }

    package mutating func delete(_ key: [UInt8]) {
        key.withUnsafeBytes { add($0, UnsafeRawBufferPointer(start: nil, count: 0), isDelete: true) }
    }

    /// A key whose value is to have another place; one that is not there is fine.
    mutating func move(_ key: [UInt8]) {
        key.withUnsafeBytes { key in
            guard refusal == nil, mayAdd(key.count, 0) else { return }
            var entry = Entry(reserve(key, 0).start, key.count, 0, isDelete: false)
            entry.isMove = true
            append(entry)
        }
    }

    /// An entry whose bytes outlive the batch, without copying them.
    mutating func add(_ entry: Entry) {
        guard refusal == nil, mayAdd(Int(entry.keyCount), entry.valueCount) else { return }
        append(entry)
    }

    /// Puts what lies in a spill file that outlives the batch, without copying it or looking at it: it need not be in
    /// memory before it is written.
    package mutating func put(_ key: [UInt8], _ spilled: SpilledEntry) {
        guard refusal == nil, mayAdd(key.count, spilled.valueCount) else { return }
        let start = key.withUnsafeBytes { reserve($0, 0).start }
        append(Entry(start, key.count, spilled.valueCount, isDelete: false, valueStart: spilled.value.baseAddress))
    }

    /// The entries that count: sorted, and of several for one key only the last.
    package borrowing func effectiveEntries() -> [Entry] {
        if isAscending { return entries }
        // Entries that do not ascend are two at least.
        var order = [Int32](unsafeUninitializedCapacity: entries.count) { buffer, count in
            for i in 0 ..< entries.count { buffer.initializeElement(at: i, to: Int32(truncatingIfNeeded: i)) }
            count = entries.count
        }
        entries.withUnsafeBufferPointer { entries in
            order.sort { left, right in
                let difference = PageBatch.compare(entries[Int(left)], entries[Int(right)])
                return difference != 0 ? difference < 0 : left < right
            }
        }
        var effective: [Entry] = []
        effective.reserveCapacity(order.count)
        for index in order {
            let entry = entries[Int(index)]
            if let last = effective.last, PageBatch.compare(last, entry) == 0 {
                effective[effective.count - 1] = entry
            } else {
                effective.append(entry)
            }
        }
        return effective
    }

    private static func compare(_ left: Entry, _ right: Entry) -> Int {
        if left.prefix != right.prefix { return left.prefix < right.prefix ? -1 : 1 }
        return ValueOrdering.compareBytes(left.key, right.key)
    }

    private mutating func add(_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, isDelete: Bool) {
        guard refusal == nil, mayAdd(key.count, value.count) else { return }
        let (start, place) = reserve(key, value.count)
        UnsafeMutableRawBufferPointer(start: place, count: value.count).copyMemory(from: value)
        append(Entry(start, key.count, value.count, isDelete: isDelete, valueStart: UnsafeRawPointer(place)))
    }

    /// Copies the key and lends room for the value, behind it or in the file.
    @inline(__always)
    private mutating func reserve(
        _ key: UnsafeRawBufferPointer, _ valueCount: Int
    ) -> (start: UnsafeRawPointer, value: UnsafeMutableRawPointer) {
        if spill.fileBytes > 0 { return reserveApart(key, valueCount) }
        let (entry, value) = spill.reserve(key: key, valueCount: valueCount)
        return (entry.start, value)
    }

    private mutating func reserveApart(
        _ key: UnsafeRawBufferPointer, _ valueCount: Int
    ) -> (start: UnsafeRawPointer, value: UnsafeMutableRawPointer) {
        let keys = keys ?? SpillFile(.memory)
        self.keys = keys
        return (keys.reserve(key: key, valueCount: 0).entry.start, spill.reserve(valueCount))
    }

    private mutating func mayAdd(_ keyCount: Int, _ valueCount: Int) -> Bool {
        guard keyCount > 0, keyCount <= KeySpace.longestKey else {
            refusal = DatabaseError(
                .internal, "a page key has \(keyCount) bytes; 1 to \(KeySpace.longestKey) are possible")
            return false
        }
        guard valueCount <= PageBatch.longestValue, entries.count < Int(Int32.max) else {
            refusal = DatabaseError(
                .valueTooLarge, "a stored value has \(valueCount) bytes; less than 2 GiB are possible")
            return false
        }
        return true
    }

    private mutating func append(_ entry: Entry) {
        if isAscending, let last = entries.last { isAscending = PageBatch.compare(last, entry) < 0 }
        entries.append(entry)
        byteCount += Int(entry.keyCount) + entry.valueCount
    }

    /// Shorter keys are padded with zeros; equal prefixes are compared in full.
    private static func prefix(of key: UnsafeRawBufferPointer) -> UInt64 {
        if key.count >= 8 { return UInt64(bigEndian: key.loadUnaligned(as: UInt64.self)) }
        var prefix: UInt64 = 0
        for byte in key { prefix = prefix << 8 | UInt64(byte) }
        return prefix << UInt64(8 * (8 - key.count))
    }
}
