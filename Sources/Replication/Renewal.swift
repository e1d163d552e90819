/// Beginning a file again from the newest snapshot of a log, where no batch leads from what it has to what the log has:
/// the copy is made beside it first, and takes its place when nobody has the file open. It may be killed anywhere.
import MotteLiveObjects
import MotteStorage
import MotteValues

package final class Renewal {
    private let options: SessionOptions
    private let path: String
    private let log: ReplicationLog
    private var leader: LeaderRecord?
    /// What the file had of that leader, from where nothing leads on.
    private var stuckAt: Version?
    /// What is beside the file as `FILE.next`, from which it is one rename.
    private var fetched: (info: SnapshotInfo, origin: ChangeOrigin)?

    /// Of a file that has only what came from that leader, up to `stuckAt`.
    package convenience init(
        _ options: SessionOptions, from log: ReplicationLog, of leader: LeaderRecord, stuckAt version: Version
    ) throws(DatabaseError) {
        try self.init(options, from: log)
        (self.leader, stuckAt) = (leader, version)
    }

    init(_ options: SessionOptions, from log: ReplicationLog) throws(DatabaseError) {
        guard case .file(let path) = options.location else {
            throw DatabaseError(.invalidArgument, "what follows is a file")
        }
        (self.options, self.path, self.log) = (options, path, log)
    }

    /// This process has the file open no longer. `.outOfSequence` where the file follows that leader no longer. False
    /// where another process has begun the file again meanwhile: it is beyond what was missing, and stays.
    package func run() throws(DatabaseError) -> Bool {
        guard let leader else { return false }
        let newest = try newest(of: leader)
        let position = try read(options.readingOnly).first { $0.origin == leader.origin }
        if let stuckAt, let position, position.version != stuckAt {
            forget()
            return false
        }
        try replace(with: newest, of: leader, instead: leader.origin)
        return true
    }

    func newest(of leader: LeaderRecord) throws(DatabaseError) -> SnapshotInfo {
        if let newest = try log.snapshots(of: leader.origin).last { return newest }
        throw DatabaseError(
            .fileNotFound, "there is no snapshot in '\(log.place)' yet to begin with", path: log.place)
    }

    /// While somebody has the file open it throws, and the copy stays for the next try. A file that follows `former`
    /// still has nothing that did not come from the log, and goes; without `former` it is kept, by the name returned.
    /// At every moment one of the two has the file's name.
    @discardableResult
    func replace(
        with info: SnapshotInfo, of leader: LeaderRecord, instead former: ChangeOrigin?
    ) throws(DatabaseError) -> String? {
        let copy = try fetch(info, of: leader)
        let aside = former == nil ? unusedName() : nil
        do throws(DatabaseError) {
            try Session.replace(options, with: copy, keepingAs: aside, ifFollowing: former)
        } catch {
            guard error.code == .fileNotFound, fileBytes(copy) == 0 else { throw error }
            fetched = nil
            throw DatabaseError(
                .busy, "another process begins '\(path)' again at the same time; try again", path: path)
        }
        fetched = nil
        return aside
    }

    /// The same one again, if this was killed after the file got that name.
    private func unusedName() -> String {
        var number = 1
        while fileBytes("\(path).former-\(number)") > 0, !isSameFile(path, "\(path).former-\(number)") { number += 1 }
        return "\(path).former-\(number)"
    }

    // MARK: What it begins again from

    func fetch(_ info: SnapshotInfo, of leader: LeaderRecord) throws(DatabaseError) -> String {
        let next = path + ".next"
        if let fetched, fetched.info == info, fetched.origin == leader.origin, fileBytes(next) > 0 { return next }
        try removeFetched(next)
        try Following.make(next, options, log, leader)
        fetched = (info, leader.origin)
        return next
    }

    /// What the newest snapshot has of others.
    func origins(in info: SnapshotInfo, of leader: LeaderRecord) throws(DatabaseError) -> [ReplicaPosition] {
        try read(copy(try fetch(info, of: leader)))
    }

    /// Also what a process has left that was killed; nothing that is not of a log.
    private func removeFetched(_ next: String) throws(DatabaseError) {
        fetched = nil
        guard fileBytes(next) > 0 else { return }
        guard try !read(copy(next)).isEmpty else {
            throw DatabaseError(
                .invalidArgument,
                "'\(next)' is in the way of a snapshot for '\(path)', and was not made for that: move it away",
                path: path)
        }
        _ = try Session.deleteFile(SessionOptions(path: next))
    }

    private func copy(_ path: String) -> SessionOptions {
        var reading = SessionOptions(path: path).readingOnly
        reading.encryptionKey = options.encryptionKey
        return reading
    }

    /// What a file has of others.
    private func read(_ reading: SessionOptions) throws(DatabaseError) -> [ReplicaPosition] {
        let session = try Session.open(reading)
        // It is only read.
        defer { _ = try? session.close() }
        return try session.replicaPositions()
    }

    func forget() {
        // What is left goes with the next one.
        if fetched != nil { _ = try? removeFetched(path + ".next") }
    }
}
