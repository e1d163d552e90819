/// The outcome of a query: live and lazy. `objects(Dog.self)` is the query for all of them.
import Foundation
import MotteLiveObjects
import MotteValues

/// The objects or values that a query finds, in its order.
///
/// Live and lazy: nothing is computed before it is looked at, and indexes may change whenever the realm advances. An
/// iteration goes over what was there when it began. They end with ``Realm/invalidate()``, after which the realm is
/// asked for new ones.
public struct Results<Element: RealmCollectionValue>: RealmCollection, _ObjcBridgeable {
    private let source: _CollectionHandle?
    public var _managed: _CollectionHandle? { source?.noted }

    public static func _collection(_ handle: _CollectionHandle) -> Results { Results(handle) }
    private init(_ source: _CollectionHandle) { self.source = source }
    /// Of nothing, where misuse leaves nothing else to return.
    init() { source = nil }

    public static func _nothing() -> Results { Results() }
    public var _unmanaged: [Element] { [] }
    public static var _kindName: String { "Results" }

    /// The element at a position, as the realm shows it now. A position out of range is misuse; if the handler returns,
    /// the answer is a default value or a new unmanaged object.
    public subscript(index: Int) -> Element { _element(at: index) }
}

extension Results: Encodable where Element: Encodable {
    /// Encodes the elements as an array, in the order of the query.
    public func encode(to encoder: Encoder) throws { try CollectionCoding.encode(self, to: encoder) }
}

/// Collections as arrays.
enum CollectionCoding {
    static func encode<C: RealmCollection>(_ collection: C, to encoder: Encoder) throws where C.Element: Encodable {
        var container = encoder.unkeyedContainer()
        for element in collection { try container.encode(element) }
    }
}
