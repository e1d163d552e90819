/// Predicate objects as queries of the engine.
import Foundation
import MotteLiveObjects
import MotteQueryEngine
import MotteValues

extension NSPredicate {
    /// Throws `.queryInvalid` for a predicate made of a block, which only a program can evaluate.
    package func _query(in session: Session?) throws(DatabaseError) -> (ParsedQuery, Arguments) {
        // With its own text, so that errors point into it.
        if case .query(let query) = contents {
            let filter = try FilterFormat(query.format, query.arguments)
            return (filter.query, try filter.arguments(in: session))
        }
        return (ParsedQuery(try contents.predicate(session)), Arguments())
    }
}

extension PredicateContents {
    /// As one tree, with values in the place of arguments.
    fileprivate func predicate(_ session: Session?) throws(DatabaseError) -> QueryPredicate {
        switch self {
        case .constant(let isTrue): return .constant(isTrue)
        case .not(let part): return .not(try part.predicate(session))
        case .and(let parts): return try Self.joined(parts, session, whenEmpty: true) { .and($0) }
        case .or(let parts): return try Self.joined(parts, session, whenEmpty: false) { .or($0) }
        case .query(let query):
            let filter = try FilterFormat(query.format, query.arguments)
            guard filter.query.ordering.clauses.isEmpty else {
                throw DatabaseError(
                    .queryInvalid, "'\(query.format)' sorts or limits, which a part of a predicate cannot do")
            }
            let arguments = try filter.arguments(in: session)
            return filter.query.predicate.filled(with: arguments)
        case .unknown:
            throw DatabaseError(
                .queryInvalid,
                "Only predicates made with NSPredicate(format:) can be used to query; filter an array with "
                    + "a block instead")
        }
    }

    private static func joined(
        _ parts: [PredicateContents], _ session: Session?, whenEmpty: Bool, _ join: ([QueryPredicate]) -> QueryPredicate
    ) throws(DatabaseError) -> QueryPredicate {
        var predicates: [QueryPredicate] = []
        for part in parts { predicates.append(try part.predicate(session)) }
        switch predicates.count {
        case 0: return .constant(whenEmpty)
        case 1: return predicates[0]
        default: return join(predicates)
        }
    }

    /// As a test of what is at hand; nil where a part was made of a block.
    func test() throws(DatabaseError) -> ((Any?) -> Bool)? {
        switch self {
        case .constant(let isTrue): return { _ in isTrue }
        case .not(let part): return try part.test().map { test in { !test($0) } }
        case .and(let parts): return try Self.tests(parts).map { tests in { value in tests.allSatisfy { $0(value) } } }
        case .or(let parts): return try Self.tests(parts).map { tests in { value in tests.contains { $0(value) } } }
        case .query(let query):
            let filter = try FilterFormat(query.format, query.arguments)
            let evaluation = PredicateEvaluation(filter.given)
            return { evaluation.holds(filter.query.predicate, for: $0) }
        case .unknown: return nil
        }
    }

    private static func tests(_ parts: [PredicateContents]) throws(DatabaseError) -> [(Any?) -> Bool]? {
        var tests: [(Any?) -> Bool] = []
        for part in parts {
            guard let test = try part.test() else { return nil }
            tests.append(test)
        }
        return tests
    }
}
