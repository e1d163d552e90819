/// A random history of a schema: versions in which classes and properties come, go, are renamed and change, and the
/// migrations between any two of them.
///
/// Things are followed by number, whatever they are called. Names are never used again, and what changes values does so
/// in a way that may be done in one go or in steps, so that every way through the history has one right outcome.
import MotteLiveObjects
import MotteSchemaModel
import MotteValues
import TestSupport

struct SchemaHistory {
    struct PropertyState {
        var number: Int
        var name: String
        var type: PropertyType
        var collection = CollectionKind.none
        var isNullable = false
        var isIndexed = false
        var isPrimaryKey = false
        /// Number of a class.
        var target: Int?
        /// Number of a property of `target`, for an inverse.
        var origin: Int?
        /// Version in which the values were set to the objects' keys.
        var keyedIn: Int?
        /// Whether something was done to it already that allows nothing further.
        var isSettled = false
    }

    struct ClassState {
        var number: Int
        var name: String
        var properties: [PropertyState]
    }

    typealias Version = [ClassState]

    private(set) var versions: [Version] = []
    private var nextNumber = 0
    /// What came later had a default for a while on the way in steps, and never on the direct one.
    private var lastOriginalNumber = 0

    init(_ random: inout SeededRandom, count: Int) {
        var version: Version = [makeClass(&random, []), makeClass(&random, [])]
        versions.append(version)
        lastOriginalNumber = nextNumber
        while versions.count < count {
            for _ in 0 ..< 1 + random.below(3) { change(&version, &random) }
            versions.append(version)
        }
    }

    // MARK: Making versions

    private mutating func fresh(_ prefix: String) -> (number: Int, name: String) {
        nextNumber += 1
        return (nextNumber, "\(prefix)\(nextNumber)")
    }

    private mutating func makeClass(_ random: inout SeededRandom, _ version: Version) -> ClassState {
        let (number, name) = fresh("Class")
        var made = ClassState(number: number, name: name, properties: [])
        // Always there, so that no class is ever without a stored property.
        let (mark, markName) = fresh("mark")
        made.properties.append(PropertyState(number: mark, name: markName, type: .int))
        for _ in 0 ..< 2 + random.below(4) { made.properties.append(makeProperty(&random, version, made)) }
        return made
    }

    private static let scalars: [PropertyType] = [.bool, .int, .float, .double, .string, .data, .timestamp]

    private mutating func makeProperty(
        _ random: inout SeededRandom, _ version: Version, _ owner: ClassState
    ) -> PropertyState {
        let (number, name) = fresh("prop")
        if random.chance(25), let target = (version + [owner]).randomElement(using: &random) {
            let isList = random.chance(40)
            return PropertyState(
                number: number, name: name, type: .link, collection: isList ? .list : .none, isNullable: !isList,
                target: target.number)
        }
        let type = random.pick(Self.scalars)
        var made = PropertyState(number: number, name: name, type: type)
        made.isNullable = random.chance(40)
        if random.chance(20) {
            made.collection = .list
        } else if type.canBeIndexed {
            made.isIndexed = random.chance(25)
        }
        return made
    }

    private mutating func change(_ version: inout Version, _ random: inout SeededRandom) {
        let position = random.below(version.count)
        let slot = random.below(version[position].properties.count)
        switch random.below(12) {
        case 0: version.append(makeClass(&random, version))
        case 1:
            if version.count > 2 { removeClass(position, &version) }
        case 2: version[position].name = fresh("Class").name
        case 3, 4:
            version[position].properties.insert(
                makeProperty(&random, version, version[position]), at: slot)
        case 5:
            if slot > 0 { removeProperty(position, slot, &version) }
        case 6, 7: version[position].properties[slot].name = fresh("prop").name
        case 8:
            if version[position].properties[slot].collection == .none,
                version[position].properties[slot].type.canBeIndexed
            {
                version[position].properties[slot].isIndexed.toggle()
            }
        case 9: changePrimaryKey(&version[position], &random)
        case 10: addInverse(position, &version)
        default: changeValues(position, slot, &version, &random)
        }
    }

    private mutating func removeClass(_ position: Int, _ version: inout Version) {
        let gone = version.remove(at: position)
        for other in version.indices { version[other].properties.removeAll { $0.target == gone.number } }
    }

