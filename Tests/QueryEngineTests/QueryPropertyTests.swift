/// Random queries on random objects give what a naive evaluation gives: committed and in an open write, with row groups
/// of 3 rows and of 480, over the class, over lists of objects, sorted and limited.
import MotteQueryEngine
import MotteSchemaModel
import MotteStorage
import MotteValues
import TestSupport
import Testing

@Suite struct QueryPropertyTests {
    @Test(arguments: [3, 480]) func queriesAgreeWithNaiveEvaluation(rowGroupSize: Int) throws {
        try PropertyTest.run(rounds: 6) { random, comment in
            let generator = RandomQueries()
            let world = try QueryWorld(generator.schema(&random), rowGroupSize: rowGroupSize)
            try world.begin()
            try generator.fill(world, &random, objects: 20 + random.below(120))
            try deleteSome(world, &random)
            if random.chance(30) { try ask(world, generator, &random, comment) }
            try world.commit()
            try ask(world, generator, &random, comment)
            try world.begin()
            try generator.fill(world, &random, objects: random.below(10))
            try deleteSome(world, &random)
            for name in generator.classes {
                for key in (world.rows[name] ?? [:]).keys.sorted() where random.chance(10) {
                    try generator.change(world, name, key, &random, percent: 20)
                }
            }
            try undoSome(world, generator, &random, comment)
            try ask(world, generator, &random, comment)
            try world.commit()
            #expect(try world.snapshot.verify().isSound, "\(comment)")
        }
    }

    /// Changes behind a savepoint, asked about, and gone again.
    private func undoSome(
        _ world: QueryWorld, _ generator: RandomQueries, _ random: inout SeededRandom, _ comment: String
    ) throws {
        let write = try #require(world.write)
        let before = world.rows
        let savepoint = try write.savepoint()
        try generator.fill(world, &random, objects: random.below(5))
        try deleteSome(world, &random)
        try ask(world, generator, &random, comment)
        _ = try write.rollBack(to: savepoint)
        world.rows = before
    }

    private func deleteSome(_ world: QueryWorld, _ random: inout SeededRandom) throws {
        let percent = random.pick([0, 5, 40])
        for name in world.rows.keys.sorted() {
            for key in (world.rows[name] ?? [:]).keys.sorted() where random.chance(percent) {
                try world.delete(name, key)
            }
        }
    }

    private func ask(
        _ world: QueryWorld, _ generator: RandomQueries, _ random: inout SeededRandom, _ comment: String
    ) throws {
        var naive = NaiveEvaluator(world)
        for _ in 0 ..< 60 {
            let name = random.pick(generator.classes)
            let query = try generator.query(world, name, &random)
            naive.arguments = query.arguments
            let text = PredicateText.describe(ParsedQuery(query.predicate, ordering: query.ordering))
            let note: Comment = "\(name): \(text) with \(query.arguments); \(comment)"
            let bound: BoundQuery
            do throws(DatabaseError) {
                bound = try BoundQuery.bind(
                    try ParsedQuery.parse(text), table: try keyOf(world, name), schema: world.schema,
                    arguments: Arguments(query.arguments))
            } catch {
                Issue.record("\(error); \(note)")
                continue
            }
            let matching = naive.keys(name, query.predicate)
            let expected = naive.arranged(matching, name, query.ordering)
            let plan = try Plan.make(bound, world.source).text
            #expect(try Executor(bound, world.source).keys() == expected, "\(plan) \(note)")
            #expect(try Executor(bound, world.source).count() == expected.count, "\(plan) \(note)")
            #expect(try Executor(bound, world.source).first() == expected.first, "\(plan) \(note)")
            try askAboutSome(world, name, query, bound, naive, &random, note)
            try askAggregate(world, name, bound, expected, &random, note)
        }
    }

    private func keyOf(_ world: QueryWorld, _ name: String) throws(DatabaseError) -> TableKey {
        guard let key = world.schema[name]?.tableKey else { throw DatabaseError(.unknownClass, name) }
        return key
    }

    private func askAboutSome(
        _ world: QueryWorld, _ name: String, _ query: RandomQueries.Query, _ bound: BoundQuery, _ naive: NaiveEvaluator,
        _ random: inout SeededRandom, _ note: Comment
    ) throws {
        let all = (world.rows[name] ?? [:]).keys.sorted()
        guard !all.isEmpty else { return }
        var some = (0 ..< random.below(12)).map { _ in random.pick(all) }
        let passing = some.filter { naive.passes(query.predicate, name, $0) }
        let expected = naive.arranged(passing, name, query.ordering)
        #expect(try Executor(bound, world.source).keys(among: some) == expected, note)
        if random.chance(50) { some.append(1_000_000) }
        let executor = Executor(bound, world.source)
        for keys in [some, some.reversed()] {
            let live = world.rows[name] ?? [:]
            let passes = keys.map { live[$0] != nil && naive.passes(query.predicate, name, $0) }
            #expect(try executor.matches(keys) == passes, note)
        }
        if all.count > 1 {
            let (left, right) = (random.pick(all), random.pick(all))
            var order = 0
            // Of the orders the query begins with the last decides.
            var first: [Ordering.SortKey] = []
            for clause in query.ordering.clauses {
                guard case .sort(let keys) = clause else { break }
                first = keys + first
            }
            for key in first where order == 0 { order = naive.compare(left, right, name, key) }
            #expect(try executor.compare(left, right).signum() == order.signum(), note)
        }
    }

    private func askAggregate(
        _ world: QueryWorld, _ name: String, _ bound: BoundQuery, _ keys: [Int64], _ random: inout SeededRandom,
        _ note: Comment
    ) throws {
        let properties = try world.type(name).properties.filter {
            $0.isStored && !$0.isCollection && ($0.type.isNumeric || $0.type == .timestamp || $0.type == .mixed)
        }
        guard !properties.isEmpty else { return }
        let property = random.pick(properties)
        let function = random.pick(
            property.type == .timestamp ? [.min, .max, .count] : Predicate.CollectionOperator.allCases)
        let values: [Value] = keys.compactMap {
            if case .value(let value)? = world.rows[name]?[$0]?[property.name], !value.isNull { return value }
            return nil
        }
        let expected = NaiveEvaluator.aggregate(function, values, property.type)
        let column = try #require(property.columnKey)
        let isTooLarge = property.type == .int && function == .sum && expected.kind == .decimal
        // Floating sums depend on the order of addition, and those of decimals are rounded on the way. Of ints nothing
        // is lost.
        let numbers = values.filter { $0.kind.isNumeric }.map(NaiveEvaluator.number)
        let magnitude = property.type == .int ? 0 : numbers.reduce(0) { $0 + abs($1) }
        do throws(DatabaseError) {
            let result = try Executor(bound, world.source).aggregate(function, column)
            let again = try Executor.aggregate(function, column, of: keys, bound.table, world.source)
            let isRight = [result, again].allSatisfy { NaiveEvaluator.isClose($0, expected, magnitude) }
            #expect(isRight, "\(function) of \(property.name): \(result) \(again) not \(expected); \(note)")
        } catch {
            #expect(error.code == .overflow && isTooLarge, "\(error) \(note)")
        }
    }
}
