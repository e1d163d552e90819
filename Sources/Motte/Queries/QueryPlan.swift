/// How a query is run: what ``RealmCollection/explain(analyze:)`` and ``Groups/explain(analyze:)`` tell.
import MotteLiveObjects
import MotteValues

/// The plan of a query: steps from what rows are read from up to the last clause, with how many rows are expected
/// behind each and, where the query was run for it, how many there were and how long each step took.
public struct QueryPlan: Sendable, CustomStringConvertible {
    /// A table with a line for each step.
    public let description: String
    /// The same for programs: an object with `query`, `analyzed` and `plan`, whose steps have their `input` in them.
    public let json: String

    init(_ report: PlanReport) {
        description = report.text
        json = report.json
    }

    init() { (description, json) = ("", "{}") }
}

extension RealmCollection {
    /// How the elements would be found now. With `analyze` the query is run, to see how many rows each step has and how
    /// long it takes; what the collection knows already is neither used nor changed. Of a collection that no realm
    /// manages it is misuse.
    public func explain(analyze: Bool = false) -> QueryPlan {
        guard let handle = _managed else {
            misuse(
                "This method may only be called on \(Self._kindName) instances retrieved from a Realm", .invalidInput)
            return QueryPlan()
        }
        return attempt { () throws(DatabaseError) in QueryPlan(try handle.live.explain(isAnalyzed: analyze)) }
            ?? QueryPlan()
    }
}
