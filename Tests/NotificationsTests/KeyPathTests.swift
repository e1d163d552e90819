// Key paths against the naive meaning of them: any depth, through links, lists, sets, maps, backlinks, embedded objects
// and mixed values, for every kind of collection and for objects; and what one looks like from outside.
import MotteLiveObjects
import MotteNotifications
import MotteSchemaModel
import MotteValues
import TestSupport
import Testing

@Suite struct RandomKeyPathTests {
    static let schema = """
        Node { id: int key, rank: int, next: link<Node>, all: list<Node>, peers: set<Node>, best: map<Node>, any: mixed,
               mix: list<mixed>, part: link<Part>, parts: list<Part>, leaf: link<Leaf>, previous: inverse<Node.next>,
               holders: inverse<Node.all>, admirers: inverse<Node.best> }
        embedded Part { weight: int, at: link<Node> }
        Leaf { weight: int, nodes: inverse<Node.leaf>, stem: link<Leaf> }
        """
    static let results = [
        "TRUEPREDICATE", "rank > 4", "rank > 2 SORT(rank DESC)", "ANY holders.rank > 4", "rank > 1 LIMIT(4)",
        "previous.@count > 0 SORT(leaf.weight ASC)",
    ]

    final class Watched {
        let name: String
        let collection: LiveCollection?
        let object: LiveObject?
        let paths: [String]?
        let token: Observation
        var content: [Value] = []
        var ended = false

        init(_ name: String, _ collection: LiveCollection, _ paths: [String]?) throws {
            self.name = "\(name) \(paths.map { "\($0)" } ?? "everything")"
            (self.collection, object, self.paths) = (collection, nil, paths)
            token = try collection.observe(keyPaths: paths)
        }

        init(_ object: LiveObject, _ paths: [String]?) throws {
            name = "object \(object.key.rawValue) \(paths.map { "\($0)" } ?? "own")"
            (collection, self.object, self.paths) = (nil, object, paths)
            token = try object.observe(keyPaths: paths)
        }
    }

    /// What one round has noted of its own edits.
    final class Notes {
        var touched: Set<LinkState.Place> = []
        /// Lists and maps of which a slot was set.
        var slots: Set<LinkState.Place> = []

        func note(_ object: LiveObject, _ property: String, slot: Bool = false) {
            let place = LinkState.Place(link: object.link, property: property)
            touched.insert(place)
            if slot { slots.insert(place) }
        }
    }

    @Test(arguments: TestStore.Kind.allCases)
    func patchesMeanWhatPathsSay(kind: TestStore.Kind) throws {
        try PropertyTest.run(rounds: kind == .file ? 2 : 8) { random, comment in
            let store = TestStore(kind, schema: Self.schema)
            let session = try store.open()
            let other = try store.open()
            try session.inWrite { for _ in 0 ..< 40 { try mutate(session, &random, Notes()) } }
            let watched = try watch(session, &random)
            for one in watched { try start(one) }
            var before = try LinkState(session)
            for step in 0 ..< 30 {
                let notes = Notes()
                let writer = random.chance(40) ? session : other
                for _ in 0 ..< (writer === other ? 1 + random.below(3) : 1) {
                    try write(writer, &random, notes)
                }
                try session.refresh()
                let after = try LinkState(session)
                let naive = NaiveChanges(before: before, after: after, touched: notes.touched)
                for one in watched { try check(one, naive, notes, "step \(step), \(one.name): \(comment)") }
                before = after
            }
        }
    }

    private func write(_ writer: Session, _ random: inout SeededRandom, _ notes: Notes) throws {
        let mine = Notes()
        try writer.beginWrite()
        for _ in 0 ..< random.below(5) { try mutate(writer, &random, mine) }
        if random.chance(10) { return try writer.cancel() }
        try writer.commit()
        notes.touched.formUnion(mine.touched)
        notes.slots.formUnion(mine.slots)
    }

