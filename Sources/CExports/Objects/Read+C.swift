/// Bulk reads: columns of a collection into the caller's arrays.
import CMotte
import Glibc
import MotteLiveObjects
import MotteSchemaModel
import MotteValues

/// Common to all: checks the arguments, zeroes the outputs, and tells how many elements were read.
private func read<T>(
    _ coll: OpaquePointer?, _ first: Int, _ count: Int, _ outValues: UnsafeMutablePointer<T>?,
    _ validity: UnsafeMutablePointer<UInt8>?, _ outCount: UnsafeMutablePointer<Int>?,
    _ body: (LiveCollection, UnsafeMutablePointer<T>) throws(DatabaseError) -> Int
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let outCount = try required(outCount, zero: 0)
        try checkCount(count, of: UnsafePointer(outValues), "a count")
        guard let outValues else { throw DatabaseError(.nullArgument, "the output array is NULL") }
        let coll = try Handles.collection(coll)
        let total = try coll.box.collection.count()
        // A position above Int.max arrives negative; nothing is left there.
        guard first >= 0, first < total else { return try checkRead(coll.box.collection, outValues, body, .end) }
        guard count > 0 else { return try checkRead(coll.box.collection, outValues, body, .ok) }
        if let validity { memset(validity, 0, (min(count, total - first) + 7) / 8) }
        outCount.pointee = try body(coll.box.collection, outValues)
        return .ok
    }
}

/// With nothing to read, the arguments are still checked: a wrong property is an error on an empty collection too.
private func checkRead<T>(
    _ collection: LiveCollection, _ outValues: UnsafeMutablePointer<T>,
    _ body: (LiveCollection, UnsafeMutablePointer<T>) throws(DatabaseError) -> Int, _ outcome: Outcome
) throws(DatabaseError) -> Outcome {
    _ = try body(collection, outValues)
    return outcome
}

@_cdecl("motte_read_keys") @implementation
public func motte_read_keys(
    _ coll: OpaquePointer?, _ first: Int, _ count: Int, _ out_keys: UnsafeMutablePointer<motte_key>?,
    _ out_count: UnsafeMutablePointer<Int>?
) -> motte_status {
    read(coll, first, count, out_keys, nil, out_count) { (collection, output) throws(DatabaseError) in
        try collection.readKeys(first: first, count: count, into: output)
    }
}

@_cdecl("motte_read_ints") @implementation
public func motte_read_ints(
    _ coll: OpaquePointer?, _ prop: motte_prop, _ first: Int, _ count: Int, _ out_values: UnsafeMutablePointer<Int64>?,
    _ out_validity: UnsafeMutablePointer<UInt8>?, _ out_count: UnsafeMutablePointer<Int>?
) -> motte_status {
    read(coll, first, count, out_values, out_validity, out_count) { (collection, output) throws(DatabaseError) in
        try collection.readInts(
            try column(of: collection, prop), first: first, count: count, into: output, validity: out_validity)
    }
}

@_cdecl("motte_read_doubles") @implementation
public func motte_read_doubles(
    _ coll: OpaquePointer?, _ prop: motte_prop, _ first: Int, _ count: Int, _ out_values: UnsafeMutablePointer<Double>?,
    _ out_validity: UnsafeMutablePointer<UInt8>?, _ out_count: UnsafeMutablePointer<Int>?
) -> motte_status {
    read(coll, first, count, out_values, out_validity, out_count) { (collection, output) throws(DatabaseError) in
        try collection.readDoubles(
            try column(of: collection, prop), first: first, count: count, into: output, validity: out_validity)
    }
}

@_cdecl("motte_read_bools") @implementation
public func motte_read_bools(
    _ coll: OpaquePointer?, _ prop: motte_prop, _ first: Int, _ count: Int, _ out_values: UnsafeMutablePointer<UInt8>?,
    _ out_validity: UnsafeMutablePointer<UInt8>?, _ out_count: UnsafeMutablePointer<Int>?
) -> motte_status {
    read(coll, first, count, out_values, out_validity, out_count) { (collection, output) throws(DatabaseError) in
        try collection.readBools(
            try column(of: collection, prop), first: first, count: count, into: output, validity: out_validity)
    }
}

@_cdecl("motte_read_timestamps") @implementation
public func motte_read_timestamps(
    _ coll: OpaquePointer?, _ prop: motte_prop, _ unit: motte_unit, _ first: Int, _ count: Int,
    _ out_values: UnsafeMutablePointer<Int64>?, _ out_validity: UnsafeMutablePointer<UInt8>?,
    _ out_count: UnsafeMutablePointer<Int>?
) -> motte_status {
    read(coll, first, count, out_values, out_validity, out_count) { (collection, output) throws(DatabaseError) in
        let unit = try TimeUnit(unit)
        return try collection.readTimestamps(
            try column(of: collection, prop), unitsPerSecond: unit.perSecond, first: first, count: count, into: output,
            validity: out_validity)
    }
}

