/// The fields of a sound page file by name: where each number is that the file says of itself, from the first page down
/// to the rows, and in which order checksums are made again so that all of them fit after fields were changed.
import CMotteShim
import MottePages
import MotteStorage
import MotteValues

struct FileField {
    let name: String
    let place: Int
    let count: Int
}

struct FieldMap {
    private(set) var fields: [FileField] = []
    /// Places of references to nodes and extents, which begin with a checksum.
    private(set) var references: [Int] = []
    /// Nodes and pages of the space log, each behind everything that it refers to.
    private var sealed: [(page: Int, isNode: Bool, references: [Int])] = []
    private var values: [(key: Range<Int>, value: Range<Int>)] = []
    private var records: [Int] = []
    private var visited: Set<Int> = []
    private let sound: [UInt8]

    static let pageBytes = 4096
    private static let slots = 1 ... TreeFormat.slotCount

    init(_ sound: [UInt8]) {
        self.sound = sound
        add(
            "head", 0,
            [
                ("major", 8, 2), ("minor", 10, 2), ("page bytes", 12, 4), ("cipher", 16, 4), ("uuid", 24, 8),
                ("reserved", 40, 8),
            ])
        let versions = Self.slots.map { Self.number(sound, $0 * Self.pageBytes + 16, 8) }
        for slot in Self.slots where sound[slot * Self.pageBytes + 8] != 0 {
            addSlot(slot * Self.pageBytes, isNewest: versions[slot - 1] == versions.max())
        }
    }

    static func number(_ bytes: [UInt8], _ place: Int, _ count: Int) -> UInt64 {
        guard place >= 0, place + count <= bytes.count else { return 0 }
        return (0 ..< count).reduce(0) { $0 | UInt64(bytes[place + $1]) << UInt64(8 * $1) }
    }

    private func number(_ place: Int, _ count: Int = 4) -> Int { Int(clamping: Self.number(sound, place, count)) }

    private mutating func add(_ name: String, _ base: Int, _ list: [(String, Int, Int)]) {
        for (field, offset, count) in list where base + offset + count <= sound.count {
            fields.append(FileField(name: "\(name) \(field)", place: base + offset, count: count))
        }
    }

    private mutating func addReference(_ name: String, _ place: Int) {
        references.append(place)
        add(name, place, [("page", 8, 6), ("birth", 14, 6), ("byte count", 20, 4)])
    }

    // MARK: Pages

    private mutating func addSlot(_ slot: Int, isNewest: Bool) {
        let name = isNewest ? "slot" : "older slot"
        add(
            name, slot,
            [
                ("level", 12, 2), ("log bytes", 14, 2), ("version", 16, 8), ("durable", 24, 8), ("pages", 32, 8),
                ("entries", 112, 8), ("branches", 120, 8), ("leaves", 128, 8), ("extents", 136, 8),
                ("sequence", 144, 8), ("log page bytes", 152, 4), ("WAL part", 156, 4),
            ])
        for (what, offset) in [("tree", 40), ("checkpoint", 64), ("log page", 88)] {
            addReference("\(name) \(what)", slot + offset)
        }
        var log = slot + 160
        if number(slot + 156) > 0 {
            add(
                "\(name) WAL", log,
                [("page", 0, 8), ("birth", 8, 8), ("pages", 16, 4), ("salt", 24, 8), ("sealed", 32, 8)])
            if isNewest { addRecords(slot) }
            log += WALLocation.encodedCount
        }
        addLog("\(name) log", log, log + number(slot + 14, 2))
        guard isNewest else { return }
        if number(slot + 48, 6) > 0 { addNode(slot + 40, number(slot + 12, 2)) }
        if number(slot + 72, 6) > 0 { addCheckpoint(number(slot + 72, 6) * Self.pageBytes) }
        addLogPage(slot + 88)
    }

