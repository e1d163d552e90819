// The numbered behaviours of the semantics list that concern sessions, versions and other processes. Numbers are in the
// names.
import Foundation
import Motte
import MotteValues
import Testing

private let notes: [ObjectBase.Type] = [Note.self]

@Suite(.serialized) struct SessionRulesTests {
    private func fresh() throws -> Realm {
        let realm = try makeRealm(notes)
        try realm.write { for id in 0 ..< 3 { realm.create(Note.self, value: ["id": id, "tags": ["a", "b", "c"]]) } }
        return realm
    }

    private func add(_ id: Int, to configuration: Realm.Configuration) throws {
        try inAThread {
            let realm = try Realm(configuration: configuration)
            try realm.write { _ = realm.create(Note.self, value: ["id": id]) }
        }
    }

    private func describe<C: RealmCollection>(_ change: RealmCollectionChange<C>) -> String {
        switch change {
        case .initial(let collection): "initial \(collection.count)"
        case .update(_, let deletions, let insertions, let modifications):
            "-\(deletions) +\(insertions) ~\(modifications)"
        case .error(let error): "\(error)"
        }
    }

    @Test func rules16And90RealmsAreEqualByTheirPlace() throws {
        let realm = try fresh(), configuration = realm.configuration
        #expect(try Realm(configuration: configuration) == realm)
        let other = try inAThread { try Realm(configuration: configuration) }
        #expect(other != realm, "the same file on another thread")
    }

    /// A session that skips a commit is notified of the next one as if it had known the first.
    @Test func rule18WhatWasSkippedStaysSkipped() throws {
        let realm = try fresh(), configuration = realm.configuration
        var notified: [String] = []
        let token = realm.objects(Note.self).observe { notified.append(describe($0)) }
        try realm.write {}
        try realm.write(withoutNotifying: [token]) { _ = realm.create(Note.self, value: ["id": 3]) }
        try add(4, to: configuration)
        realm.refresh()
        try realm.write {}
        #expect(notified == ["initial 3", "-[] +[4] ~[]"])
        token.invalidate()
    }

    @Test func rule55ListsAreUpdatedByPosition() throws {
        let realm = try fresh()
        let note = try #require(realm.object(ofType: Note.self, forPrimaryKey: 1))
        var notified: [String] = []
        let token = note.tags.observe { notified.append(describe($0)) }
        try realm.write {}
        func update(_ tags: [String], _ policy: Realm.UpdatePolicy) throws -> [String] {
            notified = []
            let value: [String: Any] = ["id": 1, "tags": tags]
            try realm.write { _ = realm.create(Note.self, value: value, update: policy) }
            try realm.write {}
            return notified
        }
        #expect(try update(["a", "b", "c"], .modified).isEmpty, "nothing differs")
        #expect(try update(["a", "x", "c"], .modified) == ["-[] +[] ~[1]"])
        #expect(try update(["a", "x"], .modified).joined().contains("-[2]") && Array(note.tags) == ["a", "x"])
        #expect(try !update(["a", "x"], .all).isEmpty, "everything is written")
        token.invalidate()
    }

    @Test func rule100RefreshSaysWhetherItMoved() throws {
        let realm = try fresh(), configuration = realm.configuration
        #expect(!realm.refresh())
        try add(9, to: configuration)
        #expect(realm.refresh() && !realm.refresh() && realm.objects(Note.self).count == 4)
        try inAThread {
            var configuration = configuration
            configuration.readOnly = true
            let reader = try Realm(configuration: configuration)
            #expect(reader.objects(Note.self).count == 4)
        }
    }

    @Test @MainActor func rule101OpenBehavioursOpen() async throws {
        let configuration = Realm.Configuration(fileURL: temporaryURL(), objectTypes: notes)
        let first = try await Realm(configuration: configuration, downloadBeforeOpen: .never)
        let second = try await Realm(configuration: configuration, downloadBeforeOpen: .once)
        let third = try await Realm.open(configuration: configuration, downloadBeforeOpen: .always)
        #expect(first == second && second == third)
    }

    @Test func rule137PathsHaveNoWildcards() throws {
        let realm = try fresh()
        #expect(misuses { _ = realm.objects(Note.self).observe(keyPaths: ["*"]) { _ in } }.count == 1)
        #expect(misuses { _ = realm.objects(Note.self).observe(keyPaths: ["next.*"]) { _ in } }.count == 1)
    }

    @Test func rule159ObjectsOfAQueueBelongToIt() throws {
        let realm = try fresh(), configuration = realm.configuration
        let note = try #require(realm.object(ofType: Note.self, forPrimaryKey: 0))
        let queue = DispatchQueue(label: "notes"), seen = Locked<[String]>([]), done = DispatchSemaphore(value: 0)
        let token = note.observe(on: queue) { (change: ObjectChange<Note>) in
            dispatchPrecondition(condition: .onQueue(queue))
            guard case .change(let note, let properties) = change else { return }
            seen.withLock { $0.append("\(note.rank) \(properties.map(\.name)) \(note.realm != nil)") }
            done.signal()
        }
        for rank in [5, 6] {
            try inAThread {
                let realm = try Realm(configuration: configuration)
                try realm.write { realm.object(ofType: Note.self, forPrimaryKey: 0)?.rank = rank }
            }
            #expect(done.wait(timeout: .now() + 60) == .success)
        }
        #expect(seen.withLock { $0 } == [#"5 ["rank"] true"#, #"6 ["rank"] true"#])
        token.invalidate()
    }

