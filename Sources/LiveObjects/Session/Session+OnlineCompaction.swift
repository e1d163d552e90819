/// Compaction of a file that others have open: they go on between its steps.
import MotteStorage
import MotteValues

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

extension Session {
    /// Others show the newest version a moment after it was committed.
    private static let mostWaits = 5
    private static let waitMicroseconds: UInt32 = 20_000

    /// Moves what is at the end of the file to free pages before it, in commits of a few megabytes, and gives the end
    /// back as far as nobody shows a version that needs it. With `mostBytes` no more than about so many are moved. The
    /// session goes on at the newest version; what others commit meanwhile is delivered between two steps.
    package func compactOnline(
        mostBytes: Int? = nil, stepBytes: Int = OnlineCompaction.stepBytes,
        progress: MaintenanceProgressHandler? = nil
    ) throws(DatabaseError) -> OnlineCompaction.Outcome {
        try checkMayCompact()
        try checkMayWrite()
        guard case .file = options.location else {
            throw DatabaseError(.unsupported, "a database in memory has no file to compact", path: path)
        }
        let most = mostBytes ?? .max
        let compaction = OnlineCompaction(stepBytes: min(stepBytes, most))
        var waits = 0
        while !compaction.isEnded {
            try step(compaction)
            if compaction.outcome.movedBytes >= most { compaction.finish() }
            if let progress { try progress(compaction.progress) }
            guard compaction.isEnded, compaction.outcome.heldBytes > 0, waits < Session.mostWaits else { continue }
            waits += 1
            usleep(Session.waitMicroseconds)
            compaction.settleAgain()
        }
        return compaction.outcome
    }

    private func step(_ compaction: OnlineCompaction) throws(DatabaseError) {
        // The version that this session showed would keep what the step leaves.
        try refresh()
        try movingToNewest { snapshot throws(DatabaseError) in
            try database.compact(compaction, on: snapshot, as: writeHolder)
        }
        try refresh()
    }
}
