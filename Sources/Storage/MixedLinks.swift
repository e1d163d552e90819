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

    static func contains(_ value: ValueView, _ link: ObjectLink) -> Bool {
        switch value.kind {
        case .link: return value.linkValue == link
        case .list, .map:
            let document = NestedDocument(trusted: value.bytes)
            for index in 0 ..< document.count where contains(document.value(at: index), link) { return true }
            return false
        default: return false
        }
    }

    /// The value with null in place of the link, and the edits that make it so; `path` is where the value is.
    static func nullify(
        _ link: ObjectLink, in value: ValueView, at path: NestedPath, _ edits: inout [NestedOperation]
    ) -> Value {
        switch value.kind {
        case .link: return value.linkValue == link ? .null : value.owned
        case .list:
            let document = NestedDocument(trusted: value.bytes)
            return .list(
                (0 ..< document.count).map { index in
                    let element = document.value(at: index)
                    if element.kind == .link, element.linkValue == link {
                        edits.append(NestedOperation(path: path, change: .set(at: index)))
                    }
                    return nullify(link, in: element, at: path + [.index(index)], &edits)
                })
        case .map:
            let document = NestedDocument(trusted: value.bytes)
            return .map(
                (0 ..< document.count).map { index in
                    let key = String(decoding: document.key(at: index), as: UTF8.self)
                    let element = document.value(at: index)
                    if element.kind == .link, element.linkValue == link {
                        edits.append(NestedOperation(path: path, change: .keyModified(key)))
                    }
                    return MapEntry(key: key, value: nullify(link, in: element, at: path + [.key(key)], &edits))
                })
        default: return value.owned
        }
    }
}
