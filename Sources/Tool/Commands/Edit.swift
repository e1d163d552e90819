/// Objects changed by hand: what the commands `insert`, `update` and `delete` and the shell's statements do alike.
import ArgumentParser
import MotteExchange
import MotteLiveObjects
import MotteQueryEngine
import MotteSchemaModel
import MotteValues

enum Edit {
    /// In a write of its own, or as a part of the one that is open; `body` says what it has done.
    static func run(
        _ session: Session, dryRun: Bool = false, _ body: () throws(DatabaseError) -> String
    ) throws(DatabaseError) {
        if session.isInWrite {
            return printLine(try session.atomically { () throws(DatabaseError) in try body() })
        }
        try session.beginWrite()
        do throws(DatabaseError) {
            let outcome = try body()
            if dryRun {
                try session.cancel()
                return printLine("\(outcome); nothing was changed (dry run)")
            }
            try session.commit()
            printLine(outcome)
        } catch {
            if session.isInWrite { try session.cancel() }
            throw error
        }
    }

    static func pair(_ text: String) -> PropertyAssignments.Given {
        let parts = text.parts(between: "=", most: 1)
        return PropertyAssignments.Given(parts[0], parts.count == 2 ? parts[1] : "")
    }

    /// A query that was forgotten would mean everything.
    static func checkSelection(_ text: String?, _ all: Bool) throws {
        guard (text == nil) == all else {
            throw ValidationError("give a query, or --all for all objects of the class")
        }
    }

    /// Nor may one that has been left empty, or says only in which order and how many.
    static func requireCondition(
        _ text: String?, or way: String = "--all means all of them, and 'TRUEPREDICATE LIMIT(10)' any ten"
    ) throws(DatabaseError) {
        guard let text, try !ParsedQuery.parse(text).hasCondition else { return }
        throw DatabaseError(
            .invalidArgument,
            "the query has no condition, so it would take all objects; say which ones, as in 'id == 7'; \(way)")
    }

    static func insert(
        _ session: Session, _ type: ObjectType, _ values: [String], _ policy: UpdatePolicy
    ) throws(DatabaseError) -> (created: Int, updated: Int) {
        let table = try session.tableKey(type.name)
        var options = JSONImport.Options()
        options.policy = policy
        let importer = try JSONImport(session, into: table, options)
        if values == ["-"] {
            let input = try InputFile(standardInput: ())
            defer { withExtendedLifetime(input) {} }
            do throws(DatabaseError) { try importer.run(input.bytes) } catch {
                throw ExchangeError.named("standard input", error)
            }
        } else {
            if !isJSON(values), let wrong = values.first(where: { !$0.utf8.contains(UInt8(ascii: "=")) }) {
                throw DatabaseError(.invalidArgument, "'\(wrong)' is neither NAME=VALUE nor a JSON object")
            }
            let text =
                isJSON(values)
                ? values.joined(separator: "\n") : try PropertyAssignments(session, table, values.map(pair)).object
            do throws(DatabaseError) {
                try text.withUTF8Bytes { bytes throws(DatabaseError) in try importer.run(bytes) }
            } catch { throw text.utf8.contains(0x0A) ? error : PropertyAssignments.withoutLine(error) }
        }
        return (importer.outcome.created, importer.outcome.updated)
    }

    private static func isJSON(_ values: [String]) -> Bool {
        // What JSON has between its tokens.
        let first = values.first?.utf8.first { !" \t\r\n".utf8.contains($0) }
        return first == UInt8(ascii: "{") || first == UInt8(ascii: "[")
    }

    static func update(
        _ session: Session, _ type: ObjectType, _ results: LiveResults, _ values: [PropertyAssignments.Given]
    ) throws(DatabaseError) -> Int {
        let table = try session.tableKey(type.name)
        let assignments = try PropertyAssignments(session, table, values)
        // What is assigned may be what is asked for.
        let keys = try results.keys()
        for key in keys {
            try Console.checkInterruption()
            try assignments.assign(to: ObjectKey(key))
        }
        try assignments.finish()
        return keys.count
    }
}
