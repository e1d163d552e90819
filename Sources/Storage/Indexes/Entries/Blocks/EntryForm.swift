/// Which entries a value has in an index of fixed entries: said here and nowhere else.
import MotteSchemaModel
import MotteValues

struct EntryForm: Sendable {
    enum Content: Sendable {
        /// One entry a row, null included.
        case values(PropertyType)
        /// One for each link that leads somewhere.
        case links
        /// One for each link in a mixed value, at any depth.
        case mixedLinks
    }

    let content: Content
    /// Of a primary key: pending entries are found through a hash table.
    let isUnique: Bool

    init(_ content: Content, isUnique: Bool = false) {
        self.content = content
        self.isUnique = isUnique
    }

    @inline(__always)
    func forEachEntry(of value: ValueView, _ body: (IndexValue) -> Void) {
        switch content {
        case .values(let type): body(IndexValue(value, of: type))
        case .links: if !value.isNull { body(IndexValue.link(to: value.linkValue.key)) }
        case .mixedLinks:
            guard value.kind == .link || value.kind == .list || value.kind == .map else { return }
            MixedLinks.forEach(value) { body(IndexValue.mixedLink(to: $0)) }
        }
    }
}

extension StoredColumn {
    /// Of `index`.
    var entryForm: EntryForm { EntryForm(isLink ? .links : .values(type), isUnique: isPrimaryKey) }
    /// Of `linkIndex`.
    static let linkForm = EntryForm(.mixedLinks)
}
