// A program that has the Swift runtime in itself (`--static-swift-stdlib`): it must tell threads apart, too. Such a
// program exports no symbols, so nothing that is looked up by name is found.
import Foundation
import RealmSwift

class Boat: Object {
    @Persisted var name = ""
}

let realm = try Realm(configuration: Realm.Configuration(inMemoryIdentifier: "static"))
let boat = try realm.write { realm.create(Boat.self, value: ["name": "a"]) }

final class Messages: @unchecked Sendable {  // @unchecked: only touched holding the lock
    private let lock = NSLock()
    private var texts: [String] = []
    func add(_ text: String) { lock.withLock { texts.append(text) } }
    var all: [String] { lock.withLock { texts } }
}
let messages = Messages()
Realm.misuseHandler = { messages.add($0.message) }

nonisolated(unsafe) let handed = boat
let done = DispatchSemaphore(value: 0)
Thread {
    _ = handed.name
    done.signal()
}.start()
done.wait()
guard messages.all.count == 1, messages.all[0].hasPrefix("Realm accessed from incorrect thread") else {
    print("another thread was taken for the main one: \(messages.all)")
    exit(1)
}
print("threads are distinguished: \(boat.name)")
