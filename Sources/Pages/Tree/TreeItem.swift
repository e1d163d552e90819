/// An entry on its way from an old node, or from a commit, into a new one: where its bytes lie until it is written, and
/// how much of a node it takes.
struct TreeItem {
    var key: UnsafeRawPointer
    var keyCount: Int
    /// Inline bytes of a leaf's value; for a reference nothing.
    var value: UnsafeRawPointer?
    var valueCount: Int
    var reference: PageRef
    /// A child that was not touched, as long as it stands at the end of its row.
    var isUntouched = false

    /// An entry of a node, which must stay as it is until this is written.
    init(_ node: TreeNode, _ index: Int) {
        let entry = node.entry(index)
        keyCount = Int(entry.loadUnaligned(as: UInt16.self))
        let mark = entry.loadUnaligned(fromByteOffset: 2, as: UInt16.self)
        key = entry + TreeNode.entryHeader
        if mark == TreeNode.referenceMark {
            value = nil
            valueCount = 0
            reference = PageRef(at: key + keyCount)
        } else {
            value = key + keyCount
            valueCount = Int(mark)
            reference = .none
        }
    }

    /// A put of a commit, as long as its value lies in the node.
    init(_ change: PageBatch.Entry) {
        key = change.start
        keyCount = Int(change.keyCount)
        value = change.valueStart
        valueCount = change.valueCount
        reference = .none
    }

    /// A child that was just made.
    init(_ key: UnsafeRawPointer, _ keyCount: Int, _ child: PageRef) {
        self.key = key
        self.keyCount = keyCount
        value = nil
        valueCount = 0
        reference = child
    }

    var keyBytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: key, count: keyCount) }
    var isInline: Bool { reference.isNone }
    /// Bytes in a node, alignment reckoned at its mean.
    var cost: Int {
        TreeNode.slotBytes + TreeNode.entryHeader + keyCount + (isInline ? valueCount + 8 : PageRef.encodedCount)
    }

    /// Where in a node it begins if it ends at `top`.
    @inline(__always)
    func place(below top: Int) -> Int {
        if isInline { return ((top - valueCount) & ~15) - keyCount - TreeNode.entryHeader }
        return top - PageRef.encodedCount - keyCount - TreeNode.entryHeader
    }

    func write(at target: UnsafeMutableRawPointer) {
        target.storeBytes(of: UInt16(keyCount), as: UInt16.self)
        target.storeBytes(
            of: isInline ? UInt16(valueCount) : TreeNode.referenceMark, toByteOffset: 2, as: UInt16.self)
        let keyStart = target + TreeNode.entryHeader
        keyStart.copyMemory(from: key, byteCount: keyCount)
        if !isInline {
            reference.store(at: keyStart + keyCount)
        } else if let value, valueCount > 0 {
            (keyStart + keyCount).copyMemory(from: value, byteCount: valueCount)
        }
    }
}
