/// What reading a record does not ask for, because its checksum was right. What lies behind its entries is no matter: a
/// power cut may have kept it from being written.
import MotteValues

extension WALRecord {
    /// Whether keys ascend from the header's on, and nothing deleted has a value.
    static func isTidy(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard let entries = WALRecord.entries(in: bytes), let first = entries.first,
            first.key.elementsEqual(FileHeader.key)
        else { return false }
        for (entry, next) in zip(entries, entries.dropFirst())
        where ValueOrdering.compareBytes(entry.key, next.key) >= 0 {
            return false
        }
        return !entries.contains { $0.isDelete && $0.valueCount > 0 }
    }
}
