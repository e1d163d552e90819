/// What holds of a structure whenever it is at rest. Each has a prefix of its own, `index-3:`, which is found by it in
/// the code, in messages and in tests; tidy checks that no two are alike.
///
/// `checkInvariants` of a structure goes through all of it and throws the first that is broken. Tests call it after
/// each step; debug builds call it where that costs little beside the work.

package enum Invariant {
    @inlinable @inline(__always)
    package static func require(_ holds: Bool, _ text: @autoclosure () -> String) throws(DatabaseError) {
        guard !holds else { return }
        throw DatabaseError(.internal, "a broken invariant of the library: " + text())
    }
}