    private mutating func addLog(_ name: String, _ start: Int, _ end: Int) {
        var place = start
        while place + SpaceLog.commitHeader <= end {
            add(name, place, [("version", 0, 8), ("steps", 8, 2)])
            let steps = number(place + 8, 2)
            place += SpaceLog.commitHeader
            for _ in 0 ..< steps where place < end {
                add(name, place, [("step", 0, 1), ("step page", 1, 5), ("step pages", 6, 4)])
                if sound[place] == SpaceLog.Kind.died.rawValue { add(name, place, [("step birth", 10, 6)]) }
                place += sound[place] == SpaceLog.Kind.died.rawValue ? 16 : 10
            }
        }
    }

    private mutating func addLogPage(_ reference: Int) {
        let page = number(reference + 8, 6)
        guard page > 0 else { return }
        let start = page * Self.pageBytes
        addLogPage(start)
        addReference("log page before", start)
        add("log page", start, [("bytes", PageRef.encodedCount, 4)])
        addLog("log page", start + SpaceLog.pageHeader, start + SpaceLog.pageHeader + number(start + 24))
        sealed.append((page, false, [start]))
    }

    private mutating func addCheckpoint(_ start: Int) {
        add("checkpoint", start, [("runs", 0, 8), ("pages", 8, 8)])
        for run in 0 ..< min(number(start, 8), 20) {
            let place = start + SpaceLog.checkpointHeader + run * SpaceLog.runBytes
            add("checkpoint", place, [("run page", 0, 5), ("run pages", 5, 3), ("birth", 8, 8), ("death", 16, 8)])
        }
    }

    private mutating func addNode(_ reference: Int, _ level: Int) {
        let page = number(reference + 8, 6)
        guard visited.insert(page).inserted else { return }
        let start = page * Self.pageBytes
        let name = level > 0 ? "branch" : "leaf"
        add(name, start, [("level", 12, 2), ("entries", 14, 2), ("page", 16, 8), ("birth", 24, 8)])
        var inside: [Int] = []
        for index in 0 ..< number(start + 14, 2) {
            add(name, start, [("offset", 32 + 2 * index, 2)])
            let entry = start + number(start + 32 + 2 * index, 2)
            let keyCount = number(entry, 2), mark = number(entry + 2, 2)
            let key = entry + 4 ..< entry + 4 + keyCount
            add(
                name, entry,
                [
                    ("key bytes", 0, 2), ("value bytes", 2, 2), ("key's first byte", 4, 1),
                    ("key's end", keyCount + 3, 1),
                ])
            guard mark == 0xFFFF else {
                addValue(key, key.upperBound ..< key.upperBound + mark)
                continue
            }
            inside.append(key.upperBound)
            addReference(level > 0 ? "child" : "extent", key.upperBound)
            if level > 0 {
                addNode(key.upperBound, level - 1)
            } else {
                let place = number(key.upperBound + 8, 6) * Self.pageBytes
                addValue(key, place ..< place + number(key.upperBound + 20))
            }
        }
        sealed.append((page, true, inside))
    }

    private mutating func addRecords(_ slot: Int) {
        var place = number(slot + 160, 8) * Self.pageBytes
        let end = place + number(slot + 176) * Self.pageBytes
        while place < min(end, sound.count), number(place + 8) == Int(WALRecord.magic) {
            records.append(place)
            let bytes = number(place + 12)
            let pages = WALRecord.pageCount(bytes, pageBytes: Self.pageBytes).rawValue
            add(
                "record", place,
                [
                    ("bytes", 12, 4), ("version", 16, 8), ("salt", 24, 8), ("entries", 40, 4),
                    ("last salt", pages * Self.pageBytes - 16, 8), ("last version", pages * Self.pageBytes - 8, 8),
                ])
            var entry = place + WALRecord.headerBytes
            while entry < place + bytes {
                let (keyCount, valueCount) = (number(entry, 2), number(entry + 4))
                add(
                    "record", entry,
                    [("key bytes", 0, 2), ("entry kind", 2, 2), ("value bytes", 4, 4), ("key's first byte", 8, 1)])
                let key = entry + 8 ..< entry + 8 + keyCount
                if number(entry + 2, 2) == 0 { addValue(key, key.upperBound ..< key.upperBound + valueCount) }
                entry += (8 + keyCount + valueCount + 7) & ~7
            }
            place += pages * Self.pageBytes
        }
    }

