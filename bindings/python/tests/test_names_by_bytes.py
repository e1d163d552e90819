"""Names and keys are bytes: what looks alike may differ. And numbers and links that other formats can not hold."""
from __future__ import annotations

import decimal
import json
import pathlib
import sys
import types
from typing import Optional

import pytest

import motte
from motte import errors

COMPOSED, DECOMPOSED = "\u00e9", "e\u0301"


class Marked(motte.Model):
    id: int = motte.field(primary_key=True)
    marks: dict[str, int] = motte.field(default_factory=dict)


class Named(motte.Model):
    key: Optional[str] = motte.field(primary_key=True)
    n: int = 0


class Holder(motte.Model):
    id: int = motte.field(primary_key=True)
    named: Optional[Named] = None


class Numbers(motte.Model):
    whole: Optional[int] = None
    exact: Optional[decimal.Decimal] = None
    single: Optional[motte.Float32] = None


def test_keys_of_maps_through_arrow() -> None:
    pytest.importorskip("pyarrow")
    marks = {COMPOSED: 1, DECOMPOSED: 2}
    with motte.open(in_memory="marks", schema=[Marked]) as db, motte.open(in_memory="m2", schema=[Marked]) as other:
        with db.write():
            db.add(Marked(id=1, marks=marks))
        other.import_data(Marked, db.objects(Marked))
        assert dict(other.objects(Marked)[0].marks) == marks


def test_groups_by_names_that_look_alike() -> None:
    with motte.open(in_memory="alike", schema=f"Row {{ {COMPOSED}: int, {DECOMPOSED}: int }}") as db:
        db.import_json("Row", text=f'[{{"{COMPOSED}": 1, "{DECOMPOSED}": 2}}]')
        groups = db.objects("Row").query(f"GROUP({COMPOSED}, {DECOMPOSED}) COUNT")
        assert [tuple(row) for row in groups] == [(1, 2, 1)]


ROW = f"Row {{ id: int key, {COMPOSED}: int, {DECOMPOSED}: int }}"


def marked(first: str = "", second: str = "") -> str:
    return f"Row {{ id: int key, {COMPOSED}: int {first}, {DECOMPOSED}: int {second} }}"


def put(db: motte.Database, identity: int, first: int, second: int) -> None:
    row = json.dumps([{"id": identity, COMPOSED: first, DECOMPOSED: second}])
    db.import_json("Row", text=row, policy="modified")


def shown(db: motte.Database) -> list[tuple[int, int, int]]:
    rows = json.loads(db.export_json(None, db.objects("Row")) or "")
    return [(row["id"], row[COMPOSED], row[DECOMPOSED]) for row in rows]


@pytest.mark.parametrize("marks", [("indexed", ""), ("", "indexed")])
def test_an_index_that_is_added_is_of_its_own_property(tmp_path: pathlib.Path, marks: tuple[str, str]) -> None:
    path = tmp_path / "index.motte"
    with motte.open(path, schema=ROW, durability="none") as db:
        put(db, 1, 1, 2)
    versions = set()
    # Somebody has the file open, so that what is done at an opening is seen at the next one.
    with motte.open(path, durability="none"):
        for _ in range(3):
            with motte.open(path, schema=marked(*marks), durability="none") as db:
                versions.add(db.version)
                assert (f"{COMPOSED}: int indexed" in db.schema, f"{DECOMPOSED}: int indexed" in db.schema) == (
                    bool(marks[0]), bool(marks[1]))
                assert db.verify().is_sound
    assert len(versions) == 1
    with motte.open(path, schema=marked(*marks), durability="none") as db:
        put(db, 5, 1, 2)
        put(db, 1, 9, 8)
        rows = db.objects("Row")
        for name, old, new in [(COMPOSED, 1, 9), (DECOMPOSED, 2, 8)]:
            assert [row.id for row in rows.where(f"{name} == {old}")] == [5]
            assert [row.id for row in rows.where(f"{name} == {new}")] == [1]
        assert db.verify().is_sound