    /// 105: a realm that is opened for what was handed over begins at its version.
    @Test func rules105And159WhatIsWrittenBeforeTheQueueTurnsIsNotified() throws {
        let realm = try fresh(), configuration = realm.configuration
        let note = try #require(realm.object(ofType: Note.self, forPrimaryKey: 0))
        let all = realm.objects(Note.self), count = all.count
        let queue = DispatchQueue(label: "later"), notified = Locked<[String]>([]), done = DispatchSemaphore(value: 0)
        let tell = { (text: String) in
            notified.withLock { $0.append(text) }
            done.signal()
        }
        queue.suspend()
        let one = note.observe(on: queue) { (change: ObjectChange<Note>) in
            switch change {
            case .change(let note, let properties): tell("\(properties.map(\.name)) \(note.rank)")
            case .deleted: tell("deleted")
            case .error: tell("error")
            }
        }
        let many = all.observe(on: queue) { (change: RealmCollectionChange<Results<Note>>) in
            switch change {
            case .initial(let notes): tell("initial \(notes.count - count)")
            case .update(let notes, _, let insertions, _): tell("\(notes.count - count) +\(insertions.count)")
            case .error: tell("error")
            }
        }
        func write(_ body: @escaping @Sendable (Realm, Note) -> Void) throws {
            try inAThread {
                let realm = try Realm(configuration: configuration)
                try realm.write { try body(realm, #require(realm.object(ofType: Note.self, forPrimaryKey: 0))) }
            }
        }
        try write { realm, note in
            note.rank = 7
            _ = realm.create(Note.self, value: ["id": 100])
        }
        queue.resume()
        for _ in 0 ..< 2 { #expect(done.wait(timeout: .now() + 60) == .success) }
        #expect(notified.withLock { $0.sorted() } == [#"["rank"] 7"#, "initial 1"])
        try write { realm, note in
            realm.delete(note)
            _ = realm.create(Note.self, value: ["id": 101])
            _ = realm.create(Note.self, value: ["id": 102])
        }
        for _ in 0 ..< 2 { #expect(done.wait(timeout: .now() + 60) == .success) }
        #expect(notified.withLock { $0[2...].sorted() } == ["2 +2", "deleted"])
        one.invalidate()
        many.invalidate()
    }

    // MARK: Other processes

    /// The command line tool, which is built beside the tests.
    private func tool(_ arguments: String...) throws -> Int32 {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
            .deletingLastPathComponent().appendingPathComponent("motte-tool")
        process.arguments = arguments
        try process.run()
        process.waitUntilExit()
        return process.terminationStatus
    }

    @Test func rule280CommitsOfOtherProcessesWakeObservers() throws {
        let realm = try fresh(), configuration = realm.configuration
        let path = try #require(configuration.fileURL?.path)
        let queue = DispatchQueue(label: "watching"), seen = Locked<[String]>([])
        let shown = DispatchSemaphore(value: 0)
        let token = try queue.sync {
            let watching = try Realm(configuration: configuration, queue: queue)
            return watching.objects(Note.self).observe { change in
                seen.withLock { $0.append(describe(change)) }
                shown.signal()
            }
        }
        #expect(shown.wait(timeout: .now() + 60) == .success)
        let source = temporaryURL().path + ".jsonl"
        try #"{"id": 77, "text": "from elsewhere", "rank": 1}"#.write(toFile: source, atomically: true, encoding: .utf8)
        #expect(try tool("import", path, "Note", source, "--quiet") == 0)
        #expect(shown.wait(timeout: .now() + 60) == .success)
        #expect(seen.withLock { $0 } == ["initial 3", "-[] +[3] ~[]"])
        realm.refresh()
        #expect(realm.object(ofType: Note.self, forPrimaryKey: 77)?.text == "from elsewhere")
        token.invalidate()
    }

    /// CRC-32C, as a file's head ends with.
    private func checksum(_ bytes: [UInt8]) -> UInt32 {
        ~bytes.reduce(~UInt32(0)) { crc, byte in
            (0 ..< 8).reduce(crc ^ UInt32(byte)) { crc, _ in crc >> 1 ^ (crc & 1 == 1 ? 0x82F6_3B78 : 0) }
        }
    }

    @Test func rule278UnknownFilesAreNotOpened() throws {
        let url = temporaryURL()
        try Data("T-DB of another kind".utf8 + [UInt8](repeating: 7, count: 8_192)).write(to: url)
        let error = #expect(throws: Realm.Error.self) { try makeRealm(notes, url: url) }
        #expect(error?.code == .invalidDatabase && error?.fileURL?.path == url.path)
        // A file of a form to come says so.
        let file = try inAThread { try #require(fresh().configuration.fileURL) }
        let handle = try FileHandle(forUpdating: file)
        var head = [UInt8](try #require(try handle.read(upToCount: 60)))
        head[8] = 9
        try handle.seek(toOffset: 0)
        try handle.write(contentsOf: head + withUnsafeBytes(of: checksum(head).littleEndian) { Array($0) })
        try handle.close()
        do {
            _ = try makeRealm(notes, url: file)
            Issue.record("opened")
        } catch Realm.Error.unsupportedFileFormatVersion {}
    }
}
