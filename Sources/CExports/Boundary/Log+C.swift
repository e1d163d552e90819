/// Messages about what the library does, for the one function of a program that wants them.
///
/// Nobody wants any at first, which costs a call one read of a number. A message is made only where its level is
/// wanted. What the function itself calls is not logged, so that it may call anything.
import CMotte
import MotteLiveObjects
import MotteValues
import Synchronization

enum Log {
    enum Level: Int32 {
        case error = 1, warn, info, debug, trace
    }

    private struct Sink: Sendable {
        let callback: motte_log_fn
        let bridge: CallbackBridge
    }

    private static let wanted = Atomic<Int32>(0)
    private static let sink = Locked<Sink?>(ofProcess: nil)

    static func set(_ level: Int32, _ callback: motte_log_fn?, _ bridge: CallbackBridge) {
        let next = callback.map { Sink(callback: $0, bridge: bridge) }
        let previous = sink.withLock { sink in
            let previous = sink
            sink = next
            wanted.store(next == nil ? 0 : level, ordering: .relaxed)
            return previous
        }
        // Outside of the lock: the free function may call anything.
        previous?.bridge.close()
        if next == nil { bridge.close() }
    }

    @inline(__always)
    static func write(_ level: Level, _ category: StaticString, _ message: @autoclosure () -> String) {
        if level.rawValue <= wanted.load(ordering: .relaxed) { pass(level, category, message()) }
    }

    @inline(never)
    private static func pass(_ level: Level, _ category: StaticString, _ message: String) {
        let state = ThreadState.current
        guard !state.isLogging, let sink = sink.withLock({ $0 }) else { return }
        // What the function calls may fail as well, and is not to take the place of the failure that is logged.
        let announced = state.announced
        state.isLogging = true
        state.announced = nil
        defer {
            state.isLogging = false
            state.announced = announced
        }
        let name = UnsafeRawPointer(category.utf8Start).assumingMemoryBound(to: CChar.self)
        message.withCString { text in
            sink.bridge.pass { sink.callback($0, level.rawValue, name, text) }
        }
    }

    /// A call that fails. Before it becomes the thread's last error, which the function must not disturb.
    @inline(__always)
    static func write(_ error: DatabaseError) {
        if Level.error.rawValue <= wanted.load(ordering: .relaxed) { pass(error) }
    }

    @inline(never)
    private static func pass(_ error: DatabaseError) {
        switch error.code.category {
        case .storage, .resource, .internal: write(.error, "storage", Wording.ofC(error.message))
        default: write(.debug, "call", Wording.ofC(error.message))
        }
    }

    /// What opening does to a file.
    static func write(_ name: String, _ note: OpeningNote) {
        switch note {
        case .compacted(let outcome):
            write(.info, "storage", "\(name): compacted from \(outcome.bytesBefore) to \(outcome.bytesAfter) bytes")
        case .schema(let plan): write(.info, "schema", "\(name): \(plan.lines.joined(separator: "; "))")
        case .opened(let version): write(.debug, "storage", "\(name): opened at version \(version.rawValue)")
        }
    }
}

extension CallbackBridge {
    /// Calls back a function that has nothing to refuse.
    func pass(_ body: (UnsafeMutableRawPointer?) -> Void) {
        do throws(DatabaseError) {
            try call { userdata in
                body(userdata)
                return 0
            }
        } catch {
            // Only a code other than 0 comes here.
        }
    }
}

@_cdecl("motte_log_set") @implementation
public func motte_log_set(
    _ level: motte_log_level, _ callback: motte_log_fn?, _ userdata: UnsafeMutableRawPointer?,
    _ free_userdata: motte_free_fn?
) -> motte_status {
    boundary(keeping: userdata, free_userdata) { (bridge) throws(DatabaseError) in
        guard level >= Int32(MOTTE_LOG_OFF), level <= Int32(MOTTE_LOG_TRACE) else {
            throw DatabaseError(.invalidArgument, "\(level) is no MOTTE_LOG_ level")
        }
        Log.set(level, level == Int32(MOTTE_LOG_OFF) ? nil : callback, bridge)
        return .ok
    }
}
