/// The steps of a case, one function each or one line.
import Foundation
import MotteLiveObjects
import MotteNotifications
import MotteQueryEngine
import MotteSchemaModel
import MotteStorage
import MotteValues

extension CaseRunner {
    func step(_ input: inout CaseCursor) throws {
        countStep()
        if try stepOfFiles(&input) { return }
        if try stepOfWholeFiles(&input) { return }
        _ = try session
        if try stepOfSessions(&input) { return }
        if try stepOfObjects(&input) { return }
        if try stepOfLists(&input) { return }
        if try stepOfCollections(&input) { return }
        throw CaseFailure("unknown step '\(input.rest)'")
    }

    private func stepOfFiles(_ input: inout CaseCursor) throws -> Bool {
        if input.accept("session") {
            try openSession(&input)
        } else if input.accept("file") {
            try writeFile(&input)
        } else if input.accept("truncate") {
            try truncateFile(&input)
        } else if input.accept("unlink") {
            try FileManager.default.removeItem(at: folder.appendingPathComponent(try fileName(&input)))
        } else if input.accept("folder") {
            let path = folder.appendingPathComponent(try fileName(&input))
            try FileManager.default.createDirectory(at: path, withIntermediateDirectories: false)
        } else if input.accept("fails") {
            try fails(&input)
        } else if input.accept("encrypt") {
            encryptionKey = try readEncryptionKey(&input)
        } else if input.accept("shut") {
            closeAll()
        } else if input.accept("reopen") {
            closeAll()
            try openMain()
        } else {
            return false
        }
        return true
    }

    private func savepoint(_ input: inout CaseCursor) throws -> WriteTransaction.Savepoint {
        let name = try input.needName()
        guard let known = savepoints[name] else { throw CaseFailure("there is no savepoint '\(name)'") }
        return known
    }

    private func batch(_ input: inout CaseCursor) throws -> ChangeBatch {
        let name = try input.needName()
        guard let known = batches[name] else { throw CaseFailure("there is no batch '\(name)'") }
        return known
    }

    private func stepOfSessions(_ input: inout CaseCursor) throws -> Bool {
        if input.accept("elsewhere") {
            try elsewhere(&input)
        } else if input.accept("write") {
            let limit = input.accept("timeout") ? try input.needInteger() : 10_000
            try driver.beginWrite(session, timeoutMilliseconds: limit)
        } else if input.accept("commit") {
            var skipped: [String] = []
            if input.accept("skipping") {
                while !input.isAtEnd() { skipped.append(try input.needName()) }
            }
            try driver.commit(session, skipping: skipped)
        } else if input.accept("cancel") {
            try driver.cancel(session)
        } else if input.accept("savepoint") {
            let name = try input.needName()
            savepoints[name] = try session.savepoint()
        } else if input.accept("release") {
            try session.release(try savepoint(&input))
        } else if input.accept("rollback") {
            try session.rollBack(to: try savepoint(&input))
        } else if input.accept("changes") {
            let name = try input.needName()
            if input.accept("between") {
                let former = try input.needName()
                guard let before = sessions[former] else { throw CaseFailure("there is no session '\(former)'") }
                batches[name] = try session.changeBatch(since: before)
            } else if input.accept("to") {
                let target = try input.needName()
                guard let other = sessions[target] else { throw CaseFailure("there is no session '\(target)'") }
                batches[name] = try session.changeBatch(to: other)
            } else {
                let version = input.accept("since") ? try batch(&input).to : Version(0)
                batches[name] = try session.changeBatch(since: version)
            }
        } else if input.accept("inverse") {
            let name = try input.needName()
            batches[name] = try batch(&input).inverse()
        } else if input.accept("apply") {
            let outcome = try session.apply(try batch(&input))
            if !input.isAtEnd() { try expectFlag(&input, outcome == .applied) }
        } else if input.accept("keep") {
            let version = input.accept("none") ? nil : try session.version
            if input.accept("for") {
                let wasKnown = try session.keepChanges(since: version, for: try input.needText())
                if !input.isAtEnd() { try expectFlag(&input, wasKnown) }
            } else {
                try session.keepChanges(since: version)
            }
        } else if input.accept("refresh") {
            let moved = try driver.refresh(session)
            if !input.isAtEnd() { try expectFlag(&input, moved) }
        } else if input.accept("wait") {
            if try !session.waitForChange(timeoutMilliseconds: 2_000) { throw CaseFailure("nothing came") }
        } else if input.accept("query-timeout") {
            try session.queryControl.timeoutMilliseconds = try input.needInteger()
        } else if input.accept("interrupt") {
            try session.queryControl.interrupt()
        } else if input.accept("dispatch") {
            try dispatch()
        } else if input.accept("close") {
            try driver.close(session)
        } else if input.accept("use") {
            let name = try input.needName()
            guard let known = sessions[name] else { throw CaseFailure("there is no session '\(name)'") }
            current = known
        } else if input.accept("freeze") {
            let name = try input.needName()
            sessions[name] = try driver.freeze(session)
        } else if input.accept("mark") {
            mark = try session.counters.read()
        } else if try stepOfHandover(&input) {
            return true
        } else if input.accept("observe") {
            try observe(&input)
        } else if input.accept("sections") {
            let name = try input.needName()
            try input.need("=")
            let collection = try needCollection(&input)
            try input.need("by")
            let path = try input.needText()
            sections[name] = try collection.sectioned(by: path, part: input.accept("letters") ? .firstLetter : .whole)
        } else if input.accept("stop") {
            try driver.stop(try input.needName())
        } else if input.accept("expect") {
            try expect(&input)
        } else {
            return false
        }
        return true
    }

