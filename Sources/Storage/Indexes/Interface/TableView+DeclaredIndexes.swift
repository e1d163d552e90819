/// What queries ask of the indexes of a class: which there are, how many rows each would give, and their keys.
import MotteValues

extension TableView {
    /// All that answer now, those that columns have by themselves included. One that a migration has yet to build is
    /// not among them, nor one of a kind that this release does not know.
    package var usableIndexes: [TableIndex] {
        source.catalog.indexes(of: key).filter { !source.isDeferred($0.key) && !$0.capabilities.isEmpty }
    }

    /// Declared with the class.
    package var usableDeclaredIndexes: [TableIndex] {
        layout.declaredIndexes.isEmpty
            ? [] : layout.declaredIndexes.filter { !source.isDeferred($0.key) && !$0.capabilities.isEmpty }
    }

    /// nil where the index does not answer the question. Counting may stop behind `most`.
    package func estimate(
        _ index: TableIndex, _ question: IndexQuestion, most: Int = .max
    ) throws(DatabaseError) -> IndexEstimate? {
        source.counters.add(indexLookups: 1)
        return try source.answers(of: index).estimate(question, most: most)
    }

    /// Appends the keys of the rows in question, as far as `limit`. Where the estimate is not exact, others may be
    /// among them.
    package func keys(
        _ index: TableIndex, _ question: IndexQuestion, order: IndexOrder = .byKey, limit: Int = .max,
        into keys: inout [Int64]
    ) throws(DatabaseError) {
        source.counters.add(indexLookups: 1)
        try source.answers(of: index).keys(question, order: order, limit: limit, into: &keys)
    }

    package func entryCount(_ index: TableIndex) throws(DatabaseError) -> Int {
        try source.answers(of: index).entryCount()
    }
}
