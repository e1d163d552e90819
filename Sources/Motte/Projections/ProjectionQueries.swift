/// Ordering collections of projections by their own properties, which stand for those of the root.
import Foundation

extension RealmCollection {
    /// The elements in the order of a projected property, which must lead to one property of the root over links only.
    public func sorted<T: _HasPersistedType, Root: ObjectBase>(
        by keyPath: KeyPath<Element, T>, ascending: Bool = true
    ) -> Results<Element> where T.PersistedType: SortableType, Element: Projection<Root> {
        _sorted([SortDescriptor(keyPath: _name(for: keyPath), ascending: ascending)])
    }

    /// The first of those elements that are equal in all of these projected properties.
    public func distinct<S: Sequence, Root: ObjectBase>(
        by keyPaths: S
    ) -> Results<Element> where S.Iterator.Element == PartialKeyPath<Element>, Element: Projection<Root> {
        distinct(by: keyPaths.map { _name(for: $0) })
    }
}
