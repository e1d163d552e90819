/// Plain values read where they lie in a source, in one pass over their bytes: what imports try first.
///
/// Each function takes the usual forms only. Everything else is nil and read by the whole grammar (`JSONNumber`,
/// `CSVCell`), which gives the same values for what is taken here. The position is where the value ends, and of no
/// meaning after nil; whether something may stand there is the caller's to see.
import MotteValues

enum PlainScan {
    /// An int, double or bool; texts end differently in each form.
    @inline(__always)
    static func value(
        _ reading: QuickReading, _ start: UnsafePointer<UInt8>, _ position: inout Int, _ count: Int
    ) -> ValueView? {
        switch reading {
        case .int: int(start, &position, count).map(ValueView.int)
        case .double: double(start, &position, count).map(ValueView.double)
        case .bool: bool(start, &position, count).map(ValueView.bool)
        case .text, .other: nil
        }
    }

    /// An int of at most 18 digits.
    @inline(__always)
    static func int(_ start: UnsafePointer<UInt8>, _ position: inout Int, _ count: Int) -> Int64? {
        let isNegative = position < count && start[position] == UInt8(ascii: "-")
        if isNegative { position &+= 1 }
        let first = position
        var digits: UInt64 = 0
        Self.digits(start, &position, count, &digits)
        let length = position &- first
        guard length > 0, length <= 18, length == 1 || start[first] != UInt8(ascii: "0") else { return nil }
        return isNegative ? -Int64(bitPattern: digits) : Int64(bitPattern: digits)
    }

    /// A double of at most 19 digits, without an exponent.
    @inline(__always)
    static func double(_ start: UnsafePointer<UInt8>, _ position: inout Int, _ count: Int) -> Double? {
        guard let (digits, places, isNegative) = decimal(start, &position, count),
            let value = NearestDouble.value(digits, -places)
        else { return nil }
        return isNegative ? -value : value
    }

    /// Digits of a number without an exponent, and how many of them are behind the point.
    @inline(__always)
    static func decimal(
        _ start: UnsafePointer<UInt8>, _ position: inout Int, _ count: Int
    ) -> (digits: UInt64, places: Int, isNegative: Bool)? {
        let isNegative = position < count && start[position] == UInt8(ascii: "-")
        if isNegative { position &+= 1 }
        let first = position
        var digits: UInt64 = 0
        Self.digits(start, &position, count, &digits)
        let whole = position &- first
        guard whole > 0, whole == 1 || start[first] != UInt8(ascii: "0") else { return nil }
        var places = 0
        if position < count, start[position] == UInt8(ascii: ".") {
            position &+= 1
            let point = position
            Self.digits(start, &position, count, &digits)
            places = position &- point
            guard places > 0 else { return nil }
        }
        // Below 10 to the 19, which 64 bits hold.
        guard whole &+ places <= 19 else { return nil }
        return (digits, places, isNegative)
    }

    /// `true` and `false` as they are written mostly.
    @inline(__always)
    static func bool(_ start: UnsafePointer<UInt8>, _ position: inout Int, _ count: Int) -> Bool? {
        guard position &+ 4 <= count else { return nil }
        let word = UnsafeRawPointer(start + position).loadUnaligned(as: UInt32.self).littleEndian
        if word == 0x6575_7274 {
            position &+= 4
            return true
        }
        guard word == 0x736C_6166, position &+ 5 <= count, start[position &+ 4] == UInt8(ascii: "e") else { return nil }
        position &+= 5
        return false
    }

    /// Whether an int, double or bool that is taken here has such a byte in it.
    static func isInValues(_ byte: UInt8) -> Bool { "-.0123456789truefalse".utf8.contains(byte) }

    /// Past all digits, which are appended to `value`; of more than 19 in all it is wrong.
    @inline(__always)
    private static func digits(
        _ start: UnsafePointer<UInt8>, _ position: inout Int, _ count: Int, _ value: inout UInt64
    ) {
        while position &+ 8 <= count {
            let word = UnsafeRawPointer(start + position).loadUnaligned(as: UInt64.self).littleEndian
            guard Self.areDigits(word) else { break }
            value = value &* 100_000_000 &+ Self.eightDigits(word)
            position &+= 8
        }
        while position < count {
            let digit = start[position] &- 0x30
            guard digit < 10 else { return }
            value = value &* 10 &+ UInt64(digit)
            position &+= 1
        }
    }

    @inline(__always)
    private static func areDigits(_ word: UInt64) -> Bool {
        // Of a digit the upper half is 3, and stays 3 when 6 is added.
        let above = word &+ 0x0606_0606_0606_0606
        return (word & Self.upperHalves) | ((above & Self.upperHalves) >> 4) == 0x3333_3333_3333_3333
    }

    private static let upperHalves: UInt64 = 0xF0F0_F0F0_F0F0_F0F0

    /// Pairs, then fours, then all of them: three products instead of eight.
    @inline(__always)
    private static func eightDigits(_ word: UInt64) -> UInt64 {
        let digits = word &- 0x3030_3030_3030_3030
        let pairs = (digits &* 10 &+ (digits >> 8)) & 0x00FF_00FF_00FF_00FF
        let fours = (pairs &* 100 &+ (pairs >> 16)) & 0x0000_FFFF_0000_FFFF
        return (fours &* 10_000 &+ (fours >> 32)) & 0xFFFF_FFFF
    }

    // MARK: Bytes that end something

    static let ones: UInt64 = 0x0101_0101_0101_0101
    static let highBits: UInt64 = 0x8080_8080_8080_8080

    /// A mark in the highest bit of each byte that is zero; only the lowest mark is certain.
    @inline(__always)
    static func zeros(_ word: UInt64) -> UInt64 { (word &- ones) & ~word & highBits }
}
