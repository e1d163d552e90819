"""Messages of the library as records of logging."""
from __future__ import annotations

import logging
import pathlib
import subprocess
import sys
from collections.abc import Iterator

import pytest
from conftest import Dog, Person

import motte
from motte import errors


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    yield
    motte.set_log_level(None)


def said(caplog: pytest.LogCaptureFixture) -> list[tuple[str, int, str]]:
    return [(each.name, each.levelno, each.getMessage()) for each in caplog.records]


def test_nothing_is_logged_at_first(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(1)
    motte.open(in_memory="quiet", schema=[Person, Dog]).close()
    assert said(caplog) == []


def test_levels_choose_what_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(1)
    motte.set_log_level(logging.INFO)
    with motte.open(in_memory="levels", schema=[Person, Dog]) as db:
        assert [each[:2] for each in said(caplog)] == [("motte.schema", logging.INFO)]
        assert "class Dog is added" in said(caplog)[0][2]
        with db.write():
            db.add(Dog(name="Rex"))
        assert len(said(caplog)) == 1
        caplog.clear()
        motte.set_log_level("debug")
        with db.write():
            db.add(Dog(name="Tom"))
        assert said(caplog) == [("motte.write", logging.DEBUG, f"levels: committed version {db.version}")]
        caplog.clear()
        with pytest.raises(errors.QuerySyntaxError):
            db.objects(Dog).where("name ==")
        assert [each[:2] for each in said(caplog)] == [("motte.call", logging.DEBUG)]
        caplog.clear()
        motte.set_log_level(5)
        assert db.query(Dog, "name == 'Rex'").count() == 1
        assert [each[:2] for each in said(caplog)] == [("motte.query", 5)]
        caplog.clear()
        motte.set_log_level(logging.CRITICAL)
        with pytest.raises(errors.QuerySyntaxError):
            db.objects(Dog).where("name ==")
    assert said(caplog) == []


def test_a_logger_has_its_own_level(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, logger="motte.storage")
    caplog.set_level(logging.INFO, logger="motte.schema")
    motte.set_log_level(logging.DEBUG)
    motte.open(in_memory="own level", schema=[Person, Dog]).close()
    assert {each[0] for each in said(caplog)} == {"motte.schema"}


def test_a_handler_that_fails_fails_no_call(monkeypatch: pytest.MonkeyPatch) -> None:
    class Failing(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            raise RuntimeError("no")

    ignored = []
    monkeypatch.setattr(sys, "unraisablehook", lambda each: ignored.append(str(each.exc_value)))
    handler = Failing()
    logging.getLogger("motte").addHandler(handler)
    logging.getLogger("motte").setLevel(logging.DEBUG)
    try:
        motte.set_log_level(logging.DEBUG)
        with motte.open(in_memory="failing", schema=[Person, Dog]) as db:
            with db.write():
                db.add(Dog(name="Rex"))
            assert db.objects(Dog).count() == 1
    finally:
        logging.getLogger("motte").removeHandler(handler)
        logging.getLogger("motte").setLevel(logging.NOTSET)
    assert ignored and set(ignored) == {"no"}


@pytest.mark.parametrize("level", ["LOUD", 1.5, True, b"INFO"])
def test_what_is_no_level_is_refused(level: object) -> None:
    with pytest.raises(errors.InvalidArgumentError, match="is no level of logging"):
        motte.set_log_level(level)  # type: ignore[arg-type]


def test_a_database_that_is_left_open_ends_in_silence(tmp_path: pathlib.Path) -> None:
    program = (
        "import logging, sys, motte\n"
        "logging.basicConfig(level=logging.DEBUG, stream=sys.stdout, format='%(name)s %(message)s')\n"
        "motte.set_log_level(logging.DEBUG)\n"
        f"db = motte.open({str(tmp_path / 'left.motte')!r}, schema='Dog {{ name: string }}')\n"
        "sys.modules['kept'] = db\n")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "class Dog is added" in done.stdout and done.stderr == ""


def test_a_handler_that_fails_is_reported_by_the_interpreter() -> None:
    program = """
import logging
import motte

class Item(motte.Model):
    n: int = 0

class Failing(logging.Handler):
    def emit(self, record):
        raise ValueError("from the handler")

logging.getLogger("motte").addHandler(Failing())
logging.getLogger("motte").setLevel(1)
motte.set_log_level(10)
with motte.open(in_memory="reported", schema=[Item]) as db, db.write():
    db.add(Item())
print("done")
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert ended.returncode == 0 and ended.stdout == "done\n", ended.stderr
    assert "ValueError: from the handler" in ended.stderr and "TypeError" not in ended.stderr


def test_an_interrupt_in_a_handler_comes_out_of_the_call() -> None:
    class Interrupted(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if record.name == "motte.write" and not seen:
                seen.append(record)
                raise KeyboardInterrupt

    seen: list[logging.LogRecord] = []
    handler, logger = Interrupted(), logging.getLogger("motte")
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    try:
        motte.set_log_level(logging.DEBUG)
        with motte.open(in_memory="interrupted log", schema=[Person, Dog]) as db:
            with pytest.raises(KeyboardInterrupt):
                with db.write():
                    db.add(Dog(name="Rex"))
            # The commit is what the record tells of.
            assert seen and not db.in_write and db.objects(Dog).count() == 1
    finally:
        logger.removeHandler(handler)
        logger.setLevel(logging.NOTSET)
