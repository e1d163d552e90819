/// Bulk reads: one property of many elements at once, into the caller's arrays.
///
/// Each reads elements `first ..< first + count`, or as many as there are, and answers how many. Nulls are zero in the
/// values; `validity`, where given, is a bitmap of (count + 7) / 8 bytes, lowest bit first, 1 = present.
import MotteColumns
import MotteSchemaModel
import MotteStorage
import MotteValues

extension LiveCollection {
    package func readKeys(first: Int, count: Int, into output: UnsafeMutablePointer<Int64>) throws(DatabaseError) -> Int
    {
        guard target != nil else { throw notObjects() }
        let keys = try keys()
        guard first >= 0, count > 0, first < keys.count else { return 0 }
        let end = min(keys.count, first + min(count, keys.count - first))
        for index in first ..< end { output[index - first] = keys[index] }
        return end - first
    }

    package func readInts(
        _ column: ColumnKey?, first: Int, count: Int, into output: UnsafeMutablePointer<Int64>,
        validity: UnsafeMutablePointer<UInt8>?
    ) throws(DatabaseError) -> Int {
        try read(column, [.int], first, count, validity) { chunk, rows, base in
            for row in rows { output[base + row - rows.lowerBound] = chunk.isNull(row) ? 0 : chunk.int(row) }
        }
    }

    /// Float or double.
    package func readDoubles(
        _ column: ColumnKey?, first: Int, count: Int, into output: UnsafeMutablePointer<Double>,
        validity: UnsafeMutablePointer<UInt8>?
    ) throws(DatabaseError) -> Int {
        let isFloat = try typeForReading(column).type == .float
        return try read(column, [.float, .double], first, count, validity) { chunk, rows, base in
            for row in rows {
                let index = base + row - rows.lowerBound
                output[index] = chunk.isNull(row) ? 0 : isFloat ? Double(chunk.float(row)) : chunk.double(row)
            }
        }
    }

    package func readBools(
        _ column: ColumnKey?, first: Int, count: Int, into output: UnsafeMutablePointer<UInt8>,
        validity: UnsafeMutablePointer<UInt8>?
    ) throws(DatabaseError) -> Int {
        try read(column, [.bool], first, count, validity) { chunk, rows, base in
            for row in rows { output[base + row - rows.lowerBound] = !chunk.isNull(row) && chunk.bool(row) ? 1 : 0 }
        }
    }

    package func readTimestamps(
        _ column: ColumnKey?, first: Int, count: Int, into output: UnsafeMutablePointer<Timestamp>,
        validity: UnsafeMutablePointer<UInt8>?
    ) throws(DatabaseError) -> Int {
        let zero = Timestamp(seconds: 0, nanoseconds: 0)
        return try read(column, [.timestamp], first, count, validity) { chunk, rows, base in
            for row in rows { output[base + row - rows.lowerBound] = chunk.isNull(row) ? zero : chunk.timestamp(row) }
        }
    }

    /// Timestamps as whole units since 1970, rounded down; `unitsPerSecond` is 1, 1,000, 1,000,000 or 1,000,000,000.
    package func readTimestamps(
        _ column: ColumnKey?, unitsPerSecond: Int64, first: Int, count: Int, into output: UnsafeMutablePointer<Int64>,
        validity: UnsafeMutablePointer<UInt8>?
    ) throws(DatabaseError) -> Int {
        let nanosecondsPerUnit = 1_000_000_000 / max(unitsPerSecond, 1)
        return try read(column, [.timestamp], first, count, validity) { chunk, rows, base throws(DatabaseError) in
            for row in rows {
                let index = base + row - rows.lowerBound
                output[index] = 0
                if chunk.isNull(row) { continue }
                let time = chunk.timestamp(row)
                // In a wider type first: the sum can fit although the product does not.
                let units =
                    Int128(time.seconds) * Int128(unitsPerSecond) + Int128(Int64(time.nanoseconds) / nanosecondsPerUnit)
                guard let exact = Int64(exactly: units) else {
                    throw DatabaseError(
                        .overflow, "element \(index + first) is too far from 1970 for this unit; read a coarser one")
                }
                output[index] = exact
            }
        }
    }

    /// Keys of link targets, -1 for none.
    package func readLinks(
        _ column: ColumnKey?, first: Int, count: Int, into output: UnsafeMutablePointer<Int64>,
        validity: UnsafeMutablePointer<UInt8>?
    ) throws(DatabaseError) -> Int {
        guard column != nil else {
            let got = try readKeys(first: first, count: count, into: output)
            if let validity {
                Self.markPresent(validity, 0 ..< got)
                for index in 0 ..< got where output[index] < 0 { Self.markNull(validity, index) }
            }
            return got
        }
        return try read(column, [.link], first, count, validity) { chunk, rows, base in
            for row in rows { output[base + row - rows.lowerBound] = chunk.isNull(row) ? -1 : chunk.link(row) }
        }
    }

