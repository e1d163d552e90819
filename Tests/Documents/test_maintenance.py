"""What docs/maintenance.md, docs/schema.md and docs/collections.md say, where no test elsewhere holds it."""
from __future__ import annotations

import itertools
import os
import pathlib
import subprocess
import time

import pytest

import motte
from motte import errors

from documents import ROOT, promises

TOOL = ROOT / "build" / "tool" / "motte"
SCHEMA = "P { id: int key, name: string, n: int indexed, data: data?, tags: list<string>, any: mixed }"
names = itertools.count()


def fill(db: motte.Database, first: int, end: int, size: int = 10) -> None:
    with db.write():
        db.insert_columns(db.model("P"), {
            "id": list(range(first, end)), "name": [f"name {number}" for number in range(first, end)],
            "n": [number % 10 for number in range(first, end)], "data": [os.urandom(size) for _ in range(first, end)]})


@pytest.fixture
def path(tmp_path: pathlib.Path) -> pathlib.Path:
    path = tmp_path / "file.motte"
    with motte.open(path, schema=SCHEMA) as db:
        fill(db, 0, 3000)
    return path


# ------------------------------------------------------------------------------------------------ opening


@promises("docs/maintenance.md", "declared classes that it lacks read as empty", "every change, of objects and of "
          "collections, is the error `READ_ONLY`")
def test_read_only(path: pathlib.Path) -> None:
    with motte.open(path, read_only=True, schema=SCHEMA + " Dog { name: string }") as db:
        assert len(db.objects("Dog")) == 0
        with pytest.raises(errors.ReadOnlyError):
            with db.write():
                pass
    with pytest.raises(errors.DatabaseNotFoundError):
        motte.open(path.with_name("none.motte"), read_only=True)
    with pytest.raises(errors.SchemaMismatchError):
        motte.open(path, read_only=True, schema="P { id: int key, more: string }")


@promises("docs/maintenance.md", "for a medium that nobody can write: like read only, and nothing is put beside the "
          "file")
def test_immutable(path: pathlib.Path) -> None:
    for beside in path.parent.glob("file.motte-*"):
        beside.unlink()
    before = path.read_bytes()
    with motte.open(path, immutable=True) as db:
        assert len(db.objects("P")) == 3000
        assert os.listdir(path.parent) == ["file.motte"]
        with pytest.raises(errors.ReadOnlyError):
            with db.write():
                pass
    assert os.listdir(path.parent) == ["file.motte"] and path.read_bytes() == before


@promises("docs/maintenance.md",
          "where the sidecar goes if the file's own directory can't be written")
def test_lock_directory(path: pathlib.Path, tmp_path: pathlib.Path) -> None:
    for beside in path.parent.glob("file.motte-*"):
        beside.unlink()
    locks = tmp_path / "locks"
    locks.mkdir()
    with motte.open(path, lock_directory=locks) as db:
        fill(db, 5000, 5001)
        assert len(list(locks.iterdir())) > 0
        assert sorted(os.listdir(path.parent)) == ["file.motte", "locks"]


@promises("docs/maintenance.md",
          "called with the file's size and the bytes in use when nobody has the file open; if it says yes, the file "
          "is compacted",
          "Deleted objects leave free pages that later commits use. Compaction writes a copy without them and puts "
          "it in the file's place.")
def test_compact_on_launch(path: pathlib.Path) -> None:
    with motte.open(path) as db:
        fill(db, 10_000, 40_000, 100)
        with db.write():
            db.delete(db.objects("P").where("id >= 10000"))
    asked: list[tuple[int, int]] = []
    size = path.stat().st_size

    def compact(total: int, used: int) -> bool:
        asked.append((total, used))
        return True

    with motte.open(path, compact_on_launch=compact) as db:
        assert len(db.objects("P")) == 3000 and db.verify().is_sound
        with motte.open(path, compact_on_launch=compact):
            assert len(asked) == 1, "not asked while somebody has the file open"
    assert asked[0][0] == size and 0 < asked[0][1] <= size
    assert path.stat().st_size <= size


@promises("docs/maintenance.md", "the most bytes the file may grow to by what is added while it is open")
def test_max_file_size(tmp_path: pathlib.Path) -> None:
    with motte.open(tmp_path / "small.motte", schema=SCHEMA, max_file_size=8 << 20) as db:
        fill(db, 0, 100)
        # Refused at its first page, at its last ones, and in between.
        for rows, size in ((8, 1 << 20), (9, 1 << 20), (12, 1 << 20), (40, 1 << 20), (2, 15 << 20), (9000, 1000)):
            with pytest.raises(errors.MapFullError):
                fill(db, 100_000, 100_000 + rows, size)
            assert len(db.objects("P")) == 100
        fill(db, 100, 101)
        with db.write():
            db.delete(db.objects("P").where("id == 100"))
    with motte.open(tmp_path / "small.motte") as db:
        assert len(db.objects("P")) == 100 and db.verify().is_sound


