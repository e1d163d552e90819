/// The errors that programs catch: `catch Realm.Error.fileNotFound`, `error.code`, `error.localizedDescription`.
import Foundation
import MotteValues

extension Realm {
    /// What failed, with a stable code: `catch Realm.Error.fileNotFound`.
    public struct Error: LocalizedError, CustomNSError, Equatable, CustomStringConvertible, @unchecked Sendable {
        // @unchecked: `userInfo` is immutable, and holds strings and URLs unless a program puts something else in.
        /// Stable numbers of errors.
        public enum Code: Int, Sendable {
            /// A failure that has no code of its own.
            case fail = 1
            /// Of RealmSwift, never thrown here.
            case fileAccess = 2
            /// The system does not permit access to the file.
            case filePermissionDenied = 3
            /// There is a file where a new one was to be.
            case fileExists = 4
            /// There is no such file.
            case fileNotFound = 5
            /// Of RealmSwift, never thrown here.
            case fileFormatUpgradeRequired = 6
            /// Another copy of the library has the file open.
            case incompatibleLockFile = 8
            /// The file outgrew the address space that was reserved for it.
            case addressSpaceExhausted = 9
            /// The declared classes are impossible, or differ from those of the file without a migration.
            case schemaMismatch = 10
            /// Somebody else has the file open, and what was asked for takes it alone.
            case alreadyOpen = 12
            /// An argument, value or query text is not possible here.
            case invalidInput = 13
            /// The disk is full.
            case outOfDiskSpace = 14
            /// Of RealmSwift, never thrown here.
            case incompatibleSession = 15
            /// The file has a format that this version does not know.
            case unsupportedFileFormatVersion = 16
            /// Of RealmSwift, never thrown here.
            case multipleSyncAgents = 17
            /// Of RealmSwift, never thrown here.
            case subscriptionFailed = 18
            /// Reading, writing or locking failed.
            case fileOperationFailed = 19
            /// The file is no database, is damaged, or the key is another one.
            case invalidDatabase = 20
            /// Of RealmSwift, never thrown here.
            case incompatibleHistories = 21
            /// Of RealmSwift, never thrown here.
            case noSubscriptionForWrite = 22
            /// A query was ended before it was done: see ``Realm/interruptible(timeout:_:)``.
            case queryInterrupted = 1_000
            /// What was asked for may be done, or be done later: look before doing it again.
            case outcomeUnknown = 1_001
        }

        /// What failed, as a stable number.
        public let code: Code
        /// The message, the path and what else `NSError` has; see `NSError.userInfo`.
        public let userInfo: [String: Any]
        /// The file that it is about, if it is about one.
        public let fileURL: URL?
        package let message: String

        /// An error of the program's own making, with its message under `NSLocalizedDescriptionKey`.
        public init(_ code: Code, userInfo: [String: Any] = [:]) {
            self.code = code
            self.userInfo = userInfo
            message = userInfo[NSLocalizedDescriptionKey] as? String ?? "the operation failed (\(code))"
            fileURL = (userInfo[NSFilePathErrorKey] as? String).map { URL(fileURLWithPath: $0) }
        }

        package init(_ code: Code, _ message: String, path: String? = nil) {
            var info: [String: Any] = [NSLocalizedDescriptionKey: message]
            if let path { info[NSFilePathErrorKey] = path }
            self.init(code, userInfo: info)
        }

        package init(_ error: DatabaseError, path: String? = nil) {
            self.init(Self.code(error.code), ErrorTexts.message(error), path: error.details.path ?? path)
        }

        /// The message, for `localizedDescription`.
        public var errorDescription: String? { message }
        /// The message.
        public var description: String { message }
        /// The domain that RealmSwift has.
        public static var errorDomain: String { "io.realm" }
        /// The number of the code.
        public var errorCode: Int { code.rawValue }
        /// The same as `userInfo`, for `NSError`.
        public var errorUserInfo: [String: Any] { userInfo }

