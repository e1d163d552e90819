"""What the tests share: model classes, and databases in memory and in files.

After each test no handle and no callback may be left: the library counts them.
"""
from __future__ import annotations

import gc
import itertools
import sys
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, Optional

import pytest

import motte
import skips
from lexicon import foreign
from motte import _callbacks, _handles

_numbers = itertools.count()


class Dog(motte.Model):
    name: str = motte.field(primary_key=True)
    age: int = motte.field(default=0, indexed=True)
    owner: Optional[Person] = None


class Person(motte.Model):
    name: str
    age: int = 0
    height: Optional[float] = None
    tags: list[str] = motte.field(default_factory=list)
    scores: list[Optional[int]] = motte.field(default_factory=list)
    dogs: list[Dog] = motte.field(default_factory=list)
    friend: Optional[Person] = None
    owned: motte.Backlinks[Dog] = motte.backlinks("owner")
    listed_by: motte.Backlinks[Person] = motte.backlinks("friend")


class Everything(motte.Model):
    id: int = motte.field(primary_key=True)
    flag: bool = False
    whole: int = 0
    single: motte.Float32 = 0.0
    real: float = 0.0
    text: str = ""
    data: bytes = b""
    moment: datetime = motte.field(default_factory=lambda: datetime.fromisoformat("1970-01-01T00:00:00+00:00"))
    maybe_flag: Optional[bool] = None
    maybe_whole: Optional[int] = motte.field(default=None, indexed=True)
    maybe_real: Optional[float] = None
    maybe_text: Optional[str] = None
    maybe_data: Optional[bytes] = None
    maybe_moment: Optional[datetime] = None
    flags: list[bool] = motte.field(default_factory=list)
    reals: list[float] = motte.field(default_factory=list)
    moments: list[datetime] = motte.field(default_factory=list)
    datas: list[Optional[bytes]] = motte.field(default_factory=list)


CLASSES: list[type[motte.Model]] = [Person, Dog, Everything]


def pytest_configure(config: pytest.Config) -> None:
    # For the tests of other folders too, which run along with these.
    config.pluginmanager.register(skips)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: Any) -> Any:
    report = yield
    if report.failed:
        item.stash[_failed] = True
    return report


_failed = pytest.StashKey[bool]()


def pytest_unconfigure() -> None:
    # Modules in C of others look at the end whether all of theirs is gone.
    gc.unfreeze()


#: Modules that were there when it was last looked.
_modules = 0


def _collect() -> None:
    """What comes with modules stays, pandas and all: the collections around each test look at it once."""
    global _modules
    gc.collect()
    if len(sys.modules) != _modules:
        _modules = len(sys.modules)
        gc.freeze()


@pytest.fixture(autouse=True)
def nothing_is_left(request: pytest.FixtureRequest) -> Iterator[None]:
    _collect()
    handles, callbacks = _handles.live_handles(), _callbacks.alive()
    yield
    if request.node.stash.get(_failed, False):
        return  # its traceback holds on to what it used
    request.node.funcargs.clear()
    gc.collect()
    assert _handles.live_handles() <= handles, _callbacks.dump_handles()
    assert _callbacks.alive() <= callbacks


@pytest.fixture(autouse=True)
def messages_speak_python(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Whatever a test provokes is said in Python's words."""
    wrong: list[str] = []
    make = motte.Error.__init__

    def checked(self: motte.Error, message: str, **details: Any) -> None:
        if foreign(message):
            wrong.append(message)
        make(self, message, **details)

    monkeypatch.setattr(motte.Error, "__init__", checked)
    yield
    assert wrong == []


@pytest.fixture
def db() -> Iterator[motte.Database]:
    with motte.open(in_memory=f"test {next(_numbers)}", schema=CLASSES) as database:
        yield database


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "test.motte"


@pytest.fixture
def opened(path: Path) -> Iterator[Callable[..., motte.Database]]:
    """Opens the file of the test, as often as wanted, and closes what is still open."""
    databases: list[motte.Database] = []

    def open_it(**options: Any) -> motte.Database:
        databases.append(motte.open(path, **{"schema": CLASSES, **options}))
        return databases[-1]
    yield open_it
    for database in databases:
        database.close()
