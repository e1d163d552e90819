/// A collection grouped by a key: `realm.objects(Dog.self).sectioned(by: \.firstLetter)`. Live and lazy like the
/// collection it groups.
///
/// Sections stand in the order in which their keys first appear in the sorted collection; elements keep its order
/// within them. A section without elements is not there.
import Foundation
import MotteLiveObjects
import MotteValues

/// What both the sections and one section are.
public protocol RealmSectionedResult: RandomAccessCollection, Equatable, ThreadConfined where Index == Int {
    associatedtype _Key: _Persistable & Hashable
    associatedtype _Value: RealmCollectionValue
    /// Opaque to programs.
    var _sections: _Sections<_Key, _Value> { get }
    /// The one section that this is; nil for all of them.
    var _onlyKey: _Key? { get }
    static func _make(_ sections: _Sections<_Key, _Value>, _ key: _Key?) -> Self
}

/// The engine's sections with keys of the program's type, shared by the sections and each section of it. Opaque to
/// programs.
public final class _Sections<Key: _Persistable & Hashable, Value: RealmCollectionValue> {
    let base: Results<Value>
    let keyOf: (Value) -> Key
    private var opened: LiveSections?

    init(_ base: Results<Value>, _ keyOf: @escaping (Value) -> Key) {
        self.base = base
        self.keyOf = keyOf
        opened = base._managed.map { Self.open($0, keyOf) }
    }

    /// nil where misuse left nothing to group.
    var live: LiveSections? {
        guard let handle = base._managed else { return nil }
        if let opened, opened.base === handle.live { return opened }
        opened = Self.open(handle, keyOf)
        return opened
    }

    private static func open(_ handle: _CollectionHandle, _ keyOf: @escaping (Value) -> Key) -> LiveSections {
        let session = handle.session
        return handle.live.sectioned(
            by: SectionKey { collection, position throws(DatabaseError) in
                guard let element = Value._decode(_Stored(try collection.value(at: position), session)) else {
                    throw DatabaseError(.objectDeleted, "the element at index \(position) cannot be read")
                }
                return try stored(keyOf(element))
            })
    }

    var layout: SectionLayout { attempt(or: .empty) { () throws(DatabaseError) in try live?.layout() ?? .empty } }

    static func stored(_ key: Key) throws(DatabaseError) -> MotteValues.Value {
        let encoder = _Encoder(nil)
        key._encode(encoder)
        return try encoder.withView { (view) throws(DatabaseError) in view.owned }
    }

    func key(_ stored: SectionLayout.Key) -> Key {
        stored.value.withView { Key._decode(_Stored($0, base._managed?.session)) } ?? Key._default()
    }

    func section(_ layout: SectionLayout, _ index: Int) -> ResultsSection<Key, Value> {
        ResultsSection(self, key(layout.keys[index]), layout.keys[index])
    }
}

extension RealmSectionedResult {
    /// The realm of the collection that is grouped.
    public var realm: Realm? { _sections.base.realm }
    /// Whether it is fixed to one version, and may be used on every thread.
    public var isFrozen: Bool { _sections.base.isFrozen }
    /// Always 0.
    public var startIndex: Int { 0 }
    /// The next index; nothing is checked or read.
    public func index(after index: Int) -> Int { index + 1 }
    /// The index before; nothing is checked or read.
    public func index(before index: Int) -> Int { index - 1 }

    /// The sections, or the one section, at the version that the realm shows, fixed and usable on every thread; a
    /// frozen one gives itself. A function that makes the keys is then called on whatever thread reads.
    public func freeze() -> sending Self {
        frozenForSending(
            isFrozen ? self : Self._make(_Sections(_sections.base.freeze(), _sections.keyOf), _onlyKey))
    }
    /// The live counterpart of a frozen one, in the realm of the calling thread; a live one gives itself. nil when the
    /// object that the grouped collection belongs to is deleted.
    public func thaw() -> Self? {
        guard isFrozen else { return self }
        return _sections.base.thaw().map { Self._make(_Sections($0, _sections.keyOf), _onlyKey) }
    }

    /// Whether both come from one call of `sectioned` and are all of its sections, or the section of the same key.
    public static func == (left: Self, right: Self) -> Bool {
        left._sections === right._sections && left._onlyKey == right._onlyKey
    }
}

/// A collection grouped by a key: live and lazy, as the collection is. Sections are in the order of their first
/// elements; one without elements is not there.
public struct SectionedResults<Key: _Persistable & Hashable, SectionElement: RealmCollectionValue>:
    RealmSectionedResult
{
    /// One section, with its key and its elements.
    public typealias Element = ResultsSection<Key, SectionElement>

    public let _sections: _Sections<Key, SectionElement>
    public var _onlyKey: Key? { nil }
    public static func _make(_ sections: _Sections<Key, SectionElement>, _ key: Key?) -> Self { Self(sections) }

    init(_ sections: _Sections<Key, SectionElement>) { _sections = sections }

    /// The keys of the sections, in their order.
    public var allKeys: [Key] { _sections.layout.keys.map(_sections.key) }
    /// The number of sections, one more than the last index.
    public var endIndex: Int { _sections.layout.count }
    /// Whether the grouped collection can no longer be used.
    public var isInvalidated: Bool { _sections.base.isInvalidated }

    /// The section at a position. A position out of range is misuse; if the handler returns, the answer is a section of
    /// a default key.
    public subscript(index: Int) -> ResultsSection<Key, SectionElement> {
        let layout = _sections.layout
        guard index >= 0, index < layout.count else {
            misuse(ManagedList.outOfBounds(index, layout.count))
            return ResultsSection(_sections, Key._default())
        }
        return _sections.section(layout, index)
    }

    /// The element that the path's second index names in the section that its first index names. An index out of range
    /// is misuse.
    public subscript(path: IndexPath) -> SectionElement { self[path.section][path.item] }
}

