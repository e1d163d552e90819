// Sections: what they consist of, and change sets that turn the old sections into the new ones.
import MotteLiveObjects
import MotteNotifications
import MotteQueryEngine
import MotteSchemaModel
import MotteValues
import TestSupport
import Testing

private let schema = """
    Item { id: int key, rank: int, name: string?, group: link<Group>, any: mixed }
    Group { id: int key, label: string, items: list<Item>, scores: list<int> }
    """

extension LiveSections {
    /// Keys with the values of each section's elements.
    var contents: [(key: Value, elements: [Value])] {
        get throws {
            try (0 ..< count()).map { (try key(at: $0), try section(at: $0).results().allValues) }
        }
    }

    fileprivate var text: String {
        get throws { try contents.map { "\($0.key.text):\($0.elements.count)" }.joined(separator: " ") }
    }
}

@Suite struct SectionTests {
    func open() throws -> (session: Session, items: LiveResults) {
        let session = try TestStore(schema: schema).open()
        try session.inWrite {
            for (id, name) in ["b", "a", "a", "c", "b", "Bee", "1", ""].enumerated() {
                try session.add("Item", ["id": .int(Int64(id)), "rank": .int(Int64(id % 3)), "name": .string(name)])
            }
            try session.add("Item", ["id": .int(8)])
        }
        return (session, try session.objects("Item"))
    }

    @Test func sectionsAreInTheOrderOfTheirFirstElement() throws {
        let (session, items) = try open()
        let byName = try items.sectioned(by: "name")
        #expect(try byName.text == #""b":2 "a":2 "c":1 "Bee":1 "1":1 "":1 null:1"#)
        let sorted = try items.sorted(by: "name").sectioned(by: "name")
        #expect(try sorted.text == #"null:1 "":1 "1":1 "Bee":1 "a":2 "b":2 "c":1"#)
        #expect(try items.sectioned(by: "name", part: .firstLetter).text == ##""B":3 "A":2 "C":1 "#":2 null:1"##)
        #expect(try byName.find(.string("c")) == 2)
        #expect(try byName.find(.string("C")) == nil)
        #expect(try byName.position(0, 1) == 4)
        let place = try byName.place(4)
        #expect(place.section == 0 && place.item == 1)
        let first = try byName.section(at: 0)
        #expect(try first.results().filter("rank > 0").allKeys == [4])
        try session.inWrite { try session.objects("Item").filter("name == 'b'").deleteObjects() }
        #expect(try first.index() == nil)
        #expect(try first.results().count() == 0)
        #expect(try byName.count() == 6)
        try session.inWrite { try session.add("Item", ["id": .int(20), "name": .string("b")]) }
        #expect(try first.index() != nil)
        #expect(try first.index() == 6)
    }

    @Test func keysOfOtherTypesAreOtherSections() throws {
        let (session, items) = try open()
        try session.inWrite {
            for (index, value) in [Value.int(1), .double(1), .string("1"), .int(1)].enumerated() {
                try items.object(at: index)?.set("any", to: value)
            }
        }
        #expect(try items.limited(to: 4).sectioned(by: "any").contents.map(\.elements.count) == [2, 1, 1])
    }

    @Test func wrongKeysAreErrors() throws {
        let (_, items) = try open()
        #expect(errorCode { _ = try items.sectioned(by: "nmae") } == .unknownProperty)
        #expect(errorCode { _ = try items.sectioned(by: "group") } == .wrongType)
        #expect(errorCode { _ = try items.sectioned(by: "name.length") } == .unknownProperty)
        #expect(errorCode { _ = try items.sectioned(by: "group.items") } == .wrongType)
        #expect(errorCode { _ = try items.sectioned(by: "rank", part: .firstLetter) } == .wrongType)
        var inner: LiveSections?
        let endless = items.sectioned(
            by: SectionKey { _, _ throws(DatabaseError) in
                .int(Int64(try inner?.count() ?? 0))
            })
        inner = endless
        #expect(errorCode { _ = try endless.count() } == .reentrant)
        inner = nil
        #expect(errorCode { _ = try items.sectioned(by: "rank").section(at: 3) } == .outOfBounds)
    }

