/// Lists and maps nested in mixed values, as documents of bytes: made from values, and read piece by piece.
///
/// What a caller hands in as a document is checked to be one, each time: it may come from anywhere.
import CMotte
import MotteValues

@_cdecl("motte_nested_list") @implementation
public func motte_nested_list(
    _ values: UnsafePointer<motte_value>?, _ count: Int, _ out_document: UnsafeMutablePointer<motte_buf>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let out = try required(out_document, zero: emptyBuffer)
        out.pointee = try document(.list(try checkedValues(values, count, in: nil).map(\.owned)))
        return .ok
    }
}

@_cdecl("motte_nested_map") @implementation
public func motte_nested_map(
    _ keys: UnsafePointer<motte_str>?, _ values: UnsafePointer<motte_value>?, _ count: Int,
    _ out_document: UnsafeMutablePointer<motte_buf>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let out = try required(out_document, zero: emptyBuffer)
        let names = try input(keys, count)
        var entries: [MapEntry] = []
        for (index, view) in try checkedValues(values, count, in: nil).enumerated() {
            let key = try atRow(index) { () throws(DatabaseError) in
                try requiredText(names[index].data, names[index].size, "a key")
            }
            entries.append(MapEntry(key: key, value: view.owned))
        }
        out.pointee = try document(.map(entries))
        return .ok
    }
}

/// Encoded, and refused if it became deeper than a store takes.
private func document(_ value: Value) throws(DatabaseError) -> motte_buf {
    try value.withView { view throws(DatabaseError) in
        _ = try view.checked()
        return try makeBuffer(view.bytes)
    }
}

private func nested(_ value: UnsafePointer<motte_value>?) throws(DatabaseError) -> NestedDocument {
    let view = try checkedValue(value)
    guard view.kind == .list || view.kind == .map else {
        throw DatabaseError(.wrongType, "a value of type \(view.kind?.name ?? "unknown") has no elements")
    }
    return NestedDocument(trusted: view.bytes)
}

@_cdecl("motte_nested_count") @implementation
public func motte_nested_count(
    _ nested: UnsafePointer<motte_value>?, _ out_count: UnsafeMutablePointer<Int>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let out = try required(out_count, zero: 0)
        out.pointee = try MotteCExports.nested(nested).count
        return .ok
    }
}

@_cdecl("motte_nested_read") @implementation
public func motte_nested_read(
    _ nested: UnsafePointer<motte_value>?, _ first: Int, _ count: Int, _ out_keys: UnsafeMutablePointer<motte_str>?,
    _ out_values: UnsafeMutablePointer<motte_value>?, _ out_count: UnsafeMutablePointer<Int>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let out = try required(out_count, zero: 0)
        guard count >= 0 else { throw DatabaseError(.invalidArgument, "a count is larger than memory") }
        let document = try MotteCExports.nested(nested)
        // A position above Int.max arrives negative; nothing is left there.
        guard first >= 0, first < document.count else { return .end }
        let end = first + min(count, document.count - first)
        for index in first ..< end {
            if let out_keys {
                out_keys[index - first] =
                    document.isMap ? ValueView.string(document.key(at: index)).cString : motte_str()
            }
            out_values?[index - first] = document.value(at: index).cValue
        }
        out.pointee = end - first
        return .ok
    }
}
