/// Changing a managed list, wherever it is: a property's, or one inside a mixed value.
///
/// Elements are encoded first, which adds unmanaged objects to the realm; embedded objects are made in their place.
import Foundation
import MotteLiveObjects
import MotteSchemaModel
import MotteValues

struct ManagedList {
    let handle: _CollectionHandle
    private var live: LiveCollection { handle.live }
    private var session: RealmSession { handle.session }

    /// Fails before anything is encoded, because encoding adds objects.
    private func requireWrite() throws(DatabaseError) { _ = try live.session.requireWrite() }

    var isEmbedded: Bool {
        // Of a session that cannot be asked; changing the collection says why.
        guard let target = live.target, let schema = try? live.session.schema else { return false }
        return schema[target]?.isEmbedded ?? false
    }

    func insert<Element: RealmCollectionValue>(
        _ elements: some Collection<Element>, at index: Int, policy: MotteLiveObjects.UpdatePolicy = .error
    ) throws(DatabaseError) {
        try whole(Element.self) { () throws(DatabaseError) in try insertAll(elements, at: index, policy: policy) }
    }

    private func insertAll<Element: RealmCollectionValue>(
        _ elements: some Collection<Element>, at index: Int, policy: MotteLiveObjects.UpdatePolicy
    ) throws(DatabaseError) {
        try requireWrite()
        let count = try live.count()
        guard index >= 0, index <= count else { throw Self.outOfBounds(index, count + 1) }
        if let list = live as? LiveList, isEmbedded {
            for (offset, element) in elements.enumerated() {
                let object = try embedded(element)
                try session.fill(object, try list.embeddedInsert(at: index + offset), policy: policy)
            }
            return
        }
        try session.withEncoder(policy: policy) { encoder throws(DatabaseError) in
            for element in elements { element._encode(encoder) }
            if let list = live as? LiveList {
                try list.insert(Array(encoder.checkedRows()), at: index)
            } else if let nested = live as? LiveNested {
                for (offset, view) in try encoder.checkedRows().enumerated() {
                    try nested.insert(view.owned, at: index + offset)
                }
            }
        }
    }

    /// Elements that may add objects, or be refused when some are there: then none is.
    private func whole<Element: RealmCollectionValue>(
        _ type: Element.Type, _ body: () throws(DatabaseError) -> Void
    ) throws(DatabaseError) {
        let kind = Element._shape.type
        if kind == .link || kind == .mixed { try session.whole(body) } else { try body() }
    }

    /// All of them or none.
    func remove(_ offsets: IndexSet) throws(DatabaseError) {
        try requireWrite()
        if let last = offsets.last, last >= (try live.count()) { throw Self.outOfBounds(last, try live.count()) }
        for range in offsets.rangeView.reversed() { try remove(at: range.lowerBound, count: range.count) }
    }

    /// All of them or none.
    func move(
        _ offsets: IndexSet, to destination: Int, _ places: [(from: Int, to: Int)]
    ) throws(DatabaseError) {
        try requireWrite()
        let count = try live.count()
        if let last = offsets.last, last >= count { throw Self.outOfBounds(last, count) }
        guard destination >= 0, destination <= count else { throw Self.outOfBounds(destination, count + 1) }
        for place in places { try move(from: place.from, to: place.to) }
    }

    /// Elements in place of others, or, where one of them is refused, nothing.
    func replace<Element: RealmCollectionValue>(
        _ range: Range<Int>, with elements: [Element]
    ) throws(DatabaseError) {
        try requireWrite()
        let count = try live.count()
        guard range.lowerBound >= 0, range.upperBound <= count else {
            throw Self.outOfBounds(range.lowerBound < 0 ? range.lowerBound : range.upperBound, count)
        }
        try session.whole { () throws(DatabaseError) in
            // Elements of this very list may be put in again.
            try insertAll(elements, at: range.upperBound, policy: .error)
            if !range.isEmpty { try remove(at: range.lowerBound, count: range.count) }
        }
    }

    func set<Element: RealmCollectionValue>(_ element: Element, at index: Int) throws(DatabaseError) {
        try whole(Element.self) { () throws(DatabaseError) in try put(element, at: index) }
    }

