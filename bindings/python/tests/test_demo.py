"""The demo over its first ten thousand flights, each number against the oracle, which does without Motte.

`make test` does the same with all of them. Skipped where the data is neither there nor can be fetched.
"""
from __future__ import annotations

import json
import pathlib
import subprocess
import sys

import pytest

DEMO = pathlib.Path(__file__).resolve().parents[3] / "examples" / "demo"
FLIGHTS = 10_000


@pytest.fixture(scope="module")
def data() -> str:
    sys.path.insert(0, str(DEMO))
    import nycflights

    try:
        return str(nycflights.fetch())
    except (subprocess.CalledProcessError, OSError) as error:
        pytest.skip(f"the data cannot be fetched: {error}")


def test_every_printed_number_is_right(data: str, tmp_path: pathlib.Path) -> None:
    report = tmp_path / "report.json"
    subprocess.run(
        [sys.executable, str(DEMO / "flights.py"), "--file", str(tmp_path / "flights.motte"),
         "--report", str(report), "--flights", str(FLIGHTS)], check=True, timeout=300)
    import oracle

    printed = json.loads(report.read_text())
    assert printed["flights"] == FLIGHTS
    # Neither the tool nor the C program take part here.
    assert oracle.differences(oracle.Oracle(FLIGHTS).run(), printed["facts"], optional=("C: ", "tool ")) == []


def test_the_oracle_notices_a_wrong_number(data: str) -> None:
    import oracle

    right = {"a": 1, "b": [1.0, "x"], "c": 2}
    assert oracle.differences(right, {"a": 1, "b": [1.0000000001, "x"], "c": 2}) == []
    assert len(oracle.differences(right, {"a": 2, "b": [1.1, "x"], "d": 2})) == 4
