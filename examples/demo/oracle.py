"""The numbers of the demo, computed from the CSV files in plain Python, without Motte.

    python oracle.py [--flights 5000]                   prints the facts as JSON
    python oracle.py --report build/demo/report.json    compares a report of flights.py with them

It shares no code with the importer but the reading of CSV text: what flights.py asks of Motte is done here by loops
over rows.
"""
from __future__ import annotations

import argparse
import json
import math
import sys
from typing import Any, Optional

import nycflights

Row = dict[str, Any]

#: As in live.py.
LATE = 850


def rows(
    archive: Any, name: str, texts: set[str], reals: set[str] = frozenset()  # type: ignore[assignment]
) -> list[Row]:
    """Rows as dictionaries: NA is None, the columns named stay text or become floats, all others are ints."""
    names, lines = nycflights.table(archive, name)
    made = []
    for line in lines:
        row: Row = {}
        for column, text in zip(names, line):
            row[column] = None if text == "NA" and column not in ("name", "dst") else (
                text if column in texts else float(text) if column in reals else int(text))
        made.append(row)
    return made


class Oracle:
    def __init__(self, flights: Optional[int] = None) -> None:
        archive = nycflights.fetch()
        self.airlines = rows(archive, "airlines", {"carrier", "name"})
        self.airports = rows(archive, "airports", {"faa", "name", "dst", "tzone"}, {"lat", "lon"})
        self.planes = rows(archive, "planes", {"tailnum", "type", "manufacturer", "model", "engine"})
        self.weather = rows(
            archive, "weather", {"origin", "time_hour"},
            {"temp", "dewp", "humid", "wind_speed", "wind_gust", "precip", "pressure", "visib"})
        self.flights = rows(archive, "flights", {"carrier", "tailnum", "origin", "dest", "time_hour"})[:flights]
        self.is_whole = flights is None
        self.facts: dict[str, Any] = {}

    def run(self) -> dict[str, Any]:
        self.counts()
        self.filtered()
        self.kennedy()
        self.inverse()
        self.aggregates()
        self.history()
        self.numpy()
        self.c_program()
        self.live()
        return self.facts

    @staticmethod
    def line(row: Row) -> list[Any]:
        return [row["carrier"], row["flight"], f"{row['month']:02}-{row['day']:02}", row["origin"], row["dest"],
                row["dep_delay"]]

    def counts(self) -> None:
        self.airport = {row["faa"]: row for row in self.airports}
        self.plane = {row["tailnum"]: row for row in self.planes}
        self.airline = {row["carrier"]: row for row in self.airlines}
        facts = self.facts
        facts.update(Airline=len(self.airlines), Airport=len(self.airports), Plane=len(self.planes),
                     Weather=len(self.weather), Flight=len(self.flights))
        facts["without destination"] = sum(row["dest"] not in self.airport for row in self.flights)
        facts["without plane"] = sum(row["tailnum"] not in self.plane for row in self.flights)
        facts["without origin"] = sum(row["origin"] not in self.airport for row in self.flights)
        facts["without airline"] = sum(row["carrier"] not in self.airline for row in self.flights)
        facts["in histories"] = len(self.flights) - facts["without plane"]
        facts["tzone unknown"] = sum(row["tzone"] is None for row in self.airports)
        facts["JFK"], facts["JFK altitude"] = self.airport["JFK"]["name"], self.airport["JFK"]["alt"]
        if self.is_whole:
            # What is known of the data from elsewhere.
            assert facts["Flight"] == 336_776 and facts["Plane"] == 3_322 and facts["Weather"] == 26_115
            assert facts["Airport"] == 1_458 and facts["Airline"] == 16
            assert facts["without destination"] == 7_602 and facts["without plane"] == 52_606

    def filtered(self) -> None:
        late = [row for row in self.flights if row["origin"] == "LGA" and 1 <= row["day"] <= 15
                and row["dep_delay"] is not None and row["dep_delay"] >= 60]
        late.sort(key=lambda row: (-row["dep_delay"], row["carrier"].encode()))
        self.facts["longest delays"] = [self.line(row) for row in late[:5]]

    def kennedy(self) -> None:
        self.from_kennedy = [row for row in self.flights
                             if "kennedy" in self.airport[row["origin"]]["name"].lower()
                             and row["dep_delay"] is not None and row["dep_delay"] > 60]
        self.facts["kennedy"] = len(self.from_kennedy)
        self.facts["kennedy first"] = [self.line(row) for row in self.from_kennedy[:3]]
        self.facts["kennedy greatest delays"] = sorted(
            (row["dep_delay"] for row in self.from_kennedy), reverse=True)[:3]

    def inverse(self) -> None:
        by_carrier: dict[str, int] = {}
        by_destination: dict[str, int] = {}
        greatest: dict[str, int] = {}
        for row in self.flights:
            by_carrier[row["carrier"]] = by_carrier.get(row["carrier"], 0) + 1
            by_destination[row["dest"]] = by_destination.get(row["dest"], 0) + 1
            if row["tailnum"] in self.plane and row["dep_delay"] is not None:
                greatest[row["tailnum"]] = max(greatest.get(row["tailnum"], row["dep_delay"]), row["dep_delay"])
        big = [[row["carrier"], row["name"], by_carrier[row["carrier"]]] for row in self.airlines
               if by_carrier.get(row["carrier"], 0) > 10_000]
        self.facts["big airlines"] = sorted(big, key=lambda each: each[1].encode())
        self.facts["busy destinations"] = sorted(
            [[faa, count] for faa, count in by_destination.items() if count > 15_000 and faa in self.airport],
            key=lambda each: each[0].encode())
        self.facts["planes ever late"] = sum(delay > 600 for delay in greatest.values())
        self.facts["planes never"] = sum(greatest.get(row["tailnum"], 0) <= 15 for row in self.planes)

    def aggregates(self) -> None:
        facts = self.facts
        facts["miles"] = sum(row["distance"] for row in self.flights)
        landed = [row["air_time"] for row in self.flights if row["air_time"] is not None]
        facts["minutes"], facts["flights that landed"] = sum(landed), len(landed)
        self.delays = [row["dep_delay"] for row in self.flights if row["dep_delay"] is not None]
        facts["least delay"], facts["greatest delay"] = min(self.delays), max(self.delays)
        facts["average delay"] = sum(self.delays) / len(self.delays)
        newark = [row for row in self.weather if row["origin"] == "EWR"]
        known = [row["temp"] for row in newark if row["temp"] is not None]
        facts["EWR temperature"] = math.fsum(known) / len(known)
        facts["EWR rain"] = math.fsum(row["precip"] for row in newark)
        facts["EWR gust"] = max(row["wind_gust"] for row in newark if row["wind_gust"] is not None)
        table = []
        for carrier in sorted(self.airline, key=str.encode):
            its = [row["arr_delay"] for row in self.flights if row["carrier"] == carrier]
            present = [delay for delay in its if delay is not None]
            if its:
                table.append([carrier, sum(present) / len(present) if present else 0.0, len(its)])
        facts["arrival delay by airline"] = table

    def history(self) -> None:
        flown: dict[str, list[tuple[str, int, int]]] = {}
        for number, row in enumerate(self.flights):
            if row["tailnum"] in self.plane:
                flown.setdefault(row["tailnum"], []).append((row["time_hour"], row["minute"], number))
        # The first of the planes with the most flights, in the order of planes.csv.
        busiest = max(self.planes, key=lambda row: len(flown.get(row["tailnum"], ())))
        its = [self.flights[number] for _, _, number in sorted(flown[busiest["tailnum"]])]
        facts = self.facts
        facts["busiest plane"], facts["its maker"] = busiest["tailnum"], busiest["manufacturer"]
        facts["its model"], facts["its flights"] = busiest["model"], len(its)
        facts["its miles"] = sum(row["distance"] for row in its)
        facts["its first flights"] = [self.line(row) for row in its[:2]]
        facts["its last flight"] = [self.line(its[-1])]
        facts["its last hour"] = its[-1]["time_hour"].replace("Z", "+00:00")

    def numpy(self) -> None:
        facts, known = self.facts, self.delays
        facts["NumPy values"], facts["NumPy masked"] = len(self.flights), len(self.flights) - len(known)
        mean = sum(known) / len(known)
        facts["NumPy mean"] = mean
        facts["NumPy deviation"] = math.sqrt(math.fsum((delay - mean) ** 2 for delay in known) / len(known))
        facts["NumPy on time"] = sum(delay <= 0 for delay in known)
        hours = [0] * 24
        for row in self.flights:
            hours[row["hour"]] += 1
        facts["flights by hour"] = hours

    def c_program(self) -> None:
        later = [row for row in self.from_kennedy if row["dep_delay"] > 300]
        self.facts["tool shows the delays"] = True
        self.facts["C: late from Kennedy"] = len(self.from_kennedy)
        self.facts["C: their miles"] = sum(row["distance"] for row in self.from_kennedy)
        self.facts["C: more than five hours late"] = len(later)
        self.facts["C: their minutes"] = sum(row["dep_delay"] for row in later)

    def live(self) -> None:
        """What live.py does, on the rows: positions are those among the watched rows, in the order of the file."""
        def watched() -> list[int]:
            return [number for number, row in enumerate(table)
                    if row is not None and row["dep_delay"] is not None and row["dep_delay"] > LATE]

        table: list[Optional[Row]] = [dict(row) for row in self.flights]
        before = watched()
        latest = sorted((number for number, row in enumerate(self.flights) if row["dep_delay"] is not None),
                        key=lambda number: -self.flights[number]["dep_delay"])
        gone, later = latest[0], latest[1]
        table[gone] = None
        changed = {later, 0}
        table[later]["dep_delay"] += 1  # type: ignore[index]
        table[0]["dep_delay"] = LATE + 150  # type: ignore[index]
        table.append({"carrier": "B6", "flight": 1, "month": 12, "day": 31, "origin": "JFK", "dest": "SFO",
                      "dep_delay": LATE + 50})
        after = watched()
        facts = self.facts
        facts["watched before"], facts["watched after"] = len(before), len(after)
        facts["live deletions"] = [position for position, number in enumerate(before) if number not in after]
        facts["live insertions"] = [position for position, number in enumerate(after) if number not in before]
        facts["live modifications"] = [position for position, number in enumerate(after)
                                       if number in before and number in changed]
        facts["watched flights"] = [self.line(table[number]) for number in after]  # type: ignore[arg-type]
        facts["live re-runs"] = 0


