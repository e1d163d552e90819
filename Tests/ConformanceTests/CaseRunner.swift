/// One conformance case against the engine, driven by name: sessions, names that the case gave, the loop over lines.
///
/// The steps are in `CaseRunner+Steps`, what can be expected in `CaseRunner+Expectations`, collections and objects in
/// `CaseRunner+Lookups`. A runner belongs to one thread, except for steps that say `elsewhere`.
import Foundation
import MotteLiveObjects
import MotteNotifications
import MotteSchemaModel
import MotteStorage
import MotteValues

final class CaseRunner {
    let folder: URL
    let arena = CaseArena()
    private let name: String
    private let rowGroupSize: Int?

    private var schemaText = ""
    private var isInMemory = false
    /// What files are opened with from now on.
    var encryptionKey: [UInt8]?
    var sessions: [String: Session] = [:]
    var savepoints: [String: WriteTransaction.Savepoint] = [:]
    var batches: [String: ChangeBatch] = [:]
    var objects: [String: LiveObject] = [:]
    var collections: [String: LiveCollection] = [:]
    var sections: [String: LiveSections] = [:]
    var queries: [String: PreparedQuery] = [:]
    var references: [String: LiveReference] = [:]
    /// Queued writes, and who runs those of each session.
    var queued: [String: QueuedStep] = [:]
    var writes: [ObjectIdentifier: QueuedWrites] = [:]
    var current: Session?
    var queue: DeliveryQueue?
    var mark: Counters.Reading?
    /// Steps for the migration, or the filling, of the next session.
    var migrating: [String] = []
    var filling: [String] = []
    var migration: Migration?
    /// Of a step inside a callback of the engine.
    var failure: (any Error)?
    private(set) var steps = 0

    let driver: CaseDriver

    init(name: String, rowGroupSize: Int?, _ driver: CaseDriver = CaseDriver()) throws {
        self.driver = driver
        self.name = name
        self.rowGroupSize = rowGroupSize
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("motte-case-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    deinit {
        closeAll()
        try? FileManager.default.removeItem(at: folder)
    }

    // MARK: Running

    /// Throws the first failure, with the line it is on.
    func run(_ text: String) throws {
        var begun = ""
        for (number, part) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            // A line that ends in a backslash goes on with the next one, whose leading blanks do not count.
            let line = begun + (begun.isEmpty ? part : part.drop { $0 == " " })
            begun = ""
            if line.hasSuffix("\\") {
                begun = String(line.dropLast())
                continue
            }
            do {
                try run(line: line)
            } catch {
                throw CaseFailure("line \(number + 1): \(line)\n    \(error)")
            }
        }
    }

    private func run(line: String) throws {
        var input = CaseCursor(line, arena)
        if input.isAtEnd() || input.accept("case") || input.accept("about") { return }
        if input.accept("schema") {
            schemaText += input.takeRest() + "\n"
            return
        }
        if input.accept("store") {
            try input.need("memory")
            isInMemory = true
            return
        }
        try step(&input)
        if !input.isAtEnd() { throw CaseFailure("unexpected '\(input.rest)'") }
    }

    func countStep() { steps += 1 }

    // MARK: Sessions

    /// The session in use; the first step of a case opens `main`.
    var session: Session {
        get throws {
            if let current { return current }
            try openMain()
            return try current ?? { throw CaseFailure("there is no session") }()
        }
    }

    func options(_ path: String = "main.motte") -> SessionOptions {
        let location: SessionOptions.Location =
            isInMemory ? .memory(folder.path) : .file(folder.appendingPathComponent(path).path)
        var options = SessionOptions(location)
        options.rowGroupSize = rowGroupSize
        options.encryptionKey = encryptionKey
        return options
    }

    @discardableResult
    func open(_ name: String, _ options: SessionOptions) throws -> Session {
        let session = try Session.open(withSteps(options))
        sessions[name] = session
        current = session
        guard driver.bindsQueues else { return session }
        let queue = try self.queue ?? DeliveryQueue()
        self.queue = queue
        writes[ObjectIdentifier(session)] = try queue.bind(session)
        return session
    }

    func openMain() throws {
        var options = options()
        if !schemaText.isEmpty { options.schema = try SchemaText.parse(schemaText) }
        try open("main", options)
    }

    func closeAll() {
        driver.end()
        queries = [:]
        references = [:]
        queued = [:]
        writes = [:]
        collections = [:]
        objects = [:]
        for session in sessions.values { _ = try? session.close() }
        sessions = [:]
        current = nil
        queue = nil
    }
}
