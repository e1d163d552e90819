/// Steps about whole files: ways to open, migrations, copies, compaction, salvage, statistics, import and export.
import Foundation
import MotteExchange
import MotteLiveObjects
import MotteRealmFile
import MotteSchemaModel
import MotteStorage
import MotteValues

extension CaseRunner {
    // MARK: Ways to open

    /// One word of how to open; false if it is none.
    func option(_ input: inout CaseCursor, _ options: inout SessionOptions) throws -> Bool {
        if input.accept("path") {
            options.location = .file(try filePath(&input))
        } else if input.accept("readonly") {
            options.isReadOnly = true
        } else if input.accept("nocreate") {
            options.noCreate = true
        } else if input.accept("immutable") {
            options.isImmutable = true
        } else if input.accept("version") {
            options.schemaVersion = UInt64(try input.needInteger())
        } else if input.accept("reset") {
            options.migration.deletesInsteadOfMigrating = true
        } else if input.accept("live") {
            options.maximumLiveVersions = Int(try input.needInteger())
        } else if input.accept("memory") {
            options.memoryBytes = Int(try input.needInteger())
        } else if input.accept("largest") {
            options.mostFileBytes = Int(try input.needInteger())
        } else if input.accept("patience") {
            options.openTimeoutMilliseconds = try input.needInteger()
        } else if input.accept("threads") {
            options.queryThreads = Int(try input.needInteger())
        } else if input.accept("seed") {
            options.seedPath = try filePath(&input)
        } else if input.accept("locks") {
            options.lockDirectory = try filePath(&input)
        } else if input.accept("durability") {
            let name = try input.needName()
            options.durability = name == "full" ? .full : name == "relaxed" ? .relaxed : .none
        } else if input.accept("compacting") {
            options.compactOnLaunch = { total, used in total >= used }
        } else if input.accept("rename") {
            let (type, from, to) = try renaming(&input)
            if let from {
                options.migration.renames.renameProperty(of: type, from: from, to: to)
            } else {
                options.migration.renames.renameType(type, to: to)
            }
        } else if input.accept("drop") {
            options.migration.deletedTypes.append(try input.needName())
        } else {
            return false
        }
        return true
    }

    private func filePath(_ input: inout CaseCursor) throws -> String {
        folder.appendingPathComponent(try fileName(&input)).path
    }

    /// `Class to New`, or `Class.old to new`.
    private func renaming(_ input: inout CaseCursor) throws -> (type: String, from: String?, to: String) {
        let type = try input.needName()
        let from = input.accept(".") ? try input.needName() : nil
        try input.need("to")
        return (type, from, try input.needName())
    }

    /// The options with the steps that were kept for this session.
    func withSteps(_ options: SessionOptions) -> SessionOptions {
        var options = options
        let (migrating, filling) = (self.migrating, self.filling)
        (self.migrating, self.filling, failure) = ([], [], nil)
        // Called while `open` waits for it, on this thread.
        nonisolated(unsafe) let runner = self
        if !migrating.isEmpty {
            options.migration.step = { (migration) throws(DatabaseError) in
                runner.migration = migration
                defer { runner.migration = nil }
                try runner.run(migrating, in: migration.new)
            }
        }
        if !filling.isEmpty {
            options.firstOpen = { (session) throws(DatabaseError) in try runner.run(filling, in: session) }
        }
        return options
    }

    func run(_ steps: [String], in session: Session) throws(DatabaseError) {
        let before = current
        current = session
        defer { current = before }
        for text in steps {
            do {
                var input = CaseCursor(text, arena)
                try step(&input)
                if !input.isAtEnd() { throw CaseFailure("unexpected '\(input.rest)'") }
            } catch let error as DatabaseError {
                throw error
            } catch {
                failure = error
                throw DatabaseError(.callback, "in a callback: \(text): \(error)")
            }
        }
    }

    // MARK: Migrations