    private func removeProperty(_ position: Int, _ slot: Int, _ version: inout Version) {
        let gone = version[position].properties.remove(at: slot)
        for other in version.indices { version[other].properties.removeAll { $0.origin == gone.number } }
    }

    private mutating func addInverse(_ position: Int, _ version: inout Version) {
        for origin in version {
            for property in origin.properties where property.target == version[position].number {
                guard property.type == .link,
                    !version[position].properties.contains(where: { $0.origin == property.number })
                else { continue }
                let (number, name) = fresh("from")
                version[position].properties.append(
                    PropertyState(
                        number: number, name: name, type: .linkingObjects, target: origin.number,
                        origin: property.number))
                return
            }
        }
    }

    private func changePrimaryKey(_ type: inout ClassState, _ random: inout SeededRandom) {
        if let slot = type.properties.firstIndex(where: \.isPrimaryKey) {
            type.properties[slot].isPrimaryKey = false
            return
        }
        guard
            let slot = type.properties.firstIndex(where: {
                $0.type == .int && $0.collection == .none && !$0.isSettled && !$0.isNullable
            })
        else { return }
        type.properties[slot].isPrimaryKey = true
        type.properties[slot].isSettled = true
        type.properties[slot].keyedIn = versions.count
    }

    private func changeValues(
        _ position: Int, _ slot: Int, _ version: inout Version, _ random: inout SeededRandom
    ) {
        var property = version[position].properties[slot]
        guard !property.isSettled, slot > 0, property.type != .linkingObjects else { return }
        if property.type == .link {
            // Another target: the links are lost.
            guard !version.contains(where: { $0.properties.contains { $0.origin == property.number } }) else { return }
            property.target = random.pick(version).number
            // Once only: back at its first target it would have lost them in steps, and never directly.
            property.isSettled = true
        } else if property.isNullable {
            // Values are lost.
            property.isNullable = false
            property.isSettled = true
        } else if property.number > lastOriginalNumber {
            return
        } else if property.collection == .none, property.type == .int, random.chance(50) {
            // Filled with the old values as text, and later that as bytes.
            property.type = .string
        } else if property.collection == .none, property.type == .string, random.chance(50) {
            property.type = .data
            property.isSettled = true
            property.isIndexed = false
        } else {
            property.isNullable = true
            property.isSettled = true
        }
        version[position].properties[slot] = property
    }

    // MARK: Using versions

    func schemaText(_ index: Int) -> String {
        let version = versions[index]
        return version.map { type in
            "\(type.name) { " + type.properties.map { Self.text($0, version) }.joined(separator: ", ") + " }"
        }.joined(separator: "\n")
    }

    private static func text(_ property: PropertyState, _ version: Version) -> String {
        let target = version.first { $0.number == property.target }
        var property = property
        if property.type == .linkingObjects {
            let origin = target?.properties.first { $0.number == property.origin }?.name ?? "?"
            return "\(property.name): inverse<\(target?.name ?? "?").\(origin)>"
        }
        if property.type == .link { property.isNullable = property.collection == .none }
        return SchemaText.print(
            Property(
                name: property.name, type: property.type, collection: property.collection,
                isNullable: property.isNullable, isPrimaryKey: property.isPrimaryKey, isIndexed: property.isIndexed,
                target: target?.name))
    }

    /// Everything that opening version `to` on a file of version `from` needs.
    func migrate(_ from: Int, _ to: Int, _ options: inout SessionOptions) throws {
        let before = versions[from]
        let after = versions[to]
        options.schema = try SchemaText.parse(schemaText(to))
        options.schemaVersion = UInt64(to + 1)
        options.migration.deletedTypes = before.filter { old in !after.contains { $0.number == old.number } }.map(
            \.name)
        var renames = SchemaRenames()
        for type in after {
            guard let old = before.first(where: { $0.number == type.number }) else { continue }
            if old.name != type.name { renames.renameType(old.name, to: type.name) }
            for property in type.properties {
                guard let was = old.properties.first(where: { $0.number == property.number }),
                    was.name != property.name,
                    Self.keepsColumn(was, property)
                else { continue }
                renames.renameProperty(of: type.name, from: was.name, to: property.name)
            }
        }
        let known = renames
        // One half of all migrations knows the renames before, the other learns them in the step.
        let isForeseen = (from + to) % 2 == 0
        if isForeseen { options.migration.renames = renames }
        options.migration.step = step { migration in
            if !isForeseen {
                for rename in known.types { try migration.renameType(rename.from, to: rename.to) }
                for rename in known.properties {
                    try migration.renameProperty(of: rename.className, from: rename.from, to: rename.to)
                }
            }
            try Self.fill(migration, before, after, from)
        }
    }

