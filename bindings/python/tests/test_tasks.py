"""Tasks of an event loop, threads, and what belongs to whom: open writes, readers of the loop, exceptions, objects."""
from __future__ import annotations

import asyncio
import functools
import gc
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, Optional

import pytest

import motte
from motte import errors


class Tag(motte.Model):
    name: str = motte.field(primary_key=True)
    of: Optional["Row"] = None


class Row(motte.Model):
    id: int = motte.field(primary_key=True)
    n: int = 0
    m: int = 0
    words: list[str] = motte.field(default_factory=list)
    chosen: set[int] = motte.field(default_factory=set)
    known: dict[str, int] = motte.field(default_factory=dict)
    tags: motte.Backlinks[Tag] = motte.backlinks("of")


class Card(motte.Projection[Row]):
    n: int


CLASSES = [Row, Tag]
Opener = Callable[..., motte.Database]


@pytest.fixture
def db(path: Path) -> Any:
    with motte.open(path, schema=CLASSES) as database:
        with database.write():
            row = database.add(Row(id=1, words=["a"], chosen={1}, known={"a": 1}))
            database.add(Tag(name="t", of=row))
        yield database


# ------------------------------------------------------------------------------------------------ isolation

#: Whatever asks the database something, or changes it.
USES: dict[str, Callable[[motte.Database, Row, Path], Any]] = {
    "len": lambda db, row, path: len(db.objects(Row)),
    "loop": lambda db, row, path: list(db.objects(Row)),
    "element": lambda db, row, path: db.objects(Row)[0],
    "slice": lambda db, row, path: db.objects(Row)[:1],
    "last": lambda db, row, path: db.objects(Row).last(),
    "in": lambda db, row, path: row in db.objects(Row),
    "index": lambda db, row, path: db.objects(Row).index(row),
    "where": lambda db, row, path: db.objects(Row).where("id > 0").count(),
    "sum": lambda db, row, path: db.objects(Row).sum("id"),
    "max": lambda db, row, path: db.objects(Row).max("id"),
    "column": lambda db, row, path: db.objects(Row).column("id"),
    "object_keys": lambda db, row, path: db.objects(Row).object_keys(),
    "stream": lambda db, row, path: db.objects(Row).__arrow_c_stream__(),
    "groups": lambda db, row, path: list(db.objects(Row).query("GROUP(id) COUNT")),
    "sections": lambda db, row, path: list(db.objects(Row).sectioned("n")),
    "explain": lambda db, row, path: str(db.objects(Row).explain(analyze=True)),
    "snapshot": lambda db, row, path: db.objects(Row).snapshot(),
    "equality": lambda db, row, path: db.objects(Row) == db.objects(Row).where("id > 0"),
    "page": lambda db, row, path: db.objects(Row).page(),
    "count": lambda db, row, path: db.count(Row),
    "get": lambda db, row, path: db.get(Row, 1),
    "get nothing": lambda db, row, path: db.get(Row, 99),
    "at": lambda db, row, path: db.at(Row, row.object_key),
    "prepared": lambda db, row, path: db.query(Row, "id > 0").count(),
    "attribute": lambda db, row, path: row.n,
    "to_dict": lambda db, row, path: row.to_dict(),
    "is_valid": lambda db, row, path: row.is_valid,
    "list": lambda db, row, path: list(row.words),
    "set": lambda db, row, path: 1 in row.chosen,
    "map": lambda db, row, path: dict(row.known),
    "backlinks": lambda db, row, path: len(row.tags),
    "backlinks of": lambda db, row, path: len(db.backlinks(row, Tag.of)),
    "export": lambda db, row, path: db.export_json(None, Row),
    "export all": lambda db, row, path: db.export_json(None),
    "export object": lambda db, row, path: db.export_json(None, row),
    "csv": lambda db, row, path: db.export_csv(None, Row),
    "sqlite": lambda db, row, path: db.export_sqlite(path / "copy.db"),
    "copy": lambda db, row, path: db.copy_to(path / "copy.motte"),
    "verify": lambda db, row, path: db.verify(),
    "space": lambda db, row, path: db.space(),
    "assign": lambda db, row, path: setattr(row, "n", 5),
    "add": lambda db, row, path: db.add(Row(id=50)),
    "add_all": lambda db, row, path: db.add_all([Row(id=50), Row(id=51)]),
    "upsert": lambda db, row, path: db.upsert(Row(id=1)),
    "create_or_update": lambda db, row, path: db.create_or_update(Row, id=1, n=3),
    "insert": lambda db, row, path: db.insert_columns(Row, {"id": [60, 61]}),
    "update": lambda db, row, path: db.update(row, n=4),
    "update all": lambda db, row, path: db.objects(Row).update(n=4),
    "delete": lambda db, row, path: db.delete(row),
    "delete those": lambda db, row, path: db.delete(db.objects(Row)),
    "delete_all": lambda db, row, path: db.delete_all(),
    "append": lambda db, row, path: row.words.append("b"),
    "clear": lambda db, row, path: row.words.clear(),
    "set add": lambda db, row, path: row.chosen.add(7),
    "map put": lambda db, row, path: row.known.update(b=2),
    "import": lambda db, row, path: db.import_json(Row, text='[{"id": 70}]'),
    "write": lambda db, row, path: db.write().__enter__(),
    "observe": lambda db, row, path: db.objects(Row).observe(print),
    "observe object": lambda db, row, path: row.observe(print),
    "refresh": lambda db, row, path: db.refresh(),
    "on_commit": lambda db, row, path: db.on_commit(lambda batch: None),
    "apply": lambda db, row, path: db.apply(b"x"),
    "keep": lambda db, row, path: db.keep_changes(0),
    "reference": lambda db, row, path: motte.Reference(row),
}


