/// Random groups of random objects are what a naive evaluation gives: in an open write and committed, with row groups
/// of 3 rows and of 480, with keys behind links, and all aggregates.
import MotteQueryEngine
import MotteSchemaModel
import MotteStorage
import MotteValues
import TestSupport
import Testing

@Suite struct GroupPropertyTests {
    @Test(arguments: [3, 480]) func groupsAgreeWithNaiveEvaluation(rowGroupSize: Int) throws {
        try PropertyTest.run(rounds: 6) { random, comment in
            let generator = RandomQueries()
            let world = try QueryWorld(generator.schema(&random), rowGroupSize: rowGroupSize)
            try world.begin()
            try generator.fill(world, &random, objects: 20 + random.below(150))
            if random.chance(40) { try ask(world, generator, &random, comment) }
            try world.commit()
            try ask(world, generator, &random, comment)
        }
    }

    private func ask(
        _ world: QueryWorld, _ generator: RandomQueries, _ random: inout SeededRandom, _ comment: String
    ) throws {
        var naive = NaiveEvaluator(world)
        for _ in 0 ..< 40 {
            let name = random.pick(generator.classes)
            let query = try generator.query(world, name, &random)
            naive.arguments = query.arguments
            var keys: [Grouping.Key] = []
            for _ in 0 ..< random.below(4) { keys.append(try key(world, name, &random)) }
            var aggregates: [Grouping.Aggregate] = []
            for _ in 0 ..< random.below(5) { aggregates.append(try aggregate(world, name, &random)) }
            if aggregates.isEmpty { aggregates = [Grouping.Aggregate(.count)] }
            var grouping = Grouping(keys, aggregates)
            for index in grouping.keys.indices { grouping.keys[index].name = "k\(index)" }
            for index in grouping.aggregates.indices { grouping.aggregates[index].name = "a\(index)" }
            let parsed = ParsedQuery(query.predicate, ordering: query.ordering, grouping: grouping)
            let text = PredicateText.describe(parsed)
            let note: Comment = "\(name): \(text) with \(query.arguments); \(comment)"
            let objects = naive.arranged(naive.keys(name, query.predicate), name, query.ordering)
            let expected = expected(world, naive, name, objects, grouping)
            let table = try #require(world.schema[name]?.tableKey)
            let arguments = Arguments(query.arguments)
            do throws(DatabaseError) {
                let again = try ParsedQuery.parse(text)
                let bound = try BoundGrouping.bind(again, table: table, schema: world.schema, arguments: arguments)
                let objects = try BoundQuery.bind(
                    again.withoutGroups, table: table, schema: world.schema, arguments: arguments)
                check(try Executor(objects, world.source).groups(bound), expected, keys.count, note)
            } catch {
                #expect(error.code == .overflow && expected.overflows, "\(error); \(note)")
            }
        }
    }

    private struct Expected {
        var rows: [(keys: [Value], values: [Value], magnitudes: [Double])] = []
        var overflows = false
    }

    private func check(_ table: GroupTable, _ expected: Expected, _ keyCount: Int, _ note: Comment) {
        guard table.count == expected.rows.count else {
            Issue.record("\(table.count) groups, not \(expected.rows.count); \(note)")
            return
        }
        for (row, wanted) in expected.rows.enumerated() {
            #expect(zip(table.key(row), wanted.keys).allSatisfy(DocumentedOrder.areEqual), note)
            for (index, value) in wanted.values.enumerated() {
                let found = table.view(keyCount + index, row).owned
                let isRight = NaiveEvaluator.isClose(found, value, wanted.magnitudes[index])
                #expect(isRight, "\(found) not \(value) in a\(index) of \(wanted.keys); \(note)")
            }
        }
    }

    // MARK: What is asked

    private func paths(_ world: QueryWorld, _ name: String) throws -> [(path: [String], type: PropertyType)] {
        var found: [(path: [String], type: PropertyType)] = []
        for property in try world.type(name).properties where property.isStored && !property.isCollection {
            found.append(([property.name], property.type))
            guard property.type == .link, let target = property.target else { continue }
            for inner in try world.type(target).properties where inner.isStored && !inner.isCollection {
                found.append(([property.name, inner.name], inner.type))
            }
        }
        return found
    }

    private func key(_ world: QueryWorld, _ name: String, _ random: inout SeededRandom) throws -> Grouping.Key {
        let (path, type) = random.pick(try paths(world, name))
        let isTime = type == .timestamp && random.chance(60)
        return Grouping.Key(Predicate.Path(path), by: isTime ? random.pick(TimeBucket.allCases) : nil)
    }

    private func aggregate(
        _ world: QueryWorld, _ name: String, _ random: inout SeededRandom
    ) throws -> Grouping.Aggregate {
        let (path, type) = random.pick(try paths(world, name))
        var functions: [Grouping.Function] = [.count, .distinct]
        if type != .link { functions += [.min, .max] }
        if type.isNumeric || type == .mixed {
            functions += [.sum, .avg, .variance, .deviation, .median, .percentile(Double(random.below(5)) / 4)]
        }
        return Grouping.Aggregate(random.pick(functions), Predicate.Path(path))
    }

