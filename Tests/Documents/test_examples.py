"""The examples of README.md and docs, done as they stand there, one document in one folder from its top to its end.

Every fenced block has a language. Python runs, C is compiled and run, commands are run with what they need beside them,
query text is parsed (test_query_language.py), JSON is imported, a case is a case. What runs elsewhere, or is none,
is in a list here with the reason.
"""
from __future__ import annotations

import ast
import asyncio
import json
import os
import pathlib
import re
import signal
import subprocess
import threading
from collections.abc import Callable
from typing import Any, Optional

import pytest

import motte

from documents import DOCUMENTS, ROOT, all_blocks, blocks, promises, text_of

TOOL = ROOT / "build" / "tool" / "motte"
LIBRARY = ROOT / "build" / "library"

# Commands that have a stage of `make test` to themselves, or are too much for a test: what holds them.
ELSEWHERE = {
    "make demo": "scripts/test.sh", "make test": "scripts/test.sh",
    "make verify": "scripts/test.sh", "make tidy": "scripts/test.sh",
    "make check": "scripts/check.sh", "make lint": "scripts/style.sh", "make pins": "scripts/pin.sh",
    "make docs": "scripts/docs.sh", "make release": "scripts/release.sh",
    "make install": "Tests/Consumers/check.sh", "pip install ./bindings/python": "Tests/Consumers/check.sh",
    "python3 -m venv": "Tests/Consumers/check.sh", "cmake -S . -B": "Tests/Consumers/check.sh",
    "sudo cmake --install": "Tests/Consumers/check.sh",
    "swift build --target": "Package.swift", "swift test --filter": "scripts/test.sh",
    "swiftc @motte/build/swift/flags": "scripts/build-swift-library.sh",
    "swift build -Xswiftc @$PWD/motte/build/swift/flags": "scripts/build-swift-library.sh",
    "motte ship people.motte --to postgresql:": "Tests/Tool/test_postgres.py",
    "motte status people.motte --folder postgresql:": "Tests/Tool/test_postgres.py",
    "psql reports": "Tests/Tool/test_postgres.py",
}
# Swift is compiled by Tests/Consumers/check.sh; what else stands in the documents is compiled there as well, or
# names a place that only its user has.
SWIFT = {
    "import Motte": "Tests/Consumers", ".package(url:": "Tests/Consumers/swift/Package.swift.in",
    "import RealmSwift": "Tests/Consumers/swift/Documents/main.swift",
    "import Foundation\nimport RealmSwift": "Tests/Consumers/swift/FromRealm/main.swift",
    "Realm.misuseHandler =": "Tests/Consumers/swift/Documents/main.swift",
    'let key = "Washington D.C."': "Tests/Consumers/swift/Documents/main.swift",
}


def test_every_block_says_what_it_is() -> None:
    known = {"python", "c", "swift", "sh", "query", "json", "case", "text"}
    wrong = [f"{block}: ```{block.language}" for name in DOCUMENTS for block in blocks(name)
             if block.language not in known]
    assert wrong == [], "say what kind of example it is, so that it is tested; `text` is none"
    assert all(text_of(name).count("\n```") == 2 * len(blocks(name)) for name in DOCUMENTS)


# ------------------------------------------------------------------------------------------------ Python