    private func put<Element: RealmCollectionValue>(_ element: Element, at index: Int) throws(DatabaseError) {
        try requireWrite()
        let count = try live.count()
        guard index >= 0, index < count else { throw Self.outOfBounds(index, count) }
        if let list = live as? LiveList, isEmbedded {
            let object = try embedded(element)
            return try session.fill(object, try list.embeddedSet(at: index), policy: .error)
        }
        try session.withEncoder { encoder throws(DatabaseError) in
            element._encode(encoder)
            try encoder.withView { view throws(DatabaseError) in
                if let list = live as? LiveList {
                    try list.set(index, to: view)
                } else if let nested = live as? LiveNested {
                    try nested.set(index, to: view.owned)
                }
            }
        }
    }

    func remove(at index: Int, count: Int = 1) throws(DatabaseError) {
        try requireWrite()
        let size = try live.count()
        guard index >= 0, index + count <= size else { throw Self.outOfBounds(index, size) }
        if count == 0 { return }
        if let list = live as? LiveList { try list.remove(at: index, count: count) }
        if let nested = live as? LiveNested { try nested.remove(at: index, count: count) }
    }

    func clear() throws(DatabaseError) {
        try requireWrite()
        if let list = live as? LiveList { try list.clear() }
        if let nested = live as? LiveNested { try nested.clear() }
    }

    private func check(_ indexes: Int...) throws(DatabaseError) {
        let count = try live.count()
        for index in indexes where index < 0 || index >= count { throw Self.outOfBounds(index, count) }
    }

    func move(from index: Int, to target: Int) throws(DatabaseError) {
        try requireWrite()
        try check(index, target)
        if let list = live as? LiveList { try list.move(from: index, to: target) }
        if let nested = live as? LiveNested { try nested.move(from: index, to: target) }
    }

    func swap(_ index: Int, _ other: Int) throws(DatabaseError) {
        try requireWrite()
        try check(index, other)
        if let list = live as? LiveList { return try list.swap(index, other) }
        guard let nested = live as? LiveNested, index != other else { return }
        let (low, high) = (min(index, other), max(index, other))
        try nested.move(from: low, to: high)
        try nested.move(from: high - 1, to: low)
    }

    /// Makes the list consist of these, which are not its own.
    func assign<Element: RealmCollectionValue>(
        _ elements: [Element], policy: MotteLiveObjects.UpdatePolicy
    ) throws(DatabaseError) {
        try whole(Element.self) { () throws(DatabaseError) in try assignAll(elements, policy: policy) }
    }

    private func assignAll<Element: RealmCollectionValue>(
        _ elements: [Element], policy: MotteLiveObjects.UpdatePolicy
    ) throws(DatabaseError) {
        try requireWrite()
        if policy == .modified, let list = live as? LiveList, isEmbedded { return try update(list, to: elements) }
        guard let list = live as? LiveList, !isEmbedded else {
            try clear()
            return try insert(elements, at: 0, policy: policy)
        }
        try session.withEncoder(policy: policy) { encoder throws(DatabaseError) in
            for element in elements { element._encode(encoder) }
            try list.assign(Array(encoder.checkedRows()), policy: policy)
        }
    }

    /// Embedded objects get the new values where they are, so that who has them sees these.
    private func update<Element: RealmCollectionValue>(
        _ list: LiveList, to elements: [Element]
    ) throws(DatabaseError) {
        let old = try list.count()
        for (index, element) in elements.enumerated() {
            guard index < old else {
                try insert(CollectionOfOne(element), at: index, policy: .modified)
                continue
            }
            let link = try list.value(at: index).linkValue
            if let own = element._linkedObject?.live, own.session === live.session, own.link == link { continue }
            let object = try embedded(element)
            let own = try session.session.object(link.table, at: link.key)
            let live = if let own { own } else { try list.embeddedSet(at: index) }
            try session.fill(object, live, policy: .modified, isNew: false)
        }
        if old > elements.count { try list.remove(at: elements.count, count: old - elements.count) }
    }

    func embedded(_ element: some RealmCollectionValue) throws(DatabaseError) -> ObjectBase {
        guard let object = element._linkedObject else {
            throw DatabaseError(.nullNotAllowed, "Invalid value 'nil': this collection holds no null")
        }
        try session.checkIsUnmanaged(object, for: "List")
        return object
    }

    static func outOfBounds(_ index: Int, _ limit: Int) -> DatabaseError {
        DatabaseError(
            .outOfBounds,
            index < 0
                ? "Cannot pass a negative value for 'index': \(index) is out of bounds."
                : "Index \(index) is out of bounds (must be less than \(limit)).")
    }
}
