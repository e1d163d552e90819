/// What happens where a program breaks a rule and RealmSwift's signature leaves no way to throw: a deleted object is
/// read, a realm is used on another thread, a property is changed outside of a write, an index is out of range.
import CMotteShim
import Foundation
import MotteLiveObjects
import MotteValues

#if canImport(Glibc)
import Glibc
#endif

extension Realm {
    /// A broken rule. `code` groups them as thrown errors are.
    public struct Misuse: Sendable, CustomStringConvertible {
        /// What was wrong, and what to do instead. It begins with RealmSwift's phrase where that has one.
        public let message: String
        /// The group it belongs to, as of thrown errors; `.fail` for what has no group of its own.
        public let code: Error.Code
        /// The message.
        public var description: String { message }
    }

    /// Called for every broken rule, on the thread that broke it. The default writes the message to standard error and
    /// ends the program with SIGABRT, in release builds too. A handler that returns lets the program go on: nothing was
    /// changed, and what was read is a default value, a new unmanaged object or nil. Tests install one to see the
    /// message, servers to log it.
    public static var misuseHandler: @Sendable (Misuse) -> Void {
        get { handler.withLock { $0 }.call }
        set {
            let new = Handler(call: newValue)
            handler.withLock { $0 = new }
        }
    }

    /// Goes in and out of the lock as a whole: a function by itself would be wrapped once more every time.
    private struct Handler {
        let call: @Sendable (Misuse) -> Void
    }
    private static let handler = Locked(
        ofProcess: Handler { misuse in
            endProgram(misuse.message + "\nSet Realm.misuseHandler to be called instead and go on.")
        })
}

/// Ends the program with a message, which a trap would drop where it is built with optimisation: one write to standard
/// error that no buffer holds back, then SIGABRT, as an exception that nobody catches ends a program.
@inline(never)
func endProgram(_ message: String) -> Never {
    var text = "Motte: \(message)\n"
    text.withUTF8 { bytes in
        var written = 0
        while written < bytes.count {
            let count = write(2, bytes.baseAddress.map { $0 + written }, bytes.count - written)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { break }
            written += count
        }
    }
    abort()
}

/// Reports a broken rule.
@inline(never)
package func misuse(_ message: String, _ code: Realm.Error.Code = .fail) {
    ReportedMisuse.note(motte_shim_thread_serial())
    Realm.misuseHandler(Realm.Misuse(message: message, code: code))
}

@inline(never)
package func misuse(_ error: any Swift.Error) {
    if (error as? DatabaseError)?.details === ReportedMisuse.error.details { return }
    // Thrown where the part that is interruptible ends.
    if let ended = error as? DatabaseError, QueryScope.note(ended) { return }
    let error = (error as? DatabaseError).map { Realm.Error($0) } ?? (error as? Realm.Error)
    misuse(error?.message ?? "an operation failed", error?.code ?? .fail)
}

/// Runs what only misuse makes fail; nil after misuse.
@inline(__always)
package func attempt<T>(_ body: () throws(DatabaseError) -> T) -> T? {
    do throws(DatabaseError) { return try body() } catch {
        misuse(error)
        return nil
    }
}

/// The same with something to return after misuse.
@inline(__always)
package func attempt<T>(or fallback: @autoclosure () -> T, _ body: () throws(DatabaseError) -> T) -> T {
    do throws(DatabaseError) { return try body() } catch {
        misuse(error)
        return fallback()
    }
}