@pytest.mark.parametrize("use", USES)
def test_the_open_write_is_that_of_its_task(db: motte.Database, tmp_path: Path, use: str) -> None:
    row = db.one(Row, 1)
    call = USES[use]

    async def other() -> None:
        with pytest.raises(errors.AlreadyInWriteError):
            call(db, row, tmp_path)

    async def run() -> None:
        with pytest.raises(KeyError):
            async with db.write():
                db.add(Row(id=2))
                row.n = 9
                await asyncio.create_task(other())
                # Nor is it that of a callback of the loop.
                await asyncio.get_running_loop().run_in_executor(None, lambda: None)
                raise KeyError
        assert [each.id for each in db.objects(Row)] == [1] and row.n == 0
    asyncio.run(run())


def test_what_other_tasks_may_do(db: motte.Database) -> None:
    rows = db.objects(Row)

    async def other() -> None:
        frozen = db.freeze()
        assert len(frozen.objects(Row)) == 1 and frozen.one(Row, 1).n == 0
        assert rows.freeze().column("n") == [0]
        assert db.in_write and db.version <= db.latest_version and db.schema and repr(db)
        db.interrupt()

    async def run() -> None:
        async with db.write():
            db.one(Row, 1).n = 5
            await asyncio.create_task(other())
        assert db.one(Row, 1).n == 5
    asyncio.run(run())


def test_a_block_of_another_task_can_be_ended_by_its_generator(db: motte.Database) -> None:
    async def blocks() -> Any:
        async with db.write():
            db.add(Row(id=2))
            async with db.write():
                db.add(Row(id=3))
                yield

    async def run() -> None:
        generator = blocks()
        await generator.__anext__()
        # The loop closes generators that are left, in a task of its own.
        await asyncio.create_task(generator.aclose())
        assert not db.in_write and db.count(Row) == 1
    asyncio.run(run())


# ------------------------------------------------------------------------------------------------ the event loop


def test_the_reader_of_the_program_stays(db: motte.Database) -> None:
    async def run() -> None:
        loop = asyncio.get_running_loop()
        calls: list[int] = []
        loop.add_reader(db, lambda: calls.append(db.dispatch()))
        try:
            await db.write_async(lambda db: db.add(Row(id=2)))
            async for _ in db.objects(Row).changes(timeout=0.01):
                pass
            calls.clear()
            with motte.open(db.path, schema=CLASSES) as other, other.write():
                other.add(Row(id=3))
            for _ in range(200):
                await asyncio.sleep(0.01)
                if calls:
                    break
            assert calls and db.count(Row) == 3
        finally:
            assert loop.remove_reader(db)
    asyncio.run(run())


