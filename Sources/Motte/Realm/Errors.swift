/// The errors that programs catch: `catch Realm.Error.fileNotFound`, `error.code`, `error.localizedDescription`.
import Foundation
import MotteValues

extension Realm {
    /// What failed, with a stable code: `catch Realm.Error.fileNotFound`.
    public struct Error: LocalizedError, CustomNSError, Equatable, CustomStringConvertible, @unchecked Sendable {
        // @unchecked: `userInfo` is immutable, and holds strings and URLs unless a program puts something else in.
        /// Stable numbers of errors.
        public enum Code: Int, Sendable {
            case fail = 1, fileAccess, filePermissionDenied, fileExists, fileNotFound, fileFormatUpgradeRequired
            case incompatibleLockFile = 8, addressSpaceExhausted, schemaMismatch
            case alreadyOpen = 12, invalidInput, outOfDiskSpace, incompatibleSession, unsupportedFileFormatVersion
            case multipleSyncAgents, subscriptionFailed, fileOperationFailed, invalidDatabase
            case incompatibleHistories, noSubscriptionForWrite
        }

        public let code: Code
        public let userInfo: [String: Any]
        public let fileURL: URL?
        package let message: String

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

        public var errorDescription: String? { message }
        public var description: String { message }
        public static var errorDomain: String { "io.realm" }
        public var errorCode: Int { code.rawValue }
        public var errorUserInfo: [String: Any] { userInfo }

        public static let callFailed = Error(.fail)
        public static let fail = Code.fail
        public static let fileAccess = Code.fileAccess
        public static let filePermissionDenied = Code.filePermissionDenied
        public static let fileExists = Code.fileExists
        public static let fileNotFound = Code.fileNotFound
        public static let fileFormatUpgradeRequired = Code.fileFormatUpgradeRequired
        public static let incompatibleLockFile = Code.incompatibleLockFile
        public static let addressSpaceExhausted = Code.addressSpaceExhausted
        public static let schemaMismatch = Code.schemaMismatch
        public static let alreadyOpen = Code.alreadyOpen
        public static let invalidInput = Code.invalidInput
        public static let outOfDiskSpace = Code.outOfDiskSpace
        public static let incompatibleSession = Code.incompatibleSession
        public static let unsupportedFileFormatVersion = Code.unsupportedFileFormatVersion
        public static let fileOperationFailed = Code.fileOperationFailed
        public static let invalidDatabase = Code.invalidDatabase
        public static let incompatibleHistories = Code.incompatibleHistories

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
            case .busy: .alreadyOpen
            case .wrongType, .invalidArgument, .nullNotAllowed, .querySyntax, .queryInvalid, .queryArgument:
                .invalidInput
            default: .fail
            }
        }
    }
}

/// `catch Realm.Error.fileNotFound`, which is a code.
public func ~= (code: Realm.Error.Code, error: any Swift.Error) -> Bool {
    (error as? Realm.Error)?.code == code
}

/// Runs engine calls and turns their error into one that programs know.
package func translating<T>(_ path: String? = nil, _ body: () throws -> T) throws -> T {
    do { return try body() } catch let error as DatabaseError { throw Realm.Error(error, path: path) }
}