    /// Strings or data, borrowed until the view epoch moves; a null has no address.
    package func readBytes(
        _ column: ColumnKey?, first: Int, count: Int, into output: UnsafeMutablePointer<UnsafeRawBufferPointer>
    ) throws(DatabaseError) -> Int {
        let none = UnsafeRawBufferPointer(start: nil, count: 0)
        guard column != nil || target != nil else {
            // Elements of a list that this write has changed lie elsewhere than in a chunk.
            try requireType(column, [.string, .data])
            return try forEachElement(first, count) { value, index in output[index] = value.isNull ? none : value.bytes
            }
        }
        return try read(column, [.string, .data], first, count, nil) { chunk, rows, base in
            for row in rows { output[base + row - rows.lowerBound] = chunk.isNull(row) ? none : chunk.bytes(row) }
        }
    }

    /// Decimals and UUIDs (16 bytes each) or object ids (12), one behind the other as they are stored; zeros for null.
    package func readFixed(
        _ column: ColumnKey?, width: Int, first: Int, count: Int, into output: UnsafeMutableRawPointer,
        validity: UnsafeMutablePointer<UInt8>?
    ) throws(DatabaseError) -> Int {
        let types = PropertyType.scalars.filter { $0.valueKind?.byteCount == width }
        guard !types.isEmpty else {
            throw DatabaseError(.invalidArgument, "values of fixed width have 12 or 16 bytes, not \(width)")
        }
        return try read(column, types, first, count, validity) { chunk, rows, base in
            for row in rows {
                let place = output + (base + row - rows.lowerBound) * width
                let value = chunk.isNull(row) ? ValueView.null : chunk.view(row)
                place.storeBytes(of: value.low.littleEndian, as: UInt64.self)
                if width == 16 {
                    (place + 8).storeBytes(of: value.high.littleEndian, as: UInt64.self)
                } else {
                    (place + 8).storeBytes(
                        of: UInt32(truncatingIfNeeded: value.high).littleEndian, as: UInt32.self)
                }
            }
        }
    }

    /// Several properties of any types; the value of property p of element i goes to [i * rowStride + p *
    /// columnStride].
    package func readValues(
        _ columns: [ColumnKey?], first: Int, count: Int, into output: UnsafeMutablePointer<ValueView>,
        rowStride: Int, columnStride: Int
    ) throws(DatabaseError) -> Int {
        var got = 0
        for (position, column) in columns.enumerated() {
            guard let column, let target else {
                if column != nil { throw notObjects() }
                got = try forEachElement(first, count) { value, index in
                    output[index * rowStride + position * columnStride] = value
                }
                continue
            }
            let schema = try session.schema
            let linked = schema[target]?.property(column)?.target.flatMap { schema[$0]?.tableKey }?.rawValue ?? 0
            got = try read(column, PropertyType.allCases, first, count, nil) { chunk, rows, base in
                for row in rows {
                    var value = chunk.view(row)
                    // Mixed values say themselves of which class their links are.
                    if linked != 0, value.kindNumber == ValueKind.link.rawValue { value.aux = linked }
                    output[(base + row - rows.lowerBound) * rowStride + position * columnStride] = value
                }
            }
        }
        return got
    }

    // MARK: How

    private func forEachElement(
        _ first: Int, _ count: Int, _ body: (ValueView, Int) -> Void
    ) throws(DatabaseError) -> Int {
        let total = try self.count()
        guard first >= 0, count > 0, first < total else { return 0 }
        let got = min(count, total - first)
        for index in 0 ..< got { body(try value(at: first + index), index) }
        return got
    }

    private func requireType(_ column: ColumnKey?, _ types: [PropertyType]) throws(DatabaseError) {
        let (type, name) = try typeForReading(column)
        guard types.contains(type) else {
            throw DatabaseError(
                .wrongType, "'\(name)' has type \(type.name), not \(types.map(\.name).joined(separator: " or "))",
                propertyName: name)
        }
    }

    /// `copy` gets chunk, rows and the position in the output of the first of them.
    private func read(
        _ column: ColumnKey?, _ types: [PropertyType], _ first: Int, _ count: Int,
        _ validity: UnsafeMutablePointer<UInt8>?,
        _ copy: (ColumnChunk, Range<Int>, Int) throws(DatabaseError) -> Void
    ) throws(DatabaseError) -> Int {
        try requireType(column, types)
        guard first >= 0, count > 0 else { return 0 }
        var got = 0
        try forEachRun(column, from: first, limit: count) { chunk, rows, position throws(DatabaseError) in
            let base = position - first
            try copy(chunk, rows, base)
            if let validity { Self.markPresent(validity, base ..< base + rows.count) }
            if let validity, chunk.hasNulls {
                for row in rows where chunk.isNull(row) { Self.markNull(validity, base + row - rows.lowerBound) }
            }
            got = base + rows.count
        }
        return got
    }

    private static func markNull(_ validity: UnsafeMutablePointer<UInt8>, _ index: Int) {
        validity[index >> 3] &= ~(1 << UInt8(index & 7))
    }

    /// Of the last byte what is behind them is 0, whatever was there.
    private static func markPresent(_ validity: UnsafeMutablePointer<UInt8>, _ elements: Range<Int>) {
        var index = elements.lowerBound
        while index < elements.upperBound {
            let bit = index & 7, count = min(8 - bit, elements.upperBound - index)
            let before = bit == 0 ? 0 : validity[index >> 3] & UInt8((1 << bit) - 1)
            validity[index >> 3] = before | UInt8(((1 << count) - 1) << bit)
            index += count
        }
    }
}
