/// From the image to the disk: pages as they are, neighbours in one call, or sealed, in a buffer beside them.
import MotteValues

extension PageImage {
    private static let bufferBytes = 1 << 20
    /// One call of the system draws the random bytes of so many nonces.
    private static let unitsPerDraw = 16

    /// Pages of a commit; runs ascend.
    package func write(_ runs: [PageRun]) throws(DatabaseError) {
        if let cipher {
            defer { built.removeAll() }
            try writeSealed(built.sorted { $0.page < $1.page }, cipher)
        } else {
            for run in runs { try writePlain(run) }
        }
        endWriting(runs)
    }

    private func writePlain(_ run: PageRun) throws(DatabaseError) {
        var rest = run
        while rest.count > 0 {
            guard let piece = builtPiece(rest) else { throw PageImage.isNotBuilt(rest.start) }
            let bytes = UnsafeRawBufferPointer(start: piece.start, count: byteCount(of: piece.run.count))
            try disk.write(bytes, at: offset(of: piece.run.start))
            rest = PageRun(start: piece.run.end, count: rest.end - piece.run.end)
        }
    }

    private static func isNotBuilt(_ page: PageNumber) -> DatabaseError {
        DatabaseError(.internal, "page \(page) was to be written and is not in memory")
    }

    /// Extents of a commit under way, which nobody reads yet.
    func writeExtents(_ runs: [PageRun]) throws(DatabaseError) {
        guard let cipher else { return try write(runs) }
        try writeSealed(built.filter { $0.byteCount > 0 }.sorted { $0.page < $1.page }, cipher)
        built.removeAll { $0.byteCount > 0 }
    }

    private func writeSealed(_ units: [PageRef], _ cipher: PageCipher) throws(DatabaseError) {
        let largest = units.reduce(PageImage.bufferBytes) { max($0, byteCount(of: $1.pageCount(layout))) }
        let total = units.reduce(0) { $0 + byteCount(of: $1.pageCount(layout)) }
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: min(largest, total), alignment: 16)
        defer { buffer.deallocate() }
        guard let base = buffer.baseAddress else { return }
        var waiting = 0
        var start = 0
        var random: ArraySlice<UInt8> = []
        for (index, unit) in units.enumerated() {
            let count = byteCount(of: unit.pageCount(layout))
            let place = offset(of: unit.page)
            if waiting > 0, start + waiting != place || waiting + count > buffer.count {
                try disk.write(UnsafeRawBufferPointer(start: base, count: waiting), at: start)
                waiting = 0
            }
            if waiting == 0 { start = place }
            if random.isEmpty {
                random = try PageCipher.drawRandom(min(PageImage.unitsPerDraw, units.count - index))[...]
            }
            guard let address = builtBytes(unit.run(layout)) else { throw PageImage.isNotBuilt(unit.page) }
            try cipher.seal(
                .of(unit), address, count: count, to: base + waiting,
                random: random.prefix(PageCipher.randomBytes))
            random = random.dropFirst(PageCipher.randomBytes)
            waiting += count
        }
        if waiting > 0 { try disk.write(UnsafeRawBufferPointer(start: base, count: waiting), at: start) }
    }

    func write(_ slot: RootSlot) throws(DatabaseError) {
        let page = TreeFormat.slotPage(slot.slot)
        let bytes = try slot.encoded(pageBytes: pageBytes, cipher)
        try bytes.withBytes { bytes throws(DatabaseError) in try disk.write(bytes, at: offset(of: page)) }
    }

    func writeHead(_ uuid: FileHeader.UUID) throws(DatabaseError) {
        let head = try FileHead(pageBytes: pageBytes, uuid: uuid).encoded(cipher)
        try head.withBytes { bytes throws(DatabaseError) in try disk.write(bytes, at: 0) }
    }
}
