/// What `any.@type` is compared with: names of kinds of values, in any case. Other names are errors, because a
/// misspelt one would be a condition that nothing meets.
import MotteColumns
import MotteValues

package enum KindNames {
    /// The names that queries and messages use, then those of the peers.
    static let known: [(name: String, kinds: [ValueKind])] =
        ValueKind.allCases.map { ($0.name, [$0]) } + [
            ("boolean", [.bool]), ("integer", [.int]), ("int16", [.int]), ("int32", [.int]), ("int64", [.int]),
            ("short", [.int]), ("long", [.int]), ("byte", [.int]), ("char", [.int]),
            ("binary", [.data]), ("bytearray", [.data]), ("byte[]", [.data]), ("bindata", [.data]),
            ("date", [.timestamp]), ("datetimeoffset", [.timestamp]), ("decimal128", [.decimal]),
            ("guid", [.uuid]), ("object", [.link]), ("objectlink", [.link]),
            ("array", [.list]), ("dictionary", [.map]), ("collection", [.list, .map]),
            ("numeric", ValueKind.allCases.filter(\.isNumeric)),
        ]

    package static func kinds(_ name: String) -> [ValueKind]? {
        let name = name.lowercased()
        return known.first { $0.name.lowercased().hasSameBytes(as: name) }?.kinds
    }
}

extension Binder {
    /// nil for what does not compare with names of kinds.
    func kindTest(
        _ path: BoundPath, _ sign: Predicate.Operator, _ constant: Predicate.Operand
    ) throws(DatabaseError) -> ColumnTest? {
        guard case .access(let access) = path.end, access.measure == .type else { return nil }
        var tests: [ColumnTest] = []
        switch sign {
        case .equal, .notEqual: tests = try kindTests(path, try value(constant), constant)
        case .in: for (value, operand) in try members(constant) { tests += try kindTests(path, value, operand) }
        default: return nil
        }
        return sign == .notEqual ? .not(.anyOf(tests)) : .anyOf(tests)
    }

    private func kindTests(
        _ path: BoundPath, _ value: Value, _ operand: Predicate.Operand
    ) throws(DatabaseError) -> [ColumnTest] {
        // Behind a null link there is no value, and no kind either.
        if value.isNull { return [.comparingNull(.equal)] }
        return try kinds(path, value, operand).compactMap { .comparing(.equal, .string($0.name), .string) }
    }

    private func kinds(
        _ path: BoundPath, _ value: Value, _ operand: Predicate.Operand
    ) throws(DatabaseError) -> [ValueKind] {
        guard case .string(let name) = value else { throw mismatch(path, value, operand) }
        if let kinds = KindNames.kinds(name) { return kinds }
        let names = KindNames.known.map(\.name).joined(separator: ", ")
        let isArgument = if case .argument = operand { true } else { false }
        throw failure(
            "'\(name.prefix(40))' is no type that a value can have; the names are, in any case: \(names)",
            at: operand.position, isArgument ? .queryArgument : .queryInvalid)
    }
}
