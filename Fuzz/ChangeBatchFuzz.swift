/// Any bytes as a change batch: applied to an empty store and to one that has the same objects, it is done or it is an
/// error that changes nothing; the store is sound afterwards.
///
/// Input: a byte (0x80: byte count and checksum are left as they are, 0x01: the store has a batch already), then the
/// batch.
import MotteLiveObjects
import MotteSchemaModel
import MotteStorage
import MotteValues

extension FuzzTarget {
    package static let changeBatch = FuzzTarget(
        name: "changeBatch", seeds: ChangeBatchFuzz.seeds, run: ChangeBatchFuzz.run)
}

enum ChangeBatchFuzz {
    private static let refusals: [ErrorCode] = [
        .corrupted, .unsupportedFormat, .invalidArgument, .outOfSequence, .historyForked, .schemaMismatch,
        .schemaInvalid, .outOfBounds, .wrongType, .nullNotAllowed, .duplicatePrimaryKey, .valueTooLarge,
        .primaryKeyIsFixed, .objectDeleted, .invalidUTF8, .unknownClass,
    ]

    /// Of a store of all types: everything, and what changed after that; made once.
    private static let made = Result { try makeBatches() }

    private static func makeBatches() throws -> [ChangeBatch] {
        let session = try open(StoreContentFuzz.schema)
        defer { _ = try? session.close() }
        try session.keepChanges(since: Version(1))
        let (person, mark) = (try session.tableKey("Person"), try session.tableKey("Mark"))
        try session.beginWrite()
        for id in 0 ..< 4 {
            let made = try session.create(person, primaryKey: .int(Int64(id))).object
            try made.set("name", to: .string("number \(id)"))
            try made.set("any", to: .list([.int(1), .map([MapEntry(key: "k", value: .null)])]))
            try (try made.collection("tags") as? LiveList)?.append(.string("tag"))
            _ = try session.create(mark)
        }
        try session.commit()
        let whole = try session.changeBatch(since: Version(0))
        try session.beginWrite()
        let first = try session.find(person, primaryKey: .int(1))
        try (try first?.collection("tags") as? LiveList)?.append(.string("another"))
        try first?.set("name", to: .null)
        try session.delete(person, ObjectKey(2))
        _ = try session.create(person, primaryKey: .int(9))
        try session.commit()
        let before = try session.freeze()
        try session.beginWrite()
        try session.delete(person, ObjectKey(0))
        try session.commit()
        let round = try session.changeBatch(since: before)
        let later = try session.changeBatch(since: whole.to)
        // From the store that has the first batch to this one.
        let former = try open()
        defer { _ = try? former.close() }
        _ = try former.apply(whole)
        let difference = try former.changeBatch(to: session)
        return [whole, later, round, try round.inverse(), difference, try difference.inverse()]
    }

    nonisolated(unsafe) private static var storeNumber = 0  // one thread: a fuzzer's, or that of a serialized test

    private static func freshName() -> String {
        storeNumber += 1
        return "changes-fuzz-\(storeNumber)"
    }

    private static func open(_ schema: String? = nil) throws -> Session {
        var options = SessionOptions(.memory(freshName()), schema: try schema.map { try SchemaText.parse($0) })
        options.rowGroupSize = 3
        return try Session.open(options)
    }

    @Sendable static func run(_ bytes: UnsafeRawBufferPointer) throws {
        var input = FuzzInput(bytes)
        let choice = input.byte()
        var batch = Array(input.rest)
        if choice & 0x80 == 0 { seal(&batch) }
        guard let decoded = try politely(refusals, { try ChangeBatch(batch) }) else { return }
        // Twice is the batch again, but for the mark of a patch. What leads back may be damaged by itself.
        if let inverse = try politely(refusals, { try decoded.inverse() }),
            let again = try politely(refusals, { try inverse.inverse() }),
            let third = try politely(refusals, { try again.inverse() })
        {
            try Finding.require(third == inverse, "an inverse turned round twice is another one")
        }
        let session = try open()
        defer { _ = try? session.close() }
        if choice & 1 != 0, let whole = try made.get().first { _ = try session.apply(whole) }
        let before = try session.version
        if try politely(refusals, { try session.apply(decoded) }) == nil {
            try Finding.require(try session.version == before, "a batch that was refused has made a version")
        }
        let report = try session.committedSnapshot().verify()
        try Finding.require(report.isSound, "the store is not sound: \(report.text)")
        // What was applied can be read, and applied again elsewhere.
        let again = try session.changeBatch(since: Version(0))
        let other = try open()
        defer { _ = try? other.close() }
        _ = try other.apply(again)
    }

    private static func seal(_ batch: inout [UInt8]) {
        while batch.count < ChangeBatchFormat.headerSize { batch.append(0) }
        for (index, byte) in ChangeBatchFormat.magic.enumerated() { batch[index] = byte }
        batch.store(UInt32(truncatingIfNeeded: batch.count), at: 16)
        batch.store(UInt32(0), at: 20)
        let crc = batch.asBytes { ChangeBatchFormat.checksum(of: $0) }
        batch.store(crc, at: ChangeBatchFormat.checksumOffset)
    }

    @Sendable static func seeds() throws -> [[UInt8]] {
        try made.get().flatMap { [[0] + $0.bytes, [1] + $0.bytes, [0x80] + $0.bytes] }
    }
}
