/// Indexes that keep the order of the values of one property or several, and answer from it alone: equality, ranges,
/// beginnings of texts, order, counts; and unique ones, of which no two objects have the same values.
///
/// Parameters, none of which means an ordinary ascending index:
///
///     u8 1: unique | for each column u8 1: descending
///
/// The kind `folded` is the same for indexes with texts that are kept without their case or diacritics, so that a
/// release that does not know of folding takes it for an unknown kind and leaves it alone. Its parameters are
///
///     u8 0 | for each column u8: 1 descending, 2 without case, 4 without diacritics | u32 fingerprint of the folding
///
/// of which the last is stored and not declared: an index of another fingerprint is outdated.
///
/// An object is in it once, with what `OrderedBytes` makes of its values; nulls come first, and of a unique index any
/// number of objects may have one.
import MotteColumns
import MottePages
import MotteSchemaModel
import MotteValues

package struct OrderedParameters: Sendable {
    package let isUnique: Bool
    package let columns: [OrderedColumn]

    /// nil where the bytes are none that this release writes.
    package init?(_ bytes: [UInt8], types: [PropertyType]) {
        guard bytes.isEmpty || bytes.count == types.count + 1, bytes.first ?? 0 <= 1,
            bytes.dropFirst().allSatisfy({ $0 <= 7 })
        else { return nil }
        isUnique = bytes.first == 1
        columns = types.enumerated().map { place, type in
            let bits = bytes.isEmpty ? 0 : bytes[place + 1]
            return OrderedColumn(type: type, isDescending: bits & 1 == 1, folding: TextOptions(rawValue: bits >> 1))
        }
    }

    var isFolded: Bool { columns.contains { !$0.folding.isEmpty } }
}

struct OrderedIndexKind: IndexKind {
    let name: String

    static let ordered = OrderedIndexKind(name: IndexDeclaration.ordered)
    static let folded = OrderedIndexKind(name: IndexDeclaration.folded)

    private var isFolded: Bool { name.hasSameBytes(as: IndexDeclaration.folded) }
    private static let fingerprintBytes = 4

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
        guard let parameters = OrderedParameters(index.parameters, types: types), parameters.isFolded == isFolded else {
            throw DatabaseError(
                .schemaInvalid, "the \(index.text) of \(type.name) has parameters that this release does not know",
                className: type.name)
        }
        if isFolded { try checkFolding(index, parameters, of: type) }
    }

    private func checkFolding(
        _ index: IndexDeclaration, _ parameters: OrderedParameters, of type: ObjectType
    ) throws(DatabaseError) {
        func refuse(_ name: String?, _ why: String) -> DatabaseError {
            DatabaseError(
                .schemaInvalid, "the \(index.text) of \(type.name) \(why)", className: type.name, propertyName: name)
        }
        // What is the same without its case may be another thing for the next version of Unicode.
        guard !parameters.isUnique else {
            throw refuse(
                nil,
                "cannot be unique without case or diacritics; keep a property with the text as it is to be compared, "
                    + "and make that unique")
        }
        for (name, column) in zip(index.properties, parameters.columns) where !column.folding.isEmpty {
            guard column.type == .string else {
                throw refuse(
                    name,
                    "overlooks case or diacritics of \(name), which is \(column.type.name); only strings have them")
            }
            guard !column.isDescending else {
                throw refuse(
                    name, "has \(name) descending without case or diacritics, which has no order; leave 'desc' out")
            }
        }
    }

    /// Of stored bytes; nil where this release does not know them.
    func parameters(_ stored: [UInt8], types: [PropertyType]) -> OrderedParameters? {
        guard let known = OrderedParameters(declaredParameters(stored), types: types), known.isFolded == isFolded else {
            return nil
        }
        return known
    }

    // MARK: Folding

    func storedParameters(_ declared: [UInt8]) -> [UInt8] {
        guard isFolded else { return declared }
        return declared + withUnsafeBytes(of: TextFolding.fingerprint.littleEndian) { Array($0) }
    }

    func declaredParameters(_ stored: [UInt8]) -> [UInt8] {
        isFolded ? stored.dropLast(Self.fingerprintBytes) : stored
    }

    func isOutdated(_ index: TableIndex) -> Bool {
        isFolded && index.parameters != storedParameters(declaredParameters(index.parameters))
    }

    // MARK: Parts

    func capabilities(of index: TableIndex) -> IndexCapabilities {
        guard let parameters = index.orderedParameters, !isOutdated(index) else { return [] }
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
        columns = types.map { OrderedColumn(type: $0, isDescending: false, folding: []) }
    }
}
