// A server-like program: migrations, sync and async mixes, errors, sending values, enums and custom types.
import Foundation
import RealmSwift

enum Status: String, PersistableEnum, Codable, Sendable { case open, done }
struct Money: Sendable, CustomPersistable {
    typealias PersistedType = Int
    var cents: Int
    init(cents: Int) { self.cents = cents }
    init(persistedValue: Int) { cents = persistedValue }
    var persistableValue: Int { cents }
}
class Order: Object, Codable {
    @Persisted(primaryKey: true) var id: ObjectId
    @Persisted(indexed: true) var status: Status = .open
    @Persisted var note: String?
    @Persisted var lines: List<Line>
    @Persisted var price: Decimal128
    @Persisted var at: Date
    convenience init(note: String) { self.init(); self.note = note; at = Date() }
}
class Line: EmbeddedObject, Codable {
    @Persisted var name: String
    @Persisted var count: Int
}
class Account: Object {
    @Persisted(primaryKey: true) var name: String
    @Persisted var money: Money = Money(cents: 0)
}

enum StoreError: Error { case missing(ObjectId), realm(Realm.Error) }

actor OrderStore {
    private var realm: Realm?
    private let configuration: Realm.Configuration
    init(_ configuration: Realm.Configuration) { self.configuration = configuration }
    private func open() async throws -> Realm {
        if let realm { return realm }
        let realm = try await Realm.open(configuration: configuration)
        self.realm = realm
        return realm
    }
    @discardableResult
    func place(_ note: String, lines: [(String, Int)]) async throws -> ObjectId {
        let realm = try await open()
        let order = Order(note: note)
        order.lines.append(objectsIn: lines.map { Line(value: ["name": $0.0, "count": $0.1]) })
        order.price = "12.50"
        try await realm.asyncWrite { realm.add(order) }
        return order.id
    }
    func finish(_ id: ObjectId) async throws {
        let realm = try await open()
        guard let order = realm.object(ofType: Order.self, forPrimaryKey: id) else { throw StoreError.missing(id) }
        try await realm.asyncWrite { order.status = .done }
    }
    func all(_ status: Status) async throws -> sending [Order] {
        let realm = try await open()
        return Array(realm.objects(Order.self).where { $0.status == status }.freeze())
    }
    func json() async throws -> Data {
        let realm = try await open()
        return try JSONEncoder().encode(realm.objects(Order.self).map { Order(value: $0) })
    }
    func synchronously() throws {
        let realm = try Realm(configuration: configuration)
        try realm.write { realm.add(Account(value: ["name": "a"]), update: .modified) }
    }
    /// A sent object: made elsewhere, added here.
    func add(_ order: sending Order) async throws {
        let realm = try await open()
        try await realm.asyncWrite { realm.add(order) }
    }
    func add<T: Object>(_ make: @Sendable () -> T) async throws {
        let realm = try await open()
        let made = make()
        try await realm.asyncWrite { realm.add(made, update: .all) }
    }
    func write<R: Sendable>(_ body: @Sendable (Realm) throws -> R) async throws -> R {
        let realm = try await open()
        return try await realm.asyncWrite { try body(realm) }
    }
    func total() async throws -> Double? {
        let realm = try await open()
        return realm.objects(Order.self).flatMap { $0.lines }.map { Double($0.count) }.reduce(0, +)
    }
    func resolve<T: ThreadConfined>(
        _ reference: ThreadSafeReference<T>, _ body: @Sendable (T) -> String
    ) async throws -> String? {
        let realm = try await open()
        return realm.resolve(reference).map(body)
    }
}

@MainActor final class Screen {
    var orders: Results<Order>?
    var tokens: [NotificationToken] = []
    func load(_ configuration: Realm.Configuration) {
        Realm.asyncOpen(configuration: configuration) { result in
            switch result {
            case .success(let realm):
                MainActor.assumeIsolated { self.show(realm.objects(Order.self)) }
            case .failure(let error): print(error)
            }
        }
    }
    func show(_ orders: Results<Order>) {
        self.orders = orders
        tokens.append(orders.observe(on: .main) { change in
            if case .initial(let orders) = change { print("screen", orders.count) }
        })
        if let realm = orders.realm {
            tokens.append(realm.observe { notification, _ in if notification == .didChange { print("changed") } })
        }
    }
}

let shared = Realm.Configuration(
    inMemoryIdentifier: "four", schemaVersion: 2,
    migrationBlock: { migration, oldVersion in
        if oldVersion < 2 {
            migration.enumerateObjects(ofType: Order.className()) { old, new in new?["note"] = old?["note"] }
        }
    }, objectTypes: [Order.self, Line.self, Account.self])

func count(in realm: Realm) -> Int { realm.objects(Order.self).count }

@main struct Main {
    static func main() async throws {
        let store = OrderStore(shared)
        let id = try await store.place("first", lines: [("a", 2), ("b", 3)])
        try await store.finish(id)
        let done = try await store.all(.done)
        try await store.add(Order(note: "sent"))
        let order = Order(note: "sent too")
        try await store.add(order)
        try await store.add { Account(value: ["name": "b", "money": 5]) }
        try await store.synchronously()
        let written = try await store.write { realm in
            realm.create(Account.self, value: ["name": "c"])
            return count(in: realm)
        }
        let reference = await Task { @MainActor in
            let realm = try! Realm(configuration: shared)
            return ThreadSafeReference(to: realm.objects(Order.self).sorted(by: \.at))
        }.value
        let text = try await store.resolve(reference) { "\($0.count)" }
        print(done.map { $0.note ?? "" }, written, text ?? "nil", try await store.total() ?? 0)
        print(try await store.json().count > 10)
        let screen = await Screen()
        await screen.load(shared)
        for _ in 0 ..< 2_000 { try await Task.sleep(nanoseconds: 5_000_000); if await screen.orders != nil { break } }
        print(await screen.orders?.count ?? -1)
        do { try await store.finish(ObjectId.generate()) } catch StoreError.missing { print("missing") }
    }
}
