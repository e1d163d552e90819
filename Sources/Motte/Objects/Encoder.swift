/// Values on their way into the store: a row of views whose bytes lie in one arena, so that writing an object costs no
/// allocation a property.
///
/// A session keeps a few of these; whoever needs one takes it, fills it, uses the views and gives it back. Objects that
/// are encoded as links are added to the session's realm on the way, with the policy of the call that began it.
import MotteLiveObjects
import MotteValues

public final class _Encoder {
    /// nil where values are only looked at, not stored. Keeps its encoders, and is not kept by them.
    package unowned let session: RealmSession?
    package var policy = MotteLiveObjects.UpdatePolicy.error
    private var views: [ValueView] = []
    /// Views whose `low` is an offset into the arena until `finish`.
    private var borrowed: [Int] = []
    private var arena: [UInt8] = []

    package init(_ session: RealmSession?) { self.session = session }

    package func reset() {
        views.removeAll(keepingCapacity: true)
        borrowed.removeAll(keepingCapacity: true)
        arena.removeAll(keepingCapacity: true)
    }

    package var count: Int { views.count }

    @inline(__always)
    package func put(_ view: ValueView) { views.append(view) }

    package func put(_ text: String) { put(text.utf8, kind: .string) }

    package func put(_ bytes: some Collection<UInt8>, kind: ValueKind) {
        let start = arena.count
        arena.append(contentsOf: bytes)
        borrowed.append(views.count)
        views.append(
            ValueView(kindNumber: kind.rawValue, low: UInt64(start), high: UInt64(arena.count - start)))
    }

    /// For values that are rare or nested.
    package func put(value: Value) {
        value.withView { view in
            switch view.kind {
            case .string, .data, .list, .map: put(view.bytes, kind: view.kind ?? .null)
            default: put(view)
            }
        }
    }

    /// The views, valid for the length of `body`, in which this encoder is not used.
    package func withViews<Result>(
        _ body: ([ValueView]) throws(DatabaseError) -> Result
    ) throws(DatabaseError) -> Result {
        guard !borrowed.isEmpty else { return try body(views) }
        return try arena.withBytes { bytes throws(DatabaseError) in
            // An empty arena has no address, and an empty string needs none.
            let base = UInt64(UInt(bitPattern: bytes.baseAddress))
            for index in borrowed { views[index].low &+= base }
            defer { for index in borrowed { views[index].low &-= base } }
            return try body(views)
        }
    }

    /// The only view.
    package func withView<Result>(
        _ body: (ValueView) throws(DatabaseError) -> Result
    ) throws(DatabaseError) -> Result {
        try withViews { views throws(DatabaseError) in
            guard let view = views.first else {
                throw DatabaseError(.invalidArgument, "this value cannot be stored")
            }
            return try body(view)
        }
    }
}
