// What the matrices share: steps that say what was not so, and those that are the same for every class of holders.
import Foundation
import Motte
import Testing

/// What was expected in a step, by the lines of what was not so.
final class Held {
    private(set) var failures: [Int] = []
    func callAsFunction(_ isTrue: Bool, line: Int = #line) { if !isTrue { failures.append(line) } }
}

protocol SteppedMatrix {
    var realm: Realm { get }
    /// The type or value at hand, which a failure names.
    var subject: String { get }
}

extension SteppedMatrix {
    /// Breaking a rule fails the step too.
    func step(_ name: String, _ body: (Held) throws -> Void) {
        do {
            let broken = try misuses {
                let held = Held()
                defer { for failure in held.failures { Issue.record("\(subject): \(name): line \(failure)") } }
                try body(held)
            }
            for message in broken { Issue.record("\(subject): \(name): \(message)") }
        } catch { Issue.record("\(subject): \(name): \(error)") }
    }
}

protocol MatrixHolder: Object {
    var id: Int { get set }
}

/// A matrix whose values stand in one class, with its key `id`.
protocol HolderMatrix: SteppedMatrix {
    associatedtype Holder: MatrixHolder
    func fill(_ holder: Holder)
    func isFilled(_ holder: Holder, _ held: Held, line: Int)
}

extension HolderMatrix {
    func isFilled(_ holder: Holder, _ held: Held, at line: Int = #line) { isFilled(holder, held, line: line) }

    func filled(_ id: Int) -> Holder {
        let holder = Holder()
        holder.id = id
        fill(holder)
        return holder
    }

    func adding() {
        step("added") { held in
            let holder = filled(1)
            try realm.write { realm.add(holder) }
            isFilled(holder, held)
            isFilled(realm.objects(Holder.self)[0], held)
        }
    }

    /// A step with an unmanaged object, and once more with a managed one in a write that is cancelled.
    func byName(_ body: (Holder, Held) throws -> Void) {
        for isManaged in [false, true] {
            step(isManaged ? "managed by name" : "unmanaged by name") { held in
                let holder = filled(30)
                if isManaged { try realm.write { realm.add(holder) } }
                if isManaged { realm.beginWrite() }
                defer { if isManaged { realm.cancelWrite() } }
                try body(holder, held)
            }
        }
    }

    /// What is reported of an object while `body` runs: old and new values by property.
    func changes(
        of holder: Holder, while body: () throws -> Void
    ) throws -> [String: (old: Any?, new: Any?)] {
        var received: [String: (old: Any?, new: Any?)] = [:]
        let token = holder.observe { (change: ObjectChange<Holder>) in
            guard case .change(_, let all) = change else { return }
            for one in all { received[one.name] = (one.oldValue, one.newValue) }
        }
        defer { token.invalidate() }
        realm.refresh()
        try body()
        realm.refresh()
        return received
    }

    /// Changes the object with this key in a realm of another thread.
    func elsewhere(_ id: Int, _ change: @escaping (Holder) -> Void) throws {
        let configuration = realm.configuration
        try inAThread {
            let other = try Realm(configuration: configuration)
            let holder = try #require(other.object(ofType: Holder.self, forPrimaryKey: id))
            try other.write { change(holder) }
        }
    }

    /// The elements of a list as another thread sees them.
    func elementsElsewhere<Element: RealmCollectionValue>(of list: List<Element>) throws -> [Element] {
        let handed = ThreadSafeReference(to: list)
        let configuration = realm.configuration
        return try inAThread { (try Realm(configuration: configuration).resolve(handed)).map { Array($0) } ?? [] }
    }
}
