/// A column of an output: a property, or one of an object that links lead to: `age`, `best_friend.city`.
import MotteLiveObjects
import MotteSchemaModel
import MotteStorage
import MotteValues

package struct ColumnPath {
    package let text: String
    package let property: Property
    let links: [ColumnKey]

    package init(_ text: String, of type: ObjectType, in schema: Schema) throws(DatabaseError) {
        var type = type
        var links: [ColumnKey] = []
        let steps = text.parts(between: ".")
        for step in steps.dropLast() {
            let property = try type.requiredProperty(named: step)
            guard property.type == .link, property.collection == .none, let column = property.columnKey,
                let target = property.target.flatMap({ schema[$0] })
            else {
                throw DatabaseError(
                    .wrongType, "\(type.name).\(step) is no single link, so nothing follows it in '\(text)'",
                    className: type.name, propertyName: step)
            }
            links.append(column)
            type = target
        }
        property = try type.requiredProperty(named: steps.last ?? text)
        self.text = text
        self.links = links
    }

    /// All stored properties.
    package static func stored(of type: ObjectType) -> [ColumnPath] { type.storedProperties.map(ColumnPath.init) }

    private init(_ property: Property) {
        text = property.name
        self.property = property
        links = []
    }

    /// The object that has the property; nil where a link on the way is null.
    package func owner(of object: ObjectLink, in session: Session) throws(DatabaseError) -> ObjectLink? {
        var owner = object
        for link in links {
            let value = try session.value(owner.table, link, owner.key)
            guard value.kind == .link else { return nil }
            owner = value.linkValue
        }
        return owner
    }
}

/// Values as people and CSV read them: texts without quotes, nothing for null, a link as its target's primary key.
package enum PlainText {
    package static func write(
        _ view: ValueView, in session: Session, to sink: inout ByteSink
    ) throws(DatabaseError) {
        switch view.kind {
        case .null, nil: return
        case .string: sink.append(view.bytes)
        case .link:
            let link = view.linkValue
            guard let key = try session.schema[link.table]?.primaryKey?.columnKey else {
                sink.append("#")
                return sink.append(link.key.rawValue)
            }
            try write(try session.value(link.table, key, link.key), in: session, to: &sink)
        case .list, .map:
            var export = try JSONExport(session)
            try export.mixed(view, to: &sink)
        default:
            // None of these has quotes or escapes inside.
            var text = ByteSink()
            JSONValueWriter.plain(view, to: &text)
            for byte in text.bytes where byte != UInt8(ascii: "\"") { sink.append(byte) }
        }
    }

    package static func text(_ value: Value, in session: Session) throws(DatabaseError) -> String {
        var sink = ByteSink()
        try value.withView { view throws(DatabaseError) in try write(view, in: session, to: &sink) }
        return sink.string
    }
}
