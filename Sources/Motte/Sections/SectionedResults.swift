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

/// The grouping itself, shared by the sections and each section of it. Opaque to programs.
public final class _Sections<Key: _Persistable & Hashable, Value: RealmCollectionValue> {
    struct State {
        var keys: [Key] = []
        /// By section: positions in the collection.
        var members: [[Int]] = []
        /// By position in the collection.
        var places: [(section: Int, item: Int)] = []
        var indexOfKey: [Key: Int] = [:]

        func path(_ position: Int) -> IndexPath {
            IndexPath(item: places[position].item, section: places[position].section)
        }
    }

    let base: Results<Value>
    let keyOf: (Value) -> Key
    private var state = State()
    private var epoch: UInt64?

    init(_ base: Results<Value>, _ keyOf: @escaping (Value) -> Key) {
        self.base = base
        self.keyOf = keyOf
    }

    /// Grouped anew when the realm has moved or something was written: every element's key is asked for once.
    var current: State {
        let now = base._managed?.live.session.viewEpoch
        if let epoch, epoch == now { return state }
        var made = State()
        for (position, element) in base.enumerated() {
            let key = keyOf(element)
            let section: Int
            if let known = made.indexOfKey[key] {
                section = known
            } else {
                section = made.keys.count
                made.indexOfKey[key] = section
                made.keys.append(key)
                made.members.append([])
            }
            made.places.append((section, made.members[section].count))
            made.members[section].append(position)
        }
        state = made
        epoch = now
        return made
    }
}

extension RealmSectionedResult {
    public var realm: Realm? { _sections.base.realm }
    public var isFrozen: Bool { _sections.base.isFrozen }
    public var startIndex: Int { 0 }
    public func index(after index: Int) -> Int { index + 1 }
    public func index(before index: Int) -> Int { index - 1 }

    public func freeze() -> Self {
        isFrozen ? self : Self._make(_Sections(_sections.base.freeze(), _sections.keyOf), _onlyKey)
    }
    public func thaw() -> Self? {
        guard isFrozen else { return self }
        return _sections.base.thaw().map { Self._make(_Sections($0, _sections.keyOf), _onlyKey) }
    }

    public static func == (left: Self, right: Self) -> Bool {
        left._sections === right._sections && left._onlyKey == right._onlyKey
    }
}

public struct SectionedResults<Key: _Persistable & Hashable, SectionElement: RealmCollectionValue>:
    RealmSectionedResult
{
    public typealias Element = ResultsSection<Key, SectionElement>

    public let _sections: _Sections<Key, SectionElement>
    public var _onlyKey: Key? { nil }
    public static func _make(_ sections: _Sections<Key, SectionElement>, _ key: Key?) -> Self { Self(sections) }

    init(_ sections: _Sections<Key, SectionElement>) { _sections = sections }

    /// The keys of the sections, in their order.
    public var allKeys: [Key] { _sections.current.keys }
    public var endIndex: Int { _sections.current.keys.count }
    public var isInvalidated: Bool { _sections.base.isInvalidated }

    public subscript(index: Int) -> ResultsSection<Key, SectionElement> {
        let keys = _sections.current.keys
        guard index >= 0, index < keys.count else {
            misuse("Index \(index) is out of bounds (must be less than \(keys.count)).", .invalidInput)
            return ResultsSection(_sections, keys.first ?? Key._default())
        }
        return ResultsSection(_sections, keys[index])
    }

    public subscript(path: IndexPath) -> SectionElement { self[path.section][path.item] }
}

public struct ResultsSection<Key: _Persistable & Hashable, T: RealmCollectionValue>: RealmSectionedResult, Identifiable
{
    public typealias Element = T

    public let _sections: _Sections<Key, T>
    /// What its elements have in common.
    public let key: Key
    public var id: Key { key }
    public var _onlyKey: Key? { key }
    public static func _make(_ sections: _Sections<Key, T>, _ key: Key?) -> Self {
        Self(sections, key ?? Key._default())
    }

