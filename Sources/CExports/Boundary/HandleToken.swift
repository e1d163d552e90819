/// The number behind a `motte_realm *` and its siblings: never an address, so that a wrong one is found by comparing.
///
///     bits  0 ...  3   zero, so that tools which tag pointers leave it alone
///           4 ... 24   slot in the handle table
///          25 ... 42   generation of the slot, from 1
///          43 ... 47   kind, one of MOTTE_HANDLE_*
///          48 ... 63   zero
import CMotte

package struct HandleToken: Equatable {
    package static let slotCount = 1 << 21
    package static let lastGeneration: UInt32 = (1 << 18) - 1
    /// The bits a token may use at all.
    static let mask: UInt64 = 0x0000_FFFF_FFFF_FFF0

    package let bits: UInt64

    @inline(__always) package init(bits: UInt64) { self.bits = bits }

    @inline(__always) package init(kind: HandleKind, slot: Int, generation: UInt32) {
        bits = UInt64(kind.rawValue) << 43 | UInt64(generation) << 25 | UInt64(slot) << 4
    }

    @inline(__always) init(_ pointer: UnsafeRawPointer?) { bits = UInt64(UInt(bitPattern: pointer)) }
    @inline(__always) init(_ pointer: OpaquePointer?) { bits = UInt64(UInt(bitPattern: pointer)) }

    @inline(__always) package var slot: Int { Int(bits >> 4) & (Self.slotCount - 1) }
    @inline(__always) package var generation: UInt32 { UInt32(truncatingIfNeeded: bits >> 25) & Self.lastGeneration }
    @inline(__always) package var kindNumber: UInt8 { UInt8(truncatingIfNeeded: bits >> 43) & 31 }
    @inline(__always) var isWellFormed: Bool { bits & ~Self.mask == 0 }

    var pointer: OpaquePointer? { OpaquePointer(bitPattern: UInt(bits)) }
    var rawPointer: UnsafeMutableRawPointer? { UnsafeMutableRawPointer(bitPattern: UInt(bits)) }
}

/// What a handle stands for; the numbers are those of `motte_handle_type`.
package enum HandleKind: UInt8, CaseIterable {
    case error = 1, config, schema, realm, object, coll, query, insert, queue, token, changes, report, migration
    case sections, reference, groups

    var name: String {
        switch self {
        case .error: "an error"
        case .config: "a config"
        case .schema: "a schema"
        case .realm: "a realm"
        case .object: "an object"
        case .coll: "a collection"
        case .query: "a query"
        case .insert: "a batch insert"
        case .queue: "a queue"
        case .token: "a token"
        case .changes: "a change set"
        case .sections: "a collection in sections"
        case .reference: "a reference"
        case .groups: "groups"
        case .report: "a report"
        case .migration: "a migration"
        }
    }
}
