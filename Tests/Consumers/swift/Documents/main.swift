// The examples of docs/COMING_FROM_REALMSWIFT.md with what they need around them. Tests/Consumers/readme_example.py
// puts the block of the document that begins so in place of each line `// Block: ...`. ort Foundation

// Block: import RealmSwift

class Toy: Object {
    @Persisted var brand = ""
}

class Person: Object {
    @Persisted var dogs: List<Dog>
    @Persisted var parks: Map<String, String>
}

try realm.write {
    realm.deleteAll()
    let rex = Dog(value: ["name": "Rex", "age": 3])
    rex.toys.append(Toy())
    let ada = Person()
    ada.dogs.append(rex)
    realm.add(ada)
}
print("old:", Array(old.map { "\($0.name) of \($0.owners.count)" }))
let parks = realm.objects(Person.self)[0].parks

try realm.write {
// Block: let key = "Washington D.C."
    print("parks:", Array(parks.keys), shown)
}

// Block: Realm.misuseHandler =
old[0].age = 4
print("age:", old[0].age)
token.invalidate()
