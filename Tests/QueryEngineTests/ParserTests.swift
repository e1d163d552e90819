/// What query text means, and where its errors point.
import MotteQueryEngine
import MotteValues
import Testing

@Suite struct ParserTests {
    /// Text and its canonical form.
    static let forms: [(String, String)] = [
        ("a = 1", "a == 1"), ("a == 1", "a == 1"), ("a<>1", "a != 1"), ("a != 1", "a != 1"), ("a<=1", "a <= 1"),
        ("a =< 1", "a <= 1"), ("a=>1", "a >= 1"),
        ("a >= -1.5e3", "a >= -1500.0"), ("1 < a", "1 < a"), ("a BETWEEN {1, 2}", "a BETWEEN {1, 2}"),
        ("a between 1 and 2 and b", "a BETWEEN {1, 2} AND b == true"), ("a BETWEEN $0", "a BETWEEN $0"),
        ("a BETWEEN $0 AND $1", "a BETWEEN {$0, $1}"), ("a BETWEEN $0 AND b", "a BETWEEN $0 AND b == true"),
        ("a IN {}", "a IN {}"), ("a in {1, $0, null}", "a IN {1, $0, NULL}"), ("a NOT IN $0", "NOT a IN $0"),
        ("$0 IN list", "$0 IN list"),
        ("a beginswith[c] 'x'", "a BEGINSWITH[c] \"x\""), ("a ==[C] 'x'", "a ==[c] \"x\""),
        ("a LIKE \"*?\\\"\"", "a LIKE \"*?\\\"\""),
        ("a CONTAINS '\\u00e9\\ud83d\\ude00\\u{41}'", "a CONTAINS \"é😀A\""),
        ("a && b || !c", "a == true AND b == true OR NOT c == true"),
        ("(a OR b) AND (c AND d)", "(a == true OR b == true) AND c == true AND d == true"),
        ("a OR b OR (c OR d)", "a == true OR b == true OR c == true OR d == true"),
        ("NOT (a AND b)", "NOT (a == true AND b == true)"), ("!!a", "NOT NOT a == true"),
        ("truePredicate", "TRUEPREDICATE"), ("FALSEPREDICATE", "FALSEPREDICATE"), ("", "TRUEPREDICATE"),
        ("SOME list.x == 1", "ANY list.x == 1"), ("none list.x > 1", "NONE list.x > 1"),
        ("ALL l == YES", "ALL l == true"),
        ("any == 1", "`any` == 1"), ("a.any == 1", "a.`any` == 1"), ("a.and.b == NO", "a.`and`.b == false"),
        ("l.@count > 1", "l.@count > 1"), ("l.@SIZE > 1", "l.@count > 1"), ("l.@sum.x > 1", "l.x.@sum > 1"),
        ("l.x.@avg > 1", "l.x.@avg > 1"), ("`odd name` == nil", "`odd name` == NULL"), ("SELF == $0", "SELF == $0"),
        ("t > T-12:500", "t > T-12:500"), ("d == X'00fF'", "d == X'00ff'"), ("o == O3:17", "o == O3:17"),
        ("a == +inf OR a == -infinity OR a == nan", "a == +inf OR a == -inf OR a == +nan"),
        ("%@ == a AND b == %@", "$0 == a AND b == $1"), ("größe == 1", "größe == 1"),
        ("a == 1 SORT(b ASC, c.d desc, e) LIMIT(3)", "a == 1 SORT(b ASC, c.d DESC, e ASC) LIMIT(3)"),
        ("a SORT(b) offset(20) LIMIT(10)", "a == true SORT(b ASC) OFFSET(20) LIMIT(10)"),
        ("OFFSET($0)", "OFFSET($0)"), ("offset == 3", "`offset` == 3"),
        ("sort(b)", "SORT(b ASC)"), ("LIMIT($0)", "LIMIT($0)"),
        ("a DISTINCT(b, c.d) SORT(b) LIMIT(2)", "a == true DISTINCT(b, c.d) SORT(b ASC) LIMIT(2)"),
        (
            "limit(3) sort(b) sort(c) distinct(SELF) limit($1)",
            "LIMIT(3) SORT(b ASC) SORT(c ASC) DISTINCT(SELF) LIMIT($1)"
        ),
        (
            "a ==[D] 'x' AND b LIKE[dc] 'y' AND c IN[cd] {'z'}",
            "a ==[d] \"x\" AND b LIKE[cd] \"y\" AND c IN[cd] {\"z\"}"
        ),
        ("subquery(a.b, $x, $x.c > 1 and $x == $0).@size >= 2", "SUBQUERY(a.b, $x, $x.c > 1 AND $x == $0).@count >= 2"),
        (
            "3 < SUBQUERY(a, $x, SUBQUERY($x.b, $y, $y.c).@count == 0).@count",
            "3 < SUBQUERY(a, $x, SUBQUERY($x.b, $y, $y.c == true).@count == 0).@count"
        ),
        ("subquery == 1", "`subquery` == 1"), ("a == %d AND b < %lu AND c == %f", "a == $0 AND b < $1 AND c == $2"),
        ("limit == 3 AND sort", "`limit` == 3 AND `sort` == true"),
        ("any['k'] == 1", "`any`[\"k\"] == 1"), ("ANY a[0][*].@count > 1", "ANY a[0][*].@count > 1"),
        ("a[FIRST] == a[last]", "a[0] == a[-1]"), ("a[$0] == $1", "a[$0] == $1"), ("a[%@] == %@", "a[$0] == $1"),
        ("ANY m.@allKeys == 'x'", "ANY m.@keys == \"x\""), ("m.@keys.@count > 1", "m.@keys.@count > 1"),
        ("a['k'].@type IN {'int', 'list'}", "a[\"k\"].@type IN {\"int\", \"list\"}"),
        ("ANY m.@values > 1", "ANY m.@values > 1"), ("d == decimal(1.50)", "d == decimal(1.50)"),
        ("d > DECIMAL(-1e400)", "d > decimal(-1E400)"), ("d == decimal(NaN)", "d == decimal(NaN)"),
        ("o == oid(507F1f77bcf86cd799439011)", "o == oid(507f1f77bcf86cd799439011)"),
        ("u == uuid(123E4567-e89b-12d3-a456-426614174000)", "u == uuid(123e4567-e89b-12d3-a456-426614174000)"),
        ("uuid == oid AND decimal", "uuid == oid AND decimal == true"),
        ("t > 2013-12-31", "t > T1388448000:0"), ("t == 2013-12-31T10:00:00Z", "t == T1388484000:0"),
        ("t == 2013-12-31t10:00:00.25+01:00", "t == T1388480400:250000000"),
        ("t == 2013-12-31 10:00:00-0100 AND b", "t == T1388487600:0 AND b == true"),
        ("t == 2013-12-31@10:0:1", "t == T1388484001:0"), ("t == 2013-1-1@0:0:0:5", "t == T1356998400:5"),
        ("2013-12-31>t", "T1388448000:0 > t"), ("t IN {2013-12-31, now()}", "t IN {T1388448000:0, now()}"),
        ("t < NOW() - 7d", "t < now() - 604800"), ("t > now()-1.5h+2w", "t > now() - 5400.0 + 1209600"),
        ("t BETWEEN now() - 5m AND now()", "t BETWEEN {now() - 300, now()}"),
        ("t BETWEEN $0 AND now() AND b", "t BETWEEN {$0, now()} AND b == true"), ("now == -30s", "now == -30"),
        ("a + 2 * b > 3", "a + 2 * b > 3"), ("(a + 2) * b > 3", "(a + 2) * b > 3"),
        ("a ==[c] -1 AND b[1] -1 == -1", "a ==[c] -1 AND b[1] - 1 == -1"),
        ("a - (b - c) == a - b - c", "a - (b - c) == a - b - c"), ("((a)) == (b)", "a == b"),
        ("a / (b * c) != a / b * c", "a / (b * c) != a / b * c"), ("a -1 > b-1", "a - 1 > b - 1"),
        ("a == -1 - -1", "a == -1 - -1"), ("-a < -(b + 1)", "0 - a < 0 - (b + 1)"),
        ("3 > $0 * -a", "3 > $0 * (0 - a)"), ("a.and -1 > 0", "a.`and` - 1 > 0"),
        ("a[0] -1 > l.@count", "a[0] - 1 > l.@count"), ("(a > 1) AND (a + 1 > 1)", "a > 1 AND a + 1 > 1"),
        ("((a + 1) * 2 > 1 OR b)", "(a + 1) * 2 > 1 OR b == true"), ("a * 2 NOT IN {1 + 1}", "NOT a * 2 IN {1 + 1}"),
        ("a BETWEEN $0 AND $2 + 1 <= b + (c - 1)", "a BETWEEN $0 AND $2 + 1 <= b + (c - 1)"),
        ("a BETWEEN $0 AND 2 * b > 1", "a BETWEEN $0 AND 2 * b > 1"),
        ("a BETWEEN $0 AND $1 + (2 * 3) SORT(b)", "a BETWEEN {$0, $1 + 2 * 3} SORT(b ASC)"),
        ("a BETWEEN (1 + 2) AND 4 * 2 AND b", "a BETWEEN {1 + 2, 4 * 2} AND b == true"),
        ("2013 - 12 - 31 == a", "2013 - 12 - 31 == a"), ("10-5-2 == a", "10 - 5 - 2 == a"),
        ("a == $age AND b == $age", "a == $0 AND b == $0"),
        ("a == $x AND b == $2 AND c < $y", "a == $3 AND b == $2 AND c < $4"),
        ("a == %@ AND b IN $list", "a == $0 AND b IN $1"), ("a[$key] == 1 LIMIT($n)", "a[$0] == 1 LIMIT($1)"),
        ("a BETWEEN $low AND $high", "a BETWEEN {$0, $1}"), ("a IN {$one, 2}", "a IN {$0, 2}"),
        ("SUBQUERY(a, $x, $x.p > $y AND $x == $z).@count > $x", "SUBQUERY(a, $x, $x.p > $0 AND $x == $1).@count > $2"),
        ("SUBQUERY(a, $x, $x.p * $x.q > 1).@count > 0", "SUBQUERY(a, $x, $x.p * $x.q > 1).@count > 0"),
    ]

