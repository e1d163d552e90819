/// Any collection of elements of one type: list, set, results or inverse links.
import Foundation
import MotteLiveObjects
import MotteValues

/// A collection whose kind is not known where it is used.
public struct AnyRealmCollection<Element: RealmCollectionValue>: RealmCollection, _ObjcBridgeable {
    public let _managed: _CollectionHandle?
    private let elements: () -> [Element]

    public init<C: RealmCollection>(_ base: C) where C.Element == Element {
        _managed = base._managed
        elements = { base._unmanaged }
    }

    private init(handle: _CollectionHandle) {
        _managed = handle
        elements = { [] }
    }

    public static func _collection(_ handle: _CollectionHandle) -> AnyRealmCollection {
        AnyRealmCollection(handle: handle)
    }
    public var _unmanaged: [Element] { elements() }
    public static var _kindName: String { "AnyRealmCollection" }
    public subscript(index: Int) -> Element { _element(at: index) }
}

extension AnyRealmCollection: Encodable where Element: Encodable {
    public func encode(to encoder: Encoder) throws { try CollectionCoding.encode(self, to: encoder) }
}

extension LinkingObjects: Encodable where Element: Encodable {
    public func encode(to encoder: Encoder) throws { try CollectionCoding.encode(self, to: encoder) }
}
