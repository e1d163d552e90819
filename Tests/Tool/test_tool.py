"""The motte command as a user runs it: import, look, query, watch, and every kind of bad input."""
from __future__ import annotations

import fcntl
import json
import os
import pathlib
import re
import signal
import subprocess
import time

import pytest

TOOL = pathlib.Path(__file__).parents[2] / "build" / "tool" / "motte"
PEOPLE = 'id,name,age,when\n1,Ada,36,2013-01-01T10:00:00Z\n2,"Bob ""B"", jr",NA,2013-01-02T10:00:00Z\n'


FOREIGN = re.compile(r"motte_\w|MOTTE_E|Realm\(|isValid|try!|\bsessions?\b|\brealms?\b|mostFileBytes|\bhandle\b|NULL")


def motte(*arguments: object, expect: int = 0) -> str:
    done = subprocess.run([str(TOOL), *map(str, arguments)], capture_output=True, text=True, timeout=60)
    assert done.returncode == expect, done.stderr + done.stdout
    # What goes wrong is said in the words of the command line.
    assert not FOREIGN.search(done.stderr), done.stderr
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


def test_info_says_where_row_groups_are_smaller(tmp_path: pathlib.Path) -> None:
    file = tmp_path / "rows.motte"
    for name, text in [("Wide", "long " * 100), ("Narrow", "")]:
        rows = "".join(f"{number},{number:05}{text}\n" for number in range(600))
        (tmp_path / "rows.csv").write_text("id,text\n" + rows)
        motte("import", file, name, tmp_path / "rows.csv", "--key", "id")
    information = motte("info", file)
    assert re.search(r"^format .*, 1904 rows per row group$", information, re.MULTILINE)
    assert "Wide: 600 objects, 2 properties, 480 rows per row group  indexed: id\n" in information
    assert "Narrow: 600 objects, 2 properties  indexed: id\n" in information


def test_queries(people: pathlib.Path) -> None:
    assert motte("query", people, "Person", "age > 30").splitlines() == [
        "id  name  age  when", "1   Ada   36   2013-01-01T10:00:00Z"]
    assert motte("query", people, "Person", "age == null", "--format", "csv").splitlines()[1].startswith(
        '2,"Bob ""B"", jr",,')
    assert motte("query", people, "Person", "name == $0", "Ada", "--count") == "1\n"
    assert motte("query", people, "Person", "--avg", "age") == "36.0\n"
    assert "index" in motte("query", people, "Person", "id == 2", "--explain")
    plan = motte("query", people, "Person", "age > 30 LIMIT(1)", "--explain").splitlines()
    assert plan[0] == "Person: scan(2 rows) filter(age > 30) limit(1)" and plan[1].startswith("1 match; ")
    assert [line.split()[0] for line in plan[2:]] == ["Person:", "step", "limit", "filter", "scan", "in"]
    for text, step in [("age > 30", "filter"), ("GROUP(name) COUNT", "group")]:
        content = json.loads(motte("query", people, "Person", text, "--explain", "--format", "json"))
        assert content["analyzed"] and content["plan"]["step"] == step
        assert content["plan"]["rows"] == (1 if step == "filter" else 2)
    grouped = motte("query", people, "Person", "GROUP(name) COUNT", "--explain")
    assert grouped.splitlines()[2].split()[:2] == ["group", "GROUP(name)"]


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


def test_a_failed_import_leaves_no_class(people: pathlib.Path, tmp_path: pathlib.Path) -> None:
    before = motte("schema", people)
    (tmp_path / "bad.csv").write_text("id,n\n1,x\n1,y\n")
    motte("import", people, "T", tmp_path / "bad.csv", "--key", "id", expect=1)
    assert motte("schema", people) == before
    schema = "Dog { name: string key }"
    (tmp_path / "bad.jsonl").write_text('{"name": "a"}\n{"name": "a"}\n')
    motte("import", people, "Dog", tmp_path / "bad.jsonl", "--schema", schema, expect=1)
    assert motte("schema", people) == before
    # Its rows come with it.
    (tmp_path / "good.csv").write_text("id,n\n1,x\n2,y\n")
    assert motte("import", people, "T", tmp_path / "good.csv", "--key", "id") == "imported 2 objects of T\n"
    assert "T" in motte("schema", people)
    assert motte("verify", people).startswith("sound")