    @Test(arguments: forms) func readsAndPrints(text: String, canonical: String) throws {
        let query = try ParsedQuery.parse(text)
        #expect(PredicateText.describe(query) == canonical)
        let again = try ParsedQuery.parse(canonical)
        #expect(again.predicate == query.predicate)
        #expect(again.ordering == query.ordering)
        #expect(again.argumentCount == query.argumentCount)
        #expect(ParsedQuery(query.predicate, ordering: query.ordering).argumentCount == query.argumentCount)
    }

    /// Text, code, and the UTF-8 offset the error points at.
    static let failures: [(String, ErrorCode, Int)] = [
        ("a ==", .querySyntax, 4), ("a == 1 b", .querySyntax, 7),
        ("(a == 1", .querySyntax, 7), ("a == 'x", .querySyntax, 5),
        ("a AND", .querySyntax, 5), ("== 1", .querySyntax, 0), ("é == #", .querySyntax, 6),
        ("a BETWEEN {1}", .querySyntax, 10),
        ("a BETWEEN 1", .querySyntax, 11), ("a BETWEEN b", .querySyntax, 10), ("a IN {b}", .querySyntax, 6),
        ("a == 99999999999999999999", .querySyntax, 5), ("a == 1e999", .querySyntax, 5), ("a == .5", .querySyntax, 5),
        ("a == decimal(x)", .querySyntax, 5), ("a == oid(12)", .querySyntax, 5), ("a == uuid(12", .querySyntax, 5),
        ("a[] == 1", .querySyntax, 2), ("a[1.5] == 1", .querySyntax, 2), ("a['k' == 1", .querySyntax, 6),
        ("a['k'].b == 1", .unsupported, 7), ("a.@keys.b == 1", .querySyntax, 8), ("SELF['k'] == 1", .querySyntax, 4),
        ("a == 5x", .querySyntax, 5), ("a.@foo == 1", .querySyntax, 2), ("a.@count.b == 1", .querySyntax, 2),
        ("a.@sum.@min == 1", .querySyntax, 7), ("a ==[x] 'x'", .querySyntax, 5),
        ("a <[c] 'x'", .queryInvalid, 3), ("a DISTINCT(b", .querySyntax, 12), ("DISTINCT()", .querySyntax, 9),
        ("a DISTINCT(b ASC)", .querySyntax, 13),
        ("LIMIT(-1)", .querySyntax, 6), ("SORT(a b)", .querySyntax, 7), ("OFFSET(-1)", .querySyntax, 7),
        ("5", .querySyntax, 1), ("$0", .querySyntax, 2),
        ("a == $", .querySyntax, 5), ("a == $0 AND b == %@", .querySyntax, 17), ("a == $99999", .querySyntax, 5),
        ("a == '\\q'", .querySyntax, 6), ("a == '\\ud800'", .querySyntax, 6), ("t == T1:1000000000", .querySyntax, 5),
        ("d == X'0'", .querySyntax, 6), ("a == %q", .querySyntax, 5), ("``", .querySyntax, 0),
        ("a NOT b", .querySyntax, 2),
        ("SUBQUERY(a, $x, $x.b == 1) > 0", .querySyntax, 27),
        ("SUBQUERY(a, x, $x.b == 1).@count > 0", .querySyntax, 12),
        ("SUBQUERY(a, $x).@count > 0", .querySyntax, 14), ("SUBQUERY(a, $x, $x.b == 1).@sum > 0", .querySyntax, 27),
        ("SUBQUERY(a, $x, $x.b == 1).@count", .querySyntax, 33), ("a BETWEEN[c] {1, 2}", .queryInvalid, 9),
        ("a & b", .querySyntax, 2), ("t == 2013-12-32", .querySyntax, 5), ("t == 2013-12-31x", .querySyntax, 5),
        ("t == 2013-12-31T10:00:00", .querySyntax, 5), ("t == 2013-12-31T25:00:00Z", .querySyntax, 5),
        ("t == 2013-12-31@10:00", .querySyntax, 5), ("t == 2013-12-31T10:00:00Zx", .querySyntax, 5),
        ("t > now(", .querySyntax, 8), ("t > now() - 7y", .querySyntax, 12), ("a + ", .querySyntax, 4),
        ("a + 1", .querySyntax, 5), ("(a + 1", .querySyntax, 6), ("a * (b > 1)", .querySyntax, 7),
        ("a + b * == 1", .querySyntax, 8), ("now()", .querySyntax, 5), ("a == 99999999999999999w", .querySyntax, 5),
        ("a == + 1", .querySyntax, 5),
    ]