def test_a_stream_shows_the_writes_of_its_own_loop(db: motte.Database) -> None:
    async def run() -> None:
        seen: list[motte.Changes] = []

        async def read() -> None:
            async for change in db.objects(Row).changes():
                seen.append(change)
        reading = asyncio.create_task(read())
        await asyncio.sleep(0.02)
        for number in range(100):
            before = len(seen)
            if number % 3 == 0:
                async with db.write():
                    db.add(Row(id=1000 + number))
            elif number % 3 == 1:
                with db.write():
                    db.add(Row(id=1000 + number))
            else:
                await db.write_async(lambda db, key=1000 + number: db.add(Row(id=key)))
            for _ in range(500):
                if len(seen) > before:
                    break
                await asyncio.sleep(0.002)
            assert len(seen) > before, number
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)
    asyncio.run(run())


def test_what_observers_raise_is_the_loops(db: motte.Database) -> None:
    def fail(changes: motte.Changes) -> None:
        raise KeyError("from an observer")

    async def run() -> None:
        reported: list[Any] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(context["exception"]))
        with db.objects(Row).observe(fail):
            assert await db.write_async(lambda db: db.add(Row(id=2)).id) == 2
            async with db.write():
                db.add(Row(id=3))
            with db.write():
                db.add(Row(id=4))
            assert len(reported) >= 3 and {type(each) for each in reported} == {KeyError}
            with pytest.raises(KeyError):
                # Which is there to call it.
                with motte.open(db.path, schema=CLASSES) as other, other.write():
                    other.add(Row(id=5))
                db.refresh()
        reported.clear()
    asyncio.run(run())
    assert db.count(Row) == 5


@pytest.mark.parametrize("how", ["timeout", "no timeout", "queued"])
def test_a_cancelled_task_does_not_write(db: motte.Database, how: str) -> None:
    ran: list[int] = []

    async def attempt() -> None:
        entered, leave = asyncio.Event(), asyncio.Event()

        async def hold() -> None:
            async with db.write():
                entered.set()
                await leave.wait()

        async def wait() -> None:
            if how == "queued":
                await db.write_async(lambda db: ran.append(1))
            else:
                async with db.write(timeout=5 if how == "timeout" else None):
                    ran.append(1)
        holding = asyncio.create_task(hold())
        await entered.wait()
        waiting, after = asyncio.create_task(wait()), asyncio.create_task(asyncio.sleep(0))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        leave.set()
        if how != "queued":
            # In the turn in which the block ends. A queued write has been made by then.
            await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.gather(holding, waiting, after, return_exceptions=True)
        assert waiting.cancelled()
        # The turn has been passed on.
        async with db.write(timeout=5):
            pass

    async def run() -> None:
        for _ in range(10):
            await attempt()
    asyncio.run(run())
    assert ran == []


def test_turns_are_taken_in_order_and_in_time(db: motte.Database) -> None:
    order: list[int] = []

    async def take(number: int, timeout: Optional[float] = None) -> None:
        async with db.write(timeout=timeout):
            order.append(number)
            await asyncio.sleep(0.01)

    async def run() -> None:
        tasks = [asyncio.create_task(take(number)) for number in range(3)]
        await asyncio.sleep(0)
        late = asyncio.create_task(take(99, 0.001))
        with pytest.raises(errors.WriteTimeoutError):
            await late
        await asyncio.gather(*tasks)
    asyncio.run(run())
    assert order == [0, 1, 2]


def test_closing_ends_what_waits(path: Path) -> None:
    async def run() -> None:
        db = motte.open(path, schema=CLASSES)
        with motte.open(path, schema=CLASSES) as other, other.write():
            async def read() -> None:
                async for _ in db.objects(Row).changes():
                    pass
            reading = asyncio.create_task(read())
            writing = asyncio.create_task(db.write_async(lambda db: None))
            await asyncio.sleep(0.02)
            db.close()
            done = await asyncio.wait_for(asyncio.gather(reading, writing, return_exceptions=True), 10)
        assert isinstance(done[1], errors.ClosedError) and (done[0] is None or isinstance(done[0], errors.ClosedError))
    asyncio.run(run())


