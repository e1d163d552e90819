/// The persons that both sides store: the same six properties, the same values from one seed.
import Foundation
import GRDB
import Motte

final class Person: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var name: String
    @Persisted var age: Int
    @Persisted var score: Double
    @Persisted var active: Bool
    @Persisted var city: String
}

/// Written out by hand, which is the fastest form that GRDB documents.
struct PersonRecord: FetchableRecord, PersistableRecord {
    static let databaseTableName = "person"
    var id: Int
    var name: String
    var age: Int
    var score: Double
    var active: Bool
    var city: String

    init(_ data: PersonData, _ index: Int) {
        id = index
        name = data.names[index]
        age = data.ages[index]
        score = data.scores[index]
        active = index % 2 == 0
        city = data.cities[index % data.cities.count]
    }

    init(row: Row) {
        id = row[0]
        name = row[1]
        age = row[2]
        score = row[3]
        active = row[4]
        city = row[5]
    }

    func encode(to container: inout PersistenceContainer) {
        container["id"] = id
        container["name"] = name
        container["age"] = age
        container["score"] = score
        container["active"] = active
        container["city"] = city
    }

    static func createTable(_ database: Database) throws {
        try database.create(table: databaseTableName) { table in
            table.primaryKey("id", .integer)
            table.column("name", .text).notNull()
            table.column("age", .integer).notNull()
            table.column("score", .double).notNull()
            table.column("active", .boolean).notNull()
            table.column("city", .text).notNull()
        }
    }
}

extension Person {
    convenience init(_ data: PersonData, _ index: Int) {
        self.init()
        id = index
        name = data.names[index]
        age = data.ages[index]
        score = data.scores[index]
        active = index % 2 == 0
        city = data.cities[index % data.cities.count]
    }
}

struct PersonData {
    let names: [String]
    let ages: [Int]
    let scores: [Double]
    let cities = (0 ..< 1_000).map { "City \($0)" }

    init(count: Int) {
        var state: UInt64 = 42
        func random(_ limit: UInt64) -> UInt64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return (state >> 33) % limit
        }
        names = (0 ..< count).map { _ in "Person \(random(1_000_000_000))" }
        ages = (0 ..< count).map { _ in Int(random(100)) }
        scores = (0 ..< count).map { _ in Double(random(1_000_000)) / 997 }
    }
}
