/// A leaf of strings or data, in one of three forms by the longest value that it ever held.
///
///     short   each as wide as the widest; the last byte says how many of the bytes before it are padding, or null
///     medium  refs to ends, all bytes one behind the other, nulls
///     big     a ref to bytes for each, 0 for null; bytes in several nodes above 16 MB
///
/// Where the file takes the values for strings (also data in mixed values), a zero byte is behind each in the latter
/// two, but for those in several nodes.
import MotteValues

struct StringLeaf {
    private enum Form { case short, medium, big }

    let count: Int
    private let form: Form
    private let isText: Bool
    private let ref: Int
    private let start: UnsafeRawPointer
    private let width: Int
    private let ends: Integers
    private let nulls: Integers

    init(_ node: Node, isText: Bool, _ scope: ReadingScope) throws(DatabaseError) {
        ref = node.ref
        self.isText = isText
        width = node.width
        guard node.hasRefs else {
            try node.multiplied("a leaf of strings")
            guard isText else { throw node.unlike("a leaf of data") }
            (form, count, start, ends, nulls) = (.short, node.count, node.start, .none, .none)
            return
        }
        let slots = try node.refs("a leaf of strings or data")
        if node.context {
            (form, count, start, ends, nulls) = (.big, node.count, node.start, slots, .none)
            return
        }
        guard slots.count == 3 else { throw node.unlike("a leaf of strings or data") }
        form = .medium
        ends = try scope.node(slots, 0, "the list of ends", ref).numbers("the list of ends")
        let bytes = try scope.node(slots, 1, "the bytes of strings", ref).blob("the bytes of strings")
        start = bytes.baseAddress ?? node.start
        nulls = try scope.node(slots, 2, "the list of nulls", ref).numbers("the list of nulls")
        count = ends.count
        guard nulls.count == count else { throw node.damage("ends and nulls of strings differ in number") }
        var last: Int64 = 0
        for index in 0 ..< count {
            let end = ends[index]
            guard end >= last, nulls[index] == 0 || nulls[index] == 1 else {
                throw node.damage("the ends or nulls of strings are impossible")
            }
            last = end
        }
        guard last == bytes.count else { throw node.damage("strings end elsewhere than their bytes") }
    }

    var isBig: Bool { form == .big }

    /// nil: null.
    func value(_ index: Int, _ scope: ReadingScope) throws(DatabaseError) -> UnsafeRawBufferPointer? {
        switch form {
        case .short: return try short(index)
        case .medium:
            if nulls[index] == 1 { return nil }
            let begin = index == 0 ? 0 : Int(ends[index - 1])
            let bytes = UnsafeRawBufferPointer(start: start + begin, count: Int(ends[index]) - begin)
            return try isText ? withoutZero(bytes, ref) : bytes
        case .big:
            switch ends.slot(index) {
            case .nothing: return nil
            case .tagged: throw Damage.at(ref, "a number is where a string or data must be")
            case .ref(let place): return try big(try scope.valueNode(place), scope)
            }
        }
    }

    private func short(_ index: Int) throws(DatabaseError) -> UnsafeRawBufferPointer? {
        guard width > 0 else { return nil }
        let element = start + index &* width
        let padding = Int(element.load(fromByteOffset: width &- 1, as: UInt8.self))
        if padding == width { return nil }
        let size = width &- 1 &- padding
        guard size >= 0 else { throw Damage.at(ref, "a string is longer than its place") }
        var rest: UInt8 = 0
        for place in size ..< width &- 1 { rest |= element.load(fromByteOffset: place, as: UInt8.self) }
        guard rest == 0 else { throw Damage.at(ref, "something lies behind a string") }
        return UnsafeRawBufferPointer(start: element, count: size)
    }

    private func big(_ node: Node, _ scope: ReadingScope) throws(DatabaseError) -> UnsafeRawBufferPointer {
        guard node.hasRefs else {
            let bytes = try node.blob("a string or data")
            return try isText ? withoutZero(bytes, node.ref) : bytes
        }
        guard node.context else { throw node.unlike("a string or data") }
        let pieces = try node.refs("a string or data in pieces")
        let gathered = Arena()
        var parts: [UnsafeRawBufferPointer] = []
        for index in 0 ..< pieces.count {
            guard case .ref(let ref) = pieces.slot(index) else { throw node.damage("a piece of a string is missing") }
            parts.append(
                try scope.file.nodes.node(ref, in: gathered, scope.visited).blob("a piece of a string or data"))
        }
        let size = parts.reduce(0) { $0 + $1.count }
        let place = scope.values.allocate(size)
        var end = place
        for part in parts {
            UnsafeMutableRawBufferPointer(start: end, count: part.count).copyMemory(from: part)
            end += part.count
        }
        return UnsafeRawBufferPointer(start: place, count: size)
    }

    private func withoutZero(
        _ bytes: UnsafeRawBufferPointer, _ place: Int
    ) throws(DatabaseError) -> UnsafeRawBufferPointer {
        guard bytes.last == 0 else { throw Damage.at(place, "a string lacks the zero behind it") }
        return UnsafeRawBufferPointer(rebasing: bytes.dropLast())
    }
}
