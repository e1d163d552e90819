/// Whether a value fits a column, decided before anything is changed.
import MotteSchemaModel
import MotteValues

enum ValueCheck {
    /// String and data values above this are refused; larger ones belong in a file of their own.
    static let dataLimit = 16_777_200
    static let stringLimit = 16_777_199
    /// Of a nested list or map as a whole.
    static let documentLimit = 1 << 30

    /// The value as the column stores it: numbers widened to the column's kind, everything else as it is.
    static func fitted(_ view: ValueView, _ column: StoredColumn, _ table: StoredTable) throws(DatabaseError)
        -> ValueView
    {
        guard let kind = view.kind else {
            throw DatabaseError(
                .wrongType, "\(view.kindNumber) is not a kind of value", className: table.name,
                propertyName: column.name)
        }
        switch (kind, column.type) {
        case (.null, _):
            guard column.isNullable else { throw nullNotAllowed(column, table) }
            return view
        case (.int, .int):
            guard column.width.holds(view.intValue) else { throw tooWide(view.intValue, column, table) }
            return view
        case (.bool, .bool), (.float, .float), (.double, .double):
            return view
        case (.int, .double):
            let double = Double(view.intValue)
            guard Int64(exactly: double) == view.intValue else { throw rounded(view.intValue, column, table) }
            return .double(double)
        case (.int, .float):
            let float = Float(view.intValue)
            guard Int64(exactly: float) == view.intValue else { throw rounded(view.intValue, column, table) }
            return .float(float)
        case (.float, .double): return .double(Double(view.floatValue))
        case (.double, .float): return .float(Float(view.doubleValue))
        case (.string, .string):
            guard view.bytes.count <= stringLimit else { throw tooLarge(column, table, stringLimit) }
            guard UTF8Validation.isValid(view.bytes) else { throw invalidUTF8(column, table) }
            return view
        case (.data, .data):
            guard view.bytes.count <= dataLimit else { throw tooLarge(column, table, dataLimit) }
            return view
        case (.timestamp, .timestamp):
            try checkNanoseconds(view, column, table)
            return view
        case (.link, .link):
            guard TableKey(view.aux) == column.target else {
                throw DatabaseError(
                    .wrongType, "\(table.name).\(column.name) links to objects of another class",
                    className: table.name, propertyName: column.name)
            }
            return view
        case (.decimal, .decimal): return view
        case _ where kind.form == .identifier && column.type.valueKind == kind: return view
        case (.int, .decimal): return .decimal(Decimal128(view.intValue))
        case (.float, .decimal): return .decimal(Decimal128(Double(view.floatValue)))
        case (.double, .decimal): return .decimal(Decimal128(view.doubleValue))
        case (_, .mixed):
            try checkMixed(view, column, table)
            return view
        default:
            throw DatabaseError(
                .wrongType, "\(table.name).\(column.name) holds \(column.type.name), not \(kind.name)",
                className: table.name, propertyName: column.name)
        }
    }

    /// What holds for one value holds for what is nested in it too.
    private static func checkMixed(
        _ view: ValueView, _ column: StoredColumn, _ table: StoredTable, isNested: Bool = false
    ) throws(DatabaseError) {
        switch view.kind {
        case .string:
            guard view.bytes.count <= stringLimit else { throw tooLarge(column, table, stringLimit) }
            guard isNested || UTF8Validation.isValid(view.bytes) else { throw invalidUTF8(column, table) }
        case .data:
            guard view.bytes.count <= dataLimit else { throw tooLarge(column, table, dataLimit) }
        case .timestamp: try checkNanoseconds(view, column, table)
        case .list, .map:
            if !isNested { try checkDocument(view, column, table) }
            let document = NestedDocument(trusted: view.bytes)
            for index in 0 ..< document.count {
                if document.isMap { try checkMapKey(document.key(at: index), column, table) }
                try checkMixed(document.value(at: index), column, table, isNested: true)
            }
        default: break
        }
    }

    private static func checkDocument(
        _ view: ValueView, _ column: StoredColumn, _ table: StoredTable
    ) throws(DatabaseError) {
        guard view.bytes.count <= documentLimit else { throw tooLarge(column, table, documentLimit) }
        do throws(DatabaseError) {
            try NestedDocument.validate(view.bytes, as: view.kind == .map ? .map : .list)
        } catch {
            throw DatabaseError(
                .invalidArgument,
                "the list or map for \(table.name).\(column.name) is nested deeper than \(NestedDocument.deepest) "
                    + "levels, or malformed", className: table.name, propertyName: column.name)
        }
    }

    private static func checkNanoseconds(
        _ view: ValueView, _ column: StoredColumn, _ table: StoredTable
    ) throws(DatabaseError) {
        guard view.aux >= 1_000_000_000 else { return }
        throw DatabaseError(
            .invalidArgument, "nanoseconds of \(table.name).\(column.name) must be 0 to 999,999,999",
            className: table.name, propertyName: column.name)
    }

    static func checkMapKey(
        _ key: UnsafeRawBufferPointer, _ column: StoredColumn, _ table: StoredTable
    ) throws(DatabaseError) {
        guard key.count <= stringLimit else { throw tooLarge(column, table, stringLimit) }
        guard UTF8Validation.isValid(key) else { throw invalidUTF8(column, table) }
        guard key.first != UInt8(ascii: "$"), !key.contains(UInt8(ascii: ".")) else {
            throw DatabaseError(
                .invalidArgument,
                "the key '\(String(decoding: key.prefix(64), as: UTF8.self))' of \(table.name).\(column.name) begins "
                    + "with '$' or contains '.'; use percent-encoding for such keys (%24, %2E)",
                className: table.name, propertyName: column.name)
        }
    }

    static func nullNotAllowed(_ column: StoredColumn, _ table: StoredTable) -> DatabaseError {
        DatabaseError(
            .nullNotAllowed, "\(table.name).\(column.name) cannot be null; declare it optional or give a value",
            className: table.name, propertyName: column.name)
    }

    private static func tooWide(
        _ value: Int64, _ column: StoredColumn, _ table: StoredTable
    ) -> DatabaseError {
        let range = column.width.range
        return DatabaseError(
            .overflow,
            "\(table.name).\(column.name) is an int\(column.width.bits) and holds \(range.lowerBound) to "
                + "\(range.upperBound), not \(value); declare it wider or give a smaller value",
            className: table.name, propertyName: column.name)
    }

    private static func rounded(
        _ value: Int64, _ column: StoredColumn, _ table: StoredTable
    ) -> DatabaseError {
        DatabaseError(
            .overflow,
            "\(table.name).\(column.name) is a \(column.type.name), which would round \(value) to another number; "
                + "give it as a floating number if that is meant",
            className: table.name, propertyName: column.name)
    }

    private static func tooLarge(_ column: StoredColumn, _ table: StoredTable, _ limit: Int) -> DatabaseError {
        DatabaseError(
            .valueTooLarge,
            "\(table.name).\(column.name) takes at most \(limit) bytes; split the value or store a path to a file",
            className: table.name, propertyName: column.name)
    }

    private static func invalidUTF8(_ column: StoredColumn, _ table: StoredTable) -> DatabaseError {
        DatabaseError(
            .invalidUTF8, "the text for \(table.name).\(column.name) is not valid UTF-8; store other bytes as data",
            className: table.name, propertyName: column.name)
    }
}
