"""The other process of the live part: one commit that changes what the demo's live collection shows.

    python live.py flights.motte
"""
from __future__ import annotations

import sys

import motte
from models import CLASSES, Airline, Airport, Flight

#: What the demo watches: few flights are this late.
WATCHED = "dep_delay > $0"
LATE = 850


def change(db: motte.Database) -> None:
    """The latest flight goes, the second gets later, the first of the file gets late, and a new one comes."""
    latest = db.objects(Flight).sorted(-Flight.dep_delay).limit(2)
    with db.write():
        first, second = latest[0], latest[1]
        early = db.objects(Flight)[0]
        db.delete(first)
        assert second.dep_delay is not None
        second.dep_delay += 1
        early.dep_delay = LATE + 150
        jfk = db.one(Airport, "JFK")
        db.add(Flight(
            airline=db.one(Airline, "B6"), origin=jfk, destination=db.one(Airport, "SFO"), carrier="B6",
            origin_code="JFK", dest_code="SFO", flight=1, year=2013, month=12, day=31, sched_dep_time=2359,
            dep_delay=LATE + 50, sched_arr_time=300, distance=2586, hour=23, minute=59, time_hour=early.time_hour))


if __name__ == "__main__":
    with motte.open(sys.argv[1], schema=CLASSES, create=False) as opened:
        change(opened)
