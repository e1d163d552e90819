/// Maps: the change log has the keys that came, changed and went; positions follow from the keys, which are sorted.
import MotteLiveObjects
import MotteSchemaModel
import MotteStorage
import MotteValues

final class MapObserver: ElementsObserver {
    private let map: LiveMap

    init(_ map: LiveMap, _ filter: KeyPathFilter?) throws(DatabaseError) {
        self.map = map
        try super.init(map, filter)
    }

    override func advance(_ context: DeliveryContext) throws(DatabaseError) -> ChangeSet? {
        guard context.moved else { return nil }
        version = context.to
        guard try map.owner.exists() else { return ended(oldCount, context) }
        guard let summary = try context.summary() else { return try restart() }
        let logged = summary.table(map.owner.table)?.map(map.column, map.owner.key.rawValue)?.changes ?? []
        let elements = try context.changedPositions(map, filter)
        if logged.isEmpty, elements.isEmpty { return nil }
        let newCount = try map.count()
        let came = logged.count { $0.kind == .inserted }
        let went = logged.count { $0.kind == .removed }
        guard newCount == oldCount + came - went else {
            throw .corrupted("the change log of a map does not add up to the map")
        }
        oldCount = newCount
        var located: [MapKeyChange] = []
        for change in logged {
            let kind: MapKeyChange.Kind =
                switch change.kind {
                case .inserted: .inserted
                case .modified: .modified
                case .removed: .removed
                }
            located.append(
                MapKeyChange(
                    key: String(decoding: change.key, as: UTF8.self), kind: kind, index: try position(change.key)))
        }
        let changes = try ChangeSet(
            located, from: context.from, to: context.to, modified: elements
        ) { index throws(DatabaseError) in try map.keyText(at: index) }
        return changes.isEmpty ? nil : changes
    }

    /// Where a key is, or would be.
    private func position(_ key: [UInt8]) throws(DatabaseError) -> Int {
        var low = 0
        var high = try map.count()
        while low < high {
            let middle = (low + high) / 2
            let order = try key.withBytes { key throws(DatabaseError) in
                ValueOrdering.compareBytes(try map.mapKey(at: middle), key)
            }
            if order < 0 { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
