/// Nodes by ref: each is compared with the bounds of the file before its payload is touched, and copied to an arena.
///
/// With a record of what was visited, a node that has another parent already, or lies over another one, is damage: so
/// reading ends, whatever a file says, and takes no more memory than the file has bytes.
import MotteValues

final class NodeSource {
    let pages: PageSource
    /// Nodes end there: the logical size, once it is known, and before that what there is of the file.
    private(set) var limit: Int
    private var isSizeKnown = false

    init(_ pages: PageSource) {
        self.pages = pages
        limit = pages.count
    }

    func end(at size: Int) {
        limit = size
        isSizeKnown = true
    }

    /// Of a tree: another node with children, or a leaf.
    func isInner(_ ref: Int) throws(DatabaseError) -> Bool { try header(ref) >> 32 & 0x80 != 0 }

    private var cause: String { isSizeKnown ? "" : "the file is truncated: " }

    private func header(_ ref: Int) throws(DatabaseError) -> UInt64 {
        guard ref & 7 == 0, ref >= RealmHeader.count, ref <= limit - Node.headerBytes else {
            throw Damage.found("\(cause)a node is said to be at byte \(ref), in a file of \(limit) bytes")
        }
        return try pages.word(ref)
    }

    func node(_ ref: Int, in arena: Arena, _ visited: VisitedNodes?) throws(DatabaseError) -> Node {
        let header = try header(ref)
        let flags = UInt8(truncatingIfNeeded: header >> 32)
        let count = Int(UInt32(truncatingIfNeeded: header >> 32).byteSwapped & 0xFF_FFFF)
        let widthType = flags >> 3 & 3
        // The first four bytes are a checksum that nothing ever wrote: "AAAA" since 2016, others before.
        guard widthType < 3, flags & 0x40 == 0 || widthType == 0, flags & 0x80 == 0 || flags & 0x40 != 0
        else { throw Damage.at(ref, "there is no node") }
        let width = (1 << Int(flags & 7)) >> 1
        let payload = widthType == 0 ? (count * width + 7) >> 3 : widthType == 1 ? count * width : count
        guard payload <= limit - Node.headerBytes - ref else {
            throw Damage.at(ref, "\(cause)a node of \(payload) bytes reaches past the end of the file, byte \(limit)")
        }
        try visited?.add(ref, payload + Node.headerBytes)
        let place = arena.allocate(payload)
        try pages.read(ref + Node.headerBytes, payload, to: place)
        return Node(ref: ref, start: UnsafeRawPointer(place), payloadBytes: payload, count: count, flags: flags)
    }
}
