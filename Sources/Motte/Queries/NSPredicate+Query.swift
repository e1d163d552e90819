/// Predicate objects as queries of the engine.
import Foundation
import MotteQueryEngine
import MotteValues

extension NSPredicate {
    /// Throws `.queryInvalid` for a predicate made of a block, which only a program can evaluate.
    package func _query() throws(DatabaseError) -> (ParsedQuery, Arguments) {
        let query = try contents.combined { part throws(DatabaseError) in
            let format = try FilterFormat(numbering: part.format, part.arguments)
            return (text: format.text, arguments: format.given)
        }
        guard let query else {
            throw DatabaseError(
                .queryInvalid,
                "Only predicates made with NSPredicate(format:) can be used to query; filter an array with "
                    + "a block instead")
        }
        let format = try FilterFormat(query.text, query.arguments)
        return (try format.parsed(), format.arguments)
    }
}