    private func stepOfMigration(_ input: inout CaseCursor) throws -> Bool {
        guard let migration else { return false }
        if input.accept("each") {
            try each(&input, migration)
        } else if input.accept("rename") {
            let (type, from, to) = try renaming(&input)
            if let from {
                try migration.renameProperty(of: type, from: from, to: to)
            } else {
                try migration.renameType(type, to: to)
            }
        } else if input.accept("drop") {
            _ = try migration.deleteData(ofType: try input.needName())
        } else if input.accept("old") {
            current = migration.old
            defer { current = migration.new }
            try step(&input)
        } else {
            return false
        }
        return true
    }

    /// `each Class a=old.b c=1`
    private func each(_ input: inout CaseCursor, _ migration: Migration) throws {
        let name = try input.needName()
        let start = input
        _ = input.takeRest()
        var failure: (any Error)?
        try migration.enumerate(name) { (old, new) throws(DatabaseError) in
            guard let old, let new else { throw DatabaseError(.internal, "an object has no counterpart") }
            var input = start
            do {
                while !input.isAtEnd() {
                    let column = try new.column(named: try input.needName())
                    try input.need("=")
                    if input.accept("old") {
                        try input.need(".")
                        try new.set(column, to: try old.get(try old.column(named: try input.needName())))
                    } else {
                        try new.set(column, to: try input.needValue(resolve))
                    }
                }
            } catch let error as DatabaseError {
                throw error
            } catch {
                failure = error
                throw DatabaseError(.callback, "\(error)")
            }
        }
        if let failure { throw failure }
    }

    // MARK: Files

    func stepOfWholeFiles(_ input: inout CaseCursor) throws -> Bool {
        if try stepOfMigration(&input) { return true }
        if input.accept("migrating") {
            migrating.append(input.takeRest())
        } else if input.accept("filling") {
            filling.append(input.takeRest())
        } else if input.accept("erase") {
            let erased = try Session.deleteFile(options(try fileName(&input)))
            if !input.isAtEnd() { try expectFlag(&input, erased) }
        } else if input.accept("salvage") {
            try salvage(&input)
        } else if input.accept("compact") {
            if input.accept("online") {
                _ = try session.compactOnline()
            } else if input.isAtEnd() {
                _ = try session.compact()
            } else {
                _ = try Session.compact(options(try fileName(&input)))
            }
        } else if input.accept("copy") {
            let path = try filePath(&input)
            var encryption = CopyEncryption.same
            if input.accept("encrypt") { encryption = try readEncryptionKey(&input).map { .key($0) } ?? .plain }
            try session.copy(to: path, encryption: encryption)
        } else if input.accept("export") {
            try export(&input)
        } else if input.accept("arrow") {
            try arrow(&input)
        } else if input.accept("import-realm") {
            try importRealm(&input)
        } else if input.accept("import") {
            try importText(&input)
        } else if input.accept("convert") {
            let source = try realmFile(&input)
            try input.need("to")
            _ = try RealmConversion.convert(source, to: try filePath(&input))
        } else if input.accept("delete everything") {
            try driver.deleteAll(session)
        } else {
            return false
        }
        return true
    }

    private func salvage(_ input: inout CaseCursor) throws {
        let options = options(try fileName(&input))
        try input.need("to")
        let report = try OutputFile.create(try filePath(&input)) { (sink) throws(DatabaseError) in
            try SalvageLines.run(options, to: &sink)
        }
        if !report.losses.isEmpty { throw CaseFailure("lost: \(report.losses)") }
    }

    // MARK: Import and export

    /// `a` `b.c`
    private func columnNames(_ input: inout CaseCursor) throws -> [String] {
        var names: [String] = []
        while input.isNext("`") { names.append(try input.needText()) }
        return names
    }

