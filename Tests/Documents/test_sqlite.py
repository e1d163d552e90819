"""What docs/sqlite.md says: its example and commands as they stand there, its tables by Python's own SQLite."""
from __future__ import annotations

import contextlib
import pathlib
import sqlite3
import subprocess
from typing import Any

import pytest

import motte
from motte import errors

from documents import blocks, promises, text_of
from test_examples import Folder, run_commands, run_python

DOCUMENT = "docs/sqlite.md"
SCHEMA = """
Person { id: int key, flag: bool, real: double, single: float?, data: data?, at: timestamp?, price: decimal?,
    oid: objectId?, code: uuid?, any: mixed, best: link<Person>, dog: link<Dog>, marks: list<int>, seen: set<string>,
    by: map<Dog>, home: link<Place>, owners: inverse<Person.best> }
person { nick: string? key }  Dog { name: string indexed, next: link<Dog> }
embedded Place { city: string }
"""


def test_the_example_and_the_commands(tmp_path: pathlib.Path) -> None:
    [source] = [block.text for block in blocks(DOCUMENT) if block.language == "python"]
    names: dict[str, Any] = {"__name__": "example"}
    run_python(source, names)
    (tmp_path / "people.motte").write_bytes(pathlib.Path(names["folder"], "people.motte").read_bytes())
    names.clear()
    folder = Folder(tmp_path)
    assert run_commands(folder, DOCUMENT, "") == 2
    assert folder.type("motte export copy.motte") == folder.type("motte export people.motte")


@pytest.fixture
def exported(tmp_path: pathlib.Path) -> sqlite3.Connection:
    with motte.open(tmp_path / "people.motte", schema=SCHEMA) as db:
        db.import_json(None, text='{"$class": "Dog", "$key": 3, "name": "Rex", "next": {"$key": 4}}\n'
                       '{"$class": "Dog", "$key": 4, "name": "Max", "next": {"$key": 3}}\n'
                       '{"$class": "person", "nick": null}\n'
                       '{"$class": "Person", "id": 5, "flag": true, "real": "NaN", "at": "2013-01-01T10:00:00.25Z", '
                       '"price": "1.50", "oid": "65a1f0c2e4b0a1b2c3d4e5f6", "any": {"$link": ["Dog", {"$key": 3}]}, '
                       '"code": "01234567-89ab-cdef-0123-456789abcdef", "best": 1, "dog": {"$key": 3}, '
                       '"marks": [3, 1], "seen": ["x"], "by": {"k": {"$key": 4}}, "home": {"city": "London"}}\n'
                       '{"$class": "Person", "id": 1, "real": -0.0, "data": "AQI=", "any": [1, {"a": 2.5}]}\n')
        db.export_sqlite(tmp_path / "people.sqlite")
        with pytest.raises(errors.InvalidArgumentError, match="already"):
            db.export_sqlite(tmp_path / "people.sqlite")
    return sqlite3.connect(tmp_path / "people.sqlite")


@promises(DOCUMENT, "It replaces nothing: an existing file is an error.",
          "Foreign keys are deferred, so that cycles can be inserted, and do what Motte does when a target is deleted: "
          "links become null, lists and sets lose the element, maps keep the key with null.",
          "get an underscore before or a number behind them: `Person_2`",
          "text as SQLite's `datetime()` gives it, in UTC, with up to nine digits of a second",
          "Texts of timestamps ascend as the times do, and all of SQLite's date functions read them",
          '`link:Class` beside the target\'s primary key or `"$key"`',
          "JSON as in [mixed values](json.md#mixed-values), which SQLite's JSON functions read")