/// What an integer counts since 1970.
struct TimeUnit {
    let perSecond: Int64

    init(_ unit: motte_unit) throws(DatabaseError) {
        switch Int(unit) {
        case Int(MOTTE_UNIT_SECONDS): perSecond = 1
        case Int(MOTTE_UNIT_MILLISECONDS): perSecond = 1_000
        case Int(MOTTE_UNIT_MICROSECONDS): perSecond = 1_000_000
        case Int(MOTTE_UNIT_NANOSECONDS): perSecond = 1_000_000_000
        default: throw DatabaseError(.invalidArgument, "\(unit) is no MOTTE_UNIT_")
        }
    }

    /// Rounded towards the past, so that the nanoseconds count forward before 1970 too.
    func timestamp(_ count: Int64) -> ValueView {
        var (seconds, rest) = count.quotientAndRemainder(dividingBy: perSecond)
        if rest < 0 {
            seconds -= 1
            rest += perSecond
        }
        let nanoseconds = UInt32(rest * (1_000_000_000 / perSecond))
        return .timestamp(Timestamp(seconds: seconds, nanoseconds: nanoseconds))
    }
}

@_cdecl("motte_read_fixed") @implementation
public func motte_read_fixed(
    _ coll: OpaquePointer?, _ prop: motte_prop, _ width: Int, _ first: Int, _ count: Int,
    _ out_values: UnsafeMutableRawPointer?, _ out_validity: UnsafeMutablePointer<UInt8>?,
    _ out_count: UnsafeMutablePointer<Int>?
) -> motte_status {
    let output = out_values?.assumingMemoryBound(to: UInt8.self)
    return read(coll, first, count, output, out_validity, out_count) { (collection, output) throws(DatabaseError) in
        let column = try column(of: collection, prop)
        try requireWidth(width, of: try elementType(of: collection, column))
        let room = max(0, min(count, try collection.count() - max(0, first)))
        let views = UnsafeMutablePointer<ValueView>.allocate(capacity: max(room, 1))
        defer { views.deallocate() }
        let got = try collection.readValues(
            [column], first: first, count: room, into: views, rowStride: 1, columnStride: 1)
        UnsafeMutableRawPointer(output).initializeMemory(as: UInt8.self, repeating: 0, count: got * width)
        for index in 0 ..< got where !views[index].isNull {
            withUnsafeBytes(of: (views[index].low, views[index].high)) { source in
                UnsafeMutableRawBufferPointer(start: output + index * width, count: width)
                    .copyBytes(from: source.prefix(width))
            }
            out_validity?[index >> 3] |= 1 << UInt8(index & 7)
        }
        return got
    }
}

private func elementType(
    of collection: LiveCollection, _ column: ColumnKey?
) throws(DatabaseError) -> PropertyType {
    guard let column, let target = collection.target else { return collection.elementType }
    return try collection.session.schema[target]?.property(column)?.type ?? collection.elementType
}

private func requireWidth(_ width: Int, of type: PropertyType) throws(DatabaseError) {
    guard let needed = type.valueKind?.byteCount else {
        throw DatabaseError(.wrongType, "the values are of type \(type.name), not decimals, UUIDs or object ids")
    }
    guard width == needed else {
        throw DatabaseError(
            .wrongType, "values of type \(type.name) have \(needed) bytes, not \(UInt(bitPattern: width))")
    }
}

@_cdecl("motte_read_links") @implementation
public func motte_read_links(
    _ coll: OpaquePointer?, _ prop: motte_prop, _ first: Int, _ count: Int,
    _ out_keys: UnsafeMutablePointer<motte_key>?, _ out_validity: UnsafeMutablePointer<UInt8>?,
    _ out_count: UnsafeMutablePointer<Int>?
) -> motte_status {
    read(coll, first, count, out_keys, out_validity, out_count) { (collection, output) throws(DatabaseError) in
        try collection.readLinks(
            try column(of: collection, prop), first: first, count: count, into: output, validity: out_validity)
    }
}

@_cdecl("motte_read_strings") @implementation
public func motte_read_strings(
    _ coll: OpaquePointer?, _ prop: motte_prop, _ first: Int, _ count: Int,
    _ out_values: UnsafeMutablePointer<motte_str>?, _ out_count: UnsafeMutablePointer<Int>?
) -> motte_status {
    read(coll, first, count, out_values, nil, out_count) { (collection, output) throws(DatabaseError) in
        try readTexts(collection, prop, first, count) { (texts) throws(DatabaseError) in
            for index in 0 ..< texts.count { output[index] = texts[index] }
        }
    }
}

