// A leader in memory, the folder that it ships to, and followers, for tests that end any of them at any step.
import MotteLiveObjects
import MotteReplication
import MotteSchemaModel
import MotteStorage
import MotteValues
import TestSupport
import Testing

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// Ends a step where a process would be killed, or where a disk is full. Thrown at the step of that number.
final class Faults {
    static let killed = "killed by the test"
    private var left = Int.max
    private var isFull = false
    private(set) var steps = 0

    func kill(at step: Int) { (left, isFull) = (step, false) }
    func fill(at step: Int) { (left, isFull) = (step, true) }
    func clear() { left = .max }

    func next(_ step: LogStep) throws(DatabaseError) {
        steps += 1
        left -= left == .max ? 0 : 1
        guard left <= 0 else { return }
        throw isFull
            ? DatabaseError(.diskFull, "there is no space left, says the test") : DatabaseError(.internal, Self.killed)
    }
}

extension Shipping {
    convenience init(
        _ session: Session, to folder: String, _ options: ShippingOptions, fault: LogFault? = nil
    ) throws(DatabaseError) {
        try self.init(session, to: try FolderLog(folder, making: true, fault: fault), options)
    }
}

extension Following {
    convenience init(_ options: SessionOptions, from folder: String, fault: LogFault? = nil) throws(DatabaseError) {
        try self.init(options, from: try FolderLog(folder, fault: fault))
    }
}

/// Objects by their primary key, as text.
typealias Content = [Int64: String]

final class World {
    static let schema =
        "Person { id: int key, name: string, friend: link<Person>, tags: list<string>, marks: set<int> }"
    let folder: TemporaryDirectory
    let faults = Faults()
    private let store: TestStore
    /// Keeps the leader's objects while its process is killed.
    private let anchor: Session
    private(set) var leader: Session
    private(set) var shipping: Shipping?
    /// What each leader had, by version.
    private var history: [ChangeOrigin: [UInt64: Content]] = [:]
    /// Of a leader that was a follower.
    private var leaderOptions: SessionOptions?
    var options = ShippingOptions(name: "the leader")

    init() throws {
        folder = TemporaryDirectory()
        store = TestStore(schema: Self.schema)
        anchor = try store.open()
        leader = try store.open()
        options.snapshotBytes = 600
        try remember()
    }

    deinit { Self.removeAll(folder.path + "/log") }

    private func remember() throws {
        history[try leader.changeOrigin(), default: [:]][try leader.version.rawValue] = try Self.content(leader)
    }

    var log: String { folder.path + "/log" }
    var ownFolder: LogFolder {
        get throws { try LogFolder(log + "/" + (try leader.changeOrigin()).text, making: false) }
    }