    private static func keepsColumn(_ was: PropertyState, _ now: PropertyState) -> Bool {
        was.type == now.type && was.collection == now.collection && (!was.isNullable || now.isNullable)
            && was.type != .linkingObjects
    }

    /// Values that the plan alone would lose: numbers become text, text becomes bytes, new primary keys get values.
    private static func fill(_ migration: Migration, _ before: Version, _ after: Version, _ from: Int) throws {
        for type in after {
            guard let old = before.first(where: { $0.number == type.number }) else { continue }
            for property in type.properties where property.collection == .none {
                let was = old.properties.first { $0.number == property.number }
                let isKeyed = property.keyedIn.map { $0 > from } ?? false
                let isConverted =
                    was.map { $0.type != property.type && property.type != .link && !$0.isNullable } ?? false
                guard isKeyed || isConverted else { continue }
                try migration.pairs(type.name) { old, new in
                    guard let old, let new else { return }
                    let value: Value = isKeyed ? .int(new.key.rawValue) : try old.get(was?.name ?? "")
                    try new.set(property.name, to: converted(value, to: property.type))
                }
            }
        }
    }

    private static func converted(_ value: Value, to type: PropertyType) -> Value {
        switch (value, type) {
        case (.int(let number), .string): .string("\(number)")
        case (.int(let number), .data): .data(Array("\(number)".utf8))
        case (.string(let text), .data): .data(Array(text.utf8))
        default: value
        }
    }

    // MARK: Content

    /// Objects with random values in every class of a version.
    func fill(_ session: Session, _ index: Int, _ random: inout SeededRandom) throws {
        let version = versions[index]
        var made: [Int: [LiveObject]] = [:]
        try session.inWrite {
            for type in version {
                for row in 0 ..< random.below(9) {
                    let table = try session.tableKey(type.name)
                    let isKeyed = type.properties.contains(where: \.isPrimaryKey)
                    let object = try session.create(table, primaryKey: isKeyed ? .int(Int64(row)) : nil).object
                    made[type.number, default: []].append(object)
                }
            }
            for type in version {
                for object in made[type.number] ?? [] {
                    for property in type.properties where !property.isPrimaryKey {
                        try fill(object, property, made, &random)
                    }
                }
            }
            // Gaps, so that not every row is live.
            for type in version {
                for object in made[type.number] ?? [] where random.chance(10) { try object.delete() }
            }
        }
    }

    private func fill(
        _ object: LiveObject, _ property: PropertyState, _ made: [Int: [LiveObject]], _ random: inout SeededRandom
    ) throws {
        guard property.type != .linkingObjects else { return }
        func value() -> Value? {
            guard property.type == .link else { return Self.value(property, &random) }
            guard let target = property.target, let targets = made[target], !targets.isEmpty else { return nil }
            return .link(random.pick(targets))
        }
        guard property.collection == .none else {
            guard let list = try object.collection(property.name) as? LiveList else { return }
            for _ in 0 ..< random.below(5) {
                if let value = value() { try list.append(value) }
            }
            return
        }
        if random.chance(70), let value = value() { try object.set(property.name, to: value) }
    }

    private static func value(_ property: PropertyState, _ random: inout SeededRandom) -> Value {
        if property.isNullable, random.chance(30) { return .null }
        let number = Int64(random.below(1000))
        switch property.type {
        case .bool: return .bool(number % 2 == 0)
        case .int: return .int(number)
        case .float: return .float(Float(number))
        case .double: return .double(Double(number) / 2)
        case .string: return .string(String(repeating: "text \(number % 7) ", count: random.below(4)))
        case .data: return .data(Array("bytes \(number)".utf8))
        case .timestamp: return .timestamp(Timestamp(seconds: number, nanoseconds: UInt32(number)))
        default: return .null
        }
    }
}
