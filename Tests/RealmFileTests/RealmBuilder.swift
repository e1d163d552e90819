// Writes Realm files, for what no file of Tests/RealmFiles has: older formats, forms that nobody makes any more, and
// sizes. By docs of the format only, sharing nothing with the reader.

struct RealmBuilder {
    private(set) var bytes = [UInt8](repeating: 0, count: 24)
    let format: UInt8

    init(format: UInt8 = 24) { self.format = format }

    // MARK: Nodes

    enum Flag {
        static let inner: UInt8 = 0x80
        static let refs: UInt8 = 0x40
        static let context: UInt8 = 0x20
    }

    mutating func node(_ flags: UInt8, _ count: Int, _ payload: [UInt8]) -> Int {
        let ref = bytes.count
        bytes += [65, 65, 65, 65, flags, UInt8(count >> 16), UInt8(count >> 8 & 255), UInt8(count & 255)] + payload
        bytes += [UInt8](repeating: 0, count: -bytes.count & 7)
        return ref
    }

    /// In the smallest width.
    mutating func ints(_ values: [Int64], _ flags: UInt8 = 0) -> Int {
        let least = values.min() ?? 0
        let greatest = values.max() ?? 0
        if least == 0, greatest == 0 { return node(flags, values.count, []) }
        if least >= 0, greatest < 16 {
            let (code, bits): (UInt8, Int) = greatest < 2 ? (1, 1) : greatest < 4 ? (2, 2) : (3, 4)
            var payload = [UInt8](repeating: 0, count: (values.count * bits + 7) / 8)
            for (index, value) in values.enumerated() {
                payload[index * bits / 8] |= UInt8(value) << UInt8(index * bits % 8)
            }
            return node(flags | code, values.count, payload)
        }
        let size: Int
        switch max(greatest, ~least) {
        case ..<0x80: size = 1
        case ..<0x8000: size = 2
        case ..<0x8000_0000: size = 4
        default: size = 8
        }
        let code = UInt8(4 + size.trailingZeroBitCount)
        var payload: [UInt8] = []
        payload.reserveCapacity(values.count * size)
        for value in values { withUnsafeBytes(of: value.littleEndian) { payload += $0.prefix(size) } }
        return node(flags | code, values.count, payload)
    }

    static func tagged(_ number: Int) -> Int64 { Int64(number) << 1 | 1 }

    mutating func refs(_ slots: [Int64], _ flags: UInt8 = 0) -> Int { ints(slots, Flag.refs | flags) }

    mutating func blob(_ value: [UInt8]) -> Int { node(0x10, value.count, value) }

    mutating func shortStrings(_ values: [String?]) -> Int {
        let longest = values.map { $0?.utf8.count ?? 0 }.max() ?? 0
        var width = 1
        while width <= longest { width *= 2 }
        var payload: [UInt8] = []
        for value in values {
            let text = Array((value ?? "").utf8)
            payload += text + [UInt8](repeating: 0, count: width - 1 - text.count)
            payload.append(value == nil ? UInt8(width) : UInt8(width - 1 - text.count))
        }
        return node(0x08 | UInt8(width.trailingZeroBitCount + 1), values.count, payload)
    }

    mutating func doubles(_ values: [Double]) -> Int {
        node(0x0C, values.count, values.flatMap { value in withUnsafeBytes(of: value.bitPattern) { Array($0) } })
    }

    /// As a leaf, or with one inner level.
    mutating func tree(_ leaves: [Int], counts: [Int], isGeneral: Bool) -> Int {
        guard leaves.count > 1 else { return leaves[0] }
        var ends: [Int64] = []
        for count in counts { ends.append((ends.last ?? 0) + Int64(count)) }
        let first = isGeneral ? Int64(ints(Array(ends.dropLast()))) : Self.tagged(counts[0])
        return refs([first] + leaves.map { Int64($0) } + [Self.tagged(Int(ends.last ?? 0))], Flag.inner)
    }

    // MARK: Clusters

