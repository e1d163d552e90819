/// What the origin of a batch keeps of other files, whose batches it applies itself: how far, and by which names it
/// calls their objects. A copy of the origin that goes on in its place applies the next batch of those files, and no
/// batch twice.
import MotteValues

extension ApplyingChanges {
    mutating func takeReplicas(_ reader: inout ChangeBatchReader) throws(DatabaseError) {
        let own = try write.database.origin()
        // Objects that came again have new names of the batch's own origin.
        var all: [ChangeOrigin: ObjectNames] = isOwn ? [:] : [batch.origin: names]
        for _ in 0 ..< (try reader.count(minimumSize: 2)) {
            let key = [UInt8](try reader.content())
            let page = try reader.content()
            guard let (origin, part) = ReplicaPages.part(key) else { throw ChangeBatch.damaged() }
            // What the origin keeps of this file, which it followed once, this file knows itself.
            if origin == own, !isOwn { continue }
            switch part {
            case .position:
                _ = try Self.decoding { () throws(DatabaseError) in try ReplicaPosition(decoding: page, of: origin) }
                write.replicaPages[key] = [UInt8](page)
            case .catalog:
                _ = try Self.decoding { () throws(DatabaseError) in try Catalog.decode(page) }
                write.replicaPages[key] = [UInt8](page)
            case .names(let table, let number):
                let block = try Self.decoding { () throws(DatabaseError) in
                    try ObjectNameBlock(decoding: page, block: number, key: key)
                }
                let named = all[origin] ?? ObjectNames(write.base.pages, origin)
                all[origin] = named
                try take(block.runs, try self.table(table).key, into: named)
            }
        }
        for (origin, named) in all where origin != batch.origin || isOwn {
            named.forEachChangedPage { write.replicaPages[$0] = $1 }
        }
    }

    /// Objects here are from now on called as the origin calls its own. One that came and went within the batch is not
    /// here.
    private func take(
        _ runs: [ObjectNameBlock.Run], _ table: TableKey, into named: ObjectNames
    ) throws(DatabaseError) {
        for run in runs {
            var here = [ObjectNameBlock.Run(first: run.local, count: run.count, local: run.local)]
            if !isOwn {
                here = []
                try names.forEachRun(table, in: run.local ..< run.local + run.count) { here.append($0) }
            }
            for part in here {
                let first = run.first + part.first - run.local
                guard try named.add(table, first ..< first + part.count, local: part.local, replacing: true) else {
                    throw ChangeBatch.damaged()
                }
            }
        }
    }

    private static func decoding<Result>(
        _ body: () throws(DatabaseError) -> Result
    ) throws(DatabaseError) -> Result {
        do throws(DatabaseError) { return try body() } catch {
            throw error.code == .unsupportedFormat ? error : ChangeBatch.damaged()
        }
    }
}
