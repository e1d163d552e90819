/// Queries over plain values.
import MotteQueryEngine
import MotteSchemaModel
import MotteValues
import TestSupport
import Testing

@Suite struct ValueQueryTests {
    private func positions(
        _ text: String, _ type: PropertyType, _ values: [Value], _ arguments: [Value] = []
    ) throws -> [Int] {
        let query = try ValueQuery.bind(
            try ParsedQuery.parse(text), type: type, name: "Person.values", arguments: Arguments(arguments))
        return try query.positions(in: values)
    }

    @Test func selfIsTheValue() throws {
        let ints: [Value] = [.int(3), .null, .int(1), .int(2), .int(3)]
        #expect(try positions("SELF > 1", .int, ints) == [0, 3, 4])
        #expect(try positions("self IN {1, $0} OR SELF == NULL", .int, ints, [.int(2)]) == [1, 2, 3])
        #expect(try positions("NOT SELF == 3 SORT(SELF DESC)", .int, ints) == [3, 2, 1])
        #expect(try positions("SORT(SELF)", .int, ints) == [1, 2, 3, 0, 4])
        #expect(try positions("SORT(SELF DESC) LIMIT(2)", .int, ints) == [0, 4])
        #expect(try positions("SELF == SELF", .int, ints) == [0, 1, 2, 3, 4])
        #expect(try positions("", .int, []) == [])
        #expect(try positions("FALSEPREDICATE", .int, ints) == [])
        let texts: [Value] = [.string("b"), .string("Ab"), .string("")]
        #expect(try positions("SELF CONTAINS[c] 'B' AND SELF != 'b'", .string, texts) == [1])
        #expect(try positions("SELF LIKE '*' SORT(SELF)", .string, texts) == [2, 1, 0])
    }

    @Test func refusesPropertiesAndForeignTypes() throws {
        for (text, words) in [
            ("name == 'x'", "the values of Person.values have no property 'name'; compare SELF"),
            ("SELF == 'x'", "Person.values is int, but \"x\" is string"), ("ANY SELF == 1", "is a single value"),
            ("SELF.@count == 1", "@count needs a list"), ("SORT(age)", "have no property 'age'"),
        ] {
            do {
                _ = try positions(text, .int, [])
                Issue.record("'\(text)' was accepted")
            } catch {
                #expect("\(error)".contains(words), "\(text): \(error)")
            }
        }
    }
}
