/// What Motte says about its work, and where that goes.
///
/// A message has a level and a category; it is written when its level is at most as detailed as the category asks for.
/// `Logger.shared` receives the messages: to the standard error stream unless a program puts its own there.
import Foundation
import MotteValues

/// From nothing to everything; each level contains those before it.
public enum LogLevel: UInt, Sendable, CaseIterable, CustomStringConvertible, Comparable {
    /// Nothing is written.
    case off
    /// The program cannot go on.
    case fatal
    /// Something failed.
    case error
    /// Something worked, but is not as it should be.
    case warn
    /// What whoever operates the program should know, such as a migration or a compaction. The default.
    case info
    /// What happens, such as a file that is opened.
    case detail
    /// What helps to find a fault.
    case debug
    /// Every step.
    case trace
    /// Everything.
    case all

    /// The level's name, as it stands before a message: "Info", "Details".
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

    /// Whether the left level writes less than the right one.
    public static func < (left: LogLevel, right: LogLevel) -> Bool { left.rawValue < right.rawValue }
}

/// What a message is about. Categories form a tree: "Realm.Storage.Query" lies below "Realm.Storage".
public struct LogCategory: Hashable, Sendable, RawRepresentable, CustomStringConvertible {
    /// The names from the root to the category, with dots between them.
    public let rawValue: String
    /// A category by its name, which may be the program's own. It takes the level of the nearest one above it.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The root, above all other categories.
    public static let realm = LogCategory(rawValue: "Realm")
    /// What programs log without a category. Motte itself writes nothing to it.
    public static let sdk = LogCategory(rawValue: "Realm.SDK")
    /// Opening files, and what that does on the way: compaction, migration, changes of the schema.
    public static let storage = LogCategory(rawValue: "Realm.Storage")
    /// Commits, at level `debug`.
    public static let transaction = LogCategory(rawValue: "Realm.Storage.Transaction")
    /// Queries with their plans, at level `trace`, when they are made.
    public static let query = LogCategory(rawValue: "Realm.Storage.Query")
    /// For objects. Motte itself writes nothing to it.
    public static let object = LogCategory(rawValue: "Realm.Storage.Object")
    /// For observing. Motte itself writes nothing to it.
    public static let notification = LogCategory(rawValue: "Realm.Storage.Notification")

    /// The name, as of ``rawValue``.
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

    /// A logger whose function gets level and text of what the levels of the categories let through; Motte calls it
    /// once it is ``shared``. Making it sets the level of all categories.
    public init(level: LogLevel, logFunction: @escaping @Sendable (LogLevel, String) -> Void) {
        function = { level, _, message in logFunction(level, message) }
        Logger.setLogLevel(level)
    }

    /// A logger whose function gets level, category and text of what the levels of the categories let through; Motte
    /// calls it once it is ``shared``.
    public init(logFunction: @escaping @Sendable (LogLevel, LogCategory, String) -> Void) { function = logFunction }

    /// The same as ``init(logFunction:)``.
    @_disfavoredOverload  // so that a trailing closure is not ambiguous
    public convenience init(function: @escaping @Sendable (LogLevel, LogCategory, String) -> Void) {
        self.init(logFunction: function)
    }

    /// The level of all categories. Setting it sets each of them to that level.
    public var level: LogLevel {
        get { Logger.logLevel() }
        set { Logger.setLogLevel(newValue) }
    }

    /// Logs a message in the category ``LogCategory/sdk``, if its level lets that through.
    public func log(level: LogLevel, message: String) { log(level: level, category: .sdk, message: message) }

    /// Logs a message, if the level of its category lets that through. Calls the log function at once, on this thread.
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

    /// The logger of the process. By default it writes to standard error what is at level `info` or above. May be set
    /// at any time, from any thread.
    public static var shared: Logger {
        get { current.withLock { $0 } }
        set { current.withLock { $0 = newValue } }
    }

    /// Sets the level of a category and of all below it.
    public static func setLogLevel(_ level: LogLevel, for category: LogCategory = .realm) {
        levels.withLock { levels in
            levels = levels.filter { !$0.key.isBelow(category) }
            levels[category] = level
        }
    }

    /// The level of a category: its own, or that of the nearest one above it that has been given one.
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
