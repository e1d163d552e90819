/// Queries of a million persons: Motte, an encrypted file, SQLite with one thread, and loops over plain columns in
/// memory (`PlainColumns`), in turns; the best of many rounds of each, because other work on the machine only adds.
///
/// All have to give the same answer, or the run is void. What misses its goal is marked.
import Glibc
import MotteLiveObjects
import MotteQueryEngine
import MotteValues

struct QueryBench {
    private struct Question {
        let name: String
        let motte: String
        var form = Form.count
        let sql: String
        var goal: Goal?
        let plain: (PlainColumns) -> [Int64]
    }

    /// What it may take.
    private enum Goal {
        case milliseconds(Double)
        /// As many times what plain columns take in this run.
        case timesPlain(Double)

        var text: String {
            switch self {
            case .milliseconds(let most): "\(most) ms"
            case .timesPlain(let most): "\(most) x plain"
            }
        }

        func isMet(seconds: Double, plain: Double) -> Bool {
            switch self {
            case .milliseconds(let most): seconds * 1e3 <= most
            case .timesPlain(let most): seconds <= most * plain
            }
        }
    }

    enum Form {
        case count, sum
        /// How many are in each of the first hundred groups.
        case groups
        /// The keys of the first hundred.
        case keys
    }

    let data: PersonData

    func run(rounds: Int, _ only: String?) throws {
        let folder = try makeFolder()
        defer { removeFolder(folder) }
        let motte = MotteEngine(.plain), sealed = MotteEngine(.sealed), sqlite = SQLiteEngine()
        _ = try motte.load(data, in: folder)
        let second = try makeFolder()
        defer { removeFolder(second) }
        _ = try sealed.load(data, in: second)
        if only != "motte" { _ = try sqlite.load(data, in: folder) }
        let columns = PlainColumns(data)
        print("\(data.count) objects, best of \(rounds) rounds in turns, ms\n")
        let heads = ["Motte", "encrypted", "plain columns", "times those", "SQLite", "SQLite/Motte", "goal"]
        print(row([""] + heads + [""]))
        print("|---|---:|---:|---:|---:|---:|---:|---:|---|")
        var misses: [String] = []
        for question in questions where only == nil || only == "motte" || question.name.contains(only ?? "") {
            let isMet = try measure(
                question, motte, sealed, sqlite, columns, rounds: rounds, withSQLite: only != "motte")
            if !isMet { misses.append(question.name) }
        }
        print("\n\(misses.count) of the goals missed\(misses.isEmpty ? "" : ": " + misses.joined(separator: ", "))")
        motte.close()
        sealed.close()
        sqlite.close()
    }

    /// Whether the goal is met, where there is one.
    private func measure(
        _ question: Question, _ motte: MotteEngine, _ sealed: MotteEngine, _ sqlite: SQLiteEngine,
        _ columns: PlainColumns, rounds: Int, withSQLite: Bool
    ) throws -> Bool {
        var best = [Double](repeating: .infinity, count: 4)
        let expected = question.plain(columns)
        func check(_ answer: [Int64], _ who: String) throws {
            guard answer == expected else {
                throw BenchError("\(question.name): \(who) gives \(answer.prefix(5)), not \(expected.prefix(5))")
            }
        }
        for round in 0 ..< rounds {
            var answer: [Int64] = []
            best[0] = min(best[0], try seconds { answer = try motte.answer(question.motte, question.form) })
            try check(answer, "Motte")
            best[1] = min(best[1], try seconds { answer = try sealed.answer(question.motte, question.form) })
            try check(answer, "Motte, encrypted,")
            best[2] = min(best[2], seconds { answer = question.plain(columns) })
            try check(answer, "a loop")
            // Its times vary less, and are long.
            if withSQLite, round < 3 {
                best[3] = min(best[3], try seconds { answer = try sqlite.answer(question.sql) })
                try check(answer, "SQLite")
            }
        }
        let isMet = question.goal?.isMet(seconds: best[0], plain: best[2])
        print(
            row([
                question.name, figure(best[0] * 1e3), figure(best[1] * 1e3), figure(best[2] * 1e3),
                figure(best[0] / best[2]), figure(best[3] * 1e3), figure(best[3] / best[0]),
                question.goal?.text ?? "", isMet.map { $0 ? "met" : "missed" } ?? "",
            ]))
        return isMet ?? true
    }

    private func row(_ cells: [String]) -> String { "| " + cells.joined(separator: " | ") + " |" }

    private func figure(_ value: Double) -> String {
        guard value.isFinite else { return "" }
        let digits = value < 10 ? 100.0 : 10.0
        return "\((value * digits).rounded() / digits)"
    }

