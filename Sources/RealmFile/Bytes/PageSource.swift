/// The decrypted bytes of a Realm file by offset, through a cache of 4 MB whatever the file's size.
///
/// A plain file is read in units of 16 KB, an encrypted one page by page. The cache has four places for each unit
/// number modulo their count; the oldest of the four makes room. What is longer than two units goes past it.
import MotteValues

final class PageSource {
    private static let ways = 4
    private static let cacheBytes = 4 << 20

    let file: FileBytes
    /// Of the decrypted bytes.
    let count: Int
    private let decryption: PageDecryption?
    private let unitBytes: Int
    private let setMask: Int
    /// For each place: the unit there, or -1, its bytes, and per set whose turn it is to make room.
    private var units: [Int]
    private var buffers: [UnsafeMutableRawPointer?]
    private var turns: [Int]
    private var newestUnit = -1
    private var newest: UnsafeRawPointer?

    init(_ file: FileBytes, _ decryption: PageDecryption?) {
        self.file = file
        self.decryption = decryption
        count = decryption.map { _ in PageDecryption.dataBytes(in: file.count) } ?? file.count
        unitBytes = decryption == nil ? 16 << 10 : PageDecryption.pageBytes
        let sets = Self.cacheBytes / unitBytes / Self.ways
        setMask = sets - 1
        units = [Int](repeating: -1, count: sets * Self.ways)
        buffers = [UnsafeMutableRawPointer?](repeating: nil, count: sets * Self.ways)
        turns = [Int](repeating: 0, count: sets)
    }

    deinit { for buffer in buffers { buffer?.deallocate() } }

    /// Eight bytes at a multiple of eight. The caller has compared with `count`.
    func word(_ offset: Int) throws(DatabaseError) -> UInt64 {
        let start = try unit(offset / unitBytes)
        return UInt64(littleEndian: start.load(fromByteOffset: offset % unitBytes, as: UInt64.self))
    }

    func read(_ offset: Int, _ count: Int, to target: UnsafeMutableRawPointer) throws(DatabaseError) {
        guard offset >= 0, count >= 0, offset <= self.count - count else {
            throw Damage.found("the file is truncated: it ends before byte \(offset)")
        }
        if decryption == nil, count > 2 * unitBytes { return try file.read(offset, count, to: target) }
        var offset = offset
        var rest = count
        var target = target
        while rest > 0 {
            let inside = offset % unitBytes
            let part = min(rest, unitBytes - inside)
            target.copyMemory(from: try unit(offset / unitBytes) + inside, byteCount: part)
            offset += part
            target += part
            rest -= part
        }
    }

    /// Valid until the next call.
    private func unit(_ unit: Int) throws(DatabaseError) -> UnsafeRawPointer {
        if unit == newestUnit, let newest { return newest }
        let set = unit & setMask
        let first = set * Self.ways
        for place in first ..< first + Self.ways where units[place] == unit {
            if let buffer = buffers[place] { return remember(unit, buffer) }
        }
        let place = first + turns[set]
        turns[set] = (turns[set] + 1) % Self.ways
        let buffer = buffers[place] ?? UnsafeMutableRawPointer.allocate(byteCount: unitBytes, alignment: 16)
        buffers[place] = buffer
        units[place] = -1
        newestUnit = -1
        if let decryption {
            try decryption.read(page: unit, of: file, to: buffer)
        } else {
            let start = unit * unitBytes
            try file.read(start, min(unitBytes, count - start), to: buffer)
        }
        units[place] = unit
        return remember(unit, buffer)
    }

    private func remember(_ unit: Int, _ buffer: UnsafeMutableRawPointer) -> UnsafeRawPointer {
        newestUnit = unit
        newest = UnsafeRawPointer(buffer)
        return UnsafeRawPointer(buffer)
    }
}
