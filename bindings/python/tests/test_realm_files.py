"""Realm files: every value of the ten kept ones as Python reads it after a conversion, imports, options, refusals."""
from __future__ import annotations

import decimal
import json
import pathlib
import shutil
import struct
import uuid
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from typing import Any, Optional

import pytest

import motte
from motte import errors

FILES = pathlib.Path(__file__).resolve().parents[3] / "Tests" / "RealmFiles"
NAMES = sorted(path.stem for path in FILES.glob("*.realm"))
EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def described(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((FILES / f"{name}.json").read_text(encoding="utf-8"))
    return loaded


def key_of(content: dict[str, Any]) -> Optional[bytes]:
    return bytes.fromhex(content["key"]) if "key" in content else None


def hash_of(content: bytes) -> str:
    state = 0xCBF29CE484222325
    for byte in content:
        state = (state ^ byte) * 0x100000001B3 % 2 ** 64
    return f"{state:016x}"


def date_of(seconds: int, nanoseconds: int) -> Optional[datetime]:
    """None where Python has no such time."""
    try:
        time = EPOCH + timedelta(seconds=seconds, microseconds=nanoseconds // 1000)
        return motte.Timestamp.of(time, nanoseconds % 1000) if nanoseconds % 1000 else time
    except OverflowError:
        return None


def is_beyond(value: Any) -> bool:
    """A time that Python has not."""
    return isinstance(value, dict) and "date" in value and date_of(*value["date"]) is None


def decimal_of(digits: str) -> decimal.Decimal:
    """By its 128 bits, in binary integer encoding."""
    bits = int(digits, 16)
    sign, high = bits >> 127, bits >> 122 & 0x1F
    if high >> 1 == 0xF:
        return decimal.Decimal("NaN" if high & 1 else ("-" if sign else "") + "Infinity")
    exponent, coefficient = (bits >> 113 & 0x3FFF) - 6176, bits & (1 << 113) - 1
    return decimal.Decimal((sign, tuple(map(int, str(coefficient))), exponent))


class Comparison:
    """Values of Motte beside those of a description. Objects are known by their place in their class."""

    def __init__(self, db: motte.Database, content: dict[str, Any]) -> None:
        self.objects = {each["name"]: list(db.objects(each["name"])) for each in content["classes"]
                        if each["kind"] != "embedded"}
        self.places = {each["name"]: {described["key"]: place for place, described in enumerate(each["objects"])}
                       for each in content["classes"]}
        self.embedded = {each["name"]: {described["key"]: described["values"] for described in each["objects"]}
                         for each in content["classes"] if each["kind"] == "embedded"}
        self.compared = 0

    def same(self, actual: Any, wanted: Any, where: str) -> None:
        self.compared += 1
        if isinstance(wanted, dict):
            (kind, content), = wanted.items()
            return self.same_as(actual, kind, content, where)
        if isinstance(wanted, list):
            assert len(actual) == len(wanted), where
            for index, other in enumerate(wanted):
                if not is_beyond(other):
                    self.same(actual[index], other, f"{where}[{index}]")
            return None
        assert type(actual) is type(wanted) and actual == wanted, f"{where}: {actual!r:.80} is not {wanted!r:.80}"
        return None

    def same_as(self, actual: Any, kind: str, content: Any, where: str) -> None:
        if kind == "link":
            return self.same_link(actual, *content, where)
        if kind == "map":
            assert sorted(actual) == sorted(key for key, _ in content), where
            for key, value in content:
                if not is_beyond(value):
                    self.same(actual[key], value, f"{where}[{key!r}]")
            return None
        if kind == "set":
            # A set that holds a time that Python has not is not read as a whole.
            if not any(map(is_beyond, content)):
                self.same_set(list(actual), content, where)
            return None
        if kind == "date":
            assert actual == date_of(*content), f"{where}: {actual!r} is not {content}"
            return None
        assert self.plain(actual, kind, content), f"{where}: {actual!r:.80} is not {kind} {content!r:.80}"
        return None

    @staticmethod
    def plain(actual: Any, kind: str, content: Any) -> bool:
        if kind == "data":
            return type(actual) is bytes and actual == bytes.fromhex(content)
        if kind == "long_string":
            return [len(actual.encode()), hash_of(actual.encode())] == [content[0], content[1]]
        if kind == "long_data":
            return [len(actual), hash_of(actual)] == [content[0], content[1]]
        if kind in ("double", "float"):
            form = ">d" if kind == "double" else ">f"
            number = struct.unpack(form, bytes.fromhex(content))[0]
            return actual != actual if number != number else struct.pack(form, actual) == struct.pack(form, number)
        if kind == "decimal":
            wanted = decimal_of(content)
            return bool(actual.is_nan() if wanted.is_nan() else actual.as_tuple() == wanted.as_tuple())
        if kind == "objectId":
            return isinstance(actual, motte.ObjectId) and str(actual) == content
        return kind == "uuid" and isinstance(actual, uuid.UUID) and actual.hex == content

    def same_link(self, actual: Any, target: str, key: int, where: str) -> None:
        if target in self.embedded:
            for name, value in self.embedded[target][key].items():
                self.same(getattr(actual, name), value, f"{where}.{name}")
        else:
            assert actual == self.objects[target][self.places[target][key]], where

    def same_set(self, actual: list[Any], wanted: list[Any], where: str) -> None:
        """Each of the one is one of the other."""
        assert len(actual) == len(wanted), where
        left = list(wanted)
        for element in actual:
            found = next((each for each in left if self.is_same(element, each)), left)
            assert found is not left, f"{where}: {element!r:.80} is not there"
            left.remove(found)

    def is_same(self, actual: Any, wanted: Any) -> bool:
        try:
            self.same(actual, wanted, "")
        except (AssertionError, AttributeError, TypeError):
            return False
        return True


@pytest.mark.parametrize("name", NAMES)
def test_every_value_is_there(name: str, tmp_path: pathlib.Path) -> None:
    content = described(name)
    source, file = FILES / f"{name}.realm", tmp_path / "new.motte"
    before = source.read_bytes()
    steps: list[tuple[int, int]] = []
    conversion = motte.convert(source, file, source_key=key_of(content),
                               progress=lambda done, total: steps.append((done, total)))
    assert source.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir() if "shared" not in path.name] == ["new.motte"]
    counts = {each["name"]: len(each["objects"]) for each in content["classes"]}
    assert {each.name: each.created for each in conversion.classes.values()} == counts
    assert {each.name: each.objects for each in conversion.classes.values()} == counts
    assert conversion.created == sum(counts.values()) and conversion.updated == 0
    assert steps[-1] == (2 * sum(counts.values()), 2 * sum(counts.values()))
    compared = 0
    with motte.open(file) as db:
        assert db.schema_version == content["schema_version"] % (2 ** 64 - 1)
        comparison = Comparison(db, content)
        for each in content["classes"]:
            if each["kind"] == "embedded":
                continue
            objects = comparison.objects[each["name"]]
            assert len(objects) == len(each["objects"])
            for actual, wanted in zip(objects, each["objects"]):
                for property_name, value in wanted["values"].items():
                    where = f"{each['name']} {wanted['key']} {property_name}"
                    if is_beyond(value):
                        with pytest.raises(errors.NumberOverflowError):
                            getattr(actual, property_name)
                        comparison.compared += 1
                    else:
                        comparison.same(getattr(actual, property_name), value, where)
        compared = comparison.compared
        assert db.verify().is_sound
    assert compared >= sum(len(each["objects"]) * len(each["properties"]) for each in content["classes"]
                           if each["kind"] != "embedded")


def test_what_cannot_be_kept_is_noted(tmp_path: pathlib.Path) -> None:
    conversion = motte.convert(FILES / "enumerated.realm", tmp_path / "new.motte")
    note = conversion.notes[0]
    assert (note.class_name, note.property_name, note.occurrences > 0) == ("Origin", "links", True)
    assert note.text.startswith("Origin.links: ") and note.reason in note.text and note.text in str(conversion)
    # Realm does not show these links either, so that a strict conversion has nothing to say of them.
    assert not motte.convert(FILES / "enumerated.realm", tmp_path / "strict.motte", strict=True).notes


class Dog(motte.Model):
    name: str
    age: Optional[int] = None
    weight: float = 0.0
    any: motte.Mixed = None
    toys: list[str] = motte.field(default_factory=list)
    owner: Optional["Person"] = None


class Person(motte.Model):
    id: int = motte.field(primary_key=True)
    born: Optional[datetime] = None
    dogs: motte.Backlinks[Dog] = motte.backlinks("owner")


def test_models_add_what_a_file_has_no_names_for(tmp_path: pathlib.Path) -> None:
    motte.convert(FILES / "tiny.realm", tmp_path / "new.motte", schema=[Dog, Person])
    with motte.open(tmp_path / "new.motte", schema=[Dog, Person], schema_version=1) as db:
        assert [dog.name for dog in db.objects(Person)[0].dogs] == ["Rex", "Rex"]
        assert [list(dog.toys) for dog in db.objects(Dog)] == [[], ["stick"], ["ball", "stick"]]
    with pytest.raises(errors.SchemaMismatchError, match=r"Dog\.name is string, not int"):
        motte.convert(FILES / "tiny.realm", tmp_path / "other.motte", schema="Dog { name: int }")
    assert not (tmp_path / "other.motte").exists()


@pytest.fixture
def db(tmp_path: pathlib.Path) -> Iterator[motte.Database]:
    schema = motte.realm_file_schema(FILES / "tiny.realm")
    assert schema.version == 1
    with motte.open(tmp_path / "db.motte", schema=schema.text) as db:
        yield db


def test_imports_follow_a_policy(db: motte.Database) -> None:
    done = db.import_realm_file(FILES / "tiny.realm")
    assert (done.created, done.updated) == (4, 0)
    with pytest.raises(errors.DuplicatePrimaryKeyError):
        db.import_realm_file(FILES / "tiny.realm")
    assert len(db.objects("Dog")) == 3
    done = db.import_realm_file(FILES / "tiny.realm", policy="modified")
    assert (done.created, done.updated, done.classes["Person"].updated) == (3, 1, 1)
    assert len(db.objects("Dog")) == 6
    with pytest.raises(ZeroDivisionError):
        with db.write():
            db.import_realm_file(FILES / "tiny.realm", policy="all")
            raise ZeroDivisionError
    assert len(db.objects("Dog")) == 6


def test_imports_in_parts_are_resumed(tmp_path: pathlib.Path) -> None:
    schema = motte.realm_file_schema(FILES / "scalars.realm")
    total = 0

    def stop(done: int, _: int) -> None:
        if done >= 300:
            raise InterruptedError

    with motte.open(tmp_path / "db.motte", schema=schema.text) as db:
        with pytest.raises(InterruptedError):
            db.import_realm_file(FILES / "scalars.realm", commit_every=50, progress=stop)
        first = sum(len(db.objects(name)) for name in described_names("scalars"))
        assert 0 < first < 408
        done = db.import_realm_file(FILES / "scalars.realm", commit_every=50, resume=True)
        total = sum(len(db.objects(name)) for name in described_names("scalars"))
        assert total == 408 and done.created == 408 - first


def described_names(name: str) -> list[str]:
    return [each["name"] for each in described(name)["classes"]]


def test_opening_converts_where_that_is_wanted(tmp_path: pathlib.Path) -> None:
    file = tmp_path / "app.realm"
    shutil.copy(FILES / "tiny.realm", file)
    with pytest.raises(errors.NotAMotteFileError, match=r"is a Realm file \(format 24\).*motte\.convert"):
        motte.open(file)
    for _ in range(2):
        with motte.open(file, convert_realm_files=True, schema=[Dog, Person], schema_version=1) as db:
            assert len(db.objects(Dog)) == 3
            assert str(db.path).endswith("app.motte")
    assert file.read_bytes() == (FILES / "tiny.realm").read_bytes()


def test_refusals(tmp_path: pathlib.Path) -> None:
    new = tmp_path / "new.motte"
    with pytest.raises(errors.DatabaseNotFoundError):
        motte.convert(tmp_path / "none.realm", new)
    (tmp_path / "text.realm").write_text("no database at all, just a text that is long enough")
    with pytest.raises(errors.UnsupportedFormatError, match="no Realm file"):
        motte.convert(tmp_path / "text.realm", new)
    with pytest.raises(errors.WrongKeyError):
        motte.convert(FILES / "encrypted.realm", new, source_key=bytes(64))
    for key in (b"", bytes(63)):
        with pytest.raises(errors.InvalidArgumentError, match="64 bytes"):
            motte.convert(FILES / "encrypted.realm", new, source_key=key)
    with pytest.raises(errors.InvalidArgumentError, match="64 bytes"):
        motte.convert(FILES / "tiny.realm", new, encryption_key=b"")
    content = bytearray((FILES / "renamed.realm").read_bytes())
    (tmp_path / "cut.realm").write_bytes(content[:4096])
    with pytest.raises(errors.CorruptedError):
        motte.convert(tmp_path / "cut.realm", new)
    assert not new.exists()
    new.write_text("mine")
    with pytest.raises(errors.InvalidArgumentError):
        motte.convert(FILES / "tiny.realm", new)
    assert new.read_text() == "mine"
    with motte.open(in_memory="empty", schema="Other { n: int }") as db:
        with pytest.raises(errors.SchemaMismatchError, match="class Dog"):
            db.import_realm_file(FILES / "tiny.realm")
        with pytest.raises(errors.InvalidArgumentError, match="commit_every"):
            db.import_realm_file(FILES / "tiny.realm", commit_every=-1)


def test_keys_of_a_failed_import_are_given_back_and_no_others() -> None:
    """A cancelled object's key is given to nobody else, also where an import failed in its write."""
    schema = motte.realm_file_schema(FILES / "tiny.realm").text
    with motte.open(in_memory="given", schema=schema) as db:
        with db.write():
            db.import_json("Dog", text="{}")
        keys = []
        for end in (ZeroDivisionError, None):
            try:
                with db.write():
                    with pytest.raises(errors.InvalidArgumentError, match="resume"):
                        db.import_realm_file(FILES / "tiny.realm", resume=True)
                    db.import_json("Dog", text="{}")
                    keys.append(db.objects("Dog").last().object_key)
                    if end:
                        raise end
            except ZeroDivisionError:
                pass
        assert keys == [1, 2]


def test_others_may_write_between_the_commits_of_an_import(tmp_path: pathlib.Path) -> None:
    """Objects of classes that still come are no hindrance; of the one that is under way they are, and that is said."""
    schema = motte.realm_file_schema(FILES / "scalars.realm").text
    with motte.open(tmp_path / "beside.motte", schema=schema) as db:
        with motte.open(in_memory="alone", schema=schema) as alone, alone.write():
            counts = {name: found.objects for name, found in
                      alone.import_realm_file(FILES / "scalars.realm").classes.items()}
        name = max(counts, key=lambda each: counts[each])

        def add(done: int, total: int) -> None:
            if done and not added:
                added.append(done)
                db.import_json(name, text="{}")

        added: list[int] = []
        with db.write(), pytest.raises(errors.InvalidArgumentError, match=f"objects of {name} were added by others"):
            db.import_realm_file(FILES / "scalars.realm", commit_every=50, progress=add)
        assert added and db.verify().is_sound
