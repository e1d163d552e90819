/// A test on one value that is at hand: what lies inside maps, lists and mixed values is asked one by one.
import MotteColumns
import MotteValues

extension ColumnTest {
    /// As `select` decides for a row with this value. Typed tests fit the column that the value is from.
    func holds(_ view: ValueView) -> Bool {
        if view.isNull { return holdsForNull }
        switch self {
        case .always, .present: return true
        case .never, .null: return false
        case .bool(let op, let value): return op.holds((view.boolValue ? 1 : 0) - (value ? 1 : 0))
        case .int(let op, let value), .link(let op, let value):
            return op.holds(view.intValue < value ? -1 : view.intValue == value ? 0 : 1)
        case .double(let op, let value):
            return ComparisonKernels.holds(view, op, .double(value))
        case .intRange(let low, let high): return view.intValue >= low && view.intValue <= high
        case .intSet(let values): return Self.contains(values) { $0 < view.intValue ? -1 : $0 == view.intValue ? 0 : 1 }
        case .timestamp(let op, let value): return ComparisonKernels.holds(view, op, .timestamp(value))
        case .text(let op, let bytes):
            return Self.withText(view) { text in bytes.withBytes { op.holds(ValueOrdering.compareBytes(text, $0)) } }
        case .textSet(let texts):
            return Self.withText(view) { text in
                Self.contains(texts) { $0.withBytes { ValueOrdering.compareBytes($0, text) } }
            }
        case .match(let matcher): return matcher.matches(view.bytes)
        case .value(let op, let value): return value.withView { ComparisonKernels.holds(view, op, $0) }
        case .valueSet(let values):
            return Self.contains(values) { $0.withView { ValueOrdering.compare($0, view) } }
        case .matchAmongMixed(let matcher, let kind): return view.kind == kind && matcher.matches(view.bytes)
        case .applied(let functions, let test): return functions.apply(view) { test.holds($0) }
        case .not(let test): return !test.holds(view)
        case .any(let tests): return tests.contains { $0.holds(view) }
        case .all(let tests): return tests.allSatisfy { $0.holds(view) }
        }
    }

    /// What columns keep as bytes.
    private static func withText(_ view: ValueView, _ body: (UnsafeRawBufferPointer) -> Bool) -> Bool {
        view.form == .identifier ? view.withOwnBytes(body) : body(view.bytes)
    }

    /// Of ascending members; `order` is negative for those below the wanted one.
    private static func contains<Member>(_ members: [Member], _ order: (Member) -> Int) -> Bool {
        var low = 0
        var high = members.count
        while low < high {
            let middle = (low + high) / 2
            let order = order(members[middle])
            if order == 0 { return true }
            if order < 0 { low = middle + 1 } else { high = middle }
        }
        return false
    }
}
