/// Groups of pieces of the rows, put together: what threads find of theirs, and what one thread adds up piece by piece.
///
/// Sums of floating numbers and deviations depend on the order in which values come. They are made of one for each
/// piece of the scan, added in the order of the pieces, whoever worked it out: so they are the same with any number of
/// threads. Where there are nearly as many groups as rows, one thread goes through them as a whole, since putting
/// pieces together would take longer than finding them; the first piece decides.
import MotteColumns
import MotteStorage
import MotteValues

extension GroupRun {
    /// Whether a piece has so many groups that pieces are not worth it.
    var hasManyGroups: Bool { groupCount * 8 > rowCount }

    /// Before another piece begins.
    func endPiece() {
        let groupCount = groupCount
        for (_, totals) in totals {
            totals.grow(groupCount)
            totals.endPiece(groupCount)
        }
    }

    /// Takes over the groups of the piece that follows. Behind `endPiece`.
    func add(_ piece: GroupRun) throws(DatabaseError) {
        var codes: [[UInt32]] = []
        for (own, other) in zip(coders, piece.coders) { codes.append(try Self.codes(own, other)) }
        // Numbers of groups: of the first key, then of pairs of those with the next one.
        var numbers = codes.first ?? [0]
        for index in 0 ..< pairCount {
            var joined: [UInt32] = [0]
            for number in 0 ..< piece.pairs[index].count {
                let pair = UInt64(bitPattern: piece.pairs[index].key(UInt32(truncatingIfNeeded: number + 1)))
                let first = numbers[Int(pair >> 32)], second = codes[index + 1][Int(pair & 0xFFFF_FFFF)]
                joined.append(pairs[index].code(Int64(first) << 32 | Int64(second)))
            }
            numbers = joined
        }
        guard groupCount < Int(UInt32.max) - 1 else { throw Self.tooMany() }
        growAll()
        piece.growAll()
        for (index, group) in numbers.enumerated() { counts.values[Int(group)] &+= piece.counts.values[index] }
        for (own, other) in zip(feeds, piece.feeds) {
            for (index, group) in numbers.enumerated() {
                own.absent.values[Int(group)] &+= other.absent.values[index]
            }
        }
        for (own, other) in zip(totals, piece.totals) { own.totals.add(other.totals, numbers) }
    }

    private static func codes(_ own: GroupCoder, _ other: GroupCoder) throws(DatabaseError) -> [UInt32] {
        guard let codes = own.codes(of: other) else {
            throw DatabaseError(.internal, "values that cannot be coded by parts")
        }
        return codes
    }

    static func tooMany() -> DatabaseError {
        DatabaseError(.unsupported, "more than four billion groups cannot be distinguished")
    }

    /// Room for all groups everywhere.
    private func growAll() {
        let groupCount = groupCount
        counts.grow(groupCount)
        for feed in feeds { feed.absent.grow(groupCount) }
        for (_, totals) in totals { totals.grow(groupCount) }
        for distinct in distincts { distinct.grow(groupCount) }
    }
}

extension BoundGrouping {
    /// Whether threads can each group some of the rows: by columns of the class itself, whose values are distinguished
    /// by nothing but themselves.
    var canBeParts: Bool {
        keys.allSatisfy { GroupCoder.canBeParts($0.path, $0.bucket) }
            && aggregates.allSatisfy { aggregate in
                guard let path = aggregate.path else { return true }
                // Putting the different values of pieces together takes more than twice what finding them took.
                if aggregate.function == .distinct { return false }
                return path.isColumn && (path.type == .int || path.type == .float || path.type == .double)
            }
    }
}

/// The pieces of one thread. Those that come after one that is still being worked on wait for it.
final class GroupPart: ScanPart {
    private let make: () throws(DatabaseError) -> GroupRun
    private let maker: GroupBatchMaker
    private let total: GroupTotal
    private var run: GroupRun?

    init(_ maker: GroupBatchMaker, _ total: GroupTotal, _ make: @escaping () throws(DatabaseError) -> GroupRun) {
        self.make = make
        self.maker = maker
        self.total = total
    }

    override func begin(_ piece: Int) throws(DatabaseError) { run = try make() }

    override func add(_ rows: RowGroupRows, _ words: UnsafePointer<UInt64>) throws(DatabaseError) {
        if let batch = maker.batch(rows, words) { try run?.add(batch) }
    }

    override func end(_ piece: Int) throws(DatabaseError) {
        if let run { try total.add(run, piece) }
        run = nil
    }
}

/// Puts pieces together in their order, whichever is ready first.
final class GroupTotal: Sendable {
    /// A run is used by the thread that made it until it is in here, and then by who holds the lock.
    private struct State {
        let run: GroupRun
        var next: Int
        var waiting: [Int: GroupRun] = [:]
    }

    private let state: Locked<State>

    init(_ run: GroupRun, next piece: Int) { state = Locked(State(run: run, next: piece)) }

    func add(_ run: GroupRun, _ piece: Int) throws(DatabaseError) {
        try state.withLock { state throws(DatabaseError) in
            state.waiting[piece] = run
            while let run = state.waiting.removeValue(forKey: state.next) {
                try state.run.add(run)
                state.next += 1
            }
        }
    }
}
