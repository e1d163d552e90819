/// All live handles of the process, from token to box.
///
/// Slots stand in segments that never move and are never freed, so a lookup takes no lock: it pins the slot with one
/// atomic add, compares the token, and unpins when the call is done. A release makes the token stale at once and lets
/// the box go when the last pin does, so a release on another thread can never free what a call is using.
///
/// Invariants:
///   H1  a token is handed out once: a freed slot gets the next generation, a slot without generations left is retired
///   H2  `state` is 0 for a free slot, else its token, with the pins above it and the top bit once it is released
///   H3  whoever turns a released slot without pins to 0 owns the box and lets it go, outside of any lock
///   H4  the free list is lock-free, because a fork may happen at any instruction of another thread
/// `checkInvariants` looks whether slots, free list and counts agree (HandleTableInvariants.swift).
import CMotte
import CMotteShim
import MotteValues
import Synchronization

package final class HandleTable: Sendable {
    static let shared = HandleTable()

    package struct Slot: ~Copyable {
        package let state = Atomic<UInt64>(0)
        /// The next free slot + 1, while this one is free.
        package let nextFree = Atomic<UInt32>(0)
        /// Of the newest token; atomic because a stale lookup compares with it.
        package let generation = Atomic<UInt32>(0)
        // Written by the one thread that took the slot from the free list, before its token is published in `state`.
        var forkGeneration: UInt32 = 0
        package var box: Unmanaged<Box>?
    }

    package static let pin: UInt64 = 1 << 48
    package static let released: UInt64 = 1 << 63
    static let segmentShift = 12
    static let segmentSize = 1 << segmentShift
    static let segmentCount = HandleToken.slotCount >> segmentShift
    private static let kindCount = 32

    // nonisolated(unsafe): constant; each element is written once, with release order.
    package nonisolated(unsafe) let segments: UnsafeMutablePointer<Atomic<UInt>>
    /// Slots ever used, the upper bound of a dump.
    package let highWater = Atomic<Int>(0)
    /// (tag << 32) | (slot + 1); the tag changes with every pop, so that a stale compare fails.
    package let freeList = Atomic<UInt64>(0)
    // nonisolated(unsafe): constant, the counts are atomic.
    package nonisolated(unsafe) let liveCounts: UnsafeMutablePointer<Atomic<Int>>
    #if DEBUG
    /// Changes that began and that ended: equal while no thread is within one.
    let changesBegun = Atomic<Int>(0)
    let changesEnded = Atomic<Int>(0)
    #endif

    /// Tests make tables of their own.
    package init() {
        segments = .allocate(capacity: Self.segmentCount)
        for index in 0 ..< Self.segmentCount { (segments + index).initialize(to: Atomic<UInt>(0)) }
        liveCounts = .allocate(capacity: Self.kindCount)
        for index in 0 ..< Self.kindCount { (liveCounts + index).initialize(to: Atomic<Int>(0)) }
    }

    deinit {
        for number in 0 ..< Self.segmentCount {
            guard let segment = existingSlot(number << Self.segmentShift) else { continue }
            for offset in 0 ..< Self.segmentSize { (segment + offset).pointee.box?.release() }
            segment.deinitialize(count: Self.segmentSize)
            segment.deallocate()
        }
        segments.deinitialize(count: Self.segmentCount)
        segments.deallocate()
        liveCounts.deinitialize(count: Self.kindCount)
        liveCounts.deallocate()
    }

    // MARK: Taking and giving up

    /// A new token for a box, which the table keeps alive.
    package func insert(_ box: Box) throws(DatabaseError) -> HandleToken {
        beginChange()
        let taken = takeSlot()
        defer { endChange(of: taken) }
        guard let index = taken else {
            throw DatabaseError(.outOfHandles, "all \(HandleToken.slotCount) handles are in use; release some")
        }
        let slot = slotAddress(index)
        let generation = slot.pointee.generation.add(1, ordering: .relaxed).newValue
        slot.pointee.forkGeneration = motte_shim_fork_generation()
        slot.pointee.box = Unmanaged.passRetained(box)
        let token = HandleToken(kind: box.kind, slot: index, generation: generation)
        // An add, not a store: a lookup of a stale token may hold a short pin right now.
        slot.pointee.state.add(token.bits, ordering: .releasing)
        liveCounts[Int(box.kind.rawValue)].add(1, ordering: .relaxed)
        return token
    }

    /// False for anything but a live token.
    @discardableResult
    package func release(_ token: HandleToken) -> Bool {
        guard token.bits != 0, token.isWellFormed, let slot = existingSlot(token.slot),
            let pins = markReleased(slot, token)
        else { return false }
        if pins == 0 { destroy(slot, token) }
        return true
    }

    /// Whether a token was live once and is not now.
    func wasReleased(_ token: HandleToken) -> Bool {
        guard token.bits != 0, token.isWellFormed, let slot = existingSlot(token.slot) else { return false }
        let state = slot.pointee.state.load(ordering: .acquiring)
        let isLive = state & HandleToken.mask == token.bits && state & Self.released == 0
        return !isLive && Self.isOld(token, newest: slot.pointee.generation.load(ordering: .relaxed))
    }

    /// Only a token that can have been handed out counts as stale.
    private static func isOld(_ token: HandleToken, newest: UInt32) -> Bool {
        token.generation != 0 && token.generation <= newest && HandleKind(rawValue: token.kindNumber) != nil
    }

    /// The pins of a token that was live until now.
    private func markReleased(_ slot: UnsafeMutablePointer<Slot>, _ token: HandleToken) -> UInt64? {
        var state = slot.pointee.state.load(ordering: .acquiring)
        guard state & HandleToken.mask == token.bits, state & Self.released == 0 else { return nil }
        beginChange()
        defer { endChange(of: token.slot) }
        while true {
            let (done, seen) = slot.pointee.state.compareExchange(
                expected: state, desired: state | Self.released, ordering: .acquiringAndReleasing)
            if done { break }
            state = seen
            guard state & HandleToken.mask == token.bits, state & Self.released == 0 else { return nil }
        }
        liveCounts[Int(token.kindNumber)].subtract(1, ordering: .relaxed)
        return state & ~HandleToken.mask
    }

    // MARK: Looking up

    /// Pins the slot of a live token of this process; the caller unpins it.
    @inline(__always)
    package func pin(_ token: HandleToken) throws(DatabaseError) -> UnsafeMutablePointer<Slot> {
        guard token.bits != 0, token.isWellFormed, let slot = existingSlot(token.slot) else {
            throw Self.unknown(token)
        }
        let before = slot.pointee.state.add(Self.pin, ordering: .acquiring).oldValue
        guard before & (HandleToken.mask | Self.released) == token.bits,
            slot.pointee.forkGeneration == motte_shim_fork_generation()
        else {
            let isLive = before & (HandleToken.mask | Self.released) == token.bits
            let newest = slot.pointee.generation.load(ordering: .relaxed)
            unpin(slot)
            throw isLive ? Self.forked() : Self.refused(token, newest: newest)
        }
        return slot
    }

    @inline(__always)
    package func unpin(_ slot: UnsafeMutablePointer<Slot>) {
        let after = slot.pointee.state.subtract(Self.pin, ordering: .acquiringAndReleasing).newValue
        if after & ~HandleToken.mask == Self.released { destroy(slot, HandleToken(bits: after & HandleToken.mask)) }
    }

    package func count(_ kindNumber: Int) -> Int { liveCounts[kindNumber].load(ordering: .relaxed) }

    /// Tokens of the slots that are live now, in slot order.
    package func liveTokens() -> [HandleToken] {
        var tokens: [HandleToken] = []
        for index in 0 ..< highWater.load(ordering: .acquiring) {
            guard let slot = existingSlot(index) else { continue }
            let state = slot.pointee.state.load(ordering: .acquiring)
            if state & HandleToken.mask != 0, state & Self.released == 0 {
                tokens.append(HandleToken(bits: state & HandleToken.mask))
            }
        }
        return tokens
    }

    // MARK: Slots

    @inline(__always)
    package func existingSlot(_ index: Int) -> UnsafeMutablePointer<Slot>? {
        let base = segments[index >> Self.segmentShift].load(ordering: .acquiring)
        guard let segment = UnsafeMutablePointer<Slot>(bitPattern: base) else { return nil }
        return segment + (index & (Self.segmentSize - 1))
    }

    /// For a slot that was taken, whose segment exists.
    private func slotAddress(_ index: Int) -> UnsafeMutablePointer<Slot> {
        existingSlot(index) ?? addSegment(for: index)
    }

    private func addSegment(for index: Int) -> UnsafeMutablePointer<Slot> {
        let fresh = UnsafeMutablePointer<Slot>.allocate(capacity: Self.segmentSize)
        for offset in 0 ..< Self.segmentSize { (fresh + offset).initialize(to: Slot()) }
        let (done, winner) = segments[index >> Self.segmentShift].compareExchange(
            expected: 0, desired: UInt(bitPattern: fresh), ordering: .acquiringAndReleasing)
        if done { return fresh + (index & (Self.segmentSize - 1)) }
        fresh.deinitialize(count: Self.segmentSize)
        fresh.deallocate()
        // unsafelyUnwrapped: the exchange failed because the word was not 0.
        let segment = UnsafeMutablePointer<Slot>(bitPattern: winner).unsafelyUnwrapped
        return segment + (index & (Self.segmentSize - 1))
    }

    private func takeSlot() -> Int? {
        var head = freeList.load(ordering: .acquiring)
        while head & 0xFFFF_FFFF != 0 {
            let index = Int(head & 0xFFFF_FFFF) - 1
            let next = UInt64(slotAddress(index).pointee.nextFree.load(ordering: .relaxed))
            let (done, seen) = freeList.compareExchange(
                expected: head, desired: (head & ~0xFFFF_FFFF) &+ (1 << 32) | next, ordering: .acquiringAndReleasing)
            if done { return index }
            head = seen
        }
        var used = highWater.load(ordering: .acquiring)
        while used < HandleToken.slotCount {
            let (done, seen) = highWater.compareExchange(
                expected: used, desired: used + 1, ordering: .acquiringAndReleasing)
            if done { return used }
            used = seen
        }
        return nil
    }

    private func destroy(_ slot: UnsafeMutablePointer<Slot>, _ token: HandleToken) {
        clear(slot, token)?.takeRetainedValue().handleReleased()
    }

    /// Frees a slot and hands its box to the caller. H3: only one thread's exchange succeeds.
    private func clear(_ slot: UnsafeMutablePointer<Slot>, _ token: HandleToken) -> Unmanaged<Box>? {
        beginChange()
        defer { endChange(of: token.slot) }
        let (done, _) = slot.pointee.state.compareExchange(
            expected: token.bits | Self.released, desired: 0, ordering: .acquiringAndReleasing)
        guard done else { return nil }
        let box = slot.pointee.box
        let madeBeforeFork = slot.pointee.forkGeneration != motte_shim_fork_generation()
        slot.pointee.box = nil
        if token.generation < HandleToken.lastGeneration { giveBack(token.slot, slot) }
        // A child of fork touches nothing it inherited: the parent's threads and locks are not here.
        return madeBeforeFork ? nil : box
    }

    private func giveBack(_ index: Int, _ slot: UnsafeMutablePointer<Slot>) {
        var head = freeList.load(ordering: .relaxed)
        while true {
            slot.pointee.nextFree.store(UInt32(truncatingIfNeeded: head), ordering: .relaxed)
            let (done, seen) = freeList.compareExchange(
                expected: head, desired: (head & ~0xFFFF_FFFF) | UInt64(index + 1), ordering: .acquiringAndReleasing)
            if done { return }
            head = seen
        }
    }

    // MARK: Refusals

    static func unknown(_ token: HandleToken) -> DatabaseError {
        token.bits == 0
            ? DatabaseError(.nullArgument, "the handle is NULL")
            : DatabaseError(.badHandle, "0x\(String(token.bits, radix: 16)) is not a handle of this library")
    }

    private static func refused(_ token: HandleToken, newest: UInt32) -> DatabaseError {
        guard isOld(token, newest: newest), let kind = HandleKind(rawValue: token.kindNumber) else {
            return unknown(token)
        }
        return DatabaseError(.staleHandle, "\(kind.name) handle was used after it had been released")
    }

    private static func forked() -> DatabaseError {
        DatabaseError(.forked, "the handle was made before fork(); open the file again in the child")
    }
}
