/// The values of one column in one cluster, or a run of a collection's elements. What can be wrong with values of
/// fixed size is found when the leaf is read; strings and nested values are checked one by one.
import MotteValues

/// What the elements of a leaf are.
struct ElementType {
    enum Stored: UInt8 {
        case int = 0, bool, string, data = 4, mixed = 6, timestamp = 8, float, double, decimal, link, links, backlink,
            objectID, typedLink, uuid
    }

    let stored: Stored
    let isNullable: Bool
    /// Of links: index in `RealmFile.tables`.
    var target = 0

    static let key = ElementType(stored: .string, isNullable: false)
    static let intKey = ElementType(stored: .int, isNullable: false)
    static let mixed = ElementType(stored: .mixed, isNullable: true)
}

struct Leaf {
    enum Form {
        case ints, nullableInts, bools, floats, doubles, timestamps
        /// Key + 1, 0 for null; and the key itself, as in lists.
        case links, keys
        case typedLinks
        case strings(StringLeaf)
        case data(StringLeaf)
        /// Indexes of a list of strings that all clusters share.
        case enumerated(StringLeaf)
        case identifiers(IdentifierLeaf, ValueKind)
        case decimals(DecimalLeaf)
        case mixed(MixedLeaf)
    }

    let form: Form
    let count: Int
    let ref: Int
    let isNullable: Bool
    private let target: UInt32
    private let first: Integers
    private let second: Integers

    init(
        _ node: Node, _ type: ElementType, isCollection: Bool, enumerated: StringLeaf? = nil, _ scope: ReadingScope
    ) throws(DatabaseError) {
        ref = node.ref
        isNullable = type.isNullable
        target = UInt32(type.target)
        var first = Integers.none
        var second = Integers.none
        switch type.stored {
        case .int, .backlink:
            first = try node.numbers("a leaf of ints")
            form = type.isNullable ? .nullableInts : .ints
            guard !type.isNullable || first.count > 0 else { throw node.unlike("a leaf of ints") }
            count = first.count - (type.isNullable ? 1 : 0)
        case .bool:
            first = try node.numbers("a leaf of bools")
            (form, count) = (.bools, first.count)
            try Self.checkBools(first, node, isNullable: type.isNullable)
        case .float, .double:
            try node.multiplied("a leaf of floating-point numbers")
            let isFloat = type.stored == .float
            guard node.width == (isFloat ? 4 : 8) || node.count == 0 else {
                throw node.unlike("a leaf of floating-point numbers")
            }
            first = node.integers
            (form, count) = (isFloat ? .floats : .doubles, node.count)
        case .timestamp:
            let slots = try node.refs("a leaf of dates")
            guard slots.count == 2 else { throw node.unlike("a leaf of dates") }
            first = try scope.node(slots, 0, "the list of seconds", ref).numbers("the list of seconds")
            second = try scope.node(slots, 1, "the list of nanoseconds", ref).numbers("the list of nanoseconds")
            (form, count) = (.timestamps, second.count)
            try Self.checkTimestamps(first, second, node, isNullable: type.isNullable)
        case .link, .links:
            first = try node.numbers("a leaf of links")
            (form, count) = (isCollection ? .keys : .links, first.count)
        case .typedLink:
            first = try node.numbers("a leaf of links")
            guard first.count % 2 == 0 else { throw node.unlike("a leaf of links") }
            (form, count) = (.typedLinks, first.count / 2)
        case .string:
            if let enumerated, !node.hasRefs, node.widthType == 0 {
                first = try node.numbers("a leaf of strings by number")
                (form, count) = (.enumerated(enumerated), first.count)
            } else {
                let strings = try StringLeaf(node, isText: true, scope)
                (form, count) = (.strings(strings), strings.count)
            }
        case .data:
            let strings = try StringLeaf(node, isText: false, scope)
            (form, count) = (.data(strings), strings.count)
        case .objectID, .uuid:
            let kind = type.stored == .uuid ? ValueKind.uuid : .objectID
            let identifiers = try IdentifierLeaf(node, size: kind == .uuid ? 16 : 12)
            (form, count) = (.identifiers(identifiers, kind), identifiers.count)
        case .decimal:
            let decimals = try DecimalLeaf(node)
            (form, count) = (.decimals(decimals), decimals.count)
        case .mixed:
            let mixed = try MixedLeaf(node, scope)
            (form, count) = (.mixed(mixed), mixed.count)
        }
        self.first = first
        self.second = second
    }

