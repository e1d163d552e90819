"""Objects by hand: insert, update, delete, with values by type and by name; diff and stats."""
from __future__ import annotations

import json
import pathlib
import shutil
import subprocess

import pytest

from test_tool import TOOL, motte

SCHEMA = ("Person { id: int key, name: string, age: int?, seen: timestamp?, friend: link<Person>, tags: list<string>, "
          "friends: list<Person>, "
          "any: mixed, home: link<Place>, ok: bool } embedded Place { city: string }")
ROWS = ('{"id": 1, "name": "Ada", "age": 36, "friend": 2, "tags": ["a", "b"], "friends": [2]}\n'
        '{"id": 2, "name": "Bob", "age": null, "seen": "2013-01-01T10:00:00Z"}\n')


@pytest.fixture
def people(tmp_path: pathlib.Path) -> pathlib.Path:
    (tmp_path / "rows.jsonl").write_text(ROWS)
    file = tmp_path / "people.motte"
    motte("import", file, "Person", tmp_path / "rows.jsonl", "--schema", SCHEMA)
    return file


def rows(file: pathlib.Path, query: str = "", *options: str) -> list[dict[str, object]]:
    text = motte("export", file, "Person", "--where", query, "--format", "json", *options)
    found: list[dict[str, object]] = json.loads(text)
    return found


def test_insert_by_pairs(people: pathlib.Path) -> None:
    assert motte("insert", people, "Person", "id=3", "name=7", "age=-5", "seen=2014-02-03T04:05:06+02:00", "friend=1",
                 'tags=["x"]', 'any={"a": 1}', 'home={"city": "Rome"}', "ok=TRUE") == "1 inserted\n"
    assert rows(people, "id == 3") == [
        {"id": 3, "name": "7", "age": -5, "seen": "2014-02-03T02:05:06Z", "friend": 1, "tags": ["x"], "friends": [],
         "any": {"a": 1},
         "home": {"city": "Rome"}, "ok": True}]
    # A text that would be null, and one that would be a number.
    motte("insert", people, "Person", "id=4", "name=string:null", "any=string:12", "age=null", "friend=null")
    found = rows(people, "id == 4")[0]
    assert (found["name"], found["any"], found["age"], found["friend"]) == ("null", "12", None, None)


def test_insert_of_json(people: pathlib.Path) -> None:
    assert motte("insert", people, "Person", '[{"id": 5, "name": "x"}, {"id": 6, "name": "y"}]') == "2 inserted\n"
    done = subprocess.run([str(TOOL), "insert", str(people), "Person", "-", "--update", "modified"],
                          input='{"id": 5, "name": "z"}\n{"id": 7}\n', capture_output=True, text=True, timeout=60)
    assert done.stdout == "1 inserted, 1 updated\n", done.stderr
    assert [row["name"] for row in rows(people, "id >= 5")] == ["z", "y", ""]


def test_insert_is_all_or_nothing(people: pathlib.Path) -> None:
    before = motte("export", people)
    text = motte("insert", people, "Person", '{"id": 5}', '{"id": 1}', expect=1)
    assert "primary key" in text
    assert "motte: " in text and "Person already has an object" in text
    for wrong, said in [("id=6x", "'6x' is not int for Person.id"), ("id=", "is not int"), ("nme=x", "did you mean"),
                        ("name", "neither NAME=VALUE nor"), ("id=3 4", "is not int"), ("friend=99", "99")]:
        assert said in motte("insert", people, "Person", "id=9" if "id" not in wrong else "name=x", wrong, expect=1)
    assert "1 inserted; nothing was changed (dry run)\n" == motte("insert", people, "Person", "id=9", "--dry-run")
    assert motte("export", people) == before


def test_update(people: pathlib.Path) -> None:
    assert motte("update", people, "Person", "age > 30", "--set", "age=37", "--set", "name=A=B", "--set", "friend=1",
                 "--set", 'tags=["new"]') == "1 updated\n"
    found = rows(people, "id == 1")[0]
    assert (found["age"], found["name"], found["friend"], found["tags"]) == (37, "A=B", 1, ["new"])
    assert motte("update", people, "Person", "--all", "--set", "age=1") == "2 updated\n"
    # What is assigned is what is asked for.
    assert motte("update", people, "Person", "age == 1", "--set", "age=2") == "2 updated\n"


def test_update_is_all_or_nothing(people: pathlib.Path) -> None:
    before = motte("export", people)
    assert motte("update", people, "Person", "--all", "--set", "name=x", "--dry-run") == (
        "2 updated; nothing was changed (dry run)\n")
    for options, said in [(["--set", "age=x"], "is not int"), (["--set", "id=7"], "primary key"),
                          (["--set", "name=x", "--set", "name=y"], "twice"), (["--set", "friend=77"], "77")]:
        assert said in motte("update", people, "Person", "--all", *options, expect=1)
    assert "--all" in motte("update", people, "Person", "--set", "age=1", expect=2)
    assert "--all" in motte("update", people, "Person", "age == 1", "--all", "--set", "age=1", expect=2)
    assert "NAME=VALUE" in motte("update", people, "Person", "--all", "--set", "age", expect=2)
    assert motte("export", people) == before


