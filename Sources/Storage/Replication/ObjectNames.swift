/// Which object of this file an object of an origin is: runs of keys there to runs of keys here, in blocks of 8,192
/// keys of the origin. A file that only follows has one run a block.
///
///     page: kind 0x4E, sealed as all of replication; run count, per run: gap from the end of the run before within
///     the block, length, first key here as the signed distance from the end of the run before (variable length)
///
/// Objects that were deleted stay named; their keys are never used again.
import MottePages
import MotteValues

package struct ObjectNameBlock {
    package struct Run: Equatable {
        /// Key in the origin.
        var first: Int64
        var count: Int64
        /// Key here.
        var local: Int64
        var end: Int64 { first + count }

        package init(first: Int64, count: Int64, local: Int64) {
            self.first = first
            self.count = count
            self.local = local
        }
    }

    static let shift: Int64 = 13
    static let kind: UInt8 = 0x4E
    static func number(of key: Int64) -> UInt64 { UInt64(clamping: key >> shift) }
    private(set) var runs: [Run] = []

    package init() {}

    init(decoding page: UnsafeRawBufferPointer, block: UInt64, key: [UInt8]) throws(DatabaseError) {
        let body = try ReplicaPages.opened(Self.kind, page, key: key)
        var reader = LogReader(body)
        // Object keys are below 2^48.
        guard block < 1 << 35 else { throw .corrupted("a page of replication names impossible objects") }
        var end = Int64(clamping: block) << Self.shift
        let limit = end + 1 << Self.shift
        var local: Int64 = 0
        for _ in 0 ..< (try reader.count(minimumSize: 3)) {
            let first = end + (try reader.position())
            let count = try reader.position()
            let start = local &+ (try reader.zigzag())
            guard count > 0, first <= limit, count <= limit - first, start >= 0, start < 1 << 48 else {
                throw .corrupted("a page of replication names impossible objects")
            }
            runs.append(Run(first: first, count: count, local: start))
            end = first + count
            local = start + count
        }
        guard reader.remaining == 0 else { throw .corrupted("a page of replication is too long") }
    }

    package func page(block: UInt64, key: [UInt8]) -> [UInt8] {
        var body: [UInt8] = []
        body.append(varint: runs.count)
        var end = Int64(clamping: block) << Self.shift
        var local: Int64 = 0
        for run in runs {
            body.append(varint: UInt64(run.first - end))
            body.append(varint: UInt64(run.count))
            body.append(zigzag: run.local - local)
            end = run.end
            local = run.local + run.count
        }
        return ReplicaPages.sealed(Self.kind, body, key: key)
    }

    /// Index of the first run that ends behind the key.
    private func index(_ key: Int64) -> Int {
        var low = 0, high = runs.count
        while low < high {
            let middle = (low + high) / 2
            if runs[middle].end <= key { low = middle + 1 } else { high = middle }
        }
        return low
    }

    func local(_ key: Int64) -> Int64? {
        let index = index(key)
        guard index < runs.count, runs[index].first <= key else { return nil }
        return runs[index].local + key - runs[index].first
    }

    func hasName(in keys: Range<Int64>) -> Bool {
        let index = index(keys.lowerBound)
        return index < runs.count && runs[index].first < keys.upperBound
    }

    /// Takes the names of these keys away.
    mutating func remove(_ keys: Range<Int64>) {
        var kept: [Run] = []
        kept.reserveCapacity(runs.count + 1)
        for run in runs {
            let start = max(run.first, keys.lowerBound)
            let end = min(run.end, keys.upperBound)
            guard start < end else {
                kept.append(run)
                continue
            }
            if run.first < start { kept.append(Run(first: run.first, count: start - run.first, local: run.local)) }
            if end < run.end {
                kept.append(Run(first: end, count: run.end - end, local: run.local + end - run.first))
            }
        }
        runs = kept
    }

    /// These names instead of those that the keys had.
    mutating func overlay(_ runs: [Run], block: UInt64) {
        let start = Int64(clamping: block) << Self.shift
        var locals = [Int64](repeating: -1, count: 1 << Self.shift)
        for run in self.runs + runs {
            for offset in 0 ..< run.count { locals[Int(run.first - start + offset)] = run.local + offset }
        }
        self.runs = []
        for (index, local) in locals.enumerated() where local >= 0 {
            if let last = self.runs.last, last.end == start + Int64(index), last.local + last.count == local {
                self.runs[self.runs.count - 1].count += 1
            } else {
                self.runs.append(Run(first: start + Int64(index), count: 1, local: local))
            }
        }
    }

    /// False where one of the keys has a name already.
    package mutating func add(_ run: Run) -> Bool {
        let index = index(run.first)
        guard index == runs.count || run.end <= runs[index].first else { return false }
        if index > 0, runs[index - 1].end == run.first, runs[index - 1].local + runs[index - 1].count == run.local {
            runs[index - 1].count += run.count
        } else {
            runs.insert(run, at: index)
        }
        return true
    }
}

/// The names of one origin's objects, as far as a transaction needs them.
final class ObjectNames {
    private struct Place: Hashable {
        let table: TableKey
        let block: UInt64
    }

    private let pages: PageSnapshot
    private let origin: ChangeOrigin
    private var blocks: [Place: ObjectNameBlock] = [:]
    private var changed: Set<Place> = []
    private var latest: (place: Place, block: ObjectNameBlock)?

    init(_ pages: PageSnapshot, _ origin: ChangeOrigin) {
        self.pages = pages
        self.origin = origin
    }

