// What errors say, however long what they speak of is.
import MotteValues
import Testing

@Suite struct DatabaseErrorTests {
    /// Three megabytes of a name are no message; how it begins and what it advises are.
    @Test(arguments: ["n", "é", "𝄞", "e\u{301}"])
    func longMessagesLoseTheirMiddle(_ piece: String) {
        let name = String(repeating: piece, count: 3 << 20)
        let error = DatabaseError(
            .unknownClass, "there is no class '\(name)'; declare it", className: name, propertyName: name)
        #expect(error.message.utf8.count <= 4_010)
        #expect(error.message.hasPrefix("there is no class '\(piece)"))
        #expect(error.message.hasSuffix("\(piece)'; declare it"))
        #expect(!error.message.unicodeScalars.contains("\u{FFFD}"))
        #expect(error.details.className.map { $0.utf8.count <= 4_010 } == true)
        #expect(error.details.propertyName.map { $0.utf8.count <= 4_010 } == true)
        #expect(error.at(rowIndex: 7).message.hasPrefix("row 7: there is no class"))
        #expect(error.at(rowIndex: 7).message.utf8.count <= 4_010)
    }

    /// One that fits stays as it is.
    @Test func messagesThatFitAreNotTouched() {
        for count in [0, 1, 3_999, 4_000] {
            let text = String(repeating: "x", count: count)
            #expect(DatabaseError(.internal, text).message == text)
        }
        #expect(DatabaseError(.internal, String(repeating: "x", count: 4_001)).message.utf8.count == 4_005)
    }
}
