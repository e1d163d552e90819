/// The log as a folder of files, whose names and contents `LogFiles.swift` describes.
import MotteLiveObjects
import MotteStorage
import MotteValues

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

package final class FolderLog: ReplicationLog {
    package let place: String
    package let key = BatchKey()
    private let root: LogFolder
    private let fault: LogFault?
    /// Of the one that this process leads.
    private var own: LogFolder?
    private(set) var record: LeaderRecord?
    private var lock: LogFolderLock?
    /// What `needed` has answered last: whoever takes over has that.
    private var neededSeen: LogPosition?
    private static let pauseMilliseconds: Int64 = 20

    /// The folder is made if it is to be shipped to and is not there.
    package init(_ path: String, making: Bool = false, fault: LogFault? = nil) throws(DatabaseError) {
        place = path
        self.fault = fault
        root = try LogFolder(path, making: making, fault: fault)
        guard making else { return }
        lock = try LogFolderLock(root)
        try root.removeUnfinished()
    }

    func folder(_ origin: ChangeOrigin) throws(DatabaseError) -> LogFolder {
        if let own, record?.origin == origin { return own }
        return try LogFolder(root.file(origin.text), making: false, fault: fault)
    }

    package var mayLackBatches: Bool { true }

    /// The same from wherever it is called.
    package var consumer: String {
        guard let resolved = realpath(place, nil) else { return place }
        defer { free(resolved) }
        return String(cString: resolved)
    }

    // MARK: Reading

    package func leader() throws(DatabaseError) -> LeaderRecord? { try LeaderRecord(in: root) }

    package func end(of origin: ChangeOrigin) throws(DatabaseError) -> LogEnd? {
        let folder = try folder(origin)
        let contents = try LogContents(of: folder)
        let known = try contents.snapshots.last.flatMap { version throws(DatabaseError) in
            try SnapshotInfo(version, in: folder)
        }
        let snapshot = known.flatMap { Self.has($0, folder) ? $0 : nil }
        guard let last = contents.changes.last else { return known.map { LogEnd($0, isThere: snapshot != nil) } }
        guard let batch = try folder.changes(after: last, key) else {
            throw DatabaseError(.busy, "'\(folder.path)' is being changed by somebody else", path: folder.path)
        }
        if let known, batch.to < known.version { return LogEnd(known, isThere: snapshot != nil) }
        var bytes = 0
        for version in contents.changes where version >= snapshot?.version ?? Version(0) {
            bytes += fileBytes(folder.file(LogName.changes(after: version)))
        }
        return LogEnd(batch, bytes: bytes, snapshot: snapshot)
    }

    package func snapshots(of origin: ChangeOrigin) throws(DatabaseError) -> [SnapshotInfo] {
        let folder = try folder(origin)
        var found: [SnapshotInfo] = []
        for version in try LogContents(of: folder).snapshots {
            if let info = try SnapshotInfo(version, in: folder), Self.has(info, folder) { found.append(info) }
        }
        return found
    }

    private static func has(_ info: SnapshotInfo, _ folder: LogFolder) -> Bool {
        fileBytes(folder.file(LogName.snapshot(info.version))) > 0
    }

    package func has(_ snapshot: SnapshotInfo) throws(DatabaseError) -> Bool { Self.has(snapshot, try leading()) }

    package func changes(after version: Version, of origin: ChangeOrigin) throws(DatabaseError) -> ChangeBatch? {
        try folder(origin).changes(after: version, key)
    }

    package func hasChanges(
        of origin: ChangeOrigin, beyond version: Version, upTo last: Version?
    ) throws(DatabaseError) -> Bool {
        // The next one begins where one ends.
        try LogContents(of: try folder(origin)).changes.contains { from in
            from > version && last.map { from < $0 } ?? true
        }
    }

    package func copySnapshot(
        _ info: SnapshotInfo, of origin: ChangeOrigin, to path: String
    ) throws(DatabaseError) {
        try key.copySnapshot(try folder(origin).file(LogName.snapshot(info.version)), to: path, place)
    }

    package func wait(milliseconds: Int64) throws(DatabaseError) {
        usleep(UInt32(min(milliseconds, Self.pauseMilliseconds)) * 1_000)
    }

    /// Of a leader that has taken over and shipped nothing yet, what that one needed.
    package func needed(of leader: LeaderRecord) throws(DatabaseError) -> LogPosition? {
        if let end = try end(of: leader.origin) {
            neededSeen = LogPosition(origin: leader.origin, version: end.version)
        } else {
            neededSeen = try LogPosition(formerIn: root)
        }
        return neededSeen
    }

    // MARK: Leading

    package func lead(
        _ record: LeaderRecord, inPlaceOf former: LeaderRecord?, handing: NameHandover?
    ) throws(DatabaseError) {
        if let former {
            if former != record {
                let isTakeover = former.origin != record.origin
                let before = isTakeover ? neededSeen : try LogPosition(formerIn: root)
                try root.replace(LogName.leader, record.bytes(after: before))
            }
        } else {
            _ = try root.create(LogName.leader, record.bytes(after: nil))
        }
        self.record = record
        let folder = try LogFolder(root.file(record.origin.text), making: true, fault: fault)
        try folder.removeUnfinished()
        own = folder
        try checkLead(shipped: nil)
    }

    package func checkLead(shipped: Version?) throws(DatabaseError) {
        guard let found = try LeaderRecord(in: root) else {
            throw DatabaseError(
                .fileNotFound, "'\(root.file(LogName.leader))' is gone: the folder is no longer one of changes",
                path: place)
        }
        guard found.origin == record?.origin else { throw deposed(by: found, after: shipped) }
    }

    private func leading() throws(DatabaseError) -> LogFolder {
        guard let own else { throw DatabaseError(.internal, "this process does not lead '\(place)'") }
        return own
    }

    package func append(_ batch: ChangeBatch) throws(DatabaseError) -> Bool {
        try checkLead(shipped: batch.from)
        let isAdded = try leading().create(LogName.changes(after: batch.from), key.encoded(batch))
        // Where locks do not work another one may have taken over in between: then nobody reads what was added.
        try checkLead(shipped: batch.from)
        return isAdded
    }

    package func beat(_ heartbeat: Heartbeat) throws(DatabaseError) {
        try root.replace(LogName.heartbeat, heartbeat.bytes)
    }

    package func heartbeat() throws(DatabaseError) -> Heartbeat? {
        guard let bytes = try root.read(LogName.heartbeat) else { return nil }
        return try Heartbeat(bytes, root.file(LogName.heartbeat))
    }

    package func placeForSnapshot(_ version: Version) throws(DatabaseError) -> String {
        let folder = try leading()
        // One that was not finished has no information, and does not count.
        try folder.remove(LogName.snapshot(version))
        return folder.temporaryName()
    }

    package func addSnapshot(_ info: SnapshotInfo, from path: String) throws(DatabaseError) {
        let folder = try leading()
        try Session.rename(path, to: folder.file(LogName.snapshot(info.version)))
        try folder.flushFolder()
        var info = info
        info.former = try LogPosition(formerIn: root)?.origin
        if try !folder.create(LogName.info(info.version), info.bytes) {
            try folder.replace(LogName.info(info.version), info.bytes)
        }
    }

    package func allSnapshots() throws(DatabaseError) -> [LogSnapshot] {
        var found: [LogSnapshot] = []
        for name in try root.names() {
            guard let origin = ChangeOrigin(text: name) else { continue }
            found += try snapshots(of: origin).map { LogSnapshot(origin: origin, info: $0) }
        }
        return try inOrder(found)
    }

    /// Those of one leader by their versions, whatever its clock said, and of leaders one after the other: who leads
    /// last, and before each one who led before it. Those that nobody names come first, by when they began.
    private func inOrder(_ snapshots: [LogSnapshot]) throws(DatabaseError) -> [LogSnapshot] {
        var terms = Dictionary(grouping: snapshots, by: \.origin)
            .mapValues { $0.sorted { $0.info.version < $1.info.version } }
        var known: [[LogSnapshot]] = []
        var origin = try leader()?.origin
        var former = try LogPosition(formerIn: root)?.origin
        while let next = origin {
            let term = terms.removeValue(forKey: next)
            if let term { known.append(term) }
            origin = former ?? term?.lazy.compactMap(\.info.former).first
            former = nil
        }
        let others = terms.values.sorted {
            $0.first?.info.wallTimeNanoseconds ?? 0 < $1.first?.info.wallTimeNanoseconds ?? 0
        }
        return (others + known.reversed()).flatMap { $0 }
    }

    package func step(_ step: LogStep) throws(DatabaseError) { try root.step(step) }
}