    private func export(_ input: inout CaseCursor) throws {
        let path = try filePath(&input)
        var format = "json", columns: [String]?, json = JSONExport.Options()
        while true {
            if input.accept("json") {
                format = "json"
            } else if input.accept("lines") {
                format = "lines"
            } else if input.accept("csv") {
                format = "csv"
            } else if input.accept("sqlite") {
                format = "sqlite"
            } else if input.accept("document") {
                format = "document"
            } else if input.accept("nested") {
                json.links = .nested
            } else if input.accept("columns") {
                columns = try columnNames(&input)
            } else {
                break
            }
        }
        let session = try session
        var writer = try JSONExport(session, json)
        if input.accept("everything") {
            if format == "sqlite" { return try SQLiteExport.write(session, to: path) }
            return try OutputFile.create(path) { (sink) throws(DatabaseError) in
                try writer.store(as: format == "document" ? .array : .lines, to: &sink)
            }
        }
        guard startsCollection(input) else {
            let object = try needObject(&input)
            return try OutputFile.create(path) { (sink) throws(DatabaseError) in try writer.object(object, to: &sink) }
        }
        let collection = try needCollection(&input)
        let type = try collection.target.flatMap { try session.schema[$0] }
        let schema = try session.schema
        var paths: [ColumnPath]?
        if let type, let columns {
            paths = try columns.map { try ColumnPath($0, of: type, in: schema) }
        }
        try OutputFile.create(path) { (sink) throws(DatabaseError) in
            guard format == "csv", let type else {
                return try writer.collection(
                    collection, form: format == "json" ? .array : .lines, columns: paths, to: &sink)
            }
            var csv = try CSVExport(session, paths ?? ColumnPath.stored(of: type))
            try csv.collection(collection, to: &sink)
        }
    }

    private func importText(_ input: inout CaseCursor) throws {
        var ahead = input
        let path = try filePath(&ahead)
        if ahead.accept("sqlite") {
            input = ahead
            let session = try session
            _ = try session.requireWrite()
            _ = try SQLiteImport.run(try SQLiteSource(path), session)
            return
        }
        let file = try InputFile(try filePath(&input))
        defer { withExtendedLifetime(file) {} }
        var isCSV = false, policy = UpdatePolicy.error, ignoresUnknown = false
        while true {
            if input.accept("csv") {
                isCSV = true
            } else if input.accept("modified") {
                policy = .modified
            } else if input.accept("all") {
                policy = .all
            } else if input.accept("unknown") {
                ignoresUnknown = true
            } else {
                break
            }
        }
        let session = try session
        let table = input.isAtEnd() ? nil : try self.table(try type(try input.needName()))
        _ = try session.requireWrite()
        guard isCSV, let table else {
            var options = JSONImport.Options()
            options.policy = policy
            options.ignoresUnknownProperties = ignoresUnknown
            return try JSONImport(session, into: table, options).run(file.bytes)
        }
        var options = CSVImport.Options()
        options.policy = policy
        try CSVImport(session, into: table, options).run(file.bytes)
    }

    /// ``arrow [columns `a` `b.c`] [views] [modified | all-of-them] [unknown] COLLECTION to CLASS``
    private func arrow(_ input: inout CaseCursor) throws {
        var options = ArrowExport.Options(), policy = UpdatePolicy.error, ignoresUnknown = false
        options.batchRows = 2
        while true {
            if input.accept("columns") {
                options.columns = try columnNames(&input)
            } else if input.accept("views") {
                options.textViews = true
            } else if input.accept("modified") {
                policy = .modified
            } else if input.accept("all-of-them") {
                policy = .all
            } else if input.accept("unknown") {
                ignoresUnknown = true
            } else {
                break
            }
        }
        let collection = try needCollection(&input)
        try input.need("to")
        let table = try self.table(try type(try input.needName()))
        let session = try session
        let export = try ArrowExport(collection, options)
        _ = try session.requireWrite()
        try session.atomically { () throws(DatabaseError) in
            let fields = try ArrowLoop.field(export.schema)
            let importer = try ArrowImport(
                session, into: table, fields, policy: policy, ignoresUnknown: ignoresUnknown)
            while let batch = try export.next() { try ArrowLoop.lend(batch, fields, importer.insert) }
        }
    }

