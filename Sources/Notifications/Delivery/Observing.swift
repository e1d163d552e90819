/// `observe` on everything live. Without a callback, changes are fetched with `Observation.next()`. Key paths narrow
/// what counts as a modification (`KeyPathFilter`); a path that names no property is `.unknownProperty`.
///
/// Beginning to observe inside a write is `.alreadyInWrite`, of frozen things `.frozen`.
import MotteLiveObjects
import MotteValues

extension Session {
    /// Notifies of every version the session advances to.
    package func observe(_ callback: Observation.Callback? = nil) throws(DatabaseError) -> Observation {
        try SessionObservers.checkCanObserve(self)
        return try register(try VersionObserver(self), callback)
    }

    /// Commits without telling some observations of this session, whose owners show the changes already. Commits by
    /// others that are delivered with this one reach them nevertheless.
    @discardableResult
    package func commit(skipping tokens: [Observation]) throws(DatabaseError) -> Version {
        _ = try requireWrite()
        return try SessionObservers.of(self).commit(skipping: tokens)
    }

    func register(
        _ observer: Observer, _ callback: Observation.Callback?
    ) throws(DatabaseError) -> Observation {
        let observers = try SessionObservers.of(self)
        let token = Observation(observer, callback: callback)
        observers.add(token)
        return token
    }
}

extension LiveObject {
    /// Notifies of changed properties and of the deletion of the object. Without key paths, of its own properties.
    package func observe(
        keyPaths: [String]? = nil, _ callback: Observation.Callback? = nil
    ) throws(DatabaseError) -> Observation {
        try SessionObservers.checkCanObserve(session)
        guard try exists() else {
            throw DatabaseError(.objectDeleted, "this object has been deleted and cannot be observed")
        }
        let filter = try keyPaths.map { paths throws(DatabaseError) in
            try KeyPathFilter(paths, from: .of(table), try session.schema)
        }
        return try session.register(try ObjectObserver(self, filter), callback)
    }
}

extension LiveCollection {
    /// Notifies of changes to the collection; the first change set is the initial state. Without key paths, everything
    /// that an element reaches over a few links counts as its modification.
    package func observe(
        keyPaths: [String]? = nil, _ callback: Observation.Callback? = nil
    ) throws(DatabaseError) -> Observation {
        try checkCanObserve()
        return try session.register(try observer(try filter(keyPaths)), callback)
    }

    fileprivate func checkCanObserve() throws(DatabaseError) {
        try SessionObservers.checkCanObserve(session)
        guard try exists() else {
            throw DatabaseError(.objectDeleted, "the object that this collection belongs to has been deleted")
        }
    }

    func filter(_ keyPaths: [String]?) throws(DatabaseError) -> KeyPathFilter? {
        guard let keyPaths else { return nil }
        let elements: KeyPathFilter.Elements =
            if elementType == .mixed { .ofAnyClass } else if let target { .of(target) } else { .values }
        return try KeyPathFilter(keyPaths, from: elements, try session.schema)
    }

    func observer(_ filter: KeyPathFilter?) throws(DatabaseError) -> CollectionObserver {
        if let list = self as? LiveList { return try ListObserver(list, filter) }
        if let set = self as? LiveSet { return try ListObserver(set, filter) }
        if let map = self as? LiveMap { return try MapObserver(map, filter) }
        if let nested = self as? LiveNested { return try NestedObserver(nested, filter) }
        if let backlinks = self as? LiveBacklinks { return try BacklinksObserver(backlinks, filter) }
        if let results = self as? LiveResults, let target {
            return try ResultsObserver(results, target: target, filter)
        }
        return try ValuesObserver(self, filter)
    }
}

extension LiveGroups {
    /// Notifies which groups came, went or have other values, by their places among the groups before and after; the
    /// first change set is the initial state.
    package func observe(_ callback: Observation.Callback? = nil) throws(DatabaseError) -> Observation {
        try base.checkCanObserve()
        return try session.register(try GroupsObserver(self), callback)
    }
}

extension LiveSections {
    /// Notifies of changes to sections and their elements; the first change set is the initial state.
    package func observe(
        keyPaths: [String]? = nil, _ callback: Observation.Callback? = nil
    ) throws(DatabaseError) -> Observation {
        try observe(nil, keyPaths, callback)
    }

    fileprivate func observe(
        _ key: SectionLayout.Key?, _ keyPaths: [String]?, _ callback: Observation.Callback?
    ) throws(DatabaseError) -> Observation {
        try base.checkCanObserve()
        return try session.register(
            try SectionsObserver(self, only: key, try base.filter(keyPaths)), callback)
    }
}

extension LiveSection {
    /// Notifies of changes to the elements with its key, and when the section is inserted or deleted; not when it moves
    /// as a whole.
    package func observe(
        keyPaths: [String]? = nil, _ callback: Observation.Callback? = nil
    ) throws(DatabaseError) -> Observation {
        try sections.observe(key, keyPaths, callback)
    }
}
