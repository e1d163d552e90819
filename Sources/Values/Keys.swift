/// The identifiers of stored things. Each has a type of its own so that one cannot be passed for another.
///
/// Table and column keys are handed out in order, kept in the file and never reused, because the change log and the
/// indexes refer to them. Object keys are handed out per table, start at 0, and are never reused either.

package struct TableKey: Hashable, Comparable, Sendable {
    package let rawValue: UInt32
    package init(_ rawValue: UInt32) { self.rawValue = rawValue }
    package static func < (left: TableKey, right: TableKey) -> Bool { left.rawValue < right.rawValue }
}

/// Unique within its table; 0 is never a column.
package struct ColumnKey: Hashable, Comparable, Sendable {
    package let rawValue: UInt32
    package init(_ rawValue: UInt32) { self.rawValue = rawValue }
    package static func < (left: ColumnKey, right: ColumnKey) -> Bool { left.rawValue < right.rawValue }
}

/// At most 2^48 - 1; the top 16 bits stay zero.
package struct ObjectKey: Hashable, Comparable, Sendable {
    package let rawValue: Int64
    package init(_ rawValue: Int64) { self.rawValue = rawValue }
    package static func < (left: ObjectKey, right: ObjectKey) -> Bool { left.rawValue < right.rawValue }
}

/// Number of the commit that made a state of the file; the empty file is 0.
package struct Version: Hashable, Comparable, Sendable {
    package let rawValue: UInt64
    package init(_ rawValue: UInt64) { self.rawValue = rawValue }
    package static func < (left: Version, right: Version) -> Bool { left.rawValue < right.rawValue }
}

/// An object of the file, whatever its class.
package struct ObjectLink: Hashable, Comparable, Sendable {
    package let table: TableKey
    package let key: ObjectKey
    package init(table: TableKey, key: ObjectKey) {
        self.table = table
        self.key = key
    }
    /// To no object of any class: what stands for an object that is not stored, and is equal to nothing.
    package static let nowhere = ObjectLink(table: TableKey(.max), key: ObjectKey(1 << 48 - 1))
    package static func < (left: ObjectLink, right: ObjectLink) -> Bool {
        left.table != right.table ? left.table < right.table : left.key < right.key
    }
}
