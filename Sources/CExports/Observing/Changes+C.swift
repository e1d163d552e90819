/// Change sets of a token. They never change and belong to no thread.
import CMotte
import MotteNotifications
import MotteValues

final class ChangesBox: Box {
    let changes: ChangeSet
    /// Class of an observed object.
    private let table: TableKey?
    private let values: [motte_prop: (old: KeptValue, new: KeptValue)]
    let props: [motte_prop]
    /// Of a map: what was deleted, inserted and modified, by MOTTE_CHANGES_DELETIONS - 1 and so on.
    private let keys: [KeptTexts]

    init(_ changes: ChangeSet, _ table: TableKey?) {
        self.changes = changes
        self.table = table
        var props: [motte_prop] = []
        var values: [motte_prop: (old: KeptValue, new: KeptValue)] = [:]
        for change in changes.properties {
            let prop = PropertyID(table ?? TableKey(0), change.name, change.column).bits
            props.append(prop)
            values[prop] = (KeptValue(change.old), KeptValue(change.new))
        }
        self.props = props
        self.values = values
        keys = [changes.keyDeletions, changes.keyInsertions, changes.keyModifications].map(KeptTexts.init)
        super.init(kind: .changes)
    }

    /// The original, under a second handle: it never changes.
    private init(sharing other: ChangesBox) {
        changes = other.changes
        table = other.table
        values = other.values
        props = other.props
        keys = other.keys
        super.init(kind: .changes)
    }

    override func clone() throws(DatabaseError) -> Box { ChangesBox(sharing: self) }

    /// Of sections, section and index; of everything else, positions.
    var deletions: [Int] { changes.sectioned?.changes.deletions.map(\.item) ?? changes.deletions }
    var insertions: [Int] { changes.sectioned?.changes.insertions.map(\.item) ?? changes.insertions }
    var modificationsOld: [Int] { changes.sectioned?.changes.modificationsOld.map(\.item) ?? changes.modificationsOld }
    var modificationsNew: [Int] { changes.sectioned?.changes.modificationsNew.map(\.item) ?? changes.modificationsNew }

    func sections(_ part: motte_changes_part) throws(DatabaseError) -> [Int] {
        switch Int(part) {
        case MOTTE_CHANGES_DELETIONS: return changes.sectioned?.changes.sectionDeletions ?? []
        case MOTTE_CHANGES_INSERTIONS: return changes.sectioned?.changes.sectionInsertions ?? []
        default: throw DatabaseError(.invalidArgument, "sections come and go; \(part) is neither")
        }
    }

    func sectionIndexes(_ part: motte_changes_part) throws(DatabaseError) -> [Int] {
        let notified = changes.sectioned?.changes
        switch Int(part) {
        case MOTTE_CHANGES_DELETIONS: return notified?.deletions.map(\.section) ?? []
        case MOTTE_CHANGES_INSERTIONS: return notified?.insertions.map(\.section) ?? []
        case MOTTE_CHANGES_MODIFICATIONS: return notified?.modificationsNew.map(\.section) ?? []
        default: throw DatabaseError(.invalidArgument, "\(part) is no part of a change set")
        }
    }

    func keys(_ part: motte_changes_part) throws(DatabaseError) -> [motte_str] {
        guard part >= 1, part <= keys.count else {
            throw DatabaseError(.invalidArgument, "\(part) is no part of a change set")
        }
        return keys[Int(part) - 1].texts
    }

    func value(of prop: motte_prop) -> (old: motte_value, new: motte_value)? {
        values[prop].map { ($0.old.value, $0.new.value) }
    }
}

/// A value whose bytes stay where they are for as long as it lives.
final class KeptValue {
    let value: motte_value
    private let bytes: UnsafeMutableRawBufferPointer?

    init(_ owned: Value) {
        var kept: UnsafeMutableRawBufferPointer?
        value = owned.withView { view in
            guard view.kind == .string || view.kind == .data || view.kind == .list || view.kind == .map else {
                return view.cValue
            }
            let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: view.bytes.count + 1, alignment: 1)
            copy.copyBytes(from: view.bytes)
            kept = copy
            var moved = view
            moved.low = UInt64(UInt(bitPattern: copy.baseAddress))
            return moved.cValue
        }
        bytes = kept
    }

    deinit { bytes?.deallocate() }
}

/// Texts whose bytes stay where they are, side by side, for as long as it lives.
private final class KeptTexts {
    let texts: [motte_str]
    private let bytes: UnsafeMutableRawBufferPointer

