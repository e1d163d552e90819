/// `motte_value` and `ValueView` are the same 24 bytes; what comes in is checked before the engine sees it.
import CMotte
import MotteLiveObjects
import MotteStorage
import MotteValues

extension ValueView {
    /// A value from a caller: a known type, a proper bool, UTF-8, an instant in range. Unused fields become zero.
    @inline(__always)
    static func checked(_ value: motte_value) throws(DatabaseError) -> ValueView { try ValueView(value).checked() }

    /// The same for a value that is used in a session. A link that motte_object_link() made names its database, and is
    /// refused in any other, where its key would be another object's.
    @inline(__always)
    static func checked(_ value: motte_value, in session: Session) throws(DatabaseError) -> ValueView {
        let view = ValueView(value)
        if view.kind == .link, view.high != 0 { try view.checkDatabase(of: session) }
        return try view.checked()
    }

    @inline(never)
    private func checkDatabase(of session: Session) throws(DatabaseError) {
        guard try session.database.number == high else { throw ofAnotherFile() }
    }

    /// The same bytes, unchecked.
    @inline(__always)
    init(_ value: motte_value) {
        self.init(kindNumber: value.type, aux: value.aux, low: value.as.words.0, high: value.as.words.1)
    }

    /// What `checked()` would not refuse, but for UTF-8. For bulk calls.
    @inline(__always)
    var isWellFormed: Bool {
        switch form {
        case .null, .int, .float, .double, .decimal: true
        case .identifier: kind?.byteCount == 16 || high >> 32 == 0
        case .bool: low <= 1
        case .string, .data:
            isAddressable(UnsafeRawPointer(bitPattern: UInt(low)), Int(truncatingIfNeeded: high), stride: 1)
                && (low != 0 || high == 0)
        case .timestamp: aux < 1_000_000_000
        case .link: intValue >= 0 && high == 0
        // Documents are looked through by `checked()`.
        case .list, .map, nil: false
        }
    }

    @inline(__always)
    func checked() throws(DatabaseError) -> ValueView {
        guard let kind else {
            throw DatabaseError(.invalidArgument, "\(kindNumber) is no type of a value")
        }
        switch kind.form {
        case .null: return .null
        case .int: return ValueView(kindNumber: kindNumber, low: low)
        case .double: return ValueView(kindNumber: kindNumber, low: low)
        case .float: return ValueView(kindNumber: kindNumber, low: low & 0xFFFF_FFFF)
        case .bool:
            guard low <= 1 else { throw DatabaseError(.invalidArgument, "\(low) is no bool; use 0 or 1") }
            return ValueView(kindNumber: kindNumber, low: low)
        case .string:
            let view = try checkedBytes()
            try checkUTF8(view.bytes)
            return view
        case .data: return try checkedBytes()
        case .timestamp:
            guard aux < 1_000_000_000 else {
                throw DatabaseError(.invalidArgument, "\(aux) nanoseconds are a second or more")
            }
            return ValueView(kindNumber: kindNumber, aux: aux, low: low)
        case .link:
            guard intValue >= 0 else { throw DatabaseError(.invalidArgument, "\(intValue) is no object key") }
            return ValueView(kindNumber: kindNumber, aux: aux, low: low)
        case .decimal: return ValueView(kindNumber: kindNumber, low: low, high: high)
        case .identifier:
            guard kind.byteCount == 16 || high >> 32 == 0 else {
                throw DatabaseError(.invalidArgument, "an object id has 12 bytes; the rest of the value must be zero")
            }
            return ValueView(kindNumber: kindNumber, low: low, high: high)
        case .list, .map: return try checkedDocument(kind)
        }
    }

    /// A list or map of whatever origin.
    @inline(never)
    private func checkedDocument(_ kind: ValueKind) throws(DatabaseError) -> ValueView {
        let view = try checkedBytes()
        do throws(DatabaseError) {
            try NestedDocument.validate(view.bytes, as: kind)
        } catch {
            throw DatabaseError(
                .invalidArgument,
                "the bytes of a nested \(kind.name) are not such as motte_nested_\(kind.name)() makes, or go deeper"
                    + " than \(NestedDocument.deepest) levels")
        }
        return view
    }

    private func checkedBytes() throws(DatabaseError) -> ValueView {
        guard isAddressable(UnsafeRawPointer(bitPattern: UInt(low)), Int(truncatingIfNeeded: high), stride: 1) else {
            throw DatabaseError(.invalidArgument, "a size is larger than memory; MOTTE_NTS is not for values")
        }
        guard low != 0 || high == 0 else { throw DatabaseError(.nullArgument, "\(high) bytes are NULL") }
        return ValueView(kindNumber: kindNumber, low: low, high: high)
    }

    var cValue: motte_value {
        motte_value(type: kindNumber, aux: aux, as: motte_payload(words: (low, high)))
    }

    /// As a text or data view for C; the empty one is not NULL, because NULL means null there.
    var cString: motte_str {
        guard let start = bytes.baseAddress, !bytes.isEmpty else { return emptyText }
        return motte_str(data: start.assumingMemoryBound(to: CChar.self), size: bytes.count)
    }
}

/// The empty text: an address, but no bytes.
var emptyText: motte_str {
    motte_str(data: UnsafeRawPointer(StaticString("").utf8Start).assumingMemoryBound(to: CChar.self), size: 0)
}

/// An argument that must be a value.
func checkedValue(_ pointer: UnsafePointer<motte_value>?) throws(DatabaseError) -> ValueView {
    guard let pointer else { throw DatabaseError(.nullArgument, "a value is NULL") }
    return try ValueView.checked(pointer.pointee)
}

func checkedValue(_ pointer: UnsafePointer<motte_value>?, in session: Session) throws(DatabaseError) -> ValueView {
    guard let pointer else { throw DatabaseError(.nullArgument, "a value is NULL") }
    return try ValueView.checked(pointer.pointee, in: session)
}

/// Checked copies of `count` values; the row of a failure is its position. Without a session, links are those of
/// whatever database the values are used in.
func checkedValues(
    _ start: UnsafePointer<motte_value>?, _ count: Int, in session: Session?
) throws(DatabaseError) -> [ValueView] {
    let source = try input(start, count)
    var checked: [ValueView] = []
    checked.reserveCapacity(count)
    for (index, value) in source.enumerated() {
        checked.append(
            try atRow(index) { () throws(DatabaseError) in
                if let session { return try ValueView.checked(value, in: session) }
                return try ValueView.checked(value)
            })
    }
    return checked
}

func ofAnotherFile() -> DatabaseError {
    DatabaseError(.invalidArgument, "the target is an object of another file; create it in this one first")
}

/// Runs `body` and gives its error the position in the caller's array.
@inline(__always)
func atRow<Result>(_ index: Int, _ body: () throws(DatabaseError) -> Result) throws(DatabaseError) -> Result {
    do throws(DatabaseError) { return try body() } catch { throw error.at(rowIndex: index) }
}
