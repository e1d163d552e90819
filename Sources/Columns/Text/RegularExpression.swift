/// A regular expression that a whole text matches or does not (MATCHES), by libpcre2, in time in proportion to the
/// text's length.
import CMotteShim
import MotteValues

package final class RegularExpression: @unchecked Sendable {  // @unchecked: the handle locks what threads share
    /// Of the pattern, in bytes.
    package static let longest = 10_000

    private let handle: OpaquePointer

    /// Throws without a position in the query; the message says where in the pattern.
    package init(_ pattern: String, ignoresCase: Bool) throws(DatabaseError) {
        var text = pattern
        let bytes = text.withUTF8 { [UInt8]($0) }
        guard bytes.count <= Self.longest else {
            throw DatabaseError(
                .queryArgument, "the pattern of MATCHES has \(bytes.count) bytes; at most \(Self.longest)")
        }
        var syntax = RegularExpressionSyntax(bytes)
        let places = try syntax.scan()
        let steady = syntax.steady
        guard motte_shim_pattern_load() == 0 else {
            let why = String(cString: motte_shim_pattern_problem())
            throw DatabaseError(
                .unsupported, "MATCHES needs PCRE2, 10.34 or later (libpcre2-8.so.0, package libpcre2-8-0): \(why)")
        }
        var offset = 0
        var message = [CChar](repeating: 0, count: 200)
        let made = bytes.withUnsafeBytes { bytes in
            steady.withUnsafeBytes { steady in
                message.withUnsafeMutableBufferPointer { message in
                    motte_shim_pattern_compile(
                        bytes.baseAddress, bytes.count, steady.baseAddress, steady.count, ignoresCase ? 1 : 0, places,
                        message.baseAddress, message.count, &offset)
                }
            }
        }
        guard let made else {
            let why = message.withUnsafeBufferPointer { $0.baseAddress.map { String(cString: $0) } ?? "" }
            if why.isEmpty { throw DatabaseError(.outOfMemory, "there is no memory for the pattern of MATCHES") }
            throw RegularExpressionSyntax.failure(why, at: offset)
        }
        handle = made
    }

    deinit { motte_shim_pattern_free(handle) }

    package func matches(_ text: UnsafeRawBufferPointer) -> Bool {
        let status = status(text)
        assert(status >= 0, "a pattern that takes more than its syntax lets")
        return status == 1
    }

    /// 1 or 0; less where something went wrong, which must not be.
    package func status(_ text: UnsafeRawBufferPointer) -> Int32 {
        motte_shim_pattern_matches(handle, text.baseAddress, text.count)
    }
}
