/// Nodes and values of a damaged file, read where salvage has found them: nothing is kept of what was read, and what is
/// damaged or missing is no error of the whole.
import CMotteShim
import MotteValues

/// Where the value of an entry is.
package enum FoundValue {
    /// On pages of its own.
    case extent(PageRef)
    /// In a leaf: which, and the number of the entry in it.
    case inline(PageRef, Int)
    /// Here: it comes from a record of a log.
    case bytes([UInt8])
}

final class FoundPages {
    let image: PageImage
    /// Of the file as it is.
    private let pageCount: PageCount
    private var scratch = PageScratch()
    /// Copies of nodes by their level, each good until another node of that level is asked for.
    private var copies: [UnsafeMutableRawPointer] = []

    init(_ image: PageImage, _ pageCount: PageCount) {
        self.image = image
        self.pageCount = pageCount
    }

    deinit { for copy in copies { copy.deallocate() } }

    /// nil where there is no such node.
    func node(_ reference: PageRef, _ level: Int) throws(DatabaseError) -> TreeNode? {
        guard reference.page >= TreeFormat.firstPage, reference.page < pageCount.end else { return nil }
        while copies.count <= level { copies.append(.allocate(byteCount: image.pageBytes, alignment: 16)) }
        do throws(DatabaseError) {
            try image.check(reference, level: level, copying: copies[level])
            return TreeNode(copies[level])
        } catch {
            guard error.code == .corrupted else { throw error }
            return nil
        }
    }

    func check(_ extent: PageRef) throws(DatabaseError) { try image.check(extent, with: &scratch) }

    func bytes(_ value: FoundValue) throws(DatabaseError) -> [UInt8] {
        switch value {
        case .bytes(let bytes): return bytes
        case .extent(let extent): return [UInt8](try image.extent(extent, with: &scratch))
        case .inline(let reference, let index):
            guard let leaf = try node(reference, 0), index < leaf.count else { throw PageImage.damaged(reference) }
            return [UInt8](try TreeSnapshot.value(leaf, index, image).bytes)
        }
    }

    /// Whether everything below a node is sound, and no more than the file has pages.
    func isWhole(_ root: PageRef, _ level: Int) throws(DatabaseError) -> Bool {
        var rest = pageCount
        return try isWhole(root, level, &rest)
    }

    private func isWhole(_ reference: PageRef, _ level: Int, _ rest: inout PageCount) throws(DatabaseError) -> Bool {
        rest -= 1
        guard rest >= 0, let node = try node(reference, level) else { return false }
        for index in 0 ..< node.count {
            if level > 0 {
                guard try isWhole(node.reference(index), level - 1, &rest) else { return false }
            } else if node.hasReference(index) {
                let extent = node.reference(index)
                rest -= extent.pageCount(image.layout)
                guard rest >= 0, extent.run(image.layout).end <= pageCount.end, try isSound(extent) else {
                    return false
                }
            }
        }
        return true
    }

    private func isSound(_ extent: PageRef) throws(DatabaseError) -> Bool {
        do throws(DatabaseError) {
            try check(extent)
            return true
        } catch {
            guard error.code == .corrupted else { throw error }
            return false
        }
    }
}
