/// Feeding a PostgreSQL database: the objects of chosen classes as rows of tables, kept as the file has them.
///
///     P1  one step is one transaction: rows are as at one version of the file, and it also keeps which version that is
///     P2  each step begins at the version that the database has; so one whose commit got no answer is done again, or
///         is seen to have been done
///     P3  a table that the feed has not made is never written to
///     P4  the file's change log keeps what the database does not have yet; where it was trimmed nevertheless, tables
///         are loaded whole
///
/// `motte_feed` has a row for each file, `motte_feed_tables` one for each table, with the version that it shows.
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
    private static let mark = "Made by motte ship: which version of which file its tables show. Format 1"
    /// Two feeds of a database wait for each other.
    private static let lock = 0x6D6F_7474

    private static let schemes = ["postgresql://", "postgres://"]

    private static func scheme(_ text: String) -> String { schemes.first { text.hasPrefix($0) } ?? "" }

    /// Whether a place is one of these.
    package static func isPlace(_ text: String) -> Bool { !scheme(text).isEmpty }

    /// How it is named in the file, and printed: without the password.
    package static func name(_ address: String) -> String {
        var parts = address.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        let start = parts[0].index(parts[0].startIndex, offsetBy: scheme(address).count)
        let end = parts[0][start...].firstIndex(of: "/") ?? parts[0].endIndex
        if let at = parts[0][start ..< end].lastIndex(of: "@"),
            let colon = parts[0][start ..< at].firstIndex(of: ":")
        {
            parts[0].removeSubrange(colon ..< at)
        }
        guard parts.count == 2 else { return parts[0] }
        let secrets = ["password=", "sslpassword="]
        let shown = parts[1].split(separator: "&").filter { part in !secrets.contains { part.hasPrefix($0) } }
        return parts[0] + (shown.isEmpty ? "" : "?" + shown.joined(separator: "&"))
    }

    package init(
        _ session: Session, to address: String, classes: [String]?, consumer: String? = nil
    ) throws(DatabaseError) {
        self.session = session
        self.address = address
        self.consumer = consumer ?? Self.name(address)
        classNames = classes
        origin = try session.changeOrigin()
        for name in classes ?? [] where try session.committedSnapshot().catalog.table(named: name) == nil {
            throw DatabaseError(.unknownClass, "the file has no class '\(name)'", className: name)
        }
        let connection = try PostgresConnection(address)
        self.connection = connection
        let position = try connection.transaction { () throws(DatabaseError) in
            try prepare(connection)
            return try self.position(connection)
        }
        // It may be ahead of a file that was replaced, which a step refuses.
        let newest = try session.version
        try keep(from: position.map { min($0.version, newest) })
    }

    private func tables(_ snapshot: Snapshot) throws(DatabaseError) -> [FeedTable] {
        var tables: [FeedTable] = []
        for stored in snapshot.catalog.tables where classNames?.contains(stored.name) ?? true {
            tables.append(try FeedTable(stored))
        }
        return tables
    }

    // MARK: What the feed keeps there

    private func prepare(_ connection: PostgresConnection) throws(DatabaseError) {
        try connection.run("SELECT pg_advisory_xact_lock(\(Self.lock))")
        let found = try connection.run(
            "SELECT obj_description(to_regclass('motte_feed'), 'pg_class'), to_regclass('motte_feed')::text, "
                + "to_regclass('motte_feed_tables')::text"
        ).first
        guard found?[1] != nil || found?[2] != nil else {
            try connection.run(
                "CREATE TABLE motte_feed (origin uuid PRIMARY KEY, version bigint NOT NULL, checksum bigint NOT NULL, "
                    + "committed_at timestamp with time zone)")
            try connection.run("COMMENT ON TABLE motte_feed IS '\(Self.mark)'")
            try connection.run(
                "CREATE TABLE motte_feed_tables (name text PRIMARY KEY, identity oid NOT NULL, "
                    + "origin uuid NOT NULL, version bigint NOT NULL)")
            return
        }
        guard found?[0] == Self.mark, found?[2] != nil else {
            throw DatabaseError(
                .invalidArgument,
                "the database has a table motte_feed that this feed has not made; name another database, or another "
                    + "schema with ?options=-csearch_path%3DNAME")
        }
    }

    struct Position {
        let version: Version
        let checksum: UInt32
    }

    private func position(_ connection: PostgresConnection) throws(DatabaseError) -> Position? {
        let row = try connection.run(
            "SELECT version::text, checksum::text FROM motte_feed WHERE origin = $1::uuid", [origin.text]
        ).first
        guard let row, let version = row[0].flatMap({ UInt64($0) }), let checksum = row[1].flatMap({ UInt32($0) })
        else { return nil }
        return Position(version: Version(version), checksum: checksum)
    }

    /// P2: the database may be ahead of a file that was replaced by an older copy.
    private func check(_ position: Position) throws(DatabaseError) {
        let own = try session.changeChecksum(of: position.version)
        if let own, own == position.checksum || own == 0 || position.checksum == 0 { return }
        throw DatabaseError(
            .historyForked,
            "the database has version \(position.version.rawValue) of this file, which this one does not have: it was "
                + "replaced by an older copy. Drop the tables that motte_feed_tables names, and motte_feed, and feed "
                + "it again", path: session.path)
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
        let position = try position(connection)
        if let position {
            if try position.version > shown.version {
                // While this waited for its turn another feed has brought what is newer, as one does that was killed
                // and whose transaction the server ends; or the newest version lacks it as well.
                try session.refresh()
                try check(position)
                isBehind = true
                return nil
            }
            try check(position)
        }
        let summary = try position.flatMap { position throws(DatabaseError) in
            try session.database.changes(from: position.version, to: snapshot)
        }
        // Columns are looked at by whoever begins.
        let mayDiffer = fed == nil || summary?.schemaChanged ?? true
        var rows = 0
        var isChanged = false
        for table in try tables(snapshot) {
            let state = mayDiffer ? try make(table, position, connection) : .current
            if state == .empty || summary == nil {
                rows += try table.load(connection, snapshot)
                isChanged = true
            } else if let changes = summary?.table(table.stored.key) {
                rows += try table.apply(changes, connection, snapshot)
                isChanged = true
            }
        }
        try store(try shown.ownPosition(), connection)
        return isChanged ? rows : nil
    }

    private enum State {
        case current, empty
    }

    /// P3. `empty` where all objects are to be loaded.
    private func make(
        _ table: FeedTable, _ position: Position?, _ connection: PostgresConnection
    ) throws(DatabaseError) -> State {
        let known = try connection.run(
            "SELECT identity::text, origin::text, version::text FROM motte_feed_tables WHERE name = $1",
            [table.stored.name]
        ).first
        let found = try table.identity(connection)
        if let found {
            guard let known, known[0] == found else {
                throw DatabaseError(
                    .invalidArgument,
                    "there is a table \(table.name) that the feed has not made; rename it, name another schema with "
                        + "?options=-csearch_path%3DNAME, or leave the class out with --class",
                    className: table.stored.name)
            }
            guard known[1] == origin.text.lowercased() else {
                throw DatabaseError(
                    .historyForked,
                    "the table \(table.name) has the objects of another file; name another schema with "
                        + "?options=-csearch_path%3DNAME, or drop it", className: table.stored.name)
            }
            let isAdapted = try table.adapt(connection)
            return isAdapted || known[2] != (position?.version.rawValue).map { "\($0)" } ? .empty : .current
        }
        try table.create(connection)
        try connection.run(
            "INSERT INTO motte_feed_tables VALUES ($1, to_regclass($2)::oid, $3::uuid, 0) ON CONFLICT (name) DO UPDATE "
                + "SET identity = excluded.identity, origin = excluded.origin",
            [table.stored.name, table.name, origin.text])
        return .empty
    }

    private func store(_ position: ReplicaPosition, _ connection: PostgresConnection) throws(DatabaseError) {
        let version = "\(position.version.rawValue)"
        let time = position.wallTimeNanoseconds
        let (seconds, nanoseconds) = TimeText.floorDivided(time, 1_000_000_000)
        let timestamp = Timestamp(seconds: seconds, nanoseconds: UInt32(nanoseconds))
        try connection.run(
            "INSERT INTO motte_feed VALUES ($1::uuid, $2::bigint, $3::bigint, $4::timestamptz) ON CONFLICT (origin) DO "
                + "UPDATE SET version = excluded.version, checksum = excluded.checksum, "
                + "committed_at = excluded.committed_at",
            [origin.text, version, "\(position.checksum)", time == 0 ? nil : FeedValue.text(timestamp)])
        let names = classNames.map { names in names.map(PostgresConnection.quotedText).joined(separator: ", ") }
        try connection.run(
            "UPDATE motte_feed_tables SET version = $2::bigint WHERE origin = $1::uuid"
                + (names.map { " AND name IN (\($0))" } ?? ""), [origin.text, version])
    }

    // MARK: Status

    /// Which version of the file the database has, and when that was committed; nil: none.
    package static func version(
        of origin: ChangeOrigin, in address: String
    ) throws(DatabaseError) -> (version: Version, committedAt: Timestamp?)? {
        let connection = try PostgresConnection(address)
        guard try connection.run("SELECT to_regclass('motte_feed')::text").first?[0] != nil else { return nil }
        let row = try connection.run(
            "SELECT version::text, to_char(committed_at AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"') "
                + "FROM motte_feed WHERE origin = $1::uuid", [origin.text]
        ).first
        guard let row, let version = row[0].flatMap({ UInt64($0) }) else { return nil }
        return (Version(version), row[1].flatMap { TimeText.parse($0) })
    }
}

extension PostgresConnection {
    static func quotedText(_ text: String) -> String {
        "'" + text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "''") + "'"
    }
}
