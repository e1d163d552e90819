/// CONTAINS, 16 bytes at a time: only places where the first and last byte of the pattern are in position are looked
/// at. The texts of a chunk lie behind each other, so they are searched as one and what is found is mapped to rows;
/// those of a dictionary and long ones are searched one by one.
///
/// With case or diacritics ignored that is right for ASCII texts only. Rows with other bytes are matched again, one by
/// one.
import MotteValues

enum TextSearch {
    static func select(_ chunk: ColumnChunk, containing matcher: TextMatcher, _ words: SelectionWords) {
        guard !chunk.isDictionary, !chunk.hasLongTexts, let heap = chunk.heap, !matcher.pattern.isEmpty else {
            return TextKernels.selectTexts(chunk, words) { matcher.matches(chunk.text($0)) }
        }
        Selection.clear(words, rows: chunk.count)
        guard chunk.count > 0 else { return }
        // The part of the heap that the offsets name.
        let start = chunk.offset(0), size = chunk.offset(chunk.count) - start
        let text = UnsafeRawBufferPointer(start: heap + start, count: size)
        matcher.pattern.withUnsafeBytes { pattern in
            var cursor = RowCursor(chunk)
            search(text, pattern, ignoresCase: matcher.ignoresCase) { place in
                let (row, end) = cursor.row(at: place)
                if place &+ pattern.count <= end { Selection.insert(words, row) }
                return false
            }
            if !matcher.options.isEmpty, !TextFolding.isASCII(text) { matchWideRows(chunk, matcher, words) }
        }
    }

    /// `ignoresCase`: of ASCII letters; those of the pattern are small.
    static func contains(
        _ text: UnsafeRawBufferPointer, _ pattern: UnsafeRawBufferPointer, ignoresCase: Bool
    ) -> Bool {
        var isFound = false
        search(text, pattern, ignoresCase: ignoresCase) { _ in
            isFound = true
            return true
        }
        return isFound
    }

    /// Calls `isEnough` with the places of the pattern, in order, until it says so.
    @inline(__always)
    private static func search(
        _ text: UnsafeRawBufferPointer, _ pattern: UnsafeRawBufferPointer, ignoresCase: Bool,
        _ isEnough: (Int) -> Bool
    ) {
        guard let base = text.baseAddress, !pattern.isEmpty, text.count >= pattern.count else { return }
        let reach = pattern.count - 1, places = text.count - reach
        let first = Letter(pattern[0], ignoresCase), last = Letter(pattern[reach], ignoresCase)
        var place = 0
        while place &+ 16 <= places {
            let heads = base.loadUnaligned(fromByteOffset: place, as: SIMD16<UInt8>.self)
            let tails = base.loadUnaligned(fromByteOffset: place &+ reach, as: SIMD16<UInt8>.self)
            let halves = unsafeBitCast(first.match(heads) & last.match(tails), to: SIMD2<UInt64>.self)
            if halves[0] | halves[1] != 0 {
                if check(halves[0], place, base, pattern, ignoresCase, isEnough) { return }
                if check(halves[1], place &+ 8, base, pattern, ignoresCase, isEnough) { return }
            }
            place &+= 16
        }
        while place < places {
            if first.matches(base.load(fromByteOffset: place, as: UInt8.self)),
                check(0xFF, place, base, pattern, ignoresCase, isEnough)
            {
                return
            }
            place &+= 1
        }
    }

    /// Every byte of `lanes` that is set names a place to look at.
    @inline(__always)
    private static func check(
        _ lanes: UInt64, _ place: Int, _ base: UnsafeRawPointer, _ pattern: UnsafeRawBufferPointer,
        _ ignoresCase: Bool, _ isEnough: (Int) -> Bool
    ) -> Bool {
        var rest = lanes
        while rest != 0 {
            let lane = rest.trailingZeroBitCount &>> 3
            rest &= ~(0xFF &<< UInt64(truncatingIfNeeded: lane &* 8))
            let found = place &+ lane
            let text = UnsafeRawBufferPointer(start: base + found, count: pattern.count)
            if TextMatcher.isSame(text, pattern, ignoresCase), isEnough(found) { return true }
        }
        return false
    }

    private static func matchWideRows(_ chunk: ColumnChunk, _ matcher: TextMatcher, _ words: SelectionWords) {
        for row in 0 ..< chunk.count {
            let text = chunk.text(row)
            guard !TextFolding.isASCII(text) else { continue }
            words[row &>> 6] &= ~(1 &<< UInt64(row & 63))
            if matcher.matches(text) { Selection.insert(words, row) }
        }
    }

    /// A byte of the pattern, in one or both cases.
    private struct Letter {
        let lower: SIMD16<UInt8>
        let upper: SIMD16<UInt8>

        init(_ byte: UInt8, _ ignoresCase: Bool) {
            lower = SIMD16(repeating: byte)
            upper = SIMD16(repeating: ignoresCase && byte &- UInt8(ascii: "a") < 26 ? byte & ~0x20 : byte)
        }

        @inline(__always)
        func match(_ bytes: SIMD16<UInt8>) -> SIMD16<UInt8> {
            unsafeBitCast(bytes .== lower, to: SIMD16<UInt8>.self)
                | unsafeBitCast(bytes .== upper, to: SIMD16<UInt8>.self)
        }

        @inline(__always)
        func matches(_ byte: UInt8) -> Bool { byte == lower[0] || byte == upper[0] }
    }

    /// Maps ascending places of the searched bytes to rows.
    private struct RowCursor {
        private let chunk: ColumnChunk
        private let origin: Int
        private var current = 0
        private var end: Int

        init(_ chunk: ColumnChunk) {
            self.chunk = chunk
            origin = chunk.offset(0)
            end = chunk.offset(1) &- origin
        }

        /// The row that holds the byte at `place`, and where that row ends. Places lie below the last offset.
        mutating func row(at place: Int) -> (row: Int, end: Int) {
            while end <= place, current &+ 1 < chunk.count {
                current &+= 1
                end = chunk.offset(current &+ 1) &- origin
            }
            return (current, end)
        }
    }
}