# ----------------------------------------------------------------------------------------------- copies, keys, deleting


@promises("docs/maintenance.md",
          "A copy shows one version, has no free pages and is complete when it gets its name.",
          "it has the source's version number and no change log", "An existing file is never replaced.")
def test_copies(path: pathlib.Path, tmp_path: pathlib.Path) -> None:
    target = tmp_path / "copy.motte"
    with motte.open(path) as db:
        with db.write():
            db.delete(db.objects("P").where("id < 1000"))

        def look(done: int, total: int) -> None:
            assert not target.exists() or done == total

        db.copy_to(target, progress=look)
        with motte.open(target) as copy:
            assert copy.version == db.version
            assert copy.export_json() == db.export_json()
            space = copy.space()
            assert space.log_records == 0
            assert copy.verify().is_sound
        before = target.read_bytes()
        with pytest.raises(errors.Error):
            db.copy_to(target)
        assert target.read_bytes() == before
    assert sorted(entry.name for entry in tmp_path.iterdir() if "-" not in entry.name) == ["copy.motte", "file.motte"]


@promises("docs/maintenance.md",
          "A copy has the key of its source.", "A key is changed, given or taken "
          "away by "
          "copying.", "64 bytes, or 128 hexadecimal digits")
def test_keys(path: pathlib.Path, tmp_path: pathlib.Path) -> None:
    one, two = bytes(range(64)), bytes(range(1, 65))
    (tmp_path / "one").write_bytes(one)
    with motte.open(path) as db:
        text = db.export_json()
        db.copy_to(tmp_path / "one.motte", encryption_key=one)
    with motte.open(tmp_path / "one.motte", encryption_key=one) as db:
        db.copy_to(tmp_path / "same.motte")
        db.copy_to(tmp_path / "two.motte", encryption_key=two)
        subprocess.run([TOOL, "copy", tmp_path / "one.motte", tmp_path / "plain.motte", "--plain", "--key-file",
                        tmp_path / "one"], check=True)
    for name, key in (("same", one), ("two", two), ("plain", None)):
        with motte.open(tmp_path / f"{name}.motte", encryption_key=key) as db:
            assert db.export_json() == text
        for wrong in {one, two, None} - {key}:
            with pytest.raises(errors.WrongKeyError):
                motte.open(tmp_path / f"{name}.motte", encryption_key=wrong)
    (tmp_path / "bytes").write_bytes(two)
    (tmp_path / "digits").write_text(two.hex() + "\n")
    for key_file in ("bytes", "digits"):
        for command in (["info"], ["schema"], ["query", "P", "--count"], ["export"], ["verify"], ["space"],
                ["readers"]):
            subprocess.run([TOOL, command[0], tmp_path / "two.motte", *command[1:], "--key-file", tmp_path / key_file],
                           check=True, capture_output=True)


@promises("docs/maintenance.md",
          "only if nobody has the file open (`BUSY`) and if it is Motte's; a damaged one is deleted too")
def test_deleting(path: pathlib.Path) -> None:
    with motte.open(path):
        with pytest.raises(errors.BusyError):
            motte.delete(path)
    other = path.with_name("other.txt")
    other.write_text("not Motte's")
    with pytest.raises(errors.NotAMotteFileError):
        motte.delete(other)
    assert other.read_text() == "not Motte's"
    data = bytearray(path.read_bytes())
    data[4096:20000] = bytes(len(data[4096:20000]))
    path.write_bytes(data)
    assert motte.delete(path)
    assert os.listdir(path.parent) == ["other.txt"]


@promises("docs/maintenance.md", "Each long one takes a progress function, which can stop it; nothing is left behind "
          "then.")
