"""Shows what the sensors of sensor.c write, as it comes, and warns when one is too warm.

    python monitor.py sensors.motte --limit 14.5 --seconds 5

Any number of sensors and monitors use the file at once, each a process. The monitor only reads: it never holds up a
sensor, and a sensor that dies leaves the file as its last commit made it.
"""
from __future__ import annotations

import argparse
import pathlib
import time

import motte


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=pathlib.Path)
    parser.add_argument("--limit", type=float, default=14.5, help="degrees from which a reading is worth a warning")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="end after so long without a warning")
    arguments = parser.parse_args()
    waited = time.monotonic()
    while not motte.exists(arguments.file):
        if time.monotonic() - waited > arguments.seconds:
            raise SystemExit(f"no sensor has made {arguments.file}")
        time.sleep(0.05)
    with motte.open(arguments.file, read_only=True) as db:
        readings = db.objects("Reading")
        warm = readings.where("celsius > $0", arguments.limit)
        warnings = 0
        for changes in warm.changes(timeout=arguments.seconds):
            for position in range(len(warm)) if changes.is_initial else changes.insertions:
                reading = warm[position]
                warnings += 1
                print(f"{reading.time:%H:%M:%S} {reading.sensor}: {reading.celsius:.1f} degrees", flush=True)
        for sensor in sorted(set(readings.column("sensor"))):
            own = readings.where("sensor == $0", sensor)
            print(f"{sensor}: {len(own)} readings, {own.average('celsius'):.1f} degrees on average")
        print(f"{len(readings)} readings, {warnings} warnings")


if __name__ == "__main__":
    main()
