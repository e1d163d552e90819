"""The class that tests of imports fill, and databases that have it."""
from __future__ import annotations

import itertools
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, Optional

import motte
from columns_model import Values


class Home(motte.EmbeddedModel):
    city: str = ""
    floors: list[int] = motte.field(default_factory=list)


class Item(Values):
    whole: Optional[int] = None
    flag: Optional[bool] = None
    single: Optional[motte.Float32] = None
    friend: Optional[Item] = None
    home: Optional[Home] = None
    homes: list[Home] = motte.field(default_factory=list)
    prices: dict[str, Optional[float]] = motte.field(default_factory=dict)


_numbers = itertools.count()


@contextmanager
def opened() -> Generator[motte.Database, None, None]:
    """A new one, in memory."""
    with motte.open(in_memory=f"importing {next(_numbers)}", schema=[Home, Item]) as database:
        yield database


def column(db: motte.Database, name: str) -> list[Any]:
    return db.objects(Item).column(name)
