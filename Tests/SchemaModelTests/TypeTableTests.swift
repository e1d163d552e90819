/// The table of types and what is numbered as it: values, properties and columns.
import MotteSchemaModel
import MotteValues
import Testing

@Suite struct TypeTableTests {
    @Test func propertiesAreNumberedAndNamedAsTheirValues() {
        for type in PropertyType.allCases where type != .mixed && type != .linkingObjects {
            #expect(type.valueKind?.rawValue == type.rawValue && type.valueKind?.name == type.name)
            #expect(type.form == type.valueKind?.form)
        }
        #expect(PropertyType.mixed.valueKind == nil && PropertyType.linkingObjects.valueKind == nil)
        let stored = ValueKind.allCases.filter { ![.null, .list, .map].contains($0.form) }
        #expect(stored.map(\.rawValue) == PropertyType.scalars.map(\.rawValue).merging(PropertyType.link.rawValue))
        #expect(Set(ValueKind.allCases.map(\.name)).count == ValueKind.allCases.count)
    }

    /// Numbers share a rank and are compared; every other type has one of its own, as identifiers need to be compared
    /// by their bytes alone.
    @Test func onlyNumbersShareARank() {
        for kind in ValueKind.allCases {
            let others = ValueKind.allCases.filter { $0 != kind && $0.rank == kind.rank }
            #expect(others.isEmpty || kind.isNumeric && others.allSatisfy(\.isNumeric), "\(kind)")
        }
    }

    @Test func defaultsAreOfTheirType() {
        for type in PropertyType.allCases {
            #expect(type.defaultValue(isNullable: true).isNull)
            let value = type.defaultValue(isNullable: false)
            #expect(value.isNull ? [.link, .mixed, .linkingObjects].contains(type) : value.kind == type.valueKind)
        }
    }

    @Test func identifiersAreBytesAndTexts() throws {
        #expect(IdentifierType.all.count == ValueKind.allCases.filter { $0.form == .identifier }.count)
        #expect(Set(IdentifierType.all.map(\.word)).count == IdentifierType.all.count)
        for type in IdentifierType.all {
            let count = try #require(type.kind.byteCount)
            #expect(type.kind.form == .identifier && type.kind.canBePrimaryKey && type.kind.canBeIndexed)
            let example = try #require(type.value(type.example))
            #expect(example.kind == type.kind && type.text(example) == type.example)
            #expect(type.value(type.example + "0") == nil && type.value("") == nil)
            let bytes = (0 ..< count).map { UInt8(200 - $0) }
            let made = try bytes.withUnsafeBytes { ValueView(type.kind, bytes: try #require($0.baseAddress)) }
            #expect(made.withOwnBytes { Array($0) } == bytes)
            #expect(try #require(type.value(type.text(made))).withOwnBytes { Array($0) } == bytes)
            #expect(made.owned.kind == type.kind && made.owned.withView { $0.withOwnBytes { Array($0) } } == bytes)
            #expect(ValueOrdering.compare(made, try #require(type.kind.zero)) > 0)
        }
    }

    /// Of each byte, whatever comes behind it.
    @Test func identifiersAreOrderedByTheirBytes() throws {
        for type in IdentifierType.all {
            let count = try #require(type.kind.byteCount)
            for place in 0 ..< count {
                var low = [UInt8](repeating: 7, count: count), high = low
                (low[place], high[place]) = (8, 9)
                for behind in place + 1 ..< count { (low[behind], high[behind]) = (255, 0) }
                let order = try low.withUnsafeBytes { low in
                    try high.withUnsafeBytes { high in
                        ValueOrdering.compare(
                            ValueView(type.kind, bytes: try #require(low.baseAddress)),
                            ValueView(type.kind, bytes: try #require(high.baseAddress)))
                    }
                }
                #expect(order < 0, "\(type.kind), byte \(place)")
            }
        }
    }
}

extension Array where Element == UInt32 {
    fileprivate func merging(_ number: UInt32) -> [UInt32] { (self + [number]).sorted() }
}