    // MARK: What is right

    private func expected(
        _ world: QueryWorld, _ naive: NaiveEvaluator, _ name: String, _ objects: [Int64], _ grouping: Grouping
    ) -> Expected {
        let keyed = objects.map { object in
            (
                object,
                grouping.keys.map { key -> Value in
                    let value = naive.reach(name, object, key.path.names[...]).values.first ?? .null
                    guard let bucket = key.bucket, case .timestamp(let time) = value else { return value }
                    return .timestamp(Timestamp(seconds: bucket.span(time.seconds).start, nanoseconds: 0))
                }
            )
        }
        let isBefore = { (left: [Value], right: [Value]) -> Bool in
            zip(left, right).lazy.map(DocumentedOrder.compare).first { $0 != 0 }.map { $0 < 0 } ?? false
        }
        var groups: [(key: [Value], objects: [Int64])] = grouping.keys.isEmpty ? [([], [])] : []
        let inOrder = keyed.enumerated().sorted {
            isBefore($0.element.1, $1.element.1)
                || !isBefore($1.element.1, $0.element.1) && $0.offset < $1.offset
        }
        for (_, (object, key)) in inOrder {
            if let last = groups.last, !isBefore(last.key, key) {
                groups[groups.count - 1].objects.append(object)
            } else {
                groups.append((key, [object]))
            }
        }
        var expected = Expected()
        for (key, objects) in groups {
            var values: [Value] = [], magnitudes: [Double] = []
            for aggregate in grouping.aggregates {
                let (value, magnitude) = value(of: aggregate, objects, naive, name)
                // The sum of ints is an int, or there is none.
                if aggregate.function == .sum, case .decimal = value, isInt(world, naive, name, aggregate) {
                    expected.overflows = true
                }
                values.append(value)
                magnitudes.append(magnitude)
            }
            expected.rows.append((key, values, magnitudes))
        }
        return expected
    }

    private static func distinct(_ values: [Value]) -> Int64 {
        let sorted = values.sorted { DocumentedOrder.compare($0, $1) < 0 }
        var count: Int64 = sorted.isEmpty ? 0 : 1
        for (one, next) in zip(sorted, sorted.dropFirst()) where !DocumentedOrder.areEqual(one, next) { count += 1 }
        return count
    }

    private func isInt(
        _ world: QueryWorld, _ naive: NaiveEvaluator, _ name: String, _ aggregate: Grouping.Aggregate
    ) -> Bool {
        naive.reach(name, nil, (aggregate.path?.names ?? [])[...]).type == .int
    }

    private func value(
        of aggregate: Grouping.Aggregate, _ objects: [Int64], _ naive: NaiveEvaluator, _ name: String
    ) -> (Value, magnitude: Double) {
        guard let path = aggregate.path else { return (.int(Int64(objects.count)), 0) }
        let type = naive.reach(name, nil, path.names[...]).type
        let values = objects.map { naive.reach(name, $0, path.names[...]).values.first ?? .null }.filter { !$0.isNull }
        let numbers = values.filter { $0.kind.isNumeric }.map(NaiveEvaluator.number)
        let magnitude = numbers.reduce(0) { $0 + abs($1) }
        let ofTotals = type == .int ? 0 : magnitude
        switch aggregate.function {
        case .count: return (.int(Int64(values.count)), 0)
        case .distinct: return (.int(Self.distinct(values)), 0)
        case .min: return (NaiveEvaluator.aggregate(.min, values, type), 0)
        case .max: return (NaiveEvaluator.aggregate(.max, values, type), 0)
        case .sum: return (NaiveEvaluator.aggregate(.sum, values, type), ofTotals)
        case .avg: return (NaiveEvaluator.aggregate(.avg, values, type), ofTotals)
        case .variance, .deviation:
            if numbers.count < 2 { return (.null, 0) }
            let mean = numbers.reduce(0, +) / Double(numbers.count)
            let variance = numbers.reduce(0) { $0 + ($1 - mean) * ($1 - mean) } / Double(numbers.count - 1)
            let isDeviation = aggregate.function == .deviation
            let value = isDeviation ? variance.squareRoot() : variance
            return (.double(value), isDeviation ? magnitude : magnitude * magnitude)
        case .median, .percentile:
            if numbers.isEmpty { return (.null, 0) }
            var fraction = 0.5
            if case .percentile(let wanted) = aggregate.function { fraction = wanted }
            let sorted = numbers.sorted { $0 < $1 || ($0.isNaN && !$1.isNaN) }
            let place = fraction * Double(sorted.count - 1)
            let low = sorted[Int(place)]
            if Double(Int(place)) == place { return (.double(low), 0) }
            let high = sorted[Int(place) + 1]
            return (.double(low == high ? low : low + (high - low) * (place - Double(Int(place)))), magnitude)
        }
    }
}
