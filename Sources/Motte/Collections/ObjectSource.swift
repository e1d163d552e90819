/// Objects one after the other, by their keys: what they have in common is looked up once, and none of them is looked
/// for while nothing has moved since the keys were found.
import MotteLiveObjects
import MotteValues

/// Opaque to programs.
public final class _ObjectSource {
    private let keys: [Int64]
    /// The class of the elements; nil where they are no objects, but made of them.
    private let type: ObjectBase.Type?
    private let table: TableKey
    private let session: RealmSession
    private let engine: Session
    /// When the keys were those of objects that exist; nil if that was never said.
    private let epoch: UInt64?
    private var known: (type: ObjectIdentifier, home: ObjectHome)?
    /// The object of an earlier row, for the next one if nobody else has it.
    @exclusivity(unchecked) private var last: ObjectBase?

    init(
        _ keys: [Int64], _ type: ObjectBase.Type?, _ table: TableKey, _ handle: _CollectionHandle, isFixed: Bool
    ) {
        self.keys = keys
        self.type = type
        self.table = table
        session = handle.session
        engine = handle.live.session
        epoch = isFixed || engine.isInWrite || engine.isClosed ? nil : engine.viewEpoch
    }

    var count: Int { keys.count }
    func key(_ index: Int) -> Int64 { keys[index] }

    /// The next of a loop; nil at the end, and where it is found the long way.
    ///
    /// What a loop has let go of is pointed at the next row instead of being freed and made again. It must be the only
    /// reference there is, keep nothing, and be of a class that has nothing but stored properties, so that nobody can
    /// tell the difference.
    @usableFromInline final func _next(_ index: Int) -> ObjectBase? {
        guard let type, let epoch, index < keys.count, engine.hasStayed(at: epoch) else { return nil }
        if isFree(&last), let again = last, !again._objectKeeps {
            engine.releaseMemory()
            again._objectRow = keys[index]
            return again
        }
        engine.releaseMemory()
        let home = home(of: type)
        let object = session.object(keys[index], at: home, as: type)
        last = home.binding?.isPlain == true ? object : nil
        return object
    }

    /// Whether this is the only reference to it, weak and unowned ones counted too: the word of an object's counts is
    /// then as at its birth. Should the runtime count in another way one day, the answer is no.
    @inline(__always)
    private func isFree(_ object: inout ObjectBase?) -> Bool {
        guard isKnownUniquelyReferenced(&object),
            let counts = unsafeBitCast(object, to: UnsafeRawPointer?.self)
        else { return false }
        return counts.load(fromByteOffset: MemoryLayout<UInt>.size, as: UInt64.self) == 3
    }

    /// As a link, for what is made of the object.
    func stored(_ key: Int64) -> _Stored {
        _Stored(.link(ObjectLink(table: table, key: ObjectKey(key))), session)
    }

    /// nil where the object has to be looked for.
    @inline(__always)
    func object<T: ObjectBase>(_ key: Int64, as type: T.Type) -> T? {
        guard !engine.isInWrite, let epoch, engine.viewEpoch == epoch else { return nil }
        return session.object(key, at: home(of: type), as: type)
    }

    @inline(__always)
    private func home(of type: ObjectBase.Type) -> ObjectHome {
        if let known, known.type == ObjectIdentifier(type) { return known.home }
        let home = session.home(of: type, table, engine)
        known = (ObjectIdentifier(type), home)
        return home
    }
}

extension _HasPersistedType {
    public static func _object(_ key: Int64, of source: _ObjectSource) -> Self? { _decode(source.stored(key)) }
}

extension _HasPersistedType where Self: ObjectBase {
    public static func _object(_ key: Int64, of source: _ObjectSource) -> Self? {
        source.object(key, as: Self.self) ?? _decode(source.stored(key))
    }
}
