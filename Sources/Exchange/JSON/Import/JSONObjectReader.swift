/// The properties of one object: plain values at once, the rest when the object has its key.
///
/// Records of a text mostly name the same properties in the same order and write values without ornament: that is tried
/// first, and leaves everything else to the whole grammar, which reads the same.
import MotteLiveObjects
import MotteSchemaModel
import MotteValues

struct JSONObjectReader {
    let ignoresUnknown: Bool
    /// What links and mixed values are looked up with; nil where a thread reads ahead, which sees no such classes.
    let links: JSONImport?

    func read(_ reader: inout JSONReader, into scratch: ObjectScratch) throws(DatabaseError) {
        let plan = scratch.plan
        let scalars = JSONScalarReader(arena: scratch.arena)
        // The field read last, -1 before the first.
        var last = -1
        try reader.beginObject()
        while true {
            let expected = scratch.following(last)
            let index: Int
            if expected < plan.fields.count, reader.take(key: plan.jsonKey(expected)) {
                index = expected
            } else {
                guard let key = try reader.nextKey() else { return }
                if let first = key.raw.first, first == UInt8(ascii: "$") {
                    try readMark(key, &reader, scratch)
                    continue
                }
                let name = scalars.plain(key)
                guard let found = plan.find(name, hint: expected) else {
                    try passUnknown(name, &reader, plan)
                    continue
                }
                index = found
                scratch.follow(last, index)
            }
            last = index
            guard !scratch.isNamed[index] else {
                throw reader.failure("\(plan.type.name).\(plan.fields[index].property.name) is given twice")
            }
            scratch.isNamed[index] = true
            let known = plan.quick[index]
            if let value = reader.quick(known.reading) {
                scratch.put(index, value)
            } else {
                try readOther(index, &reader, scratch, scalars)
            }
        }
    }

    private func readOther(
        _ index: Int, _ reader: inout JSONReader, _ scratch: ObjectScratch, _ scalars: JSONScalarReader
    ) throws(DatabaseError) {
        let field = scratch.plan.fields[index]
        guard field.position >= 0, field.property.type.isPlainJSON else {
            return try readCell(index, &reader, scratch)
        }
        do throws(DatabaseError) {
            scratch.put(index, try scalars.read(field.property.type, &reader))
        } catch { throw located(error, scratch.plan, index, reader) }
    }

    /// Links that can be followed at once go with the row; everything else that is no plain value waits.
    private func readCell(
        _ index: Int, _ reader: inout JSONReader, _ scratch: ObjectScratch
    ) throws(DatabaseError) {
        let field = scratch.plan.fields[index]
        let line = reader.line(from: scratch.line(reader), at: scratch.offset)
        let text = try reader.skip()
        if field.position >= 0, let value = try immediate(field, text, scratch) {
            scratch.put(index, value)
        } else {
            scratch.cells.append(ObjectScratch.Cell(field: index, text: text, line: line))
        }
    }

    private func immediate(
        _ field: ClassPlan.Field, _ text: UnsafeRawBufferPointer, _ scratch: ObjectScratch
    ) throws(DatabaseError) -> ValueView? {
        // Where there is none, no class has such fields.
        guard let links else { return nil }
        var reader = JSONReader(text)
        if field.property.type == .mixed {
            let mixed = JSONMixedReader(importer: links, arena: scratch.arena, isLast: false)
            // Mistakes are found again, with their place, when the cell is assigned.
            return try? mixed.read(&reader)
        }
        guard let target = field.target, !field.ownsTarget, text.first != UInt8(ascii: "{") else { return nil }
        // Mistakes are found again, with their place, when the cell is assigned.
        guard case .link(let link)? = try? links.reference(&reader, target, isLast: false) else {
            return text.elementsEqual("null".utf8) ? .null : nil
        }
        return .link(link)
    }

    /// `$key` and `$class` of an object.
    private func readMark(
        _ key: JSONText, _ reader: inout JSONReader, _ scratch: ObjectScratch
    ) throws(DatabaseError) {
        if key.raw.elementsEqual("$key".utf8) {
            guard try reader.peek() == .number, let number = try reader.number().int, number >= 0 else {
                throw reader.failure("\"$key\" is a number from 0 on")
            }
            scratch.sourceKey = number
        } else if key.raw.elementsEqual("$class".utf8) {
            let name = try JSONScalarReader(arena: scratch.arena).text(&reader)
            guard name.elementsEqual(scratch.plan.type.name.utf8) else {
                throw reader.failure(
                    "\"$class\" is \(JSONScalarReader.shown(name)), a \(scratch.plan.type.name) is expected")
            }
        } else {
            throw reader.failure("an object has no \(JSONScalarReader.shown(key.raw)); only \"$class\" and \"$key\"")
        }
    }

    private func passUnknown(
        _ name: UnsafeRawBufferPointer, _ reader: inout JSONReader, _ plan: ClassPlan
    ) throws(DatabaseError) {
        let text = String(decoding: name, as: UTF8.self)
        guard plan.type.property(named: text) == nil else {
            throw reader.failure("\(plan.type.name).\(text) is computed; it cannot be imported")
        }
        if ignoresUnknown {
            _ = try reader.skip()
            return
        }
        do throws(DatabaseError) { _ = try plan.type.requiredProperty(named: text) } catch {
            throw ExchangeError.at(line: reader.line, error)
        }
    }

    private func located(
        _ error: DatabaseError, _ plan: ClassPlan, _ index: Int, _ reader: JSONReader
    ) -> DatabaseError {
        // Mistakes of JSON know their place already.
        if error.code == .invalidArgument || error.code == .invalidUTF8 { return error }
        return ExchangeError.at(line: reader.line, plan.error(error, at: index))
    }
}
