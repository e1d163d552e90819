/// Index paths of sectioned results: the section first, the item in it second.
///
/// Of a path that has not two parts, what is missing is 0.
import Foundation

extension IndexPath {
    /// The path to an item of a section.
    public init(item: Int, section: Int) { self.init(indexes: [section, item]) }
    /// The path to a row of a section; another word for item.
    public init(row: Int, section: Int) { self.init(indexes: [section, row]) }

    /// The first index: the section. 0 in an empty path.
    public var section: Int { isEmpty ? 0 : self[0] }
    /// The second index: the item within its section. 0 where the path has none.
    public var item: Int { count < 2 ? 0 : self[1] }
    /// The same as ``item``.
    public var row: Int { item }
}
