/// A name as a dictionary key: equal when its UTF-8 bytes are equal.
///
/// Swift's own string equality takes composed and decomposed letters for the same; in a schema they are two names.
package struct NameKey: Hashable, Sendable {
    package let text: String
    package init(_ text: String) { self.text = text }

    package static func == (left: NameKey, right: NameKey) -> Bool { left.text.hasSameBytes(as: right.text) }

    package func hash(into hasher: inout Hasher) {
        for byte in text.utf8 { hasher.combine(byte) }
    }
}

extension String {
    package func hasSameBytes(as other: String) -> Bool { utf8.elementsEqual(other.utf8) }
}

extension Optional where Wrapped == String {
    package func hasSameBytes(as other: String?) -> Bool {
        switch (self, other) {
        case (nil, nil): true
        case (let left?, let right?): left.hasSameBytes(as: right)
        case (nil, _?), (_?, nil): false
        }
    }
}
