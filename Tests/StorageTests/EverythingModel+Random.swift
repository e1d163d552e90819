// Values by chance for the naive model, each of the kind that its property takes.
import MotteSchemaModel
import MotteStorage
import MotteValues
import TestSupport

extension EverythingModel {
    func randomValue(_ property: Property, _ random: inout SeededRandom) -> Value {
        if property.type == .mixed { return randomMixed(depth: 3, &random) }
        if property.isNullable, property.type != .link, random.below(4) == 0 { return .null }
        if property.type == .link {
            let targets = keys(thingTable)
            let mayBeNull = property.collection == .none || property.isMap
            if targets.isEmpty || (mayBeNull && random.below(4) == 0) { return .null }
            return .link(random.pick(targets))
        }
        return Self.scalar(property.type, &random)
    }

    static func scalar(_ type: PropertyType, _ random: inout SeededRandom) -> Value {
        switch type {
        case .bool: return .bool(random.below(2) == 0)
        case .int:
            let wide = Int64(random.below(1_000_000)) << Int64(20 + random.below(24))
            return .int(random.below(3) == 0 ? (random.chance(20) ? -wide : wide) : Int64(random.below(20)))
        case .float: return .float(Float(random.below(100)) / 8)
        case .double: return .double(Double(random.below(100)) / 7)
        case .string:
            let texts = ["", "a", "é", "Ada \(random.below(50))", String(repeating: "x", count: random.below(300))]
            return .string(random.pick(texts))
        case .data: return .data([UInt8](repeating: UInt8(random.below(256)), count: random.below(40)))
        case .timestamp:
            return .timestamp(
                Timestamp(seconds: Int64(random.below(1_000)) - 500, nanoseconds: UInt32(random.below(2) * 123)))
        case .decimal: return .decimal(Decimal128(Int64(random.below(1_000)) - 500))
        case .objectID: return .objectID(ObjectID(low: UInt64(random.below(30)), high: UInt64(random.below(3))))
        case .uuid: return .uuid(UUIDBytes(low: UInt64(random.below(30)), high: UInt64(random.below(3))))
        case .link, .mixed, .linkingObjects: return .null
        }
    }

    func randomMixed(depth: Int, _ random: inout SeededRandom) -> Value {
        let roll = random.below(18)
        if roll == 0 { return .null }
        if roll < 4 {
            let targets = keys(thingTable)
            return targets.isEmpty ? .null : .link(random.pick(targets))
        }
        if roll < 8, depth > 0 {
            let count = random.below(4)
            if random.below(2) == 0 { return .list((0 ..< count).map { _ in randomMixed(depth: depth - 1, &random) }) }
            var entries: [String: Value] = [:]
            for _ in 0 ..< count { entries[Self.randomKey(&random)] = randomMixed(depth: depth - 1, &random) }
            return .map(
                entries.map { MapEntry(key: $0.key, value: $0.value) }.sorted {
                    $0.key.utf8.lexicographicallyPrecedes($1.key.utf8)
                })
        }
        let types: [PropertyType] = [
            .bool, .int, .float, .double, .string, .data, .timestamp, .decimal, .objectID, .uuid,
        ]
        return Self.scalar(random.pick(types), &random)
    }
}
