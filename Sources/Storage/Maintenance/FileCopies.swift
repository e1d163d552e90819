/// Whole files: copies while others write, compaction, seeds. The work is done by Pages.
import MottePages
import MotteValues

package typealias MaintenanceProgress = PageProgress
package typealias MaintenanceProgressHandler = PageProgressHandler
package typealias CopyEncryption = MottePages.CopyEncryption
package typealias CompactionOutcome = MottePages.CompactionOutcome

extension Database {
    /// Writes what `pages` show to a new file without free pages, with the source's key unless another is named.
    /// Writers go on meanwhile.
    package func copy(
        _ pages: PageSnapshot, to path: String, encryption: CopyEncryption = .same,
        progress: MaintenanceProgressHandler? = nil
    ) throws(DatabaseError) {
        try self.pages.copy(pages, to: path, encryption: encryption, progress: progress)
    }

    /// Rewrites a file that nobody has open; `.busy` if somebody has. nil when `decide` did not want it.
    package static func compact(
        _ options: DatabaseOptions,
        decide: (_ totalBytes: Int, _ usedBytes: Int) throws(DatabaseError) -> Bool = { _, _ in true },
        progress: MaintenanceProgressHandler? = nil
    ) throws(DatabaseError) -> CompactionOutcome? {
        try PageStore.compact(options, decide: decide, progress: progress)
    }

    /// Whether there is something at the path; whether a database in memory is open.
    package static func exists(_ options: DatabaseOptions) throws(DatabaseError) -> Bool {
        try PageStore.exists(options)
    }

    /// Whether the file says that it is a database.
    package static func isDatabase(_ path: String) throws(DatabaseError) -> Bool { try PageStore.isDatabase(path) }

    /// A name for a file that is made in place of `target`, which must not be there.
    package static func temporaryName(
        beside target: String, _ purpose: String
    ) throws(DatabaseError) -> String {
        try PageStore.temporaryName(beside: target, purpose)
    }

    /// Gives a file that nobody has open another name, which nothing has.
    package static func rename(_ options: DatabaseOptions, to target: String) throws(DatabaseError) {
        try PageStore.rename(options, to: target)
    }

    /// Gives a file that nobody has open the name of another one, which goes, or is kept by the name `aside`. With an
    /// origin, only if the file that goes follows that; else `.outOfSequence`.
    package static func replace(
        _ options: DatabaseOptions, with path: String, keepingAs aside: String?, ifFollowing origin: ChangeOrigin?
    ) throws(DatabaseError) {
        guard let origin else { return try PageStore.replace(options, with: path, keepingAs: aside, check: nil) }
        try PageStore.replace(options, with: path, keepingAs: aside) { pages throws(DatabaseError) in
            let page = try pages.get(ReplicaPages.following)
            let leader = try page.flatMap { page throws(DatabaseError) in try FollowedLeader.decode(page.bytes) }
            guard leader?.origin == origin else {
                throw DatabaseError(
                    .outOfSequence,
                    "the file follows its leader no longer, and is left as it is: somebody has ended that")
            }
        }
    }

    /// Removes a file that nobody has open, with its sidecar; false when there is none.
    package static func deleteFile(_ options: DatabaseOptions) throws(DatabaseError) -> Bool {
        try PageStore.deleteFile(options)
    }

    /// False for anything that cannot be looked at.
    package static func isEncrypted(_ path: String) throws(DatabaseError) -> Bool { try PageStore.isEncrypted(path) }

    /// Makes the file at `path` from another one, if it is not there.
    package static func copySeed(
        _ seed: String, to path: String, encryptionKey: [UInt8]? = nil, mustBeEncrypted: Bool = false
    ) throws(DatabaseError) {
        try PageStore.copySeed(seed, to: path, encryptionKey: encryptionKey, mustBeEncrypted: mustBeEncrypted)
    }
}

extension Database {
    /// Differs between a file and its copies, whose histories go apart.
    package func epoch() throws(DatabaseError) -> String { try pages.header.historyEpoch.description }
}
