/// Predicate objects with query text: getting text and arguments back, alone and combined.
import Foundation
import Motte
import Testing

@Suite struct PredicateFormatTests {
    /// "text | arguments", or nil when it has no query.
    func text(_ predicate: NSPredicate) -> String? {
        let query = predicate.contents.combined { ($0.format, $0.arguments) }
        return query.map { query in
            ([query.text] + query.arguments.map { $0.map { "\($0)" } ?? "nil" }).joined(separator: " | ")
        }
    }

    @Test func carriesTextAndArguments() {
        #expect(text(NSPredicate(format: "age > 3")) == "age > 3")
        #expect(text(NSPredicate(format: "age > %@ AND name == %@", 3, "Rex")) == "age > %@ AND name == %@ | 3 | Rex")
        #expect(text(NSPredicate(format: "name == %@", nil as String?)) == "name == %@ | nil")
        #expect(text(NSPredicate(format: "%K == %@", argumentArray: ["age", 4])) == "%K == %@ | age | 4")
        #expect(text(NSPredicate(format: "age > 3", argumentArray: nil)) == "age > 3")
    }

    @Test func combinesInBrackets() {
        let age = NSPredicate(format: "age > %@", 3)
        let name = NSPredicate(format: "name == %@", "Rex")

        let both = NSCompoundPredicate(andPredicateWithSubpredicates: [age, name])
        #expect(text(both) == "(age > %@) && (name == %@) | 3 | Rex")
        let either = NSCompoundPredicate(orPredicateWithSubpredicates: [age, both])
        #expect(text(either) == "(age > %@) || ((age > %@) && (name == %@)) | 3 | 3 | Rex")
        let neither = NSCompoundPredicate(notPredicateWithSubpredicate: either)
        #expect(text(neither) == "NOT ((age > %@) || ((age > %@) && (name == %@))) | 3 | 3 | Rex")
    }

    @Test func countsNumberedArgumentsOn() {
        let one = NSPredicate(format: "a == $0 OR b == $1", 1, 2)
        let two = NSPredicate(format: "c == $1 OR d == '$1' OR e == $0 OR SUBQUERY(f, $x, $x.g == $0).@count > 0", 3, 4)

        #expect(
            text(NSCompoundPredicate(andPredicateWithSubpredicates: [one, two]))
                == "(a == $0 OR b == $1) && "
                + "(c == $3 OR d == '$1' OR e == $2 OR SUBQUERY(f, $x, $x.g == $2).@count > 0) | 1 | 2 | 3 | 4")
    }

    @Test func knowsConstants() {
        #expect(text(NSPredicate(value: true)) == "TRUEPREDICATE")
        #expect(text(NSPredicate(value: false)) == "FALSEPREDICATE")
        #expect(text(NSCompoundPredicate(andPredicateWithSubpredicates: [])) == "TRUEPREDICATE")
        #expect(text(NSCompoundPredicate(orPredicateWithSubpredicates: [])) == "FALSEPREDICATE")
    }

    @Test(arguments: [true, false])
    func blocksHaveNoQuery(_ answer: Bool) {
        let block = NSPredicate(block: { _, _ in answer })

        #expect(text(block) == nil)
        #expect(text(NSCompoundPredicate(orPredicateWithSubpredicates: [NSPredicate(format: "a == 1"), block])) == nil)
    }

    struct Tested: PredicateTested {
        func _isIncluded(by query: PredicateQuery) -> Bool { query.format == "yes" }
    }

    @Test func asksModelObjectsThemselves() {  // 182
        #expect(NSPredicate(format: "yes").evaluate(with: Tested()))
        #expect(!NSPredicate(format: "no").evaluate(with: Tested()))
        #expect(!NSPredicate(format: "yes").evaluate(with: 3))
    }
}
