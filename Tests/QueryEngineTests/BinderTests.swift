/// What binding refuses, with code, position and sentence.
import MotteQueryEngine
import MotteSchemaModel
import MotteStorage
import MotteValues
import TestSupport
import Testing

@Suite struct BinderTests {
    /// Text, code, the UTF-8 offset it points at, and words of the message.
    static let failures: [(String, ErrorCode, Int, String)] = [
        ("nmae == 'x'", .unknownProperty, 0, "Person has no property 'nmae'; did you mean 'name'?"),
        ("age > 1 AND friend.nme == 'x'", .unknownProperty, 19, "Person has no property 'nme'; did you mean 'name'?"),
        ("name.first == 'x'", .queryInvalid, 0, "Person.name is string and has no properties"),
        ("age == 'x'", .queryInvalid, 7, "Person.age is int, but \"x\" is string"),
        ("name == 1", .queryInvalid, 8, "Person.name is string, but 1 is int"),
        ("born > 1", .queryInvalid, 7, "Person.born is timestamp, but 1 is int"),
        ("active == 2", .queryInvalid, 10, "Person.active is bool"),
        ("age IN {1, 'x'}", .queryInvalid, 11, "Person.age is int"),
        ("age == {1}", .queryInvalid, 7, "braces"),
        ("age IN 1", .queryInvalid, 7, "braces"),
        ("1 == 2", .queryInvalid, 2, "must be a property"),
        ("age[c] == 1", .querySyntax, 4, "expected"),
        ("age ==[c] 1", .queryInvalid, 4, "Person.age is int; only strings"),
        ("age BEGINSWITH 'x'", .queryInvalid, 4, "BEGINSWITH is for strings"),
        ("photo LIKE 'x'", .queryInvalid, 6, "LIKE is for strings"),
        ("name BETWEEN {'a', 'b'}", .queryInvalid, 5, "BETWEEN is for numbers"),
        ("age BETWEEN {NULL, 2}", .queryInvalid, 13, "cannot be null"),
        ("age == name", .queryInvalid, 4, "Person.age is int and Person.name is string"),
        ("name BEGINSWITH age", .queryInvalid, 5, "they cannot be compared by BEGINSWITH"),
        ("name IN city", .queryInvalid, 5, "needs values on its right"),
        ("SUBQUERY(tags, $x, $x == 'a').@count > 0", .queryInvalid, 9, "Person.tags is none"),
        ("SUBQUERY(friend, $x, TRUEPREDICATE).@count > 0", .queryInvalid, 9, "Person.friend is none"),
        ("SUBQUERY(friends.dogs, $x, TRUEPREDICATE).@count > 0", .queryInvalid, 9, "this path has two"),
        ("SUBQUERY(friends, $x, age == 1).@count > 0", .queryInvalid, 22, "paths begin with its own variable, $x"),
        ("SUBQUERY(friends, $x, $y.age == 1).@count > 0", .queryInvalid, 22, "paths begin with its own variable, $x"),
        ("SUBQUERY(friends, $x, $x.aeg == 1).@count > 0", .unknownProperty, 25, "did you mean 'age'?"),
        ("SUBQUERY(friends, $x, TRUEPREDICATE).@count > 'x'", .queryInvalid, 46, "@count is a number"),
        ("SUBQUERY(friends, $x, TRUEPREDICATE).@count > age", .queryInvalid, 46, "a value is needed here"),
        ("$x.age == 1", .queryInvalid, 0, "only SUBQUERY has variables"),
        ("age ==[d] 'x'", .queryInvalid, 4, "only strings have case and diacritics"),
        ("'x' CONTAINS name", .queryInvalid, 4, "needs its property on the left"),
        ("friend > NULL", .queryInvalid, 7, "links are compared with ==, != and IN only"),
        ("friend == 1", .queryInvalid, 10, "Person.friend is a link to Person"),
        ("friend == O2:1", .queryInvalid, 10, "Person.friend is a link to Person, but O2:1 is link to Dog"),
        ("friends.age == 1", .queryInvalid, 0, "say ANY, ALL or NONE"),
        ("tags == 'x'", .queryInvalid, 0, "say ANY, ALL or NONE"),
        ("tags CONTAINS 'x'", .queryInvalid, 0, "say ANY, ALL or NONE"),
        ("ANY age == 1", .queryInvalid, 0, "need a list"),
        ("1 IN age", .queryInvalid, 5, "need a list"),
        ("age.@count == 1", .queryInvalid, 0, "@count needs a list"),
        ("friends.@sum == 1", .queryInvalid, 0, "@sum needs a property"),
        ("friends.@sum.name == 1", .queryInvalid, 0, "Person.name is string, which @sum does not work on"),
        ("friends.dogs.@count == 1", .queryInvalid, 0, "this path has two"),
        ("friends.@count == friends.@count", .queryInvalid, 15, "is compared with a value"),
        ("friends.@count == 'x'", .queryInvalid, 18, "@count is a number, but this is string"),
        ("ANY friends.@count == 1", .queryInvalid, 0, "is a single value"),
        ("ANY friends.age == age", .queryInvalid, 16, "is compared with a value"),
        ("SORT(tags)", .queryInvalid, 5, "cannot sort by 'tags': Person.tags is a list"),
        ("SORT(dogs.name)", .queryInvalid, 5, "cannot sort by 'dogs.name'"),
        ("SORT(friend)", .queryInvalid, 5, "objects have no order"),
        ("SORT(friends.@count)", .queryInvalid, 5, "do not sort"),
        ("SORT(agee)", .unknownProperty, 5, "did you mean 'age'?"),
        ("age == $0", .queryArgument, 7, "there is no argument $0; 0 arguments were given"),
        ("LIMIT($2)", .queryArgument, 6, "there is no argument $2"),
    ]

