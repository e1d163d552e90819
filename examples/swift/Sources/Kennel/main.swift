// Models, writes, queries, sections, a projection, live results and freezing, in one file that is made again each time.
import Foundation
import RealmSwift

let file = FileManager.default.temporaryDirectory.appendingPathComponent("kennel-\(UUID().uuidString).motte")
let configuration = Realm.Configuration(fileURL: file, schemaVersion: 1)
let realm = try Realm(configuration: configuration)

try realm.write {
    let rex = Dog(value: ["name": "Rex", "age": 3, "breed": "terrier", "weight": 9.5])
    rex.toys.append(objectsIn: [Toy(value: ["brand": "Bone & Co"]), Toy(value: ["brand": "Ball", "isChewed": true])])
    rex.tricks.insert(objectsIn: ["sit", "roll"])
    rex.walks["monday"] = 2
    rex.notes = ["vet": ["seen": true, "weights": [9.1, 9.5]]]
    let max = Dog(value: ["name": "Max", "age": 7, "weight": Weight(kilograms: 20)])
    let ada = Owner(value: ["name": "Ada", "home": ["street": "Mill Lane 3", "town": "Bath"]])
    ada.dogs.append(objectsIn: [rex, max])
    realm.add(ada)
    realm.create(Dog.self, value: ["name": "Mia", "age": 1])
}

// Queries are live: they show what is there when they are read.
let dogs = realm.objects(Dog.self)
let grown = dogs.where { $0.age > 2 && $0.weight < Weight(kilograms: 30) }.sorted(by: \.name)
// Reading a property of all elements is lazy too; an array takes what is there now.
print("grown:", Array(grown.map(\.name)))
print("with a chewed toy:", Array(dogs.filter("ANY toys.isChewed == true").map(\.name)))
print("seen by the vet:", Array(dogs.filter("notes['vet']['seen'] == true").map(\.name)))
print("average age:", dogs.average(ofProperty: "age") ?? 0.0)

// Observers are notified of which positions changed.
let token = grown.observe { change in
    switch change {
    case .initial(let dogs): print("observed:", dogs.count)
    case .update(let dogs, let deletions, let insertions, let modifications):
        print("changed: -\(deletions) +\(insertions) ~\(modifications), now", Array(dogs.map(\.name)))
    case .error(let error): print(error)
    }
}
realm.refresh()  // a program with a run loop needs no refresh

let before = grown.freeze()
try realm.write {
    dogs.where { $0.name == "Mia" }.first?.age = 3
    grown.first?.walks["tuesday", default: 0] += 1
}
try realm.write { dogs.where { $0.name == "Rex" }.first?.name = "Waldo" }
realm.refresh()
print("frozen:", Array(before.map(\.name)))

for section in dogs.sectioned(by: \.initial) { print(section.key, Array(section.map(\.name))) }
for owner in realm.objects(OwnerView.self) { print(owner.name, owner.town ?? "-", Array(owner.dogNames)) }

token.invalidate()
realm.invalidate()
