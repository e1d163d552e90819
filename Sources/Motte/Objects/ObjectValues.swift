/// Values by name or position into an unmanaged object: `Dog(value: ["name": "Rex"])`.
import Foundation

enum ObjectValues {
    static func assign(_ value: Any, to object: ObjectBase) {
        let fields = ClassFields.of(type(of: object)).fields.filter { $0.shape.type != .linkingObjects }
        if let byName = value as? [String: Any] {
            for (name, value) in byName {
                guard let field = fields.first(where: { $0.name == name }) else {
                    preconditionFailure("\(type(of: object)) has no property '\(name)'")
                }
                field.persisted._assign(value, at: field.pointer(in: object), of: object)
            }
        } else if let inOrder = value as? [Any] {
            precondition(inOrder.count <= fields.count, "\(type(of: object)) has only \(fields.count) properties")
            for (field, value) in zip(fields, inOrder) {
                field.persisted._assign(value, at: field.pointer(in: object), of: object)
            }
        } else {
            preconditionFailure("Objects are made from a dictionary or an array, not from \(type(of: value))")
        }
    }
}
