/// What the words of a case stand for: classes, properties, objects and collections.
import MotteLiveObjects
import MotteNotifications
import MotteQueryEngine
import MotteSchemaModel
import MotteValues

extension CaseRunner {
    func type(_ name: String) throws -> ObjectType { try session.schema.type(named: name) }

    func property(_ type: ObjectType, _ name: String) throws -> Property { try type.requiredProperty(named: name) }

    func table(_ type: ObjectType) throws -> TableKey {
        guard let key = type.tableKey else { throw CaseFailure("\(type.name) has no table") }
        return key
    }

    func column(_ type: ObjectType, _ name: String) throws -> ColumnKey {
        guard let key = try property(type, name).columnKey else { throw CaseFailure("\(name) has no column") }
        return key
    }

    // MARK: Objects

    /// `Class/key` or `@name`; nil when there is no object with that key.
    func findObject(_ input: inout CaseCursor) throws -> LiveObject? {
        if input.accept("@") {
            let name = try input.needName()
            guard let object = objects[name] else { throw CaseFailure("'@\(name)' was not declared") }
            return object
        }
        let type = try type(try input.needName())
        try input.need("/")
        let key = try input.needKey(resolve).owned
        return try driver.find(session, type, key)
    }

    func needObject(_ input: inout CaseCursor) throws -> LiveObject {
        let start = input.rest
        guard let object = try findObject(&input) else { throw CaseFailure("there is no such object: \(start)") }
        return object
    }

    var resolve: CaseCursor.Resolve {
        { input in .link(try self.needObject(&input).link) }
    }

    // MARK: Collections

    func startsCollection(_ input: CaseCursor) -> Bool {
        var ahead = input
        return ahead.accept("$") || ahead.accept("all") || ahead.accept("backlinks") || ahead.accept("run")
            || ahead.accept("section")
    }

    private func baseCollection(_ input: inout CaseCursor) throws -> LiveCollection {
        if input.accept("all") { return try driver.all(session, try input.needName()) }
        if input.accept("run") { return try query(try input.needName()).results() }
        if input.accept("section") {
            let sections = try sections(try input.needName())
            return try sections.section(at: Int(try input.needInteger())).results()
        }
        if input.accept("$") {
            let name = try input.needName()
            guard let collection = collections[name] else { throw CaseFailure("'$\(name)' was not declared") }
            return collection
        }
        if input.accept("backlinks") {
            let object = try needObject(&input)
            try input.need("via")
            let origin = try type(try input.needName())
            try input.need(".")
            return try object.backlinks(origin: try table(origin), try column(origin, try input.needName()))
        }
        let object = try needObject(&input)
        try input.need(".")
        let name = try input.needName()
        let property = try property(try objectType(object), name)
        if property.type == .mixed, !property.isCollection, let column = property.columnKey {
            guard let nested = try driver.nested(object, column) else {
                throw DatabaseError(.wrongType, "\(name) holds no list or map")
            }
            return nested
        }
        return try driver.collection(object, name)
    }

    func needCollection(_ input: inout CaseCursor) throws -> LiveCollection {
        var collection = try baseCollection(&input)
        while true {
            if input.accept("where") {
                let text = try input.needText()
                let arguments = try input.acceptArguments(resolve).map(\.owned)
                collection = try driver.filter(collection, text, arguments)
            } else if input.accept("sorted") {
                collection = try driver.sorted(collection, try sortKeys(&input))
            } else if input.accept("distinct") {
                let paths = input.accept("by") ? try sortKeys(&input).map(\.path) : []
                collection = try driver.distinct(collection, paths)
            } else if input.accept("limited") {
                collection = try collection.limited(to: Int(try input.needInteger()))
            } else if input.accept("snapshot") {
                collection = try collection.snapshot()
            } else if input.accept("results") {
                collection = try collection.results()
            } else if input.accept("frozen") {
                collection = try driver.freeze(collection)
            } else if input.accept("at") {
                collection = try nested(&input, in: collection)
            } else {
                return collection
            }
        }
    }

    private func sortKeys(_ input: inout CaseCursor) throws -> [(path: String, isAscending: Bool)] {
        var keys: [(path: String, isAscending: Bool)] = []
        repeat {
            var path = try input.needName()
            while input.accept(".") { path += "." + (try input.needName()) }
            keys.append((path, !input.accept("desc")))
        } while input.accept(",")
        return keys
    }

    func needList(_ input: inout CaseCursor) throws -> any CaseList { try driver.list(try needCollection(&input)) }

    func elements(_ collection: LiveCollection, _ input: CaseCursor) throws -> Literal {
        if let entries = try entries(collection) { return .single(input.nested(entries)) }
        return .list(try driver.elements(collection).map { input.kept($0) })
    }

    /// One property of every element, by single reads, compared with the bulk read.
    func values(_ name: String, of collection: LiveCollection, _ input: CaseCursor) throws -> Literal {
        guard let target = collection.target, let type = try session.schema[target] else {
            throw CaseFailure("this is no collection of objects")
        }
        let column = try column(type, name)
        let count = try driver.count(collection)
        var values: [ValueView] = []
        for index in 0 ..< count {
            guard let object = try driver.object(collection, at: index) else {
                throw CaseFailure("element \(index) is gone")
            }
            values.append(input.kept(try driver.get(object, name)))
        }
        var read = Array(repeating: ValueView.null, count: count)
        let got = try read.withUnsafeMutableBufferPointer { buffer in
            guard let start = buffer.baseAddress else { return 0 }
            return try collection.readValues(
                [column], first: 0, count: count, into: start, rowStride: 1, columnStride: 1)
        }
        guard got == count, Literal.list(read).isSame(as: .list(values)) else {
            let bulk = Literal.list(read).text
            throw CaseFailure("single reads give \(Literal.list(values).text), the bulk read \(bulk)")
        }
        return .list(values)
    }

    func query(_ name: String) throws -> PreparedQuery {
        guard let query = queries[name] else { throw CaseFailure("the query '\(name)' was not declared") }
        return query
    }

    func sections(_ name: String) throws -> LiveSections {
        guard let known = sections[name] else { throw CaseFailure("the sections '\(name)' were not declared") }
        return known
    }
}
