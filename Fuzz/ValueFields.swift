/// The fields of stored values by name, and their checksums made again: exactly as the file's format says, whatever
/// else is in them. Places count from the value's first byte.
import CMotteShim
import MottePages
import MotteStorage
import MotteValues

enum ValueFields {
    static func list(of value: [UInt8], under key: [UInt8]) -> [FileField] {
        var fields: [FileField] = []
        func add(_ name: String, _ list: [(String, Int, Int)], at base: Int = 0) {
            for (field, offset, count) in list where base + offset + count <= value.count {
                fields.append(FileField(name: "\(name) \(field)", place: base + offset, count: count))
            }
        }
        /// The framing, and the first and the last words of the payload.
        func addChunk(_ name: String, _ base: Int, _ end: Int) {
            add(
                name,
                [
                    ("kind", 0, 1), ("encoding", 1, 1), ("width", 2, 1), ("flags", 3, 1), ("rows", 4, 4),
                    ("payload bytes", 8, 4), ("reference", 16, 8),
                ], at: base)
            let payload = base + 16
            for (size, most) in [(2, 64), (4, 48)] {
                for place in stride(from: payload, to: min(end, base + most), by: size) {
                    add(name, [("word", 0, size)], at: place)
                }
            }
            for place in max(base + 16, end - 12) ..< max(base + 16, end) { add(name, [("byte", 0, 1)], at: place) }
            if let elements = self.elements(value, base, end) { addChunk("\(name)'s elements", elements, end) }
        }
        func addBitmap(_ base: Int, _ end: Int) {
            add("bitmap", [("rows", 0, 4), ("live rows", 4, 4), ("zero", 12, 4)], at: base)
            for place in stride(from: base + 16, to: end, by: 8) { add("bitmap", [("word", 0, 8)], at: place) }
        }
        switch key.first {
        case KeySpace.header:
            add(
                "header",
                [
                    ("mark", 6, 2), ("major", 8, 2), ("minor", 10, 2), ("rows per row group", 12, 4),
                    ("incompatible", 16, 8), ("read-only", 24, 8), ("compatible", 32, 8), ("uuid", 40, 8),
                    ("page bytes", 72, 4), ("checksum kind", 76, 4), ("unicode", 80, 4), ("version", 88, 8),
                    ("time", 96, 8),
                ])
        case KeySpace.catalog: addCatalog(value) { add("schema", $0, at: $1) }
        case KeySpace.tableStates:
            add(
                "state",
                [
                    ("live rows", 0, 8), ("next key", 8, 8), ("open row group", 16, 8), ("version", 24, 8),
                    (
                        "rows", 36,
                        4
                    ),
                ])
        case KeySpace.openGroups:
            add(
                "open row group",
                [
                    ("rows", 0, 4), ("columns", 4, 4), ("first key", 8, 8), ("bitmap", 16, 4), ("bitmap bytes", 20, 4),
                    ("zero", 28, 4),
                ])
            for index in 0 ..< value.word(at: 4) {
                let entry = 32 + 16 * index
                add("open row group", [("column", 0, 4), ("offset", 4, 4), ("bytes", 8, 4)], at: entry)
                let start = value.word(at: entry + 4)
                addChunk("open row group's chunk", start, min(value.count, start + value.word(at: entry + 8)))
            }
            let bitmap = value.word(at: 16)
            if bitmap > 0 { addBitmap(bitmap, min(value.count, bitmap + value.word(at: 20))) }
        case KeySpace.chunks: addChunk("chunk", 0, value.count)
        case KeySpace.liveBitmaps: addBitmap(0, value.count)
        case KeySpace.longLists where value.first == LongListInner.kind:
            add(
                "list node",
                [("format", 1, 1), ("level", 2, 1), ("children", 4, 4), ("elements", 8, 4), ("next id", 12, 4)])
            for place in stride(from: LongListInner.headerSize, to: value.count, by: 8) {
                add("list node", [("child", 0, 4), ("child's elements", 4, 4)], at: place)
            }
        case KeySpace.longLists: addChunk("list leaf", 0, value.count)
        case IndexSpace.keySpace:
            add(
                "index block",
                [
                    ("kind", 0, 1), ("format", 1, 1), ("value width", 2, 1), ("key width", 3, 1), ("entries", 4, 4),
                    ("base value", 16, 8), ("base key", 24, 8),
                ])
            for place in 32 ..< max(32, min(value.count, 48)) { add("index block", [("difference", 0, 1)], at: place) }
        case KeySpace.longValues: add("long value", [("byte", 0, 1)])
        case ChangeRecordFormat.keySpace:
            add("commit", [("format", 1, 1), ("flags", 2, 2), ("sections", 4, 4), ("version", 8, 8), ("time", 24, 8)])
            var place = ChangeRecordFormat.headerSize
            while place + 8 <= value.count {
                add("commit", [("section", 0, 2), ("section flags", 2, 2), ("section bytes", 4, 4)], at: place)
                let count = value.word(at: place + 4)
                for byte in 0 ..< min(count, 24) { add("commit", [("section byte", 8 + byte, 1)], at: place) }
                place += 8 + count
            }
        default: break
        }
        return fields
    }