def test_zip_codes_stay_text(tmp_path: pathlib.Path) -> None:
    (tmp_path / "zip.csv").write_text("zip,hex,n\n00501,0x1F,1\n10001,7,\n")
    motte("import", tmp_path / "zip.motte", "Z", tmp_path / "zip.csv")
    text = motte("schema", tmp_path / "zip.motte")
    assert "zip: string" in text and "hex: string" in text and "n: int?" in text


def test_a_watch_ends_after_a_part_of_a_second(people: pathlib.Path) -> None:
    assert motte("watch", people, "Person", "--timeout", "0.2") == "watching 2 objects\n"
    assert "--timeout are numbers" in motte("watch", people, "Person", "--timeout", "nan", expect=2)


def test_columns_are_named(people: pathlib.Path) -> None:
    assert "--columns names none" in motte("query", people, "Person", "--columns", "", expect=2)


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


def test_watch_is_notified_of_another_process(people: pathlib.Path, tmp_path: pathlib.Path) -> None:
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


def test_a_watch_of_no_number_does_not_end_by_it(people: pathlib.Path, tmp_path: pathlib.Path) -> None:
    watch = subprocess.Popen([str(TOOL), "watch", str(people), "Person", "--count", "0", "--timeout", "0"],
                             stdout=subprocess.PIPE, text=True)
    assert watch.stdout is not None
    assert watch.stdout.readline() == "watching 2 objects\n"
    for number in (5, 6):
        (tmp_path / "more.csv").write_text(f"id,name,age,when\n{number},Eve,50,\n")
        motte("import", people, "Person", tmp_path / "more.csv")
        assert f"inserted [{number - 3}]" in watch.stdout.readline()
        assert watch.stdout.readline().startswith(f"+ {number}  Eve  50")
    assert watch.poll() is None
    watch.send_signal(signal.SIGTERM)
    assert watch.wait(timeout=20) == 0
    said = " ".join(motte("help", "watch").split())
    assert said.count("0, as without it: never") == 2


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
    assert motte("compact", people, "--online", "--max", "64K").startswith("compacted ")
    assert "--max is for --online" in motte("compact", people, "--max", "64K", expect=2)
    assert "--max is a size" in motte("compact", people, "--online", "--max", "none", expect=2)
    assert motte("verify", people).startswith("sound")
    assert "Person: 2 objects" in motte("space", people)
    assert motte("readers", people) == "no process has the file open\n"


def test_a_sound_file_is_salvaged_whole(people: pathlib.Path) -> None:
    lines = motte("salvage", people).splitlines()
    assert [json.loads(line)["values"]["name"] for line in lines] == ["Ada", 'Bob "B", jr']


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


def filled(tmp_path: pathlib.Path, rows: int = 3_000, *options: object) -> pathlib.Path:
    """A file with rows of one class."""
    lines = [f"{number},name {number},{number % 90},{'a tag' * (number % 50)}" for number in range(rows)]
    (tmp_path / "rows.csv").write_text("\n".join(["id,name,age,text", *lines]) + "\n")
    file = tmp_path / "own.motte"
    assert motte("import", file, "Row", tmp_path / "rows.csv", "--key", "id", *options) == (
        f"imported {rows} objects of Row\n")
    return file


def salvaged(file: pathlib.Path, *options: object) -> tuple[dict[int, dict[str, object]], str]:
    """Objects by their keys, and what went to standard error."""
    done = subprocess.run([str(TOOL), "salvage", str(file), *map(str, options)], capture_output=True, text=True,
                          timeout=60)
    assert done.returncode == 0, done.stderr
    objects = [json.loads(line) for line in done.stdout.splitlines()]
    return {entry["key"]: entry["values"] for entry in objects}, done.stderr


