/// The objects that link here through one of their properties: `@Persisted(originProperty: "dogs") var owners`.
import Foundation
import MotteLiveObjects
import MotteSchemaModel
import MotteValues

public struct LinkingObjects<Element: Object>: RealmCollection {
    private let managed: LiveBacklinks?
    private let session: RealmSession?

    init(_ managed: LiveBacklinks?, _ session: RealmSession?) {
        self.managed = managed
        self.session = session
    }

    public var _live: _LiveCollection? {
        guard let managed, let session else { return nil }
        return _LiveCollection(live: managed, session: session)
    }

    public var startIndex: Int { 0 }
    public var endIndex: Int { count }
    public var count: Int { managed.map { links in misuse { try links.count() } } ?? 0 }

    public subscript(position: Int) -> Element {
        guard let managed, let session else {
            preconditionFailure("Index \(position) is out of bounds: an unmanaged object has no links")
        }
        return misuse {
            guard let live = try managed.object(at: position) else {
                preconditionFailure("The element no longer exists")
            }
            return try session.object(live, as: Element.self)
        }
    }
}

extension LinkingObjects: _Persistable {
    public static var _shape: _PropertyShape { _PropertyShape(type: .linkingObjects, target: Element.self) }
    public static func _default() -> LinkingObjects { LinkingObjects(nil, nil) }
    public static func _read(_ object: ObjectBase, _ column: _Column) -> LinkingObjects { _default() }
    public func _write(_ object: ObjectBase, _ column: _Column) {}
    public var _stored: _StoredValue? { nil }
    public static func _fromAny(_ value: Any?) -> LinkingObjects? { value as? LinkingObjects }

    /// Bound once to the property that this one is the inverse of.
    public static func _attached(
        _ value: LinkingObjects?, to object: ObjectBase, _ column: _Column?, origin: String?
    ) -> LinkingObjects? {
        guard let session = object.session, let origin else { return nil }
        let source = session.binding(for: Element.self)
        guard let property = source.objectType.property(named: origin)?.columnKey else {
            preconditionFailure("\(Element.className()) has no property '\(origin)'")
        }
        return LinkingObjects(misuse { try object.requireLive().backlinks(origin: source.table, property) }, session)
    }
}
