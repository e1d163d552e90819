/// Feeding a PostgreSQL database: the objects of chosen classes as rows of tables, kept as the file has them.
///
///     P1  one step is one transaction: rows are as at one version of the file, and it also keeps which version that is
///     P2  each step begins, for each table, at the version that the table has; so one whose commit got no answer is
///         done again, or is seen to have been done, and feeds of other classes are nobody's business
///     P3  a table that the feed has not made is never written to
///     P4  the file's change log keeps what the database does not have yet; where it was trimmed nevertheless, tables
///         are loaded whole
///     P5  a migration that takes something away, or declares it otherwise, has each table loaded whole: values and
///         classes go with it of which the change log says nothing, and what has their names later may look the same
///
/// `motte_feed` has a row for each table, with the file and the version that it shows, and the format by which it was
/// loaded: up to 2 tables kept rows of before such a migration.
import MotteLiveObjects
import MotteSchemaModel
import MotteStorage
import MotteValues

package enum FeedStep: Equatable, Sendable {
    /// There was nothing new.
    case nothing
    case fed(Version, rows: Int)
}

package final class PostgresFeed {
    package let session: Session
    private let address: String
    /// nil: all of them.
    private let classNames: [String]?
    private let origin: ChangeOrigin
    private var connection: PostgresConnection?
    /// Up to where the database has everything; nil: not known.
    private var fed: Version?
    /// The database had something newer than what was to be fed.
    private var isBehind = false
    /// The log is kept from here on.
    private var kept: Version?
    private var settledAt = monotonicMilliseconds()
    private let consumer: String
    /// Keeping the log from later on is a commit of its own, so it is not done at each step.
    private static let versionsBetweenKeeping: UInt64 = 1_024
    private static let format = 3
    private static let mark = "\(sentence) \(format)"
    private static let formerMark = "\(sentence) 2"
    private static let sentence = "Made by motte ship: which version of which file its tables show. Format"
    /// Two feeds of a database wait for each other.
    private static let lock = 0x6D6F_7474

    private static let schemes = ["postgresql://", "postgres://"]

    private static func scheme(_ text: String) -> String { schemes.first { text.beginsWithBytes(of: $0) } ?? "" }

    /// Whether a place is one of these.
    package static func isPlace(_ text: String) -> Bool { !scheme(text).isEmpty }

    /// By which name the file keeps its changes for a feed: feeds of other classes are other ones.
    package static func consumer(_ address: String, classes: [String]?) -> String {
        guard let classes else { return name(address) }
        let names = Set(classes.map { NameKey($0) }).map(\.text).sorted { $0.precedesInBytes($1) }
        return "\(name(address)) (\(names.joined(separator: ", ")))"
    }

    /// How it is named in the file, and printed: without the password.
    package static func name(_ address: String) -> String {
        // By scalars: a password may begin with a mark that combines with the sign before it. It may also have a
        // question mark, so that the parameters begin behind the server.
        let scalars = address.unicodeScalars
        let begin = scalars.index(scalars.startIndex, offsetBy: scheme(address).unicodeScalars.count)
        // names: ASCII, up to the server's
        let login = scalars[begin ..< (scalars[begin...].firstIndex(of: "/") ?? scalars.endIndex)].firstIndex(of: "@")
        let mark = scalars[(login ?? begin)...].firstIndex(of: "?")
        let parts = [scalars[..<(mark ?? scalars.endIndex)], mark.map { scalars[scalars.index(after: $0)...] }]
            .compactMap { $0.map(String.init) }
        var place = parts[0].unicodeScalars
        let start = place.index(place.startIndex, offsetBy: scheme(address).unicodeScalars.count)
        // names: ASCII, up to the server's
        let end = place[start...].firstIndex(of: "/") ?? place.endIndex
        if let at = place[start ..< end].lastIndex(of: "@"), let colon = place[start ..< at].firstIndex(of: ":") {
            place.removeSubrange(colon ..< at)
        }
        guard parts.count == 2 else { return String(place) }
        let secrets = ["password=", "sslpassword="]
        let shown = parts[1].parts(between: "&").filter { part in
            !part.isEmpty && !secrets.contains { part.beginsWithBytes(of: $0) }
        }
        return String(place) + (shown.isEmpty ? "" : "?" + shown.joined(separator: "&"))
    }

    package init(
        _ session: Session, to address: String, classes: [String]?, consumer: String? = nil
    ) throws(DatabaseError) {
        self.session = session
        self.address = address
        self.consumer = consumer ?? Self.consumer(address, classes: classes)
        classNames = classes
        origin = try session.changeOrigin()
        let connection = try PostgresConnection(address)
        self.connection = connection
        let catalog = try session.committedSnapshot().catalog
        let known = try connection.transaction { () throws(DatabaseError) in
            try prepare(connection)
            return try positions(connection)
        }
        let own = known.filter { $0.value.origin == origin && isChosen($0.key.text) }
        for name in classes ?? [] where catalog.table(named: name) == nil && own[NameKey(name)] == nil {
            throw DatabaseError(.unknownClass, "the file has no class '\(name)'", className: name)
        }
        // It may be ahead of a file that was replaced, which a step refuses.
        let newest = try session.version
        try keep(from: own.values.map(\.version).min().map { min($0, newest) })
    }

    private func isChosen(_ className: String) -> Bool { classNames?.contains(where: className.hasSameBytes) ?? true }

    private func tables(_ snapshot: Snapshot) throws(DatabaseError) -> [FeedTable] {
        var tables: [FeedTable] = []
        for stored in snapshot.catalog.tables where isChosen(stored.name) {
            tables.append(try FeedTable(stored))
        }
        return tables
    }

    // MARK: What the feed keeps there

    private func prepare(_ connection: PostgresConnection) throws(DatabaseError) {
        try connection.run("SELECT pg_advisory_xact_lock(\(Self.lock))")
        let found = try connection.run(
            "SELECT obj_description(to_regclass('motte_feed'), 'pg_class'), to_regclass('motte_feed')::text"
        ).first
        guard found?[1] != nil else {
            try connection.run(
                "CREATE TABLE motte_feed (name text PRIMARY KEY, identity oid NOT NULL, origin uuid NOT NULL, "
                    + "version bigint NOT NULL, checksum bigint NOT NULL, committed_at timestamp with time zone, "
                    + "format integer NOT NULL)")
            try connection.run("COMMENT ON TABLE motte_feed IS '\(Self.mark)'")
            return
        }
        if found?[0] == Self.formerMark {
            // Tables of other files and classes are loaded when it is their turn.
            try connection.run("ALTER TABLE motte_feed ADD COLUMN format integer NOT NULL DEFAULT 2")
            try connection.run("COMMENT ON TABLE motte_feed IS '\(Self.mark)'")
            return
        }
        guard found?[0] == Self.mark else {
            throw DatabaseError(
                .invalidArgument,
                "the database has a table motte_feed that this feed has not made; name another database, or another "
                    + "schema with ?options=-csearch_path%3DNAME")
        }
    }

    private struct Position {
        /// Number of the table in the system catalog.
        let identity: String
        let origin: ChangeOrigin?
        let version: Version
        let checksum: UInt32
        let format: Int
    }

    /// Of all tables that a feed has made, by their names.
    private func positions(_ connection: PostgresConnection) throws(DatabaseError) -> [NameKey: Position] {
        let rows = try connection.run(
            "SELECT name, identity::text, origin::text, version::text, checksum::text, format::text FROM motte_feed")
        var found: [NameKey: Position] = [:]
        for row in rows {
            guard let name = row[0], let identity = row[1], let version = row[3].flatMap({ UInt64($0) }),
                let checksum = row[4].flatMap({ UInt32($0) }), let format = row[5].flatMap({ Int($0) })
            else { continue }
            found[NameKey(name)] = Position(
                identity: identity, origin: row[2].flatMap { ChangeOrigin(text: $0) }, version: Version(version),
                checksum: checksum, format: format)
        }
        return found
    }

    /// P2: the database may be ahead of a file that was replaced by an older copy.
    private func check(_ position: Position) throws(DatabaseError) {
        try Self.check(session, has: position.version, position.checksum)
    }

    private static func check(
        _ session: Session, has version: Version, _ checksum: UInt32
    ) throws(DatabaseError) {
        let own = try session.changeChecksum(of: version)
        if let own, own == checksum || own == 0 || checksum == 0 { return }
        throw DatabaseError(
            .historyForked,
            "the database has version \(version.rawValue) of this file, which this one does not have: it was "
                + "replaced by an older copy. Drop the tables that motte_feed names, and motte_feed, and feed it again",
            path: session.path)
    }

    /// P4, from the version that the database has; nil: it has nothing.
    private func keep(from fed: Version?) throws(DatabaseError) {
        var wanted = fed
        if wanted == nil { wanted = try session.version }
        var known = kept
        if known == nil { known = try session.keptChanges()[consumer]?.version }
        guard let wanted else { return }
        if let known, known <= wanted, wanted.rawValue - known.rawValue < Self.versionsBetweenKeeping {
            kept = known
            return
        }
        try session.keepChanges(since: wanted, for: consumer)
        kept = wanted
    }

    /// As `Shipping.settle`.
    package func settle(milliseconds: Int64 = 0) throws(DatabaseError) {
        let now = monotonicMilliseconds()
        guard now - settledAt >= milliseconds, let kept, let fed, kept < fed else { return }
        settledAt = now
        try session.refresh()
        guard try session.version >= fed, try session.backlog(after: kept, through: fed).commits > 0 else { return }
        do throws(DatabaseError) {
            try session.keepChanges(since: fed, for: consumer, timeoutMilliseconds: 0)
            self.kept = fed
        } catch {
            // There will be a better moment.
            guard error.code == .timeout || error.code == .busy else { throw error }
        }
    }

    // MARK: Steps

    /// Feeds what has been committed since the last step. After an error of the connection the next step makes another.
    package func step() throws(DatabaseError) -> FeedStep {
        try session.checkPlace()
        try session.refresh()
        if try session.version == fed { return .nothing }
        let open: PostgresConnection
        if let connection, connection.isOpen {
            open = connection
        } else {
            fed = nil
            open = try PostgresConnection(address)
            connection = open
        }
        var shown: Session
        var rows: Int?
        repeat {
            isBehind = false
            shown = try session.freeze()
            let frozen = shown
            rows = try open.transaction { () throws(DatabaseError) in try feed(frozen, open) }
        } while isBehind
        fed = try shown.version
        try keep(from: fed)
        return rows.map { .fed(fed ?? Version(0), rows: $0) } ?? .nothing
    }

    /// How many rows were written; nil where there was nothing to do.
    private func feed(_ shown: Session, _ connection: PostgresConnection) throws(DatabaseError) -> Int? {
        try prepare(connection)
        let snapshot = try shown.committedSnapshot()
        let known = try positions(connection)
        let own = known.filter { $0.value.origin == origin && isChosen($0.key.text) }
        if let newest = own.values.max(by: { $0.version < $1.version }), try newest.version > shown.version {
            // While this waited for its turn another feed has brought what is newer, as one does that was killed
            // and whose transaction the server ends; or the newest version lacks it as well.
            try session.refresh()
            try check(newest)
            isBehind = true
            return nil
        }
        var summaries: [Version: ChangeSummary?] = [:]
        for position in own.values where summaries[position.version] == nil {
            try check(position)
            summaries[position.version] = .some(
                try session.database.changes(from: position.version, to: snapshot))
        }
        var rows = 0
        var isChanged = false
        let names = own.keys.map(\.text).sorted { $0.precedesInBytes($1) }
        for name in names where snapshot.catalog.table(named: name) == nil {
            try drop(name, own[NameKey(name)], connection)
            isChanged = true
        }
        let tables = try tables(snapshot)
        for table in tables {
            let position = own[NameKey(table.stored.name)]
            let summary = position.flatMap { summaries[$0.version] ?? nil }
            // Columns are looked at by whoever begins.
            let mayDiffer = fed == nil || summary?.schemaChanged ?? true
            let isNew = try mayDiffer ? make(table, known[NameKey(table.stored.name)], connection) : false
            guard !isNew, position?.format == Self.format, let summary, !summary.breaksSchema else {
                // P4, P5.
                rows += try table.load(connection, snapshot)
                isChanged = true
                continue
            }
            if let changes = summary.table(table.stored.key) {
                rows += try table.apply(changes, connection, snapshot)
                isChanged = true
            }
        }
        try store(try shown.ownPosition(), tables, connection)
        return isChanged ? rows : nil
    }

    /// Of a class that is gone; with views that need it, which the server names.
    private func drop(_ name: String, _ position: Position?, _ connection: PostgresConnection) throws(DatabaseError) {
        let quoted = PostgresConnection.quoted(name)
        let found = try connection.run("SELECT to_regclass($1)::oid::text", [quoted]).first?[0]
        // P3.
        if let found, found == position?.identity { try connection.run("DROP TABLE \(quoted) CASCADE") }
        try connection.run("DELETE FROM motte_feed WHERE name = $1", [name])
    }

    /// P3. True where all objects are to be loaded.
    private func make(
        _ table: FeedTable, _ known: Position?, _ connection: PostgresConnection
    ) throws(DatabaseError) -> Bool {
        if let found = try table.identity(connection) {
            guard let known, known.identity == found else {
                throw DatabaseError(
                    .invalidArgument,
                    "there is a table \(table.name) that the feed has not made; rename it, name another schema with "
                        + "?options=-csearch_path%3DNAME, or leave the class out with --class",
                    className: table.stored.name)
            }
            guard known.origin == origin else {
                throw DatabaseError(
                    .historyForked,
                    "the table \(table.name) has the objects of another file; name another schema with "
                        + "?options=-csearch_path%3DNAME, or drop it", className: table.stored.name)
            }
            return try table.adapt(connection)
        }
        try table.create(connection)
        try connection.run(
            "INSERT INTO motte_feed (name, identity, origin, version, checksum, format) VALUES ($1, "
                + "to_regclass($2)::oid, $3::uuid, 0, 0, \(Self.format)) ON CONFLICT (name) DO UPDATE "
                + "SET identity = excluded.identity, origin = excluded.origin",
            [table.stored.name, table.name, origin.text])
        return true
    }

    private func store(
        _ position: ReplicaPosition, _ tables: [FeedTable], _ connection: PostgresConnection
    ) throws(DatabaseError) {
        guard !tables.isEmpty else { return }
        let time = position.wallTimeNanoseconds
        let (seconds, nanoseconds) = TimeText.floorDivided(time, 1_000_000_000)
        let timestamp = Timestamp(seconds: seconds, nanoseconds: UInt32(nanoseconds))
        let names = tables.map { PostgresConnection.quotedText($0.stored.name) }.joined(separator: ", ")
        try connection.run(
            "UPDATE motte_feed SET version = $2::bigint, checksum = $3::bigint, committed_at = $4::timestamptz, "
                + "format = \(Self.format) WHERE origin = $1::uuid AND name IN (\(names))",
            [
                origin.text, "\(position.version.rawValue)", "\(position.checksum)",
                time == 0 ? nil : FeedValue.text(timestamp),
            ])
    }

    // MARK: Status

    package struct Status: Sendable {
        /// Which version of the file all its tables have, and when that was committed.
        package let version: Version
        package let committedAt: Timestamp?
        /// What is wrong; nil: nothing.
        package let problem: String?
    }

    /// nil: there are no tables of the file.
    package static func status(of session: Session, in address: String) throws(DatabaseError) -> Status? {
        let connection = try PostgresConnection(address)
        guard try connection.run("SELECT to_regclass('motte_feed')::text").first?[0] != nil else { return nil }
        let rows = try connection.run(
            "SELECT version::text, to_char(committed_at AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"'), "
                + "checksum::text FROM motte_feed WHERE origin = $1::uuid ORDER BY motte_feed.version",
            [try session.changeOrigin().text])
        // Since the file was opened it may have got, and fed, more.
        try session.refresh()
        var problem: String?
        for row in rows {
            guard let version = row[0].flatMap({ UInt64($0) }), let checksum = row[2].flatMap({ UInt32($0) }) else {
                continue
            }
            do throws(DatabaseError) { try check(session, has: Version(version), checksum) } catch {
                guard error.code == .historyForked else { throw error }
                problem = error.message
            }
        }
        guard let row = rows.first, let version = row[0].flatMap({ UInt64($0) }) else { return nil }
        return Status(
            version: Version(version), committedAt: row[1].flatMap { TimeText.parse($0) }, problem: problem)
    }
}

extension PostgresConnection {
    static func quotedText(_ text: String) -> String {
        "'" + text.parts(between: "'").joined(separator: "''") + "'"
    }
}
