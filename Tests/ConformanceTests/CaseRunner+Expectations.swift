/// What a case can expect, and change sets as text.
import MotteLiveObjects
import MotteNotifications
import MotteQueryEngine
import MotteSchemaModel
import MotteStorage
import MotteValues

extension CaseRunner {
    func expect(_ input: inout CaseCursor) throws {
        if try expectOfFiles(&input) { return }
        if try expectNumbers(&input) { return }
        if try expectStates(&input) { return }
        if startsCollection(input) { return try expectElements(&input) }
        try expectValue(&input)
    }

    private func expectNumbers(_ input: inout CaseCursor) throws -> Bool {
        let totals: [(String, AggregateOperation)] = [
            ("min", .min), ("max", .max), ("sum", .sum), ("avg", .average), ("nonnull", .count),
        ]
        for (word, operation) in totals where input.accept(word) {
            try expectTotal(&input, operation)
            return true
        }
        if input.accept("count") {
            let collection = try needCollection(&input)
            try expectNumber(&input, try driver.count(collection))
        } else if input.accept("classes") {
            try expectNumber(&input, try session.schema.objectTypes.count)
        } else if input.accept("objects") {
            let type = try type(try input.needName())
            try expectNumber(&input, try session.table(try table(type)).liveCount)
        } else if input.accept("index") {
            try input.need("of")
            let value = try input.needValue(resolve)
            try input.need("in")
            let collection = try needCollection(&input)
            try expectNumber(&input, try driver.index(collection, of: value) ?? -1)
        } else if input.accept("section-keys") {
            let sections = try sections(try input.needName())
            let keys = try (0 ..< sections.count()).map { try sections.key(at: $0) }
            try expectEqual(&input, .list(keys.map { input.kept($0) }))
        } else if input.accept("section-of") {
            let key = try input.needValue(resolve).owned
            try input.need("in")
            try expectNumber(&input, try sections(try input.needName()).find(key) ?? -1)
        } else if input.accept("place") {
            let sections = try sections(try input.needName())
            let place = try sections.place(Int(try input.needInteger()))
            try expectNumber(&input, place.section)
            if try input.needInteger() != place.item { throw CaseFailure("is element \(place.item)") }
        } else if input.accept("groups") {
            try expectGroups(&input)
        } else if input.accept("steps") {
            try expectSteps(&input)
        } else if input.accept("group-columns") {
            let table = try needGroups(&input).table()
            try expectEqual(&input, .list(table.columns.map { input.kept(.string($0.name)) }))
        } else if input.accept("counter") {
            try expectCounter(&input)
        } else if input.accept("values") {
            let name = try input.needName()
            try input.need("of")
            let collection = try needCollection(&input)
            try expectEqual(&input, try values(name, of: collection, input))
        } else {
            return false
        }
        return true
    }

    func needGroups(_ input: inout CaseCursor) throws -> LiveGroups {
        let text = try input.needText()
        let arguments = try input.acceptArguments(resolve).map(\.owned)
        try input.need("of")
        return try needCollection(&input).groups(text, Arguments(arguments))
    }

    /// A part of how a collection, or groups of it, would be found, with single spaces between the words of the table.
    private func expectSteps(_ input: inout CaseCursor) throws {
        let isAnalyzed = input.accept("analyzed"), isJSON = input.accept("json")
        let report: PlanReport
        if input.accept("groups") {
            report = try needGroups(&input).explain(isAnalyzed: isAnalyzed)
        } else {
            try input.need("of")
            report = try needCollection(&input).explain(isAnalyzed: isAnalyzed)
        }
        try input.need("has")
        let expected = try input.needText()
        let words = (isJSON ? report.json : report.text).split(whereSeparator: { $0 == " " || $0 == "\n" })
        let actual = words.joined(separator: " ")
        if !actual.contains(expected) { throw CaseFailure("is `\(actual)`") }
    }

    /// The values of all groups, one group after another.
    private func expectGroups(_ input: inout CaseCursor) throws {
        let groups = try needGroups(&input)
        let table = try groups.table()
        var values: [ValueView] = []
        for row in 0 ..< table.count {
            for column in table.columns.indices { values.append(try groups.view(row, column)) }
            let keys = (0 ..< table.keyCount).map { table.view($0, row) }
            if try groups.find(keys) != row { throw CaseFailure("group \(row) is not found by its keys") }
        }
        try expectEqual(&input, .list(values))
    }

