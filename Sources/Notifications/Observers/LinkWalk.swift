/// From objects that changed up to those that lead to them, along backlinks: the cost is that of the changes and of who
/// links to them. Of so many that walking over all links is cheaper than looking for each, it is that walk.
import MotteLiveObjects
import MotteSchemaModel
import MotteStorage
import MotteValues

/// Which tables link to which, and over how many links one reaches another.
struct LinkGraph {
    struct Link {
        let origin: TableKey
        let column: ColumnKey
        let isMixed: Bool
    }

    private var incoming: [TableKey: [Link]] = [:]
    private var outgoing: [TableKey: [TableKey]] = [:]

    init(_ schema: Schema) {
        // Mixed values link to whatever is no embedded object.
        let anywhere = schema.linkableTables
        for type in schema.objectTypes {
            guard let origin = type.tableKey else { continue }
            for property in type.properties where property.type == .link || property.type == .mixed {
                guard let column = property.columnKey else { continue }
                let isMixed = property.type == .mixed
                let targets = isMixed ? anywhere : [property.target.flatMap { schema[$0]?.tableKey }].compactMap { $0 }
                for target in targets {
                    incoming[target, default: []].append(Link(origin: origin, column: column, isMixed: isMixed))
                    outgoing[origin, default: []].append(target)
                }
            }
        }
    }

    func linksTo(_ table: TableKey) -> [Link] { incoming[table] ?? [] }

    /// The fewest links that lead from `table` to each table it reaches; 0 for itself.
    func distances(from table: TableKey) -> [TableKey: Int] {
        var distances = [table: 0]
        var frontier = [table]
        var distance = 0
        while !frontier.isEmpty {
            distance += 1
            var next: [TableKey] = []
            for reached in frontier {
                for target in outgoing[reached] ?? [] where distances[target] == nil {
                    distances[target] = distance
                    next.append(target)
                }
            }
            frontier = next
        }
        return distances
    }
}

extension TableView {
    /// Appends objects of `link.origin` that link to one of `keys`, in no order and as often as they do.
    func parents(of keys: [Int64], by link: LinkGraph.Link, into parents: inout [Int64]) throws(DatabaseError) {
        guard link.isMixed else { return try backlinks(origin: link.origin, link.column, of: keys, into: &parents) }
        for key in keys { try mixedBacklinks(origin: link.origin, link.column, ObjectKey(key), into: &parents) }
    }

    /// Appends the keys that a link column of a live object holds, in order; nulls are left out.
    func targets(
        of key: Int64, _ column: ColumnKey, isCollection: Bool, into targets: inout [Int64]
    ) throws(DatabaseError) {
        guard isCollection else {
            let link = try value(column, ObjectKey(key))
            if !link.isNull { targets.append(link.linkValue.key.rawValue) }
            return
        }
        try listValues(column, ObjectKey(key)) { chunk, range in
            for row in range where !chunk.isNull(row) { targets.append(chunk.link(row)) }
        }
    }
}

extension DeliveryContext {
    /// Objects of the target class whose backlinks through a column of `origin` are not what they were, ascending.
    ///
    /// The version before answers for what a deleted object linked to, and for what an edited list held.
    func regrouped(origin: TableKey, _ column: ColumnKey, isCollection: Bool) throws(DatabaseError) -> [Int64] {
        guard let changes = try summary()?.table(origin) else { return [] }
        let edited = changes.column(column)?.keys ?? []
        var found: [Int64] = []
        let now = try source.table(origin)
        let before = try previous?.table(origin)
        for key in changes.inserted.keys { try now.targets(of: key, column, isCollection: isCollection, into: &found) }
        if let before {
            for key in changes.deleted.keys where try before.locate(ObjectKey(key)) != nil {
                try before.targets(of: key, column, isCollection: isCollection, into: &found)
            }
        }
        for key in edited {
            var old: [Int64] = []
            var new: [Int64] = []
            try before?.targets(of: key, column, isCollection: isCollection, into: &old)
            try now.targets(of: key, column, isCollection: isCollection, into: &new)
            Self.appendDifference(old.sorted(), new.sorted(), to: &found)
        }
        return found.ascending
    }

    /// What two ascending lists do not have in common, repetitions counted.
    private static func appendDifference(_ left: [Int64], _ right: [Int64], to result: inout [Int64]) {
        var first = 0, second = 0
        while first < left.count || second < right.count {
            if second == right.count || (first < left.count && left[first] < right[second]) {
                result.append(left[first])
                first += 1
            } else if first == left.count || right[second] < left[first] {
                result.append(right[second])
                second += 1
            } else {
                first += 1
                second += 1
            }
        }
    }

    /// For each class that the path may begin with, the objects from which it leads to something that changed.
    func touched(by path: KeyPathFilter.Path) throws(DatabaseError) -> [TableKey: [Int64]] {
        var below: [TableKey: [Int64]] = [:]
        for level in path.levels.reversed() {
            var here: [TableKey: [Int64]] = [:]
            for (table, step) in level {
                var keys = try ownChanges(of: step, table)
                for (child, touched) in below where !touched.isEmpty && (step.target ?? child) == child {
                    try appendParents(of: touched, in: child, through: step, from: table, to: &keys)
                }
                if !keys.isEmpty { here[table] = keys.ascending }
            }
            below = here
        }
        return below
    }

    private func ownChanges(of step: KeyPathFilter.Step, _ table: TableKey) throws(DatabaseError) -> [Int64] {
        switch step.kind {
        case .column(let column, _): try summary()?.table(table)?.column(column)?.keys ?? []
        case .inverse(let origin, let column, let isCollection):
            try regrouped(origin: origin, column, isCollection: isCollection)
        }
    }

    private func appendParents(
        of keys: [Int64], in child: TableKey, through step: KeyPathFilter.Step, from table: TableKey,
        to parents: inout [Int64]
    ) throws(DatabaseError) {
        let view = try source.table(child)
        switch step.kind {
        case .column(let column, let isMixed):
            let link = LinkGraph.Link(origin: table, column: column, isMixed: isMixed)
            try view.parents(of: keys, by: link, into: &parents)
        case .inverse(_, let column, let isCollection):
            for key in keys where try view.locate(ObjectKey(key)) != nil {
                try view.targets(of: key, column, isCollection: isCollection, into: &parents)
            }
        }
    }
}