    @Test(arguments: failures) func pointsAtTheMistake(text: String, code: ErrorCode, offset: Int) {
        do {
            let query = try ParsedQuery.parse(text)
            Issue.record("'\(text)' was read as \(PredicateText.describe(query))")
        } catch {
            #expect(error.code == code, "\(text): \(error)")
            #expect(error.details.queryOffset == offset, "\(text): \(error)")
        }
    }

    @Test func showsTheLineAndACaret() {
        do {
            _ = try ParsedQuery.parse("a == 1\n\tAND é == #1")
            Issue.record("no error")
        } catch {
            #expect(error.message == "this character means nothing here\n  \tAND é == #1\n  \t         ^")
        }
    }

    @Test func refusesDeepNestingAndNothingElse() throws {
        for pair in [("(", ")"), ("NOT ", ""), ("NOT (", ")"), ("(a AND ", ")")] {
            let deep = String(repeating: pair.0, count: 100_000) + "a" + String(repeating: pair.1, count: 100_000)
            #expect(throws: DatabaseError.self) { try ParsedQuery.parse(deep) }
        }
        let sums = String(repeating: "a + ", count: 100_000) + "a > 0"
        #expect(throws: DatabaseError.self) { try ParsedQuery.parse(sums) }
        let signs = "a > " + String(repeating: "- ", count: 100_000) + "a"
        #expect(throws: DatabaseError.self) { try ParsedQuery.parse(signs) }
        let near = String(repeating: "(", count: 200) + "a" + String(repeating: ")", count: 200)
        _ = try ParsedQuery.parse(near)
        let wide = try ParsedQuery.parse((0 ..< 20_000).map { "a == \($0)" }.joined(separator: " OR "))
        guard case .or(let parts) = wide.predicate else {
            Issue.record("not an or")
            return
        }
        #expect(parts.count == 20_000)
    }

    @Test func fillsInArguments() throws {
        let query = try ParsedQuery.parse("a == $0 AND b IN $1 AND c == $2 LIMIT($3)")
        let time = Value.timestamp(Timestamp(seconds: -1, nanoseconds: 5))
        let arguments = Arguments([.value(.string("x'\"")), .list([.int(1), .null]), .value(time)])
        #expect(
            PredicateText.describe(query, arguments: arguments)
                == "a == \"x'\\\"\" AND b IN {1, NULL} AND c == T-1:5 LIMIT($3)")
    }
}
