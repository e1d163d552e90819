/// From where on the change log is kept, and for whom: consumers by their names, such as what ships a file, each with a
/// position of its own, and programs that say a version without one. Nobody's position moves another's, and the log is
/// kept from the oldest on.
///
///     u64 oldest of all; 2^64 - 1: none. Where the page ends here it is that of who has no name, and nobody has one
///     u64 of who has no name; 2^64 - 1: none
///     u32 how many consumers there are; for each, by name ascending:
///         u64 version, i64 wall time of its commit or 0, u16 byte count of the name, the name in UTF-8
import MottePages
import MotteValues

package struct KeptChanges: Equatable, Sendable {
    package struct Consumer: Equatable, Sendable {
        package let name: String
        /// It needs all changes after this one.
        package let version: Version
        /// When that was committed, nanoseconds since 1970; 0 if it is not known.
        package let wallTimeNanoseconds: Int64
    }

    /// Of who has no name; nil: nothing is kept for that.
    package private(set) var unnamed: Version?
    /// By name.
    package private(set) var consumers: [Consumer] = []

    package static let kind: UInt8 = 0x4B
    private static let none = UInt64.max
    /// The page is written whole, with each position that moves.
    package static let mostConsumers = 64
    package static let longestName = 1_024

    package init() {}

    /// nil: the log is kept as long as somebody observes.
    package var oldest: Version? { (consumers.map(\.version) + [unnamed].compactMap(\.self)).min() }

    package subscript(name: String) -> Consumer? { consumers.first { $0.name.utf8.elementsEqual(name.utf8) } }

    package mutating func keep(since version: Version?) { unnamed = version }

    package mutating func keep(
        since version: Version, for name: String, wallTimeNanoseconds: Int64
    ) throws(DatabaseError) {
        guard !name.isEmpty, name.utf8.count <= Self.longestName, !name.utf8.contains(0) else {
            throw DatabaseError(
                .invalidArgument,
                "the name of a consumer of changes has 1 to \(Self.longestName) bytes without a NUL; choose another")
        }
        let entry = Consumer(name: name, version: version, wallTimeNanoseconds: wallTimeNanoseconds)
        if let known = consumers.firstIndex(where: { $0.name.utf8.elementsEqual(name.utf8) }) {
            consumers[known] = entry
            return
        }
        guard consumers.count < Self.mostConsumers else {
            throw DatabaseError(
                .outOfBounds,
                "changes are kept for \(Self.mostConsumers) consumers already; drop one with 'motte changes FILE "
                    + "--drop NAME' ('motte status FILE' lists them)")
        }
        let place = consumers.firstIndex { name.utf8.lexicographicallyPrecedes($0.name.utf8) }
        consumers.insert(entry, at: place ?? consumers.count)
    }

    /// False where there is none of that name.
    package mutating func drop(_ name: String) -> Bool {
        guard let known = consumers.firstIndex(where: { $0.name.utf8.elementsEqual(name.utf8) }) else { return false }
        consumers.remove(at: known)
        return true
    }

    // MARK: Bytes

    package var page: [UInt8] {
        var body: [UInt8] = []
        body.append(u64: oldest?.rawValue ?? Self.none)
        if !consumers.isEmpty {
            body.append(u64: unnamed?.rawValue ?? Self.none)
            body.append(u32: UInt32(consumers.count))
            for consumer in consumers {
                body.append(u64: consumer.version.rawValue)
                body.append(u64: UInt64(bitPattern: consumer.wallTimeNanoseconds))
                body.append(u16: UInt16(consumer.name.utf8.count))
                body.append(contentsOf: consumer.name.utf8)
            }
        }
        return ReplicaPages.sealed(Self.kind, body, key: ReplicaPages.kept)
    }

    package init(decoding page: UnsafeRawBufferPointer) throws(DatabaseError) {
        let body = try ReplicaPages.opened(Self.kind, page, key: ReplicaPages.kept)
        var reader = LogReader(body)
        let oldest = try Self.version(&reader)
        guard reader.remaining > 0 else {
            unnamed = oldest
            return
        }
        unnamed = try Self.version(&reader)
        let count = try reader.u32()
        guard count <= Self.mostConsumers else { throw Self.damaged("too many names") }
        for _ in 0 ..< count {
            let version = Version(try reader.u64())
            let wallTime = Int64(bitPattern: try reader.u64())
            let bytes = try reader.run(Int(try reader.u16()))
            guard let name = String(validating: bytes, as: UTF8.self), !name.isEmpty else {
                throw Self.damaged("a name that is none")
            }
            if let last = consumers.last, !last.name.utf8.lexicographicallyPrecedes(name.utf8) {
                throw Self.damaged("names out of order")
            }
            consumers.append(Consumer(name: name, version: version, wallTimeNanoseconds: wallTime))
        }
        guard reader.remaining == 0, oldest == self.oldest else { throw Self.damaged("another end") }
    }

    private static func version(_ reader: inout LogReader) throws(DatabaseError) -> Version? {
        let version = try reader.u64()
        return version == none ? nil : Version(version)
    }

    private static func damaged(_ what: String) -> DatabaseError {
        .corrupted("what says for whom changes are kept has \(what)")
    }
}

extension HistoryLog {
    static func kept(in pages: PageSnapshot) throws(DatabaseError) -> KeptChanges {
        guard let page = try pages.get(ReplicaPages.kept) else { return KeptChanges() }
        return try KeptChanges(decoding: page.bytes)
    }
}

