/// The errors that programs catch.
import Foundation
import MotteValues

extension Realm {
    public struct Error: Swift.Error, CustomStringConvertible, LocalizedError {
        public enum Code: Int, Sendable {
            case fail = 1
            case fileAccess, filePermissionDenied, fileExists, fileNotFound, fileFormatUpgradeRequired
            case incompatibleLockFile = 8
            case addressSpaceExhausted, schemaMismatch
            case alreadyOpen = 12
            case invalidInput, outOfDiskSpace
            case unsupportedFileFormatVersion = 16
            case fileOperationFailed = 19
            case invalidDatabase
        }

        public let code: Code
        public let description: String
        public let fileURL: URL?
        public var errorDescription: String? { description }

        package init(_ error: DatabaseError, path: String? = nil) {
            code = Self.code(error.code)
            description = error.message
            fileURL = (error.details.path ?? path).map { URL(fileURLWithPath: $0) }
        }

        private static func code(_ code: ErrorCode) -> Code {
            switch code {
            case .fileNotFound: .fileNotFound
            case .permissionDenied: .filePermissionDenied
            case .notAMotteFile, .corrupted, .wrongKey: .invalidDatabase
            case .unsupportedFormat: .unsupportedFileFormatVersion
            case .inputOutput, .lockFailed: .fileOperationFailed
            case .diskFull: .outOfDiskSpace
            case .mapFull: .addressSpaceExhausted
            case .secondCopy: .incompatibleLockFile
            case .schemaMismatch, .schemaInvalid: .schemaMismatch
            case .wrongType, .invalidArgument, .nullNotAllowed, .querySyntax, .queryInvalid, .queryArgument:
                .invalidInput
            default: .fail
            }
        }
    }
}

/// Runs engine calls and turns their error into one that programs know.
package func translating<T>(_ path: String? = nil, _ body: () throws -> T) throws -> T {
    do { return try body() } catch let error as DatabaseError { throw Realm.Error(error, path: path) }
}