# ------------------------------------------------------------------------------------------------ functions, one block


async def wrong(*_: Any) -> None:
    raise AssertionError


@pytest.mark.parametrize("function", [wrong, functools.partial(wrong, 1), 5])
def test_coroutine_functions_are_refused(db: motte.Database, path: Path, function: Any) -> None:
    for use in (db.objects(Row).observe, db.observe, db.one(Row, 1).observe, Card(db.one(Row, 1)).observe,
                db.objects(Row).sectioned("n").observe, db.objects(Row).query("GROUP(n) COUNT").observe,
                db.one(Row, 1).words.observe, db.one(Row, 1).known.observe, db.on_commit, db.queue_write,
                lambda given: asyncio.run(db.write_async(given)), lambda given: db.verify(progress=given),
                lambda given: motte.open(in_memory="refused", schema=CLASSES, first_open=given),
                lambda given: motte.open(in_memory="refused", schema=CLASSES, schema_version=1, migration=given)):
        with pytest.raises(errors.WrongTypeError, match="function"):
            use(function)
    if function is wrong:
        with pytest.raises(errors.WrongTypeError, match="plain function"):
            db.objects(Row).sectioned(wrong)
        with pytest.raises(errors.WrongTypeError, match="plain function"), db.write():
            db.objects(Row).update(n=wrong)


def test_a_coroutine_of_a_plain_function_undoes_its_write(db: motte.Database) -> None:
    async def later() -> None:
        raise AssertionError

    def work(db: motte.Database) -> Any:
        db.add(Row(id=2))
        return later()
    with pytest.raises(errors.WrongTypeError, match="coroutine"):
        asyncio.run(db.write_async(work))
    assert db.count(Row) == 1 and not db.in_write


def test_a_write_is_one_block(db: motte.Database) -> None:
    write = db.write()
    with db.write(), write:
        db.add(Row(id=2))
    with pytest.raises(errors.InvalidArgumentError, match="one block"), write:
        db.add(Row(id=3))
    assert not db.in_write and db.count(Row) == 2

    async def again() -> None:
        async with write:
            pass
    with pytest.raises(errors.InvalidArgumentError, match="one block"):
        asyncio.run(again())
    assert not db.in_write


# ------------------------------------------------------------------------------------------------ objects

OTHER = """
import sys, motte
with motte.open(sys.argv[1]) as db, db.write():
    db.add(db.model("Row")(id=77))
"""


@pytest.mark.parametrize("how", ["cancelled", "refused", "inner", "queued"])
def test_what_was_lost_is_not_what_another_process_makes(db: motte.Database, how: str) -> None:
    made: list[Row] = []

    def refuse(batch: motte.ChangeBatch) -> None:
        raise KeyError

    def work(db: motte.Database) -> None:
        made.append(db.add(Row(id=2)))
        if how in ("cancelled", "queued"):
            raise KeyError
    if how == "refused":
        db.on_commit(refuse)
    if how == "queued":
        with pytest.raises(KeyError):
            asyncio.run(db.write_async(work))
    elif how == "inner":
        with db.write():
            with pytest.raises(KeyError), db.write():
                work(db)
                raise KeyError
    else:
        with pytest.raises(KeyError), db.write():
            work(db)
    db.on_commit(None)
    subprocess.run([sys.executable, "-c", OTHER, db.path], check=True)
    db.refresh()
    new = db.one(Row, 77)
    assert not made[0].is_valid and new.is_valid and made[0] != new and repr(made[0]) == "<Row that is gone>"
    with pytest.raises(errors.ObjectDeletedError):
        print(made[0].id)
    made.clear()