    /// What a folder has in it, to whatever depth.
    static func removeAll(_ path: String) {
        guard let stream = opendir(path) else { return }
        while let entry = readdir(stream) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) {
                String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name == "." || name == ".." { continue }
            if unlink(path + "/" + name) != 0 { removeAll(path + "/" + name) }
        }
        closedir(stream)
        rmdir(path)
    }

    static func content(_ session: Session) throws -> Content {
        let table = try session.tableKey("Person")
        let type = try #require(try session.schema["Person"])
        let columns = try type.properties.map { ($0, try #require($0.columnKey)) }
        let view = try session.table(table)
        var content: Content = [:]
        func name(_ value: Value) throws -> String {
            guard case .link(let link) = value else { return value.text }
            return "->" + (try view.value(columns[0].1, link.key).owned.text)
        }
        for key in 0 ..< view.nextKey where try view.locate(ObjectKey(key)) != nil {
            let object = ObjectKey(key)
            guard case .int(let id) = try view.value(columns[0].1, object).owned else { continue }
            var text = ""
            for (property, column) in columns {
                guard property.isCollection else {
                    text += try name(try view.value(column, object).owned) + ";"
                    continue
                }
                var elements: [String] = []
                for index in 0 ..< (try view.listCount(column, object)) {
                    elements.append(try name(try view.listElement(column, object, index).owned))
                }
                text += (property.isSet ? elements.sorted() : elements).joined(separator: ",") + ";"
            }
            content[id] = text
        }
        return content
    }

    // MARK: The leader

    func write(_ random: inout SeededRandom) throws {
        let table = try leader.tableKey("Person")
        try leader.inWrite {
            for _ in 0 ... random.below(3) {
                let id = Int64(random.below(8))
                let known = try leader.find(table, primaryKey: .int(id))
                if let known, random.chance(20) {
                    try leader.delete(table, known.key)
                    continue
                }
                let object = try known ?? leader.create(table, primaryKey: .int(id)).object
                switch random.below(4) {
                case 0: try object.set("name", to: .string("name \(random.below(1_000))"))
                case 1:
                    let other = try leader.find(table, primaryKey: .int(Int64(random.below(8))))
                    try object.set("friend", to: other.map { .link(ObjectLink(table: table, key: $0.key)) } ?? .null)
                case 2: try (try object.collection("tags") as? LiveList)?.append(.string("tag \(random.below(9))"))
                default:
                    try object.set("name", to: .string(String(repeating: "long ", count: random.below(40))))
                }
            }
        }
        try remember()
    }

    /// The process of the leader ends, and begins again.
    func restartLeader() throws {
        shipping = nil
        _ = try leader.close()
        leader = try leaderOptions.map { try Session.open($0) } ?? store.open()
    }

    /// False where the follower lacks something that the leader has shipped; else it leads from now on, whatever it is
    /// killed at.
    func takeOver(_ following: Following, _ name: String) throws -> Bool {
        shipping = nil
        (options.takesOver, options.leavesLeader) = (true, true)
        func lead(faulty: Bool) throws -> Shipping {
            try Shipping(following.session, to: log, options) { [faults] step throws(DatabaseError) in
                if faulty { try faults.next(step) }
            }
        }
        do {
            shipping = try lead(faulty: true)
        } catch let error as DatabaseError {
            guard error.code != .outOfSequence else { return false }
            guard error.message == Faults.killed || error.code == .diskFull else { throw error }
            shipping = try lead(faulty: false)
        }
        shipping = nil
        _ = try leader.close()
        (leader, leaderOptions) = (following.session, followerOptions(name))
        try remember()
        return true
    }

    /// What a maker leaves behind that is killed in the middle.
    func leaveUnfinished(_ random: inout SeededRandom) {
        for path in [log, log + "/" + ((try? leader.changeOrigin().text) ?? "")] {
            TemporaryDirectory.write(
                [UInt8](repeating: 7, count: random.below(90)), path + "/.making-\(random.below(99))")
        }
    }

    /// False where it was killed, or failed otherwise, which is how it should end.
    func ship() throws -> Bool {
        do {
            let shipping =
                try self.shipping
                ?? Shipping(leader, to: log, options) { [faults] step throws(DatabaseError) in
                    try faults.next(step)
                }
            self.shipping = shipping
            while try shipping.step() != .nothing {}
            try remember()
            return true
        } catch let error as DatabaseError {
            guard error.message == Faults.killed || error.code == .diskFull else { throw error }
            // Keeping the log is a commit that changes nothing.
            try leader.refresh()
            try remember()
            if error.code != .diskFull || shipping == nil { try restartLeader() }
            return false
        }
    }

    // MARK: Followers

    func followerOptions(_ name: String) -> SessionOptions {
        var options = SessionOptions(path: folder.file(name))
        options.isDurable = false
        options.rowGroupSize = 3
        return options
    }

    /// The state of the leader that a follower is at.
    func state(_ following: Following) throws -> Content? {
        let version = following.position.version.rawValue
        let history = try #require(history[following.leader.origin])
        // Versions that only kept the log have the state of the one before.
        return history[history.keys.filter { $0 <= version }.max() ?? 0]
    }
}
