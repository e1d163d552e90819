// By which names a file keeps changes for feeds: those of classes that look alike are two.
import MotteReplication
import Testing

@Suite struct FeedNamesTests {
    private let composed = "\u{E9}"
    private let decomposed = "e\u{301}"

    private func consumer(_ classes: [String]) -> String {
        PostgresFeed.consumer("postgresql://ada:secret@db/people", classes: classes)
    }

    @Test func classesAreToldApartByTheirBytes() {
        #expect(Array(consumer([composed]).utf8) != Array(consumer([decomposed]).utf8))
        let both = Array("postgresql://ada@db/people (\(decomposed), \(composed))".utf8)
        #expect(Array(consumer([composed, decomposed]).utf8) == both)
        #expect(Array(consumer([decomposed, composed, decomposed]).utf8) == both)
    }
}
