/// How to open a realm. Options have names so that new ones need no new functions.
import CMotte
import MotteExchange
import MotteLiveObjects
import MotteNotifications
import MotteSchemaModel
import MotteValues

/// A config under construction. Used by one thread at a time.
final class ConfigBox: Box {
    var location: SessionOptions.Location?
    var flags: UInt32 = 0
    var schema: Schema?
    var queue: DeliveryQueue?
    var mostFileBytes: Int?
    var memoryBytes: Int?
    var compactsAutomatically = false
    var viewsAreShort = false
    var rowGroupSize: Int?
    var durability = Durability.full
    var schemaVersion: UInt64?
    var maximumLiveVersions: Int?
    /// nil: unless it is set.
    var openTimeoutMilliseconds: Int64?
    var queryThreads: Int?
    var lockDirectory: String?
    var seedPath: String?
    var deletesInsteadOfMigrating = false
    var isImmutable = false
    var convertsRealmFiles = false
    var steps = OpeningSteps()
    /// 64 bytes.
    var encryptionKey: [UInt8]?
    var publicNames = PublicNames()
    let names = NameCache()

    init() { super.init(kind: .config) }

    override func clone() throws(DatabaseError) -> Box {
        let copy = ConfigBox()
        copy.location = location
        copy.flags = flags
        copy.schema = schema
        copy.queue = queue
        copy.mostFileBytes = mostFileBytes
        copy.memoryBytes = memoryBytes
        copy.compactsAutomatically = compactsAutomatically
        copy.viewsAreShort = viewsAreShort
        copy.rowGroupSize = rowGroupSize
        copy.durability = durability
        copy.schemaVersion = schemaVersion
        copy.maximumLiveVersions = maximumLiveVersions
        copy.openTimeoutMilliseconds = openTimeoutMilliseconds
        copy.queryThreads = queryThreads
        copy.lockDirectory = lockDirectory
        copy.seedPath = seedPath
        copy.deletesInsteadOfMigrating = deletesInsteadOfMigrating
        copy.isImmutable = isImmutable
        copy.convertsRealmFiles = convertsRealmFiles
        copy.steps = steps
        copy.encryptionKey = encryptionKey
        copy.publicNames = publicNames
        return copy
    }

    func sessionOptions() throws(DatabaseError) -> SessionOptions {
        guard let location else {
            throw DatabaseError(.invalidArgument, "the config names neither a path nor a database in memory; set one")
        }
        var options = SessionOptions(location, schema: schema)
        options.isReadOnly = flags & ConfigFlags.readOnly != 0
        options.noCreate = flags & ConfigFlags.noCreate != 0
        switch durability {
        case .full: options.durability = .full
        case .relaxed: options.durability = .relaxed
        case .none: options.durability = .none
        }
        options.schemaVersion = schemaVersion
        options.maximumLiveVersions = maximumLiveVersions
        if let openTimeoutMilliseconds { options.openTimeoutMilliseconds = openTimeoutMilliseconds }
        options.queryThreads = queryThreads
        options.lockDirectory = lockDirectory
        options.seedPath = seedPath
        options.migration.deletesInsteadOfMigrating = deletesInsteadOfMigrating
        options.isImmutable = isImmutable
        options.encryptionKey = encryptionKey
        options.mostFileBytes = mostFileBytes
        options.memoryBytes = memoryBytes
        options.compactsAutomatically = compactsAutomatically
        options.viewsAreShort = viewsAreShort
        options.rowGroupSize = rowGroupSize
        options.programNames = publicNames
        steps.apply(to: &options, publicNames)
        return options
    }

    /// The same for opening, where that may convert a Realm file.
    func openingOptions() throws(DatabaseError) -> SessionOptions {
        var options = try sessionOptions()
        let name = options.name
        options.openingNote = { Log.write(name, $0) }
        return convertsRealmFiles ? try RealmFileOpening.prepare(options).options : options
    }
}

enum ConfigFlags {
    static let readOnly = UInt32(MOTTE_CONFIG_READ_ONLY)
    static let noCreate = UInt32(MOTTE_CONFIG_NO_CREATE)
    static let all = readOnly | noCreate
}

@_cdecl("motte_config_new") @implementation
public func motte_config_new(_ out_config: UnsafeMutablePointer<OpaquePointer?>?) -> motte_status {
    boundary { () throws(DatabaseError) in
        try Handles.make(ConfigBox(), try required(out_config))
        return .ok
    }
}

@_cdecl("motte_config_set_path") @implementation
public func motte_config_set_path(
    _ config: OpaquePointer?, _ path: UnsafePointer<CChar>?, _ path_size: Int
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let config = try Handles.any(config, .config, as: ConfigBox.self)
        config.box.location = .file(try requiredPath(path, path_size))
        return .ok
    }
}

