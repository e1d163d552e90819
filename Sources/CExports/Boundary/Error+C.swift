/// Names and sentences of the statuses, and the details of failures.
import CMotte
import MotteValues

private func text(_ status: motte_status) -> (name: StaticString, message: StaticString) {
    if let code = ErrorCode(rawValue: status) { return text(code) }
    switch status {
    case .ok: return ("MOTTE_OK", "Success.")
    case .notFound: return ("MOTTE_NOT_FOUND", "There is no such thing.")
    case .null: return ("MOTTE_NULL", "The value is null.")
    case .end: return ("MOTTE_END", "Nothing is left.")
    case .unchanged: return ("MOTTE_UNCHANGED", "It was so already.")
    case .truncated: return ("MOTTE_TRUNCATED", "The array was too small for all of it.")
    case .pending: return ("MOTTE_PENDING", "Nothing yet.")
    default: return ("MOTTE_UNKNOWN_STATUS", "A status that this library does not know.")
    }
}

private func text(_ code: ErrorCode) -> (name: StaticString, message: StaticString) {
    switch code {
    case .nullArgument: ("MOTTE_E_NULL_ARGUMENT", "A required argument is NULL.")
    case .badHandle: ("MOTTE_E_BAD_HANDLE", "The number is not a handle of this library.")
    case .staleHandle: ("MOTTE_E_STALE_HANDLE", "The handle was released before.")
    case .wrongKind: ("MOTTE_E_WRONG_KIND", "The handle is of another kind than the function takes.")
    case .wrongThread: ("MOTTE_E_WRONG_THREAD", "The realm belongs to another thread.")
    case .closed: ("MOTTE_E_CLOSED", "The realm was closed.")
    case .reentrant: ("MOTTE_E_REENTRANT", "The call is not allowed inside a callback.")
    case .forked: ("MOTTE_E_FORKED", "The handle was made before fork().")
    case .invalidUTF8: ("MOTTE_E_INVALID_UTF8", "A text is not valid UTF-8.")
    case .badStructSize: ("MOTTE_E_BAD_STRUCT_SIZE", "struct_size is not set to the size of the struct.")
    case .invalidArgument: ("MOTTE_E_INVALID_ARGUMENT", "An argument has a value that is never allowed.")
    case .unknownFlag: ("MOTTE_E_UNKNOWN_FLAG", "A flags word has unknown bits.")
    case .outOfBounds: ("MOTTE_E_OUT_OF_BOUNDS", "An index is not below the count.")
    case .notInWrite: ("MOTTE_E_NOT_IN_WRITE", "The call needs an open write.")
    case .alreadyInWrite: ("MOTTE_E_ALREADY_IN_WRITE", "The call is not allowed while a write is open.")
    case .frozen: ("MOTTE_E_FROZEN", "The thing is frozen and cannot change.")
    case .readOnly: ("MOTTE_E_READ_ONLY", "The realm was opened read-only.")
    case .objectDeleted: ("MOTTE_E_OBJECT_DELETED", "The object was deleted.")
    case .timeout: ("MOTTE_E_TIMEOUT", "The time was up before the write lock was free.")
    case .busy: ("MOTTE_E_BUSY", "Somebody else is using the file.")
    case .schemaChanged: ("MOTTE_E_SCHEMA_CHANGED", "Another process changed the schema; open the realm again.")
    case .historyUnavailable:
        ("MOTTE_E_HISTORY_UNAVAILABLE", "The change log does not reach back to this version; read everything.")
    case .outOfSequence:
        ("MOTTE_E_OUT_OF_SEQUENCE", "The change batch does not begin where the last one of its origin ended.")
    case .historyForked:
        ("MOTTE_E_HISTORY_FORKED", "The change batch and the file do not belong to one history; begin a new file.")
    case .interrupted: ("MOTTE_E_INTERRUPTED", "The query was ended before it was done.")
    case .outcomeUnknown:
        ("MOTTE_E_OUTCOME_UNKNOWN", "Whether it is done is not known; look before doing it again.")
    case .wrongType: ("MOTTE_E_WRONG_TYPE", "The value is not of the property's type.")
    case .nullNotAllowed: ("MOTTE_E_NULL_NOT_ALLOWED", "The property cannot be null.")
    case .duplicatePrimaryKey: ("MOTTE_E_DUPLICATE_PRIMARY_KEY", "An object with this primary key exists.")
    case .valueTooLarge: ("MOTTE_E_VALUE_TOO_LARGE", "The value is larger than can be stored.")
    case .primaryKeyIsFixed: ("MOTTE_E_PRIMARY_KEY_IS_FIXED", "A primary key cannot be changed.")
    case .overflow: ("MOTTE_E_OVERFLOW", "The result does not fit its type.")
    case .duplicateValue: ("MOTTE_E_DUPLICATE_VALUE", "Another object has this value of a unique property.")
    case .unknownClass: ("MOTTE_E_UNKNOWN_CLASS", "There is no such class.")
    case .unknownProperty: ("MOTTE_E_UNKNOWN_PROPERTY", "The class has no such property.")
    case .schemaInvalid: ("MOTTE_E_SCHEMA_INVALID", "The schema is not valid.")
    case .schemaMismatch: ("MOTTE_E_SCHEMA_MISMATCH", "The file's schema differs in a way that would lose data.")
    case .noPrimaryKey: ("MOTTE_E_NO_PRIMARY_KEY", "The class has no primary key, or it was not given.")
    case .querySyntax: ("MOTTE_E_QUERY_SYNTAX", "The query text is not well-formed.")
    case .queryInvalid: ("MOTTE_E_QUERY_INVALID", "The query does not fit the schema.")
    case .queryArgument: ("MOTTE_E_QUERY_ARGUMENT", "A query argument is missing or does not fit.")
    case .fileNotFound: ("MOTTE_E_FILE_NOT_FOUND", "There is no such file.")
    case .permissionDenied: ("MOTTE_E_PERMISSION_DENIED", "The file or directory may not be used that way.")
    case .notAMotteFile: ("MOTTE_E_NOT_A_MOTTE_FILE", "The file is not a Motte file.")
    case .corrupted: ("MOTTE_E_CORRUPTED", "The file is damaged.")
    case .unsupportedFormat: ("MOTTE_E_UNSUPPORTED_FORMAT", "The file needs another version of this library.")
    case .inputOutput: ("MOTTE_E_INPUT_OUTPUT", "The system failed to read or write.")
    case .diskFull: ("MOTTE_E_DISK_FULL", "The disk is full.")
    case .mapFull: ("MOTTE_E_MAP_FULL", "The file has reached the most it may grow to; raise max_file_size.")
    case .secondCopy: ("MOTTE_E_SECOND_COPY", "Another copy of this library has the file open in this process.")
    case .lockFailed: ("MOTTE_E_LOCK_FAILED", "The file could not be locked.")
    case .wrongKey: ("MOTTE_E_WRONG_KEY", "The encryption key is not the file's, or one of the two is missing.")
    case .fileMoved: ("MOTTE_E_FILE_MOVED", "The file or its sidecar was deleted or replaced while open.")
    case .outOfHandles: ("MOTTE_E_OUT_OF_HANDLES", "All handles are in use.")
    case .outOfMemory: ("MOTTE_E_OUT_OF_MEMORY", "Memory could not be allocated.")
    case .callback: ("MOTTE_E_CALLBACK", "A callback returned an error.")
    case .unsupported: ("MOTTE_E_UNSUPPORTED", "This library cannot do that.")
    case .internal: ("MOTTE_E_INTERNAL", "A defect of this library.")
    }
}

