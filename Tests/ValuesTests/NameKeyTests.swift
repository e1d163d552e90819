// Names are their bytes: letters that Swift takes for the same are two names, and a separator is one whatever follows.
import MotteValues
import Testing

@Suite struct NameKeyTests {
    private let composed = "\u{E9}"
    private let decomposed = "e\u{301}"

    @Test func lettersThatLookAlikeAreTwoNames() {
        #expect(composed == decomposed)
        #expect(!composed.hasSameBytes(as: decomposed) && composed.hasSameBytes(as: "\u{E9}"))
        #expect(Set([NameKey(composed), NameKey(decomposed), NameKey("\u{E9}")]).count == 2)
        #expect(decomposed.precedesInBytes(composed) && !composed.precedesInBytes(decomposed))
        #expect(!composed.precedesInBytes(composed))
        let (some, none): (String?, String?) = (composed, nil)
        #expect(some.hasSameBytes(as: composed) && !some.hasSameBytes(as: decomposed))
        #expect(!some.hasSameBytes(as: nil) && !none.hasSameBytes(as: composed) && none.hasSameBytes(as: nil))
    }

    @Test func partsAreBetweenBytes() {
        #expect("a.b".parts(between: ".") == ["a", "b"])
        #expect("".parts(between: ".") == [""])
        #expect(".a..".parts(between: ".") == ["", "a", "", ""])
        #expect("a=b=c".parts(between: "=", most: 1) == ["a", "b=c"])
        // A combining mark makes one character with what is before it.
        #expect("a.\u{301}b".parts(between: ".").map { Array($0.utf8) } == [Array("a".utf8), Array("\u{301}b".utf8)])
        #expect("\r\n".parts(between: "\n") == ["\r", ""])
        #expect("x=\u{301}".beginsWithBytes(of: "x=") && !"x".beginsWithBytes(of: "x="))
    }
}