def test_the_shape(exported: sqlite3.Connection) -> None:
    def shows(sql: str, *rows: Any) -> None:
        assert exported.execute(sql).fetchall() == list(rows), sql

    shows("PRAGMA foreign_key_check")
    shows("PRAGMA integrity_check", ("ok",))
    shows("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name",
          *[(name,) for name in ("Dog", "Person", "Person_by", "Person_marks", "Person_seen", "Place", "motte_order",
                                 "motte_schema", "person_2")])
    shows("SELECT flag, real, at, price, oid, code FROM Person ORDER BY id",
          (0, b"-0.0", None, None, None, None),
          (1, "NaN", "2013-01-01 10:00:00.25", "1.50", "65a1f0c2e4b0a1b2c3d4e5f6",
           "01234567-89ab-cdef-0123-456789abcdef"))
    shows("SELECT datetime(at), strftime('%f', at) FROM Person WHERE at IS NOT NULL", ("2013-01-01 10:00:00", "00.250"))
    shows("SELECT CAST(real AS REAL) FROM Person WHERE id = 1", (0.0,))
    shows("SELECT d.name FROM Person p JOIN Dog d ON d.\"$key\" = p.any WHERE p.any_type = 'link:Dog'", ("Rex",))
    shows("SELECT any_type, json_extract(any, '$[1].a') FROM Person WHERE id = 1", ("list", 2.5))
    shows("SELECT owner, position, value FROM Person_marks ORDER BY position", (5, 0, 3), (5, 1, 1))
    shows("SELECT b.key, d.name FROM Person_by b JOIN Dog d ON d.\"$key\" = b.target", ("k", "Max"))
    shows("SELECT c.city FROM Person p JOIN Place c ON p.home = c.\"$key\"", ("London",))
    shows("SELECT class, position, key FROM motte_order", ("Person", 0, 5), ("Person", 1, 1))
    shows("SELECT nick FROM person_2", (None,))
    # Columns of the table in the document, declared as it says.
    declared = {row[1]: (row[2], row[3], row[5]) for row in exported.execute("PRAGMA table_xinfo(Person)")}
    assert declared["id"] == ("INTEGER", 0, 1) and declared["flag"] == ("BOOLEAN", 1, 0)
    assert declared["at"][0] == declared["price"][0] == declared["oid"][0] == declared["code"][0] == "TEXT"
    assert declared["any"][0] == "" and declared["data"] == ("BLOB", 0, 0) and declared["single"][0] == "REAL"
    with pytest.raises(sqlite3.IntegrityError):
        exported.execute("UPDATE Person SET flag = 2")
    exported.rollback()
    exported.execute("PRAGMA foreign_keys = ON")
    exported.execute("DELETE FROM Dog WHERE name = 'Max'")
    exported.execute("DELETE FROM Person WHERE id = 1")
    exported.commit()
    shows("SELECT best FROM Person", (None,))
    shows("SELECT next FROM Dog", (None,))
    shows("SELECT key, target FROM Person_by", ("k", None))
    exported.execute("DELETE FROM Person")
    shows("SELECT count(*) FROM Person_marks", (0,))


@promises(DOCUMENT, "which is loaded when it is first needed; the environment variable `MOTTE_LIBSQLITE3` names "
          "another file.", "in Debian the package `libsqlite3-0`")
def test_without_the_library(tmp_path: pathlib.Path) -> None:
    motte.open(tmp_path / "a.motte", schema="P { n: int }").close()
    tool = Folder(tmp_path)
    tool.environment["MOTTE_LIBSQLITE3"] = str(tmp_path / "no-library.so")
    sqlite3.connect(tmp_path / "b.sqlite").execute("CREATE TABLE t (x)")
    for line in ("motte export a.motte --format sqlite --output a.sqlite", "motte import b.motte b.sqlite"):
        done = subprocess.run(line, shell=True, cwd=tmp_path, env=tool.environment, capture_output=True, text=True)
        assert done.returncode == 1 and "package libsqlite3-0" in done.stderr, done.stderr
    assert tool.type("motte export a.motte").startswith("{")
    assert sorted(path.name for path in tmp_path.iterdir() if "shared" not in path.name) == [
        "a.motte", "b.sqlite", "bin"]


@promises(DOCUMENT, "A column of other values becomes what they are, and one with values of several types mixed, so "
          "that nothing is lost.", "The values of all columns are kept.", "A mistake is named by table and row.",
          "A foreign key of one column becomes a link, in any order and in cycles, if each value names one row, which "
          "is there and writes the value in the same way",
          "What is not kept is said, with its table")
def test_other_files(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "other.sqlite"
    with sqlite3.connect(path) as file:
        file.executescript("""
            CREATE TABLE node (id INTEGER PRIMARY KEY, next INTEGER REFERENCES node, at TIMESTAMP, any INTEGER);
            CREATE TABLE pair (a INTEGER, b INTEGER, PRIMARY KEY (a, b)) WITHOUT ROWID;
            INSERT INTO node VALUES (1, 2, '2013-01-01 10:00:00', 1), (2, 1, NULL, 'text');
            INSERT INTO pair VALUES (1, 2);
        """)
    assert motte.sqlite_notes(path) == [
        "node: any is declared INTEGER and holds other values: mixed",
        "pair: the primary key (a, b) has several columns; they are ordinary properties, unique together"]
    with motte.open(tmp_path / "other.motte", schema=motte.sqlite_schema(path)) as db:
        seen: list[int] = []
        assert db.import_sqlite(path, progress=lambda done, total: seen.append(done)) == (3, 0)
        assert seen[-1] == 3
        first, second = db.objects("node")
        assert first.next == second and second.next == first and second.any == "text"
        with pytest.raises(errors.DuplicatePrimaryKeyError, match="table node, row 1"):
            db.import_sqlite(path)
        # Rows of a table without a primary key of one column are new ones, and these are unique together.
        with pytest.raises(errors.DuplicateValueError, match="table pair, row 1"):
            db.import_sqlite(path, policy="modified")
        with contextlib.closing(sqlite3.connect(path)) as file:
            file.execute("DELETE FROM pair")
            file.commit()
        assert db.import_sqlite(path, policy="modified").updated == 2
        assert len(db.objects("node")) == 2


def test_types_of_the_document_are_those_of_schemas() -> None:
    words = text_of(DOCUMENT)
    for name in ("bool", "int", "float", "double", "string", "data", "timestamp", "decimal", "objectId", "uuid"):
        assert name in words
