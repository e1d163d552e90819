/// References to objects and collections, and writes that wait for their turn.
import MotteLiveObjects
import MotteNotifications
import MotteValues

final class QueuedStep {
    var id: UInt64 = 0
    /// `waiting`, `cancelled`, `ok` or the name of an error.
    var state = "waiting"
}

extension CaseRunner {
    func stepOfHandover(_ input: inout CaseCursor) throws -> Bool {
        if input.accept("refer") {
            try refer(&input)
        } else if input.accept("resolve") {
            try resolveReference(&input)
        } else if input.accept("queue") {
            try queueWrite(&input)
        } else if input.accept("unqueue") {
            let write = try queued(try input.needName())
            let wasWaiting = try writesOfSession().cancel(write.id)
            if wasWaiting { write.state = "cancelled" }
            try expectFlag(&input, wasWaiting)
        } else {
            return false
        }
        return true
    }

    func expectQueued(_ input: inout CaseCursor) throws {
        let write = try queued(try input.needName())
        if try input.needName() != write.state { throw CaseFailure("the queued write is \(write.state)") }
    }

    private func queued(_ name: String) throws -> QueuedStep {
        guard let known = queued[name] else { throw CaseFailure("no write '\(name)' was queued") }
        return known
    }

    private func writesOfSession() throws -> QueuedWrites {
        guard let known = writes[ObjectIdentifier(try session)] else { throw CaseFailure("the session has no queue") }
        return known
    }

    private func refer(_ input: inout CaseCursor) throws {
        let name = try input.needName()
        try input.need("=")
        if !startsCollection(input) {
            var ahead = input
            let object = try needObject(&ahead)
            if ahead.isAtEnd() {
                input = ahead
                references[name] = try LiveReference(object)
                return
            }
        }
        references[name] = try LiveReference(try needCollection(&input))
    }

    private func resolveReference(_ input: inout CaseCursor) throws {
        let name = try input.needName()
        guard let reference = references[name] else { throw CaseFailure("there is no reference '\(name)'") }
        let object = try reference.object(in: session)
        let collection = try reference.collection(in: session)
        if input.accept("gone") {
            if object != nil || collection != nil { throw CaseFailure("the reference is still there") }
            return
        }
        try input.need("to")
        if input.accept("$") {
            guard let collection else { throw CaseFailure("the reference leads to no collection") }
            collections[try input.needName()] = collection
        } else {
            try input.need("@")
            guard let object else { throw CaseFailure("the reference leads to no object") }
            objects[try input.needName()] = object
        }
    }

    private func queueWrite(_ input: inout CaseCursor) throws {
        let name = try input.needName()
        let text = input.takeRest()
        let write = QueuedStep()
        // Run by the queue that this runner dispatches.
        write.id = try writesOfSession().add(
            .init { (session) throws(DatabaseError) in
                try self.run([text], in: session)
                return true
            } done: { (outcome) throws(DatabaseError) in
                switch outcome {
                case .success: write.state = "ok"
                case .failure(let error): write.state = Self.headerName(error.code)
                }
            })
        queued[name] = write
    }
}
