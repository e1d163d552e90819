"""What docs/json.md and the paragraphs on importing of docs/tool.md say, sentence by sentence."""
from __future__ import annotations

import itertools
import json
import pathlib
import uuid
from datetime import datetime, timezone
from decimal import Decimal
from typing import Any

import pytest

import motte
from motte import errors

from documents import promises

DOCUMENT = "docs/json.md"
SCHEMA = """
Person { id: int key, name: string?, flag: bool, real: double, single: float, data: data?, when: timestamp?,
    price: decimal?, oid: objectId?, uuid: uuid?, any: mixed, best: link<Person>, dog: link<Dog>, dogs: list<Dog>,
    marks: list<int>, seen: set<int>, prices: map<int>, home: link<Place>, places: list<Place>,
    owners: inverse<Person.best> }
Dog { name: string, next: link<Dog> }
embedded Place { city: string, zip: string? }
"""
names = itertools.count()


@pytest.fixture
def db():
    with motte.open(in_memory=f"json {next(names)}", schema=SCHEMA) as database:
        yield database


def read(db: motte.Database, text: str, name: str = "Person", **options: Any) -> Any:
    """The first person after an import in a write of its own."""
    db.import_json(db.model(name) if name else None, text=text, **options)
    return db.objects("Person")[0] if len(db.objects("Person")) else None


def refused(db: motte.Database, text: str, kind: type[Exception] = errors.Error, name: str = "Person",
        **options: Any) -> str:
    before = db.export_json()
    with pytest.raises(kind) as caught:
        read(db, text, name, **options)
    assert db.export_json() == before, "an import that fails leaves nothing"
    return str(caught.value)


def written(db: motte.Database, name: str) -> Any:
    return json.loads(db.export_json(None, db.objects("Person")))[0][name]


@promises(DOCUMENT, "An import takes either, and objects that follow each other over several lines too.")
def test_shapes(db: motte.Database) -> None:
    for text in ['{"id": 1, "name": "Ada"}', '[{"id": 2}, {"id": 3}]', '{"id": 4}\n{"id": 5}\n',
                 '{\n  "id": 6\n}\n{\n  "id":\n 7}', "[]", ""]:
        read(db, text)
    assert db.objects("Person").column("id") == [1, 2, 3, 4, 5, 6, 7]


@promises(DOCUMENT, "JSON Lines that begin with a header, then every object of every class with `$class`",
          "The header has the version of the format and the schema as text",
          "Two databases with the same content have the same dump.", "or in a dump their position in their class")
def test_dumps(tmp_path: pathlib.Path) -> None:
    dumps = []
    for order in (1, -1):
        with motte.open(tmp_path / f"{order}.motte", schema="Dog { name: string } Person { id: int key, dogs: "
                "set<Dog> }") as db:
            person, dog = db.model("Person"), db.model("Dog")
            with db.write():
                db.delete(db.add(dog(name="gone" * order)) if order > 0 else db.add(dog(name="x")))
                made = [db.add(dog(name=name)) for name in "ab"]
                db.add(person(id=1, dogs=set(made)))
                if order < 0:
                    extra = db.add(person(id=0))
                    db.delete(extra)
            dumps.append(db.export_json())
    header, *rows = map(json.loads, dumps[0].splitlines())
    assert header["$motte"] == 1 and "Dog {" in header["schema"]
    assert [row["$class"] for row in rows] == ["Dog", "Dog", "Person"]
    assert dumps[0] == dumps[1]


@promises(DOCUMENT, "or one JSON document, which is the header with the objects as an array",
          'with its number as `"schema_version"` unless that is 0')
