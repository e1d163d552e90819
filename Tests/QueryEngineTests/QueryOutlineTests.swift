// What query text says of its arguments: each spelling that the grammar has leads to the same.
import MotteQueryEngine
import Testing

@Suite struct QueryOutlineTests {
    private func uses(_ text: String) throws -> [QueryOutline.Use] {
        QueryOutline(try ParsedQuery.parse(text)).uses
    }

    @Test(arguments: [
        "age > $0", "$0 < age", "age BETWEEN $0 AND 7", "age BETWEEN {3, $0}", "age BETWEEN $0", "age IN {$0, 2}",
        "age IN $0", "age == %@", "NOT (age != $0)", "ANY age > $0", "TRUEPREDICATE AND (FALSEPREDICATE OR age > $0)",
        "GROUP(age) HAVING age > $0", "GROUP(city AS c) MAX(age) AS age HAVING age > $0",
        "GROUP(city) COUNT HAVING MIN(age) > $0",
    ])
    func aPropertyByItself(text: String) throws {
        #expect(try uses(text) == [.init(argument: 0, role: .value, isPlain: true, paths: [["age"]])])
    }

    @Test func computed() throws {
        let expected: [String: [[String]]] = [
            "ended - begun > $0": [["ended"], ["begun"]],
            "ended - begun BETWEEN $0 AND 4": [["ended"], ["begun"]],
            "ref.limit - begun > %@": [["ref", "limit"], ["begun"]],
            "ended > begun + $0": [["ended"], ["begun"]],
            "ended IN {$0 * 2, 3}": [["ended"]],
            "dogs.@sum.age * 2 > $0": [["dogs", "age", "@sum"]],
            "GROUP(x) MAX(ended) AS e HAVING e - MIN(begun) > $0": [["ended"], ["begun"]],
            "GROUP(x) COUNT HAVING COUNT * SUM(took) > $0": [["took"]],
            "GROUP(x) COUNT HAVING VAR(took) * 2 > $0": [[]],
            "SUBQUERY(dogs, $d, $d.age > 3).@count * 2 > $0": [[]],
        ]
        for (text, paths) in expected {
            let found = try uses(text)
            #expect(found == [.init(argument: 0, role: .value, isComputed: true, paths: paths)], "\(text)")
        }
        let now = try uses("begun > now() - $0")
        #expect(now == [.init(argument: 0, role: .value, isComputed: true, asksForNow: true, paths: [["begun"]])])
    }

    @Test func notByItself() throws {
        for text in [
            "name CONTAINS $0", "lower(name) == $0", "map['a'] == $0", "map.@keys == $0", "age == $0 * 2",
            "GROUP(age BY month) HAVING age BY month > $0", "GROUP(x) HAVING SUM(age) > $0", "$0 == $1",
        ] {
            #expect(try uses(text).allSatisfy { !$0.isPlain }, "\(text)")
        }
    }

    @Test func placesAndNames() throws {
        let text = """
            map[$0] == $key AND SUBQUERY(dogs, $d, $d.toys.age > $key AND ANY $d.map[$1] == 2).@count > %@
            SORT(list[$0] ASC) LIMIT($2) OFFSET($most)
            """
        let found = try uses(text.replacing("%@", with: "$3"))
        #expect(
            found == [
                .init(argument: 0, role: .key),
                .init(argument: 4, name: "key", role: .value, paths: [["map"]]),
                .init(argument: 4, name: "key", role: .value, isPlain: true, paths: [["dogs", "toys", "age"]]),
                .init(argument: 1, role: .key),
                .init(argument: 3, role: .value, paths: [[]]),
                .init(argument: 0, role: .key), .init(argument: 2, role: .count),
                .init(argument: 5, name: "most", role: .count),
            ])
    }
}