@_cdecl("motte_config_set_in_memory") @implementation
public func motte_config_set_in_memory(
    _ config: OpaquePointer?, _ identifier: UnsafePointer<CChar>?, _ identifier_size: Int
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let config = try Handles.any(config, .config, as: ConfigBox.self)
        config.box.location = .memory(try requiredName(identifier, identifier_size, "the identifier"))
        return .ok
    }
}

@_cdecl("motte_config_set_public_name") @implementation
public func motte_config_set_public_name(
    _ config: OpaquePointer?, _ class_name: UnsafePointer<CChar>?, _ class_name_size: Int,
    _ prop_name: UnsafePointer<CChar>?, _ prop_name_size: Int, _ name: UnsafePointer<CChar>?, _ name_size: Int
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let config = try Handles.any(config, .config, as: ConfigBox.self)
        let className = try requiredName(class_name, class_name_size, "the class name")
        let property = try optionalText(prop_name, prop_name_size)
        let name = try requiredName(name, name_size, "the public name")
        if let property {
            try config.box.publicNames.name(property: property, of: className, name)
        } else {
            try config.box.publicNames.name(class: className, name)
        }
        return .ok
    }
}

@_cdecl("motte_config_set_encryption_key") @implementation
public func motte_config_set_encryption_key(
    _ config: OpaquePointer?, _ key: UnsafePointer<UInt8>?, _ key_size: Int
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let config = try Handles.any(config, .config, as: ConfigBox.self)
        guard key_size != 0 else {
            config.box.encryptionKey = nil
            return .ok
        }
        config.box.encryptionKey = try encryptionKey(key, key_size)
        return .ok
    }
}

/// 64 bytes from C.
func encryptionKey(_ key: UnsafePointer<UInt8>?, _ size: Int) throws(DatabaseError) -> [UInt8] {
    guard let key else { throw DatabaseError(.nullArgument, "the encryption key is NULL") }
    guard size == 64 else {
        throw DatabaseError(.invalidArgument, "an encryption key has 64 bytes, this one \(size)")
    }
    return Array(UnsafeBufferPointer(start: key, count: size))
}

@_cdecl("motte_config_set_flags") @implementation
public func motte_config_set_flags(_ config: OpaquePointer?, _ flags: UInt32, _ mask: UInt32) -> motte_status {
    boundary { () throws(DatabaseError) in
        let config = try Handles.any(config, .config, as: ConfigBox.self)
        try checkFlags(flags | mask, allowed: ConfigFlags.all)
        config.box.flags = config.box.flags & ~mask | flags & mask
        return .ok
    }
}

@_cdecl("motte_config_set_schema") @implementation
public func motte_config_set_schema(
    _ config: OpaquePointer?, _ schema: OpaquePointer?, _ flags: UInt32
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let config = try Handles.any(config, .config, as: ConfigBox.self)
        try checkFlags(flags)
        guard schema != nil else {
            config.box.schema = nil
            return .ok
        }
        let schema = try Handles.any(schema, .schema, as: SchemaBox.self)
        config.box.schema = try schema.box.schema.validated()
        return .ok
    }
}

@_cdecl("motte_config_set_queue") @implementation
public func motte_config_set_queue(_ config: OpaquePointer?, _ queue: OpaquePointer?) -> motte_status {
    boundary { () throws(DatabaseError) in
        let config = try Handles.any(config, .config, as: ConfigBox.self)
        guard queue != nil else {
            config.box.queue = nil
            return .ok
        }
        let queue = try Handles.any(queue, .queue, as: QueueBox.self)
        config.box.queue = queue.box.queue
        return .ok
    }
}

// MARK: Named options

private enum OptionName {
    static let settable = [
        "max_file_size", "memory", "auto_compact", "short_views", "durability", "row_group_size", "schema_version",
        "delete_if_migration_needed",
        "max_live_versions", "open_timeout", "query_threads", "seed_path", "lock_directory", "immutable",
        "convert_realm_files",
    ]

    static func unknown(_ name: String) -> DatabaseError {
        DatabaseError(.invalidArgument, "there is no option '\(name)'; known are \(settable.joined(separator: ", "))")
    }
}

@_cdecl("motte_config_set_option") @implementation
public func motte_config_set_option(
    _ config: OpaquePointer?, _ name: UnsafePointer<CChar>?, _ name_size: Int, _ value: UnsafePointer<motte_value>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let config = try Handles.any(config, .config, as: ConfigBox.self)
        let name = try requiredName(name, name_size, "the option name")
        let value = try checkedValue(value)
        switch name {
        case "max_file_size": config.box.mostFileBytes = try positive(value, name)
        case "memory": config.box.memoryBytes = try positive(value, name, from: Int64(SessionOptions.leastMemory))
        case "auto_compact": config.box.compactsAutomatically = try flag(value, name)
        case "short_views": config.box.viewsAreShort = try flag(value, name)
        case "row_group_size": config.box.rowGroupSize = try positive(value, name)
        case "durability": config.box.durability = try durability(value)
        case "schema_version": config.box.schemaVersion = UInt64(try positive(value, name, from: 0))
        case "delete_if_migration_needed": config.box.deletesInsteadOfMigrating = try flag(value, name)
        case "max_live_versions": config.box.maximumLiveVersions = try positive(value, name)
        case "open_timeout": config.box.openTimeoutMilliseconds = Int64(try positive(value, name, from: -1))
        case "query_threads": config.box.queryThreads = try positive(value, name)
        case "seed_path": config.box.seedPath = try text(value, name)
        case "lock_directory": config.box.lockDirectory = try text(value, name)
        case "immutable": config.box.isImmutable = try flag(value, name)
        case "convert_realm_files": config.box.convertsRealmFiles = try flag(value, name)
        default: throw OptionName.unknown(name)
        }
        return .ok
    }
}

