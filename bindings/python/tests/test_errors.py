"""Exceptions: one for each code, with the built-in class a reader would expect."""
from __future__ import annotations

import pickle

import pytest

import motte
from motte import errors
from motte._ffi import lib


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
