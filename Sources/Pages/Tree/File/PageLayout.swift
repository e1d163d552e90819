/// How the pages of a file are used: all of each, or all but the trailer of every node and value where the file is
/// encrypted.
package struct PageLayout {
    let pageBytes: Int
    /// What every encrypted unit has at its end; 0 in a plain file.
    let trailerBytes: Int
    /// The same of a root slot, which has the file's salt as well.
    let slotTrailerBytes: Int

    package init(pageBytes: Int, isSealed: Bool) {
        self.pageBytes = pageBytes
        trailerBytes = isSealed ? PageCipher.trailerBytes : 0
        slotTrailerBytes = isSealed ? PageCipher.slotTrailerBytes : 0
    }

    /// Room in a node.
    var nodeBytes: Int { pageBytes - trailerBytes }

    /// Pages that so many bytes take as one value.
    @inline(__always)
    func pageCount(_ byteCount: Int) -> PageCount {
        PageCount((byteCount + trailerBytes + pageBytes - 1) / pageBytes)
    }
}
