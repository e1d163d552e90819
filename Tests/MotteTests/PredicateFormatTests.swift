/// Predicate objects with query text: getting text and arguments back, alone and combined.
import Foundation
import Motte
import MotteQueryEngine
import MotteValues
import Testing

@Suite struct PredicateFormatTests {
    private func text(_ predicate: NSPredicate) throws -> String {
        let (query, arguments) = try predicate._query(in: nil)
        return PredicateText.describe(query, arguments: arguments)
    }

    @Test func carriesTextAndArguments() throws {
        #expect(try text(NSPredicate(format: "age > 3")) == "age > 3")
        #expect(try text(NSPredicate(format: "age > %@ AND name == %@", 3, "R")) == "age > 3 AND name == \"R\"")
        #expect(try text(NSPredicate(format: "name == %@", nil as String?)) == "name == NULL")
        #expect(try text(NSPredicate(format: "age > %ld OR age < %f", 3, 0.5)) == "age > 3 OR age < 0.5")
        #expect(try text(NSPredicate(format: "age > 3", argumentArray: nil)) == "age > 3")
        #expect(try text(NSPredicate(format: "age > 3 SORT(name ASC)")) == "age > 3 SORT(name ASC)")
    }

    @Test(
        arguments: [
            ("%K == %@", ["age", 4], "age == 4"), ("%@ == %K", [4, "age"], "4 == age"),
            ("ANY %K.%K > %d && name != '%K'", ["dogs", "age", 1], "ANY dogs.age > 1 AND name != \"%K\""),
            ("name == '\\'%K' OR %K = $0", ["a", 1], "name == \"'%K\" OR a == 1"),
        ] as [(String, [any Sendable], String)])
    func keyPathsAreArguments(_ format: String, _ arguments: [any Sendable], _ expected: String) throws {
        #expect(try text(NSPredicate(format: format, argumentArray: arguments)) == expected)
    }

    @Test(
        arguments: [
            ("age > %@", []), ("age > 3", [1]), ("age > $1", [1]), ("%K > 3", [1]), ("%K > 3", []), ("age > %y", [1]),
        ] as [(String, [any Sendable])])
    func argumentsMustFit(_ format: String, _ arguments: [any Sendable]) {
        #expect(throws: DatabaseError.self) { try text(NSPredicate(format: format, argumentArray: arguments)) }
    }

    @Test func combinesInBrackets() throws {
        let age = NSPredicate(format: "age > %@", 3)
        let name = NSPredicate(format: "name == $1 OR name == $0", "Rex", "Max")

        let both = NSCompoundPredicate(andPredicateWithSubpredicates: [age, name])
        #expect(try text(both) == "age > 3 AND (name == \"Max\" OR name == \"Rex\")")
        let either = NSCompoundPredicate(orPredicateWithSubpredicates: [age, both])
        #expect(try text(either) == "age > 3 OR age > 3 AND (name == \"Max\" OR name == \"Rex\")")
        let neither = NSCompoundPredicate(notPredicateWithSubpredicate: either)
        #expect(try text(neither) == "NOT (age > 3 OR age > 3 AND (name == \"Max\" OR name == \"Rex\"))")
        let sorted = NSPredicate(format: "age > 3 SORT(name ASC)")
        #expect(throws: DatabaseError.self) { try text(NSCompoundPredicate(notPredicateWithSubpredicate: sorted)) }
    }

    @Test func knowsConstants() throws {
        #expect(try text(NSPredicate(value: true)) == "TRUEPREDICATE")
        #expect(try text(NSPredicate(value: false)) == "FALSEPREDICATE")
        #expect(try text(NSCompoundPredicate(andPredicateWithSubpredicates: [])) == "TRUEPREDICATE")
        #expect(try text(NSCompoundPredicate(orPredicateWithSubpredicates: [])) == "FALSEPREDICATE")
    }

    @Test(arguments: [true, false])
    func blocksHaveNoQuery(_ answer: Bool) {
        let block = NSPredicate(block: { _, _ in answer })

        for predicate in [block, NSCompoundPredicate(orPredicateWithSubpredicates: [NSPredicate(value: true), block])] {
            #expect(throws: DatabaseError.self) { try text(predicate) }
        }
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
