/// Tables of FlatBuffers, as the metadata of Arrow are written: put together from the last byte to the first, so that
/// what a table refers to is there before it.
///
/// A place is the distance of what begins there from the end of the buffer.
struct FlatBuffer {
    /// The last byte of the buffer is the first of these.
    private var reversed: [UInt8] = []

    typealias Place = Int

    // MARK: Scalars

    private mutating func put<Number: FixedWidthInteger>(_ number: Number) {
        withUnsafeBytes(of: number.bigEndian) { reversed.append(contentsOf: $0) }
    }

    /// So that what begins after `size` more bytes is aligned.
    private mutating func align(to alignment: Int, after size: Int) {
        while (reversed.count + size) % alignment != 0 { reversed.append(0) }
    }

    // MARK: Strings and vectors

    mutating func string(_ text: String) -> Place {
        align(to: 4, after: text.utf8.count + 1)
        reversed.append(0)
        reversed.append(contentsOf: text.utf8.reversed())
        put(UInt32(text.utf8.count))
        return reversed.count
    }

    mutating func vector(of places: [Place]) -> Place {
        align(to: 4, after: 4 * places.count)
        for place in places.reversed() { put(UInt32(reversed.count + 4 - place)) }
        put(UInt32(places.count))
        return reversed.count
    }

    /// Structs of numbers of 64 bits, which lie in the vector itself.
    mutating func vector(ofStructs structs: [[Int64]]) -> Place {
        align(to: 8, after: 0)
        for numbers in structs.reversed() { for number in numbers.reversed() { put(number) } }
        put(UInt32(structs.count))
        return reversed.count
    }

    // MARK: Tables

    enum Field {
        case byte(UInt8)
        case short(Int16)
        case int(Int32)
        case long(Int64)
        case place(Place)
        case absent
    }

    /// Fields in the order of their numbers.
    mutating func table(_ fields: [Field]) -> Place {
        let end = reversed.count
        var places = Array(repeating: 0, count: fields.count)
        // Wide ones lie at the end, so that little is lost to alignment.
        for size in [8, 4, 2, 1] {
            for (index, field) in fields.enumerated() where Self.size(field) == size {
                align(to: size, after: size)
                switch field {
                case .byte(let value): put(value)
                case .short(let value): put(value)
                case .int(let value): put(value)
                case .long(let value): put(value)
                case .place(let place): put(UInt32(reversed.count + 4 - place))
                case .absent: break
                }
                places[index] = reversed.count
            }
        }
        align(to: 4, after: 4)
        put(Int32(0))
        let table = reversed.count
        align(to: 2, after: 0)
        for place in places.reversed() { put(UInt16(place == 0 ? 0 : table - place)) }
        put(UInt16(table - end))
        put(UInt16(4 + 2 * fields.count))
        // The table begins with the way to its own description.
        let distance = Int32(reversed.count - table)
        withUnsafeBytes(of: distance.bigEndian) { bytes in
            for (index, byte) in bytes.enumerated() { reversed[table - 4 + index] = byte }
        }
        return table
    }

    private static func size(_ field: Field) -> Int {
        switch field {
        case .byte: 1
        case .short: 2
        case .int, .place: 4
        case .long: 8
        case .absent: 0
        }
    }

    /// All of it, a multiple of eight bytes.
    mutating func finish(_ root: Place) -> [UInt8] {
        align(to: 8, after: 4)
        put(UInt32(reversed.count + 4 - root))
        return reversed.reversed()
    }
}
