/// The right sides of comparisons: constants and arguments, converted to the type they are compared with.
import MotteColumns
import MotteSchemaModel
import MotteValues

extension Binder {
    /// A single value.
    func value(_ operand: Predicate.Operand) throws(DatabaseError) -> Value {
        switch operand {
        case .constant(let value, _): return value
        case .argument(let number, let position):
            switch try arguments.argument(number, at: position, in: source) {
            case .value(let value): return value
            case .list:
                throw failure(
                    "argument $\(number) is a list; a single value is needed here", at: position, .queryArgument)
            }
        case .list(_, let position): throw failure("a list in braces follows IN or BETWEEN only", at: position)
        case .path, .subquery, .shape, .arithmetic, .now:
            throw failure("a value is needed here", at: operand.position)
        }
    }

    /// The values of a list, each with what to point at when it does not fit.
    func members(
        _ operand: Predicate.Operand
    ) throws(DatabaseError) -> [(value: Value, operand: Predicate.Operand)] {
        switch operand {
        case .list(let elements, _):
            var values: [(Value, Predicate.Operand)] = []
            for element in elements { values.append((try value(element), element)) }
            return values
        case .argument(let number, let position):
            switch try arguments.argument(number, at: position, in: source) {
            // A caller that knows plain values only gives the list as one.
            case .list(let values), .value(.list(let values)): return values.map { ($0, operand) }
            case .value:
                throw failure("argument $\(number) must be a list", at: position, .queryArgument)
            }
        case .constant(.list(let values), _): return values.map { ($0, operand) }
        case .constant(_, let position): throw failure("a list is written in braces: {1, 2, 3}", at: position)
        case .path, .subquery, .shape, .arithmetic, .now:
            throw failure("a list of values is needed here", at: operand.position)
        }
    }

    func mismatch(_ path: BoundPath, _ value: Value, _ operand: Predicate.Operand) -> DatabaseError {
        var code = ErrorCode.queryInvalid
        var what = PredicateText.describe(value) + " is \(value.kind.name)"
        if case .argument(let number, _) = operand {
            code = .queryArgument
            what = "argument $\(number) is \(value.kind.name)"
        }
        var type = path.type.name
        if path.type == .link, let target = path.targetTable.flatMap({ resolver.schema[$0]?.name }) {
            type = "a link to \(target)"
            if case .link(let link) = value { what += " to " + (resolver.schema[link.table]?.name ?? "no known class") }
        }
        return failure("\(path.name) is \(type), but \(what)", at: operand.position, code)
    }

    func columnTest(
        _ path: BoundPath, _ sign: Predicate.Operator, _ constant: Predicate.Operand, _ options: TextOptions,
        at position: SourcePosition
    ) throws(DatabaseError) -> ColumnTest {
        if let test = try kindTest(path, sign, constant) { return test }
        if !options.isEmpty, path.type != .string, path.type != .mixed {
            throw failure("\(path.name) is \(path.type.name); only strings have case and diacritics", at: position)
        }
        switch sign {
        case .equal, .notEqual, .less, .lessOrEqual, .greater, .greaterOrEqual:
            guard let op = Self.comparisonOperator(sign) else { return .never }
            let value = try value(constant)
            if path.type == .link, op != .equal, op != .notEqual {
                throw failure("\(path.name) is a link; links are compared with ==, != and IN only", at: position)
            }
            return options.isEmpty
                ? try test(path, op, value, constant) : try folded(path, op, value, constant, options)
        case .between: return try range(path, constant, at: position)
        case .in:
            var tests: [ColumnTest] = []
            for (value, operand) in try members(constant) {
                tests.append(
                    options.isEmpty
                        ? try test(path, .equal, value, operand) : try folded(path, .equal, value, operand, options))
            }
            return .anyOf(tests)
        case .beginsWith, .endsWith, .contains, .like:
            return try match(path, sign, constant, options, at: position)
        case .matches: return try matches(path, constant, options, at: position)
        case .geoWithin: throw failure("GEOWITHIN needs its property on the left", at: position)
        }
    }

