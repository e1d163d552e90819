"""Names, projections and types of the program, as Swift and C have them: Tests/Conformance/typed.

`store.json` is what is stored, `queries.txt` asks for it by the names of the program, `projections.json` is what
projections of all people show. Other languages make the same."""
from __future__ import annotations

import json
import pathlib
from typing import Any, NamedTuple, Optional

import pytest

import motte
from motte import errors

CASES = pathlib.Path(__file__).resolve().parents[3] / "Tests" / "Conformance" / "typed"


class Tenths(NamedTuple):
    """A number that is stored as tenths."""

    value: float


class Web(NamedTuple):
    """An address; not every text is one."""

    host: str


def web(text: str) -> Web:
    if not text.startswith("https://"):
        raise ValueError(f"{text!r} is no address")
    return Web(text[len("https://"):])


motte.converter(Tenths, int, store=lambda number: round(number.value * 10), load=lambda tenths: Tenths(tenths / 10))
motte.converter(Web, str, store=lambda address: "https://" + address.host, load=web)


class TypedPlace(motte.EmbeddedModel, stored_name="typed_place"):
    streetName: str = motte.field(default="", stored_name="street_name")
    city: str = ""


class TypedPerson(motte.Model, stored_name="typed_person"):
    id: int = motte.field(primary_key=True)
    firstName: str = motte.field(default="", stored_name="first_name")
    warmth: Tenths = motte.field(default=Tenths(0), stored_name="body_heat")
    site: Optional[Web] = None
    warmths: list[Tenths] = motte.field(default_factory=list)
    home: Optional[TypedPlace] = motte.field(default=None, stored_name="address")
    boss: Optional[TypedPerson] = None
    friends: list[TypedPerson] = motte.field(default_factory=list, stored_name="people")


class Card(motte.Projection[TypedPerson]):
    firstName: str
    city: Optional[str] = motte.projected("home.city")
    boss: Optional[str] = motte.projected("boss.firstName")
    friends: motte.ProjectedCollection[str] = motte.projected("friends.firstName")
    warmth: Tenths


CLASSES: list[type[motte.Model]] = [TypedPerson, TypedPlace]


def filled(db: motte.Database) -> None:
    with db.write():
        ada = TypedPerson(id=1, firstName="Ada", warmth=Tenths(36.6), site=Web("ada.example"),
                          warmths=[Tenths(36.6), Tenths(-0.5)], home=TypedPlace(streetName="Rue A", city="Paris"))
        bob = TypedPerson(id=2, firstName="Bob", warmth=Tenths(37.5), home=TypedPlace(streetName="B Road"), boss=ada)
        eve = TypedPerson(id=3, firstName="Eve", warmth=Tenths(40.1), site=Web("eve.example"), boss=bob,
                          friends=[ada, bob, ada])
        db.add_all([ada, bob, eve])


def document(db: motte.Database) -> Any:
    text = db.export_json(document=True)
    assert text is not None
    return json.loads(text)


@pytest.fixture
def db() -> Any:
    with motte.open(in_memory="typed cases", schema=CLASSES) as db:
        filled(db)
        yield db


def test_what_is_stored(db: motte.Database) -> None:
    assert document(db) == json.loads((CASES / "store.json").read_text())


def test_what_was_stored_is_read(tmp_path: pathlib.Path) -> None:
    """By others: the store is made of the file, without a model."""
    path, text = tmp_path / "typed.motte", json.dumps(json.loads((CASES / "store.json").read_text()))
    with motte.open(path, schema=motte.dump_schema(text=text)) as db:
        with db.write():
            db.import_json(text=text)
    with motte.open(path, schema=CLASSES) as db:
        ada, bob, eve = db.objects(TypedPerson).sorted("id")
        assert (ada.warmth, ada.site, list(ada.warmths)) == (
            Tenths(36.6), Web("ada.example"), [Tenths(36.6), Tenths(-0.5)])
        assert ada.home is not None and (ada.home.streetName, ada.home.city) == ("Rue A", "Paris")
        assert bob.site is None and eve.boss == bob and list(eve.friends) == [ada, bob, ada]
    # Text that is no address is an error where it is read, of everything else nothing is lost.
    with motte.open(path) as plain, plain.write():
        stored: Any = plain.one(plain.model("typed_person"), 2)
        stored.site = "ftp://b"
    with motte.open(path, schema=CLASSES) as db:
        bob = db.one(TypedPerson, 2)
        with pytest.raises(ValueError, match="is no address"):
            bob.site
        assert bob.warmth == Tenths(37.5)


def test_queries_by_names_of_the_program(db: motte.Database) -> None:
    lines = [line for line in (CASES / "queries.txt").read_text().splitlines() if line and not line.startswith("#")]
    assert len(lines) >= 10
    for line in lines:
        ids, text = line.split(" | ")
        assert [each.id for each in db.objects(TypedPerson).where(text)] == [int(each) for each in ids.split()], text
    with pytest.raises(errors.UnknownPropertyError):
        db.objects(TypedPerson).where("nobody == 1")


def test_projections(db: motte.Database) -> None:
    cards = [{"firstName": each.firstName, "city": each.city, "boss": each.boss, "friends": list(each.friends),
              "warmth": each.warmth.value} for each in db.objects(TypedPerson).sorted("id").project(Card)]
    assert cards == json.loads((CASES / "projections.json").read_text())
