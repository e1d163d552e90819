/// What is in the folder of a replicated file:
///
///     leader                              who ships to it: `LeaderRecord`, and of one that took over what it had of
///                                         the one before: `LogPosition`
///     heartbeat                           that the leader is there, and when: `Heartbeat`
///     ORIGIN/snapshot-VERSION.motte       a copy of the file at a version, that already knows whom it follows
///     ORIGIN/snapshot-VERSION.info        says that it is whole: `SnapshotInfo`; only then does it count
///     ORIGIN/changes-VERSION.batch        what changed after that version
///
/// ORIGIN is the leader's history UUID; numbers have twenty digits. A batch begins where the one before ends, so who
/// has applied one knows the name of the next; and there is one of each name, so two leaders cannot both go on.
import CMotteShim
import MotteStorage
import MotteValues

package enum LogName {
    package static let leader = "leader"
    static let heartbeat = "heartbeat"
    private static let changes = "changes-"
    private static let snapshot = "snapshot-"

    package static func changes(after version: Version) -> String { changes + digits(version) + ".batch" }
    package static func snapshot(_ version: Version) -> String { snapshot + digits(version) + ".motte" }
    static func info(_ version: Version) -> String { snapshot + digits(version) + ".info" }

    static func changes(_ name: String) -> Version? { version(name, changes, ".batch") }
    static func info(_ name: String) -> Version? { version(name, snapshot, ".info") }
    static func snapshot(_ name: String) -> Version? { version(name, snapshot, ".motte") }

    private static func digits(_ version: Version) -> String {
        let digits = String(version.rawValue)
        return String(repeating: "0", count: 20 - digits.count) + digits
    }

    private static func version(_ name: String, _ prefix: String, _ suffix: String) -> Version? {
        guard name.hasPrefix(prefix), name.hasSuffix(suffix),
            name.utf8.count == prefix.utf8.count + 20 + suffix.utf8.count
        else { return nil }
        return UInt64(name.dropFirst(prefix.count).dropLast(suffix.count)).map { Version($0) }
    }
}

/// Lines of a name and a value, closed by their checksum.
struct LogText {
    typealias Values = [String: String]  // names: ASCII, those that this file gives

    private static let title = "motte replication 1"
    private(set) var values: Values = [:]

    init(_ values: Values) { self.values = values }

    init(_ bytes: [UInt8], _ path: String) throws(DatabaseError) {
        let text = String(decoding: bytes, as: UTF8.self)
        var lines = text.parts(between: "\n")
        guard lines.first == Self.title else {
            guard text.hasPrefix("motte replication ") else { throw Self.damaged(path) }
            throw DatabaseError(
                .unsupportedFormat, "'\(path)' is of a newer release than this one; update it", path: path)
        }
        guard lines.count >= 3, lines.removeLast().isEmpty, let last = lines.popLast() else { throw Self.damaged(path) }
        let body = lines.joined(separator: "\n") + "\n"
        guard last == Self.checksum(body) else { throw Self.damaged(path) }
        for line in lines.dropFirst() {
            let parts = line.parts(between: " ", most: 1)
            guard parts.count == 2 else { throw Self.damaged(path) }
            values[parts[0]] = parts[1]
        }
    }

    var bytes: [UInt8] {
        let body = Self.title + "\n" + values.keys.sorted().map { "\($0) \(values[$0] ?? "")\n" }.joined()
        return Array((body + Self.checksum(body) + "\n").utf8)
    }

    private static func checksum(_ body: String) -> String {
        "crc " + String(Array(body.utf8).withUnsafeBytes { motte_shim_crc32c(0, $0.baseAddress, $0.count) }, radix: 16)
    }

    func number<Number: FixedWidthInteger>(_ name: String, _ path: String) throws(DatabaseError) -> Number {
        guard let number = values[name].flatMap({ Number($0) }) else { throw Self.damaged(path) }
        return number
    }

    func text(_ name: String, _ path: String) throws(DatabaseError) -> String {
        guard let text = values[name] else { throw Self.damaged(path) }
        return text
    }

    static func damaged(_ path: String) -> DatabaseError {
        DatabaseError(.corrupted, "'\(path)' is damaged: its checksum is wrong", path: path)
    }

    /// On one line, as it is stored.
    static func oneLine(_ text: String) -> String {
        // By scalars: a carriage return and a line feed are one character.
        text.unicodeScalars.split { $0 == "\n" || $0 == "\r" }.map { String($0) }.joined(separator: " ")
    }
}