/// The elements of one key, in the order of the grouped collection. Live: it follows its key, not its position.
public struct ResultsSection<Key: _Persistable & Hashable, T: RealmCollectionValue>: RealmSectionedResult, Identifiable
{
    /// What the grouped collection holds.
    public typealias Element = T

    public let _sections: _Sections<Key, T>
    /// What its elements have in common.
    public let key: Key
    /// The key, which no other section of the same results has.
    public var id: Key { key }
    public var _onlyKey: Key? { key }
    public static func _make(_ sections: _Sections<Key, T>, _ key: Key?) -> Self {
        Self(sections, key ?? Key._default())
    }

    private let stored: SectionLayout.Key

    init(_ sections: _Sections<Key, T>, _ key: Key, _ stored: SectionLayout.Key) {
        _sections = sections
        self.key = key
        self.stored = stored
    }

    init(_ sections: _Sections<Key, T>, _ key: Key) {
        let stored: MotteValues.Value = attempt(or: .null) { () throws(DatabaseError) in
            try _Sections<Key, T>.stored(key)
        }
        self.init(sections, key, SectionLayout.Key(stored))
    }

    private var positions: ArraySlice<Int> {
        let layout = _sections.layout
        return layout.find(stored).map { layout.positions(in: $0) } ?? []
    }

    /// Whether there is no such section at present: no element has its key, or the grouped collection can no longer be
    /// used. The section is there again when an element has the key.
    public var isInvalidated: Bool { _sections.base.isInvalidated || _sections.layout.find(stored) == nil }
    /// The number of elements, one more than the last index; 0 while no element has the key.
    public var endIndex: Int { positions.count }

    /// The element at a position within the section. A position out of range is misuse; if the handler returns, the
    /// answer is a default value or a new unmanaged object.
    public subscript(index: Int) -> T {
        let positions = positions
        guard index >= 0, index < positions.count else {
            misuse(ManagedList.outOfBounds(index, positions.count))
            return T._default()
        }
        return _sections.base[positions[positions.startIndex + index]]
    }
}

// MARK: Making them

extension RealmCollection {
    /// Groups the collection by what a block returns for each element, in the order of the descriptors, of which there
    /// must be one. The block runs where the sections are read or observed, and must not write.
    public func sectioned<Key: _Persistable>(
        by block: @escaping (Element) -> Key, sortDescriptors: [SortDescriptor]
    ) -> SectionedResults<Key, Element> where Key: Hashable {
        if sortDescriptors.isEmpty {
            misuse("There must be at least one SortDescriptor when using SectionedResults.", .invalidInput)
        }
        return SectionedResults(_Sections(_sorted(sortDescriptors), block))
    }

    /// Groups the collection by what a block returns for each element, in the order of the descriptors, of which there
    /// must be one. The block runs where the sections are read or observed, and must not write.
    public func sectioned<Key: _Persistable>(
        sortDescriptors: [SortDescriptor], _ block: @escaping (Element) -> Key
    ) -> SectionedResults<Key, Element> where Key: Hashable { sectioned(by: block, sortDescriptors: sortDescriptors) }

    /// Groups a collection of values by what a block returns for each, in the order of the values.
    public func sectioned<Key: _Persistable>(
        by block: @escaping (Element) -> Key, ascending: Bool = true
    ) -> SectionedResults<Key, Element> where Key: Hashable {
        SectionedResults(_Sections(_sorted([SortDescriptor(keyPath: "self", ascending: ascending)]), block))
    }

    /// The first descriptor must sort by the section key.
    package func _sectioned<Key: _Persistable & Hashable>(
        by path: String, _ keyOf: @escaping (Element) -> Key, _ sortDescriptors: [SortDescriptor]
    ) -> SectionedResults<Key, Element> {
        if let first = sortDescriptors.first, !_columnPath(first.keyPath).hasSameBytes(as: _columnPath(path)) {
            misuse(
                "The section key path '\(path)' must match the first sort descriptor's, "
                    + "'\(first.keyPath)'.", .invalidInput)
        }
        return sectioned(by: keyOf, sortDescriptors: sortDescriptors)
    }
}

extension RealmCollection where Element: KeypathSortable {
    /// Groups the collection by the property that the key path reaches over links only, in the order of that property.
    public func sectioned<Key: _Persistable>(
        by keyPath: KeyPath<Element, Key>, ascending: Bool = true
    ) -> SectionedResults<Key, Element> where Key: Hashable {
        let path = Element._path(of: keyPath)
        return sectioned(by: keyPath, sortDescriptors: [SortDescriptor(keyPath: path, ascending: ascending)])
    }

    /// Groups the collection by the property that the key path reaches over links only, in the order of the
    /// descriptors, the first of which must be by that property.
    public func sectioned<Key: _Persistable>(
        by keyPath: KeyPath<Element, Key>, sortDescriptors: [SortDescriptor]
    ) -> SectionedResults<Key, Element> where Key: Hashable {
        _sectioned(by: Element._path(of: keyPath), { $0[keyPath: keyPath] }, sortDescriptors)
    }
}
