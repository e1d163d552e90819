// A program whose main function is asynchronous: any thread may run its main actor, so that a realm that took the main
// thread for its place would be used in the wrong one. Prints what it has seen; a broken rule stops it.
import Foundation
import RealmSwift

final class Entry: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var text = ""
}

@MainActor final class Seen { var counts: [Int] = [] }

private let file = FileManager.default.temporaryDirectory
    .appendingPathComponent("async-main-\(UUID().uuidString).motte")
private let configuration = Realm.Configuration(fileURL: file, objectTypes: [Entry.self])

actor Writer {
    func add(_ id: Int) async throws {
        let realm = try await Realm(configuration: configuration, actor: self)
        try await realm.asyncWrite { _ = realm.create(Entry.self, value: ["id": id]) }
    }
}

@MainActor private func run() async throws {
    let realm = try await Realm(configuration: configuration)
    let entries = realm.objects(Entry.self), seen = Seen(), writer = Writer()
    let token = await entries.observe(on: MainActor.shared) { _, change in
        let count =
            switch change {
            case .initial(let entries), .update(let entries, _, _, _): entries.count
            case .error: -1
            }
        MainActor.assumeIsolated { seen.counts.append(count) }
    }
    for id in 0 ..< 40 {
        // Each of these may go on in another thread.
        await Task.yield()
        if id % 2 == 0 {
            try realm.write { _ = realm.create(Entry.self, value: ["id": id]) }
        } else {
            try await writer.add(id)
        }
        _ = await realm.asyncRefresh()
        guard entries.count == id + 1 else { fatalError("\(entries.count) entries after \(id + 1)") }
        try await realm.asyncWrite { entries.last?.text = "\(id)" }
    }
    while seen.counts.last != 40 { try await Task.sleep(nanoseconds: 1_000_000) }
    token.invalidate()
    print("seen by the main actor: \(entries.count), written \(entries.where { $0.text != "" }.count)")
    _ = try? FileManager.default.removeItem(at: file)
}

@main struct AsyncMain {
    static func main() async throws { try await run() }
}