def test_documents(db: motte.Database, tmp_path: pathlib.Path) -> None:
    read(db, '{"id": 1, "best": 1, "home": {"city": "x"}, "any": [1, {"a": 0.5}]}')
    document = json.loads(db.export_json(document=True) or "")
    header, *rows = map(json.loads, (db.export_json() or "").splitlines())
    assert document == {**header, "objects": rows} and list(header) == ["$motte", "schema"]
    with pytest.raises(errors.InvalidArgumentError):
        db.export_json(None, db.model("Person"), document=True)
    # In any layout, and with names that later versions may add before the objects.
    text = json.dumps({"$motte": 1, "later": [{}], "schema": document["schema"], "objects": rows}, indent=2)
    with motte.open(tmp_path / "copy.motte", schema=motte.dump_schema(text=text), schema_version=3) as copy:
        copy.import_json(None, text=text)
        assert json.loads(copy.export_json(document=True) or "") == {**document, "schema_version": 3}


VALUES = [
    ("flag", "true", True), ("flag", "false", False), ("real", "1.5", 1.5), ("real", '"NaN"', None),
    ("real", '"Infinity"', float("inf")), ("real", '"-Infinity"', float("-inf")), ("real", "0.1", 0.1),
    ("single", "0.1", 0.10000000149011612), ("name", '"x"', "x"), ("data", '"AQI="', b"\1\2"),
    ("when", '"2013-01-01T10:00:00.250000000+02:00"', datetime(2013, 1, 1, 8, 0, 0, 250000, timezone.utc)),
    ("price", '"1.50"', Decimal("1.50")), ("price", '"120E3"', Decimal("120E3")), ("price", "1.5", Decimal("1.5")),
    ("price", '"-Infinity"', Decimal("-Infinity")), ("oid", '"65a1f0c2e4b0a1b2c3d4e5f6"',
                                                     motte.ObjectId("65a1f0c2e4b0a1b2c3d4e5f6")),
    ("uuid", '"01234567-89ab-cdef-0123-456789abcdef"', uuid.UUID("01234567-89ab-cdef-0123-456789abcdef")),
    ("any", "null", None), ("any", "true", True), ("any", '"text"', "text"), ("any", "5", 5),
    ("any", "12345678901234567890", Decimal("12345678901234567890")), ("any", "5.0", 5.0), ("any", "1e3", 1000.0),
    ("any", '{"$float": 1.5}', 1.5), ("any", '{"$decimal": "1.50"}', Decimal("1.50")),
    ("any", '{"$binary": "AQI="}', b"\1\2"), ("any", '{"$date": "2013-01-01T10:00:00Z"}',
                                              datetime(2013, 1, 1, 10, tzinfo=timezone.utc)),
    ("any", '{"$oid": "65a1f0c2e4b0a1b2c3d4e5f6"}', motte.ObjectId("65a1f0c2e4b0a1b2c3d4e5f6")),
    ("any", '{"$uuid": "01234567-89ab-cdef-0123-456789abcdef"}', uuid.UUID("01234567-89ab-cdef-0123-456789abcdef")),
]


@promises(DOCUMENT, "which keeps every digit", "a number without point and exponent is an int (a decimal, if it needs "
          "more "
          "than 64 bits), any other a double")
@pytest.mark.parametrize("name, text, value", VALUES)
def test_values(db: motte.Database, name: str, text: str, value: Any) -> None:
    person = read(db, f'{{"id": 1, "{name}": {text}}}')
    found = getattr(person, name)
    assert found != found if text == '"NaN"' else found == value and type(found) is type(value)
    if isinstance(value, Decimal):
        assert str(found) == str(value)
    again = json.dumps(written(db, name))
    read(db, f'{{"id": 0, "{name}": {again}}}')
    copy = db.get(db.model("Person"), 0)
    assert json.dumps(json.loads(db.export_json(None, copy))[name]) == again
    assert repr(getattr(copy, name)) == repr(found)


@promises(DOCUMENT, "a number; `1.0` and `1e3` are ints, `1.5` is not",
          "A value of another type is an error, not converted: `\"3\"` is no int.",
          "`null` is null; for a collection it means empty.",
          "Inverse properties are not exported and can't be imported.",
          "up to nine digits of a second; years beyond 9999 as `+12345-01-01T00:00:00Z`",
          "it has no `$key` and no `$class`", "of a set in its order, without duplicates", "keys ascend by their bytes",
          "Keys of maps never begin with `$`, so these objects are unambiguous.")
