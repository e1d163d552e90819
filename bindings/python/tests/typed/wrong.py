"""What type checkers find: each line that ends in `# wrong` is an error to them, and no other line."""
from __future__ import annotations

import motte
from program import Card, Dog, Person


def misuse(db: motte.Database, person: Person) -> None:
    Person(id=1)  # wrong
    Person(id="1", name="Ada")  # wrong
    Person(id=1, name="Ada", size="m")  # wrong
    Person(id=1, name="Ada", owned=[])  # wrong
    Person(1, "Ada")  # wrong
    Dog(nmae="Rex")  # wrong
    person.nmae  # wrong
    person.age = "36"  # wrong
    person.dogs.append("Rex")  # wrong
    db.add("x")  # wrong
    db.objects(Person)[0].nmae  # wrong
    db.objects(Card)[0].age  # wrong
    db.objects(Person).page("2")  # wrong
    db.get(Dog, "Rex").name  # wrong
    motte.field(default=1, default_factory=list)  # wrong