    private var questions: [Question] {
        let city = String(decoding: data.cityNames[17], as: UTF8.self)
        let from = "FROM person WHERE "
        return [
            Question(
                name: "first 100 by name", motte: "TRUEPREDICATE SORT(name ASC) LIMIT(100)", form: .keys,
                sql: "SELECT id FROM person ORDER BY name, id LIMIT 100", goal: .milliseconds(6)
            ) { $0.firstByName(100) },
            Question(
                name: "sort by name", motte: "TRUEPREDICATE SORT(name ASC)", form: .keys,
                sql: "SELECT id FROM person ORDER BY name, id"
            ) { $0.sortedByName() },
            Question(
                name: "sort by age and name", motte: "TRUEPREDICATE SORT(age ASC, name ASC)", form: .keys,
                sql: "SELECT id FROM person ORDER BY age, name, id", goal: .milliseconds(150)
            ) { $0.sortedByAgeAndName() },
            Question(
                name: "count of CONTAINS[c]", motte: "name CONTAINS[c] \"an\"",
                // What LIKE overlooks of case is that of ASCII, too.
                sql: "SELECT count(*) \(from)name LIKE '%an%'", goal: .milliseconds(5)
            ) { $0.countContaining("an") },
            Question(
                name: "count of several conjuncts",
                motte: "age BETWEEN {20, 40} AND active == true AND city == \"\(city)\"",
                sql: "SELECT count(*) \(from)age BETWEEN 20 AND 40 AND active = 1 AND city = '\(city)'",
                goal: .milliseconds(0.4)
            ) { $0.countConjuncts(20, 40, city: 17) },
            Question(
                name: "count of an int", motte: "age > 50", sql: "SELECT count(*) \(from)age > 50",
                goal: .timesPlain(3)
            ) { $0.countOlder(50) },
            Question(
                name: "count of a text", motte: "city == \"\(city)\"", sql: "SELECT count(*) \(from)city = '\(city)'",
                goal: .timesPlain(3)
            ) { $0.count(city: 17) },
            Question(
                name: "sum of a double", motte: "score", form: .sum, sql: "SELECT CAST(sum(score) AS INT) FROM person",
                goal: .timesPlain(3)
            ) { $0.sumOfScores() },
            Question(
                name: "sum of a double, filtered", motte: "age > 50", form: .sum,
                sql: "SELECT CAST(sum(score) AS INT) \(from)age > 50"
            ) { $0.sumOfScores(olderThan: 50) },
            Question(
                name: "count through a link", motte: "best_friend.age > 90",
                sql: "SELECT count(*) FROM person a JOIN person b ON a.best_friend = b.id WHERE b.age > 90",
                goal: .timesPlain(3)
            ) { $0.countFriendsOlder(90) },
            Question(
                name: "count of two columns", motte: "age > score", sql: "SELECT count(*) \(from)age > score"
            ) { $0.countAgeAboveScore() },
            Question(
                name: "count of arithmetic", motte: "age * 2 > score", sql: "SELECT count(*) \(from)age * 2 > score"
            ) { $0.countDoubleAgeAboveScore() },
            Question(
                name: "count of arithmetic on times",
                motte: "created + age * 1000000 > 2020-09-13T12:26:40Z + 50000000",
                sql: "SELECT count(*) \(from)created + age * 1000000 > 1600000000 + 50000000"
            ) { $0.countLate(1_000_000, 1_650_000_000) },
            Question(
                name: "groups of a thousand texts", motte: "GROUP(city) COUNT, AVG(age), MAX(score)", form: .groups,
                sql: "SELECT count(*), avg(age), max(score) FROM person GROUP BY city ORDER BY city"
            ) { $0.countCities(olderThan: nil, order: data.cityNames) },
            Question(
                name: "those of a filter", motte: "age > 50 GROUP(city) COUNT HAVING COUNT > 10", form: .groups,
                sql: "SELECT count(*) \(from)age > 50 GROUP BY city HAVING count(*) > 10 ORDER BY city"
            ) { $0.countCities(olderThan: 50, order: data.cityNames) },
            Question(
                name: "different texts of groups", motte: "GROUP(age) COUNT(DISTINCT city)", form: .groups,
                sql: "SELECT count(DISTINCT city) FROM person GROUP BY age ORDER BY age"
            ) { $0.countDifferentCities() },
        ]
    }
}

extension MotteEngine {
    /// A count, the sum of scores where that is asked for, or the keys of the first hundred.
    func answer(_ text: String, _ form: QueryBench.Form) throws -> [Int64] {
        if form == .groups {
            let groups = try state().objects(table).groups(text)
            return try (0 ..< min(100, groups.count())).map { try groups.view($0, 1).intValue }
        }
        if form == .sum {
            let found = text == "score" ? try state().objects(table) : try state().query(table, text).results()
            guard case .double(let sum) = try found.aggregate(.sum, try column("score")) else {
                throw BenchError("no sum")
            }
            return [Int64(sum)]
        }
        guard text.contains("SORT") else { return [Int64(try state().query(table, text).count())] }
        return Array(try state().query(table, text).results().keys().prefix(100))
    }
}
