/// What is behind the `Realm` values of one thread, queue or actor and file: the engine's session, and the model
/// classes bound to its tables.
import Foundation
import MotteLiveObjects
import MotteNotifications
import MotteSchemaModel
import MotteStorage
import MotteValues

/// A model class with the columns of its properties in one file.
package final class ClassBinding: Sendable {
    /// A field and the number of its column; 0 for what the file does not have.
    struct Bound: Sendable {
        let field: ClassFields.Field
        let column: UInt32
    }

    package let table: TableKey
    package let objectType: ObjectType
    /// Of the class: see `ClassFields`.
    let isPlain: Bool
    let bound: [Bound]
    /// Where in an object its columns' numbers go.
    let slots: [(offset: Int, column: UInt32)]
    /// Collections declared with `let`, which exist before the object is managed.
    let bare: [Bound]
    /// Values that are written when a row is made.
    let scalars: [Bound]
    let scalarColumns: [ColumnKey]
    /// Where these are in an object; without references, so that going over them counts none.
    let places: [(offset: Int, common: CommonField?)]
    /// Links, collections and mixed values, which may need the row to be there.
    let late: [Bound]
    /// Of these, what may keep other objects alive.
    let linked: [Bound]

    init(_ type: ObjectBase.Type, _ stored: ObjectType, _ table: TableKey) {
        self.table = table
        objectType = stored
        isPlain = ClassFields.of(type).isPlain
        bound = ClassFields.of(type).fields.map { field in
            let property = stored.property(named: field.columnName)
            // Inverse links have no column; any number but 0 says that the object is managed.
            return Bound(field: field, column: property.map { $0.columnKey?.rawValue ?? RealmSession.computed } ?? 0)
        }
        slots = bound.filter { $0.field.access.isWrapper }.map { ($0.field.offset, $0.column) }
        bare = bound.filter { !$0.field.access.isWrapper }
        let written = bound.filter { $0.column != 0 && $0.column != RealmSession.computed }
        let isLate: (Bound) -> Bool = { bound in
            bound.field.isCollection || bound.field.shape.type == .link || bound.field.shape.type == .mixed
        }
        scalars = written.filter { !isLate($0) }
        scalarColumns = scalars.map { ColumnKey($0.column) }
        places = scalars.map { ($0.field.offset, $0.field.common) }
        late = written.filter(isLate)
        linked = late.filter { !$0.field.isCollection }
    }
}

/// What the managed objects of one class have in common, so that each of them refers to one thing.
package final class ObjectHome: @unchecked Sendable {
    // @unchecked: immutable, and whoever uses what it names is checked there.
    package let core: RealmSession
    /// The one that the objects came from, which the realm may have left.
    package let engine: Session
    package let table: TableKey
    /// nil for objects with properties by name.
    let binding: ClassBinding?
    /// nil for frozen objects.
    package let reads: UnsafeMutablePointer<CellReads>?

    init(_ core: RealmSession, _ engine: Session, _ table: TableKey, _ binding: ClassBinding?) {
        self.core = core
        self.engine = engine
        self.table = table
        self.binding = binding
        reads = engine.cellReads(of: table)
    }

    @inline(__always)
    func attach(_ object: ObjectBase, key: Int64, birth: UInt32) {
        if object._objectNotes != nil { object.keepHash() }
        object._objectHome = self
        object._objectRow = key
        object._objectBirth = birth
        object._objectReads = birth == 0 ? reads : nil
        guard let binding else { return }
        let base = Unmanaged.passUnretained(object).toOpaque()
        for slot in binding.slots { base.storeBytes(of: slot.column, toByteOffset: slot.offset, as: UInt32.self) }
        for bound in binding.bare { bound.field.access.bind(at: base + bound.field.offset, to: object, bound.column) }
    }
}

