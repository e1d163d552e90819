/// A class for the rows of a file: of each column the narrowest type that all its values have.
///
///     bool, int, double, decimal, timestamp, uuid, else string; a column of no values is string?
///
/// Every type but string is nullable, because later files may leave a field empty; a string is when some field is.
/// Numbers are exported as they were written: 1.10 and 12E4 make their column a decimal, and 00501
/// and numbers with more digits than a double has make theirs a string. Only a whole number among fractions becomes
/// 5.0.
import MotteSchemaModel
import MotteValues

package struct CSVInference {
    private static let candidates: [PropertyType] = [.bool, .int, .double, .decimal, .timestamp, .uuid]

    private struct Column {
        /// Bits of `candidates` that fit so far.
        var fits: UInt8 = 0x3F
        var hasValues = false
        var hasNulls = false

        /// What one more value is most likely, so that nothing is learned from it; text is read past by its end.
        var known: QuickReading {
            switch fits {
            case 0b001110: .int
            case 0b001100: .double
            case 0b000001: .bool
            default: .other
            }
        }
    }

    private let null: [UInt8]
    private let readsInPlace: Bool
    private let zone: CSVImport.Zone?
    private var columns: [Column] = []
    private let arena = ByteArena()

    private init(_ count: Int, _ options: CSVImport.Options) {
        null = Array(options.null.utf8)
        readsInPlace = options.readsValuesInPlace
        zone = options.zone
        columns = Array(repeating: Column(), count: count)
    }

    /// `rows` is how many are looked at; 0: all.
    package static func objectType(
        named name: String, _ bytes: UnsafeRawBufferPointer, _ options: CSVImport.Options, key: String? = nil,
        rows limit: Int = 0
    ) throws(DatabaseError) -> ObjectType {
        var reader = CSVReader(bytes, delimiter: options.delimiter)
        let header = try CSVImport.header(&reader)
        if let key, !header.contains(where: { $0.hasSameBytes(as: key) }) {
            throw DatabaseError(.unknownProperty, "there is no column '\(key)' to be the primary key")
        }
        var inference = CSVInference(header.count, options)
        if limit > 0 {
            try inference.read(&reader, rows: limit)
        } else {
            try inference.readAll(&reader, options)
        }
        let properties = header.enumerated().map { index, column in
            let isKey = key.map { column.hasSameBytes(as: $0) } ?? false
            let (type, isNullable) = inference.type(index)
            return Property(name: column, type: type, isNullable: isNullable && !isKey, isPrimaryKey: isKey)
        }
        return ObjectType(name: name, properties: properties)
    }

    private mutating func read(_ reader: inout CSVReader, rows limit: Int = .max, to end: Int = .max)
        throws(DatabaseError)
    {
        var fields: [CSVField] = []
        var seen = 0
        while seen < limit, !reader.isAtEnd, reader.position < end {
            seen += 1
            if seen & 0x3FF == 0 { reader.letGo() }
            let (start, line) = (reader.position, reader.followingLine)
            if lookQuickly(&reader) { continue }
            reader.goBack(to: start, line: line)
            _ = try reader.next(&fields)
            look(at: fields)
        }
    }

    private mutating func look(at fields: [CSVField]) {
        for index in columns.indices {
            guard index < fields.count, !CSVImport.isNull(fields[index], null) else {
                columns[index].hasNulls = true
                continue
            }
            look(at: fields[index], index)
        }
    }

    private mutating func look(at field: CSVField, _ index: Int) {
        columns[index].hasValues = true
        guard columns[index].fits != 0 else { return }
        let text = field.text(arena)
        for (bit, type) in Self.candidates.enumerated() where columns[index].fits & 1 << UInt8(bit) != 0 {
            if !fits(text, type) { columns[index].fits &= ~(1 << UInt8(bit)) }
        }
        arena.reset()
    }

    /// Whether a property of this type has the value of the text, and an export writes the text again.
    private func fits(_ text: UnsafeRawBufferPointer, _ type: PropertyType) -> Bool {
        switch type {
        case .double: Self.isExact(text) && Self.isWritten(text)
        case .decimal:
            Self.isExact(text) && DecimalText.parse(text).map { Self.isSame(DecimalText.text($0), text) } ?? false
        case .int where text.first == UInt8(ascii: "-") && text.count == 2 && text[1] == UInt8(ascii: "0"): false
        default: CSVCell.value(text, type, arena, zone: zone) != nil
        }
    }

    private func type(_ index: Int) -> (PropertyType, isNullable: Bool) {
        let column = columns[index]
        guard column.hasValues, column.fits != 0 else { return (.string, column.hasNulls) }
        return (Self.candidates[column.fits.trailingZeroBitCount], true)
    }

    // MARK: In place

    /// A record of which every cell is what its column is known for; false where it has to be read as a whole, though
    /// some of its cells may have been looked at already.
    private mutating func lookQuickly(_ reader: inout CSVReader) -> Bool {
        guard readsInPlace, reader.begin() else { return false }
        let last = columns.count - 1
        for index in 0 ... last {
            let column = columns[index]
            if !column.hasValues || !isQuick(&reader, column.known) {
                // The record is then read as a whole, which finds the mistake again, with its line.
                guard let field = try? reader.field() else { return false }
                if CSVImport.isNull(field, null) {
                    columns[index].hasNulls = true
                } else if column.fits != 0 || !column.hasValues {
                    look(at: field, index)
                }
            }
            if index < last, !reader.endsField() { return false }
        }
        return reader.endRecord()
    }

    /// Whether a cell is what its column is known for, and short enough that a double holds it exactly.
    @inline(__always)
    private func isQuick(_ reader: inout CSVReader, _ known: QuickReading) -> Bool {
        let start = reader.position
        guard let value = reader.quick(known) else { return false }
        let length = reader.position &- start
        if known == .bool { return true }
        if length <= Self.exactDigits, Self.isUsual(reader.start + start, length, value, known) { return true }
        reader.move(to: start)
        return false
    }

    /// Whether an export writes a number of digits and a point at most as it stands, as far as that is seen at once.
    @inline(__always)
    private static func isUsual(
        _ text: UnsafePointer<UInt8>, _ count: Int, _ value: ValueView, _ known: QuickReading
    ) -> Bool {
        if known == .int { return value.low != 0 || count == 1 }
        let size = abs(value.doubleValue)
        if size == 0 {
            return text[0] == UInt8(ascii: "0") && (count == 1 || (count == 3 && text[1] == UInt8(ascii: ".")))
        }
        guard size >= 1e-3, size < 1e15 else { return false }
        // A zero at the end of a fraction is written if it is the only digit of it.
        return text[count &- 1] != UInt8(ascii: "0") || text[count &- 2] == UInt8(ascii: ".")
            || !UnsafeBufferPointer(start: text, count: count).contains(UInt8(ascii: "."))
    }

    /// Whether an export writes this text for the double, or the same with ".0" behind it.
    private static func isWritten(_ text: UnsafeRawBufferPointer) -> Bool {
        guard let value = JSONNumber(exactly: text)?.double else { return false }
        var sink = ByteSink()
        JSONValueWriter.plain(.double(value), to: &sink)
        let written = sink.string
        return isSame(written, text) || written.beforeBytes(of: ".0").map { isSame($0, text) } ?? false
    }

    private static func isSame(_ written: String, _ text: UnsafeRawBufferPointer) -> Bool {
        written.utf8.elementsEqual(text)
    }

    /// Whether reading the text as a double and writing that gives the same number again.
    private static func isExact(_ text: UnsafeRawBufferPointer) -> Bool {
        // Words for what is no number are values of declared columns only.
        guard let number = JSONNumber(exactly: text), let value = number.double else { return false }
        if text.count <= exactDigits, value != 0, abs(value) >= 1e-300 { return true }
        guard let (written, isExact) = Decimal128.reading(number.string), isExact else { return false }
        return written == Decimal128(value)
    }

    /// Every number of that many decimal digits is the shortest text of some double.
    private static let exactDigits = 15

    // MARK: On several threads

    /// Bytes of text below which a thread costs more than it saves.
    private static let smallestPart = 1 << 20
    private static let mostParts = 4

    /// A part of the text that begins at a line, which is a record's unless the line feed is quoted; that is known when
    /// the part before it has been read.
    ///
    /// @unchecked: of the thread that reads it until that is joined.
    private final class Part: @unchecked Sendable {
        let start: Int
        private let end: Int
        var inference: CSVInference
        var reader: CSVReader
        var failed = false

        init(_ inference: CSVInference, _ reader: CSVReader, _ start: Int, _ end: Int) {
            self.start = start
            self.end = end
            self.inference = inference
            self.reader = CSVReader(reader, at: start, line: 1)
        }

        func read() {
            var reader = reader
            var inference = inference
            do throws(DatabaseError) { try inference.read(&reader, to: end) } catch { failed = true }
            self.reader = reader
            self.inference = inference
        }
    }

    private mutating func readAll(_ reader: inout CSVReader, _ options: CSVImport.Options) throws(DatabaseError) {
        let parts = parts(reader, options)
        let threads = parts.map { part in WorkThread { part.read() } }
        var failure: DatabaseError?
        do throws(DatabaseError) { try read(&reader, to: parts.first?.start ?? .max) } catch { failure = error }
        for thread in threads { thread?.join() }
        if let failure { throw failure }
        for (part, thread) in zip(parts, threads) {
            guard thread != nil, reader.position == part.start, !part.failed else { break }
            merge(part.inference)
            let line = reader.followingLine + part.reader.followingLine - 1
            reader = CSVReader(part.reader, at: part.reader.position, line: line)
        }
        // Also what the threads did not get right: mistakes are found here, with their lines.
        try read(&reader)
    }

    private func parts(_ reader: CSVReader, _ options: CSVImport.Options) -> [Part] {
        let size = reader.count - reader.position
        let count =
            options.readsAheadFrom < ReadAhead.worthwhile
            ? 3 : min(WorkThread.processors, Self.mostParts, size / Self.smallestPart)
        guard count > 1, size >= options.readsAheadFrom else { return [] }
        var starts = (1 ..< count).map { reader.lineStart(after: reader.position + size / count * $0) }
        starts.append(reader.count)
        return (0 ..< count - 1).compactMap { index in
            guard starts[index] < starts[index + 1] else { return nil }
            return Part(CSVInference(copyOf: self), reader, starts[index], starts[index + 1])
        }
    }

    /// With texts of its own.
    private init(copyOf other: CSVInference) {
        null = other.null
        readsInPlace = other.readsInPlace
        zone = other.zone
        columns = other.columns
    }

    private mutating func merge(_ other: CSVInference) {
        for index in columns.indices {
            columns[index].fits &= other.columns[index].fits
            columns[index].hasValues = columns[index].hasValues || other.columns[index].hasValues
            columns[index].hasNulls = columns[index].hasNulls || other.columns[index].hasNulls
        }
    }
}