    @Test func frozenSectionsStay() throws {
        let (session, items) = try open()
        let sections = try items.sectioned(by: "name")
        let frozen = try sections.freeze()
        let before = try sections.text
        try session.inWrite { try items.deleteObjects() }
        #expect(try sections.count() == 0)
        let carried = Carried(frozen)
        let seen = try onAnotherThread { () throws -> String in try carried.value.text }
        #expect(seen == before)
    }

    private struct Carried: @unchecked Sendable {  // @unchecked: frozen
        let value: LiveSections
        init(_ value: LiveSections) { self.value = value }
    }

    @Test func sectionsComeAndGoWithTheirElements() throws {
        let (session, items) = try open()
        let sections = try items.sorted(by: "name").sectioned(by: "name")
        let token = try sections.observe()
        let section = try sections.section(at: 5)
        let one = try section.observe()
        #expect(try token.pull()?.isInitial == true && one.pull()?.isInitial == true)
        // "b" is section 5; both of its elements go.
        try session.inWrite { try items.filter("name == 'b'").deleteObjects() }
        #expect(try token.pull()?.sectioned?.changes.description == "sections -[5]")
        #expect(try one.pull()?.sectioned?.changes.description == "sections -[5]")
        try session.inWrite { try session.add("Item", ["id": .int(30), "name": .string("0")]) }
        #expect(try token.pull()?.sectioned?.changes.description == "sections +[2] +[2.0]")
        #expect(try one.pull() == nil)
        try session.inWrite { try session.add("Item", ["id": .int(31), "name": .string("b")]) }
        #expect(try token.pull()?.sectioned?.changes.description == "sections +[6] +[6.0]")
        #expect(try one.pull()?.sectioned?.changes.description == "sections +[6] +[6.0]")
        // From "a" to "b": gone there, come here.
        try session.inWrite { try items.object(at: 1)?.set("name", to: .string("b")) }
        #expect(try token.pull()?.sectioned?.changes.description == "-[5.1] +[6.0]")
        #expect(try one.pull()?.sectioned?.changes.description == "+[6.0]")
        try session.inWrite { try items.object(at: 1)?.set("rank", to: .int(9)) }
        #expect(try token.pull()?.sectioned?.changes.description == "~[6.0]~[6.0]")
        #expect(try one.pull()?.sectioned?.changes.description == "~[6.0]~[6.0]")
        // Shifted silently, it goes from where it was then.
        try session.inWrite { try session.add("Item", ["id": .int(40), "name": .string("01")]) }
        #expect(try one.pull() == nil)
        try session.inWrite { try items.filter("name == 'b'").deleteObjects() }
        #expect(try one.pull()?.sectioned?.changes.description == "sections -[7]")
    }

    /// Whatever the key paths are.
    @Test func aChangeOfTheKeyIsNotifiedInAnyCase() throws {
        let (session, items) = try open()
        let sections = try items.sectioned(by: "name")
        let token = try sections.observe(keyPaths: ["rank"])
        _ = try token.pull()
        // The second of two, so that no section has another first element.
        try session.inWrite { try items.object(at: 2)?.set("name", to: .string("c")) }
        #expect(try token.pull()?.sectioned?.changes.description == "-[1.1] +[2.0]")
        try session.inWrite { try items.object(at: 2)?.set("any", to: .int(1)) }
        #expect(try token.pull() == nil)
        try session.inWrite { try items.object(at: 2)?.set("rank", to: .int(7)) }
        #expect(try token.pull()?.sectioned?.changes.description == "~[2.0]~[2.0]")
    }

