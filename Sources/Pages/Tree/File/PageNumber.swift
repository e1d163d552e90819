/// Where in a page file something is, and how much of it. Numbers of pages, counts of pages and counts of bytes do not
/// mix: only here, and where the image and the layout say how large a page is, one comes of another. Each is one word.
import MotteValues

/// Which page of a file; the first one is 0.
package struct PageNumber: Hashable, Comparable, Sendable, ExpressibleByIntegerLiteral, CustomStringConvertible {
    package internal(set) var rawValue: Int

    @inline(__always) package init(_ rawValue: Int) { self.rawValue = rawValue }
    @inline(__always) package init(integerLiteral value: Int) { rawValue = value }

    package var description: String { "\(rawValue)" }

    @inline(__always) package static func < (left: PageNumber, right: PageNumber) -> Bool {
        left.rawValue < right.rawValue
    }
    @inline(__always) package static func + (page: PageNumber, count: PageCount) -> PageNumber {
        PageNumber(page.rawValue + count.rawValue)
    }
    @inline(__always) static func += (page: inout PageNumber, count: PageCount) { page.rawValue += count.rawValue }
    @inline(__always) static func - (page: PageNumber, count: PageCount) -> PageNumber {
        PageNumber(page.rawValue - count.rawValue)
    }
    /// How many pages lie between.
    @inline(__always) static func - (end: PageNumber, start: PageNumber) -> PageCount {
        PageCount(end.rawValue - start.rawValue)
    }

    /// How many pages come before it.
    @inline(__always) package var pagesBefore: PageCount { PageCount(rawValue) }

    /// Where it is in the file.
    @inline(__always) package func offset(pageBytes: Int) -> Int { rawValue * pageBytes }
}

/// How many pages.
package struct PageCount: Hashable, Comparable, Sendable, AdditiveArithmetic, ExpressibleByIntegerLiteral,
    CustomStringConvertible
{
    package internal(set) var rawValue: Int

    @inline(__always) package init(_ rawValue: Int) { self.rawValue = rawValue }
    @inline(__always) package init(integerLiteral value: Int) { rawValue = value }
    /// Whole pages only.
    @inline(__always) init(in byteCount: Int, pageBytes: Int) { rawValue = byteCount / pageBytes }

    package var description: String { "\(rawValue)" }
    package static var zero: PageCount { 0 }

    @inline(__always) package static func < (left: PageCount, right: PageCount) -> Bool {
        left.rawValue < right.rawValue
    }
    @inline(__always) package static func + (left: PageCount, right: PageCount) -> PageCount {
        PageCount(left.rawValue + right.rawValue)
    }
    @inline(__always) package static func - (left: PageCount, right: PageCount) -> PageCount {
        PageCount(left.rawValue - right.rawValue)
    }
    @inline(__always) package static func += (left: inout PageCount, right: PageCount) {
        left.rawValue += right.rawValue
    }
    @inline(__always) package static func -= (left: inout PageCount, right: PageCount) {
        left.rawValue -= right.rawValue
    }
    @inline(__always) static func * (count: PageCount, factor: Int) -> PageCount { PageCount(count.rawValue * factor) }
    @inline(__always) static func / (count: PageCount, part: Int) -> PageCount { PageCount(count.rawValue / part) }

    @inline(__always) func byteCount(pageBytes: Int) -> Int { rawValue * pageBytes }
    /// The page behind so many at the beginning of a file.
    @inline(__always) package var end: PageNumber { PageNumber(rawValue) }
}

/// Pages in a row.
package struct PageRun: Equatable {
    package var start: PageNumber
    package var count: PageCount
    package var end: PageNumber { start + count }

    @inline(__always)
    package init(start: PageNumber, count: PageCount) {
        self.start = start
        self.count = count
    }

    /// Each of them.
    package var pages: Pages { Pages(page: start, end: end) }

    package struct Pages: Sequence, IteratorProtocol {
        fileprivate var page: PageNumber
        fileprivate let end: PageNumber

        @inline(__always)
        package mutating func next() -> PageNumber? {
            guard page < end else { return nil }
            defer { page += 1 }
            return page
        }
    }
}

/// Something for each page of a file.
struct PageMap<Value> {
    private var values: [Value]

    init(_ value: Value, _ count: PageCount) { values = [Value](repeating: value, count: count.rawValue) }

    var count: PageCount { PageCount(values.count) }

    @inline(__always)
    subscript(_ page: PageNumber) -> Value {
        get { values[page.rawValue] }
        set { values[page.rawValue] = newValue }
    }
}

extension Version {
    package static var zero: Version { Version(0) }
    static var max: Version { Version(.max) }
    package var next: Version { Version(rawValue + 1) }
}
