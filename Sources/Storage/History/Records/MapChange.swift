/// What happened to one key of a map. Positions are not kept: they follow from the keys, which are sorted.
import MotteValues

package struct MapChange: Equatable, Sendable {
    package enum Kind: UInt8, Sendable {
        case inserted = 1
        case modified = 2
        case removed = 3
    }

    /// UTF-8.
    package let key: [UInt8]
    package let kind: Kind

    package init(key: [UInt8], kind: Kind) {
        self.key = key
        self.kind = kind
    }
}

/// The changes of one map, one for each key: the net effect of all that happened.
struct MapChanges {
    private var kinds: [[UInt8]: MapChange.Kind] = [:]

    mutating func add(_ key: [UInt8], _ next: MapChange.Kind) {
        guard let before = kinds[key] else {
            kinds[key] = next
            return
        }
        switch (before, next) {
        case (.inserted, .removed): kinds[key] = nil
        case (.inserted, _): break
        case (.removed, .inserted): kinds[key] = .modified
        default: kinds[key] = next
        }
    }

    subscript(key: [UInt8]) -> MapChange.Kind? {
        get { kinds[key] }
        set { kinds[key] = newValue }
    }

    /// By the bytes of their keys.
    var sorted: [MapChange] {
        kinds.map { MapChange(key: $0.key, kind: $0.value) }.sorted { $0.key.lexicographicallyPrecedes($1.key) }
    }
}

/// Changes of the maps of one column in one transaction.
final class RecordedMaps {
    let key: ColumnKey
    private var owners: [Int64: MapChanges] = [:]

    init(_ key: ColumnKey) { self.key = key }

    func append(_ owner: Int64, _ mapKey: UnsafeRawBufferPointer, _ kind: MapChange.Kind) {
        owners[owner, default: MapChanges()].add([UInt8](mapKey), kind)
    }

    /// What the next change of a key changes here.
    struct Last {
        fileprivate let owner: Int64
        fileprivate let isNew: Bool
        fileprivate let key: [UInt8]
        fileprivate let kind: MapChange.Kind?
    }

    func last(_ owner: Int64, _ mapKey: UnsafeRawBufferPointer) -> Last {
        let key = [UInt8](mapKey)
        return Last(owner: owner, isNew: owners[owner] == nil, key: key, kind: owners[owner]?[key])
    }

    func undo(_ last: Last) {
        if last.isNew { owners[last.owner] = nil } else { owners[last.owner]?[last.key] = last.kind }
    }

    /// A map of which nothing is left to say is named all the same: its bytes have been rewritten.
    func changes(without gone: KeyRuns) -> [ChangeRecord.Map] {
        let order = owners.keys.sorted().filter { !gone.contains($0) }
        return order.map { ChangeRecord.Map(column: key, owner: $0, changes: owners[$0]?.sorted ?? []) }
    }
}

extension LogReader {
    mutating func mapChange() throws(DatabaseError) -> MapChange {
        guard let kind = MapChange.Kind(rawValue: try byte()) else {
            throw .corrupted("a change record has an unknown change of a map")
        }
        return MapChange(key: [UInt8](try run(Int(try position()))), kind: kind)
    }
}