    private func expectStates(_ input: inout CaseCursor) throws -> Bool {
        if input.accept("changes") {
            try expectChanges(&input)
        } else if input.accept("query") {
            try expectQuery(&input)
        } else if input.accept("queued") {
            try expectQueued(&input)
        } else if input.accept("schema") {
            try expectSchema(&input)
        } else if input.accept("in-write") {
            try expectFlag(&input, try session.isInWrite)
        } else if input.accept("subset") {
            try expectRelation(&input, .isSubset)
        } else if input.accept("superset") {
            try expectRelation(&input, .isSuperset)
        } else if input.accept("intersects") {
            try expectRelation(&input, .intersects)
        } else if input.accept("key") {
            try expectKey(&input)
        } else if input.accept("parent") {
            try expectParent(&input)
        } else if input.accept("missing") {
            try expectPresence(&input, isPresent: false)
        } else if input.accept("exists") {
            try expectPresence(&input, isPresent: true)
        } else if input.accept("same") {
            let left = try needObject(&input), right = try needObject(&input)
            try expectFlag(&input, try driver.isSame(left, right))
        } else {
            return false
        }
        return true
    }

    // MARK: Values

    func expectEqual(_ input: inout CaseCursor, _ actual: Literal) throws {
        try input.need("==")
        var expected = try input.needLiteral(resolve)
        // A list inside a mixed value is one value.
        if case .list(let values) = expected, case .single = actual {
            expected = .single(input.nested(.list(values.map(\.owned))))
        }
        if !expected.isSame(as: actual) { throw CaseFailure("is \(actual.text)") }
    }

    private func expectNumber(_ input: inout CaseCursor, _ actual: Int) throws {
        try expectEqual(&input, .single(.int(Int64(actual))))
    }

    func expectFlag(_ input: inout CaseCursor, _ actual: Bool) throws {
        let expected = input.accept("yes")
        if !expected { try input.need("no") }
        if expected != actual { throw CaseFailure("is \(actual ? "yes" : "no")") }
    }

    private func expectValue(_ input: inout CaseCursor) throws {
        let start = input
        let object = try needObject(&input)
        try input.need(".")
        let name = try input.needName()
        let property = try property(try objectType(object), name)
        if property.isCollection || !property.isStored || input.isNext("at") {
            input = start
            return try expectElements(&input)
        }
        let value = try driver.get(object, name)
        try value.withView { view in try expectEqual(&input, .single(view)) }
    }

    private func expectElements(_ input: inout CaseCursor) throws {
        let collection = try needCollection(&input)
        try expectEqual(&input, try elements(collection, input))
    }

    private func expectTotal(_ input: inout CaseCursor, _ operation: AggregateOperation) throws {
        let name = try input.needName()
        try input.need("of")
        let collection = try needCollection(&input)
        var key: ColumnKey?
        if name != "self", let target = collection.target, let type = try session.schema[target] {
            key = try column(type, name)
        }
        let total = try driver.total(collection, operation, key)
        try total.withView { view in try expectEqual(&input, .single(view)) }
    }

    private func expectPresence(_ input: inout CaseCursor, isPresent: Bool) throws {
        let exists: Bool
        if let object = try findObject(&input) { exists = try driver.exists(object) } else { exists = false }
        if exists != isPresent { throw CaseFailure(exists ? "it exists" : "it is missing") }
    }

    private func expectSchema(_ input: inout CaseCursor) throws {
        let expected = SchemaText.print(try SchemaText.parse(try input.needText()))
        let actual = SchemaText.print(try session.schema)
        if expected != actual { throw CaseFailure("the schema is \(actual)") }
    }

    // MARK: Queries and counters

    private func expectQuery(_ input: inout CaseCursor) throws {
        let query = try query(try input.needName())
        if input.accept("count") {
            try expectNumber(&input, try query.count())
        } else if input.accept("arguments") {
            try expectNumber(&input, query.argumentCount)
        } else if input.accept("first") {
            let first = try query.first()
            try expectEqual(&input, .single(first.map { .link($0.link) } ?? .null))
        } else if input.accept("explains") {
            let plan = try query.explain()
            if !plan.contains(try input.needText()) { throw CaseFailure("is `\(plan)`") }
        } else {
            try input.need("describes")
            let text = try query.describe()
            if text != (try input.needText()) { throw CaseFailure("is `\(text)`") }
        }
    }

    private func expectCounter(_ input: inout CaseCursor) throws {
        guard let mark else { throw CaseFailure("there is no mark") }
        let name = try input.needName(), now = try session.counters.read()
        let moved: UInt64
        switch name {
        case "chunks_decoded": moved = now.chunksDecoded - mark.chunksDecoded
        case "rows_evaluated": moved = now.rowsEvaluated - mark.rowsEvaluated
        case "full_reruns": moved = now.fullReruns - mark.fullReruns
        case "log_records_read": moved = now.logRecordsRead - mark.logRecordsRead
        case "index_lookups": moved = now.indexLookups - mark.indexLookups
        default: throw CaseFailure("there is no counter '\(name)'")
        }
        if input.accept("moved") {
            if moved == 0 { throw CaseFailure("\(name) did not move") }
            return
        }
        try expectNumber(&input, Int(moved))
    }