package final class RealmSession: @unchecked Sendable {
    // @unchecked: of a live one everything but the engine's session is only touched by whoever owns that session, which
    // its calls check; of a frozen one the mutable state is behind `frozenBindings`.
    @exclusivity(unchecked) package private(set) var session: Session
    package let configuration: Realm.Configuration
    package let confinement: Confinement
    /// Where callbacks run.
    package let place: DeliveryOwner
    private var bindings: [ObjectIdentifier: ClassBinding] = [:]
    @exclusivity(unchecked) private var lastBinding: (id: ObjectIdentifier, binding: ClassBinding)?
    private let frozenBindings = Locked<[ObjectIdentifier: ClassBinding]>([:])
    private struct HomeKey: Hashable {
        let type: ObjectIdentifier
        let table: TableKey
    }
    private struct WeakHome { weak var home: ObjectHome? }
    /// Kept by their objects, which keep this.
    private let homes = Locked<[HomeKey: WeakHome]>([:])
    /// Of the object that was attached last; its owner's alone, so never of a frozen session.
    @exclusivity(unchecked) private weak var lastHome: ObjectHome?
    /// How often in a row nobody kept it: then looking for one to share costs more than making another.
    @exclusivity(unchecked) private var lostHomes = 0
    private static let mostLostHomes = 8
    private var encoders: [_Encoder] = []
    /// Objects that are being added, from the first of a graph to the last.
    var addings = Addings()
    /// nil outside of calls that are all or nothing.
    var attachments: Attachments?
    /// A migration that failed goes on to its end, and what its block still does counts for nothing.
    var isLost = false
    /// While `create` goes over a value.
    var copies: Copies?
    /// Of the catalog that was asked last: others may change classes that this realm does not declare.
    private var tablesWithPrimaryKeys: (catalog: Catalog, tables: Set<TableKey>)?
    private weak var lastFrozen: RealmSession?
    /// By what others find it here; nil where nobody does.
    var sharing: RealmOpening.Key?
    /// nil where the configuration does not say which classes there are, or nobody has asked.
    private let declaredTypes = Locked<[NameKey: ObjectBase.Type]?>(nil)
    package var delivery: RealmDelivery?
    /// Takes back what waits for the place to turn for the first time.
    var deliveryStart: (() -> Void)?
    /// Its place has turned, while it was writing.
    var isDeliveryDue = false
    /// Queued writes of this realm, and what was begun on behalf of them.
    package var asyncWrites = AsyncWrites()
    package var autorefresh = true
    /// nil while nobody tracks.
    var tracking: PropertyTracking?
    /// While callbacks are notified of this realm's own commit.
    package var isCommitting = false
    /// What the block that is asked before commits threw.
    var commitRefusal: (any Swift.Error)?
    /// Blocks of the realm itself that want to be notified of versions it does not advance to.
    package var refreshObservers: [RefreshObserver] = []

    /// The number of properties that have no column.
    static let computed: UInt32 = 0x7FFF_FFFF

    package init(_ session: Session, _ configuration: Realm.Configuration, _ confinement: Confinement = .thread) {
        self.session = session
        self.configuration = configuration
        self.confinement = confinement
        place = DeliveryOwner(confinement)
    }

    deinit {
        if let sharing { RealmOpening.hasGone(self, sharing) }
        deliveryStart?()
        delivery?.end()
    }

    // MARK: Classes

    /// nil where the file does not have the class.
    package func binding(for type: ObjectBase.Type) -> ClassBinding? {
        let id = ObjectIdentifier(type)
        if session.isFrozen {
            if let known = frozenBindings.withLock({ $0[id] }) { return known }
            guard let made = makeBinding(type) else { return nil }
            frozenBindings.withLock { $0[id] = made }
            return made
        }
        if let lastBinding, lastBinding.id == id { return lastBinding.binding }
        guard let known = bindings[id] ?? makeBinding(type) else { return nil }
        bindings[id] = known
        lastBinding = (id, known)
        return known
    }

    private func makeBinding(_ type: ObjectBase.Type) -> ClassBinding? {
        // `requireBinding` says what the session refused.
        guard let schema = try? session.schema, let stored = schema[type.className()], let table = stored.tableKey
        else {
            return nil
        }
        return ClassBinding(type, stored, table)
    }

    package func requireBinding(for type: ObjectBase.Type) throws(DatabaseError) -> ClassBinding {
        if let binding = binding(for: type) { return binding }
        try session.check()
        throw DatabaseError(
            .unknownClass,
            "Object type '\(type.className())' is not managed by the Realm. If using a custom `objectClasses` / "
                + "`objectTypes` array in your configuration, add `\(type.className())` to the list of `objectTypes`.",
            className: type.className())
    }

    package func forgetClasses() {
        bindings = [:]
        lastBinding = nil
        (lastHome, lostHomes) = (nil, 0)
        homes.withLock { $0 = [:] }
        tablesWithPrimaryKeys = nil
    }

    func hasPrimaryKey(_ table: TableKey) -> Bool {
        // Of a session that is closed or another thread's, nothing is equal by its key, and nothing is kept of that.
        guard let catalog = try? session.source().catalog else { return false }
        // Several threads may ask a frozen one, so that nothing is kept there.
        if session.isFrozen { return catalog.table(table)?.primaryKey != nil }
        if let known = tablesWithPrimaryKeys, known.catalog === catalog { return known.tables.contains(table) }
        let found = Set(catalog.tables.compactMap { $0.primaryKey != nil ? $0.key : nil })
        tablesWithPrimaryKeys = (catalog, found)
        return found.contains(table)
    }

    /// The program's class for a table, if it has one.
    func swiftType(of table: TableKey) -> ObjectBase.Type? {
        // Without a schema to look in, the stored class stands for itself.
        guard let name = try? session.schema[table]?.name else { return nil }
        return swiftType(named: name)
    }

    /// Of those that the realm is opened with: several classes may be stored under one name, such as those of different
    /// versions of a program.
    func swiftType(named name: String) -> ObjectBase.Type? {
        guard let types = configuration.objectTypes else { return ClassDiscovery.type(named: name) }
        return declaredTypes.withLock { known in
            let found = known ?? Dictionary(types.map { (NameKey($0.className()), $0) }) { $1 }
            known = found
            return found[NameKey(name)]
        }
    }

    /// Whether objects of both are the same stored ones: one session, or one version of one file.
    func isSameVersion(as other: RealmSession) -> Bool {
        if self === other { return true }
        guard session.isFrozen, other.session.isFrozen, session.hasSameFile(as: other.session),
            // What is closed is equal to nothing.
            let version = try? session.version
        else { return false }
        // As above.
        return version == (try? other.session.version)
    }

    // MARK: Objects

    /// nil where the object is gone.
    package func object<T: ObjectBase>(_ link: ObjectLink, as type: T.Type) -> T? {
        guard let live = attempt(or: nil, { () throws(DatabaseError) in try session.object(link.table, at: link.key) })
        else { return nil }
        return object(live, as: type)
    }

    @inline(__always)
    package func object<T: ObjectBase>(_ live: LiveObject, as type: T.Type) -> T {
        let object = type.init()
        attach(object, to: live)
        return object
    }

    /// One of many that are known to exist.
    @inline(__always)
    func object<T: ObjectBase>(_ key: Int64, at home: ObjectHome, as type: T.Type) -> T {
        let object = type.init()
        home.attach(object, key: key, birth: 0)
        return object
    }

    /// As the program's class, or as an object with properties by name.
    package func anyObject(_ live: LiveObject) -> ObjectBase {
        object(live, as: swiftType(of: live.table) ?? DynamicObject.self)
    }

    package func attach(_ object: ObjectBase, to live: LiveObject) {
        home(of: Swift.type(of: object), live.table, live.session).attach(
            object, key: live.key.rawValue, birth: live.birth)
    }

    /// The same for objects that are added one after the other, and perhaps kept by nobody.
    func attach(added object: ObjectBase, to live: LiveObject, _ binding: ClassBinding) {
        let home: ObjectHome
        if let last = lastHome, last.binding === binding, last.engine === live.session {
            home = last
            lostHomes = 0
        } else {
            lostHomes &+= 1
            if lostHomes & (Self.mostLostHomes &- 1) == 1 {
                home = self.home(of: Swift.type(of: object), live.table, live.session)
                lastHome = home
            } else {
                home = ObjectHome(self, live.session, live.table, binding)
            }
        }
        home.attach(object, key: live.key.rawValue, birth: live.birth)
    }

    package func home(of type: ObjectBase.Type, _ table: TableKey, _ engine: Session) -> ObjectHome {
        let key = HomeKey(type: ObjectIdentifier(type), table: table)
        if let known = homes.withLock({ $0[key]?.home }), known.engine === engine { return known }
        let made = ObjectHome(self, engine, table, binding(for: type))
        homes.withLock { $0[key] = WeakHome(home: made) }
        return made
    }

    // MARK: Encoding

    package func withEncoder<Result>(
        policy: MotteLiveObjects.UpdatePolicy = .error, _ body: (_Encoder) throws(DatabaseError) -> Result
    ) throws(DatabaseError) -> Result {
        let encoder = encoders.popLast() ?? _Encoder(self)
        encoder.policy = policy
        defer {
            encoder.reset()
            encoders.append(encoder)
        }
        return try body(encoder)
    }

    // MARK: Versions

    /// Ends everything that came out of this session and goes on with a new one; a frozen one ends for good. Not while
    /// callbacks run, whose objects it would take away.
    package func invalidate() throws {
        guard session.hook?.isDelivering != true, !session.callsFunction else { return }
        if session.isInWrite { try session.cancel() }
        guard !session.isFrozen else { return _ = try session.close() }
        try makeDurable()
        endAsyncWrites()
        delivery?.end()
        delivery = nil
        isDeliveryDue = false
        // Before the old one is closed, with which a database in memory might go.
        let next = try RealmOpening.openSession(configuration, confinement)
        tracking = nil
        _ = try session.close()
        session = next
        forgetClasses()
        startDeliveryWhenItsPlaceTurns()
    }

    package func frozen() throws(DatabaseError) -> RealmSession {
        if session.isFrozen { return self }
        // In a write that is the version it began with.
        let version = try session.version
        // Another thread may close it, and it has no version then.
        if let known = lastFrozen, (try? known.session.version) == version, known.session.hasLimits(of: session) {
            return known
        }
        let made = RealmSession(try session.freeze(), configuration)
        lastFrozen = made
        return made
    }
}