private func positive(_ value: ValueView, _ name: String, from lowest: Int64 = 1) throws(DatabaseError) -> Int {
    guard value.kind == .int else { throw DatabaseError(.wrongType, "option '\(name)' is an int") }
    guard value.intValue >= lowest else {
        throw DatabaseError(.invalidArgument, "option '\(name)' is at least \(lowest)")
    }
    return Int(value.intValue)
}

private func flag(_ value: ValueView, _ name: String) throws(DatabaseError) -> Bool {
    guard value.kind == .bool else { throw DatabaseError(.wrongType, "option '\(name)' is a bool") }
    return value.boolValue
}

/// A path; null takes it back.
private func text(_ value: ValueView, _ name: String) throws(DatabaseError) -> String? {
    if value.isNull { return nil }
    guard value.kind == .string else { throw DatabaseError(.wrongType, "option '\(name)' is a string") }
    return String(decoding: value.bytes, as: UTF8.self)
}

enum Durability: String {
    case full, relaxed, none
}

private func durability(_ value: ValueView) throws(DatabaseError) -> Durability {
    guard value.kind == .string else { throw DatabaseError(.wrongType, "option 'durability' is a string") }
    guard let durability = Durability(rawValue: String(decoding: value.bytes, as: UTF8.self)) else {
        throw DatabaseError(.invalidArgument, "option 'durability' is \"full\", \"relaxed\" or \"none\"")
    }
    return durability
}

@_cdecl("motte_config_get_option") @implementation
public func motte_config_get_option(
    _ config: OpaquePointer?, _ name: UnsafePointer<CChar>?, _ name_size: Int,
    _ out_value: UnsafeMutablePointer<motte_value>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let out = try required(out_value, zero: motte_value())
        let config = try Handles.any(config, .config, as: ConfigBox.self)
        let name = try requiredName(name, name_size, "the option name")
        guard let value = try option(name, config.box) else { return .null }
        out.pointee = value
        return .ok
    }
}

private func option(_ name: String, _ config: ConfigBox) throws(DatabaseError) -> motte_value? {
    switch name {
    case "max_file_size": return config.mostFileBytes.map { ValueView.int(Int64($0)).cValue }
    case "memory": return config.memoryBytes.map { ValueView.int(Int64($0)).cValue }
    case "auto_compact": return ValueView.bool(config.compactsAutomatically).cValue
    case "short_views": return ValueView.bool(config.viewsAreShort).cValue
    case "row_group_size": return config.rowGroupSize.map { ValueView.int(Int64($0)).cValue }
    case "durability": return try kept(config.durability.rawValue, config)
    case "schema_version": return config.schemaVersion.map { ValueView.int(Int64(clamping: $0)).cValue }
    case "delete_if_migration_needed": return ValueView.bool(config.deletesInsteadOfMigrating).cValue
    case "max_live_versions": return config.maximumLiveVersions.map { ValueView.int(Int64($0)).cValue }
    case "open_timeout": return config.openTimeoutMilliseconds.map { ValueView.int($0).cValue }
    case "query_threads": return config.queryThreads.map { ValueView.int(Int64($0)).cValue }
    case "seed_path": return try config.seedPath.map { path throws(DatabaseError) in try kept(path, config) }
    case "lock_directory":
        return try config.lockDirectory.map { path throws(DatabaseError) in try kept(path, config) }
    case "immutable": return ValueView.bool(config.isImmutable).cValue
    case "convert_realm_files": return ValueView.bool(config.convertsRealmFiles).cValue
    case "flags": return ValueView.int(Int64(config.flags)).cValue
    case "path":
        guard case .file(let path)? = config.location else { return nil }
        return try kept(path, config)
    case "in_memory":
        guard case .memory(let identifier)? = config.location else { return nil }
        return try kept(identifier, config)
    default: throw OptionName.unknown(name)
    }
}

private func kept(_ text: String, _ config: ConfigBox) throws(DatabaseError) -> motte_value {
    let start = try config.names.pointer(to: text)
    return ValueView.string(UnsafeRawBufferPointer(start: start, count: text.utf8.count)).cValue
}
