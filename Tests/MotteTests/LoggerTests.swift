/// Logging: names of levels, the tree of categories, and who receives a message.
import Foundation
import Motte
import Testing

@Suite(.serialized) struct LoggerTests {
    /// Messages as they arrive, from any thread: those of the test, beside which other tests open realms.
    final class Received: @unchecked Sendable {  // @unchecked: 'lines' is only touched holding 'lock'
        private let lock = NSLock()
        private var lines: [String] = []
        private let isOfTest: @Sendable (String) -> Bool
        init(_ isOfTest: @escaping @Sendable (String) -> Bool = { !$0.contains("version") }) {
            self.isOfTest = isOfTest
        }
        func add(_ line: String) { if isOfTest(line) { lock.withLock { lines.append(line) } } }
        var all: [String] { lock.withLock { lines } }
    }

    /// Puts the process's logger back afterwards.
    func withLogger(_ logger: Logger, _ body: () -> Void) {
        let before = Logger.shared
        let level = Logger.logLevel()
        Logger.shared = logger
        body()
        Logger.shared = before
        Logger.setLogLevel(level)
    }

    @Test func levelsAreNamedAndOrdered() {  // 1.16
        let names = LogLevel.allCases.map(\.description)

        #expect(names == ["Off", "Fatal", "Error", "Warn", "Info", "Details", "Debug", "Trace", "All"])
        #expect(LogLevel.allCases.map(\.rawValue) == Array(0 ... 8))
        #expect(LogLevel.info < .detail)
    }

    @Test func startsWithInfo() {
        #expect(Logger.logLevel() == .info)
        #expect(Logger.shared.level == .info)
    }

    @Test func passesWhatTheLevelLetsThrough() {
        let received = Received()
        let logger = Logger(logFunction: { level, _, message in received.add("\(level): \(message)") })

        withLogger(logger) {
            logger.level = .warn
            for level in LogLevel.allCases { logger.log(level: level, message: "x") }
            logger.level = .off
            logger.log(level: .fatal, message: "y")
            logger.level = .all
            logger.log(level: .trace, message: "z")
        }

        #expect(received.all == ["Fatal: x", "Error: x", "Warn: x", "Trace: z"])
    }

    @Test func makingALoggerWithALevelSetsIt() {
        withLogger(Logger.shared) {
            let received = Received()
            let logger = Logger(level: .debug) { level, message in received.add("\(level) \(message)") }
            #expect(Logger.logLevel() == .debug)
            logger.log(level: .debug, message: "seen")
            logger.log(level: .trace, message: "unseen")
            #expect(received.all == ["Debug seen"])
        }
    }

    @Test func categoriesInheritTheirLevel() {
        withLogger(Logger.shared) {
            Logger.setLogLevel(.error)
            #expect(Logger.logLevel(for: .query) == .error)
            Logger.setLogLevel(.trace, for: .storage)
            #expect(Logger.logLevel(for: .query) == .trace)
            #expect(Logger.logLevel(for: .sdk) == .error)
            Logger.setLogLevel(.warn, for: .query)
            #expect(Logger.logLevel(for: .query) == .warn)
            #expect(Logger.logLevel(for: .transaction) == .trace)
            // Setting a category sets all below it.
            Logger.setLogLevel(.debug)
            #expect(Logger.logLevel(for: .query) == .debug)
        }
    }

    @Test func unreadMessagesAreNotMade() {
        let received = Received()

        withLogger(Logger(logFunction: { _, category, message in received.add("\(category): \(message)") })) {
            Logger.setLogLevel(.info)
            Logger.write(.debug, .query) {
                Issue.record("nobody reads this")
                return ""
            }
            Logger.write(.info, .query) { "read" }
        }

        #expect(received.all == ["Realm.Storage.Query: read"])
    }

    final class LoggedItem: Object {
        @Persisted(primaryKey: true) var id: Int
        override class func _realmObjectName() -> String? { "LoggedItem" }
        override class func shouldIncludeInDefaultSchema() -> Bool { false }
    }

    final class LoggedItemLater: Object {
        @Persisted(primaryKey: true) var id: Int
        @Persisted var note: String?
        override class func _realmObjectName() -> String? { "LoggedItem" }
        override class func shouldIncludeInDefaultSchema() -> Bool { false }
    }

    @Test func openingsAreNotified() throws {
        let url = FileManager.default.temporaryDirectory.appendingPathComponent("logged-\(UUID().uuidString).motte")
        defer { try? FileManager.default.removeItem(at: url) }
        let received = Received { $0.contains(url.path) }
        let logger = Logger(logFunction: {
            level, category,
            message in received.add("\(level) \(category) \(message)")
        })
        var failure: (any Error)?
        withLogger(logger) {
            Logger.setLogLevel(.all)
            do {
                var configuration = Realm.Configuration(fileURL: url, objectTypes: [LoggedItem.self])
                try autoreleasepool { try Realm(configuration: configuration).invalidate() }
                configuration.objectTypes = [LoggedItemLater.self]
                configuration.schemaVersion = 3
                try autoreleasepool { try Realm(configuration: configuration).invalidate() }
                configuration.shouldCompactOnLaunch = { _, _ in true }
                try autoreleasepool { try Realm(configuration: configuration).invalidate() }
            } catch { failure = error }
        }
        #expect(failure == nil)
        let lines = received.all.map { $0.replacingOccurrences(of: url.path, with: "F") }
        #expect(lines.contains { $0.hasPrefix("Debug Realm.Storage F: new file with schema version 0") })
        #expect(lines.contains { $0.hasPrefix("Info Realm.Storage F: migration from schema version 0 to 3") })
        #expect(lines.contains { $0.hasPrefix("Info Realm.Storage F: compacted from ") })
        #expect(lines.contains { $0.hasPrefix("Details Realm.Storage F: opened at version ") })
    }
}
