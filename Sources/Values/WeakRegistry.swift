/// The objects of this process that are shared by a key, such as that of a file, for as long as anybody has one.
///
/// An object takes itself out when it goes. Nobody looks through the others to find those that have gone: looking at a
/// weak reference keeps the object for that moment, and who let go of it last would not have been the one to end it.
/// A file that its user has closed could so be open a little longer.
package final class WeakRegistry<Key: Hashable & Sendable, Object: AnyObject & Sendable>: Sendable {
    /// As a struct, looking it up crashed in its weak reference (Swift 6.3).
    private final class Entry: @unchecked Sendable {  // @unchecked: only touched holding the lock
        weak var object: Object?
        /// Of the object, also when nothing refers to it any more.
        let identity: ObjectIdentifier

        init(_ object: Object) {
            self.object = object
            identity = ObjectIdentifier(object)
        }
    }

    private let entries = Locked<[Key: Entry]>(ofProcess: [:])

    package init() {}

    package subscript(key: Key) -> Object? { entries.withLock { $0[key]?.object } }

    /// The one that there is, or another, which takes its place.
    package func object(_ key: Key, orMade make: () -> Object) -> Object {
        entries.withLock { entries in
            if let known = entries[key]?.object { return known }
            let made = make()
            entries[key] = Entry(made)
            return made
        }
    }

    /// In place of one that there may be.
    package func set(_ key: Key, _ object: Object) {
        entries.withLock { $0[key] = Entry(object) }
    }

    /// What an object does that goes. Another may have its place by then.
    package func remove(_ key: Key, _ object: Object) {
        let identity = ObjectIdentifier(object)
        entries.withLock { entries in
            if entries[key]?.identity == identity { entries[key] = nil }
        }
    }

    /// For tests.
    package var count: Int { entries.withLock(\.count) }
}