    @Test(arguments: failures) func says(text: String, code: ErrorCode, offset: Int, words: String) throws {
        let world = try QueryWorld(QuerySemanticsTests.schema)
        do throws(DatabaseError) {
            _ = try world.bind("Person", text)
            Issue.record("'\(text)' was accepted")
        } catch {
            #expect(error.code == code, "\(text): \(error)")
            #expect(error.details.queryOffset == offset, "\(text): \(error)")
            #expect(error.message.contains(words), "\(text): \(error)")
        }
    }

    @Test func saysWhichArgumentDoesNotFit() throws {
        let world = try QueryWorld(QuerySemanticsTests.schema)
        let dog = Value.link(ObjectLink(table: try world.table("Dog"), key: ObjectKey(0)))
        let failures: [(String, [Argument], String)] = [
            ("age == $0", [.value(.string("x"))], "Person.age is int, but argument $0 is string"),
            ("age == $0", [.list([.int(1)])], "argument $0 is a list"),
            ("age IN $0", [.value(.int(1))], "argument $0 must be a list"),
            ("age IN $0", [.list([.int(1), .string("x")])], "Person.age is int, but argument $0 is string"),
            ("age BETWEEN $0", [.list([.int(1)])], "BETWEEN needs two bounds"),
            ("friend == $0", [.value(dog)], "Person.friend is a link to Person, but argument $0 is link to Dog"),
            ("$0 IN friends", [.value(dog)], "argument $0 is link to Dog"),
            ("LIMIT($0)", [.value(.int(-1))], "LIMIT needs an int that is not negative"),
            ("LIMIT($0)", [.value(.string("x"))], "LIMIT needs an int that is not negative"),
            ("age == $1", [.value(.int(1))], "there is no argument $1; 1 argument was given"),
        ]
        for (text, arguments, words) in failures {
            do throws(DatabaseError) {
                _ = try world.bind("Person", text, arguments)
                Issue.record("'\(text)' was accepted")
            } catch {
                #expect(error.code == .queryArgument, "\(text): \(error)")
                #expect(error.message.contains(words), "\(text): \(error)")
            }
        }
        #expect(throws: DatabaseError.self) {
            try BoundQuery.bind(ParsedQuery(.constant(true)), table: TableKey(99), schema: world.schema)
        }
    }

    @Test func deepTreesThatWereBuiltAreRefused() throws {
        let world = try QueryWorld(QuerySemanticsTests.schema)
        var predicate = Predicate.constant(true)
        for _ in 0 ..< 1_000 { predicate = .not(predicate) }
        let parsed = ParsedQuery(predicate: predicate, ordering: .none, source: .none, argumentCount: 0)
        #expect(throws: DatabaseError.self) {
            try BoundQuery.bind(parsed, table: try world.table("Person"), schema: world.schema)
        }
    }

    @Test func dependenciesNameWhatIsRead() throws {
        let world = try QuerySemanticsTests.world()
        let query = try world.bind(
            "Person",
            "age > 1 AND ANY friends.city == 'Rome' AND friend.name != 'x' AND ANY dogs.name == 'Rex' SORT(friend.age)")
        let names = query.dependencies.map { dependency -> String in
            let type = world.schema[dependency.table]
            let column = type?.property(dependency.column)?.name ?? "?"
            let steps = dependency.steps.map(\.name).joined(separator: ".")
            return "\(steps)/\(type?.name ?? "?").\(column)\(dependency.isForOrder ? " order" : "")"
        }
        #expect(
            Set(names) == [
                "/Person.age", "/Person.friends", "friends/Person.city", "/Person.friend", "friend/Person.name",
                "dogs/Dog.owner", "dogs/Dog.name", "friend/Person.age order",
            ])
        for (index, name) in names.enumerated() {
            let roots = try query.dependencies[index].roots(of: [0, 1], in: world.source)
            switch name {
            case "/Person.age": #expect(roots == [0, 1])
            case "friends/Person.city": #expect(roots == [2, 3])
            case "friend/Person.name": #expect(roots == [2, 3])
            case "dogs/Dog.name": #expect(roots == [2])
            default: break
            }
        }
    }
}
