"""The flights of New York in 2013: imported, queried, watched.

    python flights.py [--file build/demo/flights.motte] [--tool build/tool/motte] [--c-program build/demo/flights_c]
                      [--report report.json] [--flights 5000]

Every number it prints is also put into the report, by name; oracle.py makes the same report from the CSV files without
Motte. Times and sizes are kept apart, as they differ from run to run.
"""
from __future__ import annotations

import argparse
import json
import pathlib
import re
import subprocess
import sys
import time
from typing import Any, Callable, Optional

import load
import motte
import nycflights
from live import LATE, WATCHED
from models import CLASSES, Airline, Airport, Flight, Plane, Weather

HERE = pathlib.Path(__file__).resolve().parent


class Report:
    """What was printed: facts, which the oracle recomputes, and measurements."""

    def __init__(self) -> None:
        self.facts: dict[str, Any] = {}
        self.measured: dict[str, float] = {}

    def fact(self, name: str, value: Any) -> Any:
        assert name not in self.facts, name
        self.facts[name] = value
        return value

    def timed(self, name: str, run: Callable[[], Any]) -> Any:
        """The best of three runs, in milliseconds. Each makes its query again: results remember what they computed."""
        times = []
        for _ in range(3):
            began = time.perf_counter()
            result = run()
            times.append((time.perf_counter() - began) * 1000)
        self.measured[name] = min(times)
        return result

    def took(self, name: str) -> str:
        return f"{self.measured[name]:.2f} ms"


def title(words: str) -> None:
    print(f"\n{words}\n{'-' * len(words)}")


def line(flight: Flight) -> list[Any]:
    return [flight.carrier, flight.flight, f"{flight.month:02}-{flight.day:02}", flight.origin_code, flight.dest_code,
            flight.dep_delay]


def show(lines: list[list[Any]]) -> None:
    """A table; numbers to the right, with three places if they are not whole."""
    texts = [[f"{value:.3f}" if isinstance(value, float) else str(value) for value in each] for each in lines]
    widths = [max(map(len, column)) for column in zip(*texts)]
    for values, each in zip(lines, texts):
        print("   ", "  ".join(
            text.ljust(width) if isinstance(value, str) else text.rjust(width)
            for value, text, width in zip(values, each, widths)).rstrip())


# ------------------------------------------------------------------------------------------------ the parts


def counts(db: motte.Database, report: Report) -> None:
    title("What is in the file")
    for model in CLASSES:
        print(f"{report.fact(model.__name__, len(db.objects(model))):>9,} {model.__name__}")
    flights = db.objects(Flight)
    for name in ("destination", "plane", "origin", "airline"):
        number = report.fact(f"without {name}", len(flights.where(f"{name} == NULL")))
        print(f"{number:>9,} flights without {name}")
    print(f"{report.fact('in histories', sum(len(plane.history) for plane in db.objects(Plane))):>9,} flights in the "
          "histories of planes")
    print(f"{report.fact('tzone unknown', len(db.objects(Airport).where(Airport.tzone.is_null()))):>9,} "
          "airports without a time zone")
    jfk = db.one(Airport, "JFK")
    print(f"JFK is {report.fact('JFK', jfk.name)}, {report.fact('JFK altitude', jfk.alt)} feet above the sea")


def filtered(db: motte.Database, report: Report) -> None:
    title("Filtered, sorted, limited: the longest delays from LaGuardia in the first half of a month")

    def late() -> motte.Results[Flight]:
        return (db.objects(Flight)
                .where((Flight.origin_code == "LGA") & Flight.day.between(1, 15) & (Flight.dep_delay >= 60))
                .sorted("-dep_delay", "carrier").limit(5))

    lines = report.timed("filter, sort, limit", lambda: [line(flight) for flight in late()])
    show(report.fact("longest delays", lines))
    text = 'origin_code == "LGA" AND day BETWEEN {1, 15} AND dep_delay >= 60 SORT(dep_delay DESC, carrier ASC) LIMIT(5)'
    assert [line(flight) for flight in db.query(Flight, text).run()] == lines
    print(f"the same as text gives the same; {report.took('filter, sort, limit')}")


def linked(db: motte.Database, report: Report) -> None:
    title('Through links: origin.name CONTAINS[c] "kennedy" AND dep_delay > 60')
    text = 'origin.name CONTAINS[c] "kennedy" AND dep_delay > 60'
    query = db.query(Flight, text)
    count = report.fact("kennedy", report.timed("query through links", lambda: db.query(Flight, text).count()))
    print(f"{count:,} flights, {report.took('query through links')}; the first of them")
    show(report.fact("kennedy first", [line(flight) for flight in query.run()[:3]]))
    by_operators = db.objects(Flight).where(
        lambda flight: flight.origin.name.contains("kennedy", ignore_case=True) & (flight.dep_delay > 60))
    assert len(by_operators) == count
    print(f"plan: {query.explain()}")


