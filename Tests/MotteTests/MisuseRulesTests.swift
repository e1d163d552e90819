// The numbered behaviours of the semantics list that concern broken rules: which are errors and which are misuse, and
// the phrases of their messages that programs look for. Numbers are in the names.
import Foundation
import MisuseSupport
import Motte
import MotteValues
import OpenCombine
import Testing

class Parcel: Object, Encodable {
    @Persisted(primaryKey: true) var number: Int
    @Persisted var text: String
    @Persisted var tags: MutableSet<String>
    @Persisted var labels: List<ParcelLabel>
    @Persisted var byPlace: Map<String, ParcelLabel?>
    @Persisted var label: ParcelLabel?
    @Persisted var weight: ParcelWeight? = ParcelWeight(grams: 1)
    @Persisted var weights: List<ParcelWeight>
    let stamps = RealmProperty<Int?>()
}

class ParcelLabel: EmbeddedObject, Encodable {
    @Persisted var text: String
}

class Wrapping: Object {
    @Persisted var colour: String
}

/// Stored as an int; negative ones are none.
struct ParcelWeight: FailableCustomPersistable, Encodable, Hashable {
    let grams: Int
    init(grams: Int) { self.grams = grams }
    init?(persistedValue: Int) {
        guard persistedValue >= 0 else { return nil }
        grams = persistedValue
    }
    var persistableValue: Int { grams }
}

@Suite(.serialized) struct MisuseRulesTests {
    private func fresh() throws -> (realm: Realm, parcel: Parcel) {
        let realm = try makeRealm([Parcel.self, ParcelLabel.self, Wrapping.self])
        return (realm, try realm.write { realm.create(Parcel.self, value: ["number": 1, "text": "t"]) })
    }

    /// Whether something is reported, in words that have this in them.
    private func says(
        _ text: String, at location: SourceLocation = #_sourceLocation, _ body: () throws -> Void
    ) rethrows {
        let messages = try misuses(body)
        #expect(messages.contains { $0.contains(text) }, "\(messages)", sourceLocation: location)
    }

    // MARK: Errors and misuse

    @Test func rule2WhatCannotBeCaught() throws {
        let (realm, parcel) = try fresh()
        nonisolated(unsafe) let handed = parcel
        #expect(try inAThread { misuses { _ = handed.text } }.first?.contains("incorrect thread") == true)
        says("outside of a write transaction") { parcel.text = "u" }
        says("already in a write transaction") {
            realm.beginWrite()
            realm.beginWrite()
            realm.cancelWrite()
        }
        says("out of bounds") { _ = parcel.labels[3] }
        try says("existing primary key value") {
            try realm.write { _ = realm.create(Parcel.self, value: ["number": 1, "text": "other"]) }
        }
        try says("Primary key can't be changed after an object is inserted") {
            try realm.write { parcel.number = 2 }
        }
        says("nothing") { _ = realm.objects(Parcel.self).filter("nothing == 1") }
        says("nothing") { _ = parcel.observe(keyPaths: ["nothing"]) { (_: ObjectChange<Parcel>) in } }
        says("nothing") { _ = realm.objects(Parcel.self).sorted(byKeyPath: "nothing").count }
        try says("Invalid value") { try realm.write { parcel["text"] = 5 } }
        #expect(parcel.number == 1 && parcel.text == "t", "nothing was done (10)")
        #expect(realm.objects(Parcel.self).count == 1)
    }

    @Test func handlersComeAndGo() {
        #expect(misuses { _ = Parcel().labels[0] } == ["Index 0 is out of bounds (must be less than 0)."])
        // The same again and again, because other tests go on beside this one.
        for _ in 0 ..< 100_000 { Realm.misuseHandler = Realm.misuseHandler }
        #expect(misuses { _ = Parcel().labels[-1] }.first?.contains("negative value") == true)
    }

