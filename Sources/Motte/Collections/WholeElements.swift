/// Lists and sets given their elements as a whole: by assignment, and when the object that they belong to is added.
import MotteLiveObjects
import MotteValues

package protocol WholeElements: RealmCollection, _CollectionValue, AnyObject {
    /// Makes a managed one consist of these; with `isNew` there are none yet.
    func _put(
        _ elements: [Element], policy: MotteLiveObjects.UpdatePolicy, isNew: Bool
    ) throws(DatabaseError)
    /// Makes an unmanaged one consist of these.
    func _hold(_ elements: [Element])
}

extension WholeElements {
    package var _detachedCopy: [Any] { _unmanaged }
    package func _detach(_ elements: [Any]) { _hold(elements as? [Element] ?? []) }
    package var _isManaged: Bool { _managed != nil }

    package func _fill(from elements: [Any], policy: MotteLiveObjects.UpdatePolicy, isNew: Bool) throws(DatabaseError) {
        guard let elements = elements as? [Element], !(isNew && elements.isEmpty) else { return }
        try _put(elements, policy: policy, isNew: isNew)
    }

    package func _assign(_ value: Any, policy: MotteLiveObjects.UpdatePolicy) {
        if let other = value as? Self, other === self || other == self, other._isManaged { return }
        guard let elements = Self._elements(value) else {
            return misuse(
                "Invalid value '\(Dynamic.text(value))' for a \(Self._kindName)<\(Element._typeName)>", .invalidInput)
        }
        guard _isManaged else { return _hold(elements) }
        attempt { () throws(DatabaseError) in try _put(elements, policy: policy, isNew: false) }
    }

    /// nil when it is no collection, or an element does not fit.
    static func _elements(_ value: Any) -> [Element]? {
        guard let values = Dynamic.elements(value) else { return nil }
        var elements: [Element] = []
        for value in values {
            guard let element = Element._convert(value) else { return nil }
            elements.append(element)
        }
        return elements
    }
}
