/// What the origin of a batch keeps of other files, whose batches it applies itself: how far, and by which names it
/// calls their objects. A copy of the origin that goes on in its place applies the next batch of those files, and no
/// batch twice.
import MotteValues

extension ApplyingChanges {
    private struct Page {
        let key: [UInt8]
        let bytes: UnsafeRawBufferPointer
        let origin: ChangeOrigin
        let part: ReplicaPages.Part
    }

    mutating func takeReplicas(_ reader: inout ChangeBatchReader) throws(DatabaseError) {
        let own = try write.database.origin()
        var pages: [Page] = []
        for _ in 0 ..< (try reader.count(minimumSize: 2)) {
            let key = [UInt8](try reader.content())
            guard let (origin, part) = ReplicaPages.part(key), origin != batch.origin,
                part.isOfNames || origin != ReplicaPages.itself
            else { throw ChangeBatch.damaged() }
            let page = Page(key: key, bytes: try reader.content(), origin: origin, part: part)
            // What the origin keeps of this file, which it followed once, this file knows itself.
            if origin != own || isOwn { pages.append(page) }
        }
        // As which objects of the origin came again is asked for by what it calls those of others.
        let successors = Successors()
        for page in pages where page.origin == ReplicaPages.itself && !isOwn {
            if case .names(let table, let number) = page.part {
                successors.blocks[table, default: [:]][number] = try Self.block(page, number)
            }
        }
        let passedBy = try passedBy(pages)
        for page in pages where page.origin == ReplicaPages.itself { try take(page, successors) }
        for page in pages where page.origin != ReplicaPages.itself && !passedBy.contains(page.origin) {
            try take(page, successors)
        }
        for named in otherNames.values { named.forEachChangedPage { write.replicaPages[$0] = $1 } }
    }

    /// Files of which this one has applied more than the origin had: it goes its own way with them. Only a copy that
    /// follows nobody any more has.
    private func passedBy(_ pages: [Page]) throws(DatabaseError) -> Set<ChangeOrigin> {
        guard case .formerCopy = replicas else { return [] }
        var passed: Set<ChangeOrigin> = []
        for page in pages where page.part == .position {
            let theirs = try Self.decoding { () throws(DatabaseError) in
                try ReplicaPosition(decoding: page.bytes, of: page.origin)
            }
            if let known = try write.base.replicaPosition(page.origin), known.version > theirs.version {
                passed.insert(page.origin)
            }
        }
        return passed
    }

    /// As which object of the origin one of it came again, as far as the batch says, and which object here each of them
    /// leads to, once that was asked: a chain of them is walked once.
    private final class Successors {
        var blocks: [TableKey: [UInt64: ObjectNameBlock]] = [:]
        var known: [ObjectLink: Int64?] = [:]
    }

    private static func block(_ page: Page, _ number: UInt64) throws(DatabaseError) -> ObjectNameBlock {
        try decoding { () throws(DatabaseError) in
            try ObjectNameBlock(decoding: page.bytes, block: number, key: page.key)
        }
    }

    private mutating func take(_ page: Page, _ successors: Successors) throws(DatabaseError) {
        switch page.part {
        case .position:
            _ = try Self.decoding { () throws(DatabaseError) in
                try ReplicaPosition(decoding: page.bytes, of: page.origin)
            }
            write.replicaPages[page.key] = [UInt8](page.bytes)
        case .catalog:
            _ = try Self.decoding { () throws(DatabaseError) in try Catalog.decode(page.bytes) }
            write.replicaPages[page.key] = [UInt8](page.bytes)
        case .names(let table, let number):
            let block = try Self.block(page, number)
            let runs = try here(block.runs, table, successors)
            let table = try self.table(table).key
            let names = names(of: page.origin, block: number)
            if page.origin == ReplicaPages.itself, !isOwn { try noteSuccessors(runs, table, names) }
            try names.overlay(table, number, with: runs)
        }
    }

    /// What the origin keeps of itself are further names by which its objects are found here; those of differences,
    /// whoever's, are this file's too.
    private mutating func names(of origin: ChangeOrigin, block: UInt64) -> ObjectNames {
        if origin == ReplicaPages.itself {
            return isOwn || block >= ObjectNameBlock.number(of: FileDifference.firstName) ? ownNames : names
        }
        let known = otherNames[origin] ?? ObjectNames(write.base.pages, origin)
        otherNames[origin] = known
        return known
    }

    /// The same names for the objects here. One that came and went within the batch is not here, unless it came again.
    private func here(
        _ runs: [ObjectNameBlock.Run], _ table: TableKey, _ successors: Successors
    ) throws(DatabaseError) -> [ObjectNameBlock.Run] {
        guard !isOwn else { return runs }
        var here: [ObjectNameBlock.Run] = []
        for run in runs {
            for offset in 0 ..< run.count {
                guard let local = try local(table, run.local + offset, successors) else { continue }
                let first = run.first + offset
                if let last = here.last, last.end == first, last.local + last.count == local {
                    here[here.count - 1].count += 1
                } else {
                    here.append(ObjectNameBlock.Run(first: first, count: 1, local: local))
                }
            }
        }
        return here
    }

    /// The object here of one of the origin, or of the one as which that came again.
    private func local(
        _ table: TableKey, _ key: Int64, _ successors: Successors
    ) throws(DatabaseError) -> Int64? {
        let here = try self.table(table).key, blocks = successors.blocks[table] ?? [:]
        var walked: [ObjectLink] = [], current = key, found: Int64?
        while true {
            found = try names.local(here, current)?.rawValue
            if found != nil { break }
            let link = ObjectLink(table: table, key: ObjectKey(current))
            if let known = successors.known[link] {
                found = known
                break
            }
            walked.append(link)
            guard let next = blocks[ObjectNameBlock.number(of: current)]?.local(current), next > current else { break }
            current = next
        }
        for link in walked { successors.known[link] = .some(found) }
        return found
    }

    /// An object of the origin came again by an undo there: here it is another one too, by whatever name others call
    /// the former.
    private func noteSuccessors(
        _ runs: [ObjectNameBlock.Run], _ table: TableKey, _ names: ObjectNames
    ) throws(DatabaseError) {
        for run in runs {
            for offset in 0 ..< run.count {
                guard let former = try names.local(table, run.first + offset)?.rawValue else { continue }
                try lead(table, former, to: run.local + offset)
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
