/// The schema as programs see it: what the engine's declarations become, and their texts.
import Motte
import MotteSchemaModel
import MotteValues
import Testing

@Suite struct SchemaTypesTests {
    final class Stand {}

    let person = MotteSchemaModel.ObjectType(
        name: "Person",
        properties: [
            MotteSchemaModel.Property(name: "id", type: .int, isPrimaryKey: true),
            MotteSchemaModel.Property(name: "full_name", type: .string, isNullable: true, isIndexed: true),
            MotteSchemaModel.Property(name: "dogs", type: .link, collection: .list, target: "Dog"),
            MotteSchemaModel.Property(name: "anything", type: .mixed, isNullable: true),
            MotteSchemaModel.Property(name: "scores", type: .double, collection: .map, isNullable: true),
            MotteSchemaModel.Property(name: "tags", type: .string, collection: .set),
            MotteSchemaModel.Property(name: "liked", type: .linkingObjects, target: "Dog").listing(origin: "likes"),
        ])

    var schema: Motte.ObjectSchema {
        Motte.ObjectSchema(person, objectClass: Stand.self, names: [NameKey("full_name"): "name"])
    }

    @Test func typesHaveTheirNumbersAndNames() {  // 1.16
        let types: [Motte.PropertyType] = [
            .int, .bool, .string, .data, .date, .float, .double, .object, .linkingObjects, .any, .objectId, .decimal128,
            .UUID,
        ]

        #expect(types.map(\.rawValue) == Array(0 ... 12))
        #expect(
            types.map(\.description) == [
                "int", "bool", "string", "data", "date", "float", "double", "object", "linking objects", "mixed",
                "object id", "decimal128", "uuid",
            ])
        #expect(Set(MotteSchemaModel.PropertyType.allCases.map { Motte.PropertyType($0) }).count == 13)
    }

    @Test func propertiesSayWhatTheyAre() throws {
        let id = try #require(schema["id"])
        #expect(id.type == .int && id.isIndexed && !id.isOptional)
        #expect(schema.primaryKeyProperty == id)
        let name = try #require(schema["name"])
        #expect(name.columnName == "full_name" && name.isOptional && name.isIndexed)
        #expect(schema["full_name"] == nil)
        let dogs = try #require(schema["dogs"])
        #expect(dogs.type == .object && dogs.isArray && !dogs.isSet && dogs.objectClassName == "Dog")
        #expect(try #require(schema["anything"]).isOptional == false)
        #expect(try #require(schema["scores"]).isMap)
        #expect(try #require(schema["tags"]).isSet)
        #expect(schema["nothing"] == nil)
    }

    @Test func inverseLinksAreComputedAndStillFound() throws {
        #expect(schema.properties.map(\.name) == ["id", "name", "dogs", "anything", "scores", "tags"])
        let liked = try #require(schema["liked"])
        #expect(liked.type == .linkingObjects && liked.isArray && liked.objectClassName == "Dog")
    }

    @Test func describesAPropertyInABlock() throws {  // 1.16
        let expected = """
            dogs {
            \ttype = object;
            \tobjectClassName = Dog;
            \tlinkOriginPropertyName = (null);
            \tcolumnName = dogs;
            \tindexed = NO;
            \tisPrimary = NO;
            \tarray = YES;
            \tset = NO;
            \tdictionary = NO;
            \toptional = NO;
            }
            """
        #expect(try #require(schema["dogs"]).description == expected)
    }

    @Test func describesClassesIndented() {  // 1.16
        let embedded = Motte.ObjectSchema(
            MotteSchemaModel.ObjectType(
                name: "Address", properties: [MotteSchemaModel.Property(name: "city", type: .string)],
                isEmbedded: true),
            objectClass: Stand.self)
        let block = """
            Address (embedded) {
            \tcity {
            \t\ttype = string;
            \t\tcolumnName = city;
            \t\tindexed = NO;
            \t\tisPrimary = NO;
            \t\tarray = NO;
            \t\tset = NO;
            \t\tdictionary = NO;
            \t\toptional = NO;
            \t}
            }
            """
        #expect(embedded.description == block)
        let lines = block.split(separator: "\n").map { "\t\($0)\n" }.joined()
        let whole = Motte.Schema([schema, embedded])
        #expect(whole.description.hasPrefix("Schema {\n\(lines)\tPerson {\n\t\tid {\n"))
        #expect(whole.description.hasSuffix("\t\t\toptional = NO;\n\t\t}\n\t}\n}"))
    }

    @Test func equalityIsOfTheDeclaration() {
        let same = Motte.ObjectSchema(
            person, objectClass: SchemaTypesTests.Stand.self, names: [NameKey("full_name"): "name"])
        let renamed = Motte.ObjectSchema(person, objectClass: Stand.self)
        let other = Motte.ObjectSchema(
            MotteSchemaModel.ObjectType(name: "Other", properties: []), objectClass: Stand.self)

        #expect(schema == same)
        #expect(schema != renamed)
        #expect(Motte.Schema([schema, other]) == Motte.Schema([other, same]))
        #expect(Motte.Schema([schema]) != Motte.Schema([schema, other]))
        #expect(Motte.Schema([schema])["Person"] == schema)
        #expect(Motte.Schema([schema])["Nobody"] == nil)
        #expect(!schema.isEmbedded && !schema.isAsymmetric)
    }
}
