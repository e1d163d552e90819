/// Index paths of sectioned results: the section first, the item in it second.
///
/// Of a path that has not two parts, what is missing is 0.
import Foundation

extension IndexPath {
    public init(item: Int, section: Int) { self.init(indexes: [section, item]) }
    public init(row: Int, section: Int) { self.init(indexes: [section, row]) }

    public var section: Int { isEmpty ? 0 : self[0] }
    public var item: Int { count < 2 ? 0 : self[1] }
    public var row: Int { item }
}
