/// Changes as the callbacks of the Swift API get them, in the words of a case.
#if canImport(Motte)
import Foundation
import Motte
import MotteLiveObjects
import MotteNotifications
import MotteSchemaModel
import MotteValues

/// What one observer was notified and the case has not asked for.
final class ObservedEvents {
    var token = NotificationToken()
    /// The session that it observes.
    let session: Session
    /// Of objects: the properties instead of a text.
    enum Event {
        case text(String)
        case properties([PropertyChange])
    }
    var events: [Event] = []

    init(_ session: Session) { self.session = session }

    static func text(_ deletions: [String], _ insertions: [String], _ modifications: [String]) -> String {
        var words = ["{"]
        let parts = [("deletions", deletions), ("insertions", insertions), ("modifications", modifications)]
        for (label, items) in parts where !items.isEmpty { words += [label] + items }
        return (words + ["}"]).joined(separator: " ")
    }
}

/// With what is observed.
final class SwiftDriver: SwiftCalls {
    private func begin(_ name: String, _ session: Session, _ body: (ObservedEvents) -> NotificationToken) throws {
        let events = ObservedEvents(session)
        events.token = try swift { body(events) }
        observed[name] = events
    }

    override func observe(_ name: String, _ paths: [String]?, _ object: LiveObject) throws {
        let dynamic = dynamic(object)
        try begin(name, object.session) { events in
            dynamic.observe(keyPaths: paths) { [weak events] (change: ObjectChange<DynamicObject>) in
                switch change {
                case .change(_, let properties): events?.events.append(.properties(properties))
                case .deleted: events?.events.append(.text("{ deleted }"))
                case .error(let error): events?.events.append(.text("error \(error)"))
                }
            }
        }
    }

    override func observe(_ name: String, _ paths: [String]?, _ collection: LiveCollection) throws {
        let swiftly = erased(collection)
        try begin(name, collection.session) { events in
            swiftly.observed(paths) { [weak events] in events?.events.append(.text($0)) }
        }
    }

    override func observe(_ name: String, _ session: Session) throws {
        try begin(name, session) { events in
            realm(session).observe { [weak events] notification, _ in
                if notification == .didChange { events?.events.append(.text("{ advanced }")) }
            }
        }
    }

    override func stop(_ name: String) throws {
        guard let known = observed[name] else { return try super.stop(name) }
        known.token.invalidate()
    }

    /// Callbacks have old positions only, and no word for a source that is gone.
    override func expectChanges(
        _ name: String, _ expected: String, _ text: (ChangeSet) throws -> String
    ) throws {
        guard let known = observed[name] else { return try super.expectChanges(name, expected, text) }
        try turn(known)
        guard !known.events.isEmpty else {
            if expected == "none" || expected == "end" { return }
            throw CaseFailure("there are no changes")
        }
        switch known.events.removeFirst() {
        case .text(let actual):
            let words = expected.split(separator: " ").map { word in
                word.first == "\"" ? String(word) : String(word.prefix { $0 != ":" })
            }
            let isAlsoSchema = words.filter { $0 != "schema" && ($0 != "deleted" || words == ["{", "deleted", "}"]) }
            let wanted = isAlsoSchema.joined(separator: " ")
            let isGone = words.contains("deleted") && actual.hasPrefix("{")
            if actual != wanted, !(isGone && wanted == "{ deleted }") { throw CaseFailure("changes are \(actual)") }
        case .properties(let properties): try expect(properties, expected)
        }
    }

    /// As a program's run loop does it, for all sessions.
    override func dispatch(_ session: Session) throws -> Bool {
        let sessions = observed.values.map(\.session) + [session]
        for session in sessions { core(session).autorefresh = true }
        defer { for session in sessions { core(session).autorefresh = false } }
        let before = observed.values.reduce(0) { $0 + $1.events.count }
        let end = Date(timeIntervalSinceNow: 2)
        while observed.values.reduce(0, { $0 + $1.events.count }) == before, Date() < end {
            _ = RunLoop.current.run(mode: .default, before: Date(timeIntervalSinceNow: 0.01))
        }
        return true
    }

    /// Turns the loop of the thread, where changes of the version that is shown may wait.
    private func turn(_ known: ObservedEvents) throws {
        for _ in 0 ..< 3 where known.events.isEmpty && !known.session.isClosed {
            guard try known.session.latestVersion == known.session.version, !known.session.isInWrite else { return }
            _ = RunLoop.current.run(mode: .default, before: Date())
        }
    }

    /// `{ properties age 36>37 name "Ada">"Bea" friends }`; old values are not notified of one's own commits.
    private func expect(_ properties: [PropertyChange], _ expected: String) throws {
        var rest = Substring(expected)
        func skip(_ word: String) throws {
            guard rest.hasPrefix(word) else {
                throw CaseFailure("changes are of \(properties.map { "\($0.name) to \($0.newValue ?? "null")" })")
            }
            rest = rest.dropFirst(word.count).drop { $0 == " " }
        }
        try skip("{")
        try skip("properties")
        for (index, change) in properties.enumerated() {
            try skip(change.name)
            let next = index + 1 < properties.count ? " " + properties[index + 1].name : " }"
            guard let end = rest.range(of: next), rest.startIndex < end.lowerBound, !rest.hasPrefix("}") else {
                continue
            }
            let values = rest[..<end.lowerBound]
            guard values.contains(">") else { continue }
            let new = try value(change.newValue).withView { Literal.text($0) }
            if !values.hasSuffix(">" + new) { throw CaseFailure("\(change.name) is \(new)") }
            if let old = change.oldValue {
                let old = try value(old).withView { Literal.text($0) }
                if !values.hasPrefix(old + ">") { throw CaseFailure("\(change.name) was \(old)") }
            }
            rest = rest[end.lowerBound...].drop { $0 == " " }
        }
        try skip("}")
    }
}
#endif
