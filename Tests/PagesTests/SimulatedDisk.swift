// A disk that loses power: it remembers every write since it was made, and says what could be on the platter after
// a cut at any point. Until a flush returns, each write may be there, be missing or be torn at the grain of sectors.
import MottePages
import MotteValues
import TestSupport

final class SimulatedDisk: Disk, @unchecked Sendable {  // @unchecked: one test, one thread
    enum Operation {
        case write(offset: Int, bytes: [UInt8])
        case resize(Int)
        case flush
    }

    enum Fault: CaseIterable {
        /// The call fails and did nothing.
        case inputOutput, diskFull
        /// The call fails half-way.
        case shortWrite
    }

    static let sector = 512
    let path = ":simulated:"
    let start: [UInt8]
    private(set) var bytes: [UInt8]
    private(set) var operations: [Operation] = []
    /// Flushes to which the disk says yes and does nothing.
    enum Flushes {
        case none, all
        /// Those that follow one write and no more, as those of a WAL's records do.
        case behindOneWrite
    }

    var ignored = Flushes.none
    /// Fails the call with this number, counted from 0 over writes, resizes and flushes.
    var failing: (call: Int, fault: Fault)?
    private(set) var callCount = 0
    private var callsSinceFlush = 0

    init(_ start: [UInt8] = []) {
        self.start = start
        bytes = start
    }

    func close() {}
    func byteCount() -> Int { bytes.count }

    func read(_ target: UnsafeMutableRawBufferPointer, at offset: Int) -> Int {
        let count = max(0, min(target.count, bytes.count - offset))
        bytes.withUnsafeBytes { bytes in
            if count > 0 { target.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[offset ..< offset + count])) }
        }
        return count
    }

    func write(_ source: UnsafeRawBufferPointer, at offset: Int) throws(DatabaseError) {
        if let fault = nextFault() {
            if fault == .shortWrite { record(.write(offset: offset, bytes: Array(source.prefix(source.count / 2)))) }
            throw DatabaseError(fault == .inputOutput ? .inputOutput : .diskFull, "the test's disk failed")
        }
        record(.write(offset: offset, bytes: Array(source)))
    }

    func resize(to byteCount: Int) throws(DatabaseError) {
        if nextFault() != nil { throw DatabaseError(.diskFull, "the test's disk does not grow") }
        record(.resize(byteCount))
    }

    func flush() throws(DatabaseError) {
        if nextFault() != nil { throw DatabaseError(.inputOutput, "the test's disk did not flush") }
        if !isIgnored { operations.append(.flush) }
        callsSinceFlush = 0
    }

    private func nextFault() -> Fault? {
        defer { callCount += 1 }
        return failing.flatMap { $0.call == callCount ? $0.fault : nil }
    }

    private var isIgnored: Bool {
        switch ignored {
        case .none: false
        case .all: true
        case .behindOneWrite: callsSinceFlush == 1
        }
    }

    private func record(_ operation: Operation) {
        callsSinceFlush += 1
        operations.append(operation)
        SimulatedDisk.apply(operation, to: &bytes)
    }

    private static func apply(_ operation: Operation, to bytes: inout [UInt8]) {
        switch operation {
        case .write(let offset, let written):
            written.withUnsafeBytes { put($0, at: offset, &bytes) }
        case .resize(let count):
            if count < bytes.count { bytes.removeSubrange(count...) } else { grow(&bytes, to: count) }
        case .flush: break
        }
    }

    private static func put(_ part: UnsafeRawBufferPointer, at offset: Int, _ bytes: inout [UInt8]) {
        grow(&bytes, to: offset + part.count)
        bytes.withUnsafeMutableBytes { UnsafeMutableRawBufferPointer(rebasing: $0[offset...]).copyMemory(from: part) }
    }

    private static func grow(_ bytes: inout [UInt8], to count: Int) {
        if count > bytes.count { bytes.append(contentsOf: repeatElement(0, count: count - bytes.count)) }
    }

    // MARK: Cuts.

    /// What is certainly there after the first `end` operations, and which of them may be there.
    func state(at end: Int) -> (certain: [UInt8], possible: [Operation]) {
        var certain = start
        var possible: [Operation] = []
        for operation in operations[..<end] {
            if case .flush = operation {
                for operation in possible { SimulatedDisk.apply(operation, to: &certain) }
                possible = []
            } else {
                possible.append(operation)
            }
        }
        return (certain, possible)
    }

    /// Every disk that a cut can leave when writes are kept or lost as wholes, and each torn after half its sectors.
    func outcomes(at end: Int) -> [[UInt8]] {
        let (certain, possible) = state(at: end)
        var outcomes: [[UInt8]] = []
        for kept in 0 ..< 1 << possible.count {
            var bytes = certain
            for (index, operation) in possible.enumerated() where kept & 1 << index != 0 {
                SimulatedDisk.apply(operation, to: &bytes)
            }
            outcomes.append(bytes)
            for (index, operation) in possible.enumerated() where kept & 1 << index == 0 {
                guard case .write(let offset, let written) = operation else { continue }
                var torn = bytes
                let half = written.count / 2 / SimulatedDisk.sector * SimulatedDisk.sector
                SimulatedDisk.apply(.write(offset: offset, bytes: Array(written[..<half])), to: &torn)
                outcomes.append(torn)
            }
        }
        return outcomes
    }

    /// One disk that a cut can leave: unflushed writes in any order, each sector of them there or not.
    func outcome(at end: Int, _ random: inout SeededRandom) -> [UInt8] {
        var (bytes, possible) = state(at: end)
        let isOrdered = random.chance(50)
        // Most writes arrive, or most are lost, or it is even.
        let kept = random.pick([5, 50, 95, 100])
        if !isOrdered { possible.shuffle(using: &random) }
        for operation in possible {
            guard case .write(let offset, let written) = operation else {
                if random.chance(kept) { SimulatedDisk.apply(operation, to: &bytes) }
                continue
            }
            let grain = random.pick([SimulatedDisk.sector, 4096])
            for start in stride(from: 0, to: written.count, by: grain) where random.chance(kept) {
                written.withUnsafeBytes { written in
                    let part = written[start ..< min(start + grain, written.count)]
                    SimulatedDisk.put(UnsafeRawBufferPointer(rebasing: part), at: offset + start, &bytes)
                }
            }
        }
        return bytes
    }
}
