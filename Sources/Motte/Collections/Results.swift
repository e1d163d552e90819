/// The outcome of a query: live and lazy. `objects(Dog.self)` is the query for all of them.
import Foundation
import MotteLiveObjects
import MotteValues

public struct Results<Element: RealmCollectionValue>: RealmCollection, _ObjcBridgeable {
    public let _managed: _CollectionHandle?

    public static func _collection(_ handle: _CollectionHandle) -> Results { Results(_managed: handle) }
    private init(_managed: _CollectionHandle) { self._managed = _managed }
    /// Of nothing, where misuse leaves nothing else to return.
    init() { _managed = nil }

    public var _unmanaged: [Element] { [] }
    public static var _kindName: String { "Results" }

    public subscript(index: Int) -> Element { _element(at: index) }
}

extension Results: Encodable where Element: Encodable {
    public func encode(to encoder: Encoder) throws { try CollectionCoding.encode(self, to: encoder) }
}

/// Collections as arrays.
enum CollectionCoding {
    static func encode<C: RealmCollection>(_ collection: C, to encoder: Encoder) throws where C.Element: Encodable {
        var container = encoder.unkeyedContainer()
        for element in collection { try container.encode(element) }
    }
}
