/// `observe` on everything live. Without a callback, changes are fetched with `Observation.next()`.
///
/// Beginning to observe inside a write is `.alreadyInWrite`, of frozen things `.frozen`.
import MotteLiveObjects
import MotteValues

extension Session {
    /// Hears of every version the session moves to.
    package func observe(_ callback: Observation.Callback? = nil) throws(DatabaseError) -> Observation {
        try SessionObservers.checkCanObserve(self)
        return try register(try VersionObserver(self), callback)
    }

    fileprivate func register(
        _ observer: Observer, _ callback: Observation.Callback?
    ) throws(DatabaseError) -> Observation {
        let observers = try SessionObservers.of(self)
        let token = Observation(observer, callback: callback)
        observers.add(token)
        return token
    }
}

extension LiveObject {
    /// Hears of changed properties and of the deletion of the object.
    package func observe(_ callback: Observation.Callback? = nil) throws(DatabaseError) -> Observation {
        try SessionObservers.checkCanObserve(session)
        guard try exists() else {
            throw DatabaseError(.objectDeleted, "this object has been deleted and cannot be observed")
        }
        return try session.register(try ObjectObserver(self), callback)
    }
}

extension LiveCollection {
    /// Hears of changes to the collection; the first change set is the initial state.
    package func observe(_ callback: Observation.Callback? = nil) throws(DatabaseError) -> Observation {
        try SessionObservers.checkCanObserve(session)
        guard isValid else {
            throw DatabaseError(.objectDeleted, "the object that this collection belongs to has been deleted")
        }
        return try session.register(try observer(), callback)
    }

    private func observer() throws(DatabaseError) -> Observer {
        if let list = self as? LiveList { return try ListObserver(list) }
        if let set = self as? LiveSet { return try ListObserver(set) }
        if let map = self as? LiveMap { return try MapObserver(map) }
        if let nested = self as? LiveNested { return try NestedObserver(nested) }
        if let backlinks = self as? LiveBacklinks { return try BacklinksObserver(backlinks) }
        if let results = self as? LiveResults, let target { return try ResultsObserver(results, target: target) }
        return try ValuesObserver(self)
    }
}