    private func block(_ place: Place) throws(DatabaseError) -> ObjectNameBlock {
        if let latest, latest.place == place { return latest.block }
        let found: ObjectNameBlock
        if let known = blocks[place] {
            found = known
        } else {
            let key = ReplicaPages.names(place.table, origin, place.block)
            if let page = try pages.get(key) {
                found = try ObjectNameBlock(decoding: page.bytes, block: place.block, key: key)
            } else {
                found = ObjectNameBlock()
            }
            blocks[place] = found
        }
        latest = (place, found)
        return found
    }

    /// `table` is that of this file.
    func local(_ table: TableKey, _ key: Int64) throws(DatabaseError) -> ObjectKey? {
        guard key >= 0 else { return nil }
        return try block(Place(table: table, block: UInt64(key >> ObjectNameBlock.shift))).local(key).map {
            ObjectKey($0)
        }
    }

    /// Of the names that a file keeps of itself: the object that had a key, or as which it came again after it had
    /// gone. An undo gives it another key, whoever calls it.
    func standing(_ view: TableView, _ key: Int64) throws(DatabaseError) -> ObjectKey? {
        var current = ObjectKey(key)
        while try view.locate(current) == nil {
            guard let next = try local(view.key, current.rawValue) else { return nil }
            let wasMadeUp = current.rawValue >= FileDifference.firstName
            // What comes again has a higher key than what went.
            guard wasMadeUp ? next.rawValue < FileDifference.firstName : next.rawValue > current.rawValue else {
                throw .corrupted("a page of replication names impossible objects")
            }
            current = next
        }
        return current
    }

    /// Whether one of the objects has a name.
    func hasName(_ table: TableKey, in keys: Range<Int64>) throws(DatabaseError) -> Bool {
        var first = keys.lowerBound
        while first < keys.upperBound {
            let number = first >> ObjectNameBlock.shift
            let end = min(keys.upperBound, (number + 1) << ObjectNameBlock.shift)
            if try block(Place(table: table, block: UInt64(number))).hasName(in: first ..< end) { return true }
            first = end
        }
        return false
    }

    /// Objects of the origin are from now on these here; false where one has a name already, unless it is to be taken
    /// away.
    func add(
        _ table: TableKey, _ keys: Range<Int64>, local: Int64, replacing: Bool = false
    ) throws(DatabaseError) -> Bool {
        latest = nil
        var first = keys.lowerBound
        while first < keys.upperBound {
            let number = first >> ObjectNameBlock.shift
            let end = min(keys.upperBound, (number + 1) << ObjectNameBlock.shift)
            let place = Place(table: table, block: UInt64(number))
            var block = try block(place)
            // Nobody else holds its runs then, so they are not copied for each one that is added.
            latest = nil
            blocks[place] = nil
            let run = ObjectNameBlock.Run(first: first, count: end - first, local: local + first - keys.lowerBound)
            if replacing, block.hasName(in: first ..< end) { block.remove(first ..< end) }
            let isAdded = block.add(run)
            blocks[place] = block
            guard isAdded else { return false }
            changed.insert(place)
            first = end
        }
        return true
    }

    /// Objects of a block of the origin are from now on those here.
    func overlay(
        _ table: TableKey, _ number: UInt64, with runs: [ObjectNameBlock.Run]
    ) throws(DatabaseError) {
        guard !runs.isEmpty else { return }
        let place = Place(table: table, block: number)
        var block = try block(place)
        latest = nil
        block.overlay(runs, block: number)
        blocks[place] = block
        changed.insert(place)
    }

    /// Calls `body` with the keys here of all objects of a run that have names, however long the run.
    func forEach(
        _ table: TableKey, in keys: Range<Int64>, _ body: (ObjectKey) throws(DatabaseError) -> Void
    ) throws(DatabaseError) {
        try forEachRun(table, in: keys) { run throws(DatabaseError) in
            for key in run.local ..< run.local + run.count { try body(ObjectKey(key)) }
        }
    }

    /// The same, run by run.
    func forEachRun(
        _ table: TableKey, in keys: Range<Int64>, _ body: (ObjectNameBlock.Run) throws(DatabaseError) -> Void
    ) throws(DatabaseError) {
        guard !keys.isEmpty else { return }
        let range =
            UInt64(keys.lowerBound >> ObjectNameBlock.shift) ... UInt64((keys.upperBound - 1) >> ObjectNameBlock.shift)
        var numbers = Set(blocks.keys.filter { $0.table == table && range.contains($0.block) }.map(\.block))
        let prefix = ReplicaPages.names(table, origin)
        let cursor = try pages.makeCursor()
        var found = try ReplicaPages.names(table, origin, range.lowerBound).withBytes { key throws(DatabaseError) in
            try cursor.seek(key)
        }
        while found, cursor.key.starts(with: prefix), let block = ReplicaPages.block(cursor.key), range.contains(block)
        {
            numbers.insert(block)
            found = try cursor.next()
        }
        for number in numbers.sorted() {
            for run in try block(Place(table: table, block: number)).runs {
                let first = max(run.first, keys.lowerBound)
                let end = min(run.end, keys.upperBound)
                guard first < end else { continue }
                try body(
                    ObjectNameBlock.Run(first: first, count: end - first, local: run.local + first - run.first))
            }
        }
    }

    /// The pages that differ from before.
    func forEachChangedPage(_ body: (_ key: [UInt8], _ page: [UInt8]) -> Void) {
        for place in changed {
            guard let block = blocks[place] else { continue }
            let key = ReplicaPages.names(place.table, origin, place.block)
            body(key, block.page(block: place.block, key: key))
        }
    }
}
