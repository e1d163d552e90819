"""The conformance cases in Python, over ordinary and over tiny row groups; the format is in docs/testing.md.

Cases that this runner cannot do are in conformance-skips.txt.
"""
from __future__ import annotations

import pathlib
from typing import Any, Optional

import pytest

from case_runner import Runner

HERE = pathlib.Path(__file__).resolve().parent
CASES = HERE.parents[2] / "Tests" / "Conformance"


def skipped() -> dict[str, str]:
    lines = (HERE / "conformance-skips.txt").read_text().splitlines()
    return dict(line.split(": ", 1) for line in lines if line and not line.startswith("#"))


def files() -> list[Any]:
    reasons = skipped()
    found = sorted(CASES.rglob("*.steps"))
    return [pytest.param(path, id=path.stem, marks=[pytest.mark.skip(reason=reasons[path.stem])]
                         if path.stem in reasons else []) for path in found]


@pytest.mark.parametrize("rows", [None, 3], ids=["ordinary", "tiny-row-groups"])
@pytest.mark.parametrize("path", files())
def test_case(path: pathlib.Path, rows: Optional[int], tmp_path: pathlib.Path) -> None:
    runner = Runner(tmp_path, rows)
    try:
        runner.run(path.read_text(encoding="utf-8"))
    finally:
        runner.close_all()


def test_there_are_cases() -> None:
    assert len(files()) >= 50