def test_how_values_are_read(db: motte.Database) -> None:
    person = read(db, '{"id": 1.0, "marks": [1e3, 2.0], "seen": [3, 1, 3], "prices": {"b": 1, "a": 2}, "home": '
            '{"city": "L"}}')
    assert (person.id, list(person.marks), list(person.seen)) == (1, [1000, 2], [1, 3])
    assert '"seen":[1,3]' in db.export_json(None, person) and '"prices":{"a":2,"b":1}' in db.export_json(None, person)
    assert '"home":{"city":"L","zip":null}' in db.export_json(None, person)
    assert "owners" not in db.export_json(None, person)
    for name, text in [("id", "1.5"), ("id", '"3"'), ("marks", "[1.5]"), ("flag", "1"), ("flag", '"true"'), ("real",
            '"1.5"'),
                       ("name", "5"), ("data", '"AQI"'), ("when", '"2013-01-01T10:00:00"'), ("when", "5"),
                       ("when", '"2013-01-01T10:00:00.1234567891Z"'), ("oid", '"65a1"'), ("uuid", '"1"'), ("owners",
                       "[1]"),
                       ("any", '{"$nothing": 1}'), ("any", '{"$date": 5}'), ("flag", "null"), ("prices", '{"$a": 1}'),
                       ("prices", '{"a.b": 1}')]:
        fields = {"id": "9", name: text}
        text = "{" + ", ".join(f'"{key}": {value}' for key, value in fields.items()) + "}"
        assert refused(db, text), text
    read(db, '{"id": 0, "marks": null, "seen": null, "prices": null, "places": null, "name": null}')
    person = db.get(db.model("Person"), 0)
    assert not (person.marks or person.seen or person.prices or person.places or person.name)
    for text in ("+12345-01-01T00:00:00Z", "2013-01-01T10:00:00.123456789Z", "-00001-01-01T00:00:00Z"):
        read(db, f'{{"id": 1, "when": "{text}"}}', policy="all")
        assert written(db, "when").lstrip("-+").lstrip("0") == text.lstrip("-+").lstrip("0")


@promises(DOCUMENT, "Arrays and objects are nested lists and maps, down to 100 levels.")
def test_mixed_values(db: motte.Database) -> None:
    person = read(db, '{"id": 1, "any": {"a": [1, {"b": null}], "c": {"$link": ["Person", 1]}}}')
    assert person.any["a"][1]["b"] is None and person.any["c"] == person
    read(db, '{"id": 2, "any": ' + "[" * 100 + "]" * 100 + "}")
    refused(db, '{"id": 3, "any": ' + "[" * 101 + "]" * 101 + "}")


@promises(DOCUMENT, "the object of the target class with that primary key", "the object that the same text names by "
          '`"$key": 7`',
          "otherwise the object of the database with that object key",
          "class and primary key, or class and `{\"$key\": 7}`",
          "an object, which is imported with the same policy, and linked to",
          "Links to objects that come later in the text are set at the end, so order does not matter, and cycles are "
          "fine.",
          "A link to an object that does not exist is an error that names its line.",
          "Objects of a class without a primary key are exported with `\"$key\"`")
def test_links(db: motte.Database) -> None:
    person = read(db, '{"id": 1, "best": 2}\n{"id": 2, "best": {"$link": ["Person", 1]}}\n'
                      '{"id": 3, "best": {"id": 4, "name": "new"}}\n')
    assert person.best.best == person
    assert db.get(db.model("Person"), 4).name == "new"
    db.import_json(None, text='{"$class":"Person","id":5,"dog":{"$key":7}}\n{"$class":"Dog","$key":7,"name":"Rex",'
                              '"next":{"$key":8}}\n{"$class":"Dog","$key":8,"name":"Mia","next":{"$key":7}}\n')
    rex = db.get(db.model("Person"), 5).dog
    assert (rex.name, rex.next.name, rex.next.next.name) == ("Rex", "Mia", "Rex")
    assert f'"$key":{rex.object_key}' in db.export_json(None, db.objects("Dog"))
    read(db, f'{{"id": 6, "dog": {{"$key": {rex.object_key}}}}}')
    read(db, f'{{"id": 7, "dog": {{"$link": ["Dog", {{"$key": {rex.object_key}}}]}}}}')
    assert db.get(db.model("Person"), 6).dog == db.get(db.model("Person"), 7).dog == rex
    refused(db, '{"id": 8, "best": {"id": 1, "name": "taken"}}', errors.DuplicatePrimaryKeyError)
    assert ":2" in refused(db, '{"id": 9}\n{"id": 10, "best": 99}\n').replace("line ", ":")
    assert "2" in refused(db, '{"id": 9}\n{"id": 10, "dog": {"$key": 99}}\n')


