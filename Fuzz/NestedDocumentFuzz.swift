/// Any bytes as a nested list or map: an error, or a document that can be read, searched and written again.
import MotteValues

extension FuzzTarget {
    package static let nestedDocument = FuzzTarget(
        name: "nestedDocument", seeds: NestedDocumentFuzz.seeds, run: NestedDocumentFuzz.run)
}

enum NestedDocumentFuzz {
    @Sendable static func run(_ bytes: UnsafeRawBufferPointer) throws {
        guard try politely([.corrupted], { try NestedDocument.validate(entry: bytes) }) != nil else { return }
        let view = NestedDocument.entry(bytes)
        let value = view.owned
        if view.kind == .list || view.kind == .map { try search(NestedDocument(trusted: view.bytes)) }
        let again = value.withView { NestedDocument.encodeEntry($0) }
        try again.asBytes { again in
            try NestedDocument.validate(entry: again)
            try Finding.require(again.elementsEqual(bytes), "writing it again gives other bytes")
            let order = ValueOrdering.compare(NestedDocument.entry(again), view)
            try Finding.require(order == 0, "it is not equal to itself")
        }
    }

    private static func search(_ document: NestedDocument) throws {
        for index in 0 ..< document.count {
            let inner = document.value(at: index)
            if document.isMap {
                let found = document.find(document.key(at: index))
                try Finding.require(found.isThere && found.index == index, "a key is not where it is")
            }
            if inner.kind == .list || inner.kind == .map { try search(NestedDocument(trusted: inner.bytes)) }
        }
    }

    @Sendable static func seeds() throws -> [[UInt8]] {
        var deep = Value.list([])
        for _ in 0 ..< 20 { deep = .list([deep]) }
        let values: [Value] = [
            .null, .bool(true), .int(5), .float(1), .double(2), .string("é"), .data([0, 1]),
            .timestamp(Timestamp(seconds: 1, nanoseconds: 2)), .decimal(Decimal128(Int64(7))),
            .objectID(ObjectID(low: 1, high: 2)), .uuid(UUIDBytes(low: 1, high: 2)),
            .link(ObjectLink(table: TableKey(1), key: ObjectKey(2))), deep,
            .list([.int(1), .string("a"), .null]),
            .map([MapEntry(key: "a", value: .int(1)), MapEntry(key: "b", value: .map([]))]),
        ]
        return values.map { $0.withView { NestedDocument.encodeEntry($0) } }
    }
}
