/// The parts of a batch, as they come (L3 of `StreamLog`).
import MotteStorage
import MotteValues

struct PartialBatch {
    private var parts: [LogPart] = []

    var isEmpty: Bool { parts.isEmpty }

    /// The batch, with its last part.
    mutating func add(_ part: LogPart, _ key: BatchKey, _ place: String) throws(DatabaseError) -> ChangeBatch? {
        if part.index == 0 {
            parts = [part]
        } else {
            guard let first = parts.first, part.index == parts.count, part.term == first.term, part.from == first.from,
                part.to == first.to, part.count == first.count
            else {
                // The rest of one whose beginning was passed over.
                parts = []
                return nil
            }
            parts.append(part)
        }
        guard parts.count == part.count else { return nil }
        let bytes = parts.count == 1 ? part.bytes : parts.flatMap(\.bytes)
        parts = []
        do throws(DatabaseError) {
            let batch = try key.decoded(bytes, "it")
            guard batch.origin == part.origin, batch.from == part.from, batch.to == part.to, !batch.isPatch else {
                throw .corrupted("it is another")
            }
            return batch
        } catch {
            throw DatabaseError(error.code, "\(place): \(error.message)", path: place)
        }
    }
}
