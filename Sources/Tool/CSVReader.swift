/// Comma-separated values by RFC 4180 from a file's bytes: quoted fields, doubled quotes, line breaks inside quotes.
import Foundation
import MotteValues

struct CSVReader {
    private let bytes: Data
    private let delimiter: UInt8
    private var position = 0
    /// Of the record read last, counting from 1.
    private(set) var line = 0
    private var nextLine = 1

    init(_ bytes: Data, delimiter: UInt8) {
        self.bytes = bytes
        self.delimiter = delimiter
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { position = 3 }
    }

    var fractionRead: Double { bytes.isEmpty ? 1 : Double(position) / Double(bytes.count) }

    /// The next record's fields into `fields`; false at the end of the file.
    mutating func next(_ fields: inout [String]) throws(DatabaseError) -> Bool {
        fields.removeAll(keepingCapacity: true)
        guard position < bytes.count else { return false }
        line = nextLine
        while true {
            fields.append(try readField())
            guard position < bytes.count else { return true }
            let end = bytes[position]
            position += 1
            if end == delimiter {
                // A delimiter at the very end stands before one more empty field.
                if position == bytes.count { fields.append("") }
                continue
            }
            if end == 13, position < bytes.count, bytes[position] == 10 { position += 1 }
            nextLine += 1
            return true
        }
    }

    private mutating func readField() throws(DatabaseError) -> String {
        guard position < bytes.count, bytes[position] == UInt8(ascii: "\"") else {
            let start = position
            while position < bytes.count, bytes[position] != delimiter, bytes[position] != 10, bytes[position] != 13 {
                position += 1
            }
            return try text(bytes[start ..< position])
        }
        position += 1
        var field: [UInt8] = []
        while position < bytes.count {
            let byte = bytes[position]
            position += 1
            if byte == UInt8(ascii: "\"") {
                guard position < bytes.count, bytes[position] == UInt8(ascii: "\"") else {
                    try checkFieldEnds()
                    return try text(field)
                }
                position += 1
            }
            if byte == 10 { nextLine += 1 }
            field.append(byte)
        }
        throw DatabaseError(.invalidArgument, "line \(line): a quoted field is never closed")
    }

    /// Anything else after the closing quote would be lost.
    private func checkFieldEnds() throws(DatabaseError) {
        guard position < bytes.count else { return }
        let byte = bytes[position]
        guard byte == delimiter || byte == 10 || byte == 13 else {
            throw DatabaseError(
                .invalidArgument,
                "line \(line): text follows a closing quote; quote the whole field, and double the quotes inside")
        }
    }

    private func text(_ field: some Sequence<UInt8>) throws(DatabaseError) -> String {
        guard let text = String(validating: field, as: UTF8.self) else {
            throw DatabaseError(.invalidUTF8, "line \(line): the text is not valid UTF-8; convert the file first")
        }
        return text
    }
}
