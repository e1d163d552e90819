// Writes the file with a class whose row groups are smaller than those of the file, and what is in it as text. Part of
// no target here: Tests/Compatibility/make-files.sh copies it among the tests and runs it.
import MotteLiveObjects
import MotteSchemaModel
import MotteStorage
import MotteValues
import TestSupport
import Testing

@Suite struct TablesFileWriter {
    let schema = "Wide { id: int key, text: string, next: link<Wide> } Narrow { n: int }"

    @Test func write() throws { try CompatibilityText.makeFile("tables", schema, fill) }

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
