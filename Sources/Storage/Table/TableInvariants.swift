/// What holds of a table's rows whenever no call is under way: of the committed directory, and of what a write has on
/// top.
import MotteColumns
import MotteValues

extension TableDirectory {
    /// Of what has been read so far; nothing is read for it.
    func checkInvariants() throws(DatabaseError) {
        let name = layout.stored.name
        try Invariant.require(
            state.liveCount >= 0 && state.liveCount <= state.nextKey,
            "rows-1: \(name) has no more live rows than keys were given out")
        try Invariant.require(
            state.openGroupFirstKey >= 0 && state.openGroupFirstKey <= state.nextKey,
            "rows-2: the open row group of \(name) begins within the keys that were given out")
        for slot in layout.columns.indices {
            try forEachKnownChunk(slot) { (rowGroup, count) throws(DatabaseError) in
                try Invariant.require(
                    count == self.rowCount(rowGroup),
                    "rows-3: a chunk of \(name).\(self.layout.columns[slot].name) has the rows of row group \(rowGroup)"
                )
            }
        }
    }
}

extension TableWriter {
    /// Of everything that the write has touched. `counting` also the live rows of all row groups, whose bitmaps are
    /// read for it, and which a damaged file may count wrong.
    func checkInvariants(counting: Bool) throws(DatabaseError) {
        let name = layout.stored.name
        try Invariant.require(
            state.liveCount >= 0 && state.liveCount <= state.nextKey,
            "rows-4: \(name) has no more live rows than keys were given out, in a write")
        try Invariant.require(
            state.openGroupFirstKey >= 0 && state.openGroupFirstKey <= state.nextKey
                && (mode == .openGroup || state.openGroupFirstKey == state.nextKey),
            "rows-5: the open row group of \(name) begins within the keys, and is empty once row groups are appended to"
        )
        for (index, rowGroup) in dirty.enumerated() {
            guard let rowGroup, rowGroup.rowCount > 0 else { continue }
            let end =
                index < regularCount
                ? min(firstKey(index) + Int64(rowGroupSize), state.openGroupFirstKey) : state.nextKey
            try Invariant.require(
                rowGroup.firstKey == firstKey(index) && firstKey(index) + Int64(rowGroup.rowCount) == end,
                "rows-6: row group \(index) of \(name) has the keys that belong there")
            try Invariant.require(
                rowGroup.live.map { $0.rowCount == rowGroup.rowCount } ?? true,
                "rows-7: the live bitmap of row group \(index) of \(name) has its rows")
            for (slot, column) in rowGroup.columns.enumerated() {
                if case .patched(let patch)? = column?.storage { try patch.checkInvariants() }
                guard let count = column?.builderCount else { continue }
                try Invariant.require(
                    count == rowGroup.rowCount,
                    "rows-8: the values of \(name).\(layout.columns[slot].name) are those of row group \(index)")
            }
        }
        guard counting else { return }
        try Invariant.require(
            try Int64(countLiveRows()) == state.liveCount, "rows-9: \(name) counts the rows that are live")
    }

    /// Before a commit, in every build: what it would write of the table agrees with itself, and with what it leaves as
    /// it is. A state that contradicts itself could never be read again, with all objects of the class.
    func requireConsistent() throws(DatabaseError) {
        let name = layout.stored.name, stored = directory.state
        try checkInvariants(counting: false)
        try Invariant.require(
            state.nextKey >= stored.nextKey && state.nextKey <= TableState.keyLimit
                && state.openGroupFirstKey >= stored.openGroupFirstKey && openGroupRowCount <= rowGroupSize,
            "rows-10: the keys of \(name) only go forward, and its open row group is none of the larger ones")
        for rowGroup in directory.rowGroupCount ..< max(directory.rowGroupCount, rowGroupCount) {
            try Invariant.require(
                overlay(rowGroup) != nil, "rows-11: row group \(rowGroup) of \(name) is new, and there to be written")
        }
        var before: Int64 = 0, after: Int64 = 0
        for (index, rowGroup) in dirty.enumerated() {
            guard let rowGroup else { continue }
            after += Int64(rowGroup.liveCount)
            if index < directory.regularCount { before += Int64(try storedLiveCount(index)) }
        }
        let openGroup = directory.regularCount
        let isMoved = state.openGroupFirstKey != stored.openGroupFirstKey
        if directory.openGroupRowCount > 0, isMoved || overlay(openGroup) != nil {
            before += Int64(try storedLiveCount(openGroup))
        }
        try Invariant.require(
            state.liveCount - stored.liveCount == after - before,
            "rows-12: \(name) counts the rows that come and go")
    }

    private func countLiveRows() throws(DatabaseError) -> Int {
        var count = 0
        for rowGroup in 0 ..< rowGroupCount {
            if let overlay = overlay(rowGroup) {
                count += overlay.liveCount
            } else {
                count += try directory.liveBitmap(rowGroup)?.liveCount ?? rowCount(rowGroup)
            }
        }
        return count
    }
}

extension DirtyColumn {
    /// nil where its values are encoded for good.
    fileprivate var builderCount: Int? {
        switch storage {
        case .values(let builder): builder.count
        case .lists(let builder): builder.count
        case .patched(let patch): patch.count
        case .sealed: nil
        }
    }
}
