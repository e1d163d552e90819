// The handle table beside a model of it, and used by several threads at once.
import MotteCExports
import MotteValues
import Synchronization
import TestSupport
import Testing

/// Numbered boxes, which only the table keeps alive: those that are gone are those that it let go.
private final class NotedBoxes: Sendable {
    private struct Note {
        weak var box: Box?
    }

    private let notes = Locked<[Int: Note]>([:])

    func make(_ kind: HandleKind, _ number: Int) -> Box {
        let box = Box.plain(kind)
        notes.withLock { $0[number] = Note(box: box) }
        return box
    }

    func has(_ box: Box, as number: Int) -> Bool { notes.withLock { $0[number]?.box === box } }
    var letGo: Set<Int> { notes.withLock { Set($0.filter { $0.value.box == nil }.keys) } }
}

@Suite struct HandleTableTests {
    @Test func randomUseAgreesWithAModel() throws {
        try PropertyTest.run(rounds: 20) { random, comment in
            var model = HandleModel(comment)
            for _ in 0 ..< 250 {
                try model.step(&random)
                try model.agree()
            }
            try model.finish(&random)
        }
    }

    @Test func threadsShareHandles() throws {
        let table = HandleTable(), boxes = NotedBoxes()
        let tokens = Locked<[HandleToken]>([])
        let threads = (0 ..< 4).map { part in
            ThreadRun { () throws -> (made: Int, released: Int) in
                var random = SeededRandom(seed: PropertyTest.firstSeed(part: part))
                var made = 0, released = 0
                for _ in 0 ..< 3000 {
                    // Others may release the same one at this moment.
                    let some = tokens.withLock { $0.isEmpty ? nil : $0[random.below($0.count)] }
                    switch random.below(4) {
                    case 0:
                        let box = boxes.make(random.pick(HandleKind.allCases), part * 10_000 + made)
                        let token = try table.insert(box)
                        made += 1
                        tokens.withLock { $0.append(token) }
                    case 1:
                        if let some, table.release(some) {
                            released += 1
                            tokens.withLock { $0.removeAll { $0 == some } }
                        }
                    default:
                        guard let some else { continue }
                        do throws(DatabaseError) {
                            let slot = try table.pin(some)
                            #expect(slot.pointee.box?._withUnsafeGuaranteedRef { $0.kind.rawValue } == some.kindNumber)
                            table.unpin(slot)
                        } catch {
                            #expect(error.code == .staleHandle)
                        }
                    }
                }
                return (made, released)
            }
        }
        let counts = try threads.map { try $0.join() }
        let comment = "MOTTE_TEST_SEED=\(PropertyTest.firstSeed)"
        try table.checkInvariants()
        let made = counts.reduce(0) { $0 + $1.made }, released = counts.reduce(0) { $0 + $1.released }
        #expect(table.liveTokens().count == made - released, "\(comment)")
        #expect(boxes.letGo.count == released, "\(comment)")
        for token in table.liveTokens() { #expect(table.release(token)) }
        try table.checkInvariants()
        #expect(boxes.letGo.count == made, "\(comment)")
    }
}

/// What the table has to be: handles that are live or still held by a call, and those that were.
private struct HandleModel {
    struct Handle {
        let token: HandleToken
        let number: Int
        var isReleased = false
        var pins: [UnsafeMutablePointer<HandleTable.Slot>] = []
    }

    let table = HandleTable()
    let boxes = NotedBoxes()
    let comment: String
    var taken: [Handle] = []
    var gone: [HandleToken] = []
    var made = 0
    var everMade: Set<UInt64> = []
    /// Slots whose generations are used up.
    var retired: Set<Int> = []
    var used = 0

    init(_ comment: String) { self.comment = comment }

    mutating func step(_ random: inout SeededRandom) throws {
        switch random.below(20) {
        case 0 ..< 6: try insert(random.pick(HandleKind.allCases))
        case 6 ..< 11: if let index = any(&random, where: { !$0.isReleased }) { release(index) }
        case 11 ..< 14: if let index = any(&random, where: { !$0.isReleased }) { try pin(index) }
        case 14 ..< 16: if let index = any(&random, where: { !$0.pins.isEmpty }) { unpin(index) }
        case 16: if let index = any(&random, where: \.isReleased) { refuse(taken[index].token, .staleHandle) }
        case 17: if !gone.isEmpty { refuse(random.pick(gone), .staleHandle) }
        case 18: refuseWhatNobodyGot(&random)
        default: age(&random)
        }
    }

