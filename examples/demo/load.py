"""The CSV files into one .motte file, with links between the rows."""
from __future__ import annotations

import pathlib
import sys
import time
from collections.abc import Callable, Iterator
from datetime import datetime
from itertools import islice
from typing import Any, Optional

import motte
import nycflights
from models import CLASSES, Airline, Airport, Flight, Plane, Weather

#: Flights of one commit.
BATCH = 20_000


class Progress:
    """A bar on a terminal, one line a table elsewhere."""

    def __init__(self, name: str, total: int) -> None:
        self.name, self.total, self.done = name, total, 0
        self.began = time.monotonic()
        self.on_terminal = sys.stderr.isatty()

    def add(self, count: int) -> None:
        self.done += count
        if self.on_terminal:
            filled = 30 * self.done // max(1, self.total)
            print(f"\r{self.name:>9} [{'#' * filled}{'.' * (30 - filled)}] {self.done:>7,} of {self.total:,}", end="",
                  file=sys.stderr, flush=True)

    def finish(self) -> None:
        seconds = time.monotonic() - self.began
        if self.on_terminal:
            print(f"  {seconds:.1f} s", file=sys.stderr)
        else:
            print(f"{self.name:>9} {self.done:>7,} rows  {seconds:.1f} s", file=sys.stderr)


def optional(convert: Callable[[str], Any]) -> Callable[[str], Any]:
    """NA is None. Each text is converted once."""
    known: dict[str, Any] = {"NA": None}

    def converted(text: str) -> Any:
        try:
            return known[text]
        except KeyError:
            value = known[text] = convert(text)
            return value
    return converted


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


integer, real, text_or_none, utc = optional(int), optional(float), optional(str), optional(moment)
text = str

COLUMNS: dict[str, dict[str, Callable[[str], Any]]] = {
    "airlines": {"carrier": text, "name": text},
    "airports": {"faa": text, "name": text, "lat": real, "lon": real, "alt": integer, "tz": integer, "dst": text,
                 "tzone": text_or_none},
    "planes": {"tailnum": text, "year": integer, "type": text, "manufacturer": text, "model": text,
               "engines": integer, "seats": integer, "speed": integer, "engine": text},
    "weather": {"origin": text, "year": integer, "month": integer, "day": integer, "hour": integer, "temp": real,
                "dewp": real, "humid": real, "wind_dir": integer, "wind_speed": real, "wind_gust": real,
                "precip": real, "pressure": real, "visib": real, "time_hour": utc},
    "flights": {"year": integer, "month": integer, "day": integer, "dep_time": integer, "sched_dep_time": integer,
                "dep_delay": integer, "arr_time": integer, "sched_arr_time": integer, "arr_delay": integer,
                "carrier": text, "flight": integer, "tailnum": text_or_none, "origin": text, "dest": text,
                "air_time": integer, "distance": integer, "hour": integer, "minute": integer, "time_hour": utc},
}


class Loader:
    def __init__(self, db: motte.Database, archive: pathlib.Path, flights: Optional[int] = None) -> None:
        self.db, self.archive, self.flights = db, archive, flights

    def run(self) -> None:
        airlines = self._table("airlines", Airline, "carrier")
        airports = self._table("airports", Airport, "faa")
        planes = self._table("planes", Plane, "tailnum")
        self._weather(airports)
        self._flights(airlines, airports, planes)

    def _batches(self, name: str, size: int) -> Iterator[tuple[dict[str, list[Any]], Progress]]:
        """Columns of converted values, `size` rows at a time."""
        columns = COLUMNS[name]
        names, rows = nycflights.table(self.archive, name)
        assert sorted(names) == sorted(columns), f"{name}.csv has the columns {names}"
        limit = self.flights if name == "flights" else None
        rows = islice(rows, limit)
        progress = Progress(name, nycflights.ROWS[name] if limit is None else limit)
        while batch := list(islice(rows, size)):
            yield ({column: list(map(columns[column], texts)) for column, texts in zip(names, zip(*batch))}, progress)
            progress.add(len(batch))
        progress.finish()

    def _table(self, name: str, model: type[motte.Model], code: str) -> dict[str, int]:
        """A table without links; object keys by code."""
        keys: dict[str, int] = {}
        with self.db.write():
            for columns, _ in self._batches(name, BATCH):
                keys.update(zip(columns[code], self.db.insert_columns(model, columns)))
        return keys

    def _weather(self, airports: dict[str, int]) -> None:
        with self.db.write():
            for columns, _ in self._batches("weather", BATCH):
                columns["origin_code"] = columns.pop("origin")
                columns["airport"] = [airports.get(code) for code in columns["origin_code"]]
                self.db.insert_columns(Weather, columns)

    def _flights(self, airlines: dict[str, int], airports: dict[str, int], planes: dict[str, int]) -> None:
        histories: dict[int, list[tuple[datetime, int, int]]] = {}
        for columns, _ in self._batches("flights", BATCH):
            columns["origin_code"], columns["dest_code"] = columns.pop("origin"), columns.pop("dest")
            columns["airline"] = [airlines.get(code) for code in columns["carrier"]]
            columns["origin"] = [airports.get(code) for code in columns["origin_code"]]
            columns["destination"] = [airports.get(code) for code in columns["dest_code"]]
            columns["plane"] = [planes.get(code) for code in columns["tailnum"]]
            with self.db.write():
                keys = self.db.insert_columns(Flight, columns)
            for plane, hour, minute, key in zip(columns["plane"], columns["time_hour"], columns["minute"], keys):
                if plane is not None:
                    histories.setdefault(plane, []).append((hour, minute, key))
        self._histories(histories)

    def _histories(self, histories: dict[int, list[tuple[datetime, int, int]]]) -> None:
        progress = Progress("histories", len(histories))
        with self.db.write():
            for plane, flights in histories.items():
                flights.sort()
                history: motte.List[Any] = self.db.at(Plane, plane).history  # type: ignore[assignment]
                history.extend_keys(key for _, _, key in flights)
                progress.add(1)
        progress.finish()


def load(path: pathlib.Path, archive: pathlib.Path, flights: Optional[int] = None) -> None:
    """A new file with all tables; `flights` says how many of them, for tests."""
    for name in (path, path.with_name(path.name + "-shared")):
        name.unlink(missing_ok=True)
    with motte.open(path, schema=CLASSES) as db:
        Loader(db, archive, flights).run()
