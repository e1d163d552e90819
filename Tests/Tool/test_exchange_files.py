"""Whole databases as files that other programs read, by the motte command: SQLite files and JSON documents, what stands
in their way, and that nothing is lost or left behind then."""
from __future__ import annotations

import json
import pathlib
import resource
import signal
import sqlite3
import subprocess

import pytest

from test_tool import TOOL, motte

SCHEMA = ("Person { id: int key, name: string, friend: link<Person>, home: link<Place>, pets: list<Dog>, any: mixed } "
          "`order` { `group by`: string, `it's \"quoted\"`: int } Dog { name: string } embedded Place { city: string }")
ROWS = """{"$class": "Dog", "$key": 1, "name": "Rex"}
{"$class": "order", "group by": "select", "it's \\"quoted\\"": 5}
{"$class": "Person", "id": 2, "name": "Ada", "friend": 1, "home": {"city": "London"}, "pets": [{"$key": 1}], "any": [1]}
{"$class": "Person", "id": 1, "name": "Bob", "friend": 2, "home": null, "pets": [], "any": {"$link": ["Person", 2]}}
"""


@pytest.fixture
def people(tmp_path: pathlib.Path) -> pathlib.Path:
    (tmp_path / "rows.jsonl").write_text(json.dumps({"$motte": 1, "schema_version": 4, "schema": SCHEMA}) + "\n" + ROWS)
    assert motte("import", tmp_path / "people.motte", tmp_path / "rows.jsonl") == "imported 4 objects\n"
    return tmp_path / "people.motte"


def files(folder: pathlib.Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if not path.name.endswith("-shared"))


@pytest.mark.parametrize("format, name", [("sqlite", "people.sqlite"), ("json", "people.json"), ("jsonl", "x.jsonl")])
def test_a_database_comes_back(people: pathlib.Path, tmp_path: pathlib.Path, format: str, name: str) -> None:
    assert motte("export", people, "--format", format, "--output", tmp_path / name) == ""
    assert motte("import", tmp_path / "copy.motte", tmp_path / name) == "imported 4 objects\n"
    assert motte("export", tmp_path / "copy.motte") == motte("export", people)
    assert motte("schema", tmp_path / "copy.motte") == motte("schema", people)
    assert "schema version 4" in motte("info", tmp_path / "copy.motte")
    assert "sound" in motte("verify", tmp_path / "copy.motte")
    if format == "json":
        assert [row["$class"] for row in json.loads((tmp_path / name).read_text())["objects"]] == [
            "Person", "Person", "order", "Dog"]


def test_a_stranger_reads_it(people: pathlib.Path, tmp_path: pathlib.Path) -> None:
    motte("export", people, "--format", "sqlite", "--output", tmp_path / "people.sqlite")
    with sqlite3.connect(tmp_path / "people.sqlite") as file:
        assert file.execute('SELECT "group by", "it\'s ""quoted""" FROM "order"').fetchall() == [("select", 5)]
        assert file.execute("SELECT p.name, f.name FROM Person p JOIN Person f ON f.id = p.friend ORDER BY p.id"
                            ).fetchall() == [("Bob", "Ada"), ("Ada", "Bob")]
        file.execute("UPDATE Person SET name = 'Eve' WHERE id = 1")
        file.execute("CREATE TABLE notes (text)")
    done = subprocess.run([TOOL, "import", tmp_path / "copy.motte", tmp_path / "people.sqlite"], capture_output=True,
                          text=True)
    assert done.returncode == 0 and "note: notes: this table was added after the export" in done.stderr
    assert '"name":"Eve"' in motte("export", tmp_path / "copy.motte", "Person")
    # Updated in place, as with any import.
    text = motte("import", people, tmp_path / "people.sqlite", "--update", "modified", "--quiet")
    assert text == "imported 4 objects, 2 of them updated\n"


