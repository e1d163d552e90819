/// What Motte says about its work, and where that goes.
///
/// A message has a level and a category; it is written when its level is at most as detailed as the category asks for.
/// `Logger.shared` receives the messages: to the standard error stream unless a program puts its own there.
import Foundation
import MotteValues

/// From nothing to everything; each level contains those before it.
public enum LogLevel: UInt, Sendable, CaseIterable, CustomStringConvertible, Comparable {
    case off, fatal, error, warn, info, detail, debug, trace, all

    public var description: String {
        switch self {
        case .off: "Off"
        case .fatal: "Fatal"
        case .error: "Error"
        case .warn: "Warn"
        case .info: "Info"
        case .detail: "Details"
        case .debug: "Debug"
        case .trace: "Trace"
        case .all: "All"
        }
    }

    public static func < (left: LogLevel, right: LogLevel) -> Bool { left.rawValue < right.rawValue }
}

/// What a message is about. Categories form a tree: "Realm.Storage.Query" lies below "Realm.Storage".
public struct LogCategory: Hashable, Sendable, RawRepresentable, CustomStringConvertible {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    /// Above all others.
    public static let realm = LogCategory(rawValue: "Realm")
    public static let sdk = LogCategory(rawValue: "Realm.SDK")
    public static let storage = LogCategory(rawValue: "Realm.Storage")
    public static let transaction = LogCategory(rawValue: "Realm.Storage.Transaction")
    public static let query = LogCategory(rawValue: "Realm.Storage.Query")
    public static let object = LogCategory(rawValue: "Realm.Storage.Object")
    public static let notification = LogCategory(rawValue: "Realm.Storage.Notification")

    public var description: String { rawValue }

    /// nil for a name without a point.
    fileprivate var parent: LogCategory? {
        rawValue.lastIndex(of: ".").map { LogCategory(rawValue: String(rawValue[..<$0])) }
    }

    fileprivate func isBelow(_ other: LogCategory) -> Bool { rawValue.hasPrefix(other.rawValue + ".") }
}

/// Where messages of Motte go.
public final class Logger: Sendable {
    private let function: @Sendable (LogLevel, LogCategory, String) -> Void

    /// Sets the level of everything, and is called with what that lets through once it is `Logger.shared`.
    public init(level: LogLevel, logFunction: @escaping @Sendable (LogLevel, String) -> Void) {
        function = { level, _, message in logFunction(level, message) }
        Logger.setLogLevel(level)
    }

    /// Is called with what the levels of the categories let through once it is `Logger.shared`.
    public init(logFunction: @escaping @Sendable (LogLevel, LogCategory, String) -> Void) { function = logFunction }

    @_disfavoredOverload  // so that a trailing closure is not ambiguous
    public convenience init(function: @escaping @Sendable (LogLevel, LogCategory, String) -> Void) {
        self.init(logFunction: function)
    }

    /// Of all categories.
    public var level: LogLevel {
        get { Logger.logLevel() }
        set { Logger.setLogLevel(newValue) }
    }

    public func log(level: LogLevel, message: String) { log(level: level, category: .sdk, message: message) }

    public func log(level: LogLevel, category: LogCategory, message: String) {
        guard Logger.isWritten(level, category) else { return }
        function(level, category, message)
    }

    // MARK: For the whole process

    private static let current = Locked<Logger>(
        ofProcess: Logger(logFunction: { level, _, message in
            FileHandle.standardError.write(Data("[\(level)] \(message)\n".utf8))
        }))
    private static let levels = Locked<[LogCategory: LogLevel]>(ofProcess: [.realm: .info])

    public static var shared: Logger {
        get { current.withLock { $0 } }
        set { current.withLock { $0 = newValue } }
    }

    /// Of a category and of all below it.
    public static func setLogLevel(_ level: LogLevel, for category: LogCategory = .realm) {
        levels.withLock { levels in
            levels = levels.filter { !$0.key.isBelow(category) }
            levels[category] = level
        }
    }

    /// Of the nearest category upward that has been given one.
    public static func logLevel(for category: LogCategory = .realm) -> LogLevel {
        levels.withLock { levels in
            var place = category
            while levels[place] == nil, let parent = place.parent { place = parent }
            return levels[place] ?? levels[.realm] ?? .info
        }
    }

    private static func isWritten(_ level: LogLevel, _ category: LogCategory) -> Bool {
        level != .off && level <= logLevel(for: category)
    }

    /// For Motte's own messages, whose text is only made when somebody reads it.
    package static func write(_ level: LogLevel, _ category: LogCategory, _ message: () -> String) {
        guard isWritten(level, category) else { return }
        shared.function(level, category, message())
    }
}
