/// Properties that were looked up by name, so that the next look-up of the same name costs a comparison of bytes.
///
/// One for each realm. A slot is chosen by class and name, and the newest look-up has it. What is remembered holds for
/// one catalog: another schema begins with nothing.
import CMotte
import MotteLiveObjects
import MotteSchemaModel
import MotteStorage
import MotteValues

final class PropertyCache: Sendable {
    private struct Slot {
        var table = TableKey(0)
        var name: [UInt8] = []
        var prop: motte_prop = 0
    }

    // @unchecked: a catalog never changes.
    private struct State: @unchecked Sendable {
        var catalog: Catalog?
        var slots: [Slot] = []
    }

    private static let slotCount = 64
    private let state = Locked(State())
    private let publicNames: PublicNames

    init(_ publicNames: PublicNames) { self.publicNames = publicNames }

    /// nil where the class has no such property.
    func find(
        _ name: UnsafeRawBufferPointer, _ table: TableKey, _ session: Session
    ) throws(DatabaseError) -> motte_prop? {
        let catalog = try session.source().catalog
        let index = Self.slot(name, table)
        let known = state.withLock { state -> motte_prop? in
            guard state.catalog === catalog, state.slots[index].prop != 0, state.slots[index].table == table,
                state.slots[index].name.elementsEqual(name)
            else { return nil }
            return state.slots[index].prop
        }
        if let known { return known }
        let type = try session.schema.type(table.rawValue)
        let stored = publicNames.storedProperty(String(decoding: name, as: UTF8.self), of: type.name)
        guard let property = type.property(named: stored) else { return nil }
        let found = Slot(table: table, name: [UInt8](name), prop: PropertyID(table, property).bits)
        state.withLock { state in
            if state.catalog !== catalog {
                state.catalog = catalog
                state.slots = [Slot](repeating: Slot(), count: Self.slotCount)
            }
            state.slots[index] = found
        }
        return found.prop
    }

    /// The error names the nearest property.
    func require(
        _ name: UnsafeRawBufferPointer, _ table: TableKey, _ session: Session
    ) throws(DatabaseError) -> motte_prop {
        if let known = try find(name, table, session) { return known }
        let type = try session.schema.type(table.rawValue)
        return PropertyID(table, try type.requiredProperty(named: String(decoding: name, as: UTF8.self))).bits
    }

    /// FNV-1a.
    private static func slot(_ name: UnsafeRawBufferPointer, _ table: TableKey) -> Int {
        var hash = UInt64(table.rawValue) &* 0x9E37_79B9_7F4A_7C15
        for byte in name { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
        return Int((hash ^ hash >> 32) & UInt64(slotCount - 1))
    }
}
