/// A leaf of mixed values: one number for each, which says its type, and the value or where that is among the
/// payloads.
///
///     value: 0 null; else bits 0-4 type + 1, bits 5-7 payload, the rest inline value or index
///     payload: 0 inline, 1 ints, 2 pairs of ints, 3 strings, 4 refs of nested lists and maps
///
/// Each element of a payload belongs to exactly one value; that is checked when the leaf is read.
import MotteValues

final class MixedLeaf {
    private enum Payload: Int { case inline = 0, ints, pairs, strings, refs }

    let count: Int
    private let ref: Int
    private let values: Integers
    private let ints: Integers
    private let pairs: Integers
    private let strings: StringLeaf?
    private let refs: Integers

    init(_ node: Node, _ scope: ReadingScope) throws(DatabaseError) {
        let slots = try node.refs("a leaf of mixed values")
        guard (4 ... 6).contains(slots.count) else { throw node.unlike("a leaf of mixed values") }
        ref = node.ref
        values = try scope.node(slots, 0, "the list of mixed values", ref).numbers("the list of mixed values")
        count = values.count
        guard count <= TreeCursor.mostElements else {
            throw node.damage("there are \(count) mixed values in one piece")
        }
        // The peer leaves payloads behind that no value has, and slots that lead to what is something else by now.
        var used: UInt8 = 0
        for index in 0 ..< count where values[index] != 0 { used |= 1 << UInt8(values[index] >> 5 & 7) }
        func part(_ number: Int) throws(DatabaseError) -> Node? {
            used & 1 << UInt8(number) != 0 ? try Self.part(slots, number, scope) : nil
        }
        ints = try part(1)?.numbers("ints of mixed values") ?? .none
        pairs = try part(2)?.numbers("pairs of mixed values") ?? .none
        if let node = try part(3) {
            strings = try StringLeaf(node, isText: true, scope)
        } else {
            strings = nil
        }
        refs = try part(4)?.refs("refs of mixed values") ?? .none
        try checkPayloads()
    }

    private static func part(_ slots: Integers, _ index: Int, _ scope: ReadingScope) throws(DatabaseError) -> Node? {
        guard case .ref(let ref) = slots.slot(index) else { return nil }
        return try scope.node(ref)
    }

    private func checkPayloads() throws(DatabaseError) {
        let sizes = [0, ints.count, pairs.count / 2, strings?.count ?? 0, refs.count]
        guard pairs.count % 2 == 0 else { throw unfit }
        let starts = [0, 0, sizes[1], sizes[1] + sizes[2], sizes[1] + sizes[2] + sizes[3]]
        var used = [Bool](repeating: false, count: starts[4] + sizes[4])
        for index in 0 ..< count {
            let value = values[index]
            let payload = Int(value >> 5 & 7)
            guard value != 0, payload != 0 else { continue }
            let place = value >> 8
            guard payload < sizes.count, place >= 0, place < sizes[payload] else { throw unfit }
            let flag = starts[payload] + Int(place)
            guard !used[flag] else { throw unfit }
            used[flag] = true
        }
    }

    private var unfit: DatabaseError { Damage.at(ref, "mixed values and their payloads do not fit each other") }

    var isReadByValue: Bool { refs.count > 0 || strings?.isBig ?? false }

    /// What a value is when it is a nested list or map, which `value` does not read.
    func nested(_ index: Int) throws(DatabaseError) -> (isMap: Bool, root: Int?)? {
        let value = values[index]
        let type = value & 31 - 1
        guard type == 19 || type == 21, value >> 5 & 7 == Payload.refs.rawValue else { return nil }
        switch refs.slot(Int(value >> 8)) {
        case .nothing: return (type == 21, nil)
        case .tagged: throw unfit
        case .ref(let root): return (type == 21, root)
        }
    }

    /// Of anything that is not nested.
    func value(_ index: Int, _ scope: ReadingScope) throws(DatabaseError) -> ValueView {
        let value = values[index]
        guard value != 0 else { return .null }
        let place = Int(value >> 8)
        switch (value & 31 - 1, Payload(rawValue: Int(value >> 5 & 7))) {
        case (0, .inline): return .int(value >> 8)
        case (0, .ints): return .int(ints[place])
        case (1, .inline): return .bool(value >> 8 != 0)
        case (2, .strings): return .string(try bytes(place, scope))
        case (4, .strings): return .data(try bytes(place, scope))
        case (8, .pairs):
            let (seconds, nanoseconds) = (pairs[2 * place], pairs[2 * place + 1])
            guard ReadingScope.isTimestamp(seconds, nanoseconds) else { throw Damage.at(ref, "a date is impossible") }
            return .timestamp(scope.timestamp(seconds, nanoseconds))
        case (9, .ints): return .float(Float(bitPattern: UInt32(truncatingIfNeeded: ints[place])))
        case (10, .ints): return .double(Double(bitPattern: UInt64(bitPattern: ints[place])))
        case (11, .pairs):
            let (low, high) = (UInt64(bitPattern: pairs[2 * place]), UInt64(bitPattern: pairs[2 * place + 1]))
            return DecimalLeaf.isNull(low: low, high: high) ? .null : .decimal(Decimal128(low: low, high: high))
        case (15, .strings): return .objectID(ObjectID(try identifier(place, 12, scope)))
        case (16, .pairs): return try Self.link(pairs[2 * place], pairs[2 * place + 1], ref, scope)
        case (17, .strings): return .uuid(UUIDBytes(try identifier(place, 16, scope)))
        case (12, .ints):
            throw DatabaseError(.unsupported, "a mixed value is a link that does not say to which class")
        default: throw Damage.at(ref, "a mixed value is of no known type")
        }
    }

    /// Table and object as they are stored in mixed values; an unresolved link is null.
    static func link(
        _ table: Int64, _ key: Int64, _ ref: Int, _ scope: ReadingScope
    ) throws(DatabaseError) -> ValueView {
        guard let index = scope.file.index(ofTable: table) else {
            throw Damage.at(ref, "a link leads to a class that there is not")
        }
        if key < -1 { return .null }
        guard key >= 0 else { throw Damage.at(ref, "a link leads to no object") }
        return .link(ObjectLink(table: TableKey(UInt32(index)), key: ObjectKey(key)))
    }

    private func bytes(_ place: Int, _ scope: ReadingScope) throws(DatabaseError) -> UnsafeRawBufferPointer {
        try strings?.value(place, scope) ?? UnsafeRawBufferPointer(start: nil, count: 0)
    }

    private func identifier(
        _ place: Int, _ size: Int, _ scope: ReadingScope
    ) throws(DatabaseError) -> UnsafeRawBufferPointer {
        let bytes = try bytes(place, scope)
        guard bytes.count == size else { throw Damage.at(ref, "an identifier has \(bytes.count) bytes") }
        return bytes
    }
}