    // MARK: Values

    private mutating func addValue(_ key: Range<Int>, _ value: Range<Int>) {
        guard value.upperBound <= sound.count else { return }
        values.append((key, value))
        for field in ValueFields.list(of: Array(sound[value]), under: Array(sound[key])) {
            add(field.name, value.lowerBound, [("", field.place, field.count)])
        }
    }

    // MARK: Checksums

    /// Makes every checksum fit what is there now, from the values up to the slots.
    func seal(_ file: inout [UInt8]) {
        sealValues(&file)
        for unit in sealed {
            for reference in unit.references { refresh(reference, &file) }
            let start = unit.page * Self.pageBytes
            if unit.isNode { Self.store(Self.checksum(file, start + 8, Self.pageBytes - 8), start, &file) }
        }
        for slot in Self.slots where file[slot * Self.pageBytes + 8] != 0 { sealSlot(slot * Self.pageBytes, &file) }
        Self.store(Self.checksum(file, 0, 128), 128, &file)
    }

    private func sealSlot(_ slot: Int, _ file: inout [UInt8]) {
        for offset in [40, 64, 88] { refresh(slot + offset, &file) }
        if number(slot + 156) > 0, let first = records.first, number(slot + 160, 8) * Self.pageBytes == first {
            // The first record names the root's version, each other one the record before.
            var chain = Self.number(file, slot + 16, 8)
            for record in records {
                Self.store(chain, record + 32, &file)
                let count = Int(clamping: Self.number(file, record + 12, 4))
                let known = number(record + 12)
                let isThere = (9 ... file.count - record).contains(count)
                chain = Self.checksum(file, record + 8, (isThere ? count : known) - 8)
                Self.store(chain, record, &file)
            }
            if number(slot + 192, 8) > 0 { Self.store(chain, slot + 200, &file) }
        }
        Self.store(Self.checksum(file, slot + 8, Self.pageBytes - 8), slot, &file)
    }

    /// The checksum of what a reference points at now; as it was where there is nothing.
    private func refresh(_ reference: Int, _ file: inout [UInt8]) {
        let page = Int(clamping: Self.number(file, reference + 8, 6))
        let count = Int(clamping: Self.number(file, reference + 20, 4))
        guard page > 0, page < file.count / Self.pageBytes, count <= file.count - page * Self.pageBytes else { return }
        let start = page * Self.pageBytes
        Self.store(
            count == 0 ? Self.number(file, start, 8) : Self.checksum(file, start, count), reference, &file)
    }

    private func sealValues(_ file: inout [UInt8]) {
        var last: (version: UInt64, checksum: UInt64)?
        for place in values.sorted(by: { sound[$0.key].lexicographicallyPrecedes(sound[$1.key]) }) {
            let key = Array(file[place.key])
            if key.first == ChangeRecordFormat.keySpace, key.count == 9, place.value.count >= 24 {
                // H2.
                let version = key.dropFirst().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
                if let last, last.version &+ 1 == version {
                    let previous = place.value.lowerBound + ChangeRecordFormat.previousOffset
                    file.store(UInt32(truncatingIfNeeded: last.checksum), at: previous)
                }
            }
            var value = Array(file[place.value])
            ValueFields.seal(&value, under: key)
            file.replaceSubrange(place.value, with: value)
            if key.first == ChangeRecordFormat.keySpace, key.count == 9 {
                last = (key.dropFirst().reduce(0) { $0 << 8 | UInt64($1) }, Self.number(value, 20, 4))
            }
        }
    }

    private static func checksum(_ file: [UInt8], _ start: Int, _ count: Int) -> UInt64 {
        file.withUnsafeBytes { bytes in
            bytes.baseAddress.map { motte_shim_xxh3($0 + start, count) } ?? 0
        }
    }

    private static func store(_ value: UInt64, _ place: Int, _ file: inout [UInt8]) {
        for index in 0 ..< 8 { file[place + index] = UInt8(truncatingIfNeeded: value >> (8 * UInt64(index))) }
    }
}