def test_two_threads_cannot_store_one_object(tmp_path: Path) -> None:
    for make in (lambda: [Row(id=number) for number in range(3000)],
                 lambda: [Row(id=number, words=["a"]) for number in range(300)],
                 lambda: [Tag(name=f"{number}", of=Row(id=number)) for number in range(300)]):
        rows: list[Any] = make()
        together, after = threading.Barrier(2), threading.Barrier(2)
        counts: dict[str, int] = {}

        def store(name: str, rows: list[Any] = rows, counts: dict[str, int] = counts) -> None:
            with motte.open(in_memory=name, schema=CLASSES) as db:
                together.wait()
                try:
                    with db.write():
                        db.add_all(rows if name == "a" else list(rows))
                except errors.Error:
                    pass
                finally:
                    counts[name] = db.count(type(rows[0]))
                    after.wait(60)
        threads = [threading.Thread(target=store, args=(name,)) for name in "ab"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(counts.values()) == [0, len(rows)]
        del rows[:], store


def test_a_class_that_is_declared_again(db: motte.Database) -> None:
    def declare(more: bool) -> Any:
        names = {"__annotations__": {"name": str, "of": Optional[Row], **({"more": int} if more else {})},
                 "name": motte.field(primary_key=True), "of": None, "__module__": __name__,
                 **({"more": 0} if more else {})}
        return type("Tag", (motte.Model,), names)
    old, again = db.one(Tag, "t"), declare(False)
    try:
        found = db.one(again, "t")
        assert type(found) is again and found == old and found.of == old.of and old.name == "t"
        with db.write():
            db.add(again(name="new", of=db.one(Row, 1)))
            db.add(Tag(name="old"))
        assert len(db.objects(again)) == len(db.objects(Tag)) == 3
        with pytest.raises(errors.UnknownClassError, match="declared again, in another way"):
            db.objects(declare(True))
    finally:
        motte.model._models["Tag"] = Tag


def test_keys_that_cannot_be_keys(db: motte.Database) -> None:
    for wrong_key in ("1", 1.5, b"1"):
        with pytest.raises(errors.WrongTypeError):
            db.get(Row, wrong_key)
    assert db.get(Row, None) is None and db.get(Row, 2**70) is None and db.get(Tag, "none") is None


def test_functions_of_an_update_see_the_object_as_it_was(db: motte.Database) -> None:
    with db.write():
        one, other = db.one(Row, 1), db.add(Row(id=2, n=5, m=7))
        db.objects(Row).update(n=lambda row: row.m, m=lambda row: row.n)
    assert (one.n, one.m, other.n, other.m) == (0, 0, 7, 5)


def test_projections_report_what_they_show(db: motte.Database) -> None:
    for use in (Card(db.one(Row, 1)).observe, db.objects(Card).observe):
        with pytest.raises(errors.InvalidArgumentError, match="does not show 'words'"):
            use(print, paths=["words"])
        use(print, paths=["n"]).stop()


def test_a_dropped_observation_is_said(db: motte.Database) -> None:
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        db.objects(Row).observe(lambda changes: None)
        gc.collect()
        with db.objects(Row).observe(lambda changes: None):
            pass
        kept = db.objects(Row).observe(lambda changes: None)
        kept.stop()
        del kept
    assert [each.category for each in said] == [ResourceWarning]


def test_long_loops_let_others_in(db: motte.Database) -> None:
    import signal

    class Alarm(BaseException):
        pass

    def ring(*_: Any) -> None:
        raise Alarm
    with db.write():
        db.insert_columns(Row, {"id": list(range(10, 20_010))})
    rows = db.objects(Row)
    before = signal.signal(signal.SIGALRM, ring)
    try:
        for use in (lambda: list(rows), lambda: rows[:], lambda: list(reversed(rows)),
                    lambda: db.export_json(None, Row), lambda: db.verify()):
            with pytest.raises(Alarm):
                # Once more, after another time, where it rang in code that can raise nothing, such as a finalizer.
                for turn in range(2000):
                    if turn % 50 == 0:
                        signal.setitimer(signal.ITIMER_REAL, 0.0005 * (1 + turn // 50 % 9))
                    use()
            signal.setitimer(signal.ITIMER_REAL, 0)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert len(rows) == 20_001
