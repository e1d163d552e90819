/// Query text with its arguments as programs give them: what the engine's query language has no place for.
///
/// Arguments with names, `$age`, are in a dictionary behind the others. `%K` stands for an argument that is a key path,
/// or in brackets for the `#any` of collections in mixed values. `place IN %@` with a shape asks what
/// `place GEOWITHIN %@` does.
import MotteLiveObjects
import MotteQueryEngine
import MotteValues

package struct FilterFormat {
    package private(set) var query: ParsedQuery
    /// As the program gave them, in the order of their numbers.
    package private(set) var given: [Any?]

    package init(_ format: String, _ args: [Any?]) throws(DatabaseError) {
        given = args
        let asksForAny = args.contains { $0 as? String == "#any" }
        query = try ParsedQuery.parse(try Self.inserting(keyPathsOf: format, &given))
        try insertNamedArguments()
        guard query.argumentCount <= given.count else {
            throw DatabaseError(
                .queryArgument,
                "the filter '\(format)' uses \(query.argumentCount) arguments; \(given.count) were given")
        }
        guard query.argumentCount == given.count else {
            throw DatabaseError(
                .queryArgument,
                "the filter '\(format)' uses \(query.argumentCount) of \(given.count) arguments")
        }
        if asksForAny || given.contains(where: { $0 is any RLMGeospatial }) {
            query = query.replacing(
                predicate: completed(query.predicate), ordering: query.ordering, grouping: query.grouping)
        }
    }

    /// Puts the values of a dictionary in the place of their names' numbers.
    private mutating func insertNamedArguments() throws(DatabaseError) {
        let names = query.namedArguments.map(\.text)
        let place = query.argumentCount - names.count
        guard !names.isEmpty, given.count == place + 1, let values = Dynamic.flattened(given[place]) as? [String: Any]
        else {
            guard names.isEmpty else {
                throw DatabaseError(
                    .queryArgument,
                    "$\(names[0]) and other arguments with names come in a dictionary, behind those without")
            }
            return
        }
        given.removeLast()
        for name in query.namedArguments {
            guard let value = values.first(where: { $0.key.hasSameBytes(as: name.text) })?.value else {
                throw query.source.error(.queryArgument, "no value was given for $\(name.text)", at: name.position)
            }
            given.append(value)
        }
        let unknown = values.keys.filter { name in !names.contains(where: name.hasSameBytes) }
        if let unknown = unknown.min(by: { $0.precedesInBytes($1) }) {
            throw DatabaseError(.queryArgument, "the query has no argument $\(unknown), for which a value was given")
        }
    }

    /// For the engine; objects must be of the session's file.
    package func arguments(in session: Session?) throws(DatabaseError) -> Arguments {
        var values: [Argument] = []
        for argument in given { values.append(try Self.argument(argument, session)) }
        return Arguments(values)
    }

    /// The text with the key paths that stand for `%K`, which are taken out of the arguments.
    private static func inserting(
        keyPathsOf format: String, _ args: inout [Any?]
    ) throws(DatabaseError) -> String {
        guard format.utf8.contains(UInt8(ascii: "%")) else { return format }
        // By scalars: what combines with a quote or a sign of the format belongs to the text behind it.
        var text = String.UnicodeScalarView()
        var place = 0
        var quote: Unicode.Scalar?
        var rest = format.unicodeScalars[...]
        while let character = rest.popFirst() {
            if let open = quote {
                text.append(character)
                if character == "\\", let escaped = rest.popFirst() { text.append(escaped) }
                if character == open { quote = nil }
            } else if character == "%", rest.first == "K" {
                rest = rest.dropFirst()
                guard place < args.count, let path = Dynamic.flattened(args.remove(at: place)) as? String else {
                    throw DatabaseError(
                        .queryArgument, "%K in the filter '\(format)' wants the name of a property")
                }
                // What stands for every key and index, which no property is called.
                text.append(contentsOf: (path == "#any" ? "*" : path).unicodeScalars)
            } else {
                if character == "%" { place += 1 }
                if "'\"`".unicodeScalars.contains(character) { quote = character }
                text.append(character)
            }
        }
        return String(text)
    }

    /// With shapes in the place of their arguments, and ANY before what asks for any element by `%K`.
    private func completed(_ predicate: QueryPredicate) -> QueryPredicate {
        switch predicate {
        case .constant: return predicate
        case .not(let inner): return .not(completed(inner))
        case .and(let parts): return .and(parts.map(completed))
        case .or(let parts): return .or(parts.map(completed))
        case .comparison(var comparison):
            if case .path(var path) = comparison.left, path.quantifier == nil, path.subscripts.contains(.all) {
                path.quantifier = .any
                comparison.left = .path(path)
            }
            if comparison.operator == .in || comparison.operator == .geoWithin,
                case .argument(let number, let position) = comparison.right, let shape = GeoShape(given[number])
            {
                comparison.operator = .geoWithin
                comparison.right = .shape(shape, position)
            }
            return .comparison(comparison)
        }
    }

    private static func argument(_ argument: Any?, _ session: Session?) throws(DatabaseError) -> Argument {
        if let value = try stored(argument, session) { return .value(value) }
        if let shape = GeoShape(argument) { return .value(.string(shape.text)) }
        if let elements = Dynamic.elements(argument) {
            var values: [Value] = []
            for element in elements {
                guard let value = try stored(element, session) else { throw unusable(element) }
                values.append(value)
            }
            return .list(values)
        }
        throw unusable(argument)
    }

    private static func stored(_ argument: Any?, _ session: Session?) throws(DatabaseError) -> Value? {
        guard let asked = Dynamic.asked(argument) else { return nil }
        if let session, !asked.files.isSubset(of: [session.databaseNumber]) { throw foreignObject }
        return asked.value
    }

    static var foreignObject: DatabaseError {
        DatabaseError(.queryArgument, "an object of another Realm cannot be used in a query of this one")
    }

    private static func unusable(_ argument: Any?) -> DatabaseError {
        DatabaseError(.queryArgument, "a value of type \(type(of: argument)) cannot be used in a filter")
    }
}
