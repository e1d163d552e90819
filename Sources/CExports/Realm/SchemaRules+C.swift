/// Rules of declared properties: defaults, what has to be given, what is allowed.
import CMotte
import MotteLiveObjects
import MotteSchemaModel
import MotteStorage
import MotteValues

@_cdecl("motte_schema_set_rule") @implementation
public func motte_schema_set_rule(
    _ schema: OpaquePointer?, _ class_index: Int, _ prop_index: Int, _ rule: UnsafePointer<motte_prop_rule>?
) -> motte_status {
    // What cannot be read has no userdata to be freed.
    let read = boundary { () throws(DatabaseError) in
        _ = try readStruct(rule, empty: motte_prop_rule())
        return .ok
    }
    guard read == .ok, let rule else { return read }
    return boundary(keeping: rule.pointee.userdata, rule.pointee.free_userdata) { (bridge) throws(DatabaseError) in
        let given = try readStruct(rule, empty: motte_prop_rule())
        let schema = try Handles.any(schema, .schema, as: SchemaBox.self)
        try checkIndex(class_index, below: schema.box.classes.count)
        let owner = schema.box.classes[class_index]
        try checkIndex(prop_index, below: owner.properties.count)
        let property = owner.properties[prop_index]
        do throws(DatabaseError) {
            schema.box.classes[class_index].properties[prop_index].rule = try propertyRule(given, property, bridge)
        } catch {
            throw DatabaseError(
                error.code, "\(owner.name).\(property.name): \(error.message)", className: owner.name,
                propertyName: property.name)
        }
        return .ok
    }
}

private func propertyRule(
    _ given: motte_prop_rule, _ property: Property, _ bridge: CallbackBridge
) throws(DatabaseError) -> PropertyRule {
    let required = UInt32(MOTTE_RULE_REQUIRED), hasDefault = UInt32(MOTTE_RULE_DEFAULT)
    try checkFlags(
        given.flags, allowed: required | hasDefault | UInt32(MOTTE_RULE_RANGE) | UInt32(MOTTE_RULE_MIDNIGHT))
    let starts = given.flags & (required | hasDefault)
    let hasStart = starts != 0 || given.make != nil
    guard !hasStart || property.collection == .none && property.isStored else {
        throw DatabaseError(.schemaInvalid, "a collection has no default: new objects have an empty one")
    }
    guard starts.nonzeroBitCount + (given.make == nil ? 0 : 1) <= 1 else {
        throw DatabaseError(.schemaInvalid, "it is required, or has a default, or a function that makes one")
    }
    var filler: KeptFiller?
    if let fill = given.fill {
        guard property.isStored, property.isCollection || property.type == .link || property.type == .mixed else {
            throw DatabaseError(.schemaInvalid, "only collections and links are filled; give it a default")
        }
        filler = KeptFiller(KeptCallback(function: fill, bridge: bridge))
    }
    let start: PropertyRule.Start
    if given.flags & required != 0 {
        start = .required
    } else if given.flags & hasDefault != 0 {
        var value = given.value
        start = .value(try withoutLink(try checkedValue(&value)).owned)
    } else if let make = given.make {
        let kept = KeptCallback(function: make, bridge: bridge)
        start = .made { (count) throws(DatabaseError) in
            var made = [motte_value](repeating: motte_value(), count: count)
            var owned: [Value] = []
            try kept.bridge.call { userdata in
                made.withUnsafeMutableBufferPointer { kept.function(userdata, count, $0.baseAddress) }
            }
            owned.reserveCapacity(count)
            for value in made { owned.append(try withoutLink(try ValueView.checked(value)).owned) }
            return owned
        }
    } else {
        start = .plain
    }
    let allowed = try allowedValues(given)
    guard given.flags & UInt32(MOTTE_RULE_MIDNIGHT) == 0 || property.type == .timestamp else {
        throw DatabaseError(.schemaInvalid, "only timestamps are midnights")
    }
    return PropertyRule(start: start, allowed: allowed, filler: filler)
}

private func allowedValues(_ given: motte_prop_rule) throws(DatabaseError) -> AllowedValues? {
    let values = try checkedValues(given.allowed, given.allowed_count, in: nil).map(\.owned)
    let isMidnight = given.flags & UInt32(MOTTE_RULE_MIDNIGHT) != 0
    let isRange = given.flags & UInt32(MOTTE_RULE_RANGE) != 0
    guard isMidnight || isRange else { return values.isEmpty ? nil : AllowedValues(values) }
    guard values.isEmpty, isMidnight != isRange else {
        throw DatabaseError(.schemaInvalid, "a range, midnights or single values are allowed, not several of them")
    }
    if isMidnight { return .midnights }
    var (least, most) = (given.least, given.most)
    let (first, last) = (try checkedValue(&least).owned, try checkedValue(&most).owned)
    guard let range = AllowedValues(from: first, to: last) else {
        throw DatabaseError(.schemaInvalid, "no value is from 'least' to 'most'")
    }
    return range
}

/// An object is of one file, and a schema of none.
private func withoutLink(_ value: ValueView) throws(DatabaseError) -> ValueView {
    guard value.kind == .link else { return value }
    throw DatabaseError(.wrongType, "a link is no default: a function fills it")
}

/// A function of the program that fills a property of objects.
private final class KeptFiller: ObjectFiller {
    private let callback: KeptCallback<motte_fill_fn>

    init(_ callback: KeptCallback<motte_fill_fn>) { self.callback = callback }

    func fill(
        _ session: Session, _ table: TableKey, _ column: ColumnKey, _ keys: [Int64]
    ) throws(DatabaseError) {
        let write = session.write
        let names = session.options.programNames as? PublicNames ?? PublicNames()
        try lend(RealmBox(RealmCore(session, names))) { (realm) throws(DatabaseError) in
            let prop = PropertyID(table, "", column).bits
            try callback.bridge.call { userdata in
                keys.withUnsafeBufferPointer { keys in
                    callback.function(userdata, realm, table.rawValue, prop, keys.baseAddress, keys.count)
                }
            }
        }
        guard let write, session.write === write, write.isOpen else {
            throw DatabaseError(.reentrant, "a function that fills a property has ended the write")
        }
    }
}
