// Writes the files whose newest versions are records of a WAL that was closed, puts and deletions among them, plain
// and encrypted with the key 0, 1, ... 63, and what is in them as text. Part of no target here:
// Tests/Compatibility/make-files.sh copies it among the tests and runs it.
import MotteLiveObjects
import MotteSchemaModel
import MotteStorage
import MotteValues
import TestSupport
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

@Suite struct WALFileWriter {
    let schema = "Dog { id: int key, name: string indexed, age: int, friend: link<Dog> }"

    @Test func write() throws {
        // Files get one by themselves when they are larger than what is to be kept here.
        setenv("MOTTE_WAL_PAGES", "16", 1)
        defer { unsetenv("MOTTE_WAL_PAGES") }
        try CompatibilityText.makeFile("wal", schema, fill)
        try CompatibilityText.makeFile("encrypted", schema, key: (0 ..< 64).map { UInt8($0) }, fill)
    }

    private func fill(_ session: Session) throws {
        var dogs: [LiveObject] = []
        try session.inWrite {
            for n in 0 ..< 400 {
                dogs.append(
                    try session.add("Dog", [
                        "id": .int(Int64(n)), "name": .string("dog \(n % 90)"), "age": .int(Int64(n % 17)),
                    ]))
            }
        }
        // The first makes the WAL; the others are records.
        try session.inWrite { try dogs[0].set("age", to: .int(30)) }
        try session.inWrite { try dogs[1].set("name", to: .string("renamed in the journal")) }
        try session.inWrite { try dogs[2].delete() }
        try session.inWrite {
            let late = try session.add("Dog", ["id": .int(1_000), "name": .string("late"), "age": .int(1)])
            try late.set("friend", to: .link(dogs[5]))
        }
        try session.inWrite { try dogs[1].set("name", to: .string("renamed again")) }
    }
}
