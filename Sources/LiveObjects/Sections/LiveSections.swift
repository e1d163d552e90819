/// A collection in sections: elements with the same key together, sections in the order of their first element; follows
/// its session.
///
/// Keys are computed on the first look and kept until the session's view epoch moves; an observer of the sections keeps
/// them up to date in between. Frozen sections belong to every thread.
import CMotteShim
import MotteSchemaModel
import MotteStorage
import MotteValues

package final class LiveSections {
    package let base: LiveCollection
    package let key: SectionKey
    private let cached: EpochCache<SectionLayout>
    /// Threads that compute keys just now.
    private let computing = Locked<Set<UInt64>>([])

    package init(_ base: LiveCollection, by key: SectionKey) {
        self.base = base
        self.key = key
        cached = EpochCache(base.session)
    }

    package var session: Session { base.session }
    package func exists() throws(DatabaseError) -> Bool { try base.exists() }

    /// The sections as the session shows them.
    package func layout() throws(DatabaseError) -> SectionLayout {
        try session.check()
        if let known = cached.peek(session) { return known }
        let made = try evaluate()
        cached.put(made, session)
        return made
    }

    /// For whoever has computed them another way.
    package func install(_ layout: SectionLayout) { cached.put(layout, session) }

    private func evaluate() throws(DatabaseError) -> SectionLayout {
        try computingKeys { () throws(DatabaseError) in
            let count = try base.exists() ? base.count() : 0
            var builder = SectionLayoutBuilder(capacity: count)
            for index in 0 ..< count { builder.append(try keyValue(at: index)) }
            return builder.finish()
        }
    }

    /// The sections after a change of which all is known: what the elements that stayed had before, and new keys for
    /// those at `candidates`, new positions that ascend.
    package func patched(
        _ old: SectionLayout, _ candidates: [Int], oldPosition: (Int) -> Int
    ) throws(DatabaseError) -> SectionLayout {
        try computingKeys { () throws(DatabaseError) in
            let count = try base.count()
            var builder = SectionLayoutBuilder(capacity: count)
            var position = 0
            for candidate in candidates {
                builder.copy(position ..< candidate, of: old, oldPosition: oldPosition)
                builder.append(try keyValue(at: candidate))
                position = candidate + 1
            }
            builder.copy(position ..< count, of: old, oldPosition: oldPosition)
            return builder.finish()
        }
    }

    /// A function of the program can only read: what it would change, or refresh, is not what the positions are of.
    private func keyValue(at index: Int) throws(DatabaseError) -> Value {
        guard key.path == nil else { return try key.value(base, at: index) }
        return try session.reading(in: "a section's key function") { () throws(DatabaseError) in
            try key.value(base, at: index)
        }
    }

    /// A function that looks at the sections it is computing would never end.
    private func computingKeys(
        _ body: () throws(DatabaseError) -> SectionLayout
    ) throws(DatabaseError) -> SectionLayout {
        let thread = motte_shim_thread_serial()
        guard computing.withLock({ $0.insert(thread).inserted }) else {
            throw DatabaseError(.reentrant, "a section's key cannot depend on the sections")
        }
        defer { _ = computing.withLock { $0.remove(thread) } }
        return try body()
    }

    // MARK: Looking

    package func count() throws(DatabaseError) -> Int { try layout().count }

    package func key(at section: Int) throws(DatabaseError) -> Value {
        let layout = try layout()
        guard section >= 0, section < layout.count else { throw outOfBounds(section, layout.count) }
        return layout.keys[section].value
    }

    /// The section, which goes on standing for its key wherever it moves to.
    package func section(at index: Int) throws(DatabaseError) -> LiveSection {
        let layout = try layout()
        guard index >= 0, index < layout.count else { throw outOfBounds(index, layout.count) }
        return LiveSection(self, layout.keys[index])
    }

    /// Whether or not there is a section with that key now.
    package func section(for key: Value) -> LiveSection { LiveSection(self, SectionLayout.Key(key)) }

    package func find(_ key: Value) throws(DatabaseError) -> Int? { try layout().find(SectionLayout.Key(key)) }

    /// The position in the collection of an element of a section.
    package func position(_ section: Int, _ item: Int) throws(DatabaseError) -> Int {
        let layout = try layout()
        guard section >= 0, section < layout.count else { throw outOfBounds(section, layout.count) }
        let count = layout.count(in: section)
        guard item >= 0, item < count else { throw base.outOfBounds(item, count) }
        let positions = layout.positions(in: section)
        return positions[positions.startIndex + item]
    }

    /// Where an element of the collection is.
    package func place(_ position: Int) throws(DatabaseError) -> (section: Int, item: Int) {
        let layout = try layout()
        guard position >= 0, position < layout.sectionOf.count else {
            throw base.outOfBounds(position, layout.sectionOf.count)
        }
        return layout.place(position)
    }

    private func outOfBounds(_ index: Int, _ count: Int) -> DatabaseError {
        DatabaseError(.outOfBounds, "there is no section \(index); there are \(count)")
    }

    // MARK: Elsewhere

    package func freeze() throws(DatabaseError) -> LiveSections {
        let frozen = try session.sharedFrozen()
        return frozen === session ? self : try self.frozen(in: frozen)
    }

    /// The same sections in `frozen`, the frozen counterpart of their session.
    func frozen(in frozen: Session) throws(DatabaseError) -> LiveSections {
        let same = LiveSections(try base.frozen(in: frozen), by: key)
        // A function belongs to the session's thread, which this still is.
        if key.path == nil { same.install(session.isInWrite ? try same.layout() : try layout()) }
        return same
    }

    package func moved(to other: Session) throws(DatabaseError) -> LiveSections? {
        try base.moved(to: other).map { LiveSections($0, by: key) }
    }
}

extension LiveCollection {
    package func sectioned(by key: SectionKey) -> LiveSections { LiveSections(self, by: key) }

    package func sectioned(by path: String, part: SectionKey.Part = .whole) throws(DatabaseError) -> LiveSections {
        LiveSections(self, by: try SectionKey(path: path, part: part, of: self))
    }
}

/// One section by its key. There may be none with that key just now: then it has no elements and no index.
package final class LiveSection {
    package let sections: LiveSections
    package let key: SectionLayout.Key

    init(_ sections: LiveSections, _ key: SectionLayout.Key) {
        self.sections = sections
        self.key = key
    }

    package var base: LiveCollection { sections.base }

    /// Where it is now.
    package func index() throws(DatabaseError) -> Int? { try sections.layout().find(key) }

    /// Positions of its elements in the collection.
    func positions() throws(DatabaseError) -> ArraySlice<Int> {
        let layout = try sections.layout()
        return layout.find(key).map { layout.positions(in: $0) } ?? []
    }

    /// Only of values.
    func value(at index: Int) throws(DatabaseError) -> ValueView {
        let positions = try positions()
        return try base.value(at: positions[positions.startIndex + index])
    }

    /// Its elements as results that can be filtered and sorted in turn.
    package func results() -> LiveResults { LiveResults(base.session, source: .section(self), stages: []) }
}
