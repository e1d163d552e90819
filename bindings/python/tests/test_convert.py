"""Python values to the library's and back, without asking it."""
from __future__ import annotations

from array import array
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

import motte
from motte import _columns, _convert
from motte._columns import column
from motte._convert import Cells, Link, Values
from motte._ffi import ffi


def read_back(value: Any, type_: Any = None) -> Any:
    values = Values()
    values.add(value, type_)
    pointer = values.pointer()
    cells = Cells(1)
    ffi.memmove(cells.values, pointer, 24)
    _, low, high = cells.words
    points = cells.values[0].type in (_convert.STRING, _convert.DATA)
    cells.copies = [bytes(ffi.buffer(ffi.cast("char *", low), high)) if points else None]
    return cells.first(Link)


UTC = timezone.utc
SAME = [None, True, False, 0, -1, 2**63 - 1, -2**63, 0.5, -0.0, float("inf"), "", "a\0b", "Zürich 🛫", b"", b"\0\xff",
        datetime(1970, 1, 1, tzinfo=UTC), datetime(1969, 12, 31, 23, 59, 59, 500_000, tzinfo=UTC),
        datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC), Link(7, 2**47)]


@pytest.mark.parametrize("value", SAME, ids=repr)
def test_values_come_back_the_same(value: Any) -> None:
    back = read_back(value)

    assert back == value and type(back) is type(value)


def test_nan_comes_back() -> None:
    assert str(read_back(float("nan"))) == "nan"


def test_floats_are_rounded_to_32_bits_for_float_properties() -> None:
    assert read_back(0.1, _convert.FLOAT) == pytest.approx(0.1, rel=1e-7)
    assert read_back(0.1, _convert.FLOAT) != 0.1
    assert read_back(float("inf"), _convert.FLOAT) == float("inf")
    with pytest.raises(motte.errors.NumberOverflowError, match="too large"):
        read_back(1e300, _convert.FLOAT)


def test_numbers_become_floats_only_where_these_say_the_same() -> None:
    for exact in (2**53, Decimal("0.1"), Decimal("1E300"), Fraction(3, 8), -7):
        assert read_back(exact, _convert.DOUBLE) == float(exact)
    for other in (2**53 + 1, 10**400, Decimal("0.12345678901234567890"), Decimal("1E400"), Fraction(1, 3)):
        with pytest.raises(motte.errors.NumberOverflowError):
            read_back(other, _convert.DOUBLE)
        with pytest.raises(motte.errors.NumberOverflowError) as caught:
            column([1.0, other], _convert.DOUBLE, no_link)
        assert caught.value.row_index == 1


def test_other_zones_are_the_same_moment() -> None:
    noon = datetime(2013, 1, 1, 12, tzinfo=timezone(timedelta(hours=-5)))

    assert read_back(noon) == noon and read_back(noon).tzinfo is UTC


def test_what_is_refused() -> None:
    for value in (object(), 1j, [object()], {"a": 1j}, {1: "a"}, datetime(2013, 1, 1)):
        with pytest.raises(motte.errors.WrongTypeError):
            read_back(value)
    with pytest.raises(motte.errors.NumberOverflowError):
        read_back(2**63)
    with pytest.raises(motte.errors.InvalidUTF8Error):
        read_back("\ud800")


def test_numpy_scalars_are_numbers() -> None:
    numpy = pytest.importorskip("numpy")

    assert read_back(numpy.int32(3)) == 3 and read_back(numpy.float32(0.5)) == 0.5
    assert read_back(numpy.bool_(True)) is True


def no_link(value: Any) -> int:
    raise AssertionError


def test_bitmaps() -> None:
    for count in (0, 1, 7, 8, 9, 1000):
        present = [number % 3 != 0 for number in range(count)]
        assert _columns.unpacked(_columns.bitmap(present), count) == present


def test_columns_keep_nulls_aside() -> None:
    made = column([1, None, -3], _convert.INT, no_link)
    assert list(made.values) == [1, 0, -3] and made.validity == b"\x05" and made.length == 3

    made = column(["é", None, ""], _convert.STRING, no_link)
    assert bytes(made.values) == "é".encode() and list(made.offsets or ()) == [0, 2, 2, 2] and made.validity == b"\x05"

    made = column((True, None), _convert.BOOL, no_link)
    assert bytes(made.values) == b"\1\0" and made.validity == b"\1"


def test_columns_name_the_offending_row() -> None:
    for values, type_ in (([1, 2, "x"], _convert.INT), ([1, 2, True], _convert.INT), (["a", None, 3], _convert.STRING),
                          ([0.5, 1, "x"], _convert.DOUBLE), ([True, False, 1], _convert.BOOL)):
        with pytest.raises(motte.errors.WrongTypeError) as caught:
            column(values, type_, no_link)
        assert caught.value.row_index == 2
    with pytest.raises(motte.errors.NumberOverflowError) as overflow:
        column([1, 2**63], _convert.INT, no_link)
    assert overflow.value.row_index == 1


def test_arrays_are_taken_as_they_are() -> None:
    numbers = array("q", [1, 2])
    assert column(numbers, _convert.INT, no_link).values.obj is numbers
    assert list(column(range(3), _convert.INT, no_link).values) == [0, 1, 2]


def test_numpy_columns() -> None:
    numpy = pytest.importorskip("numpy")

    assert list(column(numpy.arange(3), _convert.INT, no_link).values) == [0, 1, 2]
    assert list(column(numpy.arange(3, dtype="int16"), _convert.INT, no_link).values) == [0, 1, 2]
    masked = column(numpy.ma.masked_array([1.0, 2.0], [False, True]), _convert.DOUBLE, no_link)
    assert masked.validity == b"\1"
    moments = column(numpy.array(["2013-01-01", "NaT"], dtype="datetime64[s]"), _convert.TIMESTAMP, no_link)
    assert list(moments.values) == [1356998400, 0] and moments.validity == b"\1"