    private func watch(_ session: Session, _ random: inout SeededRandom) throws -> [Watched] {
        var watched: [Watched] = []
        let nodes = try session.objects("Node")
        let schema = try session.schema
        func paths(_ className: String) -> [String]? {
            if random.chance(15) { return nil }
            return (0 ..< random.below(3)).map { _ in Self.path(schema, from: className, &random) }
        }
        for query in Self.results {
            for _ in 0 ..< 3 { watched.append(try Watched(query, nodes.filter(query), paths("Node"))) }
        }
        watched.append(try Watched("leaves", session.objects("Leaf"), paths("Leaf")))
        for index in 0 ..< (try nodes.count()) where index % 4 == 0 {
            guard let node = try nodes.object(at: index) else { continue }
            for (property, className) in [
                ("all", "Node"), ("peers", "Node"), ("best", "Node"), ("parts", "Part"), ("previous", "Node"),
                ("holders", "Node"), ("admirers", "Node"), ("mix", "Node"),
            ] {
                watched.append(try Watched("\(property) of \(index)", node.collection(property), paths(className)))
            }
            let filtered = try node.collection("all").filter("rank > 3")
            watched.append(try Watched("filtered all of \(index)", filtered, paths("Node")))
            watched.append(try Watched(node, paths("Node")))
        }
        return watched
    }

    static func path(_ schema: Schema, from className: String, _ random: inout SeededRandom) -> String {
        var names: [String] = []
        var type = schema[className]
        while let known = type {
            let property = known.properties[random.below(known.properties.count)]
            names.append(property.name)
            switch property.type {
            case .link, .linkingObjects: type = property.target.flatMap { schema[$0] }
            case .mixed: type = schema[random.chance(50) ? "Node" : "Leaf"]
            default: type = nil
            }
            if random.chance(25) || names.count > 5 { type = nil }
        }
        return names.joined(separator: ".")
    }

    private func start(_ one: Watched) throws {
        guard let collection = one.collection else { return }
        #expect(try one.token.pull()?.isInitial == true)
        one.content = try collection.allValues
    }