    @Test func severalCommitsAreNotifiedAsOne() throws {
        let (session, items) = try open()
        let sections = try items.sectioned(by: "rank")
        let token = try sections.observe()
        _ = try token.pull()
        try session.inWrite { try items.object(at: 0)?.set("rank", to: .int(5)) }
        try session.inWrite { try items.object(at: 0)?.set("rank", to: .int(0)) }
        // It went and came again, in a place of its own.
        let changes = try #require(try token.pull()?.sectioned?.changes)
        #expect(changes.sectionDeletions.isEmpty && changes.sectionInsertions.isEmpty)
        #expect(changes.deletions.isEmpty && changes.insertions.isEmpty)
    }

    // MARK: Random

    final class Watched {
        let name: String
        let sections: LiveSections
        let token: Observation
        let only: Value?
        var content: [(key: Value, elements: [Value])] = []

        init(_ name: String, _ sections: LiveSections, only: Value? = nil) throws {
            (self.name, self.sections, self.only) = (name, sections, only)
            token = try only.map { try sections.section(for: $0).observe() } ?? sections.observe()
        }
    }

    @Test(arguments: TestStore.Kind.allCases)
    func changeSetsLeadFromOldToNew(kind: TestStore.Kind) throws {
        try PropertyTest.run(rounds: kind == .file ? 3 : 12) { random, comment in
            let store = TestStore(kind, schema: schema)
            let session = try store.open()
            let other = try store.open()
            let group = try session.inWrite {
                let group = try session.add("Group", ["id": .int(0)])
                for _ in 0 ..< 30 { try mutate(session, &random) }
                return group
            }
            let items = try session.objects("Item")
            let modulo = SectionKey { collection, index throws(DatabaseError) in
                guard let item = try collection.object(at: index) else { return .null }
                return .int(try item.get("rank").hashValue % 2 == 0 ? 0 : 1)
            }
            let watched = try [
                Watched("by name", items.sectioned(by: "name")),
                Watched("sorted", items.sorted(by: "rank").sectioned(by: "rank")),
                Watched("by group", items.filter("rank > 1 SORT(group.label ASC)").sectioned(by: "group.label")),
                Watched("by any", items.sectioned(by: "any")),
                Watched("limited", items.filter("TRUEPREDICATE SORT(rank ASC) LIMIT(7)").sectioned(by: "name")),
                Watched("by function", items.sorted(by: "rank").sectioned(by: modulo)),
                Watched("list", group.collection("items").sectioned(by: "rank")),
                Watched("scores", group.collection("scores").sectioned(by: "self")),
                Watched("one", items.sorted(by: "name").sectioned(by: "name"), only: .string("b")),
            ]
            for one in watched {
                _ = try one.token.pull()
                one.content = try one.sections.contents
            }
            for step in 0 ..< 30 {
                let writer = random.chance(50) ? session : other
                try writer.inWrite { for _ in 0 ..< random.below(6) { try mutate(writer, &random) } }
                if random.chance(70) { try session.refresh() }
                guard random.chance(60) else { continue }
                try session.refresh()
                for one in watched { try check(one, "step \(step), \(one.name): \(comment)") }
            }
        }
    }

    func check(_ one: Watched, _ comment: String) throws {
        let now = try one.sections.contents
        let fresh = try LiveSections(one.sections.base, by: one.sections.key).contents
        #expect(now.map(\.key) == fresh.map(\.key) && now.map(\.elements) == fresh.map(\.elements), "\(comment)")
        let before = one.content
        one.content = now
        let changes = try one.token.pull()?.sectioned?.changes
        if let only = one.only {
            return checkOne(only, before, now, changes, comment)
        }
        guard let changes else {
            #expect(before.map(\.key) == now.map(\.key) && before.map(\.elements) == now.map(\.elements), "\(comment)")
            return
        }
        var sections = before
        for place in changes.deletions.reversed() { sections[place.section].elements.remove(at: place.item) }
        for section in changes.sectionDeletions.reversed() { sections.remove(at: section) }
        for section in changes.sectionInsertions { sections.insert((now[section].key, []), at: section) }
        for place in changes.insertions {
            guard place.section < sections.count, place.item <= sections[place.section].elements.count else {
                Issue.record("\(changes) \(comment)")
                return
            }
            sections[place.section].elements.insert(now[place.section].elements[place.item], at: place.item)
        }
        for place in changes.modificationsNew {
            sections[place.section].elements[place.item] = now[place.section].elements[place.item]
        }
        #expect(sections.map(\.key) == now.map(\.key), "\(changes) \(comment)")
        #expect(sections.map(\.elements) == now.map(\.elements), "\(changes) \(comment)")
        let gone = Set(changes.sectionDeletions)
        #expect(!changes.deletions.contains { gone.contains($0.section) }, "\(changes) \(comment)")
        #expect(changes.deletions == changes.deletions.sorted() && changes.insertions == changes.insertions.sorted())
    }

