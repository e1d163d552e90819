/// Snapshots of a log in a stream: the file's bytes in chunks, in a stream of their own, and when all of them are there
/// a message in the log that says where they are, with a checksum of the whole. It is added as any of the leader's, so
/// that nobody but the leader gives one out, and what it holds is what the log has up to it.
import CMotteShim
import MotteLiveObjects
import MotteStorage
import MotteValues

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

package struct StreamSnapshot {
    package internal(set) var info: SnapshotInfo
    var origin: ChangeOrigin
    /// Of the stream of chunks: numbers of another one in its place are others.
    var chunksIdentity: String
    /// Number of the first chunk, and how many there are.
    package internal(set) var firstChunk: UInt64
    var chunkCount: UInt64
    var crc: UInt32
    /// Number of the leader's message.
    var term: UInt64
    /// Of the message in the log that tells of it.
    var number: UInt64 = 0

    init(_ info: SnapshotInfo, _ origin: ChangeOrigin, term: UInt64, behind chunks: LogRange) {
        (self.info, self.origin, self.term) = (info, origin, term)
        (chunksIdentity, firstChunk) = (chunks.identity, chunks.last + 1)
        (chunkCount, crc) = (0, 0)
    }

    init(_ message: LogMessage, _ place: String) throws(DatabaseError) {
        let text = try LogText(message.bytes, place)
        info = try SnapshotInfo(text, place)
        guard let origin = ChangeOrigin(text: try text.text("origin", place)) else { throw LogText.damaged(place) }
        self.origin = origin
        chunksIdentity = try text.text("stream", place)
        firstChunk = try text.number("chunk", place)
        chunkCount = try text.number("chunks", place)
        crc = try text.number("crc", place)
        term = try text.number("term", place)
        number = message.number
        guard !firstChunk.addingReportingOverflow(chunkCount).overflow else { throw LogText.damaged(place) }
    }

    var bytes: [UInt8] {
        let own = [
            "origin": origin.text, "term": "\(term)", "stream": chunksIdentity,
            "chunk": "\(firstChunk)", "chunks": "\(chunkCount)",
            "crc": "\(crc)",
        ]
        return LogText(info.values.merging(own) { $1 }).bytes
    }
}

extension StreamLog {
    /// Those that are there as a whole.
    package func streamSnapshots(of origin: ChangeOrigin? = nil) throws(DatabaseError) -> [StreamSnapshot] {
        var found: [StreamSnapshot] = []
        guard let chunks = try server.range(of: .chunks) else { return [] }
        var number: UInt64 = 1
        while let message = try server.next(.snapshot, from: number) {
            let snapshot = try StreamSnapshot(message, name(message.number))
            if origin == nil || snapshot.origin == origin, Self.isThere(snapshot, chunks),
                try isInForce(snapshot.term, at: message.number)
            {
                found.append(snapshot)
            }
            number = message.number + 1
        }
        return found
    }

    private static func isThere(_ snapshot: StreamSnapshot, _ chunks: LogRange) -> Bool {
        chunks.identity == snapshot.chunksIdentity && snapshot.chunkCount > 0 && chunks.has(snapshot.firstChunk)
            && chunks.has(snapshot.firstChunk &+ (snapshot.chunkCount - 1))
    }

    func isThere(_ snapshot: StreamSnapshot) throws(DatabaseError) -> Bool {
        try server.range(of: .chunks).map { Self.isThere(snapshot, $0) } ?? false
    }

    package func snapshots(of origin: ChangeOrigin) throws(DatabaseError) -> [SnapshotInfo] {
        try streamSnapshots(of: origin).map(\.info)
    }

    package func allSnapshots() throws(DatabaseError) -> [LogSnapshot] {
        try streamSnapshots().map { LogSnapshot(origin: $0.origin, info: $0.info) }
    }

    package func placeForSnapshot(_ version: Version) throws(DatabaseError) -> String {
        // That of one that was not finished goes first.
        snapshotFolder = nil
        let folder = try SnapshotFolder(in: temporaryFolder)
        snapshotFolder = folder
        return folder.file("snapshot.motte")
    }

    package func addSnapshot(_ info: SnapshotInfo, from path: String) throws(DatabaseError) {
        defer { snapshotFolder = nil }
        guard let leading else { throw DatabaseError(.internal, "this process does not lead '\(place)'") }
        // It may have been lost.
        if try server.range(of: .chunks) == nil { try server.prepare() }
        guard let range = try server.range(of: .chunks) else { throw Self.gone(place) }
        var snapshot = StreamSnapshot(info, leading.record.origin, term: leading.term, behind: range)
        var last = range.last
        try Self.forEachBlock(of: path, blockSize: server.largestMessage) { block throws(DatabaseError) in
            snapshot.crc = block.withUnsafeBytes { motte_shim_crc32c(snapshot.crc, $0.baseAddress, $0.count) }
            let name = "chunk-\(leading.term)-\(info.version.rawValue)-\(last)"
            guard let number = try self.add(block, .chunk, name: name, in: range.identity, after: last)
            else {
                throw DatabaseError(
                    .busy, "somebody else adds a snapshot to '\(self.place)' at the same time", path: self.place)
            }
            last = number
            snapshot.chunkCount += 1
        }
        try addNext(
            // One that was lost is made again, of the same version.
            snapshot.bytes, .snapshot,
            name: "snapshot-\(leading.term)-\(info.version.rawValue)-\(range.identity)-\(snapshot.firstChunk)",
            shipped: info.version)
        self.leading?.bytesSinceSnapshot = 0
        try server.tell()
    }