    init(_ owned: [String]) {
        // A byte more, so that the empty text among them has a place as well.
        let buffer = UnsafeMutableRawBufferPointer.allocate(
            byteCount: owned.reduce(1) { $0 + $1.utf8.count }, alignment: 1)
        var place = 0
        texts = owned.map { text in
            let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[place...])
            let size = text.utf8.count
            rest.copyBytes(from: text.utf8)
            place += size
            return motte_str(data: UnsafePointer(rest.baseAddress?.assumingMemoryBound(to: CChar.self)), size: size)
        }
        bytes = buffer
    }

    deinit { bytes.deallocate() }
}

extension Handles {
    static func changes(_ handle: OpaquePointer?) throws(DatabaseError) -> Pinned<ChangesBox> {
        try any(handle, .changes, as: ChangesBox.self)
    }
}

@_cdecl("motte_changes_info") @implementation
public func motte_changes_info(
    _ changes: OpaquePointer?, _ out_details: UnsafeMutablePointer<motte_changes_details>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let handle = try Handles.changes(changes)
        try fillStruct(out_details) { () throws(DatabaseError) in
            let box = handle.box
            let changes = box.changes
            return motte_changes_details(
                struct_size: 0, kind: changes.kind.rawValue,
                flags: (changes.isInitial ? UInt32(MOTTE_CHANGES_INITIAL) : 0)
                    | (changes.isSourceDeleted ? UInt32(MOTTE_CHANGES_DELETED) : 0)
                    | (changes.hasNewSchema ? UInt32(MOTTE_CHANGES_SCHEMA) : 0)
                    | (changes.failure != nil ? UInt32(MOTTE_CHANGES_FAILED) : 0),
                reserved: 0, from_version: changes.fromVersion.rawValue, to_version: changes.toVersion.rawValue,
                deletion_count: UInt64(box.deletions.count), insertion_count: UInt64(box.insertions.count),
                modification_count: UInt64(box.modificationsOld.count),
                prop_count: UInt64(changes.properties.count))
        }
        return .ok
    }
}

@_cdecl("motte_changes_failure") @implementation
public func motte_changes_failure(_ changes: OpaquePointer?) -> motte_status {
    boundary { () throws(DatabaseError) in
        if let failure = try Handles.changes(changes).box.changes.failure { throw failure }
        return .ok
    }
}

/// One part of a change set as an array.
private func list<Source: Collection>(
    of changes: OpaquePointer?, _ array: UnsafeMutablePointer<Source.Element>?, _ capacity: Int,
    _ outCount: UnsafeMutablePointer<Int>?, _ part: (ChangesBox) throws(DatabaseError) -> Source
) -> motte_status {
    boundary { () throws(DatabaseError) in
        _ = try required(outCount, zero: 0)
        return try fill(array, capacity, outCount, from: part(try Handles.changes(changes).box))
    }
}

@_cdecl("motte_changes_deletions") @implementation
public func motte_changes_deletions(
    _ changes: OpaquePointer?, _ out_indexes: UnsafeMutablePointer<Int>?, _ capacity: Int,
    _ out_count: UnsafeMutablePointer<Int>?
) -> motte_status {
    list(of: changes, out_indexes, capacity, out_count) { $0.deletions }
}

@_cdecl("motte_changes_insertions") @implementation
public func motte_changes_insertions(
    _ changes: OpaquePointer?, _ out_indexes: UnsafeMutablePointer<Int>?, _ capacity: Int,
    _ out_count: UnsafeMutablePointer<Int>?
) -> motte_status {
    list(of: changes, out_indexes, capacity, out_count) { $0.insertions }
}

@_cdecl("motte_changes_modifications") @implementation
public func motte_changes_modifications(
    _ changes: OpaquePointer?, _ out_old_indexes: UnsafeMutablePointer<Int>?,
    _ out_new_indexes: UnsafeMutablePointer<Int>?, _ capacity: Int, _ out_count: UnsafeMutablePointer<Int>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        _ = try required(out_count, zero: 0)
        let changes = try Handles.changes(changes).box
        guard out_old_indexes != nil || out_new_indexes != nil || capacity == 0 else {
            throw DatabaseError(.nullArgument, "both arrays of \(capacity) are NULL")
        }
        // Each array may be left out on its own.
        if out_new_indexes != nil { _ = try fill(out_new_indexes, capacity, out_count, from: changes.modificationsNew) }
        return try fill(
            out_old_indexes ?? out_new_indexes, capacity, out_count,
            from: out_old_indexes == nil ? changes.modificationsNew : changes.modificationsOld)
    }
}

