/// How much stack it takes to walk a predicate and to run it: every part of it lies in calls within those for what is
/// around it. Measured; walked without recursion itself.
import MotteValues

extension Predicate {
    private static let bytesOfSubquery = 7 << 10
    private static let bytesOfLink = 5 << 10
    private static let bytesOfOperator = 3 << 9

    /// More than this no thread is asked for, not even one with a large stack: threads of our own have 8 MB.
    private static let mostBytes = 4 << 20

    private enum Part {
        case predicate(Predicate, Int)
        case operand(Operand, Int)
    }

    /// Of the deepest part.
    var stackBytes: Int {
        var parts = [Part.predicate(self, 0)]
        var most = 0
        while let part = parts.popLast() {
            switch part {
            case .predicate(let predicate, let around):
                let bytes = around + Self.bytesOfOperator
                most = max(most, bytes)
                switch predicate {
                case .constant: break
                case .not(let inner): parts.append(.predicate(inner, bytes))
                case .and(let inner), .or(let inner): for part in inner { parts.append(.predicate(part, bytes)) }
                case .comparison(let comparison):
                    parts.append(.operand(comparison.left, bytes))
                    parts.append(.operand(comparison.right, bytes))
                }
            case .operand(let operand, let around):
                switch operand {
                case .path(let path): most = max(most, around + Self.stackBytes(of: path))
                case .subquery(let subquery):
                    let bytes = around + Self.stackBytes(of: subquery.collection) + Self.bytesOfSubquery
                    parts.append(.predicate(subquery.predicate, bytes))
                case .arithmetic(let arithmetic):
                    let bytes = around + Self.bytesOfOperator
                    parts.append(.operand(arithmetic.left, bytes))
                    parts.append(.operand(arithmetic.right, bytes))
                case .list(let inner, _):
                    for part in inner { parts.append(.operand(part, around + Self.bytesOfOperator)) }
                case .shape, .constant, .argument, .now: break
                }
            }
        }
        return most
    }

    private static func stackBytes(of path: Path) -> Int {
        max(0, path.names.count - 1) * bytesOfLink + path.functions.count * bytesOfOperator
    }

    /// Throws where this thread has not so much left.
    static func checkStack(for bytes: Int) throws(DatabaseError) {
        guard bytes < mostBytes, StackGuard.hasRoom(for: bytes) else { throw tooDeep() }
    }

    static func tooDeep() -> DatabaseError {
        DatabaseError(
            .queryInvalid,
            "the query is nested too deeply for the stack of this thread; use fewer SUBQUERYs, links and parentheses"
                + " within each other, or a thread with a larger stack")
    }
}
