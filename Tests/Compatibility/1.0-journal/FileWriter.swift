// Writes the page file of format 1.0 with a journal (incompatible feature 8) that has records of several commits, puts
// and deletions among them, and is sealed; and what is in it as text. Not part of any target here:
// scripts/make-compatibility-file.sh runs it within the sources of the release it is named after.
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

@Suite struct FileWriter {
    let schema = "Dog { id: int key, name: string indexed, age: int, friend: link<Dog> }"

    @Test func write() throws {
        guard let pointer = getenv("MOTTE_COMPATIBILITY_FILE") else { return }
        // Files get one by themselves when they are larger than what is to be kept here.
        setenv("MOTTE_JOURNAL_PAGES", "16", 1)
        let path = String(cString: pointer)
        var options = SessionOptions(path: path, schema: try SchemaText.parse(schema))
        options.schemaVersion = 3
        options.pager = .own
        options.rowsPerCluster = 1_904
        let session = try Session.open(options)
        try fill(session)
        let text = try CompatibilityText.lines(session).joined(separator: "\n") + "\n"
        let file = try #require(fopen(path + ".txt", "w"))
        fputs(text, file)
        fclose(file)
        try session.close()
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
        // The first makes the journal; the others are records.
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
