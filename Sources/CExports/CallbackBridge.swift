/// The userdata of a callback with its free function, which runs exactly once: when nobody can call the callback any
/// more, never while it runs and never under a lock of ours.
import CMotte
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

/// What a callback left behind when it returned non-zero.
final class CallbackFailure {
    let userCode: Int32
    let userPointer: UnsafeMutableRawPointer?
    private let freePointer: motte_free_fn?

    init(userCode: Int32, userPointer: UnsafeMutableRawPointer?, freePointer: motte_free_fn?) {
        self.userCode = userCode
        self.userPointer = userPointer
        self.freePointer = freePointer
    }

    deinit { freePointer?(userPointer) }
}