    // MARK: Changes

    func observe(_ input: inout CaseCursor) throws {
        let name = try input.needName()
        let paths = try keyPaths(&input)
        try input.need("=")
        if input.accept("sections") {
            driver.tokens[name] = try sections(try input.needName()).observe(keyPaths: paths)
            return
        }
        if input.accept("section-with") {
            let sections = try sections(try input.needName())
            let section = sections.section(for: try input.needValue(resolve).owned)
            driver.tokens[name] = try section.observe(keyPaths: paths)
            return
        }
        if input.accept("groups") {
            driver.tokens[name] = try needGroups(&input).observe()
            return
        }
        if input.accept("realm") {
            try driver.observe(name, session)
            return
        }
        if !startsCollection(input) {
            var ahead = input
            let object = try needObject(&ahead)
            if ahead.isAtEnd() {
                input = ahead
                try driver.observe(name, paths, object)
                return
            }
        }
        try driver.observe(name, paths, try needCollection(&input))
    }

    /// `a` `b.c`, or none; nil where no paths are named.
    private func keyPaths(_ input: inout CaseCursor) throws -> [String]? {
        guard input.accept("paths") else { return nil }
        if input.accept("none") { return [] }
        var paths: [String] = []
        while !input.isNext("=") { paths.append(try input.needText()) }
        return paths
    }

    private func expectChanges(_ input: inout CaseCursor) throws {
        let name = try input.needName()
        let expected = input.takeRest().split(separator: " ").joined(separator: " ")
        try driver.expectChanges(name, expected, text)
    }

    /// The canonical text of a change set: see docs/testing.md.
    private func text(_ changes: ChangeSet) throws -> String {
        var parts = ["{"]
        if changes.isInitial { parts.append("initial") }
        if changes.isSourceDeleted { parts.append("deleted") }
        if changes.kind == .session { parts.append("advanced") }
        if changes.hasNewSchema { parts.append("schema") }
        let keys = [
            ("deletions", changes.keyDeletions), ("insertions", changes.keyInsertions),
            ("modifications", changes.keyModifications),
        ]
        if keys.contains(where: { !$0.1.isEmpty }) {
            for (label, keys) in keys where !keys.isEmpty { parts += [label] + keys.map { "\"\($0)\"" } }
            return (parts + ["}"]).joined(separator: " ")
        }
        if let notified = changes.sectioned?.changes { parts += sectionWords(notified) }
        if !changes.deletions.isEmpty { parts += ["deletions"] + changes.deletions.map(String.init) }
        if !changes.insertions.isEmpty { parts += ["insertions"] + changes.insertions.map(String.init) }
        if !changes.modificationsOld.isEmpty {
            parts.append("modifications")
            parts += zip(changes.modificationsOld, changes.modificationsNew).map { "\($0):\($1)" }
        }
        if !changes.properties.isEmpty { parts.append("properties") }
        for change in changes.properties {
            parts.append(change.name)
            guard let column = change.column, let property = try propertyAnywhere(column) else { continue }
            if property.isCollection || property.type == .link || change.old.isLink || change.new.isLink { continue }
            parts.append(Self.text(change.old) + ">" + Self.text(change.new))
        }
        return (parts + ["}"]).joined(separator: " ")
    }

    private func sectionWords(_ changes: SectionChanges) -> [String] {
        var words: [String] = []
        func add(_ label: String, _ items: [String]) { if !items.isEmpty { words += [label] + items } }
        func text(_ place: SectionChanges.Place) -> String { "\(place.section).\(place.item)" }
        add("sections-deleted", changes.sectionDeletions.map(String.init))
        add("sections-inserted", changes.sectionInsertions.map(String.init))
        add("deletions", changes.deletions.map(text))
        add("insertions", changes.insertions.map(text))
        add("modifications", changes.modificationsNew.map(text))
        return words
    }

    private static func text(_ value: Value) -> String { value.withView { Literal.text($0) } }

    /// Cases observe objects of one class that has the column.
    private func propertyAnywhere(_ column: ColumnKey) throws -> Property? {
        for type in try session.schema.objectTypes {
            if let property = type.property(column) { return property }
        }
        return nil
    }
}

extension Value {
    fileprivate var isLink: Bool {
        if case .link = self { true } else { false }
    }
}