    private func checkOne(
        _ key: Value, _ before: [(key: Value, elements: [Value])], _ now: [(key: Value, elements: [Value])],
        _ changes: SectionChanges?, _ comment: String
    ) {
        let old = before.first { $0.key == key }?.elements
        let new = now.first { $0.key == key }?.elements
        guard let changes else {
            #expect(old == new, "\(comment)")
            return
        }
        if old == nil || new == nil {
            #expect(changes.sectionDeletions.count == (old == nil ? 0 : 1) && changes.deletions.isEmpty, "\(comment)")
            #expect(changes.insertions.count == new?.count ?? 0, "\(changes) \(comment)")
            return
        }
        var elements = old ?? []
        for place in changes.deletions.reversed() { elements.remove(at: place.item) }
        for place in changes.insertions { elements.insert(new?[place.item] ?? .null, at: place.item) }
        for place in changes.modificationsNew { elements[place.item] = new?[place.item] ?? .null }
        #expect(elements == new, "\(changes) \(comment)")
    }

    private func mutate(_ session: Session, _ random: inout SeededRandom) throws {
        let items = try session.objects("Item")
        let groups = try session.objects("Group")
        let count = try items.count()
        let groupCount = try groups.count()
        let name: Value = random.chance(15) ? .null : .string(["a", "b", "c", "d"][random.below(4)])
        let rank = Value.int(Int64(random.below(5)))
        guard count > 2, groupCount > 1, let item = try items.object(at: random.below(count)),
            let group = try groups.object(at: random.below(groupCount)), let first = try groups.object(at: 0)
        else {
            let id = Value.int(Int64.random(in: 1 ..< 1 << 40, using: &random))
            if groupCount < 3 { try session.add("Group", ["id": id, "label": name == .null ? .string("z") : name]) }
            try session.add("Item", ["id": id, "name": name, "rank": rank])
            return
        }
        switch random.below(12) {
        case 0, 1:
            let id = Value.int(Int64.random(in: 1 ..< 1 << 40, using: &random))
            try session.add("Item", ["id": id, "name": name, "rank": rank, "group": .link(group)])
        case 2: try item.delete()
        case 3, 4: try item.set("name", to: name)
        case 5: try item.set("rank", to: rank)
        case 6: try item.set("group", to: random.chance(80) ? .link(group) : .null)
        case 7: try group.set("label", to: .string("\(random.below(4))"))
        case 8: try item.set("any", to: random.chance(50) ? rank : name)
        case 9:
            let list = try first.list(first.column(named: "items"))
            let length = try list.count()
            if length > 4 || (length > 0 && random.chance(40)) {
                try list.remove(at: random.below(length))
            } else {
                try list.insert(.link(item.link), at: random.below(length + 1))
            }
        case 10:
            let list = try first.list(first.column(named: "items"))
            let length = try list.count()
            if length > 0 { try list.set(random.below(length), to: .link(item.link)) }
        default:
            let scores = try first.list(first.column(named: "scores"))
            let length = try scores.count()
            if length > 0, random.chance(40) {
                try scores.remove(at: random.below(length))
            } else {
                try rank.withView { view throws(DatabaseError) in try scores.insert(view, at: 0) }
            }
        }
    }
}
