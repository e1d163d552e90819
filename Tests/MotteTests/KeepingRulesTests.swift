// What a program gives is kept or refused, never changed; and what a broken rule leaves behind, where a handler
// returns.
import Dispatch
import Foundation
import Motte
import MotteValues
import Testing

class Locker: Object {
    @Persisted(primaryKey: true) var id = 0
    @Persisted var content: AnyRealmValue
    @Persisted var contents: List<AnyRealmValue>
    @Persisted var tide: Tide = .low
    @Persisted var optionalTide: Tide?
    @Persisted var tides: List<Tide>
    @Persisted var next: Locker?
    let before = LinkingObjects(fromType: Locker.self, property: "next")
}

@Suite(.serialized) struct KeepingRulesTests {
    private func fresh() throws -> Realm { try makeRealm([Locker.self]) }

    // MARK: Values

    @Test func truthStaysTruthInMixedValues() throws {
        let text = #"{"id": 1, "content": true, "contents": [false, 1, 0, 1.5, "a", null, [true], {"k": true}]}"#
        let value = try JSONSerialization.jsonObject(with: Data(text.utf8))
        let realm = try fresh()
        let locker = try realm.write { realm.create(Locker.self, value: value) }
        #expect(locker.content == .bool(true))
        let contents = Array(locker.contents.prefix(6))
        #expect(contents == [.bool(false), .int(1), .int(0), .double(1.5), .string("a"), .none], "\(contents)")
        #expect(locker.contents[6].listValue?.first == .bool(true))
        #expect(locker.contents[7].dictionaryValue?["k"] == .bool(true))
        try realm.write {
            locker["content"] = NSNumber(value: false)
            #expect(locker.content == .bool(false))
            locker["content"] = NSNumber(value: Int8(1))
            #expect(locker.content == .int(1))
            locker["content"] = NSNumber(value: Float(0.1))
            #expect(locker.content == .float(0.1))
            locker["content"] = NSDecimalNumber(string: "0.1")
            #expect(locker.content == .decimal128(Decimal128(floatLiteral: 0.1)), "\(locker.content)")
            locker["content"] = NSNumber(value: UInt64(5))
            #expect(locker.content == .int(5))
            // No 64 bits hold it.
            let messages = misuses { locker["content"] = NSNumber(value: UInt64.max) }
            #expect(messages.count == 1 && messages[0].contains("18446744073709551615") && locker.content == .int(5))
        }
        #expect(realm.objects(Locker.self).filter("content == %@", NSNumber(value: true)).count == 0)
    }

    @Test func enumsTakeTheirCasesOnly() throws {
        let realm = try fresh()
        let locker = try realm.write { realm.create(Locker.self, value: ["id": 1, "tide": "high"]) }
        #expect(locker.tide == .high)
        try realm.write {
            let unknown: [(String, Any)] = [("tide", "ebb"), ("optionalTide", "ebb"), ("tides", ["low", "ebb"])]
            for (name, value) in unknown {
                let messages = misuses { locker[name] = value }
                #expect(messages.count == 1 && messages[0].contains("Invalid value"), "\(name): \(messages)")
                #expect(misuses { realm.create(Locker.self, value: ["id": 2, name: value]) }.count == 1)
                let refused = misuses { realm.create(Locker.self, value: ["id": 1, name: value], update: .modified) }
                #expect(refused.count == 1)
            }
            locker["optionalTide"] = "low"
            locker["tides"] = ["low", "high"]
        }
        #expect(realm.objects(Locker.self).count == 1 && locker.tide == .high && locker.optionalTide == .low)
        #expect(Array(locker.tides) == [.low, .high])
        let message = try #require(try realm.write { misuses { locker["tide"] = "ebb" } }.first)
        #expect(message.hasSuffix("it is no raw value of the enum Tide, which has low, high"))
        // Others may have written what this program does not know.
        try realm.write { realm.dynamicObjects("Locker")[0]["optionalTide"] = "ebb" }
        #expect(locker.optionalTide == nil)
    }

