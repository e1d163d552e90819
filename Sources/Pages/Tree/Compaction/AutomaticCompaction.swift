/// When a file compacts itself: with the commits that are made anyway, while most of it is free.
import MotteValues

/// The writer's part.
struct AutomaticCompaction {
    private var running: OnlineCompaction?
    private var commitsToWait = 0
    /// Something could not be read; whoever verifies the file finds out what.
    private var isStopped = false

    /// Smaller files are not worth it.
    private static let leastUnused: PageCount = 1024
    /// After one has ended: what it left is held by somebody, or found no room.
    private static let commitsBetween = 256

    /// The step for the next commit; nil where the file is not worth one.
    mutating func step(_ root: RootSlot) -> OnlineCompaction? {
        guard !isStopped else { return nil }
        if let running {
            if !running.isEnded { return running }
            self.running = nil
            commitsToWait = AutomaticCompaction.commitsBetween
        }
        if commitsToWait > 0 {
            commitsToWait -= 1
            return nil
        }
        let used = root.treePageCount
        guard root.pageCount - used > max(AutomaticCompaction.leastUnused, used) else { return nil }
        running = OnlineCompaction(stepBytes: OnlineCompaction.automaticStepBytes, isAutomatic: true)
        return running
    }

    mutating func stop() { isStopped = true }
}
