/// Every status the engine reports, with the numbers that `motte.h` and the Python package use.
///
/// Negative numbers are errors, grouped by hundreds (see `ErrorCategory`). Numbers are never changed or reused;
/// Tests/Conformance compares this list with the header.
package enum ErrorCode: Int32, Sendable, CaseIterable {
    // Misuse: the call itself was wrong.
    case nullArgument = -101
    case badHandle = -102
    case staleHandle = -103
    case wrongKind = -104
    case wrongThread = -105
    case closed = -106
    case reentrant = -107
    case forked = -108
    case invalidUTF8 = -109
    case badStructSize = -110
    case invalidArgument = -111
    case unknownFlag = -112
    case outOfBounds = -113

    // State: right call, wrong moment.
    case notInWrite = -201
    case alreadyInWrite = -202
    case frozen = -203
    case readOnly = -204
    case objectDeleted = -205
    case timeout = -206
    case busy = -207
    case schemaChanged = -208
    case historyUnavailable = -209
    case outOfSequence = -210
    case historyForked = -211
    case interrupted = -212
    case outcomeUnknown = -213

    // Data: the value does not fit.
    case wrongType = -301
    case nullNotAllowed = -302
    case duplicatePrimaryKey = -303
    case valueTooLarge = -304
    case primaryKeyIsFixed = -305
    case overflow = -306
    case duplicateValue = -307

    // Schema.
    case unknownClass = -401
    case unknownProperty = -402
    case schemaInvalid = -403
    case schemaMismatch = -404
    case noPrimaryKey = -405

    // Queries.
    case querySyntax = -501
    case queryInvalid = -502
    case queryArgument = -503

    // Storage.
    case fileNotFound = -601
    case permissionDenied = -602
    case notAMotteFile = -603
    case corrupted = -604
    case unsupportedFormat = -605
    case inputOutput = -606
    case diskFull = -607
    case mapFull = -608
    case secondCopy = -609
    case lockFailed = -610
    case wrongKey = -611
    case fileMoved = -612

    // Resources, callbacks, the rest.
    case outOfHandles = -701
    case outOfMemory = -702
    case callback = -801
    case unsupported = -901
    case `internal` = -1001

    package var category: ErrorCategory {
        switch rawValue {
        case -199 ... -100: .misuse
        case -299 ... -200: .state
        case -399 ... -300: .data
        case -499 ... -400: .schema
        case -599 ... -500: .query
        case -699 ... -600: .storage
        case -799 ... -700: .resource
        case -899 ... -800: .callback
        case -999 ... -900: .unsupported
        default: .internal
        }
    }
}

/// The hundreds of `ErrorCode`, for callers who decide by kind of failure.
package enum ErrorCategory: Int32, Sendable, CaseIterable {
    case misuse = 1, state, data, schema, query, storage, resource, callback, unsupported, `internal`
}
