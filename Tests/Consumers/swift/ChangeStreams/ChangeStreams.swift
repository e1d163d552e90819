// Change streams: observe on actors, AsyncSequence, global actors, key paths, sections, projections, @ThreadSafe.
import Foundation
import RealmSwift

class Item: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var title: String
    @Persisted var group: String
    @Persisted var tags: MutableSet<String>
    @Persisted var counts: Map<String, Int>
    @Persisted var place: Place?
}
class Place: EmbeddedObject {
    @Persisted var city: String
}
class ItemProjection: Projection<Item> {
    @Projected(\Item.title) var title
    @Projected(\Item.place?.city) var city
}

@globalActor actor Store { static let shared = Store() }

@Store final class Repository {
    let realm: Realm
    var tokens: [NotificationToken] = []
    private(set) var log: [String] = []
    static func make(_ configuration: Realm.Configuration) async throws -> Repository {
        Repository(try await Realm(configuration: configuration, actor: Store.shared))
    }
    init(_ realm: Realm) { self.realm = realm }

    func watch() async {
        let items = realm.objects(Item.self)
        tokens.append(await items.observe(keyPaths: ["title"], on: Store.shared) { _, change in
            if case .update(let items, _, let insertions, _) = change { print("update", items.count, insertions) }
        })
        tokens.append(await items.observe(keyPaths: [\.title], on: Store.shared) { store, change in
            store.preconditionIsolated()
            _ = change
        })
        if let first = items.first {
            tokens.append(await first.observe(on: Store.shared) { _, change in
                if case .change(let object, let properties) = change { print(object, properties.map(\.name)) }
            })
            tokens.append(await first.tags.observe(on: Store.shared) { _, _ in })
            tokens.append(await first.counts.observe(on: Store.shared) { _, change in
                switch change {
                case .initial(let map): print(map.count)
                case .update(_, deletions: let deleted, insertions: let inserted, modifications: let changed):
                    print(deleted, inserted, changed)
                case .error(let error): print(error)
                }
            })
        }
        let sections = items.sectioned(by: \.group, ascending: true)
        tokens.append(await sections.observe(on: Store.shared) { _, change in
            if case .initial(let sections) = change { print(sections.allKeys) }
        })
        let projections = realm.objects(ItemProjection.self)
        tokens.append(await projections.observe(on: Store.shared) { _, change in
            if case .initial(let projections) = change { print(projections.map(\.title)) }
        })
    }

    func put(_ id: Int, _ title: String) async throws {
        try await realm.asyncWrite {
            let item = realm.create(Item.self, value: ["id": id, "title": title, "group": String(title.prefix(1))],
                                    update: .all)
            item.tags.insert("t\(id)")
            item.counts["n"] = id
            item.place = Place(value: ["city": "Paris"])
        }
    }
    func first() -> Item? { realm.objects(Item.self).first }
    func frozen() -> sending Item? { realm.objects(Item.self).first?.freeze() }
    func titles() -> [String] { realm.objects(Item.self).map(\.title) }
    func stop() { tokens.forEach { $0.invalidate() }; tokens = [] }
}

func work(_ configuration: Realm.Configuration) async throws {
    let repository = try await Repository.make(configuration)
    try await repository.put(1, "apple")
    await repository.watch()
    try await repository.put(2, "bear")
    if let item = await repository.frozen() {
        print(item.title, item.isFrozen)
        let task = Task { @MainActor in item.title }
        print(await task.value)
    }
    print(await repository.titles())
    await repository.stop()
}

@MainActor func stream(_ configuration: Realm.Configuration) async throws -> [Int] {
    let realm = try await Realm(configuration: configuration)
    let items = realm.objects(Item.self)
    var seen: [Int] = []
    let writer = Task {
        let repository = try await Repository.make(configuration)
        for id in 10 ..< 13 { try await repository.put(id, "x\(id)"); try await Task.sleep(nanoseconds: 20_000_000) }
    }
    for await change in items.changes() {
        switch change {
        case .initial(let items): seen.append(items.count)
        case .update(let items, _, _, _): seen.append(items.count)
        case .error: break
        }
        if items.count == 5 { break }
    }
    try await writer.value
    return seen
}

func threadSafe(_ configuration: Realm.Configuration) async throws -> String {
    let task = Task { @MainActor in
        let realm = try await Realm(configuration: configuration)
        @ThreadSafe var item = realm.objects(Item.self).first
        let other = _item
        return await Task.detached { other.wrappedValue?.title ?? "none" }.value
    }
    return try await task.value
}

func wrapped(@ThreadSafe item: Item?) async -> String {
    await Task.detached { _item.wrappedValue?.title ?? "none" }.value
}

@main struct Main {
    static func main() async throws {
        let configuration = Realm.Configuration(inMemoryIdentifier: "three")
        let keep = try await Repository.make(configuration)
        try await work(configuration)
        let seen = try await stream(configuration)
        await keep.stop()
        print(seen.last == 5, try await threadSafe(configuration))
    }
}
