/// What the page file stands on: bytes at offsets, a flush, a length. Everything the tree promises about power cuts is
/// promised about this protocol and tested on a simulated disk behind it.
///
/// What a disk may do: until `flush` returns, any write since the last one may be missing, present or torn after a cut,
/// in any order; after it, all of them are there. A call that throws may have done any part of its work.
import MotteValues

package protocol Disk: AnyObject, Sendable {
    /// For messages.
    var path: String { get }
    func byteCount() throws(DatabaseError) -> Int
    /// Reads up to the size of `target`; answers how many bytes there were.
    func read(_ target: UnsafeMutableRawBufferPointer, at offset: Int) throws(DatabaseError) -> Int
    /// Writes all of `bytes`; the disk grows as needed.
    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(DatabaseError)
    /// The first bytes of a range that take no room on the disk yet, so that a write to them may find it full; nil:
    /// there are none.
    func firstHole(in range: Range<Int>) throws(DatabaseError) -> Range<Int>?
    /// Everything written before is durable when this returns.
    func flush() throws(DatabaseError)
    /// More bytes than this the disk does not add by itself. Called before the first write.
    func limitGrowth(to byteCount: Int)
    /// Grows (with zeros) or cuts off.
    func resize(to byteCount: Int) throws(DatabaseError)
    func close()
}

extension Disk {
    package func limitGrowth(to byteCount: Int) {}

    package func firstHole(in range: Range<Int>) throws(DatabaseError) -> Range<Int>? {
        let start = max(try byteCount(), range.lowerBound)
        return start < range.upperBound ? start ..< range.upperBound : nil
    }

    /// Writes zeros where a range has holes, which changes nothing of what it says.
    func fillHoles(in range: Range<Int>) throws(DatabaseError) {
        var left = range
        while let found = try firstHole(in: left) {
            let zeros = [UInt8](repeating: 0, count: found.count)
            try zeros.withBytes { bytes throws(DatabaseError) in try write(bytes, at: found.lowerBound) }
            left = found.upperBound ..< range.upperBound
        }
    }
}
