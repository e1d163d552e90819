/// Stands for a kind that a file has an index of and this release does not know: kept in the schema, not read, and
/// never written, because a file with one is refused to writes (`Catalog.requireKnownIndexes`).
import MottePages
import MotteSchemaModel
import MotteValues

struct UnknownIndexKind: IndexKind {
    let name: String

    func check(_ index: IndexDeclaration, of type: ObjectType) throws(DatabaseError) { throw unknown }
    func capabilities(of index: TableIndex) -> IndexCapabilities { [] }
    func makeReader(of index: TableIndex, pages: PageSnapshot) -> any IndexReading { UnknownIndex(unknown) }
    func makeWriter(of index: TableIndex, in context: IndexWriteContext) -> any IndexWriting { UnknownIndex(unknown) }
    func makeCheck(of index: TableIndex) -> any IndexChecking { UnknownIndex(unknown) }

    func answers(
        of index: TableIndex, _ reader: (any IndexReading)?, pending: (any IndexWriting)?
    ) -> any IndexAnswering { UnknownIndex(unknown) }

    private var unknown: DatabaseError {
        DatabaseError(
            .unsupportedFormat, "this release does not know indexes of the kind \(name); update the library")
    }
}

/// Answers nothing and takes nothing.
private final class UnknownIndex: IndexReading, IndexAnswering, IndexWriting, IndexChecking {
    private let error: DatabaseError
    private(set) var isCleared = false

    init(_ error: DatabaseError) { self.error = error }

    func advance(to pages: PageSnapshot) {}

    func entryCount() throws(DatabaseError) -> Int { throw error }
    func estimate(_ question: IndexQuestion, most: Int) throws(DatabaseError) -> IndexEstimate? { nil }

    func keys(
        _ question: IndexQuestion, order: IndexOrder, limit: Int, into keys: inout [Int64]
    ) throws(DatabaseError) { throw error }

    /// A commit that gets here fails in `encode`.
    var isEmpty: Bool { false }
    func check(adding rows: IndexedRows, isPostponed: Bool) throws(DatabaseError) { throw error }
    func checkPostponed() throws(DatabaseError) {}
    func forgetPostponed() {}
    func forgetPlaces() {}
    func add(_ rows: IndexedRows) {}
    func remove(_ rows: IndexedRows) {}
    func clear() { isCleared = true }
    var mark: Int { 0 }
    func rollBack(to mark: Int) {}
    func encode(over pages: PageSnapshot, into batch: inout PageBatch) throws(DatabaseError) { throw error }
    func checkInvariants() throws(DatabaseError) { throw error }

    func finish(_ reader: any IndexReading, _ letGo: () -> Void) throws(DatabaseError) -> IndexFindings? {
        throw error
    }
}
