/// Indexes that keep the order of the values of one property or several, and answer from it alone: equality, ranges,
/// beginnings of texts, order, counts; and unique ones, of which no two objects have the same values.
///
/// Parameters, none of which means an ordinary ascending index:
///
///     u8 1: unique | for each column u8 1: descending
///
/// An object is in it once, with what `OrderedBytes` makes of its values; nulls come first, and of a unique index any
/// number of objects may have one.
import MottePages
import MotteSchemaModel
import MotteValues

package struct OrderedParameters: Sendable {
    package let isUnique: Bool
    package let columns: [OrderedColumn]

    /// nil where the bytes are none that this release writes.
    package init?(_ bytes: [UInt8], types: [PropertyType]) {
        guard bytes.isEmpty || bytes.count == types.count + 1, bytes.allSatisfy({ $0 <= 1 }) else { return nil }
        isUnique = bytes.first == 1
        columns = types.enumerated().map { place, type in
            OrderedColumn(type: type, isDescending: !bytes.isEmpty && bytes[place + 1] == 1)
        }
    }
}

struct OrderedIndexKind: IndexKind {
    let name = "ordered"

    func check(_ index: IndexDeclaration, of type: ObjectType) throws(DatabaseError) {
        var types: [PropertyType] = []
        for name in index.properties {
            let property = try type.requiredProperty(named: name)
            guard OrderedBytes.isIndexable(property.type), !property.isCollection else {
                throw DatabaseError(
                    .schemaInvalid,
                    "the \(index.text) of \(type.name) has \(name), which is a "
                        + "\(property.isCollection ? property.collection.name : property.type.name); it can have "
                        + "bools, numbers, strings, data, times, object ids and UUIDs", className: type.name,
                    propertyName: name)
            }
            types.append(property.type)
        }
        guard OrderedParameters(index.parameters, types: types) != nil else {
            throw DatabaseError(
                .schemaInvalid, "the \(index.text) of \(type.name) has parameters that this release does not know",
                className: type.name)
        }
    }

    func capabilities(of index: TableIndex) -> IndexCapabilities {
        guard let parameters = index.orderedParameters else { return [] }
        var capabilities: IndexCapabilities = [.equality, .range, .prefix, .order, .count]
        if parameters.isUnique { capabilities.insert(.unique) }
        return capabilities
    }

    /// Of a stored index whose parameters nobody knows nothing is asked (`capabilities`).
    private func knownParameters(of index: TableIndex) -> OrderedParameters {
        index.orderedParameters ?? OrderedParameters(isUnique: false, types: index.columns.map(\.type))
    }

    func makeReader(of index: TableIndex, pages: PageSnapshot) -> any IndexReading {
        OrderedReader(index.key, pages: pages)
    }

    func makeWriter(of index: TableIndex, in context: IndexWriteContext) -> any IndexWriting {
        OrderedWriter(index, knownParameters(of: index), context)
    }

    func makeCheck(of index: TableIndex) -> any IndexChecking { OrderedCheck(knownParameters(of: index)) }

    func answers(
        of index: TableIndex, _ reader: (any IndexReading)?, pending: (any IndexWriting)?
    ) -> any IndexAnswering {
        OrderedAnswers(knownParameters(of: index).columns, reader as? OrderedReader, pending as? OrderedWriter)
    }
}

extension OrderedParameters {
    fileprivate init(isUnique: Bool, types: [PropertyType]) {
        self.isUnique = isUnique
        columns = types.map { OrderedColumn(type: $0, isDescending: false) }
    }
}
