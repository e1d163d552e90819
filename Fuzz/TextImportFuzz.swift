/// Any bytes as JSON or CSV for a store of all types: an error, or objects of which the store stays sound and whose
/// JSON is read back to the same JSON.
import MotteExchange
import MotteLiveObjects
import MotteSchemaModel
import MotteStorage
import MotteValues

extension FuzzTarget {
    package static let json = FuzzTarget(name: "json", seeds: TextImportFuzz.jsonSeeds, run: TextImportFuzz.json)
    package static let csv = FuzzTarget(name: "csv", seeds: TextImportFuzz.csvSeeds, run: TextImportFuzz.csv)
}

enum TextImportFuzz {
    @Sendable static func json(_ bytes: UnsafeRawBufferPointer) throws {
        var input = FuzzInput(bytes)
        let choice = input.byte()
        var options = JSONImport.Options()
        options.policy = choice & 1 == 0 ? .error : .all
        options.batchRows = 1 + Int(choice >> 6)
        options.ignoresUnknownProperties = choice & 2 != 0
        try importing { session in
            let table = choice & 4 == 0 ? try session.tableKey(choice & 8 == 0 ? "Person" : "Mark") : nil
            let importer = try JSONImport(session, into: table, options)
            guard choice & 16 != 0 else { return try importer.run(input.rest) }
            let middle = input.rest.count / 2
            try importer.feed(UnsafeRawBufferPointer(rebasing: input.rest[..<middle]))
            try importer.feed(UnsafeRawBufferPointer(rebasing: input.rest[middle...]))
            try importer.finish()
        }
    }

    @Sendable static func csv(_ bytes: UnsafeRawBufferPointer) throws {
        var input = FuzzInput(bytes)
        let choice = input.byte()
        var options = CSVImport.Options()
        options.policy = choice & 1 == 0 ? .error : .all
        options.batchRows = 1 + Int(choice >> 6)
        if choice & 2 != 0 { options.delimiter = UInt8(ascii: ";") }
        try importing { session in
            try CSVImport(session, into: try session.tableKey(choice & 4 == 0 ? "Person" : "Mark"), options)
                .run(input.rest)
        }
    }

    private static func importing(_ body: (Session) throws -> Void) throws {
        let session = try StoreContentFuzz.emptySession()
        defer { _ = try? session.close() }
        try session.beginWrite()
        do {
            try body(session)
        } catch let error as DatabaseError {
            try Finding.require(error.code != .internal, "\(error.code): \(error.message)")
            // What came before the error may stay, if the caller wants.
        }
        _ = try session.commit()
        let report = try session.committedSnapshot().verify(limit: 3)
        try Finding.require(report.isSound, report.text)
        let first = try dump(session)
        let again = try StoreContentFuzz.emptySession()
        defer { _ = try? again.close() }
        try again.beginWrite()
        try first.asBytes { try JSONImport(again, into: nil).run($0) }
        _ = try again.commit()
        try Finding.require(try dump(again) == first, "a dump that was read gives another dump")
    }

    private static func dump(_ session: Session) throws -> [UInt8] {
        var sink = ByteSink()
        var export = try JSONExport(session)
        try export.store(to: &sink)
        return sink.bytes
    }

    @Sendable static func jsonSeeds() throws -> [[UInt8]] {
        let texts = [
            "{\"id\": 1, \"name\": \"a\\u00e9\\n\", \"any\": [1, {\"k\": null}], \"home\": {\"city\": \"Rome\"}}",
            "[{\"id\": 1, \"friend\": 1, \"tags\": [\"a\"], \"names\": {\"x\": null}}, {\"id\": 2, \"marks\": [3, 3]}]",
            "{\"flag\": true, \"f\": 1.5e3, \"d\": -0.0, \"data\": \"AAEC\", \"decimal\": \"1E-5\"}",
            "{\"id\": 3, \"when\": \"2024-02-29T12:00:00.5Z\"}\n{\"id\": 4, \"when\": null}\n",
        ]
        return texts.enumerated().map { [UInt8($0.offset == 2 ? 8 : 0)] + Array($0.element.utf8) }
    }

    @Sendable static func csvSeeds() throws -> [[UInt8]] {
        [
            [0] + Array("id,name,when\n1,\"a \"\"b\"\", c\",2024-01-02T03:04:05Z\n2,NA,NA\n".utf8),
            [4] + Array("flag,f,d,data,decimal\ntrue,1.5,-2,AAEC,12.50\r\nfalse,,NA,,\r\n".utf8),
            [2] + Array("id;name\n1;x\n".utf8),
        ]
    }
}
