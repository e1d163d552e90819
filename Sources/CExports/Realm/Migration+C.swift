/// A migration under way, as its callback sees it: versions, pairs of objects, renames, classes deleted.
import CMotte
import MotteLiveObjects
import MotteSchemaModel
import MotteValues

/// Lives as long as its callback; clones of the handle answer `.closed` afterwards.
final class MigrationBox: Box {
    fileprivate let migration: Migration
    fileprivate let old: RealmCore
    fileprivate let new: RealmCore

    /// The names are those of the new schema.
    init(_ migration: Migration, _ names: PublicNames) {
        self.migration = migration
        old = RealmCore(migration.old)
        new = RealmCore(migration.new, names)
        super.init(kind: .migration)
    }

    override func check() throws(DatabaseError) { try new.session.check() }

    override func clone() throws(DatabaseError) -> Box { MigrationBox(migration, new.publicNames) }

    /// Hands out the three handles for the length of a callback.
    func run(
        _ body: (_ handle: OpaquePointer?, _ old: OpaquePointer?, _ new: OpaquePointer?) throws(DatabaseError) -> Void
    ) throws(DatabaseError) {
        try lend(self) { (migration) throws(DatabaseError) in
            try lend(RealmBox(old)) { (old) throws(DatabaseError) in
                try lend(RealmBox(new)) { (new) throws(DatabaseError) in try body(migration, old, new) }
            }
        }
    }
}

extension Handles {
    fileprivate static func migration(_ handle: OpaquePointer?) throws(DatabaseError) -> Pinned<MigrationBox> {
        let pinned = try any(handle, .migration, as: MigrationBox.self)
        try pinned.box.check()
        return pinned
    }
}

@_cdecl("motte_migration_info") @implementation
public func motte_migration_info(
    _ migration: OpaquePointer?, _ out_details: UnsafeMutablePointer<motte_migration_details>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let migration = try Handles.migration(migration)
        try fillStruct(out_details) { () throws(DatabaseError) in
            motte_migration_details(
                struct_size: 0, reserved: 0, old_version: migration.box.migration.oldVersion,
                new_version: migration.box.migration.newVersion)
        }
        return .ok
    }
}

@_cdecl("motte_migration_enumerate") @implementation
public func motte_migration_enumerate(
    _ migration: OpaquePointer?, _ class_name: UnsafePointer<CChar>?, _ class_name_size: Int, _ visit: motte_pair_fn?,
    _ userdata: UnsafeMutableRawPointer?, _ free_userdata: motte_free_fn?
) -> motte_status {
    boundary(calling: userdata, free_userdata) { (bridge) throws(DatabaseError) in
        let box = try Handles.migration(migration).box
        let name = try requiredName(class_name, class_name_size, "the class name")
        guard let visit else { throw DatabaseError(.nullArgument, "visit is NULL") }
        try box.migration.enumerate(name) { (old, new) throws(DatabaseError) in
            try lend(old.map { ObjectBox($0, box.old) }) { (old) throws(DatabaseError) in
                try lend(new.map { ObjectBox($0, box.new) }) { (new) throws(DatabaseError) in
                    try bridge.call { visit($0, old, new) }
                }
            }
        }
        return .ok
    }
}

/// NULL for what is not there.
private func lend(
    _ box: ObjectBox?, _ body: (OpaquePointer?) throws(DatabaseError) -> Void
) throws(DatabaseError) {
    guard let box else { return try body(nil) }
    try MotteCExports.lend(box as Box, body)
}

@_cdecl("motte_migration_rename_class") @implementation
public func motte_migration_rename_class(
    _ migration: OpaquePointer?, _ from: UnsafePointer<CChar>?, _ from_size: Int, _ to: UnsafePointer<CChar>?,
    _ to_size: Int
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let migration = try Handles.migration(migration)
        let from = try requiredName(from, from_size, "the former name")
        try migration.box.migration.renameType(from, to: try requiredName(to, to_size, "the new name"))
        return .ok
    }
}

@_cdecl("motte_migration_rename_prop") @implementation
public func motte_migration_rename_prop(
    _ migration: OpaquePointer?, _ class_name: UnsafePointer<CChar>?, _ class_name_size: Int,
    _ from: UnsafePointer<CChar>?, _ from_size: Int, _ to: UnsafePointer<CChar>?, _ to_size: Int
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let migration = try Handles.migration(migration)
        let className = try requiredName(class_name, class_name_size, "the class name")
        let from = try requiredName(from, from_size, "the former name")
        let to = try requiredName(to, to_size, "the new name")
        try migration.box.migration.renameProperty(of: className, from: from, to: to)
        return .ok
    }
}

@_cdecl("motte_migration_delete_class") @implementation
public func motte_migration_delete_class(
    _ migration: OpaquePointer?, _ name: UnsafePointer<CChar>?, _ name_size: Int
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let migration = try Handles.migration(migration)
        let name = try requiredName(name, name_size, "the class name")
        return try migration.box.migration.deleteData(ofType: name) ? .ok : .notFound
    }
}
