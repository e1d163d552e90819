// Models in and out of coders whose strategies say how dates, data, numbers and keys are written (1.15).
import Foundation
import Motte
import Testing

class Receipt: Object, Codable {
    @Persisted(primaryKey: true) var receiptNumber: Int
    @Persisted var paidAt: Date
    @Persisted var refundedAt: Date?
    @Persisted var reminders: List<Date>
    @Persisted var visits: MutableSet<Date>
    @Persisted var datesByPlace: Map<String, Date>
    @Persisted var scan: Data
    @Persisted var pages: List<Data>
    @Persisted var rate: Double
    @Persisted var line: ReceiptLine?
}

class ReceiptLine: EmbeddedObject, Codable {
    @Persisted var lineText: String
    @Persisted var addedAt: Date?
}

@Suite struct CodingTests {
    private static let json = #"""
        {"receipt_number": 1, "paid_at": "1970-01-01T00:00:10Z", "refunded_at": null,
         "reminders": ["1970-01-01T00:00:20Z"], "visits": ["1970-01-01T00:00:30Z"],
         "dates_by_place": {"new_york": "1970-01-01T00:00:40Z"}, "scan": "AQI=", "pages": ["Aw=="], "rate": "none",
         "line": {"line_text": "tea", "added_at": "1970-01-01T00:00:50Z"}}
        """#

    private func check(_ receipt: Receipt) {
        func date(_ seconds: Double) -> Date { Date(timeIntervalSince1970: seconds) }
        #expect(receipt.receiptNumber == 1 && receipt.paidAt == date(10) && receipt.refundedAt == nil)
        #expect(Array(receipt.reminders) == [date(20)] && Array(receipt.visits) == [date(30)])
        #expect(receipt.datesByPlace["new_york"] == date(40), "keys of maps are data and stay")
        #expect(receipt.scan == Data([1, 2]) && Array(receipt.pages) == [Data([3])] && receipt.rate.isNaN)
        #expect(receipt.line?.lineText == "tea" && receipt.line?.addedAt == date(50))
    }

    @Test func strategiesOfCodersCountForEveryProperty() throws {
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .iso8601
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        decoder.nonConformingFloatDecodingStrategy = .convertFromString(
            positiveInfinity: "+", negativeInfinity: "-", nan: "none")
        let receipt = try decoder.decode(Receipt.self, from: Data(Self.json.utf8))
        check(receipt)

        let encoder = JSONEncoder()
        encoder.dateEncodingStrategy = .iso8601
        encoder.keyEncodingStrategy = .convertToSnakeCase
        encoder.nonConformingFloatEncodingStrategy = .convertToString(
            positiveInfinity: "+", negativeInfinity: "-", nan: "none")
        encoder.outputFormatting = .sortedKeys
        let encoded = try encoder.encode(receipt)
        let text = String(decoding: encoded, as: UTF8.self)
        #expect(text.contains(#""paid_at":"1970-01-01T00:00:10Z""#) && text.contains(#""scan":"AQI=""#))
        #expect(text.contains(#""new_york":"1970-01-01T00:00:40Z""#) && text.contains(#""refunded_at":null"#))
        check(try decoder.decode(Receipt.self, from: encoded))
    }

    @Test func otherStrategiesOfDataAndDates() throws {
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .secondsSince1970
        decoder.dataDecodingStrategy = .custom { Data(try String(from: $0).utf8) }
        let json = #"""
            {"receiptNumber": 2, "paidAt": 5, "reminders": [6], "visits": [], "datesByPlace": {}, "scan": "ab",
             "pages": ["c"], "rate": 1.5}
            """#
        let receipt = try decoder.decode(Receipt.self, from: Data(json.utf8))
        #expect(receipt.paidAt == Date(timeIntervalSince1970: 5) && receipt.refundedAt == nil && receipt.line == nil)
        #expect(Array(receipt.reminders) == [Date(timeIntervalSince1970: 6)])
        #expect(receipt.scan == Data("ab".utf8) && Array(receipt.pages) == [Data("c".utf8)])
        let realm = try makeRealm([Receipt.self, ReceiptLine.self])
        try realm.write { realm.add(receipt) }
        #expect(realm.objects(Receipt.self).where { $0.scan == Data("ab".utf8) }.count == 1)
    }

    @Test func boxesAreCodedAsWhatTheyHold() throws {
        let boxes = try JSONDecoder().decode([RealmProperty<Data?>].self, from: Data(#"["AQI=", null]"#.utf8))
        #expect(boxes.map(\.value) == [Data([1, 2]), nil])
        #expect(String(decoding: try JSONEncoder().encode(boxes), as: UTF8.self) == #"["AQI=",null]"#)
    }
}
