/// Arguments that have names come as one map behind the others.
import MotteQueryEngine
import MotteValues
import Testing

@Suite struct NamedArgumentTests {
    private func fitted(_ text: String, _ values: [Value]) throws(DatabaseError) -> [Argument] {
        try Arguments(values).fitted(to: try ParsedQuery.parse(text)).values
    }

    private func map(_ entries: (String, Value)...) -> Value {
        .map(entries.map { MapEntry(key: $0.0, value: $0.1) })
    }

    @Test func namesHaveNumbersBehindTheWrittenOnes() throws {
        let values = try fitted(
            "a == $b AND c == $0 AND d IN $list AND e == $b",
            [
                .int(1), map(("b", .string("x")), ("list", .list([.int(2)]))),
            ])
        #expect(values == [.value(.int(1)), .value(.string("x")), .value(.list([.int(2)]))])
        #expect(try fitted("a == 1", []).isEmpty)
        #expect(try fitted("a == $0", [map(("b", .int(1)))]) == [.value(map(("b", .int(1))))])
        // All of them by number serve, too: so are arguments of compiled queries bound.
        #expect(try fitted("a == $b AND c == $d", [.int(1), .int(2)]) == [.value(.int(1)), .value(.int(2))])
    }

    static let failures: [(String, [Value], String, Int)] = [
        ("a == 1 AND b == $age", [], "no value was given for $age", 16),
        (
            "a == $age", [.map([MapEntry(key: "other", value: .int(1))])],
            "no value was given for $age; the query has no argument $other", 5
        ),
        ("a == $age", [.map([])], "no value was given for $age", 5),
        (
            "a == $age", [.map([MapEntry(key: "age", value: .int(1)), MapEntry(key: "other", value: .int(1))])],
            "no argument $other", -1
        ),
        ("a == 1", [.map([MapEntry(key: "other", value: .int(1))])], "no argument $other", -1),
        ("a == $0", [.int(1), .map([MapEntry(key: "other", value: .int(1))])], "no argument $other", -1),
        ("a == $age", [.int(3)], "come as one map", -1), ("a == 1", [.int(3)], "asks for 0 arguments", -1),
        ("a == $age AND b == $0", [.int(1), .map([]), .int(1)], "asks for 2 arguments", -1),
    ]

    @Test(arguments: failures)
    func saysWhatIsMissingOrTooMuch(text: String, values: [Value], message: String, offset: Int) {
        do throws(DatabaseError) {
            Issue.record("\(try fitted(text, values)) fit")
        } catch {
            #expect(error.code == .queryArgument)
            #expect(error.message.contains(message), "\(error.message)")
            #expect((error.details.queryOffset ?? -1) == offset)
        }
    }
}
