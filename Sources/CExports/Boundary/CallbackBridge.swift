/// The userdata of a callback with its free function, which runs exactly once: when nobody can call the callback any
/// more, never while it runs and never under a lock of ours.
import CMotte
import MotteStorage
import MotteValues
import Synchronization

final class CallbackBridge: Sendable {
    // nonisolated(unsafe): only handed on, never looked at.
    private nonisolated(unsafe) let userdata: UnsafeMutableRawPointer?
    private let free: motte_free_fn?
    /// Callers inside the callback; the top bit says that no new one may enter.
    private let users = Atomic<UInt64>(0)
    private let freed = Atomic<Bool>(false)
    private static let closed: UInt64 = 1 << 63

    init(_ userdata: UnsafeMutableRawPointer?, _ free: motte_free_fn?) {
        self.userdata = userdata
        self.free = free
    }

    /// Calls back unless it was closed. What the callback refuses with becomes the error of whoever delivers.
    func call(_ body: (UnsafeMutableRawPointer?) -> motte_status) throws(DatabaseError) {
        guard users.add(1, ordering: .acquiringAndReleasing).oldValue & Self.closed == 0 else { return leave() }
        let code = body(userdata)
        leave()
        try ThreadState.current.callbackReturned(code)
    }

    /// No call starts after this; frees at once, or when the running call returns.
    func close() {
        let before = users.bitwiseOr(Self.closed, ordering: .acquiringAndReleasing).oldValue
        if before & ~Self.closed == 0 { freeOnce() }
    }

    private func leave() {
        if users.subtract(1, ordering: .acquiringAndReleasing).newValue == Self.closed { freeOnce() }
    }

    private func freeOnce() {
        guard !freed.exchange(true, ordering: .acquiringAndReleasing) else { return }
        free?(userdata)
    }

    deinit { freeOnce() }
}

/// Runs a call that may call back, and frees the userdata when it ends, however it ends.
func boundary(
    calling userdata: UnsafeMutableRawPointer?, _ free: motte_free_fn?,
    _ body: (CallbackBridge) throws(DatabaseError) -> Outcome
) -> motte_status {
    let bridge = CallbackBridge(userdata, free)
    let status = boundary { () throws(DatabaseError) in try body(bridge) }
    bridge.close()
    return status
}

/// Registers a callback, which frees the userdata when its time comes; here if that fails.
func boundary(
    keeping userdata: UnsafeMutableRawPointer?, _ free: motte_free_fn?,
    _ body: (CallbackBridge) throws(DatabaseError) -> Outcome
) -> motte_status {
    let bridge = CallbackBridge(userdata, free)
    let status = boundary { () throws(DatabaseError) in try body(bridge) }
    if status != .ok { bridge.close() }
    return status
}

extension CallbackBridge {
    /// A caller's progress function as the engine takes it; nil for none.
    func progress(_ callback: motte_progress_fn?) -> MaintenanceProgressHandler? {
        guard let callback else { return nil }
        return { (progress) throws(DatabaseError) in
            try self.call { callback($0, UInt64(clamping: progress.done), UInt64(clamping: progress.total)) }
        }
    }
}

/// A handle for the length of a callback. Clones that the callback makes live on.
func lend(_ box: Box, _ body: (OpaquePointer?) throws(DatabaseError) -> Void) throws(DatabaseError) {
    let token = try HandleTable.shared.insert(box)
    defer { HandleTable.shared.release(token) }
    try body(token.pointer)
}

/// What a callback left behind when it returned non-zero; the error that it caused has it.
final class CallbackFailure: Sendable {
    let userCode: Int32
    // nonisolated(unsafe): only handed on, never looked at.
    nonisolated(unsafe) let userPointer: UnsafeMutableRawPointer?
    private let freePointer: motte_free_fn?

    init(userCode: Int32, userPointer: UnsafeMutableRawPointer?, freePointer: motte_free_fn?) {
        self.userCode = userCode
        self.userPointer = userPointer
        self.freePointer = freePointer
    }

    deinit { freePointer?(userPointer) }
}
