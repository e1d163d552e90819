/// A row's values as an ordered index keeps them: bytes whose order, byte by byte, is that of the values.
///
/// Each column gives a tag, 0 for null or 1, and behind a 1
///
///     bool         1 byte
///     int          8, big-endian, sign bit flipped
///     float        as the double
///     double       8, IEEE total order, big-endian; -0.0 as 0.0, one NaN, below all
///     timestamp    8 of the seconds, sign bit flipped, and 4 of the nanoseconds
///     objectId     its 12 bytes
///     uuid         its 16 bytes
///     string, data the bytes, of a folded column what is left of them, a zero as 0 255, and 0 0 behind the last
///     decimal      `OrderKey`
///
/// all of them complemented where the column descends. No row's bytes are the beginning of another's, except that what
/// is longer than `longest` is cut off there: rows that share so many bytes have to be looked at.
import MotteColumns
import MotteSchemaModel
import MotteValues

package struct OrderedColumn: Sendable {
    package let type: PropertyType
    package let isDescending: Bool
    /// What is overlooked of its texts.
    package let folding: TextOptions
}

package enum OrderedBytes {
    /// So that a page key, of at most 511 bytes, can hold them, and a block several of them.
    static let longest = 448

    static func isIndexable(_ type: PropertyType) -> Bool {
        switch type {
        case .bool, .int, .float, .double, .string, .data, .timestamp, .decimal, .objectID, .uuid: true
        case .link, .mixed, .linkingObjects: false
        }
    }

    /// Of a value, or nil, which is null.
    static func append(_ view: ValueView, _ column: OrderedColumn, to output: inout [UInt8]) {
        let start = output.count
        if view.isNull {
            output.append(0)
        } else {
            output.append(1)
            appendValue(view, column.folding, to: &output)
        }
        if column.isDescending { complement(&output, from: start) }
    }

    static func complement(_ output: inout [UInt8], from start: Int) {
        for index in start ..< output.count { output[index] = ~output[index] }
    }

    @inline(__always)
    private static func appendValue(_ view: ValueView, _ folding: TextOptions, to output: inout [UInt8]) {
        switch view.form {
        case .null, nil: break
        case .bool: output.append(view.boolValue ? 1 : 0)
        case .int: append(IndexValue.int(view.intValue).raw, to: &output)
        case .float: append(IndexValue.double(Double(view.floatValue)).raw, to: &output)
        case .double: append(IndexValue.double(view.doubleValue).raw, to: &output)
        case .string, .data:
            if folding.isEmpty {
                appendText(view.bytes, to: &output)
            } else {
                TextFolding.folded(view.bytes, folding).withUnsafeBytes { appendText($0, to: &output) }
            }
            output.append(0)
            output.append(0)
        case .timestamp:
            append(IndexValue.timestamp(view.timestampValue).raw, to: &output)
            append(view.aux, to: &output)
        case .identifier: view.withOwnBytes { output.append(contentsOf: $0) }
        case .decimal: output += OrderKey.bytes(of: view)
        // Of no column that has such an index.
        case .link, .list, .map: break
        }
    }

    static func appendText(_ bytes: UnsafeRawBufferPointer, to output: inout [UInt8]) {
        guard bytes.contains(0) else { return output.append(contentsOf: bytes) }
        for byte in bytes {
            output.append(byte)
            if byte == 0 { output.append(255) }
        }
    }

    private static func append<T: FixedWidthInteger>(_ value: T, to output: inout [UInt8]) {
        withUnsafeBytes(of: value.bigEndian) { output.append(contentsOf: $0) }
    }

    /// The least bytes above everything that begins so; nil where there are none.
    package static func successor(_ bytes: [UInt8]) -> [UInt8]? {
        var result = bytes
        while let last = result.popLast() {
            if last < 255 {
                result.append(last + 1)
                return result
            }
        }
        return nil
    }
}