def test_stopping(path: pathlib.Path, tmp_path: pathlib.Path) -> None:
    def stop(done: int, total: int) -> None:
        raise KeyError("enough")

    before, listed = path.read_bytes(), sorted(os.listdir(tmp_path))
    for work in (lambda db: db.copy_to(tmp_path / "copy.motte", progress=stop), lambda db: db.verify(progress=stop),
                 lambda db: db.space(progress=stop), lambda db: db.export_json(tmp_path / "out.json", progress=stop),
                 lambda db: db.compact(progress=stop)):
        with motte.open(path) as db:
            with pytest.raises(KeyError):
                work(db)
            assert len(db.objects("P")) == 3000
        assert sorted(os.listdir(tmp_path)) == listed
    for whole in (lambda: motte.compact(path, progress=stop), lambda: motte.verify(path, progress=stop),
                  lambda: motte.salvage(path, tmp_path / "rest.jsonl", progress=stop)):
        with pytest.raises(KeyError):
            whole()
        assert sorted(os.listdir(tmp_path)) == listed
    assert path.read_bytes()[8192:] == before[8192:]


# ------------------------------------------------------------------------------------------------ space


@promises("docs/maintenance.md", "`motte readers` and `motte_realm_readers()` list them with process, thread, version "
          "and age")
def test_readers_are_listed(path: pathlib.Path) -> None:
    with motte.open(path) as old, motte.open(path) as new:
        fill(new, 9000, 9001)
        fill(new, 9001, 9002)
        oldest = old.readers()[0]
        assert oldest.version == old.version and oldest.versions_behind == 2 and oldest.process == os.getpid()
        text = subprocess.run([TOOL, "readers", path], check=True, capture_output=True, text=True).stdout
        assert str(os.getpid()) in text and str(old.version) in text


@promises("docs/maintenance.md", "every version that some process has pinned, with the process, how many commits it "
          "is behind "
          "and since when",
          "objects, and bytes in column chunks, long lists, indexes and long values. Bytes of the change log, size "
          "of the file and how much of it is free.")
def test_statistics(path: pathlib.Path) -> None:
    with motte.open(path) as db:
        with db.write():
            db.objects("P")[0].data = bytes(100_000)
        space = db.space()
        assert space.file_bytes == path.stat().st_size and 0 <= space.free_bytes < space.file_bytes
        people = space.classes["P"]
        assert people.objects == 3000 and people.chunk_bytes > 0 and people.index_bytes > 0
        assert people.large_value_bytes >= 100_000
    text = subprocess.run([TOOL, "space", path], check=True, capture_output=True, text=True).stdout
    assert "P" in text and "index" in text


# ------------------------------------------------------------------------------------------------ schema


@promises("docs/schema.md", "objects without a parent are deleted, and one that several links lead to is duplicated "
          "for each "
          "but the first, with all it owns",
          "Becoming an ordinary class again costs nothing.")