    private static func addCatalog(_ value: [UInt8], _ add: ([(String, Int, Int)], Int) -> Void) {
        var place = 36
        func text(_ name: String) {
            add([(name, 0, 4)], place)
            place += 4 + value.word(at: place)
        }
        func number(_ name: String, _ count: Int = 4) -> Int {
            add([(name, 0, count)], place)
            defer { place += count }
            return count == 1 ? Int(value[place]) : value.word(at: place)
        }
        add(
            [
                ("format", 0, 4), ("version", 8, 8), ("changed in", 16, 8), ("next table", 24, 4),
                ("next index", 28, 4), ("tables", 32, 4),
            ], 0)
        for _ in 0 ..< value.word(at: 32) where place < value.count {
            _ = number("table")
            text("name bytes")
            _ = number("next column")
            _ = number("flags")
            // Of which the first word is read; 16 bytes are reserved.
            _ = number("identity", 8)
            _ = number("identity", 8)
            for _ in 0 ..< number("columns") where place < value.count {
                _ = number("column")
                text("column name bytes")
                for name in ["type", "collection", "column flags"] { _ = number(name, 1) }
                _ = number("target")
                _ = number("index")
            }
            for _ in 0 ..< number("inverses") where place < value.count {
                text("inverse name bytes")
                _ = number("origin")
                text("origin name bytes")
            }
            _ = number("other indexes")
        }
    }

    /// Where the elements of a chunk of lists begin.
    private static func elements(_ value: [UInt8], _ base: Int, _ end: Int) -> Int? {
        guard base + 16 <= end, value[base] & ChunkMark.list != 0 else { return nil }
        let width = value[base + 2] == 0 ? 4 : Int(value[base + 2])
        let place = base + 16 + (value.word(at: base + 4) * width + 7) & ~7
        return place + 16 <= end ? place : nil
    }

    // MARK: Checksums

    static func seal(_ value: inout [UInt8], under key: [UInt8]) {
        switch key.first {
        case KeySpace.header where value.count == FileHeader.byteCount:
            value.store(crc([Array(value[..<124])]), at: 124)
        case KeySpace.catalog: Checksums.sealCatalog(&value)
        case KeySpace.tableStates where value.count == TableState.encodedSize:
            value.store(crc([Array(value[..<32]), Array(value[36...]), key]), at: 32)
        case KeySpace.openGroups: sealOpenGroup(&value, key)
        case KeySpace.chunks: sealChunk(&value, 0, value.count, key)
        case KeySpace.longLists where value.first == LongListInner.kind: Checksums.seal(&value, under: key)
        case KeySpace.longLists: sealChunk(&value, 0, value.count, key)
        case KeySpace.liveBitmaps: sealBitmap(&value, 0, value.count, key)
        case IndexSpace.keySpace where value.count >= IndexBlock.headerSize:
            value.withUnsafeMutableBytes { IndexBlock.seal($0, key) }
        case ChangeRecordFormat.keySpace where value.count >= ChangeRecordFormat.headerSize:
            let crc = key.asBytes { key in value.asBytes { ChangeRecordFormat.checksum(of: $0, pageKey: key) } }
            value.store(crc, at: ChangeRecordFormat.checksumOffset)
        default: break
        }
    }

    private static func sealChunk(_ value: inout [UInt8], _ base: Int, _ end: Int, _ key: [UInt8]) {
        guard base >= 0, base + 16 <= end, end <= value.count else { return }
        if let elements = elements(value, base, end) { sealChunk(&value, elements, end, key) }
        value.store(crc([Array(value[base ..< base + 12]), Array(value[base + 16 ..< end]), key]), at: base + 12)
    }

    private static func sealBitmap(_ value: inout [UInt8], _ base: Int, _ end: Int, _ key: [UInt8]) {
        guard base >= 0, base + 16 <= end, end <= value.count else { return }
        value.store(0, at: base + 8)
        value.store(crc([Array(value[base ..< end]), key]), at: base + 8)
    }

    private static func sealOpenGroup(_ value: inout [UInt8], _ key: [UInt8]) {
        guard value.count >= 32 else { return }
        let columns = min(value.word(at: 4), (value.count - 32) / 16)
        for index in 0 ..< columns {
            let start = value.word(at: 36 + index * 16)
            sealChunk(&value, start, start + value.word(at: 40 + index * 16), key)
        }
        let bitmap = value.word(at: 16)
        if bitmap > 0 { sealBitmap(&value, bitmap, bitmap + value.word(at: 20), key) }
        value.store(crc([Array(value[..<24]), Array(value[32 ..< 32 + columns * 16]), key]), at: 24)
    }

    private static func crc(_ parts: [[UInt8]]) -> UInt32 {
        parts.reduce(0) { crc, part in part.asBytes { motte_shim_crc32c(crc, $0.baseAddress, $0.count) } }
    }
}
