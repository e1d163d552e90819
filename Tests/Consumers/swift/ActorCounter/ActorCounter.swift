// Observation on actors, streams, and what is handed out frozen or by reference, in Swift 6 mode.
import Foundation
import RealmSwift
final class Note: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var text = ""
    @Persisted var kids: List<Note>
}
actor Counter {
    var realm: Realm?
    var count = 0
    var last: String?
    var token: NotificationToken?
    var pathTokens: [NotificationToken] = []
    func start(_ configuration: Realm.Configuration) async throws {
        let realm = try await Realm(configuration: configuration, actor: self)
        self.realm = realm
        token = await realm.objects(Note.self).observe(on: self) { actor, change in
            switch change {
            case .initial(let notes), .update(let notes, _, _, _):
                actor.count = notes.count
                actor.last = notes.last?.text
            case .error: break
            }
        }
        if let note = realm.objects(Note.self).first {
            pathTokens.append(await note.observe(keyPaths: [\.text], on: self) { actor, change in
                if case .change(let note, _) = change { actor.last = note.text }
            })
            pathTokens.append(await note.kids.observe(keyPaths: [\Note.text], on: self) { actor, _ in
                actor.count += 0
            })
        }
    }
    func stream() -> AsyncStream<Int> {
        let (stream, continuation) = AsyncStream.makeStream(of: Int.self)
        let notes = realm!.objects(Note.self)
        Task {
            _ = self
            for await change in notes.changes() {
                if case .update(let notes, _, _, _) = change { continuation.yield(notes.count) }
                if case .initial(let notes) = change { continuation.yield(notes.count) }
            }
        }
        return stream
    }
    func write(_ id: Int) async throws {
        guard let realm else { return }
        let note = try await realm.asyncWrite {
            realm.create(Note.self, value: ["id": id, "text": "n\(id)"], update: .modified)
        }
        precondition(note.text == "n\(id)")
        let values: [String: Any] = ["id": id, "text": "again"]
        _ = try await realm.asyncWrite { realm.create(Note.self, value: values, update: .modified) }
    }
    func snapshot() -> sending Results<Note>? { realm?.objects(Note.self).freeze() }
    func snapshotRealm() -> sending Realm? { realm?.freeze() }
    nonisolated func detached(_ configuration: Realm.Configuration) {
        Task { try await self.start(configuration) }
    }
}
@MainActor final class Model {
    let configuration: Realm.Configuration
    var texts: [String] = []
    var tasks: [Task<Void, any Error>] = []
    init(_ configuration: Realm.Configuration) { self.configuration = configuration }
    func run() {
        tasks.append(Task {
            let realm = try await Realm(configuration: configuration)
            for await change in realm.objects(Note.self).sorted(by: \.id).changes() {
                switch change {
                case .initial(let notes), .update(let notes, _, _, _): texts = notes.map(\.text)
                case .error(let error): throw error
                }
            }
        })
        tasks.append(Task { [weak self] in
            guard let configuration = self?.configuration else { return }
            let realm = try await Realm.open(configuration: configuration)
            let note = realm.object(ofType: Note.self, forPrimaryKey: 1)
            try await realm.asyncWrite { note?.text = "by the model" }
            let reference = note.map { ThreadSafeReference(to: $0) }
            let text = try await Task.detached { () -> String in
                let other = try Realm(configuration: configuration)
                guard let reference else { return "" }
                return other.resolve(reference)?.text ?? ""
            }.value
            self?.texts.append(text)
        })
    }
    func wait() async throws {
        for _ in 0 ..< 2_000 where texts.count < 3 { try await Task.sleep(nanoseconds: 5_000_000) }
        for task in tasks { task.cancel() }
    }
}
@main struct M {
    static func main() async throws {
        let configuration = Realm.Configuration(inMemoryIdentifier: "six")
        let counter = Counter()
        try await counter.start(configuration)
        try await counter.write(1); try await counter.write(2)
        let model = await Model(configuration)
        await model.run()
        try await counter.write(3)
        var seen = 0
        for await count in await counter.stream() { seen = count; if count == 3 { break } }
        try await model.wait()
        let frozen = await counter.snapshot()
        let realm = await counter.snapshotRealm()
        print(seen, frozen?.count ?? 0, realm?.objects(Note.self).count ?? 0, await model.texts.count >= 3)
        let task = Task.detached { frozen?.map(\.text) ?? [] }
        print(await task.value)
    }
}