/// Whose changes a folder has.
package struct LeaderRecord: Equatable, Sendable {
    /// As people call it.
    package let name: String
    package let origin: ChangeOrigin

    package init(name: String, origin: ChangeOrigin) {
        self.name = LogText.oneLine(name)
        self.origin = origin
    }

    /// nil where nobody has shipped to the folder yet.
    package init?(in folder: LogFolder) throws(DatabaseError) {
        guard let bytes = try folder.read(LogName.leader) else { return nil }
        let path = folder.file(LogName.leader)
        try self.init(try LogText(bytes, path), path)
    }

    init(_ text: LogText, _ path: String) throws(DatabaseError) {
        name = try text.text("leader", path)
        guard let origin = ChangeOrigin(text: try text.text("origin", path)) else { throw LogText.damaged(path) }
        self.origin = origin
    }

    var values: LogText.Values { ["leader": name, "origin": origin.text] }
    package func bytes(after former: LogPosition?) -> [UInt8] {
        LogText(values.merging(former?.valuesOfFormer ?? [:]) { $1 }).bytes
    }
}

extension LogPosition {
    /// Where whoever led before ended, as a leader has said that took over; nil: nobody did, or it did not say.
    init?(former text: LogText, _ place: String) throws(DatabaseError) {
        guard let former = text.values["former"] else { return nil }
        guard let origin = ChangeOrigin(text: former) else { throw LogText.damaged(place) }
        self.init(origin: origin, version: Version(try text.number("former-version", place)))
    }

    var valuesOfFormer: LogText.Values { ["former": origin.text, "former-version": "\(version.rawValue)"] }

    init?(formerIn folder: LogFolder) throws(DatabaseError) {
        guard let bytes = try folder.read(LogName.leader) else { return nil }
        let path = folder.file(LogName.leader)
        try self.init(former: LogText(bytes, path), path)
    }
}

/// What is said of a snapshot that is whole.
package struct SnapshotInfo: Equatable, Sendable {
    package let version: Version
    package let wallTimeNanoseconds: Int64
    package let checksum: UInt32
    package let byteCount: Int
    /// Of the machine that made it, then; nil: not known.
    package let uptime: Uptime?
    /// In a folder, who led before the one that made it.
    package internal(set) var former: ChangeOrigin?

    package init(
        version: Version, wallTimeNanoseconds: Int64, checksum: UInt32, byteCount: Int, uptime: Uptime? = nil
    ) {
        self.uptime = uptime
        self.version = version
        self.wallTimeNanoseconds = wallTimeNanoseconds
        self.checksum = checksum
        self.byteCount = byteCount
    }

    init?(_ version: Version, in folder: LogFolder) throws(DatabaseError) {
        guard let bytes = try folder.read(LogName.info(version)) else { return nil }
        let path = folder.file(LogName.info(version))
        try self.init(try LogText(bytes, path), path)
        guard version == self.version else { throw LogText.damaged(path) }
    }

    init(_ text: LogText, _ path: String) throws(DatabaseError) {
        version = Version(try text.number("version", path))
        wallTimeNanoseconds = try text.number("time", path)
        checksum = try text.number("checksum", path)
        byteCount = try text.number("bytes", path)
        former = text.values["former"].flatMap { ChangeOrigin(text: $0) }
        guard let start = text.values["started"] else {
            uptime = nil
            return
        }
        uptime = Uptime(start: start, milliseconds: try text.number("uptime", path))
    }

    var values: LogText.Values {
        var values = [
            "version": "\(version.rawValue)", "time": "\(wallTimeNanoseconds)", "checksum": "\(checksum)",
            "bytes": "\(byteCount)",
        ]
        if let uptime { (values["started"], values["uptime"]) = (uptime.start, "\(uptime.milliseconds)") }
        if let former { values["former"] = former.text }
        return values
    }
    var bytes: [UInt8] { LogText(values).bytes }
}

/// What a folder has of one origin.
package struct LogContents {
    package private(set) var snapshots: [Version] = []
    /// After which versions there are batches.
    package private(set) var changes: [Version] = []

    package init(of folder: LogFolder) throws(DatabaseError) {
        for name in try folder.names() {
            if let version = LogName.info(name) { snapshots.append(version) }
            if let version = LogName.changes(name) { changes.append(version) }
        }
    }
}

extension LogFolder {
    /// The batch after a version; nil where there is none yet.
    package func changes(
        after version: Version, _ key: BatchKey = BatchKey()
    ) throws(DatabaseError) -> ChangeBatch? {
        let name = LogName.changes(after: version)
        guard let bytes = try read(name) else { return nil }
        do throws(DatabaseError) {
            let batch = try key.decoded(bytes, "it")
            guard batch.from == version, batch.from < batch.to, !batch.isPatch else {
                throw .corrupted("it is another")
            }
            return batch
        } catch {
            throw DatabaseError(error.code, "'\(file(name))': \(error.message)", path: file(name))
        }
    }
}

extension ChangeOrigin {
    /// As `text` writes it.
    package init?(text: String) {
        let digits = text.filter { $0 != "-" }
        guard digits.count == 32, let high = UInt64(digits.prefix(16), radix: 16),
            let low = UInt64(digits.suffix(16), radix: 16)
        else { return nil }
        self.init(high: high, low: low)
    }
}