    @Test func rule4OnlyActorsWait() async throws {
        let configuration = Realm.Configuration(fileURL: temporaryURL(), objectTypes: [Parcel.self, ParcelLabel.self])
        actor Other {
            func messages(_ realm: Realm) async -> [String] {
                let collector = MisuseCollector { $0.message.contains("main thread or actor-isolated") }
                defer { collector.remove() }
                _ = try? await realm.asyncWrite {}
                _ = await realm.asyncRefresh()
                return collector.messages
            }
        }
        nonisolated(unsafe) let realm = try DispatchQueue.global().sync { try Realm(configuration: configuration) }
        let said = await Other().messages(realm)
        #expect(said.filter { $0.contains("can only be called on main thread or actor-isolated Realms") }.count == 2)
    }

    @Test func rule5SetsHaveNoIndexes() throws {
        let (_, parcel) = try fresh()
        for tags in [parcel.tags, Parcel().tags] {
            says("index(of:) is not available on MutableSet") { _ = tags.index(of: "a") }
            says("index(matching:) is not available on MutableSet") {
                _ = tags.index(matching: NSPredicate(format: "SELF == 'a'"))
            }
        }
    }

    @Test func rule6WhatIsUnmanagedIsNotPublished() throws {
        let text = "Only objects and collections that are managed by a Realm can be published"
        says(text) { _ = Parcel().objectWillChange.sink { _ in } }
        says(text) { _ = valuePublisher(Parcel()).sink(receiveCompletion: { _ in }, receiveValue: { _ in }) }
        says(text) { _ = changesetPublisher(Parcel()).sink { _ in } }
        says(text) { _ = Parcel().labels.collectionPublisher.sink(receiveCompletion: { _ in }, receiveValue: { _ in }) }
        says(text) { _ = Parcel().byPlace.changesetPublisher.sink { _ in } }
    }