    @Test func whatAClassDoesNotHaveIsPassedOver() throws {
        let extra: [String: Any] = ["id": 3, "colour": "red", "before": [1], "content": 4, "": 1]
        let unmanaged = Locker(value: extra)
        #expect(unmanaged.id == 3 && unmanaged.content == .int(4))
        let realm = try fresh()
        realm.beginWrite()
        // A broken rule that no test looks at fails it.
        let locker = realm.create(Locker.self, value: extra)
        #expect(locker.content == .int(4))
        realm.create(Locker.self, value: ["id": 3, "colour": 1, "content": 5], update: .modified)
        realm.create(Locker.self, value: ["id": 4, "next": ["id": 5, "colour": 1]], update: .all)
        realm.dynamicCreate("Locker", value: ["id": 6, "colour": 1])
        #expect(locker.content == .int(5))
        try realm.commitWrite()
        let tooMany: [Any] = [1, 2, [3], "low", NSNull(), [String](), NSNull(), 8]
        let messages = misuses { _ = Locker(value: tooMany) }
        #expect(messages.first?.hasPrefix("Invalid array input: more values (8) than properties (7)") == true)
        #expect(realm.objects(Locker.self).sorted(byKeyPath: "id").map(\.id) == [3, 4, 5, 6])
    }

    // MARK: Observations and writes

