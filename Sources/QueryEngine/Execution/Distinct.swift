/// The first object of each combination of values at some paths. Objects for which a link on the way to one is null
/// have no such combination and are left out.
///
/// Every value gives a 64-bit code that equal values share; a table of codes finds who might be equal, and the values
/// themselves decide. Nothing is kept of a row but its code and its place.
import MotteColumns
import MotteSchemaModel
import MotteStorage
import MotteValues

final class Distinct {
    private let readers: [PathReader]
    private let types: [PropertyType]
    /// Those that follow links.
    private let links: [PathReader]
    private let context: RunContext

    init(_ context: RunContext, _ table: TableKey, _ paths: [BoundPath]) throws(DatabaseError) {
        var readers: [PathReader] = []
        for path in paths { readers.append(try PathReader(context, table, path)) }
        self.readers = readers
        links = readers.filter(\.hasSteps)
        types = paths.map(\.type)
        self.context = context
    }

    /// In the order of `keys`.
    func first(of keys: [Int64]) throws(DatabaseError) -> [Int64] {
        guard keys.count > 1 || !links.isEmpty else { return keys }
        return try context.keepingNothing { () throws(DatabaseError) in try found(keys) }
    }

    private func found(_ keys: [Int64]) throws(DatabaseError) -> [Int64] {
        var kept: [Int64] = []
        var codes: [UInt64] = []
        // Open addressing over what was kept, at most half full; -1 is empty.
        var slots = [Int32](repeating: -1, count: 64)
        for (index, key) in keys.enumerated() {
            if index % QueryWatch.keysPerCheck == 0 { try context.watch?.check() }
            if index % RunContext.keysPerRelease == 0 { try context.releaseMemory() }
            guard try leadsSomewhere(key) else { continue }
            let code = try code(key)
            var slot = Int(truncatingIfNeeded: code >> 32) & (slots.count - 1)
            var isNew = true
            while slots[slot] >= 0 {
                let other = Int(slots[slot])
                if codes[other] == code, try areEqual(kept[other], key) {
                    isNew = false
                    break
                }
                slot = (slot + 1) & (slots.count - 1)
            }
            guard isNew else { continue }
            guard kept.count < Int(Int32.max) else {
                throw DatabaseError(.unsupported, "DISTINCT of more than two billion objects is not supported")
            }
            slots[slot] = Int32(kept.count)
            kept.append(key)
            codes.append(code)
            if kept.count * 2 > slots.count { slots = Self.grown(codes, slots.count * 4) }
        }
        return kept
    }

    private func leadsSomewhere(_ key: Int64) throws(DatabaseError) -> Bool {
        for reader in links {
            if try reader.lastObject(key) < 0 { return false }
        }
        return true
    }

    private static func grown(_ codes: [UInt64], _ size: Int) -> [Int32] {
        var slots = [Int32](repeating: -1, count: size)
        for (index, code) in codes.enumerated() {
            var slot = Int(truncatingIfNeeded: code >> 32) & (size - 1)
            while slots[slot] >= 0 { slot = (slot + 1) & (size - 1) }
            slots[slot] = Int32(index)
        }
        return slots
    }

    private func code(_ key: Int64) throws(DatabaseError) -> UInt64 {
        var code: UInt64 = 0x9E37_79B9_7F4A_7C15
        for (index, reader) in readers.enumerated() {
            let value = IndexValue(try reader.view(key), of: types[index])
            code = (code ^ (value.isNull ? 0xA5A5_A5A5_0000_0001 : value.raw)) &* 0xFF51_AFD7_ED55_8CCD
            code ^= code >> 32
        }
        return code &* 0xC4CE_B9FE_1A85_EC53
    }

    private func areEqual(_ left: Int64, _ right: Int64) throws(DatabaseError) -> Bool {
        for reader in readers {
            let one = try reader.view(left)
            if try ValueOrdering.compare(one, reader.view(right)) != 0 { return false }
        }
        return true
    }
}