    private func check(_ one: Watched, _ naive: NaiveChanges, _ notes: Notes, _ comment: String) throws {
        if one.ended { return }
        let changes = try one.token.pull()
        if changes?.isSourceDeleted == true {
            one.ended = true
            return
        }
        if let object = one.object { return checkObject(object, one.paths, changes, naive, comment) }
        guard let collection = one.collection else { return }
        let now = try collection.allValues
        defer { one.content = now }
        let notified = changes ?? ChangeSet(.collection, from: Version(0), to: Version(0))
        var rebuilt = apply(notified.deletions, notified.insertions, old: one.content, new: now)
        for new in notified.modificationsNew { rebuilt?[new] = now[new] }
        #expect(rebuilt == now, "\(notified) \(comment)")
        let map = PositionMap(notified)
        let modified = Set(notified.modificationsNew)
        // Slots that were set are modifications whatever is in them.
        var allowsMore = collection.elementType == .mixed
        if let elements = collection as? LiveElements {
            let property = try elements.owner.type.property(elements.column)?.name ?? ""
            let place = LinkState.Place(link: elements.owner.link, property: property)
            if notes.slots.contains(place) { allowsMore = true }
        }
        for (new, value) in now.enumerated() where map.old(ofNew: new) != nil {
            let counts = value.links.contains { naive.counts($0, one.paths) }
            if counts { #expect(modified.contains(new), "silent: \(notified) \(value) \(comment)") }
            if !counts, !allowsMore { #expect(!modified.contains(new), "too much: \(notified) \(value) \(comment)") }
        }
    }

    private func checkObject(
        _ object: LiveObject, _ paths: [String]?, _ changes: ChangeSet?, _ naive: NaiveChanges, _ comment: String
    ) {
        let names = (changes?.properties ?? []).map(\.name)
        var expected: [String] = []
        for property in naive.after.schema[object.table]?.properties ?? [] {
            let mine = paths?.filter { $0.split(separator: ".").first.map(String.init) == property.name }
            let own = naive.touched.contains(LinkState.Place(link: object.link, property: property.name))
            if let mine {
                if naive.counts(object.link, mine) { expected.append(property.name) }
            } else if own {
                expected.append(property.name)
            }
        }
        #expect(names == expected, "\(comment)")
    }

    // MARK: Edits

    private func mutate(_ session: Session, _ random: inout SeededRandom, _ notes: Notes) throws {
        let nodes = try session.objects("Node")
        let leaves = try session.objects("Leaf")
        let count = try nodes.count()
        let leafCount = try leaves.count()
        guard count > 3, leafCount > 1, let node = try nodes.object(at: random.below(count)),
            let peer = try nodes.object(at: random.below(count)),
            let leaf = try leaves.object(at: random.below(leafCount))
        else { return try add(session, &random) }
        func set(_ object: LiveObject, _ name: String, _ value: Value) throws {
            try object.set(name, to: value)
            notes.note(object, name)
        }
        let number = Value.int(Int64(random.below(8)))
        let key = "k\(random.below(3))"
        let link = random.chance(70) ? Value.link(peer) : .link(leaf)
        switch random.below(18) {
        case 0: try add(session, &random)
        case 1: if count > 6 { try delete(node, session, notes) }
        case 2: if leafCount > 3 { try delete(leaf, session, notes) }
        case 3: try set(node, "rank", number)
        case 4: try set(leaf, "weight", number)
        case 5: try set(node, "next", random.chance(80) ? .link(peer) : .null)
        case 6: try set(node, "leaf", random.chance(80) ? .link(leaf) : .null)
        case 7: try set(leaf, "stem", try .link(leaves.object(at: random.below(leafCount)) ?? leaf))
        case 8, 9: try edit(try node.list(node.column(named: "all")), .link(peer), "all", &random, notes)
        case 10:
            let peers = try node.set(node.column(named: "peers"))
            let isNews = random.chance(60) ? try peers.put(.link(peer)) : try peers.drop(.link(peer))
            if isNews { notes.note(node, "peers") }
        case 11:
            let best = try node.map(node.column(named: "best"))
            if random.chance(70) {
                let isNew = try best.put(key, .link(peer))
                notes.note(node, "best", slot: !isNew)
            } else if try best.remove(key) {
                notes.note(node, "best")
            }
        case 12:
            let nested = Value.list([number, .map([MapEntry(key: key, value: link)])])
            try set(node, "any", random.chance(50) ? link : nested)
        case 13:
            let value = random.chance(80) ? link : number
            try edit(try node.list(node.column(named: "mix")), value, "mix", &random, notes)
        case 14:
            let part = try node.embeddedPut(node.column(named: "part"))
            try part.set("at", to: .link(peer))
            notes.note(node, "part")
        case 15, 16:
            let parts = try node.list(node.column(named: "parts"))
            if try parts.count() > 0, random.chance(70), let part = try parts.object(at: random.below(parts.count())) {
                if random.chance(50) { try set(part, "weight", number) } else { try set(part, "at", .link(peer)) }
            } else {
                try parts.embeddedAppend().set("weight", to: number)
                notes.note(node, "parts")
            }
        default: if let part = try node.object(node.column(named: "part")) { try set(part, "weight", number) }
        }
    }

    private func add(_ session: Session, _ random: inout SeededRandom) throws {
        if random.chance(30) {
            try session.add("Leaf", ["weight": .int(Int64(random.below(8)))])
            return
        }
        let id = Int64.random(in: 0 ..< 1 << 40, using: &random)
        let node = try session.add("Node", ["id": .int(id), "rank": .int(Int64(random.below(8)))])
        if let peer = try session.objects("Node").first() {
            try node.set("next", to: .link(peer))
            try node.list(node.column(named: "all")).append(peer)
        }
    }

    /// Whoever links to it is changed by that.
    private func delete(_ object: LiveObject, _ session: Session, _ notes: Notes) throws {
        let state = try LinkState(session)
        for (place, targets) in state.targets where targets.contains(object.link) {
            let property = try session.schema[place.link.table]?.property(named: place.property)
            guard property?.isStored == true else { continue }
            notes.touched.insert(place)
            notes.slots.insert(place)
        }
        try object.delete()
    }

    private func edit(
        _ list: LiveList, _ value: Value, _ name: String, _ random: inout SeededRandom, _ notes: Notes
    ) throws {
        let count = try list.count()
        switch random.below(6) {
        case 0, 1, 2:
            let index = random.below(count + 1)
            try value.withView { view throws(DatabaseError) in try list.insert(view, at: index) }
        case 3:
            guard count > 0 else { return }
            try list.remove(at: random.below(count))
        case 4:
            guard count > 1 else { return }
            try list.move(from: 0, to: count - 1)
        default:
            guard count > 0 else { return }
            let index = random.below(count)
            try value.withView { view throws(DatabaseError) in try list.set(index, to: view) }
            return notes.note(list.owner, name, slot: true)
        }
        notes.note(list.owner, name)
    }
}

@Suite struct KeyPathTests {
    func open() throws -> (store: TestStore, session: Session, ada: LiveObject, bob: LiveObject) {
        let store = TestStore(schema: kennelSchema)
        let session = try store.open()
        let (ada, bob) = try session.inWrite {
            let ada = try session.add("Person", ["id": .int(1), "name": .string("Ada")])
            let bob = try session.add("Person", ["id": .int(2), "name": .string("Bob")])
            try ada.set("friend", to: .link(bob))
            return (ada, bob)
        }
        return (store, session, ada, bob)
    }

    func message(_ body: () throws -> Void) -> String {
        do {
            try body()
            return "none"
        } catch {
            return (error as? DatabaseError).map { "\($0.code) \($0.message)" } ?? "other"
        }
    }

    @Test func unknownPathsAreErrors() throws {
        let (_, session, ada, _) = try open()
        let people = try session.objects("Person")
        #expect(
            message { _ = try people.observe(keyPaths: ["nmae"]) }
                == "unknownProperty Person has no property 'nmae'; did you mean 'name'?")
        #expect(
            message { _ = try ada.observe(keyPaths: ["friend.dogs.nam"]) }
                == "unknownProperty Dog has no property 'nam'; did you mean 'name'?")
        #expect(
            message { _ = try people.observe(keyPaths: ["name.length"]) }
                == "unknownProperty Person.name is string and has no property 'length'")
        #expect(message { _ = try people.observe(keyPaths: [""]) } == "unknownProperty Person has no property ''")
        #expect(message { _ = try people.observe(keyPaths: ["friend..name"]) }.hasPrefix("unknownProperty"))
        let tags = try ada.collection("tags")
        #expect(message { _ = try tags.observe(keyPaths: ["length"]) }.hasPrefix("unknownProperty"))
        #expect(message { _ = try tags.observe(keyPaths: []) } == "none")
        let long = Array(repeating: "friend", count: 65).joined(separator: ".")
        #expect(message { _ = try people.observe(keyPaths: [long]) }.hasPrefix("invalidArgument"))
    }

    /// What a mixed value links to may be of a class that came after observing began.
    @Test func classesThatComeLaterAreFollowed() throws {
        let store = TestStore(
            schema: "Item { id: int key, any: mixed, mix: list<mixed>, next: link<Item> } Early { name: string }")
        let session = try store.open()
        let other = try store.open()
        let early = try session.inWrite { try session.add("Early", ["name": .string("e")]) }
        let item = try session.inWrite {
            let item = try session.add("Item", ["id": .int(1), "any": .link(early)])
            try item.list(item.column(named: "mix")).append(early)
            try session.add("Item", ["id": .int(2), "next": .link(item)])
            return item
        }
        let items = try session.objects("Item")
        let tokens = [
            try items.observe(keyPaths: ["any.name"]), try item.observe(keyPaths: ["any.name"]),
            try items.observe(keyPaths: ["next.any.name"]), try item.collection("mix").observe(keyPaths: ["name"]),
            try items.filter("id > 0 SORT(id DESC)").observe(keyPaths: ["any.name"]),
            try items.sectioned(by: "id").observe(keyPaths: ["any.name"]),
        ]
        try session.refresh()
        for token in tokens { _ = try token.pull() }
        _ = try other.addSchema(try SchemaText.parse("Late { name: string, other: int }"))
        let late = try other.inWrite {
            let late = try other.add("Late", ["name": .string("l")])
            let mine = try #require(try other.find(other.tableKey("Item"), primaryKey: .int(1)))
            try mine.set("any", to: .link(late))
            try mine.list(mine.column(named: "mix")).set(0, to: .link(late.link))
            return late
        }
        try session.refresh()
        for (index, token) in tokens.enumerated() { #expect(try token.pull() != nil, "\(index)") }
        try other.inWrite { try late.set("name", to: .string("m")) }
        try session.refresh()
        for (index, token) in tokens.enumerated() { #expect(try token.pull() != nil, "\(index)") }
        let newer = try items.observe(keyPaths: ["any.name"])
        _ = try newer.pull()
        try other.inWrite { try late.set("name", to: .string("n")) }
        try session.refresh()
        for (index, token) in (tokens + [newer]).enumerated() { #expect(try token.pull() != nil, "\(index)") }
        try other.inWrite { try late.set("other", to: .int(1)) }
        try session.refresh()
        for (index, token) in (tokens + [newer]).enumerated() { #expect(try token.pull() == nil, "\(index)") }
    }

    @Test func eachTokenIsNotifiedOfItsOwnPathsOnly() throws {
        let (_, session, ada, bob) = try open()
        let people = try session.objects("Person")
        let all = try people.observe()
        let none = try people.observe(keyPaths: [])
        let names = try people.observe(keyPaths: ["name"])
        let friends = try people.observe(keyPaths: ["friend"])
        let friendNames = try people.observe(keyPaths: ["friend.name"])
        let dogs = try people.observe(keyPaths: ["dogs"])
        let tags = try people.observe(keyPaths: ["tags"])
        let tokens = [all, none, names, friends, friendNames, dogs, tags]
        func notified() throws -> [String] { try tokens.map { try $0.pull()?.short ?? "" } }
        _ = try notified()
        try session.inWrite { try bob.set("name", to: .string("Bert")) }
        #expect(try notified() == ["~[0, 1]~[0, 1]", "", "~[1]~[1]", "", "~[0]~[0]", "", ""])
        try session.inWrite { try ada.set("friend", to: .link(bob)) }
        #expect(try notified() == ["~[0]~[0]", "", "", "~[0]~[0]", "~[0]~[0]", "", ""])
        let rex = try session.inWrite { try session.add("Dog", ["owner": .link(bob)]) }
        #expect(try notified() == ["", "", "", "", "", "~[1]~[1]", ""])
        try session.inWrite { try rex.set("name", to: .string("Rex")) }
        #expect(try notified() == ["", "", "", "", "", "", ""])
        try session.inWrite { try rex.delete() }
        #expect(try notified() == ["", "", "", "", "", "~[1]~[1]", ""])
        let list = try ada.list(ada.column(named: "tags"))
        try session.inWrite { try list.append(.string("a")) }
        #expect(try notified() == ["~[0]~[0]", "", "", "", "", "", "~[0]~[0]"])
        try session.inWrite {
            try Value.string("b").withView { view throws(DatabaseError) in try list.set(0, to: view) }
        }
        #expect(try notified() == ["~[0]~[0]", "", "", "", "", "", "~[0]~[0]"])
        try session.inWrite { try session.add("Person", ["id": .int(3)]) }
        #expect(try notified() == Array(repeating: "+[2]", count: 7))
    }

    @Test func objectsTellTheRootOfThePath() throws {
        let (_, session, ada, bob) = try open()
        let token = try ada.observe(keyPaths: ["friend.name", "age", "dogs.name"])
        try session.inWrite { try ada.set("name", to: .string("x")) }
        #expect(try token.pull() == nil)
        try session.inWrite { try bob.set("name", to: .string("y")) }
        let changes = try #require(try token.pull())
        #expect(changes.properties.map(\.name) == ["friend"])
        #expect(changes.properties[0].old == .link(bob) && changes.properties[0].new == .link(bob))
        let rex = try session.inWrite { try session.add("Dog", ["owner": .link(ada)]) }
        #expect(try token.pull()?.properties.map(\.name) == ["dogs"])
        try session.inWrite {
            try rex.set("name", to: .string("Rex"))
            try ada.set("age", to: .int(3))
        }
        #expect(try token.pull()?.properties.map(\.name) == ["age", "dogs"])
        try session.inWrite { try ada.delete() }
        #expect(try token.pull()?.isSourceDeleted == true)
    }

    /// One changed object among many costs what its neighbours cost, whatever the number of rows.
    @Test func lookingIsDoneFromWhatChanged() throws {
        let store = TestStore(rowGroupSize: 480, schema: kennelSchema)
        let session = try store.open()
        let table = try session.tableKey("Person")
        let friend = try session.inWrite {
            for id in 0 ..< 5_000 { try session.add("Person", ["id": .int(Int64(id))]) }
            let people = try session.objects("Person")
            let last = try #require(try people.object(at: 4_999))
            for index in 0 ..< 4_999 {
                try people.object(at: index)?.set(
                    "friend",
                    to: .link(
                        ObjectLink(
                            table: table,
                            key: ObjectKey(Int64(index + 1)))))
            }
            return last
        }
        let token = try session.objects("Person").observe(keyPaths: ["friend.friend.friend.friend.friend.friend.name"])
        _ = try token.pull()
        let before = session.counters.read()
        try session.inWrite { try friend.set("name", to: .string("z")) }
        #expect(try token.pull()?.short == "~[4993]~[4993]")
        let after = session.counters.read()
        #expect(after.indexLookups - before.indexLookups < 50)
        #expect(after.fullReruns == before.fullReruns)
    }
}
