/// A statement of the shell: what is to be done with which class, and the query that says with which objects.
///
///     select name, friend.city from Person where age > 30 SORT(name ASC) LIMIT(10);
///     select avg(age) from Person;      count Person age > 30;      Person;
///     explain Person age > 30;          explain analyze Person age > 30 GROUP(city) COUNT;
///     insert into Person {"name": "Ada"};
///     update Person set age = 37, name = "Ada L." where id == 7;      delete from Person where age < 0;
///     begin;  commit;  rollback;
import MotteExchange
import MotteLiveObjects
import MotteQueryEngine
import MotteValues

enum Statement {
    case select(className: String, columns: ColumnList?, query: String)
    case total(className: String, operation: AggregateOperation, property: String?, query: String)
    case explain(className: String, query: String, isAnalyzed: Bool)
    case insert(className: String, json: String)
    case update(className: String, values: [PropertyAssignments.Given], query: String)
    case delete(className: String, query: String)
    case begin, commit, rollback

    static let words = [
        "select", "count", "explain", "insert", "update", "delete", "begin", "commit", "rollback",
    ]
    private static let functions: [String: AggregateOperation] = [
        "count": .count, "sum": .sum, "avg": .average, "min": .min, "max": .max,
    ]

    /// `isClass` knows names of classes, with which a statement may begin as well.
    static func parse(_ text: String, isClass: (String) throws(DatabaseError) -> Bool) throws(DatabaseError)
        -> Statement
    {
        var words = StatementText(text)
        let isName = words.isAtQuotedName
        guard let first = try words.name() else {
            throw wrong(
                "a statement begins with a class or with \(Self.words.joined(separator: ", ")); .help says more")
        }
        switch isName ? "" : first.lowercased() {
        case "select": return try select(&words)
        case "count":
            let name = try className(&words)
            return .total(className: name, operation: .count, property: nil, query: query(&words))
        case "explain":
            // A class may be called so.
            let isAnalyzed = try !isClass("analyze") && words.skip("analyze")
            return .explain(className: try className(&words), query: query(&words), isAnalyzed: isAnalyzed)
        case "insert":
            _ = words.skip("into")
            let name = try className(&words)
            guard !words.rest.isEmpty else { throw wrong("insert \(name) what? Write a JSON object behind it") }
            return .insert(className: name, json: words.rest)
        case "update": return try update(&words)
        case "delete":
            _ = words.skip("from")
            let name = try className(&words)
            guard words.skip("where") else {
                throw wrong("say which objects: delete from \(name) where ...; TRUEPREDICATE means all of them")
            }
            return .delete(className: name, query: try condition(words.rest))
        case "begin" where words.rest.isEmpty: return .begin
        case "commit" where words.rest.isEmpty: return .commit
        case "rollback" where words.rest.isEmpty: return .rollback
        default: break
        }
        if try isClass(first) { return .select(className: first, columns: nil, query: query(&words)) }
        throw wrong("'\(first)' is no class and no statement; .schema shows the classes, .help the statements")
    }

    private static func wrong(_ problem: String) -> DatabaseError { DatabaseError(.invalidArgument, problem) }

    private static func className(_ words: inout StatementText) throws(DatabaseError) -> String {
        guard let name = try words.name() else { throw wrong("a class is missing before '\(words.rest)'") }
        return name
    }

    /// `where` may be left out.
    private static func query(_ words: inout StatementText) -> String {
        _ = words.skip("where")
        return words.rest
    }

    /// Behind `where` of what changes objects.
    private static func condition(_ query: String) throws(DatabaseError) -> String {
        try Edit.requireCondition(query, or: "where TRUEPREDICATE means all of them, and LIMIT(10) behind that any ten")
        return query
    }

    private static func select(_ words: inout StatementText) throws(DatabaseError) -> Statement {
        guard let columns = words.text(before: "from") else {
            throw wrong("select what from which class? Write select name, age from Person")
        }
        guard !columns.isEmpty else { throw wrong("no column stands between select and from; * means all") }
        let name = try className(&words)
        let query = query(&words)
        var head = StatementText(columns)
        if let function = head.word(), let operation = functions[function.lowercased()], head.skipMark("(") {
            guard let inside = head.rest.beforeBytes(of: ")").map(StatementText.trimmed) else {
                throw wrong("'\(function)(' is not closed by ')'")
            }
            if operation == .count, inside == "*" || inside == "" {
                return .total(className: name, operation: .count, property: nil, query: query)
            }
            let list = try ColumnList(inside)
            guard list.paths.count == 1, list.hasQuotes || !inside.utf8.contains(UInt8(ascii: "(")) else {
                throw wrong("one total at a time, or columns: '\(columns)' is neither")
            }
            return .total(className: name, operation: operation, property: list.paths[0], query: query)
        }
        let list = columns == "*" ? nil : try ColumnList(columns)
        guard list?.paths.isEmpty != true else { throw wrong("'\(columns)' names no column; * means all") }
        return .select(className: name, columns: list, query: query)
    }

    private static func update(_ words: inout StatementText) throws(DatabaseError) -> Statement {
        let name = try className(&words)
        guard words.skip("set") else { throw wrong("write update \(name) set property = value where ...") }
        var values: [PropertyAssignments.Given] = []
        repeat {
            guard let property = try words.name(), words.skipMark("=") else {
                throw wrong("behind set stand assignments, property = value, with commas between them")
            }
            let text = words.value(before: ["where"])
            guard !text.isEmpty else { throw wrong("'\(property)' gets no value") }
            let plain = try unquoted(text)
            values.append(PropertyAssignments.Given(property, plain ?? text, isQuoted: plain != nil))
        } while words.skipMark(",")
        guard words.skip("where") else {
            throw wrong("say which objects: ... where ...; TRUEPREDICATE means all of them")
        }
        return .update(className: name, values: values, query: try condition(words.rest))
    }

    /// Of a text in quotes, which is that text, as in queries; everything else is read by the type of the property.
    private static func unquoted(_ text: String) throws(DatabaseError) -> String? {
        let bytes = Array(text.utf8)
        guard bytes.first == UInt8(ascii: "\"") || bytes.first == UInt8(ascii: "'") else { return nil }
        let read = try QuotedText(bytes, at: 0, in: QuerySource(text))
        guard read.end == bytes.count else {
            let quoted = String(decoding: bytes[..<read.end], as: UTF8.self)
            throw wrong("behind \(quoted) stands neither a comma nor where; a quote in a text is written \\\"")
        }
        return read.text
    }
}