private func cString(_ text: StaticString) -> UnsafePointer<CChar> {
    UnsafeRawPointer(text.utf8Start).assumingMemoryBound(to: CChar.self)
}

@_cdecl("motte_status_name") @implementation
public func motte_status_name(_ status: motte_status) -> UnsafePointer<CChar>? { cString(text(status).name) }

@_cdecl("motte_status_message") @implementation
public func motte_status_message(_ status: motte_status) -> UnsafePointer<CChar>? { cString(text(status).message) }

@_cdecl("motte_last_error") @implementation
public func motte_last_error(_ out_details: UnsafeMutablePointer<motte_error_details>?) -> motte_status {
    // A refusal of these arguments must not replace what the caller wants to read.
    quietBoundary { () throws(DatabaseError) in
        let last = ThreadState.current.lastError
        try fillStruct(out_details) { () throws(DatabaseError) in last?.details ?? motte_error_details() }
        return last == nil ? .notFound : .ok
    }
}

@_cdecl("motte_error_capture") @implementation
public func motte_error_capture(_ out_error: UnsafeMutablePointer<OpaquePointer?>?) -> motte_status {
    quietBoundary { () throws(DatabaseError) in
        let out = try required(out_error)
        guard let last = ThreadState.current.lastError else { return .notFound }
        try Handles.make(ErrorBox(last), out)
        return .ok
    }
}

@_cdecl("motte_error_info") @implementation
public func motte_error_info(
    _ error: OpaquePointer?, _ out_details: UnsafeMutablePointer<motte_error_details>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let error = try Handles.any(error, .error, as: ErrorBox.self)
        try fillStruct(out_details) { () throws(DatabaseError) in error.box.error.details }
        return .ok
    }
}

@_cdecl("motte_callback_fail") @implementation
public func motte_callback_fail(
    _ message: UnsafePointer<CChar>?, _ message_size: Int, _ user_pointer: UnsafeMutableRawPointer?,
    _ free_pointer: motte_free_fn?
) -> motte_status {
    let state = ThreadState.current
    // Freed last, because freeing runs code of the caller: what was announced before, or, after a failure, the pointer
    // that is not kept (convention 7: once, also when the call fails).
    var unused = state.announced
    let status = boundary { () throws(DatabaseError) in
        do throws(DatabaseError) {
            state.announced = (try optionalText(message, message_size), user_pointer, free_pointer)
        } catch {
            unused = (nil, user_pointer, free_pointer)
            throw error
        }
        return .ok
    }
    unused?.free?(unused?.pointer)
    return status
}

final class ErrorBox: Box {
    let error: StoredError
    init(_ error: StoredError) {
        self.error = error
        super.init(kind: .error)
    }
    override func clone() throws(DatabaseError) -> Box { ErrorBox(error) }
}