    private func stepOfObjects(_ input: inout CaseCursor) throws -> Bool {
        if input.accept("create") {
            try create(&input, .error)
        } else if input.accept("upsert") {
            try create(&input, input.accept("modified") ? .modified : .all)
        } else if input.accept("insert") {
            try insert(&input, .error)
        } else if input.accept("merge") {
            try insert(&input, input.accept("modified") ? .modified : .all)
        } else if input.accept("set") {
            try set(&input)
        } else if input.accept("declare") {
            let plan = try session.addSchema(try SchemaText.parse(try input.needText()))
            if !input.isAtEnd() { try expectFlag(&input, plan.action != .nothing) }
        } else if input.accept("delete class") {
            let wasThere = try session.deleteType(try input.needName())
            if !input.isAtEnd() { try expectFlag(&input, wasThere) }
        } else if input.accept("delete") {
            if startsCollection(input) {
                try driver.delete(try needCollection(&input))
            } else {
                try driver.delete(try needObject(&input))
            }
        } else if input.accept("let") {
            try letName(&input)
        } else if input.accept("prepare") {
            try prepare(&input)
        } else if input.accept("bind") {
            let query = try query(try input.needName())
            let position = Int(try input.needInteger())
            try query.bind(position, to: try input.needValue(resolve).owned)
        } else {
            return false
        }
        return true
    }

    private func stepOfLists(_ input: inout CaseCursor) throws -> Bool {
        if input.accept("append") {
            let list = try needList(&input)
            switch try input.needLiteral(resolve) {
            case .single(let value): try list.insert([value], at: try list.count())
            case .list(let values): try list.insert(values, at: try list.count())
            }
        } else if input.accept("insert-at") {
            let list = try needList(&input), index = Int(try input.needInteger())
            try list.insert([try input.needValue(resolve)], at: index)
        } else if input.accept("replace") {
            let list = try needList(&input), index = Int(try input.needInteger())
            try list.set(index, to: try input.needValue(resolve))
        } else if input.accept("remove") {
            try needList(&input).remove(at: Int(try input.needInteger()), count: 1)
        } else if input.accept("move") {
            let list = try needList(&input), index = Int(try input.needInteger())
            try list.move(from: index, to: Int(try input.needInteger()))
        } else if input.accept("swap") {
            let list = try needList(&input), index = Int(try input.needInteger())
            try list.swap(index, Int(try input.needInteger()))
        } else if input.accept("splice") {
            let list = try needList(&input)
            let index = Int(try input.needInteger()), count = Int(try input.needInteger())
            guard case .list(let values) = try input.needLiteral(resolve) else { throw CaseFailure("expected a list") }
            try list.splice(at: index, removing: count, inserting: values)
        } else {
            return false
        }
        return true
    }