def test_wrong_arguments(people: pathlib.Path, tmp_path: pathlib.Path) -> None:
    motte("export", people, "--format", "sqlite", expect=2)
    motte("export", people, "Person", "--format", "sqlite", "--output", tmp_path / "x", expect=2)
    motte("export", people, "--format", "csv", "--output", tmp_path / "x", expect=2)
    motte("import", people, "Person", tmp_path / "x", "--format", "sqlite", expect=2)


def test_what_is_there_stays(people: pathlib.Path, tmp_path: pathlib.Path) -> None:
    before = motte("export", people)
    for name in ("people.motte", "rows.jsonl", "link"):
        (tmp_path / "link").unlink(missing_ok=True)
        (tmp_path / "link").symlink_to("nowhere")
        content = (tmp_path / name).read_bytes() if name != "link" else b""
        error = motte("export", people, "--format", "sqlite", "--output", tmp_path / name, expect=1)
        assert "already" in error and "replaces nothing" in error
        assert name == "link" or (tmp_path / name).read_bytes() == content
    assert motte("export", people) == before
    assert files(tmp_path) == ["link", "people.motte", "rows.jsonl"]


def limited(size: int) -> None:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def test_a_full_disk_leaves_nothing(people: pathlib.Path, tmp_path: pathlib.Path) -> None:
    motte("export", people, "--format", "sqlite", "--output", tmp_path / "whole.sqlite")
    size = (tmp_path / "whole.sqlite").stat().st_size
    (tmp_path / "whole.sqlite").unlink()
    for room in (0, 1_000, 4_096, size // 2, size - 4_096):
        done = subprocess.run([TOOL, "export", people, "--format", "sqlite", "--output", tmp_path / "full.sqlite",
                               "--quiet"], capture_output=True, text=True, preexec_fn=lambda: limited(room))
        assert done.returncode == 1 and "full.sqlite" in done.stderr, (room, done.stderr)
        assert "make room" in done.stderr or "too large" in done.stderr, done.stderr
        assert files(tmp_path) == ["people.motte", "rows.jsonl"], room


def test_what_is_no_sqlite_file(people: pathlib.Path, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "x.sqlite"
    for content in (b"", b"hello\n", b"SQLite format 3\0", b"SQLite format 3\0" + b"\7" * 9_000):
        path.write_bytes(content)
        error = motte("import", tmp_path / "new.motte", path, "--format", "sqlite", expect=1)
        assert "SQLite" in error and "x.sqlite" in error, error
    assert "No such file" in motte("import", tmp_path / "new.motte", tmp_path / "none.sqlite", expect=1)
    path.write_bytes(b"")
    motte("import", tmp_path / "new.motte", path, expect=1)
    motte("export", people, "--format", "sqlite", "--output", tmp_path / "whole.sqlite")
    content = (tmp_path / "whole.sqlite").read_bytes()
    path.write_bytes(content[:4_096] + b"\xff" * 100 + content[4_196:])
    assert "damaged" in motte("import", tmp_path / "new.motte", path, expect=1)
    path.write_bytes(content[:len(content) // 2 // 4_096 * 4_096])
    assert "damaged" in motte("import", tmp_path / "new.motte", path, expect=1)
    assert files(tmp_path) == ["people.motte", "rows.jsonl", "whole.sqlite", "x.sqlite"]


def test_a_row_that_does_not_fit_leaves_everything_as_it_was(people: pathlib.Path, tmp_path: pathlib.Path) -> None:
    before = motte("export", people)
    motte("export", people, "--format", "sqlite", "--output", tmp_path / "people.sqlite")
    assert "table Person, row 1" in motte("import", people, tmp_path / "people.sqlite", expect=1)
    with sqlite3.connect(tmp_path / "people.sqlite") as file:
        file.execute("PRAGMA ignore_check_constraints = ON")
        file.execute("UPDATE Person SET friend = 77 WHERE id = 1")
    error = motte("import", tmp_path / "new.motte", tmp_path / "people.sqlite", expect=1)
    assert "there is no Person with the primary key 77" in error and "people.sqlite" in error
    assert motte("export", people) == before
    assert files(tmp_path) == ["people.motte", "people.sqlite", "rows.jsonl"]
