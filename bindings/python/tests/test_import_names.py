"""Columns on their way in and out have the names of the class, also where the file has others, or these crosswise."""
from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, Optional

import pytest

import motte
from motte import errors


class Plain(motte.Model):
    id: int = motte.field(primary_key=True)
    name: Optional[str] = motte.field(default=None, stored_name="title")


class Crossed(motte.Model):
    id: int = motte.field(primary_key=True)
    first: str = motte.field(default="", stored_name="last")
    last: str = motte.field(default="", stored_name="first")


class Straight(motte.Model):
    id: int = motte.field(primary_key=True)
    first: str = ""
    last: str = ""


FORMS: dict[str, Callable[[dict[str, list[Any]]], Any]] = {
    "dict": lambda columns: columns,
    "rows": lambda columns: [dict(zip(columns, values)) for values in zip(*columns.values())],
    "pyarrow": lambda columns: importlib.import_module("pyarrow").table(columns),
    "pandas": lambda columns: importlib.import_module("pandas").DataFrame(columns),
    "polars": lambda columns: importlib.import_module("polars").DataFrame(columns),
}


def form(name: str, columns: dict[str, list[Any]]) -> Any:
    if name not in ("dict", "rows"):
        pytest.importorskip(name)
    return FORMS[name](columns)


@pytest.mark.parametrize("name", FORMS)
def test_names_of_the_file_are_no_properties(name: str) -> None:
    with motte.open(in_memory="names", schema=[Plain]) as db:
        with pytest.raises(errors.UnknownPropertyError, match="title"):
            db.import_data(Plain, form(name, {"id": [1], "title": ["Dr."]}))
        assert db.count(Plain) == 0
        db.import_data(Plain, form(name, {"id": [1], "title": ["Dr."]}), ignore_unknown=True)
        db.import_data(Plain, form(name, {"id": [2], "name": ["Ada"], "title": ["Dr."]}), ignore_unknown=True)
        assert [(each.id, each.name) for each in db.objects(Plain)] == [(1, None), (2, "Ada")]


def exported(name: str, objects: motte.Results[Any]) -> Any:
    if name == "results":
        return objects
    if name in ("stream", "to_arrow"):
        pyarrow = pytest.importorskip("pyarrow")
        return pyarrow.table(objects) if name == "stream" else objects.to_arrow()
    if name == "columns":
        return objects.arrow("id", "last", "first")
    pytest.importorskip(name)
    return objects.to_pandas() if name == "pandas" else objects.to_polars()


@pytest.mark.parametrize("source", [Crossed, Straight])
@pytest.mark.parametrize("target", [Crossed, Straight])
@pytest.mark.parametrize("name", ["results", "stream", "to_arrow", "columns", "pandas", "polars"])
def test_names_that_cross(name: str, source: type[Any], target: type[Any]) -> None:
    with motte.open(in_memory="names from", schema=[source]) as db, motte.open(in_memory="to", schema=[target]) as to:
        with db.write():
            db.add(source(id=1, first="Ada", last="Lovelace"))
        to.import_data(target, exported(name, db.objects(source)))
        assert [(each.first, each.last) for each in to.objects(target)] == [("Ada", "Lovelace")]


class Priced(motte.Model):
    id: int = motte.field(primary_key=True)
    price: float
    prices: list[Optional[float]] = motte.field(default_factory=list)


@pytest.mark.parametrize("dtype", ["Float64", "double[pyarrow]", "object"])
def test_what_pandas_knows_to_be_missing_is_no_number(dtype: str) -> None:
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    with motte.open(in_memory="priced", schema=[Priced]) as db:
        frame = pandas.DataFrame({"id": [1, 2], "price": pandas.array([1.5, None], dtype=dtype)})
        with pytest.raises(errors.NullNotAllowedError):
            db.import_data(Priced, frame)
        assert db.count(Priced) == 0
        # Of NumPy's floats NaN is all there is.
        nan = float("nan")
        db.import_data(Priced, pandas.DataFrame({"id": [1], "price": [nan], "prices": [[1.0, nan, None]]}))
        found = db.one(Priced, 1)
        assert found.price != found.price and found.prices[0] == 1 and found.prices[1] != found.prices[1]
        assert found.prices[2] is None
