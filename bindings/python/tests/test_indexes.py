"""Indexes of several properties as model classes declare them."""
from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Optional

import pytest

import motte
from motte import errors


class Place(motte.Model):
    id: int = motte.field(primary_key=True)


class Person(Place, indexes=[motte.index("city", "age desc"), motte.index("age", "id", unique=True)]):
    city: Optional[str] = motte.field(default=None, stored_name="the city, in `ticks`")
    age: int = 0


class Child(Person, indexes=[motte.index("age desc")]):
    pass


@pytest.fixture
def db() -> Iterator[motte.Database]:
    with motte.open(in_memory="indexes of several", schema=[Person, Child]) as database:
        yield database


def test_the_schema_has_them_with_the_names_of_the_file(db: motte.Database) -> None:
    text = db.schema
    assert "indexed(`the city, in \\`ticks\\``, age desc)" in text
    assert text.count("unique(age, id)") == 2, "a class has those of the classes it is derived from"
    assert text.count("indexed(age desc)") == 1
    with motte.open(in_memory="indexes from text", schema=text) as other:
        assert other.schema == text


def test_queries_go_along_them(db: motte.Database) -> None:
    with db.write():
        for number in range(500):
            db.add(Person(id=number, city=f"city {number % 5}", age=number % 50))
    query = db.query(Person, "city == 'city 3' AND age > 40")
    assert query.explain().startswith("Person: index(") and query.count() == 20
    first = db.objects(Person).where("city == 'city 3' SORT(age DESC) LIMIT(2)")
    assert [person.id for person in first] == [48, 98]


class Seat(motte.Model, indexes=[motte.index("row", "number", unique=True)]):
    row: Optional[str]
    number: int


def test_a_unique_one_refuses_the_same_values() -> None:
    with motte.open(in_memory="unique seats", schema=[Seat]) as db, db.write():
        db.add_all([Seat(row="A", number=1), Seat(row="A", number=2), Seat(row=None, number=1)])
        with pytest.raises(errors.DuplicateValueError, match="Seat.row, number: .*object 1 is unique|object 1 has it"):
            db.add(Seat(row="A", number=2))
        db.add(Seat(row=None, number=1))
        assert len(db.objects(Seat)) == 4


class Wrong(motte.Model, indexes=[motte.index("name", "ago")]):
    name: str = ""


class Links(motte.Model, indexes=[motte.index("other")]):
    other: Optional["Links"] = None


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(errors.SchemaInvalidError, match="names 'ago'"):
        motte.open(in_memory="wrong", schema=[Wrong])
    with pytest.raises(errors.SchemaInvalidError, match="other, which is a link"):
        motte.open(in_memory="links", schema=[Links])
    with pytest.raises(TypeError, match="at least one"):
        motte.index()


def test_sqlite_files_have_them(tmp_path: Path) -> None:
    path = tmp_path / "seats.sqlite"
    with motte.open(in_memory="exported seats", schema=[Seat, Member]) as db:
        with db.write():
            db.add_all([Seat(row="A", number=1), Seat(row=None, number=1), Seat(row=None, number=1)])
        db.export_sqlite(path)
        schema = db.schema
    with contextlib.closing(sqlite3.connect(path)) as connection:
        rows = connection.execute("SELECT sql FROM sqlite_master WHERE type = 'index' AND sql <> ''")
        found = sorted(sql for (sql,) in rows)
        assert found == [
            'CREATE INDEX "Member_name_number_index" ON "Member" ("name", "number" DESC)',
            'CREATE UNIQUE INDEX "Member_number_index" ON "Member" ("number")',
            'CREATE UNIQUE INDEX "Seat_row_number_index" ON "Seat" ("row", "number")']
        with pytest.raises(sqlite3.IntegrityError):
            connection.execute('INSERT INTO "Seat" ("row", "number") VALUES (\'A\', 1)')
    assert motte.sqlite_schema(path) == schema


class Member(motte.Model, indexes=[motte.index("name", "number desc")]):
    name: str
    number: int = motte.field(default=0, unique=True)


class Contact(motte.Model, indexes=[motte.index("mail [c]", "age desc"), motte.index("name[dc]")]):
    mail: str = motte.field(stored_name="mail, in `ticks` [c]")
    name: Optional[str] = None
    age: int = 0


def test_texts_without_their_case() -> None:
    assert motte.index("my name [c]", "x desc").parts == (("my name", False, "c"), ("x", True, ""))
    with motte.open(in_memory="folded", schema=[Contact]) as db:
        assert "indexed(`mail, in \\`ticks\\` [c]` [c], age desc)" in db.schema
        assert "indexed(name [cd])" in db.schema
        with db.write():
            db.add_all([Contact(mail="Ada@X.org", age=3), Contact(mail="ada@x.org", age=4), Contact(mail="eve@x.org")])
        found = db.query(Contact, "mail ==[c] 'ADA@x.ORG'")
        assert found.explain().startswith("Contact: index(") and found.count() == 2
        assert [one.age for one in db.objects(Contact).where("mail ==[c] 'ADA@x.ORG' SORT(age DESC)")] == [4, 3]
    for wrong in ("name [x]", "[c]", ""):
        with pytest.raises(errors.SchemaInvalidError, match="is no property of an index"):
            motte.index(wrong)


def test_classes_made_from_a_file_have_its_indexes(tmp_path: Path) -> None:
    with motte.open(tmp_path / "a.motte", schema=[Place, Person, Child, Seat, Contact, Member]) as db:
        schema = db.schema
    with motte.open(tmp_path / "a.motte") as db:
        made = [db.model(name) for name in ("Place", "Person", "Child", "Seat", "Contact", "Member")]
    with motte.open(in_memory="the same again", schema=made) as db:
        assert db.schema == schema
