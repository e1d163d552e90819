"""The document of the file format suffices: a reader written by it finds what the library has stored."""
from __future__ import annotations

import datetime
import decimal
import pathlib
import struct
import subprocess
import sys
import uuid
from typing import Any, Optional

import pytest

import motte

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import reader

KEY = bytes(range(64))
SCHEMA = """
Person { id: int key, name: string?, age: int, score: double, small: float?, active: bool?, seen: timestamp?,
         photo: data, best: link<Person>, tags: list<string>, numbers: list<int>, langs: set<string>,
         scores: map<int>, price: decimal?, mark: uuid, extra: mixed, home: link<Home> }
embedded Home { city: string }
Empty { x: int }
"""


def moment(number: int) -> datetime.datetime:
    return datetime.datetime(1969, 12, 31, tzinfo=datetime.timezone.utc) + datetime.timedelta(
        days=number, microseconds=number * 7)


def fill(path: pathlib.Path, key: Optional[bytes]) -> dict[int, dict[str, Any]]:
    """Rows in row groups and the open one, deleted ones, long lists, texts that repeat, a property added later."""
    expected: dict[int, dict[str, Any]] = {}
    with motte.open(path, schema=SCHEMA, encryption_key=key, row_group_size=480) as db:
        person = db.model("Person")
        with db.write():
            for number in range(1_000):
                values: dict[str, Any] = {
                    "id": number * 3 - 500, "name": None if number % 7 == 0 else f"name {number % 40}" * (number % 4),
                    "age": number % 100, "score": number / 7, "small": None if number % 3 else number / 4,
                    "active": [None, True, False][number % 3], "seen": None if number % 5 == 0 else moment(number),
                    "photo": bytes([number % 256]) * (number % 30), "mark": uuid.UUID(int=number << 70),
                    "price": None if number % 4 else decimal.Decimal(number) / 8,
                    "extra": [None, number, f"text {number}", number / 2, True, [1, {"a": number}]][number % 6],
                }
                made = db.add(person(**values))
                made.tags.extend(f"tag {index}" for index in range(number % 5))
                made.numbers.extend(range(number, number + (2_000 if number % 400 == 3 else number % 6)))
                made.langs.update({f"l{number % 3}", "en"})
                made.scores["a"] = number
                made.scores["zoë"] = -number
                values |= {"tags": [f"tag {index}" for index in range(number % 5)],
                           "numbers": list(range(number, number + (2_000 if number % 400 == 3 else number % 6))),
                           "langs": sorted({f"l{number % 3}", "en"}), "scores": {"a": number, "zoë": -number}}
                expected[number] = values
        with db.write():
            for number in range(0, 1_000, 11):
                db.delete(db.get(person, number * 3 - 500))
                del expected[number]
        with db.write():
            # One at a time: these stay in the open row group.
            db.add(person(id=9_000, name="late", mark=uuid.UUID(int=1)))
    expected[1_000] = {
        "id": 9_000, "name": "late", "age": 0, "score": 0.0, "small": None, "active": None, "seen": None, "photo": b"",
        "mark": uuid.UUID(int=1), "price": None, "extra": None, "tags": [], "numbers": [], "langs": [], "scores": {}}
    return expected


def seconds(value: Optional[datetime.datetime]) -> Optional[tuple[int, int]]:
    if value is None:
        return None
    whole = value - datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
    return whole.days * 86_400 + whole.seconds, whole.microseconds * 1_000


@pytest.mark.parametrize("key", [None, KEY], ids=["plain", "encrypted"])
def test_the_reader_finds_what_is_stored(tmp_path: pathlib.Path, key: Optional[bytes]) -> None:
    path = tmp_path / "people.motte"
    expected = fill(path, key)

    found = reader.Reader(str(path), key)

    people = found.objects("Person")
    assert people.keys() == expected.keys()
    for number, values in expected.items():
        for name, value in values.items():
            wanted = seconds(value) if name == "seen" else value
            assert people[number][name] == wanted, (number, name)
    assert found.objects("Home") == {} and found.objects("Empty") == {}


