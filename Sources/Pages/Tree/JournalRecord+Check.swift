/// What reading a record does not ask for, because its checksum was right.
import MotteValues

extension JournalRecord {
    /// Whether keys ascend from the header's on, and behind the entries there is nothing but what ends a record. `bytes`
    /// are its pages.
    func isTidy(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard let entries = JournalRecord.entries(in: bytes), let first = entries.first,
            first.key.elementsEqual(FileHeader.key), let base = bytes.baseAddress
        else { return false }
        for (entry, next) in zip(entries, entries.dropFirst())
        where ValueOrdering.compareBytes(entry.key, next.key) >= 0 {
            return false
        }
        if entries.contains(where: { $0.isDelete && $0.valueCount > 0 }) { return false }
        let end = Int(UInt32(littleEndian: base.loadUnaligned(fromByteOffset: 12, as: UInt32.self)))
        let trailer = bytes.count - JournalRecord.trailerBytes
        let isMarked = base.loadUnaligned(fromByteOffset: trailer, as: UInt64.self)
            == base.loadUnaligned(fromByteOffset: 24, as: UInt64.self)
            && UInt64(littleEndian: base.loadUnaligned(fromByteOffset: trailer + 8, as: UInt64.self)) == version
        return isMarked && end <= trailer && bytes[end ..< trailer].allSatisfy { $0 == 0 }
    }
}