/// Between which bytes everything is that a question asks for.
package struct OrderedSpan {
    var low: [UInt8]
    /// Not included; nil: without an end.
    var high: [UInt8]?
    /// False where bytes were cut off, so that there may be more in it than was asked for.
    var isExact: Bool

    package init(low: [UInt8], high: [UInt8]?, isExact: Bool = true) {
        self.low = low
        self.high = high
        self.isExact = isExact
    }

    static let everything = OrderedSpan(low: [], high: nil)

    var isEmpty: Bool { high.map { !low.lexicographicallyPrecedes($0) } ?? false }

    /// nil where an index of these columns does not answer the question.
    static func make(_ question: IndexQuestion, _ columns: [OrderedColumn]) -> OrderedSpan? {
        switch question {
        case .all: return .everything
        case .equal(let values):
            guard !values.isEmpty, let bytes = encoded(values, columns) else { return nil }
            return begins(bytes)
        case .range(let leading, let lower, let upper):
            guard leading.count < columns.count, let start = encoded(leading, columns) else { return nil }
            return range(start, columns[leading.count], lower, upper)
        case .prefix(let leading, let text):
            guard leading.count < columns.count, var bytes = encoded(leading, columns) else { return nil }
            let column = columns[leading.count]
            guard column.type == .string || column.type == .data else { return nil }
            let start = bytes.count
            bytes.append(1)
            text.withBytes { OrderedBytes.appendText($0, to: &bytes) }
            if column.isDescending { OrderedBytes.complement(&bytes, from: start) }
            return begins(bytes)
        case .own: return nil
        }
    }

    private static func begins(_ bytes: [UInt8]) -> OrderedSpan {
        let isExact = bytes.count <= OrderedBytes.longest
        let kept = isExact ? bytes : Array(bytes.prefix(OrderedBytes.longest))
        return OrderedSpan(low: kept, high: OrderedBytes.successor(kept), isExact: isExact)
    }

    private static func range(
        _ start: [UInt8], _ column: OrderedColumn, _ lower: IndexBound?, _ upper: IndexBound?
    ) -> OrderedSpan? {
        // No number is above or below NaN.
        let isDouble = column.type == .double || column.type == .float
        let lower = lower ?? (isDouble ? IndexBound(.double(-.infinity)) : nil)
        var isExact = true
        /// Where everything begins that is at the bound, and where it ends.
        func edges(_ bound: IndexBound?) -> (first: [UInt8], last: [UInt8]?, isIncluded: Bool)? {
            var bytes = start
            if let bound {
                guard fits(bound.value, column), bound.value != .null else { return nil }
                bound.value.withView { OrderedBytes.append($0, column, to: &bytes) }
            } else {
                bytes.append(column.isDescending ? 254 : 1)
            }
            guard bytes.count > OrderedBytes.longest else {
                return (bytes, OrderedBytes.successor(bytes), bound?.isIncluded ?? true)
            }
            isExact = false
            let kept = Array(bytes.prefix(OrderedBytes.longest))
            return (kept, OrderedBytes.successor(kept), true)
        }
        guard let one = edges(column.isDescending ? upper : lower), let two = edges(column.isDescending ? lower : upper)
        else { return nil }
        // Above everything there is nothing.
        guard let low = one.isIncluded ? one.first : one.last else { return OrderedSpan(low: [0], high: [0]) }
        return OrderedSpan(low: low, high: two.isIncluded ? two.last : two.first, isExact: isExact)
    }

    private static func encoded(_ values: [Value], _ columns: [OrderedColumn]) -> [UInt8]? {
        guard values.count <= columns.count else { return nil }
        var bytes: [UInt8] = []
        for (value, column) in zip(values, columns) {
            guard fits(value, column) else { return nil }
            value.withView { OrderedBytes.append($0, column, to: &bytes) }
        }
        return bytes
    }

    private static func fits(_ value: Value, _ column: OrderedColumn) -> Bool {
        value.withView { view in
            switch column.type {
            case .float, .double: view.isNull || view.kind == .float || view.kind == .double
            default: view.isNull || view.kindNumber == column.type.rawValue
            }
        }
    }
}
