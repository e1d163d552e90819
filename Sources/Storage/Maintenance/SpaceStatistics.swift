/// Where a file's bytes are, and who keeps old versions of it.
import CMotteShim
import MottePages
import MotteSchemaModel
import MotteValues

package struct SpaceStatistics: Sendable {
    package struct ClassSpace: Sendable {
        package let table: TableKey
        package let name: String
        package let objects: Int
        /// Values of single properties and of short lists; open row groups, states and live bitmaps with them.
        package var chunkBytes = 0
        package var longListBytes = 0
        package var indexBytes = 0
        package var largeValueBytes = 0
        /// Each index; together they are `indexBytes`.
        package var indexes: [IndexStatistics] = []
        package var bytes: Int { chunkBytes + longListBytes + indexBytes + largeValueBytes }
    }

    package struct IndexStatistics: Sendable {
        package let index: IndexKey
        package let kind: String
        package let properties: [String]
        package var bytes = 0
        package var pages = 0
    }

    package var classes: [ClassSpace] = []
    package var logBytes = 0
    package var logRecords = 0
    /// Keys and values that no class, index or log has.
    package var otherBytes = 0
    package var fileBytes = 0
    /// Pages that later commits will use.
    package var freeBytes = 0
    package var version = Version(0)
}

/// A version that somebody shows.
package struct ReaderStatistics: Sendable {
    package let processID: Int32
    package let isThisProcess: Bool
    package let version: Version
    /// How many commits it is behind.
    package let versionsBehind: Int
    /// Since when there has been a newer version; nil for the newest, and where the change log no longer says.
    package let behindForNanoseconds: Int64?
}

extension Database {
    /// Counts keys and values of every page; a walk over the file's keys.
    package func spaceStatistics(
        progress: MaintenanceProgressHandler? = nil
    ) throws(DatabaseError) -> SpaceStatistics {
        let shown = try snapshot()
        let page = try pages.statistics()
        var statistics = SpaceStatistics()
        statistics.version = shown.version
        statistics.fileBytes = page.fileBytes
        statistics.freeBytes = page.freeBytes
        var classOfTable: [UInt32: Int] = [:]
        var placeOfIndex: [UInt32: SpaceStatistics.IndexPlace] = [:]
        for (position, table) in shown.catalog.tables.enumerated() {
            statistics.classes.append(
                SpaceStatistics.ClassSpace(
                    table: table.key, name: table.name, objects: try shown.table(table.key).liveCount))
            classOfTable[table.key.rawValue] = position
            for (number, index) in shown.catalog.indexes(of: table.key).enumerated() {
                placeOfIndex[index.key.rawValue] = SpaceStatistics.IndexPlace(inClass: position, index: number)
                statistics.classes[position].indexes.append(
                    SpaceStatistics.IndexStatistics(
                        index: index.key, kind: index.kind.name, properties: index.columns.map(\.name)))
            }
        }
        let cursor = try shown.pages.makeCursor()
        cursor.skipsValues = true
        var found = try FileHeader.key.withBytes { key throws(DatabaseError) in try cursor.seek(key) }
        var done = 0
        while found {
            statistics.add(cursor.key, cursor.key.count + cursor.valueByteCount, classOfTable, placeOfIndex)
            done += 1
            if done & 0xFFFF == 0 { try progress?(MaintenanceProgress(done: done, total: max(done, page.entryCount))) }
            found = try cursor.next()
        }
        try progress?(MaintenanceProgress(done: done, total: done))
        return statistics
    }

    /// Every version that some process has pinned, the oldest first.
    package func readerStatistics() throws(DatabaseError) -> [ReaderStatistics] {
        let newest = try pages.snapshot()
        let latest = try pages.newestVersion().rawValue
        let now = motte_shim_wall_time_ns()
        let own = PageStore.thisProcess
        var statistics: [ReaderStatistics] = []
        for reader in try pages.readers() {
            let version = reader.version
            let behind = latest - min(version.rawValue, latest)
            let next = Version(version.rawValue + 1)
            var age: Int64?
            if behind > 0,
                let record = try HistoryLog.records(from: version, to: next, snapshot: newest)?.first
            {
                age = now - record.wallTimeNanoseconds
            }
            statistics.append(
                ReaderStatistics(
                    processID: reader.processID, isThisProcess: reader.processID == own, version: version,
                    versionsBehind: Int(behind), behindForNanoseconds: age))
        }
        return statistics.sorted { $0.version < $1.version }
    }
}

extension SpaceStatistics {
    fileprivate struct IndexPlace {
        let inClass: Int
        let index: Int
    }

    fileprivate mutating func add(
        _ key: UnsafeRawBufferPointer, _ bytes: Int, _ classOfTable: [UInt32: Int],
        _ placeOfIndex: [UInt32: IndexPlace]
    ) {
        let number = key.count >= 5 ? key[1 ..< 5].reduce(UInt32(0)) { $0 << 8 | UInt32($1) } : 0
        switch key.first {
        case KeySpace.tableStates, KeySpace.openGroups, KeySpace.chunks, KeySpace.liveBitmaps:
            if let position = classOfTable[number] {
                classes[position].chunkBytes += bytes
            } else {
                otherBytes += bytes
            }
        case KeySpace.longLists:
            if let position = classOfTable[number] {
                classes[position].longListBytes += bytes
            } else {
                otherBytes += bytes
            }
        case KeySpace.longValues:
            if let position = classOfTable[number] {
                classes[position].largeValueBytes += bytes
            } else {
                otherBytes += bytes
            }
        case KeySpace.indexBlocks:
            if let place = placeOfIndex[IndexSpace.index(ofNumber: number).rawValue] {
                classes[place.inClass].indexBytes += bytes
                classes[place.inClass].indexes[place.index].bytes += bytes
                classes[place.inClass].indexes[place.index].pages += 1
            } else {
                otherBytes += bytes
            }
        case KeySpace.changeLog:
            logBytes += bytes
            logRecords += 1
        default: otherBytes += bytes
        }
    }
}