def run_python(source: str, names: dict[str, Any]) -> None:
    """Executes a block, which may await; a loop that has no end ends after half a second."""
    tree = compile(source, "example", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
    result = eval(tree, names)
    if asyncio.iscoroutine(result):
        with pytest.raises(asyncio.TimeoutError):
            asyncio.run(asyncio.wait_for(result, 0.5))


def example(document: str, language: str, beginning: str) -> str:
    found = [block.text for block in blocks(document) if block.language == language and beginning in block.text]
    assert len(found) == 1
    return found[0]


@promises("bindings/python/README.md",
          "keeps values under new names")
def test_the_migration_of_the_python_readme(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with motte.open("people.motte", schema="Person { first: string, last: string }") as db:
        with db.write():
            db.add(db.model("Person")(first="Ada", last="Lovelace"))

    class Person(motte.Model):
        name: str

    names: dict[str, Any] = {"motte": motte, "Person": Person}
    run_python(example("bindings/python/README.md", "python", "def migrate("), names)
    with names["db"] as db:
        assert db.objects(Person).column("name") == ["Ada Lovelace"]


@promises("bindings/python/README.md", "Without a callback, `changes()` is a stream (`motte.ChangeStream`)")
def test_the_streams_of_the_python_readme(tmp_path: pathlib.Path) -> None:
    source = example("bindings/python/README.md", "python", "for change in results.changes(")
    loop, stream = source.splitlines()
    seen: list[Any] = []
    with motte.open(tmp_path / "people.motte", schema="Person { name: string }") as db:
        names = {"motte": motte, "results": db.objects("Person"), "seen": seen}
        run_python(loop.replace("timeout=60", "timeout=0.1").replace("...", "seen.append(change)"), names)
        run_python(stream.replace("...", "seen.append(change)"), names)
        names.clear()
        assert [change.is_initial for change in seen] == [True, True]
        seen.clear()


def test_the_groups_of_the_document(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch,
                                    capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "example"}
    run_python(example("docs/groups.md", "python", "class Person"), names)
    names.clear()
    run_python(example("docs/groups.md", "python", "class Sale"), names)
    names.clear()
    assert capsys.readouterr().out == "Oslo 2 35.5\nRome 1 None\n"
    with motte.open("flights.motte", schema="Flight { carrier: string, arr_delay: double? }") as db:
        flight = db.model("Flight")
        with db.write():
            db.add_all([flight(carrier="UA", arr_delay=4.0), flight(carrier="UA"), flight(carrier="AA", arr_delay=1.5)])
    folder = Folder(tmp_path)
    assert run_commands(folder, "docs/groups.md", "") == 1
    command = example("docs/groups.md", "sh", "GROUP(carrier)").replace("--format box", "--format csv")
    assert folder.type(command) == "carrier,COUNT,AVG(arr_delay)\nUA,2,4.0\nAA,1,1.5\n"


def test_the_copy_of_the_document_of_changes_follows(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "python").mkdir()
    monkeypatch.chdir(tmp_path / "python")
    names: dict[str, Any] = {"__name__": "example"}
    run_python(example("docs/changes.md", "python", "import motte"), names)
    run_python(example("docs/changes.md", "python", "before = db.freeze()"), names)
    run_python(example("docs/changes.md", "python", "changes_to(other)"), names)
    run_python(example("docs/changes.md", "python", "db.on_commit(send)"), names)
    names["before"].close()
    names["db"].close()
    names["copy"].close()
    names.clear()
    with motte.open(tmp_path / "leader.motte", schema="Person { id: int key }") as db, db.write():
        db.add(db.model("Person")(id=1))
    folder = Folder(tmp_path)
    assert run_commands(folder, "docs/changes.md", "") == 4
    with motte.open(tmp_path / "copy.motte") as copy:
        assert copy.count(copy.model("Person")) == 1


def test_the_limit_of_a_query_of_the_document(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch,
                                              capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    source = example("docs/query-language.md", "python", "query_timeout")
    run_python(source, {"__name__": "example"})
    assert capsys.readouterr().out == "0\n"
    run_python(source.replace("= 2.5", "= 0").replace("    try:", """    with db.write():
        db.add(Visit(city="Oslo"))
    try:"""), {"__name__": "example"})
    assert "longer than the 0 ms" in capsys.readouterr().out


def test_all_blocks_in_python_are_run() -> None:
    # Ten are run above, three below, one by test_sqlite.py, two by test_python_readme.py and those of the tutorial by
    # test_tutorials.py; the first of the Python README is run by its own test.
    rest = [block for block in all_blocks("python") if block.document != "docs/tutorial-python.md"]
    assert len(rest) == 17
    assert "test_the_example_runs" in (ROOT / "bindings/python/tests/test_package.py").read_text()


# ------------------------------------------------------------------------------------------------ commands


class Folder:
    """A folder in which the commands of a document are typed, with `motte` on the path."""

    def __init__(self, path: pathlib.Path) -> None:
        self.path = path
        binaries = path / "bin"
        binaries.mkdir()
        (binaries / "motte").symlink_to(TOOL)
        self.environment = {**os.environ, "PATH": f"{binaries}:{os.environ['PATH']}"}

    def type(self, line: str) -> str:
        done = subprocess.run(line, shell=True, executable="/bin/bash", cwd=self.path, env=self.environment,
                              capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, f"{line}\n{done.stderr}{done.stdout}"
        return done.stdout

    def watch(self, line: str, change: str) -> None:
        """Runs a command that goes on until Ctrl-C, while another process changes something."""
        with subprocess.Popen(["/bin/bash", "-c", f"exec {line}"], cwd=self.path, env=self.environment, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as running:
            assert running.stdout is not None
            watchdog = threading.Timer(30, running.kill)
            watchdog.start()
            running.stdout.readline()  # "watching 1 objects"
            self.type(change)
            assert "inserted" in running.stdout.readline() + running.stdout.readline()
            running.send_signal(signal.SIGINT)
            assert running.wait(30) == 0
            watchdog.cancel()


def run_commands(folder: Folder, document: str, change: str, before: Optional[Callable[[str], None]] = None) -> int:
    done = 0
    for block in blocks(document):
        for line in block.text.splitlines() if block.language == "sh" else []:
            elsewhere = [start for start in ELSEWHERE if line.startswith(start)]
            if elsewhere:
                continue
            if before:
                before(line)
            if line.startswith("motte watch"):
                folder.watch(line, change)
            else:
                folder.type(line)
            done += 1
    return done


def test_what_runs_elsewhere_runs() -> None:
    lines = [line for block in all_blocks("sh") for line in block.text.splitlines()]
    for start, place in ELSEWHERE.items():
        assert any(line.startswith(start) for line in lines), start
        text = (ROOT / place).read_text()
        target = re.match(r"make (\w+)", start)
        if target:
            assert re.search(rf"(?m)^{target[1]}:", (ROOT / "Makefile").read_text()), start
        word = {"make test": "stage_", "make install": "cmake --install", "pip install ./bindings/python": "pip wheel",
                "swift build --target": "targets"}.get(start)
        assert word is None or word in text, start
    for line in lines:
        assert line.startswith(("motte ", "--package-path", *ELSEWHERE)), line
        for module in re.findall(r"--target (\w+)", line):
            assert f'"{module}"' in (ROOT / "Package.swift").read_text()
        for filtered in re.findall(r"--filter (\w+)", line):
            assert (ROOT / "Tests" / filtered).is_dir()
        for command, stages in re.findall(r'make (\w+) STAGES="([\w ]+)"', line):
            plan = (ROOT / "scripts" / f"{command}.sh").read_text()
            assert all(f'"{stage}:' in plan for stage in stages.split()), line


@promises("README.md",
          "Several threads and processes can use a file at once", "what is in the file", "its classes",
          "prints changes as others commit them")
def test_the_readme_from_its_top_to_its_end(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch,
                                            capsys: pytest.CaptureFixture[str]) -> None:
    folder = Folder(tmp_path)
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "example"}
    run_python(example("README.md", "python", "import motte"), names)
    names.clear()
    assert capsys.readouterr().out == "Ada\n"
    (tmp_path / "people.c").write_text(example("README.md", "c", "#include <motte_inline.h>"))
    folder.type(f"gcc -Wall -Wextra -Werror people.c -I{ROOT}/include -I{ROOT}/bindings/c -L{LIBRARY} -lmotte "
                f"-Wl,-rpath,{LIBRARY} -o people")
    assert folder.type("./people") == "0 adults\n"
    # The others are a program of their own: test_tutorials.py.
    assert [block.document for block in all_blocks("c") if block.document != "docs/tutorial-c.md"] == ["README.md"]
    (tmp_path / "people.csv").write_text("id,name,age\n3,Cid,40\n")
    (tmp_path / "more.csv").write_text("id,name,age\n4,Dee,50\n")
    assert run_commands(folder, "README.md", "motte import people.motte Person more.csv") == 5
    assert folder.type('motte query people.motte Person "age > 30 SORT(name ASC)" --format csv --columns name') == \
        "name\nCid\nDee\n"
    assert "sound" in folder.type("motte verify people.motte")


SCHEMA = ("Person { id: int key, name: string, age: int?, city: string?, zip: string?, seen: timestamp?, "
          "best_friend: link<Person> }")


def test_the_commands_of_the_tool(tmp_path: pathlib.Path) -> None:
    folder = Folder(tmp_path)
    with motte.open(tmp_path / "people.motte", schema=SCHEMA) as db:
        person = db.model("Person")
        with db.write():
            ada = db.add(person(id=7, name="Ada", age=36, city="London"))
            db.add(person(id=8, name="Bob", age=40, best_friend=ada))
    (tmp_path / "people.csv").write_text("id,name,age,city,best_friend\n1,Cid,50,,7\n")
    (tmp_path / "more.jsonl").write_text('{"id": 1, "name": "Cyd"}\n{"id": 9, "name": "Eve"}\n')
    (tmp_path / "late.jsonl").write_text('{"id": 10, "name": "Fay", "age": 77}\n')
    (tmp_path / "key").write_bytes(bytes(range(64)))
    (tmp_path / "new-schema.txt").write_text(SCHEMA.replace("city", "town"))

    def before(line: str) -> None:
        if "--lock-directory locks" in line:
            (tmp_path / "locks").mkdir()
        if "damaged.motte" in line:
            data = bytearray((tmp_path / "people.motte").read_bytes())
            data[len(data) // 2:len(data) // 2 + 40] = b"damage! " * 5
            (tmp_path / "damaged.motte").write_bytes(data)

    change = "motte import people.motte Person late.jsonl"
    assert run_commands(folder, "docs/tool.md", change, before) == 46
    assert folder.type("motte export people.motte Person --where 'id == 1' --columns name") == '{"name":"Cyd"}\n'
    for name in ("restored", "from-json", "from-sqlite"):
        assert folder.type(f"motte export {name}.motte") == (tmp_path / "dump.jsonl").read_text()
    assert folder.type("motte export secret.motte --key-file key") == folder.type("motte export copy.motte")
    assert '"name":"Ada"' in (tmp_path / "rest.jsonl").read_text() + (tmp_path / "persons.json").read_text()


REALM_FILES = ROOT / "Tests" / "RealmFiles"


@promises("docs/from-realm.md", "The file is opened for reading only and never changed",
          "The command prints each class with its number of objects",
          "A file that is there is never replaced; it takes the objects in one transaction instead, if its classes fit",
          "which is gone when the command ends", "`app.realm` alone is enough")
def test_the_way_from_a_realm_file(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch,
                                   capsys: pytest.CaptureFixture[str]) -> None:
    folder = Folder(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    folder.environment["TMPDIR"] = str(tmp_path / "temporary")
    (tmp_path / "temporary").mkdir()
    original = (REALM_FILES / "tiny.realm").read_bytes()
    (tmp_path / "app.realm").write_bytes(original)
    (tmp_path / "secret.realm").write_bytes((REALM_FILES / "encrypted.realm").read_bytes())
    (tmp_path / "realm.key").write_text(json.loads((REALM_FILES / "encrypted.json").read_text())["key"])
    (tmp_path / "new.key").write_bytes(bytes(range(64)))
    assert run_commands(folder, "docs/from-realm.md", "") == 10
    assert (tmp_path / "app.realm").read_bytes() == original
    assert list((tmp_path / "temporary").iterdir()) == []
    assert (tmp_path / "dogs.csv").read_text().splitlines()[0].startswith("name,age,weight")
    names: dict[str, Any] = {"__name__": "example"}
    for block in blocks("docs/from-realm.md"):
        if block.language == "python":
            run_python(block.text, names)
    names.clear()
    assert capsys.readouterr().out == "Rex ball 7\n4 objects; 0 notes\n"
    dump = (tmp_path / "app.jsonl").read_text()
    for exported in ["app.sqlite", "app.json", "app.jsonl"]:
        folder.type(f"motte import again-{exported}.motte {exported}")
        assert folder.type(f"motte export again-{exported}.motte") == dump
    assert folder.type("motte import new.motte app.realm").splitlines() == [
        "Dog: 3 of 3 objects", "Person: 1 of 1 objects", "imported 4 objects"]
    assert folder.type("motte import new.motte app.realm --update modified").splitlines() == [
        "Dog: 3 of 3 objects", "Person: 1 of 1 objects, 1 of them updated", "imported 4 objects"]


def test_the_commands_of_the_document_of_copies_that_follow(tmp_path: pathlib.Path) -> None:
    with motte.open(tmp_path / "people.motte", schema="Person { id: int key, name: string }") as db, db.write():
        db.add(db.model("Person")(id=1, name="Ada"))
    folder = Folder(tmp_path)
    assert run_commands(folder, "docs/replication.md", "") == 7
    for name in ("copy.motte", "earlier.motte"):
        with motte.open(tmp_path / name) as copy:
            with copy.write():
                assert [person.name for person in copy.objects("Person")] == ["Ada"]


def test_the_plan_of_the_document(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch,
                                  capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    run_python(example("docs/explain.md", "python", "class Person"), {"__name__": "example"})
    shown = next(block.text for block in all_blocks("text") if block.document == "docs/explain.md")
    # All but the times.
    without = [line.rsplit(None, 1)[0].split() for line in capsys.readouterr().out.rstrip().splitlines()]
    assert without == [line.rsplit(None, 1)[0].split() for line in shown.rstrip().splitlines()]


def test_only_these_documents_have_commands() -> None:
    assert {block.document for block in all_blocks("sh")} == {
        "README.md", "CONTRIBUTING.md", "docs/tool.md", "docs/COMING_FROM_REALMSWIFT.md", "docs/from-realm.md",
        "docs/changes.md", "docs/groups.md", "docs/replication.md", "docs/sqlite.md"}


# ------------------------------------------------------------------------------------------------ the rest


def test_json_is_imported_and_comes_back(tmp_path: pathlib.Path) -> None:
    for block in all_blocks("json"):
        with motte.open(tmp_path / f"{block.line}.motte", schema=motte.dump_schema(text=block.text)) as db:
            db.import_json(None, text=block.text)
            assert db.export_json(document='"objects":[' in block.text) == block.text


def test_the_case_is_one() -> None:
    for block in all_blocks("case"):
        name = block.text.split()[1]
        [path] = (ROOT / "Tests" / "Conformance").rglob(f"{name}.steps")
        assert path.read_text() == block.text


def test_swift_is_compiled_somewhere() -> None:
    for block in all_blocks("swift"):
        if block.document == "docs/tutorial-swift.md":
            continue  # as a whole: Tests/Consumers/swift/Tutorial
        places = [place for start, place in SWIFT.items() if block.text.startswith(start)]
        assert len(places) == 1 and (ROOT / places[0]).exists(), str(block)


@promises("docs/schema.md",
          "The plan of an opening is available as text without changing the file, one line per difference")
def test_the_plan_is_the_one_shown(tmp_path: pathlib.Path) -> None:
    [shown] = [block.text for block in blocks("docs/schema.md") if block.language == "text"]
    path = tmp_path / "people.motte"
    motte.open(path, schema="Person { nick: string, age: int, fax: string? }", schema_version=3).close()
    before = path.read_bytes()
    plan = motte.plan(path, schema="Person { alias: string, age: string } Dog { name: string }", schema_version=4,
                      renames={"Person.nick": "alias"})
    assert str(plan).strip() == shown.strip()
    assert path.read_bytes() == before
