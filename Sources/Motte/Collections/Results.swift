/// The live outcome of a query; a value over the engine's results. Equal only to itself.
import Foundation
import MotteLiveObjects
import MotteValues

public struct Results<Element: RealmCollectionValue>: RealmCollection, CustomStringConvertible {
    package let live: LiveResults
    package let session: RealmSession

    package init(_ live: LiveResults, _ session: RealmSession) {
        self.live = live
        self.session = session
    }

    public var _live: _LiveCollection? { _LiveCollection(live: live, session: session) }
    public var startIndex: Int { 0 }
    public var endIndex: Int { count }
    /// 0 once what it was made from is gone.
    public var count: Int { misuse { try live.count() } }

    public subscript(position: Int) -> Element {
        let value = misuse { try live.value(at: position).owned }
        guard let element = element(value, session) else {
            preconditionFailure("The element at \(position) no longer exists")
        }
        return element
    }

    public var first: Element? { isEmpty ? nil : self[0] }
    public var last: Element? { isEmpty ? nil : self[count - 1] }

    /// The same results at the version they show now, for any thread.
    public func freeze() -> Results {
        let frozen = misuse { try live.freeze().results() }
        return Results(frozen, session.frozen())
    }

    public var description: String { "Results<\(Element.self)> with \(count) elements" }
}

extension Results: Equatable {
    public static func == (left: Results, right: Results) -> Bool { left.live === right.live }
}