def same(expected: Any, actual: Any) -> bool:
    """Equal; numbers that were rounded to six places or summed in another order, as closely as that allows."""
    if isinstance(expected, list) and isinstance(actual, list):
        return len(expected) == len(actual) and all(map(same, expected, actual))
    if isinstance(expected, float) or isinstance(actual, float):
        return isinstance(actual, (int, float)) and math.isclose(expected, actual, rel_tol=1e-9, abs_tol=1e-6)
    return type(expected) is type(actual) and bool(expected == actual)


def differences(expected: dict[str, Any], actual: dict[str, Any], optional: tuple[str, ...] = ()) -> list[str]:
    """One line for each fact that differs, is missing, or was printed and is not known here."""
    found = []
    for name in sorted(expected.keys() | actual.keys()):
        if name not in actual:
            if not name.startswith(optional):
                found.append(f"{name}: not printed, should be {expected[name]!r:.200}")
        elif name not in expected:
            found.append(f"{name}: printed, and not recomputed here")
        elif not same(expected[name], actual[name]):
            found.append(f"{name}: printed {actual[name]!r:.300}, should be {expected[name]!r:.300}")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--flights", type=int, help="only so many flights")
    parser.add_argument("--report", help="a report of flights.py to compare")
    options = parser.parse_args()
    if options.report is None:
        print(json.dumps(Oracle(options.flights).run(), indent=1))
        return
    with open(options.report, encoding="utf-8") as file:
        report = json.load(file)
    found = differences(Oracle(report["flights"]).run(), report["facts"])
    for line in found:
        print("wrong:", line)
    print(f"{len(report['facts']) - len(found)} passed, {len(found)} failed: numbers of the demo, recomputed from CSV")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
