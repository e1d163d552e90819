/// What lies between two states of a collection, as positions: what went, by where it was, what came, by where it is,
/// and what stayed and changed, by both. All ascend. How it is found is the concern of the layer above.
package struct SequenceDifference: Equatable, Sendable {
    package var deletions: [Int] = []
    package var insertions: [Int] = []
    package var modificationsOld: [Int] = []
    package var modificationsNew: [Int] = []

    package init() {}

    package var isEmpty: Bool { deletions.isEmpty && insertions.isEmpty && modificationsOld.isEmpty }

    package mutating func noteModified(old: Int, new: Int) {
        modificationsOld.append(old)
        modificationsNew.append(new)
    }
}