    /// Without a handler of its own a program ends with the message. In a process of its own, of this program.
    @Test func rule6MisuseEndsPrograms() async {
        await #expect(processExitsWith: .failure) {
            _ = Parcel().objectWillChange.sink { _ in }
        }
    }

    @Test func rule8ManagedObjectsAreNotEncoded() throws {
        let (_, parcel) = try fresh()
        #expect(misuses { #expect(throws: EncodingError.self) { try JSONEncoder().encode(parcel) } }.isEmpty)
        #expect(String(decoding: try JSONEncoder().encode(Parcel(value: [7])), as: UTF8.self).contains(#""number":7"#))
    }

    @Test func rule9CancelledWritesThrow() async throws {
        let configuration = Realm.Configuration(fileURL: temporaryURL(), objectTypes: [Parcel.self, ParcelLabel.self])
        actor Desk {
            func write(_ configuration: Realm.Configuration) async throws {
                let realm = try await Realm.open(configuration: configuration)
                try await realm.asyncWrite { _ = realm.create(Parcel.self, value: [1]) }
            }
        }
        let desk = Desk()
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await desk.write(configuration)
        }
        await #expect(throws: CancellationError.self) { try await task.value }
        let isEmpty = try inAThread { try Realm(configuration: configuration).isEmpty }
        #expect(isEmpty)
    }

    // MARK: What messages say

    /// Where a handler returns, nothing of a call is done that breaks a rule with a part of it.
    @Test func callsWithManyThingsAreAllOrNothing() throws {
        let (realm, parcel) = try fresh()
        try realm.write {
            parcel.labels.append(objectsIn: ["a", "b", "c"].map { ParcelLabel(value: ["text": $0]) })
            let managed = parcel.labels[0]
            #expect(misuses { parcel.labels.replaceSubrange(1 ..< 3, with: [ParcelLabel(), managed]) }.count == 1)
            #expect(parcel.labels.map(\.text) == ["a", "b", "c"] && !managed.isInvalidated)
            parcel.labels.replaceSubrange(1 ..< 3, with: [ParcelLabel(value: ["text": "x"])])
            #expect(parcel.labels.map(\.text) == ["a", "x"])
            let first = realm.create(Wrapping.self, value: ["colour": "red"])
            let second = realm.create(Wrapping.self, value: ["colour": "blue"])
            #expect(misuses { realm.delete([first, Wrapping(), second]) }.count == 1)
            #expect(!first.isInvalidated && !second.isInvalidated)
            realm.delete([first, second])
            #expect(first.isInvalidated && second.isInvalidated)
        }
        #expect(realm.objects(Wrapping.self).isEmpty)
    }

    @Test func rules56And57And59WordsOfEmbeddedObjects() throws {
        let (realm, parcel) = try fresh()
        try realm.write {
            parcel.label = ParcelLabel(value: ["a"])
            parcel.labels.append(ParcelLabel(value: ["b"]))
            says("existing managed embedded object") { parcel.label = parcel.labels[0] }
            says("Cannot add an existing managed embedded object to a List.") { parcel.labels.append(parcel.label!) }
            says("Cannot add an existing managed embedded object to a Dictionary.") {
                parcel.byPlace["k"] = parcel.label
            }
            says("Embedded objects cannot be created directly") {
                realm.dynamicCreate("ParcelLabel", value: ["text": "c"])
            }
            says("does not have a primary key") { realm.create(Wrapping.self, value: ["colour": "x"], update: .all) }
        }
    }

    @Test func rules61And69And113WordsOfObjects() throws {
        let (realm, parcel) = try fresh()
        let frozen = parcel.freeze()
        try realm.write { says("modify a frozen object") { frozen.text = "u" } }
        says("transactions on a frozen Realm") { frozen.realm?.beginWrite() }
        says("do not change and do not have change notifications") {
            _ = frozen.observe { (_: ObjectChange<Parcel>) in }
        }
        says("Unmanaged objects cannot be frozen") { _ = Parcel().freeze() }
        says("managed") { _ = Parcel().observe { (_: ObjectChange<Parcel>) in } }
        says("managed") { _ = Parcel().labels.observe { _ in } }
        says("reference to unmanaged object") { _ = ThreadSafeReference(to: Parcel()) }
        try says("same write transaction") {
            try realm.write { _ = realm.create(Parcel.self, value: [9]).freeze() }
        }
        try realm.write {
            parcel.text = "not yet"
            parcel.labels.append(ParcelLabel(value: ["not yet"]))
            #expect(parcel.freeze().text == "t" && parcel.labels.freeze().isEmpty, "as it was before (111)")
            #expect(realm.freeze().objects(Parcel.self).first?.text == "t" && parcel.text == "not yet")
            realm.cancelWrite()
        }
        says("not managed by the Realm") {
            realm.beginWrite(); realm.add(Note()); realm.cancelWrite()
        }
        try realm.write { realm.delete(parcel) }
        says("deleted or invalidated") { _ = parcel.text }
        try realm.write { says("deleted or invalidated") { parcel.text = "u" } }
        says("invalidated object") { _ = ThreadSafeReference(to: parcel) }
        #expect(parcel.isInvalidated && !parcel.isSameObject(as: nil) && !parcel.description.isEmpty)
    }

    @Test func rules173And185And219And240And244And254WordsOfValues() throws {
        let (realm, parcel) = try fresh()
        let parcels = realm.objects(Parcel.self)
        try realm.write {
            says("out of bounds") { parcel.labels.remove(at: 0) }
            says("negative value") { parcel.labels.removeFirst(-1) }
            says("Binary too big") { parcel.text = String(repeating: "a", count: 16_777_200) }
        }
        says("Invalid property name") { let _: Int? = parcels.min(ofProperty: "nothing") }
        says("ANY or aggregate") { _ = parcels.filter("labels.text BEGINSWITH 'a'") }
        says("Cannot sort on key path") { _ = parcels.sorted(byKeyPath: "labels").count }
        says("Cannot sort on key path") { _ = parcels.sorted(byKeyPath: "labels.@count").count }
    }
}
