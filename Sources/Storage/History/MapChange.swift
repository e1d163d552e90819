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

    func write(_ table: TableKey, without gone: KeyRuns, to sections: inout SectionWriter) {
        let order = owners.keys.sorted().filter { !gone.contains($0) }
        guard !order.isEmpty else { return }
        sections.add(.maps) { bytes in
            bytes.append(u32: table.rawValue)
            bytes.append(u32: key.rawValue)
            bytes.append(varint: order.count)
            var next: Int64 = 0
            for owner in order {
                // A map of which nothing is left to tell is named all the same: its bytes have been rewritten.
                let changes = owners[owner]?.sorted ?? []
                bytes.append(varint: UInt64(owner - next))
                next = owner + 1
                bytes.append(varint: changes.count)
                for change in changes {
                    bytes.append(change.kind.rawValue)
                    bytes.append(varint: change.key.count)
                    bytes.append(contentsOf: change.key)
                }
            }
        }
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