    /// One of the kept files of Realm, by its name.
    private func realmFile(_ input: inout CaseCursor) throws -> String {
        let tests = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        return tests.appendingPathComponent("RealmFiles/\(try fileName(&input)).realm").path
    }

    private func importRealm(_ input: inout CaseCursor) throws {
        let file = try RealmFile(try realmFile(&input))
        var options = RealmImport.Options()
        if input.accept("modified") {
            options.policy = .modified
        } else if input.accept("all") {
            options.policy = .all
        }
        _ = try RealmImport(file, try RealmSchema(file), into: try session, options).run()
    }

    // MARK: Expectations

    func expectOfFiles(_ input: inout CaseCursor) throws -> Bool {
        if input.accept("sound") {
            try expectSound(&input)
        } else if input.accept("kept-for") {
            let name = input.accept("nobody") ? nil : try input.needText()
            let found = try session.changeConsumers().first { $0.name == name }
            if input.accept("none") {
                if found != nil { throw CaseFailure("changes are kept for \(name ?? "nobody")") }
            } else {
                try expectEqual(&input, .int(found.map { Int64($0.backlog.commits) } ?? -1))
            }
        } else if input.accept("file") {
            try expectFlag(&input, try Session.exists(options(try fileName(&input))))
        } else if input.accept("text") {
            let text = try String(contentsOfFile: try filePath(&input), encoding: .utf8)
            try expectEqual(&input, .string(text))
        } else if input.accept("plan") {
            try expectPlan(&input)
        } else if input.accept("version-of") {
            let version = try Session.storedSchemaVersion(options(try fileName(&input)))
            try expectEqual(&input, version.map { .int(Int64(clamping: $0)) } ?? .null)
        } else if input.accept("schema-version") {
            try expectEqual(&input, .int(Int64(clamping: try session.schemaVersion)))
        } else if input.accept("notes-of") {
            try expectNotesOf(&input)
        } else if input.accept("schema-of") {
            try expectSchemaOf(&input)
        } else {
            return false
        }
        return true
    }

    private func expectEqual(_ input: inout CaseCursor, _ value: Value) throws {
        try value.withView { view in try expectEqual(&input, .single(view)) }
    }

    private func expectSound(_ input: inout CaseCursor) throws {
        let report = try session.committedSnapshot().verify()
        let space = try session.database.spaceStatistics()
        if try session.version == space.version, space.classes.reduce(0, { $0 + $1.objects }) != report.objects {
            throw CaseFailure("the statistics count other objects than the verification")
        }
        _ = try session.database.readerStatistics()
        try expectFlag(&input, report.isSound)
    }

    private func expectPlan(_ input: inout CaseCursor) throws {
        var options = options()
        while try option(&input, &options) {}
        try input.need("schema")
        options.schema = try SchemaText.parse(try input.needText())
        try expectEqual(&input, .string(try Session.schemaPlan(options).text))
    }

    private func expectNotesOf(_ input: inout CaseCursor) throws {
        let notes = try SQLiteSource(try filePath(&input)).notes
        try expectEqual(&input, .int(Int64(notes.count)))
    }

    private func expectSchemaOf(_ input: inout CaseCursor) throws {
        let path = try filePath(&input)
        let file = try InputFile(path)
        defer { withExtendedLifetime(file) {} }
        let found: Schema
        if input.accept("sqlite") {
            found = try SQLiteSource(path).schema
        } else if input.accept("csv") {
            let name = try input.needName()
            let key = input.accept("key") ? try input.needName() : nil
            found = Schema([try CSVInference.objectType(named: name, file.bytes, CSVImport.Options(), key: key)])
        } else {
            guard let header = try StoreDumpHeader(file.bytes) else { throw CaseFailure("the file is no dump") }
            found = header.schema
        }
        let expected = try SchemaText.parse(try input.needText())
        if SchemaText.print(found) != SchemaText.print(expected) {
            throw CaseFailure("the schema is \(SchemaText.print(found))")
        }
    }
}