@_cdecl("motte_changes_ranges") @implementation
public func motte_changes_ranges(
    _ changes: OpaquePointer?, _ part: motte_changes_part, _ out_ranges: UnsafeMutablePointer<motte_range>?,
    _ capacity: Int, _ out_count: UnsafeMutablePointer<Int>?
) -> motte_status {
    list(of: changes, out_ranges, capacity, out_count) { (box) throws(DatabaseError) in
        let positions: [Int]
        switch Int(part) {
        case MOTTE_CHANGES_DELETIONS: positions = box.deletions
        case MOTTE_CHANGES_INSERTIONS: positions = box.insertions
        case MOTTE_CHANGES_MODIFICATIONS: positions = box.modificationsNew
        default: throw DatabaseError(.invalidArgument, "\(part) is no part of a change set")
        }
        return ranges(of: positions, joined: box.changes.sectioned == nil)
    }
}

private func ranges(of positions: [Int], joined: Bool) -> [motte_range] {
    var ranges: [motte_range] = []
    for position in positions {
        if joined, let last = ranges.last, last.first + last.count == position {
            ranges[ranges.count - 1].count += 1
        } else {
            ranges.append(motte_range(first: position, count: 1))
        }
    }
    return ranges
}

@_cdecl("motte_changes_moves") @implementation
public func motte_changes_moves(
    _ changes: OpaquePointer?, _ out_from: UnsafeMutablePointer<Int>?, _ out_to: UnsafeMutablePointer<Int>?,
    _ capacity: Int, _ out_count: UnsafeMutablePointer<Int>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        _ = try required(out_count, zero: 0)
        let moves = try Handles.changes(changes).box.changes.moves
        guard out_from != nil || out_to != nil || capacity == 0 else {
            throw DatabaseError(.nullArgument, "both arrays of \(capacity) are NULL")
        }
        if out_to != nil { _ = try fill(out_to, capacity, out_count, from: moves.map(\.new)) }
        return try fill(
            out_from ?? out_to, capacity, out_count, from: out_from == nil ? moves.map(\.new) : moves.map(\.old))
    }
}

@_cdecl("motte_changes_keys") @implementation
public func motte_changes_keys(
    _ changes: OpaquePointer?, _ part: motte_changes_part, _ out_keys: UnsafeMutablePointer<motte_str>?,
    _ capacity: Int, _ out_count: UnsafeMutablePointer<Int>?
) -> motte_status {
    list(of: changes, out_keys, capacity, out_count) { (box) throws(DatabaseError) in try box.keys(part) }
}

@_cdecl("motte_changes_sections") @implementation
public func motte_changes_sections(
    _ changes: OpaquePointer?, _ part: motte_changes_part, _ out_indexes: UnsafeMutablePointer<Int>?,
    _ capacity: Int, _ out_count: UnsafeMutablePointer<Int>?
) -> motte_status {
    list(of: changes, out_indexes, capacity, out_count) { (box) throws(DatabaseError) in try box.sections(part) }
}

@_cdecl("motte_changes_section_indexes") @implementation
public func motte_changes_section_indexes(
    _ changes: OpaquePointer?, _ part: motte_changes_part, _ out_indexes: UnsafeMutablePointer<Int>?,
    _ capacity: Int, _ out_count: UnsafeMutablePointer<Int>?
) -> motte_status {
    list(of: changes, out_indexes, capacity, out_count) { (box) throws(DatabaseError) in try box.sectionIndexes(part) }
}

@_cdecl("motte_changes_props") @implementation
public func motte_changes_props(
    _ changes: OpaquePointer?, _ out_props: UnsafeMutablePointer<motte_prop>?, _ capacity: Int,
    _ out_count: UnsafeMutablePointer<Int>?
) -> motte_status {
    list(of: changes, out_props, capacity, out_count) { $0.props }
}

@_cdecl("motte_changes_values") @implementation
public func motte_changes_values(
    _ changes: OpaquePointer?, _ prop: motte_prop, _ out_old: UnsafeMutablePointer<motte_value>?,
    _ out_new: UnsafeMutablePointer<motte_value>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        out_old?.pointee = motte_value()
        out_new?.pointee = motte_value()
        guard let change = try Handles.changes(changes).box.value(of: prop) else { return .notFound }
        out_old?.pointee = change.old
        out_new?.pointee = change.new
        return .ok
    }
}