    private static func checkBools(_ values: Integers, _ node: Node, isNullable: Bool) throws(DatabaseError) {
        for index in 0 ..< values.count {
            let value = values[index]
            guard value == 0 || value == 1 || (value == 3 && isNullable) else {
                throw node.damage(value == 3 ? "a value that is required is null" : "a bool is \(value)")
            }
        }
    }

    private static func checkTimestamps(
        _ seconds: Integers, _ nanoseconds: Integers, _ node: Node, isNullable: Bool
    ) throws(DatabaseError) {
        guard seconds.count == nanoseconds.count + 1 else {
            throw node.damage("seconds and nanoseconds differ in number")
        }
        let null = seconds[0]
        for index in 0 ..< nanoseconds.count {
            let (second, nanosecond) = (seconds[index + 1], nanoseconds[index])
            if second == null {
                guard isNullable else { throw node.damage("a value that is required is null") }
            } else if !ReadingScope.isTimestamp(second, nanosecond) {
                throw node.damage("a date is impossible")
            }
        }
    }

    /// Whether a value may be in nodes of its own, which are read when it is asked for.
    var isReadByValue: Bool {
        switch form {
        case .strings(let leaf), .data(let leaf), .enumerated(let leaf): leaf.isBig
        case .mixed(let leaf): leaf.isReadByValue
        default: false
        }
    }

    /// Of a link in a list or set: whether its object was deleted elsewhere, so that users do not see the link.
    @inline(__always)
    func isUnresolved(_ index: Int) -> Bool {
        guard case .keys = form else { return false }
        return first[index] < -1
    }

    func value(_ index: Int, _ scope: ReadingScope) throws(DatabaseError) -> ValueView {
        switch form {
        case .ints: return .int(first[index])
        case .nullableInts:
            let value = first[index &+ 1]
            return value == first[0] ? .null : .int(value)
        case .bools:
            let value = first[index]
            return value == 3 ? .null : .bool(value == 1)
        case .floats:
            let bits = UInt32(littleEndian: first.start.load(fromByteOffset: 4 &* index, as: UInt32.self))
            return isNullable && bits == 0x7FC0_00AA ? .null : .float(Float(bitPattern: bits))
        case .doubles:
            let bits = UInt64(littleEndian: first.start.load(fromByteOffset: 8 &* index, as: UInt64.self))
            return isNullable && bits == 0x7FF8_0000_0000_00AA ? .null : .double(Double(bitPattern: bits))
        case .timestamps:
            let seconds = first[index &+ 1]
            return seconds == first[0] ? .null : .timestamp(scope.timestamp(seconds, second[index]))
        case .links:
            let value = first[index]
            // 0 is null, below it are objects that were deleted elsewhere.
            return value <= 0 ? .null : .link(ObjectLink(table: TableKey(target), key: ObjectKey(value &- 1)))
        case .keys:
            let key = first[index]
            guard key != -1 else { throw Damage.at(ref, "a link leads to no object") }
            return key < 0 ? .null : .link(ObjectLink(table: TableKey(target), key: ObjectKey(key)))
        case .typedLinks:
            let table = first[2 * index]
            return table == 0 ? .null : try MixedLeaf.link(table &- 1, first[2 * index + 1] &- 1, ref, scope)
        case .strings(let strings): return try text(strings.value(index, scope), isData: false)
        case .data(let strings): return try text(strings.value(index, scope), isData: true)
        case .enumerated(let list):
            let number = first[index]
            guard number >= 0, number < list.count else {
                throw Damage.at(ref, "a string has a number that there is not")
            }
            // Many objects share a string.
            let visited = scope.visited
            scope.visited = nil
            defer { scope.visited = visited }
            return try text(list.value(Int(number), scope), isData: false)
        case .identifiers(let leaf, let kind):
            guard let bytes = leaf.value(index) else { return try null() }
            return kind == .uuid ? .uuid(UUIDBytes(bytes)) : .objectID(ObjectID(bytes))
        case .decimals(let leaf):
            guard let value = try leaf.value(index) else { return try null() }
            return .decimal(value)
        case .mixed(let leaf):
            guard let nested = try leaf.nested(index) else { return try leaf.value(index, scope) }
            return try NestedEncoder.view(nested, scope)
        }
    }

    private func text(_ bytes: UnsafeRawBufferPointer?, isData: Bool) throws(DatabaseError) -> ValueView {
        guard let bytes else { return try null() }
        return isData ? .data(bytes) : .string(bytes)
    }

    private func null() throws(DatabaseError) -> ValueView {
        guard isNullable else { throw Damage.at(ref, "a value that is required is null") }
        return .null
    }
}
