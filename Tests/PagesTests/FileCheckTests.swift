// What is in memory is no proof of what is in the file.
import MottePages
import MotteValues
import TestSupport
import Testing

@Suite struct FileCheckTests {
    @Test func damageOfAFileThatIsInMemoryIsFound() throws {
        let scratch = try Scratch()
        let store = try PageStore.open(PageStoreOptions(path: scratch.path()))
        var contents: Contents = [:]
        for index in 0 ..< 300 {
            contents["key-\(index)"] = [UInt8](repeating: UInt8(index % 251), count: index % 9 == 0 ? 4500 : index)
        }
        try store.commitNext(contents.map { ($0.key, $0.value) })
        let snapshot = try store.snapshot()
        #expect(try CutRun.contents(snapshot) == contents)
        let sound = try scratch.read()
        var overwritten = sound
        for place in 4 * 4096 ..< overwritten.count { overwritten[place] = 0xFF }

        var otherHead = sound, otherSlots = sound
        otherHead[20] ^= 1
        for page in 1 ..< 4 where !sound[page * 4096 ..< (page + 1) * 4096].allSatisfy({ $0 == 0 }) {
            otherSlots[page * 4096 + 40] ^= 1
        }

        for damaged in [overwritten, Array(sound.prefix(sound.count / 2)), otherHead, otherSlots] {
            try scratch.write(damaged)
            #expect(try !store.check().isEmpty)
            #expect(try CutRun.contents(snapshot) == contents)
            try scratch.write(sound)
            #expect(try store.check().isEmpty)
        }
    }

    /// What readers and writers fail with, whichever page is damaged, has been found before, and nothing is said of
    /// pages that are in nobody's way.
    @Test(arguments: [0, 64]) func whatACommitFailsWithIsFound(walPages: Int) throws {
        let scratch = try Scratch()
        func open() throws -> PageStore {
            var options = PageStoreOptions(path: scratch.path())
            options.walPages = walPages
            return try PageStore.open(options)
        }
        do {
            let store = try open()
            for round in 0 ..< 40 {
                let changes = (0 ..< 12).map { index -> (String, [UInt8]?) in
                    let number = (round * 7 + index * 5) % 60
                    let size = number % 9 == 0 ? 4500 : number * 9
                    return ("key-\(number)", index % 4 == 3 ? nil : [UInt8](repeating: UInt8(round), count: size))
                }
                try store.commitNext(changes)
            }
            store.close()
        }
        let sound = try scratch.read()
        var found = 0
        var failed = 0
        for page in 4 ..< sound.count / 4096 {
            var damaged = sound
            for place in page * 4096 ..< (page + 1) * 4096 { damaged[place] ^= 0x5A }
            try scratch.write(damaged)
            guard let store = try? open() else { continue }
            let problems = try store.check()
            found += problems.isEmpty ? 0 : 1
            do {
                _ = try CutRun.contents(try store.snapshot())
                for round in 0 ..< 3 { try store.commitNext([("key-\(round)", [UInt8(round)]), ("new", [1])]) }
            } catch {
                failed += 1
                #expect(!problems.isEmpty, "page \(page): \(error)")
            }
            store.close()
        }
        #expect(failed > 10 && found >= failed)
    }
}
