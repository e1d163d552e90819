/// Whether two values are the same in every bit, which is more than being equal: 1 and 1.0, or 0.0 and -0.0, are not.
import MotteValues

enum ValueIdentity {
    static func isSame(_ left: ValueView, _ right: ValueView) -> Bool {
        guard left.kindNumber == right.kindNumber else { return false }
        switch left.kind {
        case .null: return true
        case .string, .data, .list, .map: return left.bytes.elementsEqual(right.bytes)
        case .link: return left.linkValue == right.linkValue
        case .bool: return left.boolValue == right.boolValue
        case .int: return left.intValue == right.intValue
        case .double: return left.doubleValue.bitPattern == right.doubleValue.bitPattern
        default: return bytes(left) == bytes(right)
        }
    }

    static func bytes(_ value: ValueView) -> [UInt8] {
        var bytes: [UInt8] = []
        LoggedValue.append(value, longest: .max, to: &bytes)
        return bytes
    }
}