    private func test(
        _ path: BoundPath, _ op: ComparisonOperator, _ value: Value, _ operand: Predicate.Operand
    ) throws(DatabaseError) -> ColumnTest {
        if value.isNull { return .comparingNull(op) }
        if case .link(let link) = value, path.type == .link, link.table != path.targetTable, link != .nowhere {
            throw mismatch(path, value, operand)
        }
        guard let test = ColumnTest.comparing(op, value, path.type) else { throw mismatch(path, value, operand) }
        return test
    }

    private func folded(
        _ path: BoundPath, _ op: ComparisonOperator, _ value: Value, _ operand: Predicate.Operand,
        _ options: TextOptions
    ) throws(DatabaseError) -> ColumnTest {
        if value.isNull { return .comparingNull(op) }
        guard case .string(let text) = value else { throw mismatch(path, value, operand) }
        let matcher = text.withUTF8Bytes { TextMatcher(.equal, $0, options) }
        let test = path.type == .mixed ? ColumnTest.matchAmongMixed(matcher, .string) : .match(matcher)
        return op == .notEqual ? .not(test) : test
    }

    private func range(
        _ path: BoundPath, _ operand: Predicate.Operand, at position: SourcePosition
    ) throws(DatabaseError) -> ColumnTest {
        guard path.type.isNumeric || path.type == .timestamp || path.type == .mixed else {
            throw failure("\(path.name) is \(path.type.name); BETWEEN is for numbers and timestamps", at: position)
        }
        let bounds = try members(operand)
        guard bounds.count == 2 else { throw failure("BETWEEN needs two bounds", at: operand.position, .queryArgument) }
        for (value, operand) in bounds where value.isNull {
            throw failure("the bounds of BETWEEN cannot be null", at: operand.position)
        }
        let lower = try test(path, .greaterOrEqual, bounds[0].value, bounds[0].operand)
        let upper = try test(path, .lessOrEqual, bounds[1].value, bounds[1].operand)
        if case .int(_, let low) = lower, case .int(_, let high) = upper { return .intRange(low, high) }
        return .all([lower, upper])
    }

    private func match(
        _ path: BoundPath, _ sign: Predicate.Operator, _ operand: Predicate.Operand, _ options: TextOptions,
        at position: SourcePosition
    ) throws(DatabaseError) -> ColumnTest {
        guard path.type == .string || path.type == .mixed || (path.type == .data && sign != .like) else {
            throw failure("\(path.name) is \(path.type.name); \(sign.text) is for strings", at: position)
        }
        let mode = Self.textMode(sign) ?? .contains
        let value = try value(operand)
        switch (value, path.type) {
        case (.null, _): return sign == .like ? .null : .never
        case (.string(let text), .string):
            return text.withUTF8Bytes { bytes in
                // An empty text is in no other, as in the peers; only LIKE means it literally.
                bytes.isEmpty && sign != .like ? .never : .match(TextMatcher(mode, bytes, options))
            }
        case (.string(let text), .mixed):
            return text.withUTF8Bytes { bytes in
                bytes.isEmpty && sign != .like
                    ? .never : .matchAmongMixed(TextMatcher(mode, bytes, options), .string)
            }
        case (.data(let data), .mixed) where sign != .like:
            let matcher = data.withBytes { TextMatcher(mode, $0) }
            return data.isEmpty ? .never : .matchAmongMixed(matcher, .data)
        case (.data(let data), .data):
            return data.isEmpty ? .never : .match(data.withBytes { TextMatcher(mode, $0) })
        default: throw mismatch(path, value, operand)
        }
    }

    private func matches(
        _ path: BoundPath, _ operand: Predicate.Operand, _ options: TextOptions, at position: SourcePosition
    ) throws(DatabaseError) -> ColumnTest {
        guard path.type == .string || path.type == .mixed else {
            throw failure("\(path.name) is \(path.type.name); MATCHES is for strings", at: position)
        }
        let value = try value(operand)
        if value.isNull { return .null }
        guard case .string(let pattern) = value else { throw mismatch(path, value, operand) }
        let expression: RegularExpression
        do {
            expression = try RegularExpression(pattern, ignoresCase: options.contains(.ignoresCase))
        } catch {
            throw failure(error.message, at: operand.position, error.code)
        }
        let matcher = TextMatcher(expression)
        return path.type == .mixed ? .matchAmongMixed(matcher, .string) : .match(matcher)
    }
}
