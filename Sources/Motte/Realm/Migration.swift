/// What a migration block works with: the objects as they were beside the objects as they become.
///
/// What the block does and the new schema become one commit; an error leaves the file as it was.
import Foundation
import MotteLiveObjects
import MotteSchemaModel
import MotteValues

/// Gets an object as it was and as it becomes; nil on the side that does not have its class.
public typealias MigrationObjectEnumerateBlock = (_ oldObject: MigrationObject?, _ newObject: MigrationObject?) -> Void

/// What a migration block changes: objects as they were and as they become. Valid for the length of the block.
public final class Migration {
    private let engine: MotteLiveObjects.Migration
    private let old: RealmSession
    private let new: RealmSession
    private init(_ engine: MotteLiveObjects.Migration, _ configuration: Realm.Configuration) {
        self.engine = engine
        old = RealmSession(engine.old, configuration)
        new = RealmSession(engine.new, configuration)
    }

    static func run(
        _ engine: MotteLiveObjects.Migration, _ configuration: Realm.Configuration
    ) throws(DatabaseError) {
        guard let block = configuration.migrationBlock else { return }
        let migration = Migration(engine, configuration)
        block(migration, engine.oldVersion)
        if let failure = migration.failure { throw failure }
    }

    /// A call that failed makes the whole migration fail.
    private var failure: DatabaseError?

    private func perform<T>(or fallback: T, _ body: () throws(DatabaseError) -> T) -> T {
        guard failure == nil else { return fallback }
        do throws(DatabaseError) { return try body() } catch {
            failure = error
            new.isLost = true
            return fallback
        }
    }

    // A property cannot throw; the engine is open for as long as the migration block runs.
    /// The classes as the file has them before the migration.
    public var oldSchema: Schema { Schema(of: (try? engine.old.schema) ?? .empty, in: old) }
    /// What the program declares; the file may have more classes, which stay as they are.
    public var newSchema: Schema { new.declaredSchema }

    /// Calls the block with every object of a class, as it was and as it becomes; nil where a side does not have the
    /// class. A class that neither side has is passed over.
    public func enumerateObjects(ofType type: String, _ block: MigrationObjectEnumerateBlock) {
        perform(or: ()) { () throws(DatabaseError) in
            try engine.enumerate(type) { (before, after) throws(DatabaseError) in
                block(
                    before.map { old.object($0, as: DynamicObject.self) },
                    after.map { new.object($0, as: DynamicObject.self) })
                if let failure { throw failure }
            }
        }
    }

    /// Adds an object of a class by its name, with values from a dictionary by property name or from an array in the
    /// order of the properties. A primary key that is there already makes the whole migration fail; a value that does
    /// not fit is misuse.
    @discardableResult
    public func create(_ typeName: String, value: Any = [Any]()) -> MigrationObject {
        perform(or: DynamicObject()) { () throws(DatabaseError) in
            try new.dynamicCreated(typeName, value, policy: .error)
        }
    }

    /// Deletes an object. It must be one that the migration makes, not one as it was; anything else makes the whole
    /// migration fail.
    public func delete(_ object: MigrationObject) {
        perform(or: ()) { () throws(DatabaseError) in
            guard let live = object.live, live.session === engine.new else {
                throw DatabaseError(.invalidArgument, "only new objects can be deleted in a migration")
            }
            try live.delete()
        }
    }

    /// Deletes all objects of a class, and the class if it is not declared. False where there is no such class.
    @discardableResult
    public func deleteData(forType typeName: String) -> Bool {
        perform(or: false) { () throws(DatabaseError) in
            defer { new.forgetClasses() }
            return try engine.deleteData(ofType: typeName)
        }
    }

    /// Gives a new property the values of an old one of the same class.
    public func renameProperty(onType typeName: String, from oldName: String, to newName: String) {
        perform(or: ()) { () throws(DatabaseError) in
            try engine.renameProperty(of: typeName, from: oldName, to: newName)
            new.forgetClasses()
        }
    }
}
