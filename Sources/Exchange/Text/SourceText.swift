/// The text of a file as imports read it: unpacked, if it is packed by gzip or zstd, and in UTF-8, whatever it was in.
///
/// What is not so yet is written to a file without a name, which is gone when the import ends, so that memory does not
/// grow with it.
import CMotteShim
import MotteValues

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

package enum SourceText {
    package enum Encoding: String, Sendable, CaseIterable {
        case utf8 = "utf-8"
        /// Low bytes first, unless a mark at the beginning says otherwise.
        case utf16 = "utf-16"
        case utf16Little = "utf-16le"
        case utf16Big = "utf-16be"
        case latin1
    }

    /// Without an encoding, a mark at the beginning says UTF-16, and everything else is UTF-8.
    package static func open(
        _ input: InputFile, named name: String, encoding: Encoding? = nil
    ) throws(DatabaseError) -> InputFile {
        let text = try unpacked(input, name)
        let bytes = text.bytes
        let isLittle = bytes.starts(with: [0xFF, 0xFE])
        let isBig = bytes.starts(with: [0xFE, 0xFF])
        var encoding = encoding ?? (isLittle ? .utf16Little : isBig ? .utf16Big : .utf8)
        if encoding == .utf16 { encoding = isBig ? .utf16Big : .utf16Little }
        switch encoding {
        case .utf16, .utf16Little: return try decoded(text, name) { utf16($0, isBig: false, isFirst: $1, &$2) }
        case .utf16Big: return try decoded(text, name) { utf16($0, isBig: true, isFirst: $1, &$2) }
        case .latin1: return try decoded(text, name) { bytes, _, sink in latin1(bytes, &sink) }
        case .utf8: return text
        }
    }

    // MARK: Packed files

    private static func unpacked(_ input: InputFile, _ name: String) throws(DatabaseError) -> InputFile {
        let format: Int32
        if input.bytes.starts(with: [0x1F, 0x8B]) {
            format = Int32(MOTTE_SHIM_GZIP)
        } else if input.bytes.starts(with: [0x28, 0xB5, 0x2F, 0xFD]) {
            format = Int32(MOTTE_SHIM_ZSTD)
        } else {
            return input
        }
        let isGzip = format == Int32(MOTTE_SHIM_GZIP)
        guard motte_shim_unpack_load(format) == 0 else {
            let why = String(cString: motte_shim_unpack_problem(format))
            throw DatabaseError(
                .unsupported,
                isGzip
                    ? "'\(name)' is packed with gzip, which takes zlib (libz.so.1, package zlib1g); install it: \(why)"
                    : "'\(name)' is packed with zstd, which takes its library (libzstd.so.1, package libzstd1); "
                        + "install it: \(why)", path: name)
        }
        guard let unpacker = motte_shim_unpack_begin(format) else {
            throw DatabaseError(.outOfMemory, "there is no memory to unpack '\(name)'", path: name)
        }
        defer {
            motte_shim_unpack_end(unpacker)
            withExtendedLifetime(input) {}
        }
        let output = try TemporaryText(name)
        try unpack(input.bytes, unpacker, output, name)
        return try output.finish()
    }

    private static func unpack(
        _ bytes: UnsafeRawBufferPointer, _ unpacker: OpaquePointer, _ output: TemporaryText, _ name: String
    ) throws(DatabaseError) {
        let room = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 18, alignment: 16)
        defer { room.deallocate() }
        var next = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
        var left = bytes.count
        var isAtEnd = false
        while left > 0 || !isAtEnd {
            // What some programs fill up the last block of a file with.
            if isAtEnd, isZeros(next, left) { return }
            var count = 0
            let before = left
            let status = motte_shim_unpack(unpacker, &next, &left, room.baseAddress, room.count, &count)
            guard status >= 0 else { throw damaged(name, "is damaged") }
            if let next { InputFile.letGo(before: next) }
            try output.append(UnsafeRawBufferPointer(rebasing: room[..<count]))
            isAtEnd = status == 1
            guard count > 0 || left < before || isAtEnd else { throw damaged(name, "ends too early") }
        }
    }

    private static func isZeros(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> Bool {
        UnsafeBufferPointer(start: bytes, count: count).allSatisfy { $0 == 0 }
    }

    private static func damaged(_ name: String, _ how: String) -> DatabaseError {
        DatabaseError(.corrupted, "'\(name)' cannot be unpacked: it \(how); nothing was imported", path: name)
    }

    // MARK: Encodings

    /// Pieces of an even size, so that no number of UTF-16 is cut.
    private static func decoded(
        _ input: InputFile, _ name: String, _ decode: (UnsafeRawBufferPointer, Bool, inout ByteSink) -> Int?
    ) throws(DatabaseError) -> InputFile {
        defer { withExtendedLifetime(input) {} }
        let output = try TemporaryText(name)
        var sink = ByteSink { piece throws(DatabaseError) in try output.append(piece) }
        var offset = 0
        while offset < input.bytes.count {
            let end = min(offset + 1 << 16, input.bytes.count)
            let piece = UnsafeRawBufferPointer(rebasing: input.bytes[offset ..< end])
            guard let used = decode(piece, offset == 0, &sink), used > 0 else {
                throw DatabaseError(
                    .invalidUTF8, "'\(name)' is not in the encoding that it is read in; --encoding names another",
                    path: name)
            }
            offset += used
            if let start = input.bytes.baseAddress { InputFile.letGo(before: start + offset) }
            try sink.flushIfFull()
        }
        try InputFile.requireWhole(input.bytes)
        try sink.finish()
        return try output.finish()
    }

    private static func latin1(_ bytes: UnsafeRawBufferPointer, _ sink: inout ByteSink) -> Int? {
        for byte in bytes {
            if byte < 0x80 {
                sink.append(byte)
            } else {
                sink.append(0xC0 | byte >> 6)
                sink.append(0x80 | byte & 0x3F)
            }
        }
        return bytes.count
    }

    /// Bytes that were read; nil for what is no UTF-16. The mark at the beginning of the first piece is left out.
    private static func utf16(
        _ bytes: UnsafeRawBufferPointer, isBig: Bool, isFirst: Bool, _ sink: inout ByteSink
    ) -> Int? {
        func unit(_ index: Int) -> UInt32 {
            isBig
                ? UInt32(bytes[index]) << 8 | UInt32(bytes[index + 1])
                : UInt32(bytes[index + 1]) << 8 | UInt32(bytes[index])
        }
        var index = 0
        while index + 1 < bytes.count {
            var scalar = unit(index)
            if scalar & 0xF800 == 0xD800 {
                // The other half is in the next piece, unless this is the last one.
                guard index + 3 < bytes.count else { return index > 0 ? index : nil }
                let low = unit(index + 2)
                guard scalar < 0xDC00, low & 0xFC00 == 0xDC00 else { return nil }
                scalar = 0x10000 + (scalar & 0x3FF) << 10 + (low & 0x3FF)
                index += 2
            }
            index += 2
            guard !(scalar == 0xFEFF && isFirst && index == 2), let character = Unicode.Scalar(scalar) else { continue }
            for byte in UTF8.encode(character) ?? UTF8.encodedReplacementCharacter { sink.append(byte) }
        }
        return index > 0 ? index : nil
    }
}