def test_a_damaged_page_is_named_and_the_rest_salvaged(tmp_path: pathlib.Path) -> None:
    file = filled(tmp_path)
    sound = file.read_bytes()
    whole, report = salvaged(file)
    assert len(whole) == 3_000 and "3000 objects, 0 losses" in report
    assert motte("verify", file).startswith("sound: 1 classes, 3000 objects")

    leaves = 0
    for page in range(4, len(sound) // 4096):
        damaged = bytearray(sound)
        damaged[page * 4096 + 100] ^= 0x20
        file.write_bytes(damaged)
        done = subprocess.run([str(TOOL), "verify", str(file)], capture_output=True, text=True, timeout=60)
        # Only what is free may be damaged unnoticed.
        text = done.stdout + done.stderr
        # A value of several pages is named by its first one.
        named = [int(number) for number in re.findall(r"page (\d+)", text)]
        assert done.returncode == 0 or (done.returncode == 1 and any(0 <= page - number < 8 for number in named)), (
            page, text)
        rest, report = salvaged(file)
        if done.returncode == 0:
            assert rest == whole
        if not rest:
            # The only leaf of so small a tree, with the places of all chunks.
            leaves += 1
            assert "the root of version" in report, (page, report)
            continue
        # Whatever else the page held, rows keep the properties that are elsewhere.
        assert len(rest) >= 3_000 - 1_904, (page, report)
        for key, values in rest.items():
            for name, value in values.items():
                # Where the names are lost, columns have numbers. What is lost is left out, never a default instead.
                assert name.startswith("column") or whole[key][name] == value, (page, key, name, report)
    assert leaves <= 1


def test_without_head_and_roots_everything_is_salvaged(tmp_path: pathlib.Path) -> None:
    file = filled(tmp_path)
    whole, _ = salvaged(file)
    file.write_bytes(b"\xaa" * 4 * 4096 + file.read_bytes()[4 * 4096:])

    assert "not a Motte file" in motte("verify", file, expect=1)
    rest, report = salvaged(file)

    assert rest == whole and "no root slot can be read" in report


def test_copies_change_the_key(tmp_path: pathlib.Path) -> None:
    file = filled(tmp_path, 500)
    dump = motte("export", file)
    (tmp_path / "key").write_text("0f" * 64 + "\n")
    (tmp_path / "other").write_bytes(bytes(range(64)))
    key, other = ("--key-file", tmp_path / "key"), ("--key-file", tmp_path / "other")
    names = {name: tmp_path / f"{name}.motte" for name in ["copy", "sealed", "again", "plain"]}

    motte("copy", file, names["copy"])
    motte("copy", names["copy"], names["sealed"], "--new-key-file", tmp_path / "key")
    motte("copy", names["sealed"], names["again"], *key, "--new-key-file", tmp_path / "other")
    motte("copy", names["again"], names["plain"], *other, "--plain")

    heads = {name: path.read_bytes()[:8] for name, path in names.items()}
    assert set(heads.values()) == {b"MOTTEDB\0"}
    assert motte("export", names["copy"]) == motte("export", names["plain"]) == dump
    assert motte("export", names["sealed"], *key) == motte("export", names["again"], *other) == dump
    for name in ["sealed", "again"]:
        assert b"name 17" not in names[name].read_bytes()
    assert b"name 17" in names["plain"].read_bytes()
    assert "is encrypted" in motte("info", names["sealed"], expect=1)
    assert "the key is not the one" in motte("info", names["sealed"], *other, expect=1)
    refused = motte("info", names["copy"], *key, expect=1)
    assert "is not encrypted" in refused and "motte copy" in refused
    assert "64 bytes" in motte("info", names["sealed"], "--key-file", tmp_path / "rows.csv", expect=1)
    assert motte("verify", names["sealed"], *key).startswith("sound")
    motte("compact", names["sealed"], *key)
    assert motte("export", names["sealed"], *key) == dump
    assert len(salvaged(names["again"], *other)[0]) == 500


def test_an_import_makes_an_encrypted_file(tmp_path: pathlib.Path) -> None:
    (tmp_path / "key").write_bytes(bytes(64))
    file = filled(tmp_path, 300, "--key-file", tmp_path / "key")
    assert b"name 17" not in file.read_bytes()
    assert motte("query", file, "Row", "age > 50", "--count", "--key-file", tmp_path / "key") != "0\n"


def names(folder: pathlib.Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_immutable_files_are_read_without_a_trace(people: pathlib.Path, tmp_path: pathlib.Path) -> None:
    folder = tmp_path / "medium"
    folder.mkdir()
    file = folder / "people.motte"
    file.write_bytes(people.read_bytes())
    for arguments in (["info", file], ["schema", file], ["query", file, "Person"], ["export", file], ["verify", file],
                      ["space", file], ["copy", file, tmp_path / "copy.motte"]):
        text = motte(*arguments, "--immutable")
        assert text and names(folder) == {"people.motte"}, arguments
        if arguments[0] not in ("copy", "info"):
            assert text == motte(arguments[0], people, *arguments[2:]), arguments
    assert motte("export", tmp_path / "copy.motte") == motte("export", people)
    motte("query", file, "Person")
    assert names(folder) == {"people.motte", "people.motte-shared"}
    # Where it would make no sense there is no such option.
    (tmp_path / "schema.txt").write_text(motte("schema", people))
    for arguments in (["watch", file, "Person"], ["compact", file], ["readers", file], ["salvage", file],
                      ["migrate", file, tmp_path / "schema.txt"], ["import", file, "Person", "-"]):
        assert "--immutable" in motte(*arguments, "--immutable", expect=2), arguments
    assert "--lock-directory" in motte("info", file, "--immutable", "--lock-directory", tmp_path, expect=2)
    assert names(folder) == {"people.motte", "people.motte-shared"}


def test_what_is_shared_lies_in_a_directory_of_its_own(people: pathlib.Path, tmp_path: pathlib.Path) -> None:
    locks, folder = tmp_path / "locks", tmp_path / "data"
    locks.mkdir()
    folder.mkdir()
    file, there = folder / "people.motte", ("--lock-directory", locks)
    file.write_bytes(people.read_bytes())
    (tmp_path / "more.csv").write_text("id,name,age,when\n5,Eve,50,\n")
    (tmp_path / "schema.txt").write_text(motte("schema", people) + "Dog { name: string }")
    (tmp_path / "rows.jsonl").write_text("{\"name\": \"x\"}\n")
    for arguments in (["info", file], ["query", file, "Person"], ["export", file], ["verify", file], ["space", file],
                      ["import", file, "Person", tmp_path / "more.csv"], ["readers", file], ["salvage", file],
                      ["watch", file, "Person", "--timeout", "1"], ["compact", file], ["schema", file],
                      ["migrate", file, tmp_path / "schema.txt"], ["copy", file, tmp_path / "copy.motte"]):
        motte(*arguments, *there)
        assert names(folder) == {"people.motte"}, arguments
    assert names(locks) and motte("query", file, "Person", "--count", *there) == "3\n"
    # A file that could not be made leaves nothing in either.
    before = names(locks)
    assert "rows.jsonl" in motte("import", folder / "new.motte", "Person", tmp_path / "rows.jsonl", "--schema",
                                 "Person { id: int key }", *there, expect=1)
    assert names(folder) == {"people.motte"}
    assert {name for name in names(locks) if "new.motte" not in name} == before
    # Who has the file open with another directory is not met by accident.
    watch = subprocess.Popen([str(TOOL), "watch", str(file), "Person"], stdout=subprocess.PIPE, text=True)
    assert watch.stdout is not None and watch.stdout.readline() == "watching 3 objects\n"
    assert "another lock directory" in motte("query", file, "Person", *there, expect=1)
    watch.send_signal(signal.SIGTERM)
    assert watch.wait(timeout=20) == 0
    watch.stdout.close()


def test_opening_waits_as_long_as_was_said(people: pathlib.Path, tmp_path: pathlib.Path) -> None:
    motte("info", people)
    with open(f"{people}-shared", "r+b") as shared:
        # As one who rewrites the file keeps others out.
        fcntl.lockf(shared, fcntl.LOCK_EX | fcntl.LOCK_NB)
        (tmp_path / "more.csv").write_text("id,name,age,when\n5,Eve,50,\n")
        for command in (["query", people, "Person"], ["import", people, "Person", tmp_path / "more.csv"]):
            for seconds in (0, 0.4):
                began = time.monotonic()
                message = motte(*command, "--open-timeout", seconds, expect=1)
                assert "another process" in message and seconds <= time.monotonic() - began < 10, message
        # Who has the file open may have it for long: that is said at once.
        assert "is open in another process" in motte("compact", people, "--open-timeout", 60, expect=1)
    assert motte("query", people, "Person", "--count", "--open-timeout", "0") == "2\n"
    for wrong in ("-1", "nan", "1e30", "soon"):
        assert "--open-timeout" in motte("info", people, f"--open-timeout={wrong}", expect=2)


@pytest.mark.parametrize("threads", [1, 3, 1000])
def test_queries_use_as_many_threads_as_allowed(people: pathlib.Path, threads: int) -> None:
    assert motte("query", people, "Person", "--count", "--query-threads", threads) == "2\n"
    assert "--query-threads" in motte("query", people, "Person", "--query-threads", "0", expect=2)


@pytest.mark.parametrize("command", [["export"], ["salvage"]])
def test_a_text_never_replaces_a_database(people: pathlib.Path, command: list[str]) -> None:
    before, beside = people.read_bytes(), names(people.parent)
    assert "is a Motte database" in motte(*command, people, "--output", people, expect=1)
    assert people.read_bytes() == before
    link = people.parent / "link"
    link.symlink_to(people)
    assert "is a Motte database" in motte(*command, people, "--output", link, expect=1)
    assert people.read_bytes() == before and names(people.parent) == beside | {"link"}


def test_what_an_output_replaces_stays_until_it_is_whole(people: pathlib.Path, tmp_path: pathlib.Path) -> None:
    out = tmp_path / "out.jsonl"
    out.write_text("precious")
    out.chmod(0o600)
    motte("export", people, "Nobody", "--output", out, expect=1)
    motte("salvage", tmp_path / "people.csv", "--output", out, expect=1)
    assert out.read_text() == "precious"
    motte("export", people, "Person", "--format", "jsonl", "--output", out)
    assert out.read_text().count("\n") == 2 and out.stat().st_mode & 0o777 == 0o600
    motte("salvage", people, "--output", out)
    assert out.read_text().count('"class"') == 2
    assert not [name for name in names(tmp_path) if ".writing-" in name]
    motte("export", people, "--output", "/dev/null")
    assert pathlib.Path("/dev/null").is_char_device()


def test_copies_keep_the_mode(people: pathlib.Path, tmp_path: pathlib.Path) -> None:
    (tmp_path / "victim").write_text("theirs")
    for name in ["people.motte.compacting", "people.motte-new", "copy.motte-new"]:
        (tmp_path / name).symlink_to(tmp_path / "victim")
    people.chmod(0o600)
    motte("copy", people, tmp_path / "copy.motte")
    motte("compact", people)
    motte("compact", tmp_path / "copy.motte")
    assert [path.stat().st_mode & 0o777 for path in (people, tmp_path / "copy.motte")] == [0o600, 0o600]
    assert (tmp_path / "victim").read_text() == "theirs"
    assert motte("export", tmp_path / "copy.motte") == motte("export", people)
# ------------------------------------------------------------------------------------------------ output and arguments


def ran(*arguments: object, **options: object) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(  # type: ignore[call-overload,no-any-return]
        [str(TOOL), *map(str, arguments)], stderr=subprocess.PIPE, text=True, timeout=60, **options)


def printing(people: pathlib.Path, tmp_path: pathlib.Path) -> list[list[object]]:
    """A call of every command that prints something."""
    return [
        ["--help"], ["--version"], ["help", "query"], ["info", people], ["schema", people], ["query", people, "Person"],
        ["query", people, "Person", "--count"], ["query", people, "Person", "--explain"],
        ["query", people, "Person", "--avg", "age"], ["query", people, "Person", "--format", "jsonl"],
        ["query", people, "Person", "--format", "csv"], ["export", people], ["export", people, "Person"],
        ["export", people, "Person", "--format", "csv"], ["export", people, "Person", "--format", "json"],
        ["watch", people, "Person", "--timeout", "1"], ["verify", people], ["salvage", people],
        ["copy", people, tmp_path / "full.motte"], ["compact", people], ["space", people], ["readers", people],
        ["migrate", people, tmp_path / "schema.txt", "--dry-run"],
        ["import", people, "Person", tmp_path / "none.jsonl"],
    ]


def test_output_that_cannot_be_written_is_an_error(people: pathlib.Path, tmp_path: pathlib.Path) -> None:
    (tmp_path / "schema.txt").write_text(motte("schema", people))
    (tmp_path / "none.jsonl").write_text("")
    for arguments in printing(people, tmp_path):
        (tmp_path / "full.motte").unlink(missing_ok=True)
        with open("/dev/full", "w") as full:
            done = ran(*arguments, stdout=full)
        assert done.returncode == 1, (arguments, done)
        assert "cannot write to standard output: No space left on device" in done.stderr, (arguments, done)


def test_a_pipe_that_nobody_reads_ends_quietly(people: pathlib.Path, tmp_path: pathlib.Path) -> None:
    (tmp_path / "schema.txt").write_text(motte("schema", people))
    (tmp_path / "none.jsonl").write_text("")
    for ignored in (False, True):
        def prepare(ignored: bool = ignored) -> None:
            signal.signal(signal.SIGPIPE, signal.SIG_IGN if ignored else signal.SIG_DFL)

        for arguments in printing(people, tmp_path):
            (tmp_path / "full.motte").unlink(missing_ok=True)
            reading, writing = os.pipe()
            os.close(reading)
            done = ran(*arguments, stdout=writing, preexec_fn=prepare)
            os.close(writing)
            assert done.returncode == (1 if ignored else -signal.SIGPIPE), (arguments, done)
            assert "annot write" not in done.stderr and "rror" not in done.stderr, (arguments, done)


def test_closed_descriptors_are_not_taken_by_files(people: pathlib.Path) -> None:
    before = motte("export", people)
    for closed in ([1], [0, 1], [0, 1, 2], [1, 2]):
        def prepare(closed: list[int] = closed) -> None:
            for descriptor in closed:
                os.close(descriptor)

        for command in (["query", people, "Person"], ["info", people], ["export", people], ["compact", people]):
            done = subprocess.run([str(TOOL), *map(str, command)], preexec_fn=prepare, timeout=60)
            assert done.returncode == 1, (command, closed)
    assert motte("verify", people).startswith("sound") and motte("export", people) == before


def test_no_command_takes_more_than_it_asks_for(people: pathlib.Path, tmp_path: pathlib.Path) -> None:
    (tmp_path / "schema.txt").write_text(motte("schema", people))
    (tmp_path / "none.jsonl").write_text("")
    for arguments in printing(people, tmp_path):
        if str(arguments[0]).startswith("--") or arguments[0] in ("help", "query"):
            continue
        (tmp_path / "full.motte").unlink(missing_ok=True)
        done = ran(*arguments, "surplus", "more", stdout=subprocess.PIPE)
        assert done.returncode == 2 and done.stdout == "", (arguments, done)
    text = motte("query", people, "Person", "age > $0", "30", "31", expect=1)
    assert "the query asks for 1 argument, and 2 were given" in text
    assert "asks for 0 arguments" in motte("query", people, "Person", "age > 30", "31", expect=1)
    assert "give one of" in motte("query", people, "Person", "--count", "--avg", "age", expect=2)
    assert "--nested" in motte("export", people, "Person", "--format", "csv", "--nested", expect=2)
    assert "--count" in motte("watch", people, "Person", "--count", "-1", expect=2)
    (tmp_path / "more.csv").write_text("id,name\n7,x\n")
    assert "the primary key of Person is id" in motte(
        "import", people, "Person", tmp_path / "more.csv", "--key", "name", expect=1)
    assert motte("query", people, "Person", "--count") == "2\n"


ROWS = ('id,text,when,uid,num,flag\n1,12,2013-01-01T10:00:00Z,01234567-89ab-cdef-0123-456789abcdef,1.5,true\n'
        '2,Ada,2014-01-01T10:00:00.5Z,01234567-89ab-cdef-0123-456789abcdee,2.0,false\n3,string:x,,,,\n4,007,,,,\n')


@pytest.mark.parametrize("text, arguments, found", [
    ("text == $0", ["string:12"], "1"), ("text == $0", ["Ada"], "2"), ("text == $0", ["string:string:x"], "3"),
    ("text == $0", ["007"], "4"), ("when == $0", ["timestamp:2014-01-01T11:00:00.5+01:00"], "2"),
    ("when < $0", ["timestamp:2013-06-01"], "1"), ("uid == $0", ["uuid:01234567-89ab-cdef-0123-456789abcdee"], "2"),
    ("num == $0", ["1.5"], "1"), ("num == $0", ["decimal:2.00"], "2"), ("flag == $0", ["true"], "1"),
    ("flag == $0", ["bool:false"], "2"), ("id IN $0", ["json:[2, 9]"], "2"), ("id == $0", ["int:3"], "3"),
    ("text IN $0 AND id < $1", ["json:[\"12\", null]", "5"], "1"),
    ("when IN $0", ["json:[{\"$date\": \"2013-01-01T10:00:00Z\"}]"], "1"),
])
def test_arguments_of_every_type(tmp_path: pathlib.Path, text: str, arguments: list[str], found: str) -> None:
    (tmp_path / "rows.csv").write_text(ROWS)
    schema = "T { id: int key, text: string?, when: timestamp?, uid: uuid?, num: double?, flag: bool? }"
    motte("import", tmp_path / "t.motte", "T", tmp_path / "rows.csv", "--schema", schema)
    out = motte("query", tmp_path / "t.motte", "T", text, *arguments, "--columns", "id", "--format", "csv")
    assert out.split() == ["id", found]


def test_arguments_that_are_no_values(people: pathlib.Path) -> None:
    for argument in ("int:x", "timestamp:yesterday", "uuid:1", "bool:maybe", "decimal:1E9999", "data:???"):
        assert "write string:" in motte("query", people, "Person", "id == $0", argument, expect=1)
    assert "text follows" in motte("query", people, "Person", "id IN $0", "json:[1] 2", expect=1)
    assert "expected" in motte("query", people, "Person", "id IN $0", "json:[1,", expect=1)


def test_an_export_is_there_as_a_whole_or_not_at_all(people: pathlib.Path, tmp_path: pathlib.Path) -> None:
    target = tmp_path / "out.csv"
    target.write_text("as it was")
    target.chmod(0o600)
    motte("export", people, "Person", "--columns", "nothing", "--output", target, expect=1)
    assert target.read_text() == "as it was"
    link = tmp_path / "link.csv"
    link.symlink_to(target)
    motte("export", people, "Person", "--format", "csv", "--output", link)
    assert link.is_symlink() and target.read_text().startswith("id,name") and target.stat().st_mode & 0o777 == 0o600
    assert "No space left" in motte("export", people, "--output", "/dev/full", expect=1)
    assert "No space left" in motte("salvage", people, "--output", "/dev/full", expect=1)
    assert pathlib.Path("/dev/full").is_char_device()
    assert not list(tmp_path.glob("*writing*"))


def test_a_single_embedded_object_goes_round_as_csv(tmp_path: pathlib.Path) -> None:
    schema = "embedded Home { city: string?, no: int } P { id: int key, home: link<Home>, homes: list<Home> }"
    (tmp_path / "p.jsonl").write_text(
        '{"id": 1, "home": {"city": "a,\\"b\\"", "no": 7}, "homes": [{"no": 1}]}\n{"id": 2, "home": null}\n'
        '{"id": 3, "home": {"no": 0}}\n')
    motte("import", tmp_path / "a.motte", "P", tmp_path / "p.jsonl", "--schema", schema)
    text = motte("export", tmp_path / "a.motte", "P", "--format", "csv", "--output", tmp_path / "p.csv") or (
        tmp_path / "p.csv").read_text()
    assert text.splitlines()[2] == "2,,[]" and "#" not in text
    motte("import", tmp_path / "b.motte", "P", tmp_path / "p.csv", "--schema", schema)
    assert motte("export", tmp_path / "b.motte") == motte("export", tmp_path / "a.motte")


def test_imports_are_committed_as_often_as_was_said(tmp_path: pathlib.Path) -> None:
    lines = [f"{number},x" for number in range(470)] + ["bad,x"]
    (tmp_path / "rows.csv").write_text("\n".join(["id,name", *lines]) + "\n")
    schema = "T { id: int key, name: string }"
    motte("import", tmp_path / "t.motte", "T", tmp_path / "rows.csv", "--schema", schema, "--commit-every", "100",
          expect=1)
    assert motte("query", tmp_path / "t.motte", "T", "--count") == "400\n"
