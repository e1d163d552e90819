/// Any text as a schema: an error with a place, or a schema that prints, parses to the same and is valid or says why
/// not.
import MotteSchemaModel
import MotteValues

extension FuzzTarget {
    package static let schemaText = FuzzTarget(
        name: "schemaText", seeds: SchemaTextFuzz.seeds, run: SchemaTextFuzz.run)
}

enum SchemaTextFuzz {
    @Sendable static func run(_ bytes: UnsafeRawBufferPointer) throws {
        let text = String(decoding: bytes, as: UTF8.self)
        guard let schema = try politely([.schemaInvalid], { try SchemaText.parse(text) }) else { return }
        let printed = SchemaText.print(schema)
        guard try politely([.schemaInvalid, .schemaMismatch], { try schema.validated() }) != nil else { return }
        let again = SchemaText.print(try SchemaText.parse(printed).validated())
        try Finding.require(again.utf8.elementsEqual(printed.utf8), "what is printed parses to another schema")
    }

    @Sendable static func seeds() throws -> [[UInt8]] {
        [
            StoreContentFuzz.schema, "A { }", "`A b` { `x\\`y`: link<`int`>, z: inverse<`A b`.`x\\`y`> }",
            "embedded E { a: set<uuid?>, b: map<mixed>, } # end\nF { e: list<E> k: string? key }",
            "G { a: string unique, b: int, c: string?, indexed(a [c], b desc), unique(c, `b`), indexed(c [cd]) }",
        ].map { Array($0.utf8) }
    }
}