        /// A failure that has no code of its own.
        public static let callFailed = Error(.fail)
        /// A failure that has no code of its own.
        public static let fail = Code.fail
        /// Of RealmSwift, never thrown here.
        public static let fileAccess = Code.fileAccess
        /// The system does not permit access to the file.
        public static let filePermissionDenied = Code.filePermissionDenied
        /// There is a file where a new one was to be.
        public static let fileExists = Code.fileExists
        /// There is no such file.
        public static let fileNotFound = Code.fileNotFound
        /// Of RealmSwift, never thrown here.
        public static let fileFormatUpgradeRequired = Code.fileFormatUpgradeRequired
        /// Another copy of the library has the file open.
        public static let incompatibleLockFile = Code.incompatibleLockFile
        /// The file outgrew the address space that was reserved for it.
        public static let addressSpaceExhausted = Code.addressSpaceExhausted
        /// The declared classes are impossible, or differ from those of the file without a migration.
        public static let schemaMismatch = Code.schemaMismatch
        /// Somebody else has the file open, and what was asked for takes it alone.
        public static let alreadyOpen = Code.alreadyOpen
        /// An argument, value or query text is not possible here.
        public static let invalidInput = Code.invalidInput
        /// The disk is full.
        public static let outOfDiskSpace = Code.outOfDiskSpace
        /// Of RealmSwift, never thrown here.
        public static let incompatibleSession = Code.incompatibleSession
        /// The file has a format that this version does not know.
        public static let unsupportedFileFormatVersion = Code.unsupportedFileFormatVersion
        /// Reading, writing or locking failed.
        public static let fileOperationFailed = Code.fileOperationFailed
        /// The file is no database, is damaged, or the key is another one.
        public static let invalidDatabase = Code.invalidDatabase
        /// A change batch is not what comes next, or the change log does not reach back so far.
        public static let incompatibleHistories = Code.incompatibleHistories
        /// A query was ended before it was done: see ``Realm/interruptible(timeout:_:)``.
        public static let queryInterrupted = Code.queryInterrupted
        /// What was asked for may be done, or be done later: look before doing it again.
        public static let outcomeUnknown = Code.outcomeUnknown

        /// Errors are equal when code and file are.
        public static func == (left: Error, right: Error) -> Bool {
            left.code == right.code && left.fileURL == right.fileURL
        }

        private static func code(_ code: ErrorCode) -> Code {
            switch code {
            case .fileNotFound: .fileNotFound
            case .permissionDenied: .filePermissionDenied
            case .notAMotteFile, .corrupted, .wrongKey: .invalidDatabase
            case .unsupportedFormat: .unsupportedFileFormatVersion
            case .inputOutput, .lockFailed, .fileMoved: .fileOperationFailed
            case .diskFull: .outOfDiskSpace
            case .mapFull: .addressSpaceExhausted
            case .secondCopy: .incompatibleLockFile
            case .schemaMismatch, .schemaInvalid: .schemaMismatch
            case .historyUnavailable, .outOfSequence, .historyForked: .incompatibleHistories
            case .busy: .alreadyOpen
            case .interrupted: .queryInterrupted
            case .outcomeUnknown: .outcomeUnknown
            case .wrongType, .invalidArgument, .nullNotAllowed, .querySyntax, .queryInvalid, .queryArgument,
                .outOfBounds:
                .invalidInput
            default: .fail
            }
        }
    }
}

/// Whether an error has this code, so that `catch Realm.Error.fileNotFound` matches it.
public func ~= (code: Realm.Error.Code, error: any Swift.Error) -> Bool {
    (error as? Realm.Error)?.code == code
}

/// Runs engine calls and turns their error into one that programs know.
package func translating<T>(_ path: String? = nil, _ body: () throws -> T) throws -> T {
    do { return try body() } catch let error as DatabaseError { throw Realm.Error(error, path: path) }
}