def inverse(db: motte.Database, report: Report) -> None:
    title("Through inverse links: flights.@count > 10000")
    text = "flights.@count > 10000 SORT(name ASC)"
    query = db.query(Airline, text)
    report.timed("query through inverse links", lambda: db.query(Airline, text).count())
    big = [[airline.carrier, airline.name, len(airline.flights)] for airline in query.run()]
    show(report.fact("big airlines", big))
    print(f"{len(big)} airlines, {report.took('query through inverse links')}")
    busy = db.objects(Airport).where("arrivals.@count > 15000").sorted("faa")
    print("most flown to:", ", ".join(f"{faa} {number:,}" for faa, number in report.fact(
        "busy destinations", [[airport.faa, len(airport.arrivals)] for airport in busy])))
    print(f"{report.fact('planes ever late', len(db.objects(Plane).where('ANY history.dep_delay > 600'))):,} planes "
          "were once more than ten hours late, "
          f"{report.fact('planes never', len(db.objects(Plane).where('NONE history.dep_delay > 15'))):,} never more "
          "than a quarter of an hour")


def aggregates(db: motte.Database, report: Report) -> None:
    title("Sums and averages")
    flights = db.objects(Flight)
    print(f"{report.fact('miles', report.timed('sum of a column', lambda: flights.sum('distance'))):,} miles flown, "
          f"{report.took('sum of a column')}")
    print(f"{report.fact('minutes', flights.sum(Flight.air_time)):,} minutes in the air, on "
          f"{report.fact('flights that landed', flights.count_present('air_time')):,} flights")
    average = report.fact("average delay", round(flights.average("dep_delay"), 6))
    print(f"departure delay: {report.fact('least delay', flights.min('dep_delay'))} to "
          f"{report.fact('greatest delay', flights.max('dep_delay'))} minutes, {average} on average")
    newark = db.objects(Weather).where("airport.faa == 'EWR'")
    print(f"Newark: {report.fact('EWR temperature', round(newark.average('temp'), 6))} °F on average, "
          f"{report.fact('EWR rain', round(newark.sum('precip'), 6))} inches of rain, gusts up to "
          f"{report.fact('EWR gust', round(newark.max('wind_gust'), 6))} mph")
    print("average arrival delay by airline")
    show(report.fact("arrival delay by airline", [
        [airline.carrier, round(airline.flights.average("arr_delay") or 0.0, 6), len(airline.flights)]
        for airline in db.objects(Airline).sorted("carrier") if len(airline.flights)]))


def history(db: motte.Database, report: Report) -> None:
    title("One plane's history, in the order of scheduled departures")
    plane = max(db.objects(Plane), key=lambda plane: len(plane.history))
    print(f"{report.fact('busiest plane', plane.tailnum)}, {report.fact('its maker', plane.manufacturer)} "
          f"{report.fact('its model', plane.model)}: {report.fact('its flights', len(plane.history)):,} flights, "
          f"{report.fact('its miles', db.objects(Flight).where(Flight.plane == plane).sum('distance')):,} miles")
    moments = [flight.time_hour for flight in plane.history]
    assert moments == sorted(moments)
    show(report.fact("its first flights", [line(flight) for flight in plane.history[:2]]))
    show(report.fact("its last flight", [line(plane.history[-1])]))
    print("last departure hour in UTC:", report.fact("its last hour", plane.history[-1].time_hour.isoformat()))


def numpy_column(db: motte.Database, report: Report) -> None:
    title("A column in NumPy")
    try:
        import numpy
    except ImportError:
        print("NumPy is not installed")
        return
    flights = db.objects(Flight)
    delays = report.timed("column into NumPy", lambda: flights.to_numpy("dep_delay"))
    known = delays.compressed()
    print(f"dep_delay: {delays.dtype} x {report.fact('NumPy values', int(delays.size)):,}, of them "
          f"{report.fact('NumPy masked', int(delays.mask.sum())):,} masked; {report.took('column into NumPy')}")
    print(f"mean {report.fact('NumPy mean', round(float(known.mean()), 6))}, standard deviation "
          f"{report.fact('NumPy deviation', round(float(known.std()), 6))}, "
          f"{report.fact('NumPy on time', int((known <= 0).sum())):,} on time")
    hours = numpy.bincount(flights.to_numpy("hour"), minlength=24)
    print("flights by hour:", report.fact("flights by hour", [int(count) for count in hours]))