def test_a_class_becomes_embedded(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "a.motte"
    before = "P { id: int key, home: link<Home>, more: list<Home> } Home { city: string, marks: list<int> }"
    with motte.open(path, schema=before) as db:
        person, home = db.model("P"), db.model("Home")
        with db.write():
            shared = db.add(home(city="shared", marks=[1, 2]))
            db.add(home(city="nobody's"))
            db.add(person(id=1, home=shared))
            db.add(person(id=2, home=shared, more=[shared]))
    with motte.open(path, schema=before.replace("Home {", "embedded Home {").replace("} embedded", "}\nembedded"),
                    schema_version=1) as db:
        one, two = db.objects("P")
        assert [home.city for home in (one.home, two.home, two.more[0])] == ["shared"] * 3
        assert one.home != two.home and list(two.more[0].marks) == [1, 2]
        with db.write():
            two.home.city = "own"
        assert one.home.city == "shared"
        assert '"nobody' not in db.export_json() and db.verify().is_sound
    with motte.open(path, schema=before, schema_version=2) as db:
        assert sorted(db.objects("Home").column("city")) == ["own", "shared", "shared"]


@promises("docs/schema.md",
          "its values must be distinct at the end of the migration, otherwise `DUPLICATE_PRIMARY_KEY`, and nothing "
          "has changed", "**required → optional** keeps the values.",
          "replace the values by the [default](#defaults-and-rules) of the program, else by 0, false, empty",
          "Properties get the order of their declaration.",
          "classes that are not declared stay, unless they are named for deletion")
def test_migrations(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "a.motte"
    with motte.open(path, schema="P { id: int, name: string, age: int? } Q { n: int }") as db:
        with db.write():
            for number in (1, 1, 2):
                db.add(db.model("P")(id=number, name=f"n{number}", age=number))
            db.add(db.model("Q")(n=1))
        text = db.export_json()
    with pytest.raises(errors.DuplicatePrimaryKeyError):
        motte.open(path, schema="P { id: int key, name: string, age: int? }", schema_version=1)
    with motte.open(path) as db:
        assert db.export_json() == text and motte.schema_version(path) == 0
    with motte.open(path, schema="P { age: int, name: string?, id: int }", schema_version=1) as db:
        assert db.objects("P").column("name") == ["n1", "n1", "n2"]
        assert db.objects("P").column("age") == [0, 0, 0]
    with motte.open(path) as db:
        assert db.schema.index("age") < db.schema.index("name") < db.schema.index("id: int")
        assert len(db.objects("Q")) == 1
    motte.open(path, schema="P { age: int, name: string?, id: int }", schema_version=2, delete_classes=["Q"]).close()
    with motte.open(path) as db:
        assert "Q {" not in db.schema and db.verify().is_sound


@promises("docs/schema.md",
          "Values that no longer fit stay until they are overwritten; copies, change batches and dumps carry them. "
          "C and Python read them as they are",
          "opening a file with it makes one small commit that touches no row",
          "`Person.age is an int8 and holds -128 to 127, not 300`")
def test_widths(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "a.motte"
    with motte.open(path, schema="Person { age: int }") as db:
        with db.write():
            db.add(db.model("Person")(age=300))
        version = db.version
    with motte.open(path, schema="Person { age: int8 }") as db:
        assert db.version == version + 1
        person = db.objects("Person")[0]
        assert person.age == 300
        with pytest.raises(errors.Error, match="Person.age is an int8 and holds -128 to 127, not 300"):
            with db.write():
                person.age = 300
        with db.write():
            person.age = 127
        assert person.age == 127


# ------------------------------------------------------------------------------------------------ collections


@promises("docs/collections.md", "percent-encoding (`%2E`, `%24`) gets around both. An empty key is fine. Null is a "
          "value of a "
          "map whose values may be null; a key that is not there is something else.", "Assigning something to itself "
          "changes "
          "nothing.", "Plain values are called `SELF` in queries: `SELF > 3 SORT(SELF DESC)`.",
          "what the write made cannot be frozen before its commit")
def test_collections() -> None:
    with motte.open(in_memory=f"collections {next(names)}", schema="P { id: int key, by: map<int?>, tags: list<int>, "
                    "seen: set<int>, other: list<P> }") as db:
        with db.write():
            person = db.add(db.model("P")(id=1, tags=[5, 1, 9], seen={3, 1}))
            with pytest.raises(errors.Error):
                person.freeze()
            for key in ("a.b", "$a"):
                with pytest.raises(errors.Error):
                    person.by[key] = 1
            person.by.update({"a%2Eb": 1, "%24a": 2, "": 3, "none": None, "a$": 4})
        assert list(person.by) == ["", "%24a", "a$", "a%2Eb", "none"]
        assert person.by["none"] is None and person.by.get("other", 7) == 7 and "other" not in person.by
        assert list(person.tags.where("SELF > 3 SORT(SELF DESC)")) == [9, 5]
        with db.write():
            person.tags = person.tags
            person.seen = person.seen
            person.seen |= person.seen
        assert list(person.tags) == [5, 1, 9] and list(person.seen) == [1, 3]


@promises("docs/collections.md", "Results over the values of such a map leave those out.")
def test_maps_of_deleted_objects() -> None:
    with motte.open(in_memory=f"maps {next(names)}", schema="P { id: int key, by: map<P> }") as db:
        with db.write():
            one, two = db.add(db.model("P")(id=1)), db.add(db.model("P")(id=2))
            one.by.update({"a": two, "b": one})
            db.delete(two)
        assert dict(one.by) == {"a": None, "b": one} and list(one.by.results()) == [one]


# ------------------------------------------------------------------------------------------------ users


@promises("README.md",
          "Database files must be on a local disk", "checked page by page")
def test_a_crowded_folder(tmp_path: pathlib.Path) -> None:
    """Thousands of files beside the database cost nothing, and nothing of them changes."""
    for number in range(5000):
        (tmp_path / f"f{number:05}-{'x' * 90}").touch()
    path = tmp_path / "a.motte"
    began = time.monotonic()
    with motte.open(path, schema=SCHEMA) as db:
        fill(db, 0, 1000)
        db.copy_to(tmp_path / "b.motte")
        db.compact()
    motte.compact(path)
    motte.delete(tmp_path / "b.motte")
    assert time.monotonic() - began < 20
    assert motte.verify(path).is_sound
    others = [name for name in os.listdir(tmp_path) if not name.startswith("f0")]
    assert sorted(others) == ["a.motte", "a.motte-shared"]
