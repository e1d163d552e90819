"""Columns by their names: one with a comma in it is that column, in whatever an export, a frame or an import is made
of, and not the two that the parts of its name name."""
from __future__ import annotations

import csv
import io
import json
from typing import Any, Optional

import pytest

import motte
from motte import errors

NAMES = {"both": "a,b", "a": "a", "b": "b", "spaced": " b", "quoted": "`a`,\"b\""}


class Friend(motte.Model):
    id: int = motte.field(primary_key=True)
    both: Optional[int] = motte.field(default=None, stored_name="a,b")
    a: Optional[int] = None


class Row(motte.Model):
    id: int = motte.field(primary_key=True)
    both: Optional[int] = motte.field(default=None, stored_name="a,b")
    a: Optional[int] = None
    b: Optional[int] = None
    spaced: Optional[int] = motte.field(default=None, stored_name=" b")
    quoted: Optional[int] = motte.field(default=None, stored_name="`a`,\"b\"")
    friend: Optional[Friend] = None


@pytest.fixture
def db() -> motte.Database:
    made = motte.open(in_memory="column names", schema=[Row, Friend])
    with made.write():
        made.add(Row(id=7, both=12, a=1, b=2, spaced=3, quoted=4, friend=Friend(id=1, both=99, a=98)))
    return made


@pytest.mark.parametrize("name, value", [
    ("both", 12), ("a", 1), ("b", 2), ("spaced", 3), ("quoted", 4), ("friend.both", 99), ("friend.a", 98)])
def test_a_column_is_the_one_that_is_named(db: motte.Database, name: str, value: int) -> None:
    pytest.importorskip("pyarrow")
    rows = db.objects(Row)
    stored = ".".join(NAMES.get(step, step) for step in name.split("."))
    assert list(csv.reader(io.StringIO(db.export_csv(None, Row, columns=[name])))) == [[stored], [str(value)]]
    assert json.loads(db.export_json(None, Row, columns=[name, "id"])) == [{stored: value, "id": 7}]
    assert json.loads(db.export_json(None, rows[0], columns=["id", name])) == {"id": 7, stored: value}
    assert rows.to_arrow(name).to_pydict() == {name: [value]}
    assert rows.to_arrow("id", name).to_pydict() == {"id": [7], name: [value]}
    assert list(rows.to_numpy(name)) == [value]
    for make in "to_pandas", "to_polars":
        pytest.importorskip(make[3:])
        assert list(getattr(rows, make)("id", name)[name]) == [value]
    grouped = [group.to_dict() for group in rows.group_by(name).agg(most=motte.max(name))]
    assert [list(group.values()) for group in grouped] == [[value, value]]


def test_all_columns_have_the_names_of_the_program(db: motte.Database) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    found = pyarrow.table(db.objects(Row)).to_pydict()
    assert {name: cells[0] for name, cells in found.items() if name in NAMES} == {
        "both": 12, "a": 1, "b": 2, "spaced": 3, "quoted": 4}


@pytest.mark.parametrize("ignore_unknown", [False, True])
def test_objects_of_another_database_keep_their_columns(db: motte.Database, ignore_unknown: bool) -> None:
    other = motte.open(in_memory="other column names", schema=[Row, Friend])
    other.import_data(Friend, db.objects(Friend), ignore_unknown=ignore_unknown)
    other.import_data(Row, db.objects(Row).where("id == 7"), ignore_unknown=ignore_unknown)
    found = other.get(Row, 7)
    assert found is not None and [getattr(found, name) for name in NAMES] == [12, 1, 2, 3, 4]
    friend = other.get(Friend, 1)
    assert friend is not None and (friend.both, friend.a) == (99, 98)


def test_titles_may_have_commas(db: motte.Database) -> None:
    pytest.importorskip("pyarrow")
    from motte import _arrow

    options = _arrow.Options(["a", "b"], titles=["last, first", ""])
    assert _arrow.column_names(db.objects(Row)._coll, options) == ["last, first", ""]


@pytest.mark.parametrize("columns, error", [
    ([], errors.InvalidArgumentError), (["a,b,a"], errors.UnknownPropertyError), ([""], errors.UnknownPropertyError),
    ("both", errors.InvalidArgumentError)])
def test_columns_that_are_none_are_refused(db: motte.Database, columns: Any, error: type[Exception]) -> None:
    for export in db.export_csv, db.export_json:
        with pytest.raises(error):
            export(None, Row, columns=columns)
