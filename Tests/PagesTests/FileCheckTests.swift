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
}
