"""Groups of times by the calendars of zones, beside Python's own zones; names that are none."""
from __future__ import annotations

import collections
import datetime
import os
import pathlib
import random
import subprocess
import sys
import zoneinfo
from collections.abc import Callable
from typing import Any

import pytest

import motte
from motte import errors

ZONES = ["Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe", "America/Sao_Paulo",
         "Europe/Dublin", "Africa/Casablanca", "Asia/Tehran", "Pacific/Chatham"]


class Moment(motte.Model):
    id: int = motte.field(primary_key=True)
    at: datetime.datetime


def beginning(time: datetime.datetime, unit: str, zone: zoneinfo.ZoneInfo) -> datetime.datetime:
    """As Python has it."""
    local = time.astimezone(zone)
    utc = datetime.timezone.utc
    if unit in ("minute", "hour"):
        # Back, minute by minute, as long as clocks show the same and go forward.
        begin = time.replace(second=0, microsecond=0)
        while unit == "hour":
            before, now = ((begin - datetime.timedelta(minutes=back)).astimezone(zone).replace(tzinfo=None)
                           for back in (1, 0))
            if before.replace(minute=0) != now.replace(minute=0) or before >= now:
                break
            begin -= datetime.timedelta(minutes=1)
        return begin
    day = local.replace(tzinfo=None, hour=0, minute=0, second=0, microsecond=0, fold=0)
    if unit == "week":
        day -= datetime.timedelta(days=day.weekday())
    elif unit == "quarter":
        day = day.replace(day=1, month=(day.month - 1) // 3 * 3 + 1)
    elif unit != "day":
        day = day.replace(day=1, month=1 if unit == "year" else day.month)
    return day.replace(tzinfo=zone).astimezone(utc)


def test_zones_are_those_of_python() -> None:
    seed = int(os.environ.get("MOTTE_TEST_SEED", random.randrange(1 << 30)))
    print("seed", seed)
    draw = random.Random(seed)
    start = datetime.datetime(1975, 1, 1, tzinfo=datetime.timezone.utc)
    times = [start + datetime.timedelta(seconds=draw.randrange(110 * 366 * 86_400)) for _ in range(400)]
    # Around changes of clocks, hour by hour.
    for name in ZONES:
        zone = zoneinfo.ZoneInfo(name)
        time = start + datetime.timedelta(days=draw.randrange(60 * 365))
        for _ in range(400):
            time += datetime.timedelta(days=1)
            if time.astimezone(zone).utcoffset() != (time + datetime.timedelta(days=1)).astimezone(zone).utcoffset():
                times += [time + datetime.timedelta(minutes=30 * number) for number in range(100)]
    times = sorted(set(times))
    with motte.open(in_memory="moments", schema=[Moment]) as db:
        with db.write():
            db.add_all([Moment(id=number, at=time) for number, time in enumerate(times)])
        for name in ZONES:
            for unit in ("minute", "hour", "day", "week", "month", "quarter", "year"):
                found = {group.span: group[1] for group in
                         db.objects(Moment).group_by(span=motte.by("at", unit, zone=name)).count()}
                wanted = collections.Counter(beginning(time, unit, zoneinfo.ZoneInfo(name)) for time in times)
                assert found == wanted, f"{name}, {unit}, seed {seed}"


def test_zones_that_are_none(tmp_path: pathlib.Path) -> None:
    with motte.open(in_memory="moments", schema=[Moment]) as db:
        for name in ("Mars", "../../etc/passwd", ""):
            with pytest.raises(errors.QueryArgumentError, match="no time zone"):
                len(db.objects(Moment).group_by(motte.by("at", "day", zone=name)).count())
        wrong: Any
        for wrong in (5, b"UTC"):
            with pytest.raises(errors.WrongTypeError):
                motte.by("at", "day", zone=wrong)
        with pytest.raises(errors.InvalidArgumentError):
            motte.by("at", "day", zone='a"b')
    program = ("import motte; db = motte.open(in_memory='m', schema='M { at: timestamp }'); "
               "print(len(db.objects('M').query('GROUP(at BY day IN \"Europe/Berlin\") COUNT')))")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True,
                          env=dict(os.environ, TZDIR=str(tmp_path / "none")))
    assert done.returncode == 1 and "tzdata" in done.stderr and "UnsupportedError" in done.stderr


def test_an_hour_that_clocks_show_twice_is_two_in_batches() -> None:
    berlin = zoneinfo.ZoneInfo("Europe/Berlin")
    times = [datetime.datetime(2024, 10, 27, 2, 30, tzinfo=berlin, fold=fold) for fold in (0, 1, 0, 1)]
    hours = [0, 1, 0, 1]

    class Event(motte.Model):
        time: datetime.datetime

    with motte.open(in_memory="twice", schema=[Event]) as db:
        ways: list[Callable[[], object]] = [
            lambda: db.add_all([Event(time=time) for time in times]),
            lambda: db.insert_columns(Event, {"time": times}),
            lambda: db.insert_rows(Event, ["time"], [[time] for time in times]),
            lambda: db.import_data(Event, [{"time": time} for time in times]),
        ]
        for way in ways:
            with db.write():
                way()
            assert [time.hour for time in db.objects(Event).column("time")] == hours
            with db.write():
                db.delete_all()
