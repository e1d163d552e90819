/// What holds of the handle table between two changes: slots, free list, generations and counts agree.
///
/// Debug builds look after each change: at all of a small table, else at the slot that was changed, and at all of a
/// large one after changes whose number is a power of two. No lock keeps other threads away, so what was found counts
/// only if no change began meanwhile.
import MotteStorage
import MotteValues
import Synchronization

extension HandleTable {
    /// Goes through the whole table and throws the first invariant that is broken. `atRest`: no other thread uses the
    /// table, so that what they may hold for a moment can be looked at, too.
    package func checkInvariants(atRest: Bool = true) throws(DatabaseError) {
        let used = highWater.load(ordering: .acquiring)
        try Invariant.require(
            used >= 0 && used <= HandleToken.slotCount, "handles-1: no more slots were used than there are")
        let isListed = try listedSlots(used: used)
        var live = [Int](repeating: 0, count: HandleKind.allCases.count + 1)
        for index in 0 ..< used {
            if let kind = try checkSlot(index, isListed: isListed[index], atRest: atRest) {
                live[Int(kind.rawValue)] += 1
            }
        }
        for kind in HandleKind.allCases {
            let found = live[Int(kind.rawValue)], counted = count(Int(kind.rawValue))
            try Invariant.require(
                found == counted, "handles-2: \(found) slots are live as \(kind.name), \(counted) are counted")
        }
        if atRest { try checkUnused(from: used) }
    }

    /// Which slots are in the free list.
    private func listedSlots(used: Int) throws(DatabaseError) -> [Bool] {
        var isListed = [Bool](repeating: false, count: used)
        var next = Int(freeList.load(ordering: .acquiring) & 0xFFFF_FFFF)
        while next != 0 {
            let index = next - 1
            try Invariant.require(
                index < used, "handles-3: slot \(index) of the free list is one of the \(used) that were used")
            try Invariant.require(!isListed[index], "handles-4: slot \(index) is in the free list once")
            isListed[index] = true
            guard let slot = existingSlot(index) else { break }
            next = Int(slot.pointee.nextFree.load(ordering: .relaxed))
        }
        return isListed
    }

    /// The kind of a slot that is live. `isListed`: whether it is in the free list, nil if that was not looked at.
    @discardableResult
    func checkSlot(_ index: Int, isListed: Bool?, atRest: Bool) throws(DatabaseError) -> HandleKind? {
        guard let slot = existingSlot(index) else {
            try Invariant.require(false, "handles-5: slot \(index), which was used, has memory")
            return nil
        }
        let state = slot.pointee.state.load(ordering: .acquiring)
        let newest = slot.pointee.generation.load(ordering: .relaxed)
        try Invariant.require(
            newest >= 1 && newest <= HandleToken.lastGeneration,
            "handles-6: generation \(newest) of slot \(index) is one that a token can have")
        let token = HandleToken(bits: state & HandleToken.mask)
        guard token.bits != 0 else {
            try Invariant.require(
                state & Self.released == 0, "handles-7: slot \(index), which is free, is not marked as released")
            if let isListed {
                try Invariant.require(
                    isListed == (newest < HandleToken.lastGeneration),
                    "handles-8: slot \(index), which is free, is in the free list if it has generations left")
            }
            // While others use the table, this is a moment at which one of them may have taken the slot.
            if atRest {
                try Invariant.require(
                    slot.pointee.box == nil, "handles-9: slot \(index), which is free, keeps nothing alive")
            }
            return nil
        }
        let kind = HandleKind(rawValue: token.kindNumber)
        try Invariant.require(
            token.slot == index && token.generation == newest && kind != nil,
            "handles-10: the token of slot \(index) is the newest that was made for it")
        try Invariant.require(isListed != true, "handles-11: slot \(index), which is taken, is not in the free list")
        let isReleased = state & Self.released != 0
        if atRest {
            try Invariant.require(
                !isReleased || state & ~(HandleToken.mask | Self.released) != 0,
                "handles-12: slot \(index), which was released, is kept by a call")
        }
        if let kind, let found = boxKind(of: slot, token, isReleased: isReleased, atRest: atRest) {
            try Invariant.require(
                found == kind, "handles-13: slot \(index) keeps a box of the kind that its token names")
        }
        return isReleased ? nil : kind
    }

    /// The kind of the box of a slot that is taken, nil inside if there is none; nil if it cannot be looked at.
    private func boxKind(
        of slot: UnsafeMutablePointer<Slot>, _ token: HandleToken, isReleased: Bool, atRest: Bool
    ) -> HandleKind?? {
        if atRest { return .some(slot.pointee.box?._withUnsafeGuaranteedRef { $0.kind }) }
        guard !isReleased else { return nil }
        do throws(DatabaseError) {
            let pinned = try pin(token)
            defer { unpin(pinned) }
            return .some(pinned.pointee.box?._withUnsafeGuaranteedRef { $0.kind })
        } catch {
            // Released by another thread since, or made before a fork.
            return nil
        }
    }

    /// Nobody was ever given a slot behind those that were used.
    private func checkUnused(from used: Int) throws(DatabaseError) {
        var index = used
        while index < HandleToken.slotCount, index >> Self.segmentShift == used >> Self.segmentShift {
            guard let slot = existingSlot(index) else { return }
            try Invariant.require(
                slot.pointee.generation.load(ordering: .relaxed) == 0
                    && slot.pointee.state.load(ordering: .relaxed) == 0 && slot.pointee.box == nil,
                "handles-14: slot \(index), which was never used, is as it was made")
            index += 1
        }
    }

    // MARK: In debug builds

    private static let smallCount = 64

    @inline(__always)
    func beginChange() {
        #if DEBUG
        changesBegun.add(1, ordering: .sequentiallyConsistent)
        // What the change does is seen by nobody who does not see that it began.
        atomicMemoryFence(ordering: .sequentiallyConsistent)
        #endif
    }

    /// nil: no slot was found.
    @inline(__always)
    func endChange(of index: Int?) {
        #if DEBUG
        let ended = changesEnded.add(1, ordering: .sequentiallyConsistent).newValue
        assertInvariants(index, after: ended)
        #endif
    }

    #if DEBUG
    private func assertInvariants(_ index: Int?, after changes: Int) {
        guard changesBegun.load(ordering: .sequentiallyConsistent) == changes else { return }
        do throws(DatabaseError) {
            if highWater.load(ordering: .relaxed) <= Self.smallCount || changes & (changes - 1) == 0 {
                try checkInvariants(atRest: false)
            } else if let index {
                try checkSlot(index, isListed: nil, atRest: false)
            }
        } catch {
            atomicMemoryFence(ordering: .sequentiallyConsistent)
            if changesBegun.load(ordering: .sequentiallyConsistent) == changes { assertionFailure(error.message) }
        }
    }
    #endif
}
