"""What Python code does to the module in C that runs on its way (constructors, time zones, garbage collection, signals,
the event loop): what it raises comes out, and nothing is left half done or kept."""
from __future__ import annotations

import asyncio
import gc
import os
import pathlib
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone, tzinfo
from decimal import Decimal
from typing import Any, Optional

import pytest

import motte
from motte import _convert, _core, _objects, errors

PROGRAM = pathlib.Path(__file__).with_name("reentrant_program.py")


class Interrupt(BaseException):
    """As of a signal handler."""


class Interrupting(tzinfo):
    def utcoffset(self, when: Optional[datetime]) -> timedelta:
        raise Interrupt


class Price(motte.Model):
    id: int = motte.field(primary_key=True)
    name: str = ""
    amount: Optional[Decimal] = None
    seen: Optional[datetime] = None
    next: Optional[Price] = None
    small: motte.Int8 = 0


NEVER = datetime(2024, 1, 1, tzinfo=Interrupting())


@pytest.fixture
def db() -> Iterator[motte.Database]:
    with motte.open(in_memory="reentrancy", schema=[Price]) as database:
        yield database


def interrupt(*_: Any) -> Any:
    raise Interrupt


def test_code_on_the_way_may_change_everything() -> None:
    done = subprocess.run(
        [sys.executable, "-X", "dev", "-W", "ignore", str(PROGRAM)], capture_output=True, text=True, timeout=300,
        env={**os.environ, "PYTHONMALLOC": "debug"})
    assert done.returncode == 0 and done.stdout.strip() == "done", done.stdout + done.stderr


@pytest.mark.parametrize("most", [1 << 20, 6])
def test_interrupts_come_out_and_leave_nothing(
    db: motte.Database, request: pytest.FixtureRequest, most: int
) -> None:
    request.addfinalizer(lambda: _objects.configure(words=_convert._words, most_values=1 << 20))
    _objects.configure(words=interrupt, most_values=most)
    with db.write():
        price = db.add(Price(id=1, name="first"))
        for value in (dict(seen=NEVER), dict(amount=Decimal(1))):
            name, = value
            for use in (lambda: setattr(price, name, value[name]),
                        lambda: db.add(Price(id=2, **value)),  # type: ignore[arg-type]
                        lambda: db.add_all([*(Price(id=number) for number in range(2, 20)),
                                            Price(id=20, **value)])):  # type: ignore[arg-type]
                with pytest.raises(Interrupt):
                    use()
                assert db.count(Price) == 1 and price.to_dict() == {
                    "id": 1, "name": "first", "amount": None, "seen": None, "next": None, "small": 0}


def test_interrupts_in_an_event_loop_come_out(db: motte.Database, request: pytest.FixtureRequest) -> None:
    request.addfinalizer(lambda: _objects.configure(current_task=_core.current_task))

    async def work() -> None:
        async with db.write():
            price = db.add(Price(id=1, next=Price(id=2)))
            link = price.next
            _objects.configure(current_task=interrupt)
            for use in (lambda: price.id, lambda: setattr(price, "id", 5), price.to_dict, lambda: db.add(Price(id=3)),
                        lambda: db.add_all([Price(id=3), Price(id=4)]), lambda: setattr(price, "next", link)):
                with pytest.raises(Interrupt):
                    use()
            _objects.configure(current_task=_core.current_task)
            assert db.count(Price) == 2

    asyncio.run(work())


class Picky(str):
    """A name that is another one every time it is asked."""

    def __eq__(self, other: object) -> bool:
        raise Interrupt

    __hash__ = str.__hash__


def test_calls_that_fail_keep_no_reference(db: motte.Database) -> None:
    """The counts of everything that the module borrows, after some hundred failures of each kind."""
    text, when = "x" * 1000, datetime(2024, 1, 1, tzinfo=timezone.utc)
    with db.write() as write:
        price, gone = db.add(Price(id=1, name=text, seen=when)), db.add(Price(id=2))
        db.delete(gone)
        row: Any = db._row_of(Price)
        fresh = Price(id=3, name=text)
        wrong: list[tuple[type[BaseException], Callable[[], Any]]] = [
            (errors.NumberOverflowError, lambda: setattr(price, "small", 1 << 20)),
            (errors.WrongTypeError, lambda: setattr(price, "name", when)),
            (errors.InvalidUTF8Error, lambda: setattr(price, "name", "\ud800")),
            (Interrupt, lambda: setattr(price, "seen", NEVER)),
            (errors.ObjectDeletedError, lambda: gone.name),
            (errors.ObjectDeletedError, lambda: setattr(gone, "name", text)),
            (errors.ObjectDeletedError, lambda: gone.to_dict()),
            (errors.DuplicatePrimaryKeyError, lambda: db.add(Price(id=1, name=text, seen=when))),
            (errors.DuplicatePrimaryKeyError, lambda: db.add_all([fresh, Price(id=1, name=text)])),
            (errors.WrongTypeError, lambda: db.add_all([fresh, 5])),  # type: ignore[list-item]
            (Interrupt, lambda: db.add_all([fresh, Price(id=4, seen=NEVER)])),
            (errors.OutOfBoundsError, lambda: db.objects(Price)[7]),
            (TypeError, lambda: Price(nme=text)),  # type: ignore[call-arg]
            (TypeError, lambda: Price(text)),  # type: ignore[call-arg, misc]
            (errors.WrongTypeError, lambda: Price(id=when, name=text)),  # type: ignore[arg-type]
            (Interrupt, lambda: Price(id=5, **{Picky("name"): text})),  # type: ignore[arg-type]
            (AttributeError, lambda: setattr(price, "nme", text)),
            (AttributeError, lambda: delattr(price, "name")),
            (TypeError, lambda: setattr(price, "_values", text)),
            (TypeError, lambda: setattr(price, "_row", text)),
            (TypeError, lambda: _objects.Row()._bind(db, 1, 1, Price, 0, (text,))),  # type: ignore[arg-type]
            (ValueError, lambda: _objects.Row()._bind(
                db, 1, 1, Price, 0, ((text, 1, 1, 0, 0, 99, Price, {}),))),
            (TypeError, lambda: _objects.Plan(((text, 0, when), (text, 0)))),  # type: ignore[arg-type]
            (TypeError, lambda: _objects.iterated(row, text)),  # type: ignore[arg-type]
            (TypeError, lambda: _objects.find(db, [], 1)),  # type: ignore[arg-type]
        ]

        def fail() -> None:
            for number, (kind, use) in enumerate(wrong):
                try:
                    use()
                except kind:
                    continue
                pytest.fail(f"nothing refused number {number}")

        watched: list[Any] = [text, when, NEVER, row, db, write, price, gone, fresh, Price, Price._plan, Price.__dict__[
            "name"], None.__class__, _objects.Row, _objects.Plan]

        def counts(times: int) -> tuple[list[int], int]:
            for _ in range(times):
                fail()
            gc.collect()
            # Python keeps names of attributes that were looked up, some thousands.
            sys._clear_type_cache()
            return list(map(sys.getrefcount, watched)), sys.getallocatedblocks()

        before, blocks = counts(50)
        after, blocks_after = counts(300)
        # A kind of failure that leaves something leaves 300.
        assert [(str(each)[:40], now - then) for each, then, now in zip(watched, before, after)
                if abs(now - then) > 50] == []
        assert blocks_after - blocks < 200
