/// The objects that random queries of `QueryWorld` are asked about.
import MotteSchemaModel
import MotteValues
import TestSupport

extension QueryWorld: QuerySubjects {
    func keys(of name: String) -> [Int64] { rows[name]?.keys.sorted() ?? [] }
}

extension RandomQueries {
    func fill(_ world: QueryWorld, _ random: inout SeededRandom, objects: Int) throws {
        for _ in 0 ..< objects {
            let name = random.pick(classes)
            let type = try world.type(name)
            world.lastNumber += random.below(2) + 1
            let number = world.lastNumber
            var cells: [String: QueryWorld.Cell] = [:]
            if let key = type.primaryKey {
                cells[key.name] = .value(
                    key.type == .int
                        ? .int(Int64(number) * 7)
                        : key.type == .uuid
                            ? .uuid(UUIDBytes(low: UInt64(number), high: 1)) : .string("key \(number)"))
            }
            try world.create(name, cells)
        }
        for name in classes {
            for key in (world.rows[name] ?? [:]).keys.sorted() { try change(world, name, key, &random, percent: 80) }
        }
    }

    func change(_ world: QueryWorld, _ name: String, _ key: Int64, _ random: inout SeededRandom, percent: Int) throws {
        for property in try world.type(name).properties
        where property.isStored && !property.isPrimaryKey && random.chance(percent) {
            if property.isCollection {
                var count = random.chance(40) ? 0 : random.below(5)
                if random.chance(1) { count = 250 + random.below(400) }
                var values: [Value] = []
                for _ in 0 ..< count {
                    let value = value(world, property, &random)
                    if !value.isNull || (property.isNullable && property.type != .link) { values.append(value) }
                }
                if property.isMap {
                    let entries = zip(Self.keys.sorted(), values).map { MapEntry(key: $0.0, value: $0.1) }
                    try world.set(name, key, property.name, .map(entries))
                    continue
                }
                if property.isSet { values = Set(values).sorted() }
                try world.set(name, key, property.name, .list(values))
            } else {
                try world.set(name, key, property.name, .value(value(world, property, &random)))
            }
        }
    }
}
