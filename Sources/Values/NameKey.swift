/// Texts told apart by their bytes: names of classes and properties, keys of maps, paths, and whatever else is stored.
///
/// Swift's own equality, hashes and order of strings take composed and decomposed letters for the same, and its search
/// for a character passes over one that a combining mark follows. In a database these are two names.

/// A name as a dictionary key: equal when its UTF-8 bytes are equal.
package struct NameKey: Hashable, Sendable {
    package let text: String
    package init(_ text: String) { self.text = text }

    package static func == (left: NameKey, right: NameKey) -> Bool { left.text.hasSameBytes(as: right.text) }

    package func hash(into hasher: inout Hasher) {
        text.withUTF8Bytes { hasher.combine(bytes: $0) }
        // No byte of UTF-8: where several are hashed in a row, each has its end.
        hasher.combine(UInt8.max)
    }
}

extension String {
    package func hasSameBytes(as other: String) -> Bool { utf8.elementsEqual(other.utf8) }

    /// The order of texts: that of their bytes.
    package func precedesInBytes(_ other: String) -> Bool { utf8.lexicographicallyPrecedes(other.utf8) }

    package func beginsWithBytes(of other: String) -> Bool { utf8.starts(with: other.utf8) }
    package func endsWithBytes(of other: String) -> Bool { utf8.reversed().starts(with: other.utf8.reversed()) }

    /// What stands behind a beginning; nil where the text begins with something else.
    package func behindBytes(of beginning: String) -> String? {
        guard beginsWithBytes(of: beginning) else { return nil }
        return String(decoding: utf8.dropFirst(beginning.utf8.count), as: UTF8.self)
    }

    /// What stands before an end; nil where the text ends with something else.
    package func beforeBytes(of end: String) -> String? {
        guard endsWithBytes(of: end) else { return nil }
        return String(decoding: utf8.dropLast(end.utf8.count), as: UTF8.self)
    }

    package var withoutSpacesAtEnd: String {
        var end = utf8.endIndex
        while end > utf8.startIndex {
            let last = utf8.index(before: end)
            guard utf8[last] == UInt8(ascii: " ") else { break }
            end = last
        }
        return String(decoding: utf8[..<end], as: UTF8.self)
    }

    /// What stands before, between and behind each occurrence of an ASCII character, as far as `most` cuts.
    package func parts(between separator: Unicode.Scalar, most: Int = .max) -> [String] {
        assert(separator.isASCII)
        let parts = utf8.split(
            separator: UInt8(truncatingIfNeeded: separator.value), maxSplits: most, omittingEmptySubsequences: false)
        return parts.map { String(Substring($0)) }
    }
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
