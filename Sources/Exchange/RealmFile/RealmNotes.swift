/// What a Motte file cannot hold as a Realm file has it, and what was done instead: one note for each class, property
/// and reason, however many values it is about.
import MotteValues

package struct RealmNote: Sendable {
    package let className: String
    /// nil: the class itself.
    package let propertyName: String?
    package let reason: String
    /// Values or objects concerned; 0 for what is about the declaration.
    package internal(set) var count: Int
    /// The first object concerned, by its key in the Realm file; nil for what is about the declaration.
    package let firstKey: Int64?

    /// `Person.name: 3 values are not valid UTF-8 ... (the first in the object with the key 7)`
    package var text: String {
        var text = className + (propertyName.map { "." + $0 } ?? "") + ": " + reason
        if count > 0 { text += "; \(count) " + (count == 1 ? "time" : "times") }
        if let firstKey { text += ", first in the object with the key \(firstKey)" }
        return text
    }
}

/// Notes while they are collected.
struct RealmNotes {
    private struct Place: Hashable {
        let className: NameKey
        let propertyName: NameKey?
        let reason: NameKey
    }

    private(set) var all: [RealmNote] = []
    private var places: [Place: Int] = [:]

    mutating func add(
        _ className: String, _ propertyName: String?, _ reason: String, count: Int = 0, key: Int64? = nil
    ) {
        let place = Place(
            className: NameKey(className), propertyName: propertyName.map { NameKey($0) }, reason: NameKey(reason))
        if let known = places[place] {
            all[known].count += count
            return
        }
        places[place] = all.count
        all.append(
            RealmNote(
                className: className, propertyName: propertyName, reason: reason, count: count, firstKey: key))
    }

    mutating func add(_ notes: [RealmNote]) {
        for note in notes {
            add(note.className, note.propertyName, note.reason, count: note.count, key: note.firstKey)
        }
    }
}

/// What became of a Realm file.
package struct RealmSummary: Sendable {
    package struct Class: Sendable {
        package let name: String
        /// In the Realm file.
        package let objects: Int
        package let properties: Int
        package internal(set) var created = 0
        package internal(set) var updated = 0
    }

    package internal(set) var classes: [Class] = []
    package internal(set) var notes: [RealmNote] = []
    /// Format, version and size of the source.
    package internal(set) var format = 0
    package internal(set) var sourceVersion: UInt64 = 0
    package internal(set) var sourceSize = 0

    package init() {}

    package var objects: Int { classes.reduce(0) { $0 + $1.objects } }
    package var created: Int { classes.reduce(0) { $0 + $1.created } }
    package var updated: Int { classes.reduce(0) { $0 + $1.updated } }
}
