/// What stands behind a handle. One subclass for each kind; the handle table keeps boxes alive and lets them go.
///
/// Boxes of something in an open realm are `RealmMemberBox`es; the others belong to no thread.
import CMotte
import MotteValues

package class Box {
    package let kind: HandleKind
    init(kind: HandleKind) { self.kind = kind }

    /// One of no class of its own, for tests of the handle table.
    package static func plain(_ kind: HandleKind) -> Box { Box(kind: kind) }

    /// Throws why the next use on this thread would fail.
    func check() throws(DatabaseError) {}

    /// A second box for the same thing.
    func clone() throws(DatabaseError) -> Box {
        throw DatabaseError(.unsupported, "\(kind.name) handle cannot be cloned")
    }

    func freeze() throws(DatabaseError) -> Box {
        throw DatabaseError(.wrongKind, "\(kind.name) cannot be frozen; realms, objects and collections can")
    }

    /// Whether both stand for the same realm, object or collection; no other kinds are compared.
    func isSame(as other: Box) -> Bool { false }

    var isFrozen: Bool { false }

    /// The last handle to this box is gone. Runs on any thread, outside of locks.
    func handleReleased() {}
}

/// A box held for the length of a call.
struct Pinned<Kind: Box>: ~Copyable {
    private let slot: UnsafeMutablePointer<HandleTable.Slot>
    /// Kept alive by the pin, so that uses need not count references.
    let reference: Unmanaged<Kind>
    var box: Kind {
        @inline(__always) get { reference._withUnsafeGuaranteedRef { $0 } }
    }

    @inline(__always)
    fileprivate init(slot: UnsafeMutablePointer<HandleTable.Slot>, box: Kind) {
        self.slot = slot
        reference = .passUnretained(box)
    }

    @inline(__always)
    deinit { HandleTable.shared.unpin(slot) }
}

enum Handles {
    /// The box of a handle of one kind, whoever may use it.
    @inline(__always)
    static func any<Kind: Box>(
        _ handle: OpaquePointer?, _ kind: HandleKind, as type: Kind.Type
    ) throws(DatabaseError) -> Pinned<Kind> {
        let token = HandleToken(handle)
        let slot = try HandleTable.shared.pin(token)
        guard token.kindNumber == kind.rawValue, let box = slot.pointee.box else {
            HandleTable.shared.unpin(slot)
            throw wrongKind(token, wanted: kind)
        }
        // The kind in the token was written from the box itself.
        return Pinned(slot: slot, box: unsafeDowncast(box._withUnsafeGuaranteedRef { $0 }, to: type))
    }

    /// The box of a handle of any kind.
    static func whatever(_ handle: UnsafeRawPointer?) throws(DatabaseError) -> Pinned<Box> {
        let slot = try HandleTable.shared.pin(HandleToken(handle))
        guard let box = slot.pointee.box else {
            HandleTable.shared.unpin(slot)
            throw HandleTable.unknown(HandleToken(handle))
        }
        return Pinned(slot: slot, box: box._withUnsafeGuaranteedRef { $0 })
    }

    private static func wrongKind(_ token: HandleToken, wanted: HandleKind) -> DatabaseError {
        let found = HandleKind(rawValue: token.kindNumber)?.name ?? "unknown"
        return DatabaseError(.wrongKind, "the handle is \(found), wanted is \(wanted.name)")
    }

    /// Publishes a box under a new token.
    static func make(_ box: Box, _ out: UnsafeMutablePointer<OpaquePointer?>) throws(DatabaseError) {
        out.pointee = try HandleTable.shared.insert(box).pointer
    }

    static func make(_ box: Box, _ out: UnsafeMutablePointer<UnsafeMutableRawPointer?>) throws(DatabaseError) {
        out.pointee = try HandleTable.shared.insert(box).rawPointer
    }
}
