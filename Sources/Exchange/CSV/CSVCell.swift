/// What a cell's text means for a property of a type. Nothing is guessed: 00501, 0x1F, 1,5 and nan are no numbers.
import MotteSchemaModel
import MotteValues

enum CSVCell {
    /// nil where the text is no value of that type; links, collections and mixed values are read elsewhere.
    static func value(
        _ text: UnsafeRawBufferPointer, _ type: PropertyType, _ arena: ByteArena, zone: CSVImport.Zone? = nil
    ) -> ValueView? {
        switch type.form {
        case .bool: return bool(text).map(ValueView.bool)
        case .int:
            guard let number = JSONNumber(exactly: text), number.isInteger else { return nil }
            return number.int.map(ValueView.int)
        case .float: return number(text, { $0.float }).map(ValueView.float)
        case .double: return number(text, { $0.double }).map(ValueView.double)
        case .string: return .string(text)
        case .data:
            let place = arena.allocate(Base64.capacity(text.count))
            guard let count = Base64.decode(text, into: place) else { return nil }
            return .data(UnsafeRawBufferPointer(start: place, count: count))
        case .timestamp: return TimeText.parse(text, local: zone).map(ValueView.timestamp)
        case .decimal: return DecimalText.parse(text).map(ValueView.decimal)
        case .identifier: return type.valueKind?.identifier?.value(String(decoding: text, as: UTF8.self))
        case .link, .null, .list, .map, nil: return nil
        }
    }

    private static func number<Number: BinaryFloatingPoint>(
        _ text: UnsafeRawBufferPointer, _ read: (JSONNumber) -> Number?
    ) -> Number? {
        if let number = JSONNumber(exactly: text) { return read(number) }
        if text.elementsEqual("NaN".utf8) { return .nan }
        if text.elementsEqual("Infinity".utf8) { return .infinity }
        return text.elementsEqual("-Infinity".utf8) ? -.infinity : nil
    }

    static func bool(_ text: UnsafeRawBufferPointer) -> Bool? {
        func isWord(_ word: StaticString) -> Bool {
            guard text.count == word.utf8CodeUnitCount else { return false }
            for index in 0 ..< text.count where text[index] | 0x20 != word.utf8Start[index] { return false }
            return true
        }
        return isWord("true") ? true : isWord("false") ? false : nil
    }
}