    /// With the sidecar that opening it has made; what is there may not be a whole file.
    private static func remove(_ temporary: String) {
        // What cannot be removed is in nobody's way.
        _ = try? Session.deleteFile(SessionOptions(path: temporary))
        unlink(temporary)
    }

    private static func forEachBlock(
        of path: String, blockSize: Int, _ body: ([UInt8]) throws(DatabaseError) -> Void
    ) throws(DatabaseError) {
        let descriptor = motte_shim_open_plain(path, O_RDONLY)
        guard descriptor >= 0 else { throw LogFolder.error("read", path) }
        defer { close(descriptor) }
        while true {
            var block = [UInt8](repeating: 0, count: blockSize)
            var count = 0
            while count < blockSize {
                let done = block.withUnsafeMutableBytes { space in
                    read(descriptor, space.baseAddress.map { $0 + count }, blockSize - count)
                }
                if done < 0, errno == EINTR { continue }
                guard done >= 0 else { throw LogFolder.error("read", path) }
                if done == 0 { break }
                count += done
            }
            guard count > 0 else { return }
            block.removeLast(blockSize - count)
            try body(block)
        }
    }

    package func copySnapshot(
        _ info: SnapshotInfo, of origin: ChangeOrigin, to path: String
    ) throws(DatabaseError) {
        guard let snapshot = try streamSnapshots(of: origin).last(where: { $0.info == info }) else {
            throw DatabaseError(
                .busy, "the snapshot of version \(info.version.rawValue) is no longer in '\(place)'; try again",
                path: place)
        }
        // Not a name of copies, which are removed by who makes the next one.
        let temporary = try Session.temporaryName(beside: path, "fetching")
        defer { Self.remove(temporary) }
        try fetch(snapshot, to: temporary)
        try key.copySnapshot(temporary, to: path, place)
    }

    private func fetch(_ snapshot: StreamSnapshot, to path: String) throws(DatabaseError) {
        let descriptor = motte_shim_open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw LogFolder.error("write", path) }
        defer { close(descriptor) }
        try forEachChunk(of: snapshot) { bytes throws(DatabaseError) in
            var done = 0
            while done < bytes.count {
                let count = bytes.withUnsafeBytes { bytes in
                    write(descriptor, bytes.baseAddress.map { $0 + done }, bytes.count - done)
                }
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { throw LogFolder.error("write", path) }
                done += count
            }
        }
    }

    /// Throws where it is not there as a whole.
    private func forEachChunk(
        of snapshot: StreamSnapshot, _ body: ([UInt8]) throws(DatabaseError) -> Void
    ) throws(DatabaseError) {
        var crc: UInt32 = 0
        var size = 0
        for number in snapshot.firstChunk ..< snapshot.firstChunk &+ snapshot.chunkCount {
            guard let message = try chunk(number) else {
                throw DatabaseError(
                    .busy,
                    "the snapshot of version \(snapshot.info.version.rawValue) was removed from '\(place)' "
                        + "while it was read; try again", path: place)
            }
            crc = message.bytes.withUnsafeBytes { motte_shim_crc32c(crc, $0.baseAddress, $0.count) }
            try body(message.bytes)
            size += message.bytes.count
        }
        guard size == snapshot.info.byteCount, crc == snapshot.crc else {
            throw DatabaseError(
                .corrupted,
                "the snapshot of version \(snapshot.info.version.rawValue) in '\(place)' is damaged: its "
                    + "checksum is wrong", path: place)
        }
    }

    package func has(_ snapshot: SnapshotInfo) throws(DatabaseError) -> Bool {
        guard let leading else { throw DatabaseError(.internal, "this process does not lead '\(place)'") }
        return try streamSnapshots(of: leading.record.origin).contains { $0.info == snapshot }
    }

    package func beat(_ heartbeat: Heartbeat) throws(DatabaseError) { try server.setNote(heartbeat.bytes) }

    package func heartbeat() throws(DatabaseError) -> Heartbeat? {
        try server.note().map { bytes throws(DatabaseError) in try Heartbeat(bytes, "\(place), the heartbeat") }
    }

    package func trim(before base: LogSnapshot) throws(DatabaseError) {
        guard let leading else { throw DatabaseError(.internal, "this process does not lead '\(place)'") }
        let known = try streamSnapshots(of: base.origin).last { $0.info == base.info }
        guard let oldest = known, try knownRange().first < oldest.number else { return }
        do throws(DatabaseError) {
            // What is before it goes only if it is whole.
            try forEachChunk(of: oldest) { _ in }
        } catch {
            guard error.code == .busy || error.code == .corrupted else { throw error }
            return
        }
        if leading.term < oldest.number {
            // Who leads has to be found in what stays.
            try lead(leading.record, inPlaceOf: leading.record, handing: nil)
        }
        guard let log = try server.range(of: .log), let chunks = try server.range(of: .chunks) else { return }
        // What says that there is a snapshot goes before its chunks.
        trimming = [
            (.log, log.first ..< max(log.first, oldest.number)),
            (.chunks, chunks.first ..< max(chunks.first, oldest.firstChunk)),
        ]
        try goOnTrimming()
    }

    package var isTrimming: Bool { !trimming.isEmpty }

    package func goOnTrimming() throws(DatabaseError) {
        while let (stream, numbers) = trimming.first {
            guard !numbers.isEmpty else {
                trimming.removeFirst()
                continue
            }
            let some = numbers.prefix(Self.removedAtOnce)
            // Where it cannot be done now it can behind the next snapshot.
            guard try server.remove(some.startIndex ..< some.endIndex, in: stream) else { return trimming = [] }
            return trimming[0].numbers = some.endIndex ..< numbers.upperBound
        }
    }
}