/// Lends views of strings or data, as C sees them.
private func readTexts(
    _ collection: LiveCollection, _ prop: motte_prop, _ first: Int, _ count: Int,
    _ body: (UnsafeBufferPointer<motte_str>) throws(DatabaseError) -> Void
) throws(DatabaseError) -> Int {
    let column = try column(of: collection, prop)
    let room = max(0, min(count, try collection.count() - max(0, first)))
    let texts = UnsafeMutablePointer<motte_str>.allocate(capacity: max(room, 1))
    defer { texts.deallocate() }
    let got: Int
    if column == nil, collection.target == nil {
        guard collection.elementType == .string || collection.elementType == .data else {
            throw DatabaseError(.wrongType, "the elements are \(collection.elementType.name), not strings or data")
        }
        let views = UnsafeMutablePointer<ValueView>.allocate(capacity: max(room, 1))
        defer { views.deallocate() }
        got = try collection.readValues(
            [nil], first: first, count: room, into: views, rowStride: 1, columnStride: 1)
        for index in 0 ..< got { texts[index] = views[index].isNull ? motte_str() : views[index].cString }
    } else {
        let bytes = UnsafeMutablePointer<UnsafeRawBufferPointer>.allocate(capacity: max(room, 1))
        defer { bytes.deallocate() }
        got = try collection.readBytes(column, first: first, count: room, into: bytes)
        for index in 0 ..< got {
            let start = bytes[index].baseAddress?.assumingMemoryBound(to: CChar.self)
            texts[index] = motte_str(data: start, size: bytes[index].count)
        }
    }
    try body(UnsafeBufferPointer(start: texts, count: got))
    return got
}

@_cdecl("motte_read_strings_packed") @implementation
public func motte_read_strings_packed(
    _ coll: OpaquePointer?, _ prop: motte_prop, _ first: Int, _ count: Int,
    _ out_offsets: UnsafeMutablePointer<Int64>?, _ out_validity: UnsafeMutablePointer<UInt8>?,
    _ out_bytes: UnsafeMutablePointer<motte_buf>?, _ out_count: UnsafeMutablePointer<Int>?
) -> motte_status {
    if let out_bytes { out_bytes.pointee = emptyBuffer }
    return read(coll, first, count, out_offsets, out_validity, out_count) {
        (collection, offsets) throws(DatabaseError) in
        guard let out_bytes else { throw DatabaseError(.nullArgument, "a required output is NULL") }
        return try readTexts(collection, prop, first, count) { (texts) throws(DatabaseError) in
            try pack(texts, offsets, out_validity, out_bytes)
        }
    }
}

private func pack(
    _ texts: UnsafeBufferPointer<motte_str>, _ offsets: UnsafeMutablePointer<Int64>,
    _ validity: UnsafeMutablePointer<UInt8>?, _ out: UnsafeMutablePointer<motte_buf>
) throws(DatabaseError) {
    var total = 0
    offsets[0] = 0
    for (index, text) in texts.enumerated() {
        total += text.size
        offsets[index + 1] = Int64(total)
        if let validity, text.data != nil { validity[index >> 3] |= 1 << UInt8(index & 7) }
    }
    guard !texts.isEmpty else { return }
    guard let bytes = malloc(total + 1) else {
        throw DatabaseError(.outOfMemory, "no memory for \(total) bytes of strings")
    }
    for (index, text) in texts.enumerated() {
        if let start = text.data { memcpy(bytes + Int(offsets[index]), start, text.size) }
    }
    bytes.storeBytes(of: 0, toByteOffset: total, as: UInt8.self)
    out.pointee = motte_buf(data: bytes.assumingMemoryBound(to: CChar.self), size: total)
}

@_cdecl("motte_read_values") @implementation
public func motte_read_values(
    _ coll: OpaquePointer?, _ props: UnsafePointer<motte_prop>?, _ prop_count: Int, _ first: Int, _ count: Int,
    _ layout: motte_layout, _ out_values: UnsafeMutablePointer<motte_value>?, _ out_count: UnsafeMutablePointer<Int>?
) -> motte_status {
    read(coll, first, count, out_values, nil, out_count) { (collection, output) throws(DatabaseError) in
        guard layout <= UInt32(MOTTE_LAYOUT_COLUMNS) else {
            throw DatabaseError(.invalidArgument, "\(layout) is no MOTTE_LAYOUT_")
        }
        var columns: [ColumnKey?] = []
        for (index, prop) in try input(props, prop_count).enumerated() {
            columns.append(try atRow(index) { () throws(DatabaseError) in try column(of: collection, prop) })
        }
        guard !columns.isEmpty else { throw DatabaseError(.invalidArgument, "there are no properties to read") }
        let byRow = layout == UInt32(MOTTE_LAYOUT_ROWS)
        let (cells, overflow) = count.multipliedReportingOverflow(by: prop_count)
        guard !overflow, isAddressable(output, cells, stride: MemoryLayout<motte_value>.stride) else {
            throw DatabaseError(.invalidArgument, "a count is larger than memory")
        }
        // The two are the same 24 bytes.
        return try UnsafeMutableRawPointer(output).withMemoryRebound(to: ValueView.self, capacity: cells) {
            (views) throws(DatabaseError) in
            try collection.readValues(
                columns, first: first, count: count, into: views, rowStride: byRow ? prop_count : 1,
                columnStride: byRow ? 1 : count)
        }
    }
}
