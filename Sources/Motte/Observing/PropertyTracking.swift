/// `withObservationTracking` on managed objects: properties that are read inside are tracked, and a change of one of
/// them, by this realm, another thread or another process, notifies when the realm shows it.
///
/// Nothing is tracked, and nothing costs anything, but within the function below, which stands for the one of the
/// `Observation` module wherever Motte is imported, or after `Realm.trackObservation()`. The realm keeps for each
/// property that was read its value, and for each collection its elements (of objects their keys), and compares when it
/// moves. It notifies of those that differ and drops them; who wants more reads again, as `withObservationTracking`
/// has it.
import MotteLiveObjects
import MotteValues
import Observation

extension ObjectBase: Observable {}

/// What `Observation.withObservationTracking` does, with Motte's objects seen by it.
public func withObservationTracking<T>(
    _ apply: () -> T, onChange: @autoclosure () -> @Sendable () -> Void
) -> T {
    Observation.withObservationTracking({ ReadTracking.during(apply) }, onChange: onChange())
}

extension Realm {
    /// For programs that track through something else than `withObservationTracking`, such as `Observations` or a
    /// user interface: managed objects take part from now on, in everything that
    /// reads them. It makes reading slower for good.
    public static func trackObservation() { ReadTracking.always() }
}

/// The tracked properties of one realm; belongs to the realm's owner.
package final class PropertyTracking {
    private struct Key: Hashable {
        let link: ObjectLink
        let column: ColumnKey
    }

    private final class Property: Observable {
        let registrar = ObservationRegistrar()
        let object: LiveObject
        let column: ColumnKey
        let value: Value

        init(_ object: LiveObject, _ column: ColumnKey, _ value: Value) {
            self.object = object
            self.column = column
            self.value = value
        }

        func wasRead() { registrar.access(self, keyPath: \.value) }
        func hasChanged() { registrar.withMutation(of: self, keyPath: \.value) {} }
    }

    /// What a collection consists of: elements that are objects are tracked by what is read of them.
    private enum Contents: Equatable {
        case gone
        case objects([Int64])
        case values([Value])

        init(_ collection: LiveCollection) {
            do throws(DatabaseError) {
                guard try collection.exists() else {
                    self = .gone
                    return
                }
                if collection.target != nil, !collection.isElementNullable {
                    self = .objects(try collection.keys())
                    return
                }
                var values: [Value] = []
                for index in 0 ..< (try collection.count()) {
                    if let map = collection as? LiveMap { values.append(.string(try map.keyText(at: index))) }
                    values.append(try collection.value(at: index).owned)
                }
                self = .values(values)
            } catch {
                self = .gone
            }
        }
    }

    /// Lists, sets and maps by their places, the others by themselves.
    private enum Place: Hashable {
        case property(ObjectLink, ColumnKey)
        case itself(ObjectIdentifier)

        init(_ collection: LiveCollection) {
            if let elements = collection as? LiveElements {
                self = .property(elements.owner.link, elements.column)
            } else {
                self = .itself(ObjectIdentifier(collection))
            }
        }
    }

    private final class Collection: Observable {
        let registrar = ObservationRegistrar()
        let live: LiveCollection
        let contents: Contents

        init(_ live: LiveCollection) {
            self.live = live
            contents = Contents(live)
        }

        func wasRead() { registrar.access(self, keyPath: \.contents) }
        func hasChanged() { registrar.withMutation(of: self, keyPath: \.contents) {} }
    }

    private var collections: [Place: Collection] = [:]
    private var properties: [Key: Property] = [:]
    private var token: NotificationToken?
    /// Nobody says when tracking has ended without a change. Beyond this many, all are reported as changed.
    private static let limit = 10_000

    func noteRead(_ object: LiveObject, _ column: ColumnKey, _ value: ValueView, _ session: RealmSession) {
        guard !session.session.isFrozen else { return }
        let key = Key(link: object.link, column: column)
        if let known = properties[key] { return known.wasRead() }
        if properties.count >= Self.limit { tellAll() }
        let property = Property(object, column, value.owned)
        properties[key] = property
        property.wasRead()
        start(session)
    }

    func noteRead(_ live: LiveCollection, _ session: RealmSession) {
        guard !live.isFrozen else { return }
        let place = Place(live)
        if let known = collections[place] { return known.wasRead() }
        if collections.count >= Self.limit { tellAll() }
        let collection = Collection(live)
        collections[place] = collection
        collection.wasRead()
        start(session)
    }

    /// Observing cannot begin in a write; the end of the write begins it then.
    private func start(_ session: RealmSession) {
        guard token == nil, !session.session.isInWrite else { return }
        token = session.versions { [weak self] in self?.compare() }
    }

    func writeHasEnded(_ session: RealmSession) {
        guard token == nil else { return }
        start(session)
        compare()
    }

    private func compare() {
        for (key, property) in properties {
            // What cannot be read any more has changed.
            let now = try? property.object.get(property.column)
            if let now, now.owned == property.value { continue }
            properties[key] = nil
            property.hasChanged()
        }
        for (place, collection) in collections where Contents(collection.live) != collection.contents {
            collections[place] = nil
            collection.hasChanged()
        }
    }

    private func tellAll() {
        let (known, seen) = (properties.values, collections.values)
        properties = [:]
        collections = [:]
        for property in known { property.hasChanged() }
        for collection in seen { collection.hasChanged() }
    }
}

extension RealmSession {
    /// Only called where reads are tracked.
    @inline(never)
    func noteRead(_ object: LiveObject, _ column: UInt32, _ value: ValueView) {
        madeTracking().noteRead(object, ColumnKey(column), value, self)
    }

    @inline(never)
    fileprivate func noteRead(_ collection: LiveCollection) { madeTracking().noteRead(collection, self) }

    private func madeTracking() -> PropertyTracking {
        let known = tracking ?? PropertyTracking()
        tracking = known
        return known
    }
}

extension _CollectionHandle {
    /// Itself, noted to be read where reads are tracked.
    @inline(__always)
    var noted: _CollectionHandle {
        if ReadTracking.isOn { session.noteRead(live) }
        return self
    }
}
