"""Names and keys are bytes: what looks alike may differ. And numbers and links that other formats can not hold."""
from __future__ import annotations

import decimal
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