@promises(DOCUMENT,
          "With *nested links* it writes the objects themselves, down to a depth; an object that encloses the link "
          "is written as a reference.", "An export writes links as references.")
def test_nested_links(db: motte.Database) -> None:
    person = read(db, '{"id": 1, "best": 2}\n{"id": 2, "best": 1}\n')
    assert json.loads(db.export_json(None, person))["best"] == 2
    nested = json.loads(db.export_json(None, person, nested_links=True))
    assert nested["best"]["id"] == 2 and nested["best"]["best"] == 1
    with db.write():
        for number in range(3, 40):
            db.add(db.model("Person")(id=number, best=db.get(db.model("Person"), number - 1)))
    text = db.export_json(None, db.get(db.model("Person"), 39), nested_links=True)
    assert json.dumps(json.loads(text)).count('"best"') < 30


@promises(DOCUMENT,
          "An export to a file appears when it is complete: until then, and if it fails, an existing file stays as "
          "it is.")
def test_exports_are_whole(db: motte.Database, tmp_path: pathlib.Path) -> None:
    with db.write():
        db.insert_columns(db.model("Person"), {"id": list(range(30_000)), "name": ["x" * 20] * 30_000})
    path = tmp_path / "out.jsonl"
    path.write_text("before")

    def stop(done: int, total: int) -> None:
        assert path.read_text() == "before"
        if done > 2000:
            raise KeyError("stop")

    with pytest.raises(KeyError):
        db.export_json(path, progress=stop)
    assert path.read_text() == "before"
    assert [entry.name for entry in tmp_path.iterdir()] == ["out.jsonl"]
    db.export_json(path)
    assert len(path.read_text().splitlines()) == 30_001


@promises(DOCUMENT,
          "An export never replaces a database.")
