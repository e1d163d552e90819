/// Which parts of a file nodes were read from: a bit for eight bytes, in pieces that are made where something was
/// read, so at most 1/64 of the file.
import MotteValues

final class VisitedNodes {
    /// A piece stands for 256 KB of the file.
    private static let pieceWords = 512
    private static let pieceShift = 18
    private var pieces: [UnsafeMutablePointer<UInt64>?]
    private var touched: [Int] = []

    init(limit: Int) {
        pieces = [UnsafeMutablePointer<UInt64>?](repeating: nil, count: limit >> Self.pieceShift + 1)
    }

    deinit { for piece in pieces { piece?.deallocate() } }

    /// Forgets everything, for another cluster.
    func reset() {
        for number in touched {
            pieces[number]?.deallocate()
            pieces[number] = nil
        }
        touched.removeAll(keepingCapacity: true)
    }

    /// A node at a multiple of eight, within the limit.
    func add(_ ref: Int, _ byteCount: Int) throws(DatabaseError) {
        var bit = ref >> 3
        let end = (ref + byteCount + 7) >> 3
        while bit < end {
            let part = min(end - bit, 64 - bit & 63)
            let mask: UInt64 = (part == 64 ? .max : (1 << UInt64(part) - 1)) << UInt64(bit & 63)
            let word = piece(bit >> (Self.pieceShift - 3)) + (bit >> 6 & (Self.pieceWords - 1))
            guard word.pointee & mask == 0 else {
                throw Damage.at(ref, "a node is referred to twice, or lies over another one")
            }
            word.pointee |= mask
            bit += part
        }
    }

    private func piece(_ number: Int) -> UnsafeMutablePointer<UInt64> {
        if let piece = pieces[number] { return piece }
        let piece = UnsafeMutablePointer<UInt64>.allocate(capacity: Self.pieceWords)
        piece.initialize(repeating: 0, count: Self.pieceWords)
        pieces[number] = piece
        touched.append(number)
        return piece
    }
}