def test_links_embedded_objects_and_added_properties(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "small.motte"
    with motte.open(path, schema=SCHEMA) as db:
        person = db.model("Person")
        with db.write():
            one = db.add(person(id=1, mark=uuid.UUID(int=1)))
            two = db.add(person(id=2, mark=uuid.UUID(int=2), best=one))
            one.best = two
    with motte.open(path, schema=SCHEMA.replace("Empty { x: int }", "Empty { x: int, y: string, z: int? }")) as db:
        with db.write():
            db.add(db.model("Empty")(x=5))

    found = reader.Reader(str(path))

    assert {row["id"]: row["best"] for row in found.objects("Person").values()} == {1: 1, 2: 0}
    assert found.objects("Empty") == {0: {"x": 5, "y": "", "z": None}}


@pytest.mark.parametrize("key", [None, KEY], ids=["plain", "encrypted"])
def test_long_values(tmp_path: pathlib.Path, key: Optional[bytes]) -> None:
    """Values of more than 4,000 bytes, which lie in pages of their own, and the longest that stay in their chunk."""
    path = tmp_path / "long.motte"
    schema = "Doc { id: int key, text: string?, blob: data, extra: mixed, parts: list<string?>, by_name: map<data> }"
    expected: dict[int, dict[str, Any]] = {}
    with motte.open(path, schema=schema, encryption_key=key, row_group_size=480) as db:
        doc = db.model("Doc")
        with db.write():
            for number in range(60):
                size = [0, 3, 4_000, 4_001, 9_000][number % 5]
                values: dict[str, Any] = {
                    "id": number, "text": None if number % 7 == 0 else f"{number:04}" * (size // 4),
                    "blob": bytes([number]) * size, "extra": [number, "mixed " * size, ["x" * size, None]][number % 3],
                    "parts": [None, "a", f"ä{number}" * size][:number % 4],
                    "by_name": {"k": bytes(size), "l": b"short"},
                }
                if number == 33:
                    values["parts"] = [f"{index}" * (4_500 if index % 100 == 7 else 1) for index in range(700)]
                db.add(doc(**{name: value for name, value in values.items() if name not in ("parts", "by_name")}))
                made = db.get(doc, number)
                made.parts.extend(values["parts"])
                made.by_name.update(values["by_name"])
                expected[number] = values
        with db.write():
            # What belonged to these goes with them; in a row that stays it is replaced, or becomes short.
            for number in (4, 9, 58):
                db.delete(db.get(doc, number))
                del expected[number]
            db.get(doc, 8).text = expected[8]["text"] = "other " * 2_000
            db.get(doc, 13).blob = expected[13]["blob"] = b"short now"

    found = reader.Reader(str(path), key)

    assert found.objects("Doc") == expected
    assert sum(1 for entry in found.entries if entry[0] == 8) > 60


def test_a_new_file_says_how_many_rows_a_row_group_has(tmp_path: pathlib.Path) -> None:
    """So many texts of a page each would be a chunk of 4 MB: those of more than 1,008 bytes are long there."""
    path = tmp_path / "wide.motte"
    with motte.open(path, schema="Doc { text: string, tags: list<int> }") as db, db.write():
        for number in range(4_000):
            db.add(db.model("Doc")(text="t" * [1_008, 1_009, 5][min(number, 2)])).tags.append(number)

    found = reader.Reader(str(path))

    assert found.rows == 1_904
    rows = found.objects("Doc")
    assert [len(row["text"]) for row in rows.values()] == [1_008, 1_009] + [5] * 3_998
    assert [row["tags"] for row in rows.values()] == [[number] for number in range(4_000)]
    assert sum(1 for entry in found.entries if entry[0] == 8) == 1


def test_a_class_with_wide_values_has_row_groups_of_its_own(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "wide.motte"
    texts = [f"{number:04}" * 90 for number in range(1_300)]
    with motte.open(path, schema="Doc { text: string } Plain { n: int }") as db:
        with db.write():
            db.insert_columns(db.model("Doc"), {"text": texts})
            db.insert_columns(db.model("Plain"), {"n": list(range(4_000))})

    found = reader.Reader(str(path))

    assert found.rows == 1_904
    assert [row["text"] for row in found.objects("Doc").values()] == texts
    assert [row["n"] for row in found.objects("Plain").values()] == list(range(4_000))
    row_groups = [entry for entry in found.entries if entry[:9] == b"\4\0\0\0\1\0\0\0\1"]
    assert len(row_groups) == 3


def test_a_long_value_that_is_missing_is_noticed(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "long.motte"
    with motte.open(path, schema="Doc { text: string }") as db, db.write():
        db.add(db.model("Doc")(text="long " * 1_000))
    found = reader.Reader(str(path))
    (place,) = [entry for entry in found.entries if entry[0] == 8]
    found.entries[place] = found.entries[place][:-1] + b"?"
    with pytest.raises(reader.FormatError, match="long value 0 of version 2"):
        found.objects("Doc")


KEPT = pathlib.Path(__file__).parent.parent / "Compatibility" / "0.1"


@pytest.mark.parametrize("kind", ["all", "long", "packed", "tables", "wal", "encrypted"])
def test_the_kept_files(kind: str) -> None:
    found = reader.Reader(str(KEPT / f"{kind}.motte"), bytes(range(64)) if kind == "encrypted" else None)

    name = ""
    wanted: dict[str, list[int]] = {}
    for line in (KEPT / f"{kind}.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("class "):
            name = line.split()[1].rstrip(":")
            wanted[name] = []
        else:
            wanted[name].append(int(line.split()[0][1:]))
    assert {table.name: list(found.objects(table.name)) for table in found.tables} == wanted
    assert (found.pages.slot.wal is not None) == (kind in ("long", "wal", "encrypted"))
    assert (found.version > found.pages.slot.version) == (kind in ("long", "wal", "encrypted"))


@pytest.mark.parametrize(("count", "expected"), [
    (0, 0x2D06800538D394C2), (1, 0xC44BDFF4074EECDB), (6, 0x27B56A84CD2D7325), (12, 0xA713DAF0DFBB77E7),
    (24, 0xA3FE70BF9D3510EB), (80, 0xBCDEFBBB2C47C90A), (195, 0xCD94217EE362EC3A), (403, 0xCDEB804D65C6DEA4),
    (2048, 0xDD59E2C3A5F038E0), (2367, 0xCB37AEB9E5D361ED)])
def test_published_vectors_of_the_checksum(count: int, expected: int) -> None:
    generator, made = 2_654_435_761, bytearray()
    for _ in range(count):
        made.append(generator >> 56)
        generator = generator * 11_400_714_785_074_694_797 & reader.MASK
    assert reader.xxh3(bytes(made)) == expected


def test_nothing_is_read_with_another_key_or_from_damaged_pages(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "people.motte"
    fill(path, KEY)
    with pytest.raises(reader.FormatError):
        reader.Reader(str(path), bytes(64))
    with pytest.raises(reader.FormatError):
        reader.Reader(str(path))
    sound = path.read_bytes()
    root = reader.Reader(str(path), KEY).pages.slot.tree.page
    damaged = bytearray(sound)
    damaged[root * 4096 + 77] ^= 1
    path.write_bytes(damaged)
    with pytest.raises(reader.FormatError):
        reader.Reader(str(path), KEY).objects("Person")


def test_as_a_command(tmp_path: pathlib.Path) -> None:
    path, key = tmp_path / "people.motte", tmp_path / "key"
    fill(path, KEY)
    key.write_bytes(KEY)
    done = subprocess.run([sys.executable, reader.__file__, str(path), str(key)], capture_output=True, text=True,
                          timeout=60)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 910 and '"name": "late"' in done.stdout


def test_ordered_indexes_have_what_the_document_says(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "unique.motte"
    moments = [None if number % 3 == 0 else moment(number) for number in range(2_000)]
    schema = """P { id: int key, text: string? unique, number: int? unique, real: double unique, at: timestamp? unique,
                    data: data? unique, mark: uuid unique, no: bool? unique }"""
    with motte.open(path, schema=schema) as db:
        made = db.model("P")
        for step in range(4):
            with db.write():
                for number in range(step, 2_000, 4):
                    db.add(made(
                        id=number, text=None if number % 5 == 0 else f"text\0{number}" * (number % 9 + 1),
                        number=None if number % 4 == 0 else number - 1_000, real=number / 7 - 99, at=moments[number],
                        data=None if number % 7 == 0 else number.to_bytes(2, "little"),
                        mark=uuid.UUID(int=number << 90),
                        no={1: True, 2: False}.get(number)))

    found = reader.Reader(str(path))

    table = found.tables[0]
    rows = found.objects("P")
    assert [index.kind for index in table.indexes] == ["ordered"] * 7
    for index in table.indexes:
        assert index.parameters == b"\1\0"
        column = next(column for column in table.columns if column.number == index.columns[0])
        wanted = sorted((entry(row[column.name]), key) for key, row in rows.items())
        assert found.ordered(index) == wanted, column.name


def test_folded_indexes_have_what_the_document_says(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "folded.motte"
    names = ["Ada", "ADA", None, "\u00c1DA", "Bob\0", "\u0130zmir", "\u03a3\u03a3", "STRASSE", "\u212aelvin", "late"]
    schema = "P { id: int key, name: string?, age: int, indexed(name [c], age desc), indexed(name [cd]) }"
    with motte.open(path, schema=schema) as db:
        made = db.model("P")
        for step in range(3):
            with db.write():
                for number in range(step, 900, 3):
                    db.add(made(id=number, name=names[number % 10], age=number % 7))

    found = reader.Reader(str(path))

    first, second = found.tables[0].indexes
    fingerprint = first.parameters[-4:]
    assert (first.kind, first.parameters) == ("folded", b"\0\2\1" + fingerprint)
    assert (second.kind, second.parameters) == ("folded", b"\0\6" + fingerprint)
    rows = found.objects("P")
    lower = {key: None if row["name"] is None else "".join(one.lower() for one in row["name"])
             for key, row in rows.items()}
    assert found.ordered(first) == sorted(
        (entry(lower[key]) + bytes(255 - byte for byte in entry(row["age"])), key) for key, row in rows.items())
    plain = {key: None if text is None else text.replace("\u00e1", "a").replace("\u0307", "")
             for key, text in lower.items()}
    assert found.ordered(second) == sorted((entry(text), key) for key, text in plain.items())


def entry(value: Any) -> bytes:
    """The bytes of a value in an ordered index."""
    if value is None:
        return b"\0"
    if isinstance(value, bool):
        return bytes([1, value])
    if isinstance(value, int):
        return b"\1" + (value + (1 << 63)).to_bytes(8, "big")
    if isinstance(value, float):
        raw = int.from_bytes(struct.pack(">d", value + 0.0), "big")
        return b"\1" + (raw ^ (1 << 63) if raw >> 63 == 0 else raw ^ ((1 << 64) - 1)).to_bytes(8, "big")
    if isinstance(value, tuple):
        return entry(value[0]) + value[1].to_bytes(4, "big")
    if isinstance(value, uuid.UUID):
        return b"\1" + value.bytes
    raw_text = value.encode() if isinstance(value, str) else value
    return b"\1" + raw_text.replace(b"\0", b"\0\xff") + b"\0\0"
