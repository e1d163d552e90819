/// Random arithmetic: numbers and times of objects and what they link to, beside constants and arguments.
import MotteQueryEngine
import MotteSchemaModel
import MotteValues

extension RandomQueries {
    private struct Side {
        var operand: Predicate.Operand
        var hasPath: Bool
    }

    /// nil where nothing fit.
    func arithmetic(
        _ world: some QuerySubjects, _ name: String, _ random: inout SeededRandom, _ state: inout State
    ) throws -> Predicate? {
        let before = state.arguments.count
        let isTime = random.chance(25)
        for _ in 0 ..< 20 {
            state.arguments.removeLast(state.arguments.count - before)
            let depth = 1 + random.below(3)
            let left = try side(world, name, &random, &state, isTime: isTime, depth: depth)
            guard left.hasPath, case .arithmetic = left.operand else { continue }
            if random.chance(15) {
                let values = (0 ..< 2).map { _ in Self.plain(isTime ? .timestamp : number(&random), &random) }
                return .comparison(.init(left.operand, random.pick([.in, .between]), list(values, &random, &state)))
            }
            let rightDepth = random.below(2)
            let right = try side(world, name, &random, &state, isTime: isTime, depth: rightDepth)
            let signs: [Predicate.Operator] = [.equal, .notEqual, .less, .lessOrEqual, .greater, .greaterOrEqual]
            let sides = random.chance(30) ? (right, left) : (left, right)
            return .comparison(.init(sides.0.operand, random.pick(signs), sides.1.operand))
        }
        state.arguments.removeLast(state.arguments.count - before)
        return nil
    }

    private func number(_ random: inout SeededRandom) -> PropertyType { random.pick([.int, .int, .double, .decimal]) }

    private func side(
        _ world: some QuerySubjects, _ name: String, _ random: inout SeededRandom, _ state: inout State, isTime: Bool,
        depth: Int
    ) throws -> Side {
        guard depth > 0 else { return try leaf(world, name, &random, &state, isTime: isTime) }
        func part(_ isTime: Bool) throws -> Side {
            let next = depth - 1 - random.below(2)
            return try side(world, name, &random, &state, isTime: isTime, depth: next)
        }
        func joined(_ left: Side, _ sign: Predicate.ArithmeticOperator, _ right: Side) -> Side {
            Side(
                operand: .arithmetic(.init(left.operand, sign, right.operand)), hasPath: left.hasPath || right.hasPath)
        }
        if isTime {
            if random.chance(30) { return joined(try part(false), .add, try part(true)) }
            return joined(try part(true), random.pick([.add, .subtract]), try part(false))
        }
        if random.chance(20) { return joined(try part(true), .subtract, try part(true)) }
        return joined(try part(false), random.pick(Predicate.ArithmeticOperator.allCases), try part(false))
    }

    private func leaf(
        _ world: some QuerySubjects, _ name: String, _ random: inout SeededRandom, _ state: inout State, isTime: Bool
    ) throws -> Side {
        if random.chance(60) {
            for _ in 0 ..< 20 {
                guard let walk = try walk(world, name, &random, toOne: true) else { continue }
                let type = walk.property.type
                guard isTime ? type == .timestamp : type.isNumeric || (type == .mixed && random.chance(30)) else {
                    continue
                }
                return Side(operand: .path(Predicate.Path(walk.names)), hasPath: true)
            }
        }
        let value = random.chance(5) ? Value.null : Self.plain(isTime ? .timestamp : number(&random), &random)
        return Side(operand: operand(value, &random, &state), hasPath: false)
    }
}
