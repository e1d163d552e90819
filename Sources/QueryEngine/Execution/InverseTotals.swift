/// The sums of a number of all linking objects, by the object they link to: one pass over two columns side by side.
///
/// For the commonest case, `inverse.@sum.number` and `.@avg.number`, where a general accumulator for each target costs
/// more than reading the links.
import MotteColumns
import MotteSchemaModel
import MotteStorage
import MotteValues

final class InverseTotals {
    private let isInt: Bool
    private var ints: [Int128] = []
    private var doubles: [Double] = []
    private var counts: [Int32]

    /// Whether this can answer; otherwise values are accumulated one by one.
    static func fits(_ function: Predicate.CollectionOperator, _ path: PathReader, isList: Bool) -> Bool {
        guard !isList, !path.hasSteps, path.rowsOfEnd != nil, function == .sum || function == .avg else { return false }
        return path.path.type == .int || path.path.type == .double
    }

    init(_ context: RunContext, _ step: PathStep, _ path: PathReader, targets: Int) throws(DatabaseError) {
        isInt = path.path.type == .int
        counts = Array(repeating: 0, count: targets)
        if isInt { ints = Array(repeating: 0, count: targets) } else { doubles = Array(repeating: 0, count: targets) }
        guard let values = path.rowsOfEnd?.column else { return }
        let linking = try context.reader(step.target)
        let links = try linking.cursor(step.column)
        let live = SelectionBuffer(rows: linking.mostRows)
        for rowGroup in 0 ..< linking.rowGroupCount {
            guard let rows = try linking.liveRows(rowGroup, into: live.words) else { continue }
            context.noteEvaluated(rows.rowCount)
            add(try links.chunk(rowGroup).pointee, try values.chunk(rowGroup).pointee, rows.rowCount, live.words)
        }
    }

    private func add(_ links: ColumnChunk, _ values: ColumnChunk, _ rows: Int, _ live: UnsafePointer<UInt64>) {
        counts.withUnsafeMutableBufferPointer { counts in
            if isInt {
                ints.withUnsafeMutableBufferPointer { sums in
                    for row in 0 ..< rows where Selection.contains(live, row) && !values.isNull(row) {
                        let target = Int(links.link(row))
                        guard target >= 0, target < counts.count else { continue }
                        counts[target] &+= 1
                        sums[target] &+= Int128(values.int(row))
                    }
                }
            } else {
                doubles.withUnsafeMutableBufferPointer { sums in
                    for row in 0 ..< rows where Selection.contains(live, row) && !values.isNull(row) {
                        let target = Int(links.link(row))
                        guard target >= 0, target < counts.count else { continue }
                        counts[target] &+= 1
                        sums[target] += values.double(row)
                    }
                }
            }
        }
    }

    /// As an accumulator of the same values would say.
    func view(_ function: Predicate.CollectionOperator, _ target: Int) -> ValueView {
        if function == .sum { return isInt ? Accumulator.sum(ints[target]) : .double(doubles[target]) }
        let count = Int64(counts[target])
        if count == 0 { return .null }
        return .double(isInt ? Accumulator.average(ints[target], count) : doubles[target] / Double(count))
    }
}
