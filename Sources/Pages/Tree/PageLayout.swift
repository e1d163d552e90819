/// How the pages of a file are used: all of each, or all but the tag at the end of every node and value where the file
/// is encrypted.
struct PageLayout {
    let pageBytes: Int
    /// What every sealed unit has at its end; 0 in a plain file.
    let tagBytes: Int
    /// The same of a root slot, which has the file's salt as well.
    let slotTagBytes: Int

    init(pageBytes: Int, isSealed: Bool) {
        self.pageBytes = pageBytes
        tagBytes = isSealed ? PageCipher.tagBytes : 0
        slotTagBytes = isSealed ? PageCipher.slotTagBytes : 0
    }

    /// Room in a node.
    var nodeBytes: Int { pageBytes - tagBytes }

    /// Pages that so many bytes take as one value.
    @inline(__always)
    func pageCount(_ byteCount: Int) -> Int { (byteCount + tagBytes + pageBytes - 1) / pageBytes }
}