    @Test func aTokenOfAnotherRealmRollsBack() throws {
        let realm = try fresh(), other = try fresh()
        let token = other.objects(Locker.self).observe { _ in }
        defer { token.invalidate() }
        let messages = misuses {
            #expect(throws: Realm.Error.self) {
                try realm.write(withoutNotifying: [token]) { realm.create(Locker.self, value: ["id": 1]) }
            }
        }
        #expect(messages.count == 1 && messages[0].contains("does not belong to this Realm"))
        #expect(!realm.isInWriteTransaction && realm.objects(Locker.self).isEmpty)
        // Nobody holds the write lock.
        let configuration = realm.configuration
        try inAThread {
            let again = try Realm(configuration: configuration)
            try again.write { _ = again.create(Locker.self, value: ["id": 2]) }
        }
        realm.beginWrite()
        let refused = misuses {
            #expect(throws: Realm.Error.self) { try realm.commitWrite(withoutNotifying: [token]) }
        }
        #expect(refused.count == 1)
        #expect(realm.isInWriteTransaction, "whoever began it ends it")
        realm.cancelWrite()
        #expect(realm.objects(Locker.self).map(\.id) == [2])
    }

    @Test func inverseLinksOutliveTheirObject() throws {
        let realm = try fresh()
        try realm.write {
            let last = realm.create(Locker.self, value: ["id": 1])
            realm.create(Locker.self, value: ["id": 2, "next": last])
        }
        #expect(realm.objects(Locker.self).filter("id == 1").first?.before.count == 1)
        let before = try #require(realm.object(ofType: Locker.self, forPrimaryKey: 1)).before
        #expect(before.map(\.id) == [2] && before.first?.id == 2)
        var counts: [Int] = []
        let token = before.observe { change in
            if case .update(let all, _, _, _) = change { counts.append(all.count) }
        }
        realm.refresh()
        try realm.write {
            realm.create(Locker.self, value: ["id": 3, "next": realm.object(ofType: Locker.self, forPrimaryKey: 1)!])
        }
        #expect(before.count == 2 && counts == [2])
        token.invalidate()
        let frozen = before.freeze()
        try realm.write { realm.delete(realm.object(ofType: Locker.self, forPrimaryKey: 1)!) }
        #expect(before.isEmpty && frozen.count == 2 && Locker().before.isEmpty)
    }

    @Test func projectionsAreObservedByWhatTheyProject() throws {
        let realm = try fresh()
        let locker = try realm.write { realm.create(Locker.self, value: ["id": 1]) }
        let projection = LockerProjection(projecting: locker)
        for path in ["contents", "colour", "next.content", ""] {
            let messages = misuses {
                _ = projection.observe(keyPaths: [path]) { (_: ObjectChange<LockerProjection>) in }
            }
            let phrase = "Invalid property name: property '\(path)' not found in object of type 'LockerProjection'"
            #expect(messages.count == 1 && messages[0].hasPrefix(phrase), "\(messages)")
            let ofAll = misuses { _ = realm.objects(LockerProjection.self).observe(keyPaths: [path]) { _ in } }
            #expect(ofAll.count == 1 && ofAll[0].hasPrefix(phrase), "\(ofAll)")
        }
        for keyPath in [\LockerProjection.rootObject.contents, \LockerProjection.sum] {
            let messages = misuses {
                _ = projection.observe(keyPaths: [keyPath]) { (_: ObjectChange<LockerProjection>) in }
            }
            #expect(messages.count == 1, "\(keyPath)")
        }
        var received = 0
        let tokens = ["state", "tide", "next", "nextTide", "next.tide"].map { path in
            projection.observe(keyPaths: [path]) { (_: ObjectChange<LockerProjection>) in received += 1 }
        }
        let all = realm.objects(LockerProjection.self).observe(keyPaths: ["state"]) { change in
            if case .update = change { received += 10 }
        }
        realm.refresh()
        try realm.write { locker.tide = .high }
        #expect(received == 12)
        withExtendedLifetime((tokens, all)) {}
    }

    // MARK: Places

    @Test func concurrentQueuesAreRefused() throws {
        let realm = try fresh()
        let locker = try realm.write { realm.create(Locker.self, value: ["id": 1]) }
        let many = DispatchQueue(label: "many", attributes: .concurrent)
        for queue in [many, .global(), .global(qos: .background)] {
            let error = #expect(throws: Realm.Error.self) {
                try queue.sync { _ = try Realm(configuration: realm.configuration, queue: queue) }
            }
            let text = error?.localizedDescription ?? ""
            let phrase = "Invalid queue '\(queue.label)' (concurrent): Realms can only be confined to serial queues"
            #expect(text.hasPrefix(phrase), "\(text)")
            #expect(text.contains("needs a serial queue"))
            #expect(misuses { _ = realm.objects(Locker.self).observe(on: queue) { _ in } }.first == text)
            #expect(misuses { _ = locker.observe(on: queue) { (_: ObjectChange<Locker>) in } }.first == text)
        }
        let serial = [
            DispatchQueue(label: "one"), DispatchQueue(label: "on many", target: many),
            DispatchQueue(label: "later", qos: .utility, attributes: .initiallyInactive),
        ]
        serial[2].activate()
        for queue in serial {
            let notified = DispatchSemaphore(value: 0)
            let token = realm.objects(Locker.self).observe(on: queue) { _ in notified.signal() }
            #expect(notified.wait(timeout: .now() + 20) == .success, "\(queue.label)")
            try realm.write { locker.content = .string(queue.label) }
            #expect(notified.wait(timeout: .now() + 20) == .success, "\(queue.label)")
            token.invalidate()
        }
    }

    /// The sessions of threads that have ended are theirs alone, whatever addresses later threads get.
    @Test func threadsInheritNothing() throws {
        let configuration = try fresh().configuration
        nonisolated(unsafe) var kept: [Realm] = []
        for number in 0 ..< 40 {
            let messages = try inAThread { () -> [String] in
                let realm = try Realm(configuration: configuration)
                kept.append(realm)
                return misuses { try? realm.write { _ = realm.create(Locker.self, value: ["id": number]) } }
            }
            #expect(messages.isEmpty, "\(number): \(messages)")
        }
        let realm = try Realm(configuration: configuration)
        realm.refresh()
        #expect(realm.objects(Locker.self).count == 40)
        for (index, one) in kept.enumerated() { #expect(kept[..<index].allSatisfy { $0 != one }) }
        nonisolated(unsafe) let all = kept
        _ = try inAThread { all.count }
    }
}

class LockerProjection: Projection<Locker> {
    @Projected(\Locker.tide) var state
    @Projected(\Locker.next?.tide) var nextTide
    var sum: Int { 1 }
}