def test_databases_are_not_replaced(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "people.motte"
    with motte.open(path, schema=SCHEMA) as db:
        read(db, '{"id": 1}')
        for export in (lambda: db.export_json(path), lambda: db.export_csv(path, db.model("Person"))):
            with pytest.raises(errors.InvalidArgumentError, match="which no text replaces"):
                export()
    # Of whatever name, and with its head gone, as a file that is to be salvaged may be.
    other = path.rename(tmp_path / "people.db")
    for damage in (0, 4096):
        data = other.read_bytes()
        other.write_bytes(bytes(damage) + data[damage:])
        if damage:
            (tmp_path / "people.db-shared").touch()
        with pytest.raises(errors.InvalidArgumentError, match="which no text replaces"):
            motte.salvage(other, other)
        assert other.read_bytes() == bytes(damage) + data[damage:]


@promises(DOCUMENT, "`error` (the default), `modified` (what differs is written) or `all` (what is given is written)",
          "that the program declares in new objects, else 0, false, an empty value or",
          "An import is one transaction, all or nothing",
          "Embedded objects are replaced; with `modified` the existing one stays and gets what differs.",
          "A name that the class does not have is an error, unless the import is asked to ignore such names.")
def test_policies(db: motte.Database) -> None:
    read(db, '{"id": 1, "name": "Ada", "real": 2.5, "home": {"city": "L", "zip": "1"}}')
    refused(db, '{"id": 2}\n{"id": 1}', errors.DuplicatePrimaryKeyError)
    person = db.objects("Person")[0]
    seen = []
    token = person.observe(seen.append)
    read(db, '{"id": 1, "name": "Ada", "real": 3.5}', policy="modified")
    assert [[each.name for each in change.properties] for change in seen] == [["real"]]
    read(db, '{"id": 1, "name": "Ada"}', policy="all")
    assert [[each.name for each in change.properties] for change in seen] == [["real"], ["name"]]
    assert person.real == 3.5
    home = person.home
    read(db, '{"id": 1, "home": {"city": "P"}}', policy="modified")
    assert home.is_valid and (home.city, home.zip) == ("P", "1")
    read(db, '{"id": 1, "home": {"city": "Q"}}', policy="all")
    assert not home.is_valid and (person.home.city, person.home.zip) == ("Q", None)
    refused(db, '{"id": 2, "unknown": 1}', errors.UnknownPropertyError)
    read(db, '{"id": 2, "unknown": 1, "name": "x"}', ignore_unknown=True)
    token.stop()


@promises(DOCUMENT,
          "no comments, no trailing commas, no lone surrogates, valid UTF-8, at most 256 levels of nesting. Errors "
          "name line and column, or line and property.")
def test_json_is_strict(db: motte.Database) -> None:
    for text in ('{"id": 1} // no', '{"id": 1,}', '[{"id": 1},]', '{"id": 1, "name": "\\ud800"}', "{'id': 1}",
            '{"id": 01}',
                 '{"id": +1}', '{"id": .5}', '{"id": 1, "name": "\n"}', '{"id": 1', '{"id": NaN}',
                 '{"id": 1, "id": 2} x'):
        refused(db, text)
    assert "2" in refused(db, '{"id": 1}\n{"id": 2, "name": 5}\n') and "name" in refused(db, '{"id": 2, "name": 5}')
    message = refused(db, '{"id": 1}\n{"id": }\n')
    assert "2" in message and "8" in message
    assert "256" in refused(db, '{"id": 1, "any": ' + "[" * 300 + "]" * 300 + "}")
    with pytest.raises(errors.Error):
        db.import_json(db.model("Person"), text=b'{"id": 1, "name": "\xff"}')  # type: ignore[arg-type]


@promises(DOCUMENT,
          "unless it commits every so many rows, at the ends of batches.",
          "Then no batch has more rows than that, and forward links are set in the last transaction.")
def test_committing_every_so_many(db: motte.Database) -> None:
    rows = [json.dumps({"id": number, "best": (number + 500) % 1000}) for number in range(1000)]
    rows[700] = '{"id": 1}'
    with pytest.raises(errors.DuplicatePrimaryKeyError):
        db.import_json(db.model("Person"), text="\n".join(rows), commit_every=100, batch_rows=50)
    assert len(db.objects("Person")) == 700
    assert len(db.objects("Person").where("best != null")) <= 700
    with motte.open(in_memory="every", schema=SCHEMA) as other:
        rows[700] = '{"id": 700, "best": 200}'
        other.import_json(other.model("Person"), text="\n".join(rows), commit_every=100, batch_rows=50)
        assert len(other.objects("Person").where("best != null")) == 1000


# ------------------------------------------------------------------------------------------------ CSV


@promises(DOCUMENT,
          "An empty field is null if the property is optional, a quoted empty one is the empty text.",
          "A link is the primary key of its target; collections, embedded objects and mixed values are one JSON value "
          "in a field.", "An import refuses it, and `{\"$key\": 7}` too",
          "An export can name columns, also across links (`friend.name`), each by the whole name that the file has, "
          "whatever is in it.",
          "`1.10` and `12E4` make their column a decimal, and `007`, `12345678901234567890` and fractions with more "
          "digits than a double has make theirs a string.",
          "A whole number in a column of doubles is exported with `.0`.",
          "All columns are optional except the key and texts that are never empty, because later rows may leave them "
          "empty.")
def test_csv(db: motte.Database) -> None:
    db.import_csv(db.model("Dog"), text="name\nRex\n")
    rex = db.objects("Dog")[0]
    for link in (f"#{rex.object_key}", f'"{{""$key"":{rex.object_key}}}"'):
        with pytest.raises(errors.WrongTypeError, match="Dog, which has no primary key"):
            db.import_csv(db.model("Person"), text=f"id,dog\n1,{link}\n")
    for cell in ('"[1,2] [3]"', "[1]x"):
        with pytest.raises(errors.WrongTypeError, match="text follows"):
            db.import_csv(db.model("Person"), text=f"id,marks\n1,{cell}\n")
    assert len(db.objects("Person")) == 0
    db.import_csv(db.model("Person"), text='id,name,data,best,dog,marks,any\n'
                  '1,,,,,"[1,2]","{""a"":[1]}"\n2,"",,1,,[],"""t"""\n')
    one, two = db.objects("Person")
    with db.write():
        one.dog = rex
    assert (one.name, one.dog, list(one.marks), one.any["a"][0]) == (None, rex, [1, 2], 1)
    assert (two.name, two.best, two.any) == ("", one, "t")
    columns = ["id", "name", "data", "best", "marks", "any"]
    text = db.export_csv(None, db.objects("Person"), columns=columns)
    with motte.open(in_memory="csv", schema=SCHEMA) as other:
        other.import_csv(other.model("Person"), text=text)
        assert other.export_csv(None, other.objects("Person"), columns=columns) == text
    assert db.export_csv(None, db.objects("Person"), columns=["id", "best.id",
            "dog.name"]) == "id,best.id,dog.name\n1,,Rex\n2,1,\n"
    with motte.open(in_memory="commas", schema="Row { a: int, `a,b`: int }") as other:
        other.import_csv(other.model("Row"), text='a,"a,b"\n1,2\n')
        assert other.export_csv(None, other.objects("Row"), columns=["a,b"]) == '"a,b"\n2\n'
    schema = motte.csv_schema("Row", text="a,b,c,d,e,f,g\n1,0.5,007,true,2013-01-01T00:00:00Z,"
                                          "01234567-89ab-cdef-0123-456789abcdef,x\n2,2,8,false,2013-01-02,"
                                          "01234567-89ab-cdef-0123-456789abcdee,\n")
    assert "n: decimal?" in motte.csv_schema("Row", text="n\n1.1\n1.10\n")
    assert "n: decimal?" in motte.csv_schema("Row", text="n\n12E4\n13E5\n")
    assert "n: string" in motte.csv_schema("Row", text="n\n12E4\n7X\n")
    for line in ("a: int?", "b: double?", "c: string", "d: bool?", "e: timestamp?", "f: uuid?", "g: string?"):
        assert line + ",\n" in schema, line


@promises("docs/tool.md", "a quote in the middle of a field, text after a closing quote or a wrong number of fields "
          "are errors "
          "with their line", "`NA` (`--null`) is null too", "Times need a zone; a plain date is its midnight in UTC.",
          "`1.10` and `12E4` make their column a decimal, which keeps how they are written, and `00501`, `0x1F` and "
          "`12345678901234567890` make theirs a string.")
def test_csv_is_strict(db: motte.Database) -> None:
    person = db.model("Person")
    for row in ('1,a"b', '1,"a"b', "1,a,b", "1"):
        with pytest.raises(errors.Error, match="3"):
            db.import_csv(person, text="id,name\n7,ok\n" + row + "\n")
    assert len(db.objects("Person")) == 0
    db.import_csv(person, text="id,name,when\n1,NA,2013-01-01\n2,\"NA\",NA\n")
    one, two = db.objects("Person")
    assert (one.name, one.when) == (None, datetime(2013, 1, 1, tzinfo=timezone.utc))
    assert (two.name, two.when) == ("NA", None)
    db.import_csv(person, text="id,name\n3,-\n", null="-")
    assert db.get(person, 3).name is None
    with pytest.raises(errors.Error):
        db.import_csv(person, text="id,when\n4,2013-01-01T00:00:00\n")
    schema = motte.csv_schema("Row", text="zip,hex,plus,long\n00501,0x1F,+1,12345678901234567890\n1,2,3,4\n")
    for column in ("zip", "hex", "plus", "long"):
        assert f"{column}: string" in schema