    // MARK: Files and sessions

    private func openSession(_ input: inout CaseCursor) throws {
        let name = try input.needName()
        var options = options()
        let path = options.name
        while !input.isAtEnd() {
            if input.accept("schema") {
                options.schema = try SchemaText.parse(try input.needText())
            } else if try !option(&input, &options) {
                throw CaseFailure("unknown word at '\(input.rest)'")
            }
        }
        // The case's own schema belongs to `main`; it exists before another session opens the file.
        if name != "main", sessions.isEmpty, options.name == path, options.schema == nil { try openMain() }
        try open(name, options)
    }

    func fileName(_ input: inout CaseCursor) throws -> String {
        if case .string(let name) = try input.needValue(resolve).owned { return name }
        throw CaseFailure("expected a file name")
    }

    private func writeFile(_ input: inout CaseCursor) throws {
        let path = folder.appendingPathComponent(try fileName(&input))
        try Data(try input.needValue(resolve).bytes).write(to: path)
    }

    private func truncateFile(_ input: inout CaseCursor) throws {
        let path = folder.appendingPathComponent(try fileName(&input))
        let file = try FileHandle(forWritingTo: path)
        try file.truncate(atOffset: UInt64(try input.needInteger()))
        try file.close()
    }

    /// Delivery through the queue, as an event loop would do it.
    private func dispatch() throws {
        if try driver.dispatch(session) { return }
        guard let queue else { throw CaseFailure("there is no queue") }
        if try !queue.wait(timeoutMilliseconds: 2_000) { throw CaseFailure("the queue has no work") }
        var poller = pollfd(fd: queue.descriptor, events: Int16(POLLIN), revents: 0)
        if poll(&poller, 1, 2_000) != 1 { throw CaseFailure("the descriptor of the queue is not readable") }
        failure = nil
        try queue.dispatch()
        if let failure { throw failure }
    }

    /// 64 times a byte, or none.
    func readEncryptionKey(_ input: inout CaseCursor) throws -> [UInt8]? {
        if input.accept("none") { return nil }
        return [UInt8](repeating: UInt8(truncatingIfNeeded: try input.needInteger()), count: 64)
    }

    private func fails(_ input: inout CaseCursor) throws {
        let expected = try input.needName()
        guard let code = ErrorCode.allCases.first(where: { Self.headerName($0) == expected }) else {
            throw CaseFailure("there is no error '\(expected)'")
        }
        let offset = input.accept("at") ? Int(try input.needInteger()) : nil
        do { try step(&input) } catch {
            guard try driver.isExpected(error, code, at: offset) else { throw error }
            _ = input.takeRest()
            return
        }
        throw CaseFailure("did not fail, expected \(expected)")
    }

    /// invalidUTF8 -> INVALID_UTF8, as in motte.h.
    static func headerName(_ code: ErrorCode) -> String {
        var name = "", previous: Character = "_"
        let letters = Array("\(code)")
        for (index, letter) in letters.enumerated() {
            let startsWord =
                letter.isUppercase
                && (!previous.isUppercase || (index + 1 < letters.count && letters[index + 1].isLowercase))
            if startsWord, previous != "_" { name += "_" }
            name += letter.uppercased()
            previous = letter
        }
        return name
    }

    /// The rest of the line on another thread, which this one waits for.
    private func elsewhere(_ input: inout CaseCursor) throws {
        // The other thread has both alone until the semaphore is raised.
        nonisolated(unsafe) let runner = self
        nonisolated(unsafe) var line = input
        nonisolated(unsafe) var outcome: Result<Void, any Error> = .success(())
        let done = DispatchSemaphore(value: 0)
        let thread = Thread {
            outcome = Result { try runner.step(&line) }
            done.signal()
        }
        thread.start()
        done.wait()
        input = line
        try outcome.get()
    }

    // MARK: Objects

