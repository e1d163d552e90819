/// Folding agrees with Unicode's decompositions where its tables reach, and leaves everything else as it is.
import Foundation
import MotteColumns
import MotteValues
import Testing

@Suite struct TextFoldingTests {
    /// By the decompositions of Foundation.
    static func withoutMarks(_ text: String) -> [UInt8] {
        text.decomposedStringWithCanonicalMapping.unicodeScalars.filter {
            $0.properties.generalCategory != .nonspacingMark
        }.flatMap { Array(String($0).utf8) }
    }

    static func folded(_ text: String, _ options: TextOptions) -> [UInt8] {
        text.withUTF8Bytes { TextFolding.folded($0, options) }
    }

    @Test func lettersLoseTheirAccentsAsUnicodeDecomposesThem() {
        let blocks: [ClosedRange<UInt32>] = [0x20 ... 0x36F, 0x370 ... 0x4FF, 0x1E00 ... 0x1FFF]
        for value in blocks.joined() {
            guard let scalar = Unicode.Scalar(value), scalar.properties.generalCategory != .unassigned else { continue }
            let text = String(scalar)
            let expected = Self.withoutMarks(text)
            // Letters only: what decomposes to a sign of its own stays.
            let letters = String(decoding: expected, as: UTF8.self).unicodeScalars
            let isLetter = letters.allSatisfy(\.properties.isAlphabetic)
            guard isLetter, value != 0x374 else { continue }
            #expect(Self.folded(text, .ignoresDiacritics) == expected, "U+\(String(value, radix: 16))")
            let lower = Self.withoutMarks(scalar.properties.lowercaseMapping)
            #expect(Self.folded(text, [.ignoresCase, .ignoresDiacritics]) == lower, "U+\(String(value, radix: 16))")
        }
    }

    @Test func whatIsNoAccentStays() {
        for text in ["ø", "ł", "đ", "ß", "æ", "日本", "한", "\u{1F600}", "ʹ", ";", "·", "¨"] {
            #expect(Self.folded(text, .ignoresDiacritics) == Array(text.utf8), "\(text)")
        }
        #expect(Self.folded("e\u{301}\u{327}x", .ignoresDiacritics) == Array("ex".utf8))
        #expect(Self.folded("İSTANBUL ÉCOLE", [.ignoresCase, .ignoresDiacritics]) == Array("istanbul ecole".utf8))
        #expect(Self.folded("ÉCOLE", .ignoresCase) == Array("école".utf8))
    }
}