    private func any(_ random: inout SeededRandom, where fits: (Handle) -> Bool) -> Int? {
        let found = taken.indices.filter { fits(taken[$0]) }
        return found.isEmpty ? nil : random.pick(found)
    }

    private mutating func insert(_ kind: HandleKind) throws {
        let token = try table.insert(boxes.make(kind, made))
        #expect(everMade.insert(token.bits).inserted, "\(comment)")
        #expect(token.kindNumber == kind.rawValue && !retired.contains(token.slot), "\(comment)")
        taken.append(Handle(token: token, number: made))
        made += 1
        // A slot is used again before another one is.
        used = max(used, taken.count + retired.count)
    }

    private mutating func release(_ index: Int) {
        #expect(table.release(taken[index].token), "\(comment)")
        taken[index].isReleased = true
        letGoUnlessPinned(index)
    }

    private mutating func pin(_ index: Int) throws {
        let slot = try table.pin(taken[index].token)
        let number = taken[index].number
        let isItsBox = slot.pointee.box?._withUnsafeGuaranteedRef { boxes.has($0, as: number) }
        #expect(isItsBox == true, "\(comment)")
        taken[index].pins.append(slot)
    }

    private mutating func unpin(_ index: Int) {
        if let slot = taken[index].pins.popLast() { table.unpin(slot) }
        letGoUnlessPinned(index)
    }

    private mutating func letGoUnlessPinned(_ index: Int) {
        guard taken[index].isReleased, taken[index].pins.isEmpty else { return }
        let handle = taken.remove(at: index)
        gone.append(handle.token)
        if handle.token.generation == HandleToken.lastGeneration { retired.insert(handle.token.slot) }
    }

    private func refuse(_ token: HandleToken, _ code: ErrorCode) {
        #expect(!table.release(token), "\(comment)")
        do throws(DatabaseError) {
            table.unpin(try table.pin(token))
            Issue.record("0x\(String(token.bits, radix: 16)) was taken, \(comment)")
        } catch {
            #expect(error.code == code, "\(comment)")
        }
    }

    private func refuseWhatNobodyGot(_ random: inout SeededRandom) {
        refuse(HandleToken(bits: 0), .nullArgument)
        refuse(HandleToken(bits: random.next() | 1), .badHandle)
        let last = HandleToken.slotCount - 1
        refuse(HandleToken(kind: .realm, slot: last - random.below(1000), generation: 1), .badHandle)
        guard let token = taken.randomElement(using: &random)?.token, token.generation < HandleToken.lastGeneration
        else { return }
        let next = HandleKind(rawValue: token.kindNumber % UInt8(HandleKind.allCases.count) + 1) ?? .realm
        refuse(HandleToken(kind: next, slot: token.slot, generation: token.generation), .staleHandle)
        refuse(HandleToken(kind: next, slot: token.slot, generation: token.generation + 1), .badHandle)
    }

    /// Makes a free slot one whose generations are nearly used up.
    private func age(_ random: inout SeededRandom) {
        let held = Set(taken.map(\.token.slot)).union(retired)
        guard let token = gone.filter({ !held.contains($0.slot) }).randomElement(using: &random),
            let slot = table.existingSlot(token.slot)
        else { return }
        let aged = HandleToken.lastGeneration - 2 + UInt32(random.below(2))
        if slot.pointee.generation.load(ordering: .relaxed) < aged {
            slot.pointee.generation.store(aged, ordering: .relaxed)
        }
    }

    func agree() throws {
        try table.checkInvariants()
        let live = taken.filter { !$0.isReleased }.map(\.token)
        #expect(table.liveTokens() == live.sorted { $0.slot < $1.slot }, "\(comment)")
        for kind in HandleKind.allCases {
            let expected = live.count { $0.kindNumber == kind.rawValue }
            #expect(table.count(Int(kind.rawValue)) == expected, "\(comment)")
        }
        #expect(table.highWater.load(ordering: .relaxed) == used, "\(comment)")
        // Nothing that is live or held by a call.
        let letGo = boxes.letGo
        #expect(letGo.count == gone.count, "\(comment)")
        #expect(!taken.contains { letGo.contains($0.number) }, "\(comment)")
    }

    mutating func finish(_ random: inout SeededRandom) throws {
        while !taken.isEmpty {
            let index = random.below(taken.count)
            if taken[index].isReleased { unpin(index) } else { release(index) }
        }
        try agree()
        #expect(boxes.letGo.count == made, "\(comment)")
    }
}