def from_elsewhere(path: pathlib.Path, report: Report, tool: Optional[str], c_program: Optional[str]) -> None:
    query = 'origin.name CONTAINS[c] "kennedy" AND dep_delay > 60 SORT(dep_delay DESC) LIMIT(3)'
    if tool:
        title("The same file, queried by the motte command")
        print(f"$ motte query {path.name} Flight '{query}'")
        shown = run([tool, "query", str(path), "Flight", query])
        print(shown.rstrip())
        found = re.findall(r"\b1[0-9]{3}\b|\b[2-9][0-9]{2}\b", shown)
        report.fact("tool shows the delays", all(
            str(delay) in found for delay in report.facts["kennedy greatest delays"]))
    if c_program:
        title("The same file, queried by a C program")
        shown = run([c_program, str(path)])
        print(shown.rstrip())
        for name, number in re.findall(r"^(.+): ([-0-9.]+)$", shown, re.M):
            report.fact(f"C: {name}", float(number) if "." in number else int(number))


def run(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    if done.returncode != 0:
        sys.exit(f"{command[0]} failed with {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def live(db: motte.Database, path: pathlib.Path, report: Report) -> None:
    title(f"Live: flights more than {LATE} minutes late, while another process writes")
    late = db.objects(Flight).where(WATCHED, LATE)
    changes = iter(late.changes(timeout=60))
    first = next(changes)
    assert first.is_initial
    print(f"before: {report.fact('watched before', len(late))} flights")
    before = db.counters()
    writer = subprocess.Popen([sys.executable, str(HERE / "live.py"), str(path)])
    began = time.perf_counter()
    change = next(changes)
    report.measured["another process started, wrote and its commit arrived"] = (time.perf_counter() - began) * 1000
    if writer.wait(60) != 0:
        sys.exit("the other process failed")
    after = db.counters()
    print(f"change set: deletions {report.fact('live deletions', change.deletions)}, "
          f"insertions {report.fact('live insertions', change.insertions)}, "
          f"modifications {report.fact('live modifications', change.modifications)}")
    print(f"now: {report.fact('watched after', len(late))} flights")
    show(report.fact("watched flights", [line(flight) for flight in late]))
    print(f"queries run again for it: {report.fact('live re-runs', after['full_reruns'] - before['full_reruns'])}")


# ------------------------------------------------------------------------------------------------ all of it


def main(arguments: Optional[list[str]] = None) -> Report:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--file", type=pathlib.Path, default=nycflights.FOLDER / "flights.motte")
    parser.add_argument("--tool", help="the motte command")
    parser.add_argument("--c-program", help="flights.c, compiled")
    parser.add_argument("--report", type=pathlib.Path, help="where to put the numbers, as JSON")
    parser.add_argument("--flights", type=int, help="only so many flights, for tests")
    options = parser.parse_args(arguments)
    path: pathlib.Path = options.file
    path.parent.mkdir(parents=True, exist_ok=True)

    archive = nycflights.fetch()
    report = Report()
    title(f"Import into {path.name}")
    began = time.perf_counter()
    load.load(path, archive, options.flights)
    report.measured["load seconds"] = time.perf_counter() - began
    report.measured["file bytes"] = path.stat().st_size
    print(f"{report.measured['load seconds']:.1f} s, {report.measured['file bytes'] / 1e6:.1f} MB")

    with motte.open(path, schema=CLASSES, create=False) as db:
        for part in (counts, filtered, linked, inverse, aggregates, history, numpy_column):
            part(db, report)
        kennedy = db.objects(Flight).where("origin.name CONTAINS[c] $0", "kennedy")
        report.fact("kennedy greatest delays", [
            flight.dep_delay for flight in kennedy.where("dep_delay > 60").sorted("-dep_delay")[:3]])
        from_elsewhere(path, report, options.tool, options.c_program)
        live(db, path, report)

    title("Times and sizes")
    print(f"import {report.measured['load seconds']:.1f} s, file {report.measured['file bytes'] / 1e6:.1f} MB")
    for name, milliseconds in report.measured.items():
        if name not in ("load seconds", "file bytes"):
            print(f"{milliseconds:>9.2f} ms  {name}")
    if options.report:
        options.report.write_text(json.dumps(
            {"flights": options.flights, "facts": report.facts, "measured": report.measured}, indent=1))
    return report


if __name__ == "__main__":
    main()
