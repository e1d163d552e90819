/// What the boundary keeps for each thread: the last failure, and what callbacks said on their way out.
///
/// Reached through a pthread key, whose destructor lets it go when the thread ends. Only failing calls come here.
import CMotte
import Glibc
import MotteValues

final class ThreadState {
    private(set) var lastError: StoredError?
    /// While the function that receives messages runs.
    var isLogging = false
    /// From motte_callback_fail(), until the callback returns.
    var announced: (message: String?, pointer: UnsafeMutableRawPointer?, free: motte_free_fn?)?

    private static let key: pthread_key_t = {
        var key = pthread_key_t()
        pthread_key_create(&key) { state in
            if let state { Unmanaged<ThreadState>.fromOpaque(state).release() }
        }
        return key
    }()

    static var current: ThreadState {
        if let known = pthread_getspecific(key) {
            return Unmanaged<ThreadState>.fromOpaque(known).takeUnretainedValue()
        }
        let state = ThreadState()
        pthread_setspecific(key, Unmanaged.passRetained(state).toOpaque())
        return state
    }

    func fail(_ error: DatabaseError) {
        // Kept aside while it is replaced: the free function of the old error may fail calls of its own.
        let previous = lastError
        lastError = StoredError(error, error.details.callback as? CallbackFailure)
        withExtendedLifetime(previous) {}
    }

    /// A callback returned: 0, or a code to stop with.
    func callbackReturned(_ code: motte_status) throws(DatabaseError) {
        let said = announced
        announced = nil
        guard code != 0 else {
            said?.free?(said?.pointer)
            return
        }
        throw DatabaseError(
            refused: said?.message ?? "a callback returned \(code)",
            CallbackFailure(userCode: code, userPointer: said?.pointer, freePointer: said?.free))
    }
}

/// A failure in the form that C reads. Never changes, so a captured one is simply shared.
final class StoredError: @unchecked Sendable {  // @unchecked: immutable after init
    private let code: motte_status
    private let category: motte_category
    private let systemError: Int32
    private let message: UnsafeMutablePointer<CChar>?
    private let path: UnsafeMutablePointer<CChar>?
    private let className: UnsafeMutablePointer<CChar>?
    private let propertyName: UnsafeMutablePointer<CChar>?
    private let queryOffset: Int64
    private let rowIndex: Int64
    private let callback: CallbackFailure?

    init(_ error: DatabaseError, _ callback: CallbackFailure?) {
        code = error.code.rawValue
        category = error.code.category.rawValue
        systemError = error.details.systemError
        message = copyCString(error.code == .callback ? error.message : Wording.ofC(error.message))
        path = error.details.path.flatMap(copyCString)
        className = error.details.className.flatMap(copyCString)
        propertyName = error.details.propertyName.flatMap(copyCString)
        queryOffset = error.details.queryOffset.map(Int64.init) ?? -1
        rowIndex = error.details.rowIndex.map(Int64.init) ?? -1
        self.callback = callback
    }

    var details: motte_error_details {
        motte_error_details(
            struct_size: 0, code: code, category: category, system_error: systemError,
            message: UnsafePointer(message) ?? emptyText.data, path: UnsafePointer(path),
            class_name: UnsafePointer(className), property_name: UnsafePointer(propertyName), query_offset: queryOffset,
            row_index: rowIndex, user_code: callback?.userCode ?? 0, reserved: 0, user_pointer: callback?.userPointer)
    }

    deinit {
        free(message)
        free(path)
        free(className)
        free(propertyName)
    }
}
