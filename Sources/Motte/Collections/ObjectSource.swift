/// Objects one after the other, by their keys: what they have in common is looked up once, and none of them is looked
/// for while nothing has moved since the keys were found.
import MotteLiveObjects
import MotteValues

/// Opaque to programs.
public final class _ObjectSource {
    private let table: TableKey
    private let session: RealmSession
    private let engine: Session
    /// When the keys were those of objects that exist; nil if that was never said.
    private let epoch: UInt64?
    private var known: (type: ObjectIdentifier, home: ObjectHome)?

    init(_ table: TableKey, _ handle: _CollectionHandle, isFixed: Bool) {
        self.table = table
        session = handle.session
        engine = handle.live.session
        epoch = isFixed || engine.isInWrite || engine.isClosed ? nil : engine.viewEpoch
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
