/// Values on their way into the store: rows of views whose bytes lie in an arena, so that writing an object costs no
/// allocation a property.
///
/// A session keeps a few of these; whoever needs one takes it, fills it, uses the views and gives it back. Objects that
/// are encoded as links are added to the session's realm on the way, with the policy of the call that began it.
///
///     views     one after the other, in memory that moves when it grows
///     arena     blocks that do not move, so that a view is final when it is put; the first stays for the next use
import MotteLiveObjects
import MotteValues

public final class _Encoder {
    /// nil where values are only looked at, not stored. Keeps its encoders, and is not kept by them.
    package unowned let session: RealmSession?
    package var policy = MotteLiveObjects.UpdatePolicy.error
    private let isAsking: Bool
    /// Of the objects that were encoded to be looked for.
    private(set) var files: Set<UInt64> = []

    @exclusivity(unchecked) private var views = UnsafeMutablePointer<ValueView>.allocate(capacity: 16)
    @exclusivity(unchecked) private var capacity = 16
    @exclusivity(unchecked) package private(set) var count = 0
    @exclusivity(unchecked) private var block: UnsafeMutableRawBufferPointer
    @exclusivity(unchecked) private var used = 0
    /// Blocks that were full.
    @exclusivity(unchecked) private var full: [UnsafeMutableRawBufferPointer] = []

    package init(_ session: RealmSession?) {
        self.session = session
        isAsking = false
        block = .allocate(byteCount: 256, alignment: 16)
    }

    /// For values that are looked for: see `Dynamic.asked`.
    init(asking: ()) {
        session = nil
        isAsking = true
        block = .allocate(byteCount: 256, alignment: 16)
    }

    deinit {
        views.deallocate()
        block.deallocate()
        for block in full { block.deallocate() }
    }

    /// What could not be encoded; null stands in its place.
    package private(set) var failure: DatabaseError?

    package func fail(_ type: Any.Type) {
        put(.null)
        failure = DatabaseError(
            .invalidArgument,
            "Failed to convert the default of what is stored to type '\(type)' in a non-optional context; give the "
                + "property an initial value")
    }

    /// Puts null for a value that the store cannot hold as it is, and makes the call that it was given to fail.
    package func refuse(_ value: Any) {
        refuse(
            DatabaseError(
                .wrongType,
                "Invalid value '\(Dynamic.text(value))' of type '\(type(of: value))': it cannot be stored as it is"))
    }

    package func refuse(_ error: DatabaseError) {
        put(.null)
        if failure == nil { failure = error }
    }

    package func reset() {
        failure = nil
        count = 0
        used = 0
        if full.isEmpty { return }
        for block in full { block.deallocate() }
        full.removeAll()
    }

    @inline(__always)
    package func put(_ view: ValueView) {
        if count == capacity { grow() }
        (views + count).initialize(to: view)
        count &+= 1
    }

    @inline(never)
    private func grow() {
        let larger = UnsafeMutablePointer<ValueView>.allocate(capacity: capacity * 2)
        larger.moveInitialize(from: views, count: count)
        views.deallocate()
        views = larger
        capacity *= 2
    }

    package func put(_ text: String) {
        let isPut: Void? = text.utf8.withContiguousStorageIfAvailable { put(UnsafeRawBufferPointer($0), .string) }
        if isPut == nil { put(Array(text.utf8), kind: .string) }
    }

    package func put(_ bytes: some Collection<UInt8>, kind: ValueKind) {
        let isPut: Void? = bytes.withContiguousStorageIfAvailable { put(UnsafeRawBufferPointer($0), kind) }
        if isPut == nil { Array(bytes).withUnsafeBytes { put($0, kind) } }
    }

    private func put(_ bytes: UnsafeRawBufferPointer, _ kind: ValueKind) {
        if used + bytes.count > block.count { takeBlock(of: bytes.count) }
        let place = UnsafeMutableRawBufferPointer(rebasing: block[used ..< used + bytes.count])
        place.copyMemory(from: bytes)
        used += bytes.count
        put(
            ValueView(
                kindNumber: kind.rawValue, low: UInt64(UInt(bitPattern: place.baseAddress)),
                high: UInt64(bytes.count)))
    }

    @inline(never)
    private func takeBlock(of size: Int) {
        full.append(block)
        block = .allocate(byteCount: max(size, block.count * 2), alignment: 16)
        used = 0
    }

    /// A link to an object, which is added to the session's realm on the way. Without a session, null stands for what
    /// is unmanaged, or a link to nothing where it is looked for.
    func link(to object: ObjectBase) -> Value {
        guard let session else {
            guard let live = object.live else { return isAsking ? .link(.nowhere) : .null }
            if isAsking { files.insert(live.session.databaseNumber) }
            return .link(live.link)
        }
        do throws(DatabaseError) { return .link(try session.added(object, policy: policy).link) } catch {
            if failure == nil { failure = error }
            return .null
        }
    }

    /// Encodes what is part of a larger value.
    func nested(_ encode: (_Encoder) -> Void) -> Value {
        let single = isAsking ? _Encoder(asking: ()) : _Encoder(session)
        encode(single)
        files.formUnion(single.files)
        do throws(DatabaseError) { return try single.withView { view throws(DatabaseError) in view.owned } } catch {
            if failure == nil { failure = error }
            return .null
        }
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

    /// Valid until this is used again; what could not be encoded is null there, and the failure is to be thrown.
    package var rows: UnsafeBufferPointer<ValueView> { UnsafeBufferPointer(start: views, count: count) }

    package func checkedRows() throws(DatabaseError) -> UnsafeBufferPointer<ValueView> {
        if let failure { throw failure }
        return rows
    }

    /// The only view.
    @inline(__always)
    package func withView<Result>(
        _ body: (ValueView) throws(DatabaseError) -> Result
    ) throws(DatabaseError) -> Result {
        if let failure { throw failure }
        guard count > 0 else { throw DatabaseError(.invalidArgument, "this value cannot be stored") }
        return try body(views[0])
    }
}
