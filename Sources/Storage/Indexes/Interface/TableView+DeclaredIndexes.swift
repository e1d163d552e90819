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

    /// The lowest key of each combination of values in an index's first columns, in the order of the values; nil where
    /// the index does not know.
    package func firstOfEach(
        _ index: TableIndex, _ question: IndexQuestion, columns: Int
    ) throws(DatabaseError) -> [Int64]? {
        source.counters.add(indexLookups: 1)
        return try source.answers(of: index).firstOfEach(question, columns: columns)
    }

    /// Whether an ordered index has all bytes of these rows, so that its order is theirs: what is longer than it keeps
    /// lies next to others that begin in the same way.
    package func isKeptWhole(_ keys: [Int64], by index: TableIndex) throws(DatabaseError) -> Bool {
        let texts = index.columns.indices.filter {
            index.columns[$0].type == .string || index.columns[$0].type == .data
        }
        // Of everything else there is room for so many.
        guard index.columns.count <= 16 else { return false }
        guard !texts.isEmpty else { return true }
        // A zero takes two bytes, and all columns share the room.
        let most = (OrderedBytes.longest / index.columns.count - 4) / 2
        for key in keys {
            guard let place = try locate(ObjectKey(key)) else { return false }
            for column in texts {
                let value = try value(slot: index.slots[column], at: place)
                // Folding makes a text half as long again at most.
                let room = index.folding(column).isEmpty ? most : most / 2
                if !value.isNull, value.bytes.count > room { return false }
            }
        }
        return true
    }

    /// Whether an open write has changed it: what is asked for is then made of everything in question.
    package func hasPendingChanges(of index: TableIndex) -> Bool { source.hasPendingChanges(of: index) }

    package func entryCount(_ index: TableIndex) throws(DatabaseError) -> Int {
        try source.answers(of: index).entryCount()
    }
}
