/// Links in mixed values: the value itself or anything nested in it.
///
/// Values are trusted: they have passed `ValueCheck`, or a chunk's validation.
import MotteValues

package enum MixedLinks {
    package static func forEach(_ value: ValueView, _ body: (ObjectLink) -> Void) {
        switch value.kind {
        case .link: body(value.linkValue)
        case .list, .map:
            let document = NestedDocument(trusted: value.bytes)
            for index in 0 ..< document.count { forEach(document.value(at: index), body) }
        default: break
        }
    }

    static func contains(_ value: ValueView, _ isWanted: (ObjectLink) -> Bool) -> Bool {
        switch value.kind {
        case .link: return isWanted(value.linkValue)
        case .list, .map:
            let document = NestedDocument(trusted: value.bytes)
            for index in 0 ..< document.count where contains(document.value(at: index), isWanted) { return true }
            return false
        default: return false
        }
    }

    /// The value with null in place of some links, and the edits that make it so; `path` is where the value is.
    static func nullify(
        _ isDoomed: (ObjectLink) -> Bool, in value: ValueView, at path: NestedPath, _ edits: inout [NestedOperation]
    ) -> Value {
        switch value.kind {
        case .link: return isDoomed(value.linkValue) ? .null : value.owned
        case .list:
            let document = NestedDocument(trusted: value.bytes)
            return .list(
                (0 ..< document.count).map { index in
                    let element = document.value(at: index)
                    if element.kind == .link, isDoomed(element.linkValue) {
                        edits.append(NestedOperation(path: path, change: .set(at: index)))
                    }
                    return nullify(isDoomed, in: element, at: path + [.index(index)], &edits)
                })
        case .map:
            let document = NestedDocument(trusted: value.bytes)
            return .map(
                (0 ..< document.count).map { index in
                    let key = String(decoding: document.key(at: index), as: UTF8.self)
                    let element = document.value(at: index)
                    if element.kind == .link, isDoomed(element.linkValue) {
                        edits.append(NestedOperation(path: path, change: .keyModified(key)))
                    }
                    return MapEntry(key: key, value: nullify(isDoomed, in: element, at: path + [.key(key)], &edits))
                })
        default: return value.owned
        }
    }
}
