// A view model on the main actor, without a user interface: tokens, published state, frozen objects, writeAsync.
import Foundation
import RealmSwift

final class Person: Object, ObjectKeyIdentifiable {
    @Persisted(primaryKey: true) var id: UUID
    @Persisted var name = ""
    @Persisted var age = 0
    @Persisted var dogs: List<Dog>
}
final class Dog: Object, ObjectKeyIdentifiable {
    @Persisted var name = ""
    @Persisted(originProperty: "dogs") var owners: LinkingObjects<Person>
}

@MainActor
final class PeopleViewModel {
    private(set) var names: [String] = []
    private(set) var lastError: (any Error)?
    private var token: NotificationToken?
    private var objectToken: NotificationToken?
    private let realm: Realm
    private let people: Results<Person>
    var onChange: (@MainActor () -> Void)?

    init(configuration: Realm.Configuration = .defaultConfiguration) throws {
        realm = try Realm(configuration: configuration)
        people = realm.objects(Person.self).sorted(by: \.name)
        token = people.observe { [weak self] changes in
            guard let self else { return }
            switch changes {
            case .initial(let people): self.names = people.map(\.name)
            case .update(let people, deletions: _, insertions: _, modifications: _): self.names = people.map { $0.name }
            case .error(let error): self.lastError = error
            }
            self.onChange?()
        }
    }
    deinit { token?.invalidate() }

    func add(_ name: String, age: Int) {
        realm.writeAsync {
            self.realm.add(Person(value: ["id": UUID(), "name": name, "age": age]))
        } onComplete: { error in
            if let error { print(error) }
        }
    }

    func addNow(_ name: String) async throws {
        let person = Person()
        person.name = name
        try await realm.asyncWrite { realm.add(person) }
    }

    /// Returns once so many are shown, or after ten seconds.
    func waits(forPeople count: Int) async throws {
        for _ in 0 ..< 2_000 where names.count < count { try await Task.sleep(nanoseconds: 5_000_000) }
    }

    func watchFirst() {
        objectToken = people.first?.observe { [weak self] change in
            switch change {
            case .change(_, let properties):
                for property in properties { print(property.name, property.oldValue as Any, property.newValue as Any) }
            case .error(let error): self?.lastError = error
            case .deleted: self?.objectToken = nil
            }
        }
    }

    func olderThan(_ age: Int) -> [Person] { Array(people.where { $0.age > age }) }

    func importNames(_ names: [String]) async throws {
        let configuration = realm.configuration
        try await Task.detached(priority: .background) {
            let realm = try Realm(configuration: configuration)
            try realm.write {
                for name in names { realm.create(Person.self, value: ["id": UUID(), "name": name]) }
            }
        }.value
        await realm.asyncRefresh()
    }

    func total() async throws -> Int {
        let frozen = people.freeze()
        return await Task.detached { frozen.map(\.name.count).reduce(0, +) }.value
    }

    func report() async -> String {
        guard let first = people.first?.freeze() else { return "" }
        return await Task.detached { first.name + "\(first.age)" }.value
    }
}

final class Importer: Sendable {
    let configuration: Realm.Configuration
    private let queue = DispatchQueue(label: "importer")
    init(_ configuration: Realm.Configuration) { self.configuration = configuration }
    func run(_ completion: @escaping @Sendable (Result<Int, any Error>) -> Void) {
        queue.async { [configuration, queue] in
            autoreleasepool {
                do {
                    let realm = try Realm(configuration: configuration, queue: queue)
                    try realm.write { realm.create(Person.self, value: ["id": UUID(), "name": "queue"]) }
                    completion(.success(realm.objects(Person.self).count))
                } catch { completion(.failure(error)) }
            }
        }
    }
    func run() async throws -> Int {
        try await withCheckedThrowingContinuation { continuation in run { continuation.resume(with: $0) } }
    }
}

@main struct Main {
    @MainActor static func main() async throws {
        let configuration = Realm.Configuration(inMemoryIdentifier: "two")
        let model = try PeopleViewModel(configuration: configuration)
        try await model.addNow("Ada")
        model.add("Bob", age: 40)
        try await model.importNames(["Cid", "Dee"])
        model.watchFirst()
        // Nobody waits for the asynchronous write of Bob: what counts begins after he is seen.
        try await model.waits(forPeople: 4)
        let count = try await Importer(configuration).run()
        try await model.waits(forPeople: 5)
        print(count, model.names, try await model.total(), await model.report(), model.olderThan(30).count)
    }
}
