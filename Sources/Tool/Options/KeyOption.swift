/// `--key-file`: what an encrypted file is opened with. The key is in a file, because arguments can be seen by others.
import ArgumentParser
import MotteExchange
import MotteLiveObjects
import MotteValues

struct KeyOption: ParsableArguments {
    @Option(
        name: .customLong("key-file"), help: "A file with the key of an encrypted file: 64 bytes or 128 hex digits.")
    var path: String?

    /// nil: no key was named.
    func bytes() throws -> [UInt8]? { try path.map { try KeyOption.read($0) } }

    static func read(_ path: String) throws -> [UInt8] {
        let input = try openInput(path)
        let bytes = Array(input.bytes)
        withExtendedLifetime(input) {}
        if bytes.count == 64 { return bytes }
        // Lines and groups of digits, as they are printed.
        let digits = bytes.filter { $0 != UInt8(ascii: " ") && !(0x09 ... 0x0D).contains($0) }.map { digit($0) }
        guard digits.count == 128, digits.allSatisfy({ $0 != nil }) else {
            throw DatabaseError(
                .invalidArgument, "'\(path)' is no key: it must have 64 bytes, or 128 hexadecimal digits", path: path)
        }
        return stride(from: 0, to: 128, by: 2).map { (digits[$0] ?? 0) << 4 | (digits[$0 + 1] ?? 0) }
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0") ... UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a") ... UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A") ... UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
