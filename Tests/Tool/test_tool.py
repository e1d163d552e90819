"""The motte command as a user runs it: import, look, query, watch, and every kind of bad input."""
from __future__ import annotations

import pathlib
import subprocess
import time

import pytest

TOOL = pathlib.Path(__file__).parents[2] / "build" / "tool" / "motte"
PEOPLE = 'id,name,age,when\n1,Ada,36,2013-01-01T10:00:00Z\n2,"Bob ""B"", jr",NA,2013-01-02T10:00:00Z\n'


def motte(*arguments: object, expect: int = 0) -> str:
    done = subprocess.run([str(TOOL), *map(str, arguments)], capture_output=True, text=True, timeout=60)
    assert done.returncode == expect, done.stderr + done.stdout
    return done.stdout if expect == 0 else done.stderr


@pytest.fixture
def people(tmp_path: pathlib.Path) -> pathlib.Path:
    (tmp_path / "people.csv").write_text(PEOPLE)
    file = tmp_path / "people.motte"
    assert motte("import", file, "Person", tmp_path / "people.csv", "--key", "id") == "imported 2 objects of Person\n"
    return file


def test_schema_is_inferred(people: pathlib.Path) -> None:
    text = motte("schema", people)
    for line in ["id: int key", "name: string", "age: int?", "when: timestamp"]:
        assert line in text
    assert "Person: 2 objects" in motte("info", people)


def test_queries(people: pathlib.Path) -> None:
    assert motte("query", people, "Person", "age > 30").splitlines() == [
        "id  name  age  when", "1   Ada   36   2013-01-01T10:00:00Z"]
    assert motte("query", people, "Person", "age == null", "--format", "csv").splitlines()[1].startswith(
        '2,"Bob ""B"", jr",,')
    assert motte("query", people, "Person", "name == $0", "Ada", "--count") == "1\n"
    assert motte("query", people, "Person", "--avg", "age") == "36.0\n"
    assert "index" in motte("query", people, "Person", "id == 2", "--explain")


def test_watch_hears_of_another_process(people: pathlib.Path, tmp_path: pathlib.Path) -> None:
    watch = subprocess.Popen(
        [str(TOOL), "watch", str(people), "Person", "age > 30", "--count", "1", "--timeout", "20"],
        stdout=subprocess.PIPE, text=True)
    assert watch.stdout is not None
    assert watch.stdout.readline() == "watching 1 objects\n"
    time.sleep(0.2)
    (tmp_path / "more.csv").write_text("id,name,age,when\n5,Eve,50,\n")
    motte("import", people, "Person", tmp_path / "more.csv")
    assert "inserted [1]" in watch.stdout.readline()
    assert watch.stdout.readline().startswith("+ 5  Eve  50")
    assert watch.wait(timeout=20) == 0


def test_a_bad_row_leaves_the_file_as_it_was(people: pathlib.Path, tmp_path: pathlib.Path) -> None:
    (tmp_path / "bad.csv").write_text("id,name,age,when\n3,x,1,\n4,y,many,\n")
    assert "bad.csv:3: 'many' in column age is not int" in motte(
        "import", people, "Person", tmp_path / "bad.csv", expect=1)
    (tmp_path / "twice.csv").write_text("id,name,age,when\n3,x,1,\n1,y,1,\n")
    assert "primary key" in motte("import", people, "Person", tmp_path / "twice.csv", expect=1)
    assert motte("query", people, "Person", "--count") == "2\n"


def test_what_is_wrong_is_said(people: pathlib.Path, tmp_path: pathlib.Path) -> None:
    assert "did you mean 'age'" in motte("query", people, "Person", "agee > 3", expect=1)
    assert "^" in motte("query", people, "Person", "age >", expect=1)
    assert "it has Person" in motte("query", people, "Persn", expect=1)
    assert "could not open" in motte("info", tmp_path / "nothing.motte", expect=1)
    assert "not a Motte file" in motte("info", tmp_path / "people.csv", expect=1)
    assert "cannot read" in motte("import", people, "Person", tmp_path / "none.csv", expect=1)