extension Snapshot {
    /// The version after which all changes stay in the log; nil where they stay as long as somebody observes.
    package func keptChanges() throws(DatabaseError) -> KeptChanges { try HistoryLog.kept(in: pages) }

    /// How many commits after a version, and up to another or the newest, have changed something.
    package func backlog(
        after version: Version, through last: Version? = nil
    ) throws(DatabaseError) -> ChangeBacklog {
        try HistoryLog.backlog(after: version, through: last ?? self.version, in: pages)
    }

    /// Whoever changes are kept for, with what each does not have; without a name first.
    package func consumers() throws(DatabaseError) -> [(name: String?, version: Version, backlog: ChangeBacklog)] {
        let kept = try keptChanges()
        var all: [(name: String?, version: Version, backlog: ChangeBacklog)] = []
        if let version = kept.unnamed { all.append((nil, version, try backlog(after: version))) }
        for consumer in kept.consumers {
            all.append((consumer.name, consumer.version, try backlog(after: consumer.version)))
        }
        return all
    }
}

/// What somebody who has a file's changes up to a version does not have.
package struct ChangeBacklog: Equatable, Sendable {
    /// Commits that have changed something; all of them where the log does not say.
    package var commits: UInt64 = 0
    /// When the first of these that the log has was made; 0 if it is not known.
    package var wallTimeNanoseconds: Int64 = 0
    /// Whether the log has them.
    package var isKept = true

    package init() {}
}

extension HistoryLog {
    static func backlog(
        after version: Version, through last: Version, in pages: PageSnapshot
    ) throws(DatabaseError) -> ChangeBacklog {
        var backlog = ChangeBacklog()
        guard version < last else { return backlog }
        let cursor = try pages.makeCursor()
        var wanted = Version(version.rawValue + 1)
        var found = try cursor.seek(ChangeRecordFormat.pageKey(wanted))
        while !(last < wanted) {
            guard found, ChangeRecordFormat.version(of: cursor.key) == wanted else {
                // log-3: it is the old end that is gone.
                backlog.isKept = false
                backlog.commits = last.rawValue - version.rawValue
                if found, let kept = ChangeRecordFormat.version(of: cursor.key) {
                    backlog.wallTimeNanoseconds = try header(cursor.value.bytes, kept).wallTimeNanoseconds
                }
                return backlog
            }
            let (changes, wallTime) = try header(cursor.value.bytes, wanted)
            if changes {
                backlog.commits += 1
                if backlog.commits == 1 { backlog.wallTimeNanoseconds = wallTime }
            }
            wanted = Version(wanted.rawValue + 1)
            found = try cursor.next()
        }
        return backlog
    }

    /// Of a change record: whether it says that something changed, and when.
    private static func header(
        _ record: UnsafeRawBufferPointer, _ version: Version
    ) throws(DatabaseError) -> (changes: Bool, wallTimeNanoseconds: Int64) {
        guard record.count >= ChangeRecordFormat.headerSize else {
            throw .corrupted("the change record of version \(version.rawValue) is too short")
        }
        let sections = record.loadUnaligned(fromByteOffset: ChangeRecordFormat.sectionCountOffset, as: UInt32.self)
        let time = record.loadUnaligned(fromByteOffset: ChangeRecordFormat.wallTimeOffset, as: Int64.self)
        return (sections != 0, Int64(littleEndian: time))
    }

    /// 0 where there is no record.
    fileprivate static func wallTime(of version: Version, in pages: PageSnapshot) throws(DatabaseError) -> Int64 {
        guard let found = try pages.get(ChangeRecordFormat.pageKey(version)) else { return 0 }
        return try header(found.bytes, version).wallTimeNanoseconds
    }
}

extension Snapshot {
    /// Whether changes may be kept by that name.
    package func checkConsumer(_ name: String) throws(DatabaseError) {
        var kept = try HistoryLog.kept(in: pages)
        try kept.keep(since: version, for: name, wallTimeNanoseconds: 0)
    }
}

extension WriteTransaction {
    /// From this commit on the change log keeps all changes after `version`, whatever others need; with nil, only what
    /// they do.
    package func keepChanges(since version: Version?) throws(DatabaseError) {
        var kept = try keptChanges()
        kept.keep(since: version)
        keep(kept)
    }

    /// The same for a consumer of that name; nil: there is none any more, and false if there was none.
    @discardableResult
    package func keepChanges(since version: Version?, for name: String) throws(DatabaseError) -> Bool {
        var kept = try keptChanges()
        if let version {
            var time = try HistoryLog.wallTime(of: version, in: base.pages)
            if time == 0, let known = kept[name], known.version == version { time = known.wallTimeNanoseconds }
            try kept.keep(since: version, for: name, wallTimeNanoseconds: time)
        } else if !kept.drop(name) {
            return false
        }
        keep(kept)
        return true
    }

    /// Of the commit before this one.
    package var versionBefore: Version { base.version }

    func keptChanges() throws(DatabaseError) -> KeptChanges {
        try requireOpen()
        guard let page = replicaPages[ReplicaPages.kept] else { return try HistoryLog.kept(in: base.pages) }
        return try page.withBytes { bytes throws(DatabaseError) in try KeptChanges(decoding: bytes) }
    }

    private func keep(_ kept: KeptChanges) {
        replicaPages[ReplicaPages.kept] = kept.page
        noteChange()
    }
}
