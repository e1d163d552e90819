// What a program that installs no handler prints before it ends: each broken rule in a process of its own, built as
// this one is. A release build drops the texts of traps, so these tests mean most there.
import Foundation
import Motte
import Testing

class Wharf: Object {
    @Persisted(primaryKey: true) var number = 0
    @Persisted var name = ""
    @Persisted var berths: List<Int>
    @Persisted var tide: Tide = .low
}

enum Tide: String, PersistableEnum { case low, high }

/// A rule, and what standard error has to say of it.
enum BrokenRule: String, CaseIterable, Codable, Sendable {
    case appendingOutsideOfAWrite, settingOutsideOfAWrite, unknownPropertyInAFilter, unknownSortPath, deletedObject
    case wrongThread, indexOutOfBounds, negativeIndex, changingAPrimaryKey, nestedWrite, observingTheUnmanaged
    case concurrentQueue, tokenOfAnotherRealm, unknownRawValue

    var words: String {
        switch self {
        case .appendingOutsideOfAWrite, .settingOutsideOfAWrite:
            "Cannot modify managed objects outside of a write transaction"
        case .unknownPropertyInAFilter: "Property 'colour' not found in object of type 'Wharf'"
        case .unknownSortPath: "Cannot sort on key path 'colour': property 'Wharf.colour' does not exist."
        case .deletedObject: "Object has been deleted or invalidated"
        case .wrongThread: "Realm accessed from incorrect thread"
        case .indexOutOfBounds: "Index 7 is out of bounds (must be less than 1)."
        case .negativeIndex: "Cannot pass a negative value for 'index'"
        case .changingAPrimaryKey: "Primary key can't be changed after an object is inserted"
        case .nestedWrite: "The Realm is already in a write transaction"
        case .observingTheUnmanaged: "Change notifications are only supported on objects and collections managed"
        case .concurrentQueue: "Realms can only be confined to serial queues or the main queue."
        case .tokenOfAnotherRealm: "the NotificationToken does not belong to this Realm"
        case .unknownRawValue: "Invalid value 'ebb' for property 'Wharf.tide'; it is no raw value of the enum Tide"
        }
    }

    func act() throws {
        let realm = try Realm(configuration: Self.configuration)
        let wharf = try realm.write { realm.create(Wharf.self, value: ["number": 1, "berths": [1]]) }
        switch self {
        case .appendingOutsideOfAWrite: wharf.berths.append(1)
        case .settingOutsideOfAWrite: wharf.name = "n"
        case .unknownPropertyInAFilter: _ = realm.objects(Wharf.self).filter("colour == 1")
        case .unknownSortPath: _ = realm.objects(Wharf.self).sorted(byKeyPath: "colour")
        case .deletedObject:
            try realm.write { realm.delete(wharf) }
            _ = wharf.name
        case .wrongThread:
            nonisolated(unsafe) let handed = wharf
            let thread = Thread { _ = handed.name }
            thread.start()
            Thread.sleep(forTimeInterval: 30)
        case .indexOutOfBounds: _ = wharf.berths[7]
        case .negativeIndex: _ = wharf.berths[-1]
        case .changingAPrimaryKey: try realm.write { wharf.number = 2 }
        case .nestedWrite:
            realm.beginWrite()
            realm.beginWrite()
        case .observingTheUnmanaged: _ = Wharf().berths.observe { _ in }
        case .concurrentQueue:
            _ = wharf.berths.observe(on: DispatchQueue(label: "many", attributes: .concurrent)) { _ in }
        case .tokenOfAnotherRealm:
            let other = try Realm(configuration: Self.configuration)
            let token = other.objects(Wharf.self).observe { _ in }
            try realm.write(withoutNotifying: [token]) {}
        case .unknownRawValue: try realm.write { wharf["tide"] = "ebb" }
        }
    }

    private static var configuration: Realm.Configuration {
        Realm.Configuration(inMemoryIdentifier: UUID().uuidString, objectTypes: [Wharf.self])
    }
}

@Suite struct MisuseWordsTests {
    @Test(arguments: BrokenRule.allCases)
    func endsTheProgramWithItsMessage(_ rule: BrokenRule) async throws {
        let outcome = await #expect(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) {
            [rule = rule as BrokenRule] in
            try rule.act()
        }
        let text = String(decoding: try #require(outcome).standardErrorContent, as: UTF8.self)
        #expect(text.contains("Motte: "))
        #expect(text.contains(rule.words), "\(text)")
        #expect(text.contains("Set Realm.misuseHandler"), "what to do about it")
    }

    /// Longer than what a pipe takes at once, from many threads: the first message is whole.
    @Test func messagesAreWhole() async throws {
        let outcome = await #expect(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) {
            let name = String(repeating: "x", count: 100_000)
            _ = Wharf()[name]
        }
        let text = String(decoding: try #require(outcome).standardErrorContent, as: UTF8.self)
        #expect(text.contains("for class 'Wharf'.") && text.contains("Set Realm.misuseHandler"), "\(text.utf8.count)")
    }
}
