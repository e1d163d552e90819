// An address book for a terminal: sections by initial, a projection as what a row shows, and undo. Commands come from
// standard input, one a line:
//
//     add Ada Lovelace London ada@example.com
//     move Lovelace Bath
//     delete Lovelace
//     undo
//     list
import Foundation
import RealmSwift

class Contact: Object {
    @Persisted(primaryKey: true) var id = UUID()
    @Persisted var given: String
    @Persisted(indexed: true) var family: String
    @Persisted var emails: List<String>
    @Persisted var home: Address?

    var initial: String { String(family.prefix(1)).uppercased() }
}

class Address: EmbeddedObject {
    @Persisted var town: String
}

/// What a row of the list shows of a contact, and nothing else of it.
final class Card: Projection<Contact> {
    @Projected(\Contact.given) var given
    @Projected(\Contact.family) var family
    @Projected(\Contact.home?.town) var town
    @Projected(\Contact.emails.firstEmail) var email
}

extension List where Element == String {
    var firstEmail: String { first ?? "no address" }
}

final class AddressBook {
    private let realm: Realm
    /// The contact as it was before each change; nil where it did not exist. A frozen object stays as it is.
    private var undoable: [(id: UUID, before: Contact?)] = []

    init(_ realm: Realm) { self.realm = realm }

    var contacts: Results<Contact> {
        realm.objects(Contact.self).sorted(by: [SortDescriptor(keyPath: "family"), SortDescriptor(keyPath: "given")])
    }

    func add(_ given: String, _ family: String, town: String?, emails: [String]) throws {
        let contact = Contact()
        contact.given = given
        contact.family = family
        contact.emails.append(objectsIn: emails)
        contact.home = town.map { Address(value: ["town": $0]) }
        try realm.write { realm.add(contact) }
        undoable.append((contact.id, nil))
    }

    /// Changes one contact and remembers how it was.
    func change(_ family: String, _ body: (Contact) -> Void) throws -> Bool {
        guard let contact = contacts.where({ $0.family == family }).first else { return false }
        let before = contact.freeze()
        try realm.write { body(contact) }
        undoable.append((before.id, before))
        return true
    }

    func undo() throws -> Bool {
        guard let (id, before) = undoable.popLast() else { return false }
        try realm.write {
            if let before {
                // Assigns only what differs, so that observers are notified of nothing else.
                realm.create(Contact.self, value: before, update: .modified)
            } else if let contact = realm.object(ofType: Contact.self, forPrimaryKey: id) {
                realm.delete(contact)
            }
        }
        return true
    }

    func list() {
        for section in contacts.sectioned(by: \.initial) {
            print(section.key)
            for contact in section {
                let card = Card(projecting: contact)
                print("  \(card.given) \(card.family), \(card.town ?? "somewhere"), \(card.email)")
            }
        }
        print("\(contacts.count) contacts")
    }

    func run(_ words: [String]) throws {
        switch words.first {
        case "add" where words.count >= 3:
            try add(words[1], words[2], town: words.count > 3 ? words[3] : nil, emails: Array(words.dropFirst(4)))
        case "move" where words.count == 3:
            let found = try change(words[1]) { $0.home = Address(value: ["town": words[2]]) }
            if !found { print("nobody is called \(words[1])") }
        case "delete" where words.count == 2:
            let found = try change(words[1]) { realm.delete($0) }
            if !found { print("nobody is called \(words[1])") }
        case "undo": if try !undo() { print("nothing to undo") }
        case "list": list()
        case nil: break
        default: print("add GIVEN FAMILY [TOWN [EMAIL...]], move FAMILY TOWN, delete FAMILY, undo, list")
        }
    }
}

let path = CommandLine.arguments.count > 1 ? CommandLine.arguments[1] : "addresses.motte"
let realm = try Realm(
    configuration: .init(fileURL: URL(fileURLWithPath: path), objectTypes: [Contact.self, Address.self]))
let book = AddressBook(realm)
while let line = readLine() { try book.run(line.split(separator: " ").map(String.init)) }
