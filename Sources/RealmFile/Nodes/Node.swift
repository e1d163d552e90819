/// A node: eight bytes of header, then an array.
///
///     0  "AAAA"      4  flags      5  u24 count of elements, big-endian
///     flags: 0x80 inner | 0x40 has refs | 0x20 context | 0x18 width type | 0x07 width code
///     payload: width type 0: count * width bits; 1: count * width bytes; 2: count bytes
///
/// What is read is in memory: `NodeSource` has compared its end with that of the file.
import MotteValues

struct Node {
    static let headerBytes = 8

    let ref: Int
    let start: UnsafeRawPointer
    let payloadBytes: Int
    let count: Int
    let flags: UInt8

    var isInner: Bool { flags & 0x80 != 0 }
    var hasRefs: Bool { flags & 0x40 != 0 }
    var context: Bool { flags & 0x20 != 0 }
    var widthType: UInt8 { flags >> 3 & 3 }
    /// In bits or, for width type 1, in bytes.
    var width: Int { (1 << Int(flags & 7)) >> 1 }

    /// As integers, whatever its flags.
    var integers: Integers { Integers(start: start, count: count, code: flags & 7) }
    var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: start, count: payloadBytes) }

    /// Plain integers.
    func numbers(_ what: String) throws(DatabaseError) -> Integers {
        guard !isInner, !hasRefs, widthType == 0 else { throw unlike(what) }
        return integers
    }

    /// Refs, not of an inner node.
    func refs(_ what: String) throws(DatabaseError) -> Integers {
        guard !isInner, hasRefs, widthType == 0 else { throw unlike(what) }
        return integers
    }

    /// Elements of some bytes each.
    func multiplied(_ what: String) throws(DatabaseError) {
        guard !isInner, !hasRefs, widthType == 1 else { throw unlike(what) }
    }

    /// Bytes.
    func blob(_ what: String) throws(DatabaseError) -> UnsafeRawBufferPointer {
        guard !isInner, !hasRefs, widthType == 2 else { throw unlike(what) }
        return bytes
    }

    func unlike(_ what: String) -> DatabaseError { Damage.at(ref, "\(what) is not of the form that it must have") }

    func damage(_ what: String) -> DatabaseError { Damage.at(ref, what) }
}
