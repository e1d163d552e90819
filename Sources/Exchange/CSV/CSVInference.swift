/// A class for the rows of a file: of each column the narrowest type that all its values have.
///
///     bool, int, double, timestamp, uuid, else string; a column of no values is string?
///
/// Every type but string is nullable, because later files may leave a field empty; a string is when some field is.
/// Numbers that would not come back as they were written, like 00501, keep their column a string.
import MotteSchemaModel
import MotteValues

package struct CSVInference {
    private static let candidates: [PropertyType] = [.bool, .int, .double, .timestamp, .uuid]

    private struct Column {
        /// Bits of `candidates` that fit so far.
        var fits: UInt8 = 0x1F
        var hasValues = false
        var hasNulls = false
    }

    private let null: [UInt8]
    private var columns: [Column] = []
    private let arena = ByteArena()

    private init(_ count: Int, null: String) {
        self.null = Array(null.utf8)
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
        var inference = CSVInference(header.count, null: options.null)
        var fields: [CSVField] = []
        var seen = 0
        while limit == 0 || seen < limit, try reader.next(&fields) {
            inference.look(at: fields)
            seen += 1
        }
        let properties = header.enumerated().map { index, column in
            let isKey = key.map { column.hasSameBytes(as: $0) } ?? false
            let (type, isNullable) = inference.type(index)
            return Property(name: column, type: type, isNullable: isNullable && !isKey, isPrimaryKey: isKey)
        }
        return ObjectType(name: name, properties: properties)
    }

    private mutating func look(at fields: [CSVField]) {
        for index in columns.indices {
            guard index < fields.count, !CSVImport.isNull(fields[index], null) else {
                columns[index].hasNulls = true
                continue
            }
            columns[index].hasValues = true
            guard columns[index].fits != 0 else { continue }
            let text = fields[index].text(arena)
            for (bit, type) in Self.candidates.enumerated() where columns[index].fits & 1 << UInt8(bit) != 0 {
                // Words for what is no number are values of declared columns only.
                let fits =
                    type == .double
                    ? JSONNumber(exactly: text)?.double != nil : CSVCell.value(text, type, arena) != nil
                if !fits { columns[index].fits &= ~(1 << UInt8(bit)) }
            }
            arena.reset()
        }
    }

    private func type(_ index: Int) -> (PropertyType, isNullable: Bool) {
        let column = columns[index]
        guard column.hasValues, column.fits != 0 else { return (.string, column.hasNulls) }
        return (Self.candidates[column.fits.trailingZeroBitCount], true)
    }
}
