/// Any collection of elements of one type: list, set, results or inverse links.
import Foundation
import MotteLiveObjects
import MotteValues

/// A list, set, results or inverse links, where it does not matter which. It is live, frozen or unmanaged as what it
/// wraps is.
public struct AnyRealmCollection<Element: RealmCollectionValue>: RealmCollection, _ObjcBridgeable {
    public let _managed: _CollectionHandle?
    private let elements: () -> [Element]

    /// Wraps a list, set, results or inverse links. What is wrapped is not copied: a managed one stays live, an
    /// unmanaged one is read again each time.
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
    public static func _nothing() -> AnyRealmCollection { AnyRealmCollection(Results()) }
    public var _unmanaged: [Element] { elements() }
    public static var _kindName: String { "AnyRealmCollection" }
    /// The element at a position. A position out of range is misuse; if the handler returns, the answer is a default
    /// value.
    public subscript(index: Int) -> Element { _element(at: index) }
}

extension AnyRealmCollection: Encodable where Element: Encodable {
    /// Encodes the elements as an array, in the order they have now.
    public func encode(to encoder: Encoder) throws { try CollectionCoding.encode(self, to: encoder) }
}

extension LinkingObjects: Encodable where Element: Encodable {
    /// Encodes the linking objects as an array. Inverse links cannot be decoded: they are computed.
    public func encode(to encoder: Encoder) throws { try CollectionCoding.encode(self, to: encoder) }
}
