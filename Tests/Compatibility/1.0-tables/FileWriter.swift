// Writes the files of format 1.0 with a class that has rows per cluster of its own (incompatible feature 4) beside one
// that has those of the file, under LMDB and in a page file of our own; and what is in them as text. Not part of any
// target here: scripts/make-compatibility-file.sh runs it within the sources of the release it is named after.
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
    let schema = "Wide { id: int key, text: string, next: link<Wide> } Narrow { n: int }"

    @Test func write() throws {
        guard let pointer = getenv("MOTTE_COMPATIBILITY_FILE") else { return }
        let path = String(cString: pointer)
        for (pager, path) in [(DatabaseOptions.Pager.lmdb, path), (.own, path + ".own")] {
            var options = SessionOptions(path: path, schema: try SchemaText.parse(schema))
            options.schemaVersion = 3
            options.pager = pager
            options.rowsPerCluster = 1_904
            let session = try Session.open(options)
            try fill(session)
            let text = try CompatibilityText.lines(session).joined(separator: "\n") + "\n"
            let file = try #require(fopen(path + ".txt", "w"))
            fputs(text, file)
            fclose(file)
            try session.close()
        }
    }

    private func fill(_ session: Session) throws {
        var made: [LiveObject] = []
        try session.inWrite {
            for n in 0 ..< 1_000 {
                // Two clusters and more; few enough different ones would be codes, and narrow.
                let text = String(repeating: String(UInt64(n) &* 0x9E37_79B9_7F4A_7C15, radix: 36), count: 6)
                let wide = try session.add("Wide", ["id": .int(Int64(n) * 3), "text": .string(text)])
                if n > 0 { try wide.set("next", to: .link(made[n / 2])) }
                made.append(wide)
            }
            for n in 0 ..< 2_000 { try session.add("Narrow", ["n": .int(Int64(n) % 7)]) }
        }
        // Gaps, and rows in the tail.
        try session.inWrite {
            for n in [0, 479, 480, 481, 999] { try made[n].delete() }
            try session.add("Wide", ["id": .int(-1), "text": .string("late")])
        }
    }
}
