// A to-do program as written today: an actor owns a realm, the main actor shows it.
import Foundation
import RealmSwift

class Todo: Object {
    @Persisted(primaryKey: true) var _id: ObjectId
    @Persisted var name: String
    @Persisted var owner: String
    @Persisted var status: String
}

func mainThreadFunction() async throws {
    try await mainActorUse()
}

@MainActor
func mainActorUse() async throws {
    let realm = try await Realm()
    try await realm.asyncWrite {
        realm.create(Todo.self, value: ["name": "Pledge fealty", "owner": "Jaime", "status": "In Progress"])
    }
}

actor RealmActor {
    var realm: Realm!
    init() async throws {
        realm = try await Realm(actor: self)
    }
    init(configuration: Realm.Configuration) async throws {
        realm = try await Realm(configuration: configuration, actor: self)
    }

    var count: Int { realm.objects(Todo.self).count }

    func createTodo(name: String, owner: String, status: String) async throws {
        try await realm.asyncWrite {
            realm.create(Todo.self, value: [
                "_id": ObjectId.generate(),
                "name": name,
                "owner": owner,
                "status": status,
            ])
        }
    }

    func getTodoOwner(forTodoNamed name: String) -> String {
        let todo = realm.objects(Todo.self).where { $0.name == name }.first!
        return todo.owner
    }

    struct TodoStruct: Sendable {
        var id: ObjectId
        var name, owner, status: String
    }

    func getTodoAsStruct(forTodoNamed name: String) -> TodoStruct {
        let todo = realm.objects(Todo.self).where { $0.name == name }.first!
        return TodoStruct(id: todo._id, name: todo.name, owner: todo.owner, status: todo.status)
    }

    func updateTodo(_id: ObjectId, name: String, owner: String, status: String) async throws {
        try await realm.asyncWrite {
            realm.create(Todo.self, value: ["_id": _id, "name": name, "owner": owner, "status": status],
                         update: .modified)
        }
    }

    func deleteTodo(id: ObjectId) async throws {
        try await realm.asyncWrite {
            let todoToDelete = realm.object(ofType: Todo.self, forPrimaryKey: id)
            realm.delete(todoToDelete!)
        }
    }

    func close() { realm = nil }

    func reference(_ name: String) -> ThreadSafeReference<Todo> {
        ThreadSafeReference(to: realm.objects(Todo.self).where { $0.name == name }.first!)
    }
    func rename(_ reference: ThreadSafeReference<Todo>, to name: String) async throws {
        guard let todo = realm.resolve(reference) else { return }
        try await realm.asyncWrite { todo.name = name }
    }
    func frozenTodos() -> Results<Todo> { realm.objects(Todo.self).freeze() }
}

actor BackgroundActor {
    public func deleteTodo(tsrToTodo tsr: ThreadSafeReference<Todo>) throws {
        let realm = try! Realm()
        try realm.write {
            let todoOnActor = realm.resolve(tsr)
            realm.delete(todoOnActor!)
        }
    }
}

func createObject(in actor: isolated RealmActor) async throws {
    try await actor.realm.asyncWrite {
        actor.realm.create(Todo.self, value: ["name": "Keep it secret", "owner": "Frodo", "status": "In Progress"])
    }
}

@globalActor actor BackgroundGlobal: GlobalActor {
    static let shared = BackgroundGlobal()
}

@BackgroundGlobal
func backgroundThreadFunction() async throws {
    let realm = try await Realm(actor: BackgroundGlobal.shared)
    try await realm.asyncWrite {
        _ = realm.create(Todo.self, value: ["name": "Pledge fealty", "owner": "Jaime", "status": "In Progress"])
    }
    await realm.asyncRefresh()
}

@MainActor func observing() async throws {
    let actor = try await RealmActor()
    let token = await actor.observeMe()
    try await createObject(in: actor)
    token.invalidate()
}

extension RealmActor {
    func observeMe() async -> NotificationToken {
        let todos = realm.objects(Todo.self)
        return await todos.observe(on: self, { actor, changes in
            print("A change occurred on actor: \(actor)")
            switch changes {
            case .initial: print("initial")
            case .update(_, let deletions, let insertions, let modifications):
                print(deletions, insertions, modifications)
            case .error(let error): print(error)
            }
        })
    }
}

@main struct Main {
    static func main() async throws {
        Realm.Configuration.defaultConfiguration = Realm.Configuration(inMemoryIdentifier: "one")
        let keep = try await RealmActor()
        try await mainThreadFunction()
        try await observing()
        try await backgroundThreadFunction()
        try await keep.createTodo(name: "One", owner: "Me", status: "Open")
        let ref = await keep.reference("One")
        try await keep.rename(ref, to: "Two")
        let value = await keep.getTodoAsStruct(forTodoNamed: "Two")
        try await keep.updateTodo(_id: value.id, name: "Three", owner: "You", status: "x")
        let again = await keep.reference("Three")
        try await keep.deleteTodo(id: value.id)
        _ = again
        let owner = await keep.getTodoOwner(forTodoNamed: "Keep it secret")
        print("todos: \(await keep.count) owner: \(owner)")
        let task = Task { @MainActor in
            let realm = try await Realm.open()
            let todo = realm.objects(Todo.self).first!
            let tsr = ThreadSafeReference(to: todo)
            let background = BackgroundActor()
            try await background.deleteTodo(tsrToTodo: tsr)
            return realm.objects(Todo.self).count
        }
        print("left:", try await task.value)
    }
}
