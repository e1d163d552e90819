/// What a config calls when a realm is opened with it: compaction, filling, migration, progress; and the renames a
/// migration begins with.
import CMotte
import MotteLiveObjects
import MotteValues

/// A callback that a config keeps; its userdata is freed when the last config and the last opening let go of it.
struct KeptCallback<Function>: @unchecked Sendable {  // @unchecked: C functions are constants
    let function: Function
    let bridge: CallbackBridge
}

/// The callbacks and renames of a config.
struct OpeningSteps {
    var compact: KeptCallback<motte_compact_fn>?
    var firstOpen: KeptCallback<motte_realm_fn>?
    var migrate: KeptCallback<motte_migrate_fn>?
    var progress: KeptCallback<motte_progress_fn>?
    var classRenames: [(from: String, to: String)] = []
    var propertyRenames: [(className: String, from: String, to: String)] = []
    var deletedClasses: [String] = []

    func apply(to options: inout SessionOptions, _ names: PublicNames) {
        if let compact {
            options.compactOnLaunch = { (total, used) throws(DatabaseError) in
                var wanted: Int32 = 0
                try compact.bridge.call {
                    compact.function($0, UInt64(clamping: total), UInt64(clamping: used), &wanted)
                }
                return wanted != 0
            }
        }
        if let firstOpen {
            options.firstOpen = { (session) throws(DatabaseError) in
                try lend(RealmBox(RealmCore(session, names))) { (realm) throws(DatabaseError) in
                    try firstOpen.bridge.call { firstOpen.function($0, realm) }
                }
            }
        }
        if let migrate {
            options.migration.step = { (migration) throws(DatabaseError) in
                try MigrationBox(migration, names).run { (migration, old, new) throws(DatabaseError) in
                    try migrate.bridge.call { migrate.function($0, migration, old, new) }
                }
            }
        }
        if let progress {
            options.migration.progress = { (report) throws(DatabaseError) in
                let done = UInt64(clamping: report.done)
                let total = UInt64(clamping: report.total)
                try progress.bridge.call { progress.function($0, done, total) }
            }
        }
        for rename in classRenames { options.migration.renames.renameType(rename.from, to: rename.to) }
        for rename in propertyRenames {
            options.migration.renames.renameProperty(of: rename.className, from: rename.from, to: rename.to)
        }
        options.migration.deletedTypes = deletedClasses
    }
}

private func keep<Function>(
    _ config: OpaquePointer?, _ callback: Function?, _ userdata: UnsafeMutableRawPointer?, _ free: motte_free_fn?,
    _ store: (inout OpeningSteps, KeptCallback<Function>?) -> Void
) -> motte_status {
    // Not kept, it frees the userdata when it goes.
    let bridge = CallbackBridge(userdata, free)
    return boundary { () throws(DatabaseError) in
        let config = try Handles.any(config, .config, as: ConfigBox.self)
        // The former callback goes when nobody is changing the box.
        let before = config.box.steps
        store(&config.box.steps, callback.map { KeptCallback(function: $0, bridge: bridge) })
        withExtendedLifetime(before) {}
        return .ok
    }
}

@_cdecl("motte_config_on_compact") @implementation
public func motte_config_on_compact(
    _ config: OpaquePointer?, _ callback: motte_compact_fn?, _ userdata: UnsafeMutableRawPointer?,
    _ free_userdata: motte_free_fn?
) -> motte_status {
    keep(config, callback, userdata, free_userdata) { $0.compact = $1 }
}

@_cdecl("motte_config_on_first_open") @implementation
public func motte_config_on_first_open(
    _ config: OpaquePointer?, _ callback: motte_realm_fn?, _ userdata: UnsafeMutableRawPointer?,
    _ free_userdata: motte_free_fn?
) -> motte_status {
    keep(config, callback, userdata, free_userdata) { $0.firstOpen = $1 }
}

@_cdecl("motte_config_on_migrate") @implementation
public func motte_config_on_migrate(
    _ config: OpaquePointer?, _ callback: motte_migrate_fn?, _ userdata: UnsafeMutableRawPointer?,
    _ free_userdata: motte_free_fn?
) -> motte_status {
    keep(config, callback, userdata, free_userdata) { $0.migrate = $1 }
}

@_cdecl("motte_config_on_progress") @implementation
public func motte_config_on_progress(
    _ config: OpaquePointer?, _ callback: motte_progress_fn?, _ userdata: UnsafeMutableRawPointer?,
    _ free_userdata: motte_free_fn?
) -> motte_status {
    keep(config, callback, userdata, free_userdata) { $0.progress = $1 }
}

@_cdecl("motte_config_rename_class") @implementation
public func motte_config_rename_class(
    _ config: OpaquePointer?, _ from: UnsafePointer<CChar>?, _ from_size: Int, _ to: UnsafePointer<CChar>?,
    _ to_size: Int
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let config = try Handles.any(config, .config, as: ConfigBox.self)
        let from = try requiredName(from, from_size, "the former name")
        config.box.steps.classRenames.append((from, try requiredName(to, to_size, "the new name")))
        return .ok
    }
}

@_cdecl("motte_config_rename_prop") @implementation
public func motte_config_rename_prop(
    _ config: OpaquePointer?, _ class_name: UnsafePointer<CChar>?, _ class_name_size: Int,
    _ from: UnsafePointer<CChar>?, _ from_size: Int, _ to: UnsafePointer<CChar>?, _ to_size: Int
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let config = try Handles.any(config, .config, as: ConfigBox.self)
        let className = try requiredName(class_name, class_name_size, "the class name")
        let from = try requiredName(from, from_size, "the former name")
        config.box.steps.propertyRenames.append((className, from, try requiredName(to, to_size, "the new name")))
        return .ok
    }
}

@_cdecl("motte_config_delete_class") @implementation
public func motte_config_delete_class(
    _ config: OpaquePointer?, _ name: UnsafePointer<CChar>?, _ name_size: Int
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let config = try Handles.any(config, .config, as: ConfigBox.self)
        config.box.steps.deletedClasses.append(try requiredName(name, name_size, "the class name"))
        return .ok
    }
}
