"""Exceptions: one for each code, with the built-in class a reader would expect."""
from __future__ import annotations

import pickle
from collections.abc import Callable
from datetime import datetime

import pytest

import motte
from motte import errors
from motte._ffi import lib

from conftest import Everything

Opener = Callable[..., motte.Database]


def test_every_code_of_the_header_has_its_exception() -> None:
    in_header = {name[len("MOTTE_E_"):]: getattr(lib, name) for name in dir(lib) if name.startswith("MOTTE_E_")}

    assert {code.name: code.value for code in motte.Code} == in_header
    for code in motte.Code:
        kind = errors._BY_CODE[code]
        assert kind.code is code and issubclass(kind, motte.Error)
        assert [each for each in errors._all_kinds(motte.Error) if each.code is code] == [kind]


BUILT_IN = [
    ("OUT_OF_BOUNDS", IndexError), ("OBJECT_DELETED", LookupError), ("TIMEOUT", TimeoutError),
    ("WRONG_TYPE", TypeError), ("DUPLICATE_PRIMARY_KEY", ValueError), ("OVERFLOW", OverflowError),
    ("UNKNOWN_CLASS", LookupError), ("UNKNOWN_PROPERTY", TypeError), ("QUERY_SYNTAX", ValueError),
    ("FILE_NOT_FOUND", FileNotFoundError), ("PERMISSION_DENIED", PermissionError), ("DISK_FULL", OSError),
    ("OUT_OF_MEMORY", MemoryError), ("UNSUPPORTED", NotImplementedError), ("WRONG_THREAD", RuntimeError),
]


@pytest.mark.parametrize("name, kind", BUILT_IN, ids=[row[0] for row in BUILT_IN])
def test_it_is_the_built_in_one_too(name: str, kind: type[Exception]) -> None:
    assert issubclass(errors._BY_CODE[motte.Code[name]], kind)


def test_details_are_kept_and_travel() -> None:
    error = errors.DatabaseNotFoundError("there is no x", system_error=2, path="x")
    assert str(error) == "there is no x" and error.errno == 2 and error.filename == "x"

    again = pickle.loads(pickle.dumps(errors.QuerySyntaxError("bad", query_offset=3)))
    assert (str(again), again.query_offset, again.code) == ("bad", 3, motte.Code.QUERY_SYNTAX)


def test_values_that_cannot_be_converted_name_their_property(opened: Opener) -> None:
    noon = datetime(2026, 1, 1, 12)
    db = opened()
    with db.write():
        stored = db.add(Everything(id=1))
        for attempt in (
            lambda: db.add(Everything(id=2, moment=noon)),
            lambda: db.upsert(Everything(id=1, moment=noon)),
            lambda: db.create_or_update(Everything, id=1, moment=noon),
            lambda: db.update(stored, moment=noon),
            lambda: setattr(stored, "moment", noon),
        ):
            with pytest.raises(motte.Error, match="^Everything.moment: .* has no time zone") as caught:
                attempt()
            assert (caught.value.class_name, caught.value.property_name) == ("Everything", "moment")
    assert len(db.objects(Everything)) == 1
