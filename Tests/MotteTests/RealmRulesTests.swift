// The numbered behaviours of the semantics list that concern realms: threads, hand-over, freezing, notifications,
// collections, order. Numbers are in the names.
import Foundation
import Motte
import Testing

class Train: Object {
    @Persisted(primaryKey: true) var number: Int
    @Persisted var name: String
    @Persisted var seats: Int
    @Persisted var driver: Driver?
    @Persisted var stops: List<String>
    @Persisted var drivers: List<Driver>
    @Persisted var spare: Map<String, Driver?>
    @Persisted var flags: MutableSet<Int>
}

class Driver: Object {
    @Persisted var name: String
    @Persisted var boss: Driver?
    @Persisted(originProperty: "driver") var trains: LinkingObjects<Train>
}

private let trains: [ObjectBase.Type] = [Train.self, Driver.self]

@Suite(.serialized) struct RealmRulesTests {
    private func fresh(url: URL? = nil) throws -> Realm { try makeRealm(trains, url: url) }

    @discardableResult
    private func train(_ realm: Realm, _ number: Int, _ name: String = "t") throws -> Train {
        try realm.write { realm.create(Train.self, value: ["number": number, "name": name]) }
    }

    private func text<C: RealmCollection>(_ change: RealmCollectionChange<C>) -> String {
        switch change {
        case .initial(let collection): "initial \(collection.count)"
        case .update(_, let deletions, let insertions, let modifications): "\(deletions) \(insertions) \(modifications)"
        case .error(let error): "\(error)"
        }
    }

    // MARK: Handing over

    @Test func rules103To106References() throws {
        let realm = try fresh()
        let configuration = realm.configuration
        let one = try train(realm, 1)
        #expect(misuses { _ = ThreadSafeReference(to: Train()) }.first?.contains("unmanaged") == true)
        let reference = ThreadSafeReference(to: one)
        let results = ThreadSafeReference(to: realm.objects(Train.self).filter("number > 0").sorted(byKeyPath: "name"))
        let stops = ThreadSafeReference(to: one.stops)
        let seen = try inAThread { () -> [String] in
            let realm = try Realm(configuration: configuration)
            let first = realm.resolve(reference)?.name
            let again = misuses { #expect(realm.resolve(reference) == nil) }
            #expect(again.first?.contains("only resolve a thread safe reference once") == true)
            return [first ?? "nil", "\(realm.resolve(results)?.count ?? -1)", "\(realm.resolve(stops)?.count ?? -1)"]
        }
        #expect(seen == ["t", "1", "0"])
        let gone = ThreadSafeReference(to: one)
        try realm.write { realm.delete(one) }
        #expect(realm.resolve(gone) == nil && misuses { _ = ThreadSafeReference(to: one) }.count == 1)
        let elsewhere = try fresh()
        #expect(elsewhere.resolve(ThreadSafeReference(to: try train(realm, 2))) == nil, "another file (104)")
    }

    @Test func rule109TheWrapperIsReadManyTimes() throws {
        let realm = try fresh()
        let one = try train(realm, 1, "shared")
        @ThreadSafe var shared: Train? = one
        let box = _shared
        for _ in 0 ..< 3 {
            #expect(try inAThread { box.wrappedValue?.name } == "shared")
        }
        #expect(shared?.name == "shared")
        #expect(misuses { shared = Train() }.count == 1)
        shared = nil
        #expect(shared == nil)
    }

    // MARK: Freezing

    @Test func rules110To113FrozenThings() throws {
        let realm = try fresh()
        #expect(misuses { _ = Train().freeze() }.first?.contains("Unmanaged objects cannot be frozen") == true)
        #expect(misuses { _ = Train().thaw() }.count == 1 && misuses { _ = Train().stops.freeze() }.count == 1)
        let one = try train(realm, 1)
        try realm.write { one.driver = Driver(value: ["name": "d"]) }
        let frozen = one.freeze()
        #expect(frozen.freeze() === frozen && one.thaw() === one && frozen.isFrozen && frozen.realm?.isFrozen == true)
        #expect(
            frozen.driver?.isFrozen == true && frozen.stops.isFrozen && frozen.driver?.trains.isFrozen == true, "112")
        #expect(misuses { frozen.name = "x" }.first?.lowercased().contains("frozen") == true)
        #expect(throws: Realm.Error.self) { try frozen.realm?.write {} }
        #expect(misuses { _ = frozen.observe { (_: ObjectChange<Train>) in } }.first?.contains("do not change") == true)
        #expect(misuses { _ = frozen.stops.observe { _ in } }.first?.contains("do not change") == true)
        #expect(misuses { frozen.realm?.autorefresh = true }.count == 1 && frozen.name == "t")
    }

