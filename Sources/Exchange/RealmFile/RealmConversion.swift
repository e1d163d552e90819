/// A Realm file made into a Motte file beside it: imported under a temporary name, read back from the file and compared
/// object by object, and named only then. The Realm file is only read; nothing is replaced; a failure leaves nothing.
import MotteLiveObjects
import MotteRealmFile
import MotteSchemaModel
import MotteStorage
import MotteValues

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

package enum RealmConversion {
    package struct Options {
        /// Of the Realm file, 64 bytes.
        package var sourceKey: [UInt8]?
        /// Of the new file; nil: it is not encrypted.
        package var key: [UInt8]?
        /// Inverse properties, further classes and properties.
        package var schema: Schema?
        /// What would be noted as changed or left out is an error.
        package var isStrict = false
        /// Objects that are committed together, which bounds memory: until it has its name nobody sees the file.
        package var commitEvery = 1_000_000
        /// Counts objects twice, when they are imported and when they are compared.
        package var progress: ((_ done: Int, _ total: Int) throws(DatabaseError) -> Void)?
        /// Called before the comparison, with the path of the new file; only tests set it.
        package var willCompare: ((String) -> Void)?

        package init() {}
    }

    package static func convert(
        _ source: String, to destination: String, _ options: Options = Options()
    ) throws(DatabaseError) -> RealmSummary {
        let file = try RealmFile(source, key: options.sourceKey)
        let schema = try RealmSchema(file, adding: options.schema)
        let path = try Session.temporaryName(beside: destination, "converting")
        do throws(DatabaseError) {
            let summary = try make(path, file, schema, options)
            try Session.rename(path, to: destination)
            return summary
        } catch {
            remove(path)
            throw error
        }
    }

    private static func make(
        _ path: String, _ file: RealmFile, _ schema: RealmSchema, _ options: Options
    ) throws(DatabaseError) -> RealmSummary {
        var opening = SessionOptions(path: path, schema: schema.schema)
        opening.schemaVersion = schema.version
        opening.encryptionKey = options.key
        let session = try Session.open(opening)
        // A commit is what keeps the work; closing after a failure has nothing to lose.
        defer { _ = try? session.close() }
        var importing = RealmImport.Options()
        importing.isStrict = options.isStrict
        importing.commitEvery = options.commitEvery
        importing.isAlone = true
        if let progress = options.progress {
            importing.progress = { (done, total) throws(DatabaseError) in try progress(done, 2 * total) }
        }
        try session.beginWrite()
        let importer = try RealmImport(file, schema, into: session, importing)
        let summary = try importer.run()
        try session.commit()
        options.willCompare?(path)
        try compare(importer, opening, options)
        // Not before everything of it has been read for the last time.
        try file.checkUnchanged()
        return summary
    }

    private static func compare(
        _ importer: RealmImport, _ opening: SessionOptions, _ options: Options
    ) throws(DatabaseError) {
        let session = try Session.open(opening.readingOnly)
        // Only read from.
        defer { _ = try? session.close() }
        guard let translation = RealmTranslation(importer.plan, session, isStrict: false) else { return }
        translation.isNoting = false
        let total = importer.total
        var done = 0
        try RealmComparison(translation).run { (count) throws(DatabaseError) in
            done += count
            try options.progress?(total + done, 2 * total)
        }
        try options.progress?(2 * total, 2 * total)
    }

    /// Whatever there is of it.
    private static func remove(_ path: String) {
        // What failed before is what is said.
        _ = try? Session.deleteFile(SessionOptions(path: path))
        unlink(path)
        unlink(path + "-shared")
    }
}
