// Plans of results, collections and groups, as text and as JSON.
import Foundation
import Motte
import Testing

class ExplainedPerson: Object {
    @Persisted var age: Int
}

@Suite(.serialized) struct ExplainTests {
    private struct Shown: Decodable {
        struct Step: Decodable {
            let step: String
            let detail: String
            let rows: Int?
        }
        let query: String
        let analyzed: Bool
        let nanoseconds: Int?
        let table: String
        let plan: Step
    }

    private func shown(_ plan: QueryPlan) throws -> Shown {
        let shown = try JSONDecoder().decode(Shown.self, from: Data(plan.json.utf8))
        #expect(shown.table == plan.description)
        return shown
    }

    @Test func plans() throws {
        var configuration = Realm.Configuration(inMemoryIdentifier: "explain \(UUID())")
        configuration.objectTypes = [ExplainedPerson.self]
        let realm = try Realm(configuration: configuration)
        try realm.write {
            for age in 0 ..< 10 { realm.create(ExplainedPerson.self, value: ["age": age]) }
        }
        let results = realm.objects(ExplainedPerson.self).filter("age > 5").sorted(byKeyPath: "age")
        let plain = try shown(results.explain())
        #expect(!plain.analyzed && plain.nanoseconds == nil && plain.plan.step == "sort" && plain.plan.rows == nil)
        let analyzed = try shown(results.explain(analyze: true))
        #expect(analyzed.analyzed && analyzed.plan.rows == 4 && analyzed.nanoseconds ?? -1 >= 0)
        #expect(analyzed.query.contains("age > 5") && analyzed.table.contains("scan ExplainedPerson"))
        let groups = results.grouped("GROUP(age) COUNT")
        #expect(try shown(groups.explain(analyze: true)).plan.rows == 4)
        #expect(try shown(groups.explain()).plan.step == "group")
    }
}