    @Test func rule114FrozenCollectionsAreAskedAnywhere() throws {
        let realm = try fresh()
        for number in 1 ... 4 { try train(realm, number, "t\(number)") }
        nonisolated(unsafe) let frozen = realm.objects(Train.self).freeze()
        try realm.write { realm.deleteAll() }
        let seen = try inAThread {
            Array(frozen.filter("number > 1").sorted(byKeyPath: "number", ascending: false).map(\.number))
                + [frozen.sum(ofProperty: "number")]
        }
        #expect(seen == [4, 3, 2, 10])
    }

    @Test func rules115And116ThawingElsewhere() throws {
        let realm = try fresh()
        let one = try train(realm, 1, "old")
        nonisolated(unsafe) let frozen = one.freeze()
        try realm.write { one.name = "new" }
        #expect(try inAThread { frozen.thaw()?.name } == "new")
        try realm.write { realm.delete(one) }
        #expect(try inAThread { frozen.thaw() == nil } && frozen.name == "old")
    }

    // MARK: Notifications

    @Test func rules121To125WhatCollectionsReceive() throws {
        let realm = try fresh()
        for number in 1 ... 3 { try train(realm, number) }
        let results = realm.objects(Train.self).sorted(byKeyPath: "number")
        var received: [String] = []
        let token = results.observe { received.append(text($0)) }
        #expect(received.isEmpty, "never from within observe (121)")
        try realm.write { realm.create(Train.self, value: ["number": 4]) }
        try realm.write {}
        #expect(received == ["initial 4"], "and shows what was written meanwhile")
        received = []
        try realm.write {
            realm.delete(results[0])
            realm.create(Train.self, value: ["number": 0])
            results[3].seats = 9
            let passing = realm.create(Train.self, value: ["number": 99])
            realm.delete(passing)
        }
        try realm.write {}
        #expect(received == ["[0] [0] [3]"], "old positions, but new ones of insertions (123 to 125)")
        received = []
        try realm.write {}
        try realm.write { realm.create(Driver.self, value: ["name": "unrelated"]) }
        try realm.write {}
        #expect(received.isEmpty, "131")
        token.invalidate()
    }

