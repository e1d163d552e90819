/// Nested lists and maps as bytes: they come back as they were, and any other bytes are refused or harmless.
import MotteValues
import TestSupport
import Testing

struct NestedDocumentTests {
    private func randomValue(_ random: inout SeededRandom, depth: Int = 0) -> Value {
        switch random.below(depth > 3 ? 11 : 13) {
        case 0: .null
        case 1: .bool(random.below(2) == 0)
        case 2: .int(Int64(truncatingIfNeeded: random.next()))
        case 3: .float(1.5)
        case 4: .double(-2.25)
        case 5: .string(["", "a", "é", "long enough to be seen"][random.below(4)])
        case 6: .data([UInt8](repeating: 7, count: random.below(20)))
        case 7: .timestamp(Timestamp(seconds: -1, nanoseconds: UInt32(random.below(1_000_000_000))))
        case 8: .link(ObjectLink(table: TableKey(3), key: ObjectKey(Int64(random.below(9)))))
        case 9: .decimal(Decimal128(Int64(random.below(1_000))))
        case 10: random.below(2) == 0 ? .uuid(.generate()) : .objectID(.generate())
        case 11: .list((0 ..< random.below(5)).map { _ in randomValue(&random, depth: depth + 1) })
        default:
            .map(
                (0 ..< random.below(5)).map {
                    MapEntry(key: ["b", "a", "", "ö", "zz"][$0], value: randomValue(&random, depth: depth + 1))
                })
        }
    }

    @Test func documentsComeBackAsTheyWere() throws {
        try PropertyTest.run(rounds: 2_000) { random, _ in
            let value = Value.list([randomValue(&random), randomValue(&random)])
            let bytes = NestedDocument.encode(value)
            try bytes.withUnsafeBytes { bytes throws in
                try NestedDocument.validate(bytes, as: .list)
                #expect(NestedDocument.value(.list(bytes)) == value)
            }
        }
    }

    @Test func keysAreSortedAndFound() {
        let value = Value.map(["b", "a", "", "ö"].enumerated().map { MapEntry(key: $1, value: .int(Int64($0))) })
        NestedDocument.encode(value).withUnsafeBytes { bytes in
            let document = NestedDocument(trusted: bytes)
            let keys = (0 ..< document.count).map { String(decoding: document.key(at: $0), as: UTF8.self) }
            #expect(keys == ["", "a", "b", "ö"])
            "b".withUTF8Bytes { #expect(document.find($0) == (2, true)) }
            "c".withUTF8Bytes { #expect(document.find($0) == (3, false)) }
        }
    }

    @Test func tooDeepIsRefused() {
        var value = Value.list([])
        for _ in 0 ..< 100 { value = .list([value]) }
        let bytes = NestedDocument.encode(value)
        #expect(throws: DatabaseError.self) {
            try bytes.withUnsafeBytes { bytes throws in try NestedDocument.validate(bytes, as: .list) }
        }
    }

    @Test func aListIsNoMap() {
        let list = NestedDocument.encode(.list([.int(1)]))
        let map = NestedDocument.encode(.map([MapEntry(key: "a", value: .int(1))]))
        for (bytes, kind) in [(list, ValueKind.map), (map, .list), (list, .string)] {
            #expect(throws: DatabaseError.self) {
                try bytes.withUnsafeBytes { bytes throws in try NestedDocument.validate(bytes, as: kind) }
            }
        }
    }

    /// Any bytes: an error, or something that can be read through without leaving them.
    @Test func damagedBytesAreRefusedOrHarmless() throws {
        try PropertyTest.run(rounds: 20_000) { random, _ in
            var bytes = NestedDocument.encode(.map([MapEntry(key: "k", value: randomValue(&random))]))
            for _ in 0 ... random.below(3) { bytes[random.below(bytes.count)] = UInt8(random.below(256)) }
            if random.below(4) == 0 { bytes.removeLast(random.below(bytes.count)) }
            bytes.withUnsafeBytes { bytes in
                guard (try? NestedDocument.validate(bytes, as: .map)) != nil else { return }
                _ = NestedDocument.value(.map(bytes))
            }
        }
    }
}
