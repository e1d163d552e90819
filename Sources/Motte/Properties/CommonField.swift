/// Encoding properties of the types that most properties have, without asking at run time what type that is: telling
/// generic code its type costs several times what an integer does.
import Foundation

enum CommonField: CaseIterable {
    case int, string, double, bool, date, optionalInt, optionalString, optionalDouble

    init?(_ access: any FieldAccess.Type) {
        guard let known = Self.allCases.first(where: { $0.access == access }) else { return nil }
        self = known
    }

    private var access: any FieldAccess.Type {
        switch self {
        case .int: Persisted<Int>.self
        case .string: Persisted<String>.self
        case .double: Persisted<Double>.self
        case .bool: Persisted<Bool>.self
        case .date: Persisted<Date>.self
        case .optionalInt: Persisted<Int?>.self
        case .optionalString: Persisted<String?>.self
        case .optionalDouble: Persisted<Double?>.self
        }
    }

    @inline(__always)
    func encode(at pointer: UnsafeMutableRawPointer, of object: ObjectBase, _ encoder: _Encoder) {
        switch self {
        case .int: Persisted<Int>.encode(at: pointer, of: object, encoder)
        case .string: Persisted<String>.encode(at: pointer, of: object, encoder)
        case .double: Persisted<Double>.encode(at: pointer, of: object, encoder)
        case .bool: Persisted<Bool>.encode(at: pointer, of: object, encoder)
        case .date: Persisted<Date>.encode(at: pointer, of: object, encoder)
        case .optionalInt: Persisted<Int?>.encode(at: pointer, of: object, encoder)
        case .optionalString: Persisted<String?>.encode(at: pointer, of: object, encoder)
        case .optionalDouble: Persisted<Double?>.encode(at: pointer, of: object, encoder)
        }
    }
}