def test_delete(people: pathlib.Path) -> None:
    assert motte("delete", people, "Person", "id == 2", "--dry-run") == "1 deleted; nothing was changed (dry run)\n"
    assert "--all" in motte("delete", people, "Person", expect=2)
    assert motte("delete", people, "Person", "id == $0", "2") == "1 deleted\n"
    assert rows(people)[0]["friend"] is None
    assert motte("delete", people, "Person", "--all") == "1 deleted\n"
    assert motte("query", people, "Person", "--count") == "0\n"


def test_named_parameters_everywhere(people: pathlib.Path) -> None:
    when = ["--param", "when=timestamp:2013-01-01T12:00:00+02:00"]
    assert motte("query", people, "Person", "seen == $when", *when, "--count") == "1\n"
    assert motte("query", people, "Person", "id == $0 AND seen == $when OR name == '$when'", "2", *when,
                 "--count") == "1\n"
    assert [row["id"] for row in rows(people, "id == $who", "--param", "who=1")] == [1]
    # Variables of subqueries stay what they are.
    assert motte("query", people, "Person", "SUBQUERY(friends, $f, $f.name == $who).@count > 0", "--param",
                 "who=Bob", "--count") == "1\n"
    assert motte("update", people, "Person", "id == $id", "--param", "id=1", "--set", "age=3") == "1 updated\n"
    assert motte("delete", people, "Person", "id == $id", "--param", "id=9") == "0 deleted\n"
    assert json.loads(motte("stats", people, "Person", "--where", "id == $id", "--param", "id=1", "--format",
                            "jsonl").splitlines()[0])["values"] == 1
    assert motte("watch", people, "Person", "id == $id", "--param", "id=1", "--timeout", "0.2") == (
        "watching 1 objects\n")
    assert "has no argument $other" in motte(
        "query", people, "Person", "id == $id", "--param", "id=1", "--param", "other=2", expect=1)
    assert "twice" in motte("query", people, "Person", "id == $id", "--param", "id=1", "--param", "id=2", expect=2)
    assert "NAME=VALUE" in motte("query", people, "Person", "id == 1", "--param", "1", expect=2)


def test_diff(people: pathlib.Path, tmp_path: pathlib.Path) -> None:
    other = tmp_path / "other.motte"
    shutil.copy(people, other)
    assert motte("diff", people, other) == ""
    motte("update", other, "Person", "id == 1", "--set", 'tags=["a"]', "--set", "age=40")
    motte("delete", other, "Person", "id == 2")
    motte("insert", other, "Person", "id=8", "name=new")
    done = subprocess.run([str(TOOL), "diff", str(people), str(other)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and done.stderr == ""
    assert done.stdout.splitlines() == [
        '~ Person 1: age 36 -> 40, friend 2 -> null, tags ["a","b"] -> ["a"], friends [2] -> []',
        "- Person 2", "+ Person 8"]
    brief = subprocess.run([str(TOOL), "diff", str(people), str(other), "--brief"], capture_output=True, text=True,
                           timeout=60)
    assert brief.returncode == 1
    assert brief.stdout == "Person: 1 only in the first, 1 only in the second, 1 with other values\n"


def test_diff_of_schemas_and_of_what_fails(people: pathlib.Path, tmp_path: pathlib.Path) -> None:
    other = tmp_path / "other.motte"
    (tmp_path / "dogs.csv").write_text("name\nRex\nMia\n")
    shutil.copy(people, other)
    motte("import", other, "Dog", tmp_path / "dogs.csv")
    done = subprocess.run([str(TOOL), "diff", str(people), str(other)], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (1, "+ class Dog\n")
    assert motte("diff", people, other, "--ignore-schema") == ""
    # Without a primary key objects are compared by their places.
    third = tmp_path / "third.motte"
    shutil.copy(other, third)
    motte("update", third, "Dog", "name == 'Mia'", "--set", "name=Pia")
    done = subprocess.run([str(TOOL), "diff", str(other), str(third), "Dog"], capture_output=True, text=True,
                          timeout=60)
    assert (done.returncode, done.stdout) == (1, '~ Dog at 1: name "Mia" -> "Pia"\n')
    missing = subprocess.run([str(TOOL), "diff", str(people), str(tmp_path / "none")], capture_output=True, text=True,
                             timeout=60)
    assert missing.returncode == 2 and "none" in missing.stderr
    assert "neither file" in motte("diff", people, other, "Cat", expect=2)


def test_stats(people: pathlib.Path) -> None:
    motte("insert", people, "Person", "id=3", "name=", "age=0")
    found = {row["column"]: row for row in json.loads(motte("stats", people, "Person", "--format", "json"))}
    assert found["age"] == {"column": "age", "type": "int", "values": 2, "nulls": 1, "distinct": 2, "min": 0, "max": 36,
                            "average": 18.0}
    assert found["name"] == {"column": "name", "type": "string", "values": 3, "nulls": 0, "distinct": 3, "min": 0,
                             "max": 3, "average": 2.0}
    assert found["tags"] == {"column": "tags", "type": "list of string", "values": 2, "nulls": 0, "distinct": None,
                             "min": 0, "max": 2, "average": 2 / 3}
    assert found["seen"]["min"] == "2013-01-01T10:00:00Z" and found["seen"]["nulls"] == 2
    assert found["friend"]["type"] == "Person" and found["friend"]["distinct"] == 1
    assert motte("stats", people, "Person", "--where", "id == 1", "--no-distinct").splitlines()[0].split() == [
        "column", "type", "values", "nulls", "distinct", "min", "max", "average"]