    @Test func rules130To136WhatCountsAsAModification() throws {
        let realm = try fresh()
        let one = try train(realm, 1)
        try realm.write {
            one.driver = Driver(value: ["name": "d", "boss": ["name": "b", "boss": ["name": "c"]]])
            one.drivers.append(Driver(value: ["name": "listed"]))
        }
        let results = realm.objects(Train.self)
        var counts: [String: Int] = [:]
        func listen(_ name: String, _ keyPaths: [String]?) -> NotificationToken {
            results.observe(keyPaths: keyPaths) { if case .update = $0 { counts[name, default: 0] += 1 } }
        }
        let tokens = [
            listen("all", nil), listen("name", ["name"]), listen("link", ["driver"]), listen("nested", ["driver.name"]),
            listen("list", ["drivers"]), listen("elements", ["drivers.name"]), listen("none", []),
        ]
        realm.refresh()
        func received(after body: () -> Void) throws -> [String] {
            counts = [:]
            try realm.write(body)
            try realm.write {}
            return counts.keys.sorted()
        }
        #expect(try received { one.name = "x" } == ["all", "name"])
        #expect(try received { one.seats = 1 } == ["all"])
        #expect(try received { one.driver?.name = "y" } == ["all", "nested"])
        #expect(try received { one.driver?.boss?.boss?.name = "z" } == ["all"], "over links (130)")
        #expect(try received { one.drivers[0].name = "y" } == ["all", "elements"])
        #expect(try received { one.drivers.append(Driver()) } == ["all", "elements", "list"])
        #expect(try received { one.driver = nil } == ["all", "link", "nested"])
        #expect(
            try received { realm.create(Train.self, value: ["number": 2]) }.count == 7,
            "what comes is always received (133)")
        tokens.forEach { $0.invalidate() }
        #expect(
            misuses { _ = results.observe(keyPaths: ["nothing"]) { _ in } }.first?.contains("nothing") == true, "136")
    }

    @Test func rules138And139WhereNobodyObserves() throws {
        let realm = try fresh()
        let one = try train(realm, 1)
        #expect(misuses { _ = Train().stops.observe { _ in } }.first?.contains("managed") == true)
        #expect(misuses { _ = Train().observe { (_: ObjectChange<Train>) in } }.first?.contains("managed") == true)
        try realm.write {
            #expect(misuses { _ = one.stops.observe { _ in } }.count == 1, "in a transaction")
            #expect(misuses { _ = realm.observe { _, _ in } }.count == 1)
        }
    }

    @Test func rule141TokensEndAnywhere() throws {
        let realm = try fresh()
        let results = realm.objects(Train.self)
        var received = 0
        var token: NotificationToken?
        token = results.observe { _ in
            received += 1
            token?.invalidate()
        }
        try train(realm, 1)
        try train(realm, 2)
        #expect(received == 1)
        #expect(token?.invalidate() == false, "it has ended")
    }

    @Test func rules145To148ListsAndMapsOfDeletedParents() throws {
        let realm = try fresh()
        let one = try train(realm, 1)
        let driver = Driver(value: ["name": "d"])
        try realm.write {
            one.stops.append(objectsIn: ["a", "b"])
            one.spare["x"] = driver
            one.spare["y"] = driver
        }
        var list: [String] = []
        var keys: [[String]] = []
        let tokens = [
            one.stops.observe { list.append(text($0)) },
            one.spare.observe {
                if case .update(_, let old, let new, let changed) = $0 { keys += [old, new, changed] }
            },
        ]
        realm.refresh()
        try realm.write { one.spare["x"] = driver }
        try realm.write {}
        #expect(keys == [[], [], ["x"]], "also with an equal value (146)")
        keys = []
        try realm.write { realm.delete(driver) }
        try realm.write {}
        #expect(keys == [[], [], ["x", "y"]], "147")
        try realm.write { realm.delete(one) }
        try realm.write {}
        #expect(list == ["initial 2", "[0, 1] [] []"], "145")
        tokens.forEach { $0.invalidate() }
    }

    @Test func rules152To157WhatObjectsReceive() throws {
        let realm = try fresh()
        let configuration = realm.configuration
        let one = try train(realm, 1, "old")
        var received: [String] = []
        let token = one.observe { (change: ObjectChange<Train>) in
            switch change {
            case .change(_, let properties):
                received += properties.map { "\($0.name) \($0.oldValue ?? "nil") \($0.newValue ?? "nil")" }
            case .deleted: received.append("deleted")
            case .error(let error): received.append("\(error)")
            }
        }
        realm.refresh()
        #expect(received.isEmpty, "no initial call (152)")
        try realm.write {
            one.seats = 3
            one.name = "new"
            one.name = "newer"
            one.stops.append("s")
        }
        try realm.write {}
        #expect(received == ["name nil newer", "seats nil 3", "stops nil nil"], "once each, in order (153, 154)")
        received = []
        try inAThread {
            let realm = try Realm(configuration: configuration)
            try realm.write { realm.objects(Train.self).first?.name = "elsewhere" }
        }
        realm.refresh()
        #expect(received == ["name newer elsewhere"], "old values of other threads' changes (154)")
        received = []
        try realm.write { realm.delete(one) }
        try realm.write {}
        try train(realm, 1)
        #expect(received == ["deleted"], "once (156)")
        token.invalidate()
    }

    @Test func rules20And161RealmsLearnOfEveryVersion() throws {
        let realm = try fresh()
        var received = 0
        var changes = 0
        let tokens = [
            realm.observe { kind, notified in if kind == .didChange, notified == realm { received += 1 } },
            realm.objects(Train.self).observe { if case .update = $0 { changes += 1 } },
        ]
        realm.refresh()
        try realm.write {}
        #expect(received == 1 && changes == 0, "also of an empty one (20)")
        try train(realm, 1)
        #expect(received == 2)
        tokens.forEach { $0.invalidate() }
        try train(realm, 2)
        #expect(received == 2)
    }

    // MARK: Collections

    @Test func rules173To176Positions() throws {
        let realm = try fresh()
        let one = try train(realm, 1)
        let unmanaged = Train(value: ["stops": ["a", "b", "c", "d"]])
        try realm.write { one.stops.append(objectsIn: ["a", "b", "c", "d"]) }
        try realm.write {
            for list in [one.stops, unmanaged.stops] {
                #expect(misuses { _ = list[4] }.first?.contains("out of bounds") == true)
                #expect(misuses { _ = list[-1] }.count == 1)
                for wrong in [
                    { list.remove(at: 4) }, { list.insert("x", at: 5) }, { list[4] = "x" },
                    { list.move(from: 0, to: 4) },
                    { list.removeFirst(5) }, { list.removeLast(5) }, { list.removeFirst(-1) }, { list.removeLast(-1) },
                    { list.swapAt(0, 4) }, { list.replaceSubrange(2 ..< 5, with: ["x"]) },
                    { list.removeSubrange(3 ..< 5) }, { list.remove(atOffsets: [0, 7]) },
                    { list.move(fromOffsets: [0, 9], toOffset: 2) }, { list.move(fromOffsets: [0], toOffset: 5) },
                    { list[2 ..< 5] = list[0 ..< 1] },
                ] as [() -> Void] {
                    #expect(misuses(wrong).count == 1)
                }
                #expect(Array(list) == ["a", "b", "c", "d"], "nothing changed")
                list.insert("e", at: 4)
                list.remove(atOffsets: [0, 2])
                #expect(Array(list) == ["b", "d", "e"])
                list.removeAll()
                list.removeAll()
            }
        }
        #expect(misuses { _ = realm.objects(Train.self).objects(at: [0, 1]) }.count == 1)
    }

    @Test func rules177To181ListsOfObjects() throws {
        let realm = try fresh()
        let one = try train(realm, 1)
        let two = try train(realm, 2)
        try realm.write {
            one.drivers.append(objectsIn: (1 ... 3).map { Driver(value: ["name": "\($0)"]) })
            var seen = 0
            for driver in one.drivers {
                seen += 1
                realm.delete(driver)
            }
            #expect(seen == 3 && one.drivers.isEmpty, "177")
            one.drivers.append(objectsIn: [Driver(value: ["name": "x"]), Driver(value: ["name": "y"])])
            let list = one.drivers
            one.drivers = one.drivers
            #expect(one.drivers.count == 2 && list === one.drivers, "178")
            two.drivers = one.drivers
            two.drivers.removeLast()
        }
        #expect(one.drivers.count == 2 && two.drivers.map(\.name) == ["x"], "179")
    }

    @Test func rules182To186UnmanagedCollectionsAndTotals() throws {
        let realm = try fresh()
        let unmanaged = Train(value: ["stops": ["a"], "drivers": [["name": "b"], ["name": "a"]]])
        for wrong in [
            { _ = unmanaged.drivers.filter("name == 'a'") }, { _ = unmanaged.drivers.sorted(byKeyPath: "name") },
            { _ = unmanaged.stops.freeze() }, { _ = unmanaged.drivers.where { $0.name == "a" } },
        ] as [() -> Void] {
            #expect(misuses(wrong).count == 1)
        }
        #expect(unmanaged.drivers.value(forKey: "name") as? [String] == ["b", "a"], "182")
        let none = realm.objects(Train.self)
        #expect(none.min(ofProperty: "seats") as Int? == nil && none.sum(ofProperty: "seats") as Int == 0)
        #expect(none.average(ofProperty: "seats") as Double? == nil, "184")
        #expect(misuses { _ = none.sum(ofProperty: "nothing") as Int }.first?.contains("nothing") == true)
        #expect(misuses { _ = none.sum(ofProperty: "name") as Int }.count == 1, "185")
        try train(realm, 1, "b")
        try train(realm, 2, "a")
        try train(realm, 4, "a")
        #expect(none.average(ofProperty: "number") as Double? == 7.0 / 3, "186")
        #expect(none.value(forKeyPath: "@sum.number") as? Int == 7 && none.value(forKeyPath: "@count") as? Int == 3)
        #expect(none.value(forKeyPath: "@distinctUnionOfObjects.name") as? [String] == ["b", "a"], "188")
        try realm.write { none.setValue(5, forKey: "seats") }
        #expect(none.map(\.seats) == [5, 5, 5] && misuses { none.setValue(1, forKey: "seats") }.count > 0, "189")
    }

    @Test func rules195To198Maps() throws {
        let realm = try fresh()
        let one = try train(realm, 1)
        let driver = Driver(value: ["name": "d"])
        for map in [one.spare, Train().spare] {
            try realm.write {
                map["a"] = driver
                map["b"] = .some(nil)
                map.updateValue(nil, forKey: "c")
                #expect(map.count == 3 && map["a"]??.name == "d" && map["b"]! == nil && map["d"] == nil)
                map["b"] = nil
                #expect(map.count == 2 && map["b"] == nil, "195")
                map.merge([(key: "a", value: nil), (key: "e", value: driver)]) { old, _ in old }
                #expect(map["a"]??.name == "d" && map["e"]??.name == "d", "198")
                #expect(zip(map.keys, map.values).allSatisfy { map[$0]!?.name == $1?.name }, "197")
            }
        }
    }

    // MARK: Order

    @Test func rules236To242SortAndDistinct() throws {
        let realm = try fresh()
        for (number, name, seats) in [(1, "b", 2), (2, "a", 1), (3, "b", 1), (4, "a", 2)] {
            try realm.write { realm.create(Train.self, value: ["number": number, "name": name, "seats": seats]) }
        }
        let all = realm.objects(Train.self)
        #expect(all.sorted(byKeyPath: "name").map(\.number) == [2, 4, 1, 3], "stable (236)")
        #expect(all.sorted(byKeyPath: "name", ascending: false).map(\.number) == [1, 3, 2, 4])
        #expect(all.sorted(byKeyPath: "seats").sorted(byKeyPath: "name").map(\.number) == [2, 4, 3, 1], "238")
        #expect(all.sorted(by: []).map(\.number) == [1, 2, 3, 4])
        #expect(
            misuses { _ = all.sorted(byKeyPath: "stops") }.count == 1
                && misuses { _ = all.sorted(byKeyPath: "x") }.count == 1)
        #expect(all.distinct(by: ["name"]).map(\.number) == [1, 2])
        #expect(all.distinct(by: ["name"]).sorted(byKeyPath: "name").map(\.number) == [2, 1], "241")
        #expect(all.sorted(byKeyPath: "seats").distinct(by: ["name"]).map(\.number) == [2, 3])
        #expect(all.distinct(by: ["name"]).filter("seats == 1").map(\.number) == [2], "230")
    }
}
