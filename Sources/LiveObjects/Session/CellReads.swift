/// Reading single values of one class in place: per column, the chunk in which the last one was found, so that the next
/// costs a few comparisons and a load, without a reference counted or a table asked for.
///
///     gate      of the session: who may read, and a stamp that says whether what was found still holds
///     windows   of a table, by column key: stamp, first key, chunk
///
/// The gate is closed (its stamp is 0, which no window has) from when the session lets go of what it lends until a
/// value is read the long way again, and so for the length of a write and for everything that is frozen. Whatever is
/// not plainly there is read the long way, which finds the same or says what is wrong. One thread at a time, like the
/// session.
import CMotteShim
import MotteColumns
import MotteStorage
import MotteValues

/// The words of a session that every read looks at.
package struct ReadGate {
    /// Serial of the thread that may use the session; 0: any.
    package var owner: UInt64
    package let forkGeneration: UInt32
    package private(set) var stamp: UInt64 = 0
    private var lastStamp: UInt64 = 0

    init(owner: UInt64, forkGeneration: UInt32) {
        self.owner = owner
        self.forkGeneration = forkGeneration
    }

    mutating func close() { stamp = 0 }

    mutating func open() {
        guard stamp == 0 else { return }
        lastStamp &+= 1
        stamp = lastStamp
    }
}

package struct CellReads {
    /// The chunk's words that a read of a number needs stand beside it, because the layer that reads them can look at
    /// stored words of another module without a call, but not call its functions without one.
    package struct Window {
        package let stamp: UInt64
        package let firstKey: Int64
        package let count: UInt64
        package let values: UnsafeRawPointer
        package let validity: UnsafeRawPointer?
        package let reference: Int64
        package let width: UInt8
        package let kind: ColumnKind
        package let chunk: ColumnChunk

        init(stamp: UInt64, firstKey: Int64, _ chunk: ColumnChunk) {
            self.stamp = stamp
            self.firstKey = firstKey
            count = UInt64(UInt(bitPattern: chunk.count))
            values = chunk.values
            validity = chunk.validity
            reference = chunk.reference
            width = chunk.width
            kind = chunk.kind
            self.chunk = chunk
        }
    }

    package let gate: UnsafeMutablePointer<ReadGate>
    package let windows: UnsafeMutablePointer<Window>
    package let count: UInt32

    /// Whether the caller is on the one thread that the session belongs to, as opposed to a queue or an actor.
    var isOnOwnThread: Bool { gate.pointee.owner == motte_shim_thread_serial() }

    init(_ gate: UnsafeMutablePointer<ReadGate>, columnLimit: Int) {
        self.gate = gate
        count = UInt32(columnLimit)
        windows = .allocate(capacity: columnLimit)
        windows.initialize(
            repeating: Window(stamp: .max, firstKey: 0, ColumnChunk(emptyAt: gate)), count: columnLimit)
    }

    func free() { windows.deallocate() }

    package static func timestamp(_ window: UnsafePointer<Window>, _ row: Int) -> Timestamp {
        window.pointee.chunk.timestamp(row)
    }
    package static func bytes(_ window: UnsafePointer<Window>, _ row: Int) -> UnsafeRawBufferPointer {
        window.pointee.chunk.bytes(row)
    }

    func note(_ chunk: ColumnChunk, from firstKey: Int64, _ column: ColumnKey) {
        guard column.rawValue < count else { return }
        gate.pointee.open()
        windows[Int(column.rawValue)] = Window(stamp: gate.pointee.stamp, firstKey: firstKey, chunk)
    }
}

/// Whether somebody wants to know which values the calling thread reads. Then all are read the long way; it costs
/// nothing while nobody does.
package enum ReadTracking {
    package static var isOn: Bool { motte_shim_tracks_reads() != 0 }

    package static func during<Result>(_ body: () -> Result) -> Result {
        motte_shim_begin_tracking()
        defer { motte_shim_end_tracking() }
        return body()
    }

    /// On every thread, for good.
    package static func always() { motte_shim_track_reads() }
}

extension Session {
    /// For single values of a class; nil where nothing is read in place. Good for as long as the session lives.
    package func cellReads(of table: TableKey) -> UnsafeMutablePointer<CellReads>? {
        let index = Int(table.rawValue)
        if index < cellReads.count, let known = cellReads[index] { return known }
        // Without it values are read the common way, which says why.
        guard !isFrozen, let view = try? self.table(table) else { return nil }
        let made = UnsafeMutablePointer<CellReads>.allocate(capacity: 1)
        made.initialize(to: CellReads(gate, columnLimit: view.layout.columnLimit))
        while cellReads.count <= index { cellReads.append(nil) }
        cellReads[index] = made
        return made
    }
}

extension LiveObject {
    /// Whether the write that made it cannot be undone any more, so that its row alone says whether it exists.
    package var isSettled: Bool {
        birth == 0 || !session.isInWrite && session.group == nil && !session.births.areUndone(birth, table, key)
    }

    /// `get`, and the next value of the column nearby is read in place.
    @inline(never)
    package func get(
        _ column: ColumnKey, noting reads: UnsafeMutablePointer<CellReads>
    ) throws(DatabaseError) -> ValueView {
        let value = try get(column)
        guard session.mayReadInPlace, reads.pointee.isOnOwnThread else { return value }
        let run = try session.lentTable(table).read { table throws(DatabaseError) in
            try table.plainRun(column, around: key)
        }
        if let run { reads.pointee.note(run.chunk, from: run.firstKey, column) }
        return value
    }
}