    init(_ sections: _Sections<Key, T>, _ key: Key) {
        _sections = sections
        self.key = key
    }

    private var positions: [Int] {
        let state = _sections.current
        return state.indexOfKey[key].map { state.members[$0] } ?? []
    }

    /// While no element has the key. The section is there again when one does.
    public var isInvalidated: Bool { _sections.base.isInvalidated || _sections.current.indexOfKey[key] == nil }
    public var endIndex: Int { positions.count }

    public subscript(index: Int) -> T {
        let positions = positions
        guard index >= 0, index < positions.count else {
            misuse("Index \(index) is out of bounds (must be less than \(positions.count)).", .invalidInput)
            return T._default()
        }
        return _sections.base[positions[index]]
    }
}

// MARK: Making them

extension RealmCollection {
    /// By what a block makes of each element, in the order of the descriptors, of which there must be one.
    public func sectioned<Key: _Persistable>(
        by block: @escaping (Element) -> Key, sortDescriptors: [SortDescriptor]
    ) -> SectionedResults<Key, Element> where Key: Hashable {
        if sortDescriptors.isEmpty {
            misuse("There must be at least one SortDescriptor when using SectionedResults.", .invalidInput)
        }
        return SectionedResults(_Sections(_sorted(sortDescriptors), block))
    }

    public func sectioned<Key: _Persistable>(
        sortDescriptors: [SortDescriptor], _ block: @escaping (Element) -> Key
    ) -> SectionedResults<Key, Element> where Key: Hashable { sectioned(by: block, sortDescriptors: sortDescriptors) }

    /// Of values: in their own order.
    public func sectioned<Key: _Persistable>(
        by block: @escaping (Element) -> Key, ascending: Bool = true
    ) -> SectionedResults<Key, Element> where Key: Hashable {
        SectionedResults(_Sections(_sorted([SortDescriptor(keyPath: "self", ascending: ascending)]), block))
    }

    /// The first descriptor must sort by the section key.
    package func _sectioned<Key: _Persistable & Hashable>(
        by path: String, _ keyOf: @escaping (Element) -> Key, _ sortDescriptors: [SortDescriptor]
    ) -> SectionedResults<Key, Element> {
        if let first = sortDescriptors.first, _columnPath(first.keyPath) != path {
            misuse(
                "The section key path '\(path)' must match the first sort descriptor's, "
                    + "'\(first.keyPath)'.", .invalidInput)
        }
        return sectioned(by: keyOf, sortDescriptors: sortDescriptors)
    }
}

extension RealmCollection where Element: ObjectBase {
    public func sectioned<Key: _Persistable>(
        by keyPath: KeyPath<Element, Key>, ascending: Bool = true
    ) -> SectionedResults<Key, Element> where Key: Hashable {
        sectioned(
            by: keyPath, sortDescriptors: [SortDescriptor(keyPath: _name(for: keyPath), ascending: ascending)])
    }

    public func sectioned<Key: _Persistable>(
        by keyPath: KeyPath<Element, Key>, sortDescriptors: [SortDescriptor]
    ) -> SectionedResults<Key, Element> where Key: Hashable {
        _sectioned(by: _name(for: keyPath), { $0[keyPath: keyPath] }, sortDescriptors)
    }
}

extension RealmCollection where Element: ProjectionObservable {
    public func sectioned<Key: _Persistable>(
        by keyPath: KeyPath<Element, Key>, ascending: Bool = true
    ) -> SectionedResults<Key, Element> where Key: Hashable {
        sectioned(
            by: keyPath, sortDescriptors: [SortDescriptor(keyPath: _name(for: keyPath), ascending: ascending)])
    }

    public func sectioned<Key: _Persistable>(
        by keyPath: KeyPath<Element, Key>, sortDescriptors: [SortDescriptor]
    ) -> SectionedResults<Key, Element> where Key: Hashable {
        _sectioned(by: _name(for: keyPath), { $0[keyPath: keyPath] }, sortDescriptors)
    }
}