def test_a_unique_property_that_is_added(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "unique.motte"
    with motte.open(path, schema=ROW, durability="none") as db:
        put(db, 1, 7, 1)
        put(db, 2, 7, 2)
    with motte.open(path, schema=marked("", "unique"), durability="none") as db:
        put(db, 3, 7, 3)
        with pytest.raises(errors.DuplicateValueError):
            put(db, 4, 8, 1)
        assert db.verify().is_sound


def test_batches_of_changes() -> None:
    with motte.open(in_memory="leader of names", schema=ROW) as leader:
        leader.keep_changes(leader.version)
        put(leader, 1, 1, 2)
        first, version = leader.changes_since(0), leader.version
        put(leader, 2, 10, 20)
        put(leader, 1, 111, 222)
        second = leader.changes_since(version)
        with motte.open(in_memory="follower of names", schema=ROW) as follower:
            assert follower.apply(first) and shown(follower) == [(1, 1, 2)]
            assert follower.apply(second) and shown(follower) == shown(leader) == [(1, 111, 222), (2, 10, 20)]
            assert follower.verify().is_sound


def test_a_difference_of_two_databases() -> None:
    with motte.open(in_memory="before of names", schema=ROW) as before, \
            motte.open(in_memory="after of names", schema=ROW) as after:
        put(before, 1, 1, 2)
        put(after, 1, 3, 4)
        before.apply(before.changes_to(after))
        assert shown(before) == [(1, 3, 4)]


def test_a_key_that_goes_and_another_that_comes() -> None:
    with motte.open(in_memory="keys in two commits", schema=[Marked]) as db:
        with db.write():
            marked_one = db.add(Marked(id=1, marks={COMPOSED: 1, "x": 5}))
        changes = iter(marked_one.marks.changes(timeout=10))
        next(changes)
        with db.write():
            del marked_one.marks[COMPOSED]
        with db.write():
            marked_one.marks[DECOMPOSED] = 2
        gone, come, modified = [], [], []
        while not (gone and come):
            change = next(changes)
            gone += change.deleted_keys
            come += change.inserted_keys
            modified += change.modified_keys
        assert (gone, come, modified) == ([COMPOSED], [DECOMPOSED], [])


def test_databases_in_memory_that_look_alike() -> None:
    schema = "Row { id: int key }"
    with motte.open(in_memory=COMPOSED, schema=schema) as one, motte.open(in_memory=DECOMPOSED, schema=schema) as other:
        one.import_json("Row", text='[{"id": 1}]')
        assert (len(one.objects("Row")), len(other.objects("Row"))) == (1, 0)


def test_columns_that_look_alike() -> None:
    with motte.open(in_memory="columns", schema=ROW) as db:
        put(db, 1, 2, 3)
        for name, value in [(COMPOSED, 2), (DECOMPOSED, 3)]:
            assert db.export_csv(None, db.objects("Row"), columns=[name]) == f"{name}\n{value}\n"


def test_sqlite_files_of_classes_that_look_alike(tmp_path: pathlib.Path) -> None:
    schema = "".join(f"{name} {{ id: int key, tags: list<int> }} " for name in (COMPOSED, DECOMPOSED))
    with motte.open(in_memory="sqlite names", schema=schema) as db:
        db.import_json(COMPOSED, text='[{"id": 1, "tags": [1, 2]}]')
        db.import_json(DECOMPOSED, text='[{"id": 2, "tags": [3]}]')
        db.export_sqlite(tmp_path / "names.sqlite")
        before = db.export_json(None)
    with motte.open(in_memory="from sqlite names", schema=schema) as db:
        db.import_sqlite(tmp_path / "names.sqlite")
        assert db.export_json(None) == before


def test_a_link_to_what_has_no_name_in_csv() -> None:
    with motte.open(in_memory="nameless", schema=[Holder, Named]) as db:
        with db.write():
            db.add(Holder(id=1, named=db.add(Named(key="", n=2))))
        assert db.export_csv(None, Holder) == 'id,named\n1,""\n'
        with db.write():
            db.add(Holder(id=2, named=db.add(Named(key=None, n=1))))
        with pytest.raises(errors.InvalidArgumentError, match="'named' links to the Named whose primary key is null"):
            db.export_csv(None, Holder)


@pytest.mark.parametrize("scale", [0, 20, 35])
def test_wide_decimals_of_arrow(scale: int) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    with motte.open(in_memory=f"wide decimals {scale}", schema=[Numbers]) as db:
        column = pyarrow.array([decimal.Decimal(5)], pyarrow.decimal128(38, scale))
        db.import_data(Numbers, pyarrow.table({"whole": column, "exact": column, "single": column}))
        (found,) = db.objects(Numbers)
        assert (found.whole, found.exact, found.single) == (5, 5, 5.0)


def test_decimals_of_arrow_are_rounded_once() -> None:
    pyarrow = pytest.importorskip("pyarrow")
    number = decimal.Decimal("16777217.00000000000001")
    with motte.open(in_memory="rounded once", schema=[Numbers]) as db:
        db.import_data(Numbers, pyarrow.table({
            "single": pyarrow.array([number], pyarrow.decimal128(38, 14)),
            "exact": pyarrow.array([number], pyarrow.decimal128(38, 14))}))
        (found,) = db.objects(Numbers)
        assert found.single == 16777218.0 and found.exact == number


# ------------------------------------------------------------------------------------------------ of modules


def test_names_of_a_module_win_over_models_of_others() -> None:
    """Two modules may call different things the same."""
    one, other = types.ModuleType("first_module"), types.ModuleType("second_module")
    sys.modules.update({one.__name__: one, other.__name__: other})
    try:
        exec("from __future__ import annotations\nimport motte\nclass Twice(motte.Model):\n    n: int = 0\n", vars(one))
        exec("from __future__ import annotations\nimport enum\nfrom typing import Optional\nimport motte\n"
             "class Twice(enum.Enum):\n    A = 'a'\n"
             "class User(motte.Model):\n    twice: Optional[Twice] = None\n", vars(other))
        with motte.open(in_memory="two modules", schema=[other.User]) as db, db.write():
            assert db.add(other.User(twice=other.Twice.A)).twice is other.Twice.A
    finally:
        del sys.modules[one.__name__], sys.modules[other.__name__]