    /// Objects with these keys in clusters of 256, below inner nodes. `columns` gives the leaf of each column for
    /// some rows.
    mutating func clusters(
        _ keys: [Int64], columns: (inout RealmBuilder, Range<Int>) -> [Int]
    ) -> Int {
        var level: [(ref: Int, offset: Int64, count: Int)] = []
        for start in stride(from: 0, to: max(1, keys.count), by: 256) {
            let rows = start ..< min(start + 256, keys.count)
            let offset = level.isEmpty && keys.count <= 256 ? 0 : keys[start] & ~255
            let own = ints(rows.map { keys[$0] - offset })
            let leaves = columns(&self, rows).map { Int64($0) }
            level.append((refs([Int64(own)] + leaves), offset, rows.count))
        }
        var depth = 0
        while level.count > 1 {
            depth += 1
            var upper: [(ref: Int, offset: Int64, count: Int)] = []
            for start in stride(from: 0, to: level.count, by: 256) {
                let part = level[start ..< min(start + 256, level.count)]
                let offset = part[part.startIndex].offset
                let isTop = level.count <= 256
                let base = isTop ? 0 : offset
                let total = part.reduce(0) { $0 + $1.count }
                let offsets = ints(part.map { $0.offset - base })
                let children = part.map { Int64($0.ref) }
                let slots = [Int64(offsets), Self.tagged(depth), Self.tagged(total)] + children
                upper.append((refs(slots, Flag.inner), base, total))
            }
            level = upper
        }
        return level[0].ref
    }

    // MARK: Tables

    struct Column {
        let name: String
        let type: Int64
        var attributes: Int64 = 0
        /// Of the types array, where it is not the type.
        var keyType: Int64 = 0
        var opposite: (table: Int64, column: Int64)?
    }

    static let backlink: Int64 = 14

    /// Column `index` has index `index`; keys of columns are made from it.
    static func columnKey(_ index: Int, _ type: Int64, _ attributes: Int64 = 0) -> Int64 {
        Int64(index) | type << 16 | (attributes & 0xFE) << 22 | Int64(index) << 30
    }

    mutating func table(_ slot: Int, _ columns: [Column], clusters: Int, primaryKey: Int64 = 0, flags: Int = 0) -> Int {
        let keys = columns.enumerated().map { Self.columnKey($0.offset, $0.element.type, $0.element.attributes) }
        let named = columns.filter { $0.type != Self.backlink }.map { Optional($0.name) }
        let types = Int64(ints(columns.map { $0.keyType << 16 | $0.type }))
        let names = Int64(shortStrings(named))
        let attributes = Int64(ints(columns.map(\.attributes)))
        let spec = Int64(refs([types, names, attributes, 0, 0, Int64(ints(keys))]))
        let tables = Int64(ints(columns.map { $0.opposite?.table ?? 0x7FFF_FFFF }))
        let opposites = Int64(ints(columns.map { $0.opposite?.column ?? .max }))
        return refs([
            spec, 0, Int64(clusters), Self.tagged(slot), 0, 1, 1, tables, opposites, 0, 0,
            primaryKey == 0 ? 0 : primaryKey << 1 | 1, Self.tagged(flags), 0,
        ])
    }

    mutating func finish(_ tables: [(name: String, ref: Int)]) -> [UInt8] {
        let names = Int64(shortStrings(tables.map { "class_" + $0.name }))
        let list = Int64(refs(tables.map { Int64($0.ref) }))
        // As wide as any, so that the size can be known before.
        let wide = Int64(1) << 40
        let top = bytes.count
        let size = Int64(top + 8 + 12 * 8)
        _ = refs([names, list, size << 1 | 1, 0, 0, 0, Self.tagged(3), wide | 1, 0, 0, 0, 0])
        for index in 0 ..< 8 { bytes[index] = UInt8(top >> (8 * index) & 255) }
        bytes.replaceSubrange(16 ..< 24, with: Array("T-DB".utf8) + [format, format, 0, 0])
        return bytes
    }
}
