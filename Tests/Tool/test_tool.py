"""The motte command as a user runs it: import, look, query, watch, and every kind of bad input."""
from __future__ import annotations

import json
import pathlib
import signal
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
    information = motte("info", people)
    assert "Person: 2 objects" in information
    for word in ["uuid ", "format ", "readers ", "bytes, "]:
        assert word in information


def test_queries(people: pathlib.Path) -> None:
    assert motte("query", people, "Person", "age > 30").splitlines() == [
        "id  name  age  when", "1   Ada   36   2013-01-01T10:00:00Z"]
    assert motte("query", people, "Person", "age == null", "--format", "csv").splitlines()[1].startswith(
        '2,"Bob ""B"", jr",,')
    assert motte("query", people, "Person", "name == $0", "Ada", "--count") == "1\n"
    assert motte("query", people, "Person", "--avg", "age") == "36.0\n"
    assert "index" in motte("query", people, "Person", "id == 2", "--explain")


def test_columns_follow_links(people: pathlib.Path, tmp_path: pathlib.Path) -> None:
    (tmp_path / "dogs.jsonl").write_text('{"name": "Rex", "owner": 1}\n{"name": "Mia", "owner": null}\n')
    schema = motte("schema", people) + "Dog { name: string, owner: link<Person> }"
    assert motte("import", people, "Dog", tmp_path / "dogs.jsonl", "--schema", schema) == "imported 2 objects of Dog\n"
    assert motte("query", people, "Dog", "--columns", "name,owner.name,owner").splitlines() == [
        "name  owner.name  owner", "Rex   Ada         1", "Mia"]
    assert motte("query", people, "Dog", "--columns", "owner.age", "--format", "jsonl").splitlines() == [
        '{"owner.age":36}', '{"owner.age":null}']
    assert "is no single link" in motte("query", people, "Dog", "--columns", "name.x", expect=1)


def test_a_dump_makes_the_same_store(people: pathlib.Path, tmp_path: pathlib.Path) -> None:
    motte("export", people, "--output", tmp_path / "dump.jsonl")
    assert motte("import", tmp_path / "copy.motte", tmp_path / "dump.jsonl") == "imported 2 objects\n"
    assert motte("export", tmp_path / "copy.motte") == (tmp_path / "dump.jsonl").read_text()
    assert '"id":2,"name":"Bob \\"B\\", jr","age":null' in (tmp_path / "dump.jsonl").read_text()


def test_exports_are_imported_again(people: pathlib.Path, tmp_path: pathlib.Path) -> None:
    schema = motte("schema", people)
    for form in ["csv", "json", "jsonl"]:
        out = tmp_path / f"out.{form}"
        motte("export", people, "Person", "--format", form, "--output", out)
        copy = tmp_path / f"{form}.motte"
        assert motte("import", copy, "Person", out, "--schema", schema) == "imported 2 objects of Person\n"
        assert motte("export", copy, "Person", "--format", form) == out.read_text()
    chosen = motte("export", people, "Person", "--where", "age > 30", "--columns", "name", "--format", "csv")
    assert chosen == "name\nAda\n"


def test_updates(people: pathlib.Path, tmp_path: pathlib.Path) -> None:
    done = subprocess.run(
        [str(TOOL), "import", str(people), "Person", "-", "--format", "jsonl", "--update", "modified"],
        input='{"id": 2, "age": 7}\n{"id": 9, "name": "x"}\n', capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "imported 2 objects of Person, 1 of them updated\n"
    assert motte("query", people, "Person", "age == 7", "--format", "csv").splitlines()[1].startswith('2,"Bob')


def test_a_failed_import_leaves_no_file(tmp_path: pathlib.Path) -> None:
    (tmp_path / "bad.csv").write_text("id,n\n1,x\n1,y\n")
    text = motte("import", tmp_path / "new.motte", "T", tmp_path / "bad.csv", "--key", "id", expect=1)
    assert f"{tmp_path / 'bad.csv'}:3: T already has" in text
    assert [path.name for path in tmp_path.iterdir()] == ["bad.csv"]


def test_zip_codes_stay_text(tmp_path: pathlib.Path) -> None:
    (tmp_path / "zip.csv").write_text("zip,hex,n\n00501,0x1F,1\n10001,7,\n")
    motte("import", tmp_path / "zip.motte", "Z", tmp_path / "zip.csv")
    text = motte("schema", tmp_path / "zip.motte")
    assert "zip: string" in text and "hex: string" in text and "n: int?" in text


def test_interrupting_a_watch_is_no_failure(people: pathlib.Path) -> None:
    watch = subprocess.Popen([str(TOOL), "watch", str(people), "Person"], stdout=subprocess.PIPE, text=True)
    assert watch.stdout is not None
    assert watch.stdout.readline() == "watching 2 objects\n"
    watch.send_signal(signal.SIGINT)
    assert watch.wait(timeout=20) == 0


def test_wrong_arguments_end_with_2(people: pathlib.Path) -> None:
    assert "Usage:" in motte("query", expect=2)
    assert "Usage:" in motte("nonsense", expect=2)
    assert "name a class" in motte("export", people, "--format", "csv", expect=2)
    assert "--batch" in motte("import", people, "P", "x.csv", "--batch", "0", expect=2)
    assert "import" in motte("--help")


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


def test_a_file_is_verified_copied_and_compacted(people: pathlib.Path, tmp_path: pathlib.Path) -> None:
    assert motte("verify", people).startswith("sound: 1 classes, 2 objects")
    copy = tmp_path / "copy.motte"
    assert "copied version" in motte("copy", people, copy)
    assert motte("verify", copy).startswith("sound: 1 classes, 2 objects")
    assert motte("query", copy, "Person", "--count") == motte("query", people, "Person", "--count")
    assert "already" in motte("copy", people, copy, expect=1)
    assert motte("compact", people).startswith("compacted ")
    assert motte("verify", people).startswith("sound")
    assert "Person: 2 objects" in motte("space", people)
    assert motte("readers", people) == "nobody shows a version of the file\n"


def test_damage_is_named_and_the_rest_salvaged(people: pathlib.Path, tmp_path: pathlib.Path) -> None:
    lines = motte("salvage", people).splitlines()
    assert [json.loads(line)["values"]["name"] for line in lines] == ["Ada", 'Bob "B", jr']
    # A copy has no pages of older versions; what an import left in free pages would be hit instead of what counts.
    copy = tmp_path / "copy.motte"
    motte("copy", people, copy)
    raw = copy.read_bytes()
    assert raw.count(b"Ada") > 0
    copy.write_bytes(raw.replace(b"Ada", b"Ade"))
    done = subprocess.run([str(TOOL), "verify", str(copy)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and "Person.name" in done.stdout and "checksum" in done.stdout
    rest = [json.loads(line)["values"] for line in motte("salvage", copy).splitlines()]
    assert [values["id"] for values in rest] == [1, 2] and all("name" not in values for values in rest)


def test_a_file_is_migrated(people: pathlib.Path, tmp_path: pathlib.Path) -> None:
    schema = tmp_path / "schema.txt"
    schema.write_text("Human { id: int key, label: string, age: int?, when: timestamp? indexed }")
    arguments = [people, schema, "--rename", "Person=Human", "--rename", "Human.name=label"]
    plan = motte("migrate", *arguments, "--dry-run")
    assert "class Person is renamed to Human" in plan and "Human.when gets an index" in plan
    assert "Person" in motte("schema", people)
    assert motte("migrate", *arguments) == plan
    assert motte("query", people, "Human", "label == 'Ada'", "--count") == "1\n"
    assert motte("verify", people).startswith("sound")