    func assignments(
        _ input: inout CaseCursor, _ type: ObjectType
    ) throws -> (columns: [ColumnKey], values: [ValueView]) {
        var columns: [ColumnKey] = [], values: [ValueView] = []
        while !input.isAtEnd() {
            columns.append(try column(type, try input.needName()))
            try input.need("=")
            values.append(try input.needValue(resolve))
        }
        return (columns, values)
    }

    private func create(_ input: inout CaseCursor, _ policy: UpdatePolicy) throws {
        let name = input.accept("@") ? try input.needName() : nil
        let type = try type(try input.needName())
        var columns: [ColumnKey] = [], values: [ValueView] = []
        if input.accept("/") {
            values.append(try input.needKey(resolve))
            guard let key = type.primaryKey?.columnKey else {
                throw DatabaseError(.noPrimaryKey, "\(type.name) has no primary key", className: type.name)
            }
            columns.append(key)
        }
        let given = try assignments(&input, type)
        _ = try table(type)
        let object = try driver.create(
            session, type, columns + given.columns, values + given.values, policy, isOne: steps % 2 == 1)
        if let name { objects[name] = object }
    }

    private func set(_ input: inout CaseCursor) throws {
        let object = try needObject(&input)
        // A deleted object still has a class; the engine says that it is gone.
        let given = try assignments(&input, try objectType(object))
        try driver.set(object, given.columns, given.values, isOne: steps % 2 == 1)
    }

    func objectType(_ object: LiveObject) throws -> ObjectType {
        guard let type = try session.schema[object.table] else { throw CaseFailure("the class of the object is gone") }
        return type
    }

    private func insert(_ input: inout CaseCursor, _ policy: UpdatePolicy) throws {
        let type = try type(try input.needName())
        var columns: [ColumnKey] = [], rows: [ValueView] = [], count = 0
        try input.need("(")
        while !input.accept(")") {
            if !columns.isEmpty { try input.need(",") }
            columns.append(try column(type, try input.needName()))
        }
        try input.need("[")
        while !input.accept("]") {
            if count > 0 { try input.need(",") }
            guard case .list(let row) = try input.needLiteral(resolve), row.count == columns.count else {
                throw CaseFailure("row \(count) has not one value for each property")
            }
            rows += row
            count += 1
        }
        let table = try table(type)
        try rows.withUnsafeBufferPointer { buffer in
            if policy == .error, steps % 2 == 0 {
                _ = try session.insertBatch(table, columns: columns, rows: buffer.baseAddress, rowCount: count)
            } else {
                try session.upsertBatch(
                    table, columns: columns, rows: buffer.baseAddress, rowCount: count, policy: policy)
            }
        }
    }

    private func letName(_ input: inout CaseCursor) throws {
        if input.accept("$") {
            let name = try input.needName()
            try input.need("=")
            collections[name] = try needCollection(&input)
            return
        }
        try input.need("@")
        let name = try input.needName()
        try input.need("=")
        var object: LiveObject
        if input.accept("first") {
            guard let first = try driver.object(try needCollection(&input), at: 0) else {
                throw CaseFailure("the collection is empty")
            }
            object = first
        } else if input.accept("nth") {
            let index = Int(try input.needInteger())
            guard let found = try driver.object(try needCollection(&input), at: index) else {
                throw CaseFailure("it is gone")
            }
            object = found
        } else if input.accept("target") {
            let owner = try needObject(&input)
            try input.need(".")
            guard let found = try driver.target(owner, try column(try objectType(owner), try input.needName())) else {
                throw CaseFailure("the link is null")
            }
            object = found
        } else {
            object = try needObject(&input)
        }
        if input.accept("frozen") { object = try driver.freeze(object) }
        objects[name] = object
    }

    private func prepare(_ input: inout CaseCursor) throws {
        let name = try input.needName()
        try input.need("=")
        let table = try table(try type(try input.needName()))
        try input.need("where")
        let text = try input.needText()
        let arguments = try input.acceptArguments(resolve).map(\.owned)
        queries[name] = try session.query(table, text, Arguments(arguments))
    }
}
