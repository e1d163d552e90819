// Each invariant of the handle table is found to be broken where it is.
import MotteCExports
import MotteValues
import Synchronization
import Testing

@Suite struct HandleTableInvariantTests {
    private typealias Slot = UnsafeMutablePointer<HandleTable.Slot>

    /// What is found after a change to a table of five slots: 0 and 2 live, 1 released and pinned, 3 and 4 free.
    private func broken(_ change: (HandleTable, (Int) throws -> Slot) throws -> Void) throws -> String {
        let table = HandleTable()
        let kinds: [HandleKind] = [.realm, .object, .coll, .query, .token]
        let tokens = try kinds.map { try table.insert(Box.plain($0)) }
        let pinned = try table.pin(tokens[1])
        for index in [1, 4, 3] { #expect(table.release(tokens[index])) }
        try table.checkInvariants()
        try change(table) { try #require(table.existingSlot($0)) }
        let error = #expect(throws: DatabaseError.self) { try table.checkInvariants() }
        #expect(error?.code == .internal)
        _ = pinned
        return error?.message ?? ""
    }

    private func expect(_ message: String, _ invariant: String) {
        #expect(message.hasPrefix("a broken invariant of the library: \(invariant)"), "\(message)")
    }

    @Test func aBrokenFreeListIsFound() throws {
        expect(
            try broken { table, _ in table.freeList.store(9, ordering: .relaxed) },
            "handles-3: slot 8 of the free list is one of the 5 that were used")
        expect(
            try broken { _, slot in try slot(3).pointee.nextFree.store(4, ordering: .relaxed) },
            "handles-4: slot 3 is in the free list once")
        expect(
            try broken { _, slot in try slot(3).pointee.nextFree.store(0, ordering: .relaxed) },
            "handles-8: slot 4, which is free, is in the free list if it has generations left")
        expect(
            try broken { _, slot in
                try slot(3).pointee.generation.store(HandleToken.lastGeneration, ordering: .relaxed)
            }, "handles-8: slot 3,")
        expect(
            try broken { _, slot in try slot(4).pointee.nextFree.store(3, ordering: .relaxed) },
            "handles-11: slot 2, which is taken, is not in the free list")
    }

    @Test func aBrokenSlotIsFound() throws {
        expect(
            try broken { _, slot in try slot(2).pointee.generation.store(0, ordering: .relaxed) },
            "handles-6: generation 0 of slot 2")
        expect(
            try broken { _, slot in
                try slot(2).pointee.generation.store(HandleToken.lastGeneration + 1, ordering: .relaxed)
            }, "handles-6: generation 262144 of slot 2")
        expect(
            try broken { _, slot in try slot(4).pointee.state.store(HandleTable.released, ordering: .relaxed) },
            "handles-7: slot 4, which is free, is not marked as released")
        expect(
            try broken { _, slot in try slot(4).pointee.box = slot(2).pointee.box?.retain() },
            "handles-9: slot 4, which is free, keeps nothing alive")
        expect(
            try broken { _, slot in try slot(2).pointee.generation.store(2, ordering: .relaxed) },
            "handles-10: the token of slot 2 is the newest that was made for it")
        expect(
            try broken { _, slot in
                try slot(2).pointee.state.store(slot(0).pointee.state.load(ordering: .relaxed), ordering: .relaxed)
            }, "handles-10: the token of slot 2")
        expect(
            try broken { _, slot in try slot(1).pointee.state.subtract(HandleTable.pin, ordering: .relaxed) },
            "handles-12: slot 1, which was released, is kept by a call")
        expect(
            try broken { _, slot in
                try slot(2).pointee.box?.release()
                try slot(2).pointee.box = slot(0).pointee.box?.retain()
            }, "handles-13: slot 2 keeps a box of the kind that its token names")
        expect(
            try broken { _, slot in
                try slot(1).pointee.box?.release()
                try slot(1).pointee.box = nil
            }, "handles-13: slot 1")
    }

    @Test func brokenCountsAndBoundsAreFound() throws {
        expect(
            try broken { table, _ in table.highWater.store(HandleToken.slotCount + 1, ordering: .relaxed) },
            "handles-1: no more slots were used than there are")
        expect(
            try broken { table, _ in table.liveCounts[Int(HandleKind.coll.rawValue)].add(1, ordering: .relaxed) },
            "handles-2: 1 slots are live as a collection, 2 are counted")
        expect(
            try broken { table, _ in table.liveCounts[Int(HandleKind.object.rawValue)].add(1, ordering: .relaxed) },
            "handles-2: 0 slots are live as an object, 1 are counted")
        expect(
            try broken { table, _ in
                // Elsewhere, so that the table still gives its memory up.
                table.segments[1].store(table.segments[0].exchange(0, ordering: .relaxed), ordering: .relaxed)
            }, "handles-5: slot 0, which was used, has memory")
        expect(
            try broken { _, slot in try slot(5).pointee.generation.store(1, ordering: .relaxed) },
            "handles-14: slot 5, which was never used, is as it was made")
    }

    /// While other threads use a table, what they hold for a moment is no mistake.
    @Test func momentsOfOtherThreadsAreAllowed() throws {
        let table = HandleTable()
        let token = try table.insert(Box.plain(.realm))
        let slot = try #require(table.existingSlot(token.slot))
        // A thread within `unpin`, about to let the box go.
        slot.pointee.state.bitwiseOr(HandleTable.released, ordering: .relaxed)
        table.liveCounts[Int(HandleKind.realm.rawValue)].subtract(1, ordering: .relaxed)
        try table.checkInvariants(atRest: false)
        let error = #expect(throws: DatabaseError.self) { try table.checkInvariants() }
        expect(error?.message ?? "", "handles-12:")
    }

    #if DEBUG
    /// Debug builds look at a small table after each change, and at the changed slot of a large one.
    @Test func debugBuildsEndAtTheChange() async throws {
        func said(_ outcome: ExitTest.Result?) -> String {
            String(decoding: outcome?.standardErrorContent ?? [], as: UTF8.self)
        }
        let small = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let table = HandleTable()
            let token = try table.insert(Box.plain(.realm))
            table.liveCounts[Int(HandleKind.realm.rawValue)].add(1, ordering: .relaxed)
            table.release(token)
        }
        #expect(said(small).contains("handles-2: 0 slots are live as a realm, 1 are counted"))
        let large = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let (table, tokens) = try Self.largeTable()
            table.existingSlot(70)?.pointee.generation.store(2, ordering: .relaxed)
            table.release(tokens[70])
        }
        #expect(said(large).contains("handles-10: the token of slot 70"))
        // Another slot's change does not look there.
        let (table, tokens) = try Self.largeTable()
        table.existingSlot(70)?.pointee.generation.store(2, ordering: .relaxed)
        table.release(tokens[71])
        table.existingSlot(70)?.pointee.generation.store(1, ordering: .relaxed)
        try table.checkInvariants()
    }

    private static func largeTable() throws -> (HandleTable, [HandleToken]) {
        let table = HandleTable()
        return (table, try (0 ..< 100).map { _ in try table.insert(Box.plain(.realm)) })
    }
    #endif
}
