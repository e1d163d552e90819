/// The way from a mixed value to something nested in it: positions of lists and keys of maps, from the outside in.
package enum NestedStep: Hashable, Sendable {
    case index(Int)
    case key(String)

    package static func == (left: NestedStep, right: NestedStep) -> Bool {
        switch (left, right) {
        case (.index(let one), .index(let two)): one == two
        case (.key(let one), .key(let two)): one.utf8.elementsEqual(two.utf8)
        default: false
        }
    }

    package func hash(into hasher: inout Hasher) {
        switch self {
        case .index(let index): hasher.combine(index)
        case .key(let key): key.withUTF8Bytes { hasher.combine(bytes: $0) }
        }
    }
}

package typealias NestedPath = [NestedStep]

extension NestedDocument {
    /// What is at the end of the path, borrowed from `value`; nil where there is no such thing.
    package static func value(_ value: ValueView, at path: NestedPath) -> ValueView? {
        var current = value
        for step in path {
            guard current.kind == .list || current.kind == .map else { return nil }
            let document = NestedDocument(trusted: current.bytes)
            switch step {
            case .index(let index):
                guard !document.isMap, index >= 0, index < document.count else { return nil }
                current = document.value(at: index)
            case .key(let key):
                guard document.isMap else { return nil }
                let found = key.withUTF8Bytes { document.find($0) }
                guard found.isThere else { return nil }
                current = document.value(at: found.index)
            }
        }
        return current
    }
}
