/// Opening a Realm file as a Motte database, where the program wants that: the first time it is converted to a file
/// beside it, `app.realm` to `app.motte`, and that file is opened, then and later.
///
/// `app.motte-source` says which version of the Realm file was converted. Should the Realm file be another one later,
/// somebody has written to it, and nobody can tell which of the two counts: that is an error, which names both.
import MotteLiveObjects
import MotteRealmFile
import MotteValues

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

package enum RealmFileOpening {
    /// The options to open with: the same, but for the path where that of a Realm file was given. Converts the file if
    /// it has not been. Files that are opened for reading only are not converted.
    package static func prepare(
        _ options: SessionOptions, progress: ((Int, Int) throws(DatabaseError) -> Void)? = nil
    ) throws(DatabaseError) -> (options: SessionOptions, summary: RealmSummary?) {
        guard case .file(let path) = options.location else { return (options, nil) }
        let target = convertedPath(path)
        var converted = options
        converted.location = .file(target)
        guard exists(path) else {
            // The Realm file may be deleted when it is not needed any more.
            let isConverted = exists(target) ? try Session.isDatabase(target) : false
            return (isConverted ? converted : options, nil)
        }
        guard let source = try realmFile(path, options.encryptionKey) else { return (options, nil) }
        if exists(target) {
            try checkUnchanged(source, target)
            return (converted, nil)
        }
        guard !options.isReadOnly, !options.isImmutable else { return (options, nil) }
        var conversion = RealmConversion.Options()
        conversion.sourceKey = source.isEncrypted ? options.encryptionKey : nil
        conversion.key = options.encryptionKey
        conversion.progress = progress
        do throws(DatabaseError) {
            let summary = try RealmConversion.convert(path, to: target, conversion)
            try remember(summary, target)
            return (converted, summary)
        } catch {
            // Another process was faster.
            guard error.code == .invalidArgument, error.details.path.hasSameBytes(as: target), exists(target) else {
                throw error
            }
            return (converted, nil)
        }
    }

    /// `app.motte` for `app.realm`, `data.motte` for `data`.
    package static func convertedPath(_ path: String) -> String {
        (path.beforeBytes(of: ".realm") ?? path) + ".motte"
    }

    /// nil for everything else. Of an encrypted file nobody can tell without trying.
    package static func realmFile(_ path: String, _ key: [UInt8]?) throws(DatabaseError) -> RealmFile? {
        if try Session.isDatabase(path) { return nil }
        if try RealmFile.format(at: path) != nil { return try RealmFile(path) }
        guard let key else { return nil }
        do throws(DatabaseError) { return try RealmFile(path, key: key) } catch {
            // Opening it as a Motte file says what it is not.
            guard error.code == .wrongKey || error.code == .unsupportedFormat else { throw error }
            return nil
        }
    }

    // MARK: Which version was converted

    private static func description(version: UInt64, size: Int) -> String { "realm \(version) \(size)\n" }

    private static func remember(_ summary: RealmSummary, _ target: String) throws(DatabaseError) {
        let path = target + "-source"
        let text = description(version: summary.sourceVersion, size: summary.sourceSize)
        try OutputFile.create(path) { (sink) throws(DatabaseError) in sink.append(text: text) }
    }

    private static func checkUnchanged(_ source: RealmFile, _ target: String) throws(DatabaseError) {
        let path = target + "-source"
        // Without it the file was converted by hand, or moved here: there is nothing to compare with.
        guard exists(path), let known = try? InputFile(path) else { return }
        guard known.text != description(version: source.version, size: source.size) else { return }
        throw DatabaseError(
            .invalidArgument,
            "'\(source.path)' was changed after it was converted to '\(target)'; move one of the two away: without "
                + "'\(target)' it is converted again, without '\(path)' the Motte file is opened as it is",
            path: source.path)
    }

    private static func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }
}
