/// 70,000 persons of 2,000 bosses, with columns of several shapes: uniform, skewed, sparse, correlated. The same each
/// time.
import MotteQueryEngine
import MotteSchemaModel
import MotteStorage
import MotteValues
import TestSupport
import Testing

enum PlanWorld {
    static let persons = 70_000
    static let bosses = 2_000

    /// `even`, `skewed` and `sparse` have indexes. `even` has 1,000 values, `skewed` is 0 for three of five, `sparse`
    /// is null for 99 of 100. `twin` is as `even` is, `age` and `half` are by themselves.
    static func make() throws -> QueryWorld {
        let world = try QueryWorld(
            """
            Boss { id: int key, name: string indexed, city: string indexed, level: int }
            Person { id: int key, even: int indexed, skewed: int indexed, sparse: int? indexed, code: string indexed,
                     twin: int, age: int, half: bool, name: string, boss: link<Boss>, staff: inverse<Person.deputy>,
                     deputy: link<Person> }
            """, rowGroupSize: 1_904)
        try world.begin()
        try world.insert("Boss", ["id", "name", "city", "level"], bosses) { number, row in
            row(.int(Int64(number)))
            row(.string("Boss \(number)"))
            row(.string("City \(number % 50)"))
            row(.int(Int64(number % 500)))
        }
        let boss = try world.table("Boss"), person = try world.table("Person")
        let names = ["id", "even", "skewed", "sparse", "code", "twin", "age", "half", "name", "boss", "deputy"]
        try world.insert("Person", names, persons) { number, row in
            let mixed = number &* 7_919 % 104_729
            row(.int(Int64(number)))
            row(.int(Int64(mixed % 1_000)))
            row(.int(number % 5 < 3 ? 0 : Int64(mixed % 97 + 1)))
            row(number % 100 == 7 ? .int(Int64(number % 50)) : .null)
            row(.string("C\(mixed % 2_000)"))
            row(.int(Int64(mixed % 1_000)))
            row(.int(Int64(number &* 31 % 100)))
            row(.bool(number % 2 == 0))
            row(.string("Person \(number)"))
            let lead = number % 2 == 0 ? 0 : mixed % bosses
            row(number % 10 == 9 ? .null : .link(ObjectLink(table: boss, key: ObjectKey(Int64(lead)))))
            row(number >= 1_000 && number < 1_100 ? .link(ObjectLink(table: person, key: ObjectKey(5))) : .null)
        }
        try world.commit()
        return world
    }
}
