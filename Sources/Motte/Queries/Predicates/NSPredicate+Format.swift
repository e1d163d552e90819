/// `NSPredicate(format:)` where Foundation has none: a predicate object that carries query text and its arguments.
///
/// Foundation on Linux makes predicates of blocks only. These inits make one of a block that hands text and arguments
/// over when it is evaluated with a probe, so that `filter(_:)` gets them back out of any predicate made here, alone
/// or within `NSCompoundPredicate`. Evaluated with a model object, such a predicate asks that object.
import Foundation

extension NSPredicate {
    /// `format` is query text; `%@` stands for the next argument, `%K` for the next one as a key path.
    public convenience init(format: String, _ args: Any?...) {
        self.init(query: PredicateQuery(format: format, arguments: args))
    }

    /// `format` is query text with `%@` and `%K` for its arguments, given as an array. Text that cannot be read is
    /// misuse where the predicate is used, not here.
    public convenience init(format: String, argumentArray: [Any]?) {
        self.init(query: PredicateQuery(format: format, arguments: argumentArray ?? []))
    }

    private convenience init(query: PredicateQuery) {
        // Predicates are shared between threads as far as their arguments may be, as everywhere in Foundation.
        nonisolated(unsafe) let query = query
        self.init(block: { object, _ in
            switch object {
            case let probe as PredicateProbe:
                probe.found = query
                return false
            case let tested as any PredicateTested: return tested._isIncluded(by: query)
            default: return false
            }
        })
    }

    /// What it says; `.unknown` when it was made of a block, which no query engine can read.
    package var contents: PredicateContents {
        if let compound = self as? NSCompoundPredicate { return compound.combination }
        let probe = PredicateProbe()
        let isTrue = evaluate(with: probe)
        if let query = probe.found { return .query(query) }
        // Constants answer the same whatever they are asked about; a block would have to be one of those by chance.
        if isEqual(NSPredicate(value: isTrue)) { return .constant(isTrue) }
        return .unknown
    }
}

extension NSCompoundPredicate {
    fileprivate var combination: PredicateContents {
        let parts = subpredicates.map(\.contents)
        switch compoundPredicateType {
        case .and: return .and(parts)
        case .or: return .or(parts)
        case .not: return parts.count == 1 ? .not(parts[0]) : .unknown
        @unknown default: return .unknown
        }
    }
}

/// Query text as a program wrote it, and the values for its places.
package struct PredicateQuery {
    package let format: String
    package let arguments: [Any?]

    package init(format: String, arguments: [Any?]) {
        self.format = format
        self.arguments = arguments
    }
}

/// A predicate taken apart.
package indirect enum PredicateContents {
    case query(PredicateQuery)
    case constant(Bool)
    case and([PredicateContents])
    case or([PredicateContents])
    case not(PredicateContents)
    case unknown
}

/// What a predicate of ours hands its query to.
private final class PredicateProbe {
    var found: PredicateQuery?
}

/// What can say by itself whether a query holds for it: model objects.
package protocol PredicateTested {
    func _isIncluded(by query: PredicateQuery) -> Bool
}
