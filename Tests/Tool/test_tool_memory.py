"""What goes through a whole file that is many times as large as its budget of memory: what a process has at most beyond
what it has with a small file, which is its own code. Arrays of a million keys or entries would be seen."""
from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import pytest

from running import TOOL, done

ROWS = 1_000_000
BUDGET = 1 << 20
# In a process between, since the most that a process had counts what it was forked from.
LAUNCHER = """
import os, subprocess, sys
done = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL)
_, status, usage = os.wait4(done.pid, 0)
print(status, usage.ru_maxrss)
"""


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[pathlib.Path, pathlib.Path]:
    """With many rows, and with few."""
    folder = tmp_path_factory.mktemp("memory")
    made = []
    for name, count in [("large", ROWS), ("small", 1_000)]:
        source, path = folder / f"{name}.csv", folder / f"{name}.motte"
        source.write_text("id,text\n" + "".join(f"{n},{n * 7919 % ROWS} is a text\n" for n in range(count)))
        done("import", path, "T", source, "--schema", "T { id: int key, text: string, indexed(text) }")
        source.unlink()
        made.append(path)
    assert made[0].stat().st_size > 20 * BUDGET
    return made[0], made[1]


def peak(*command: object) -> int:
    out = subprocess.run([sys.executable, "-S", "-c", LAUNCHER, TOOL, *map(str, command)], capture_output=True,
                         text=True, check=True, timeout=300, env={**os.environ, "MOTTE_MEMORY": str(BUDGET)}).stdout
    status, kilobytes = out.split()
    assert status == "0"
    return int(kilobytes) << 10


def beyond(files: tuple[pathlib.Path, pathlib.Path], *command: object, out: pathlib.Path | None = None) -> float:
    """Megabytes that the large file takes beyond the small one. What the system maps around code that is needed, and
    whether it has large pages, differs by some from run to run; an array would be there each time."""
    large, small = [], []
    for _ in range(3):
        for path, peaks in zip(files, (large, small)):
            if out:
                out.unlink(missing_ok=True)
            peaks.append(peak(*[path if part == "FILE" else part for part in command]))
    return (min(large) - max(small)) / (1 << 20)


def test_verifying(files: tuple[pathlib.Path, pathlib.Path]) -> None:
    # Entries of two indexes of a million were 32 MB, and pages of their blocks.
    assert beyond(files, "verify", "FILE") < 6


def test_exporting(files: tuple[pathlib.Path, pathlib.Path]) -> None:
    # Keys of a million objects are 8 MB.
    for format in "jsonl", "csv":
        assert beyond(files, "export", "FILE", "T", "--format", format) < 4


def test_copying(files: tuple[pathlib.Path, pathlib.Path], tmp_path: pathlib.Path) -> None:
    # Batches of 16 MB were there twice, as entries and as pages.
    out = tmp_path / "copy.motte"
    assert beyond(files, "copy", "FILE", out, out=out) < 9


def test_sorting(files: tuple[pathlib.Path, pathlib.Path]) -> None:
    # What was found and what is sorted were 8 MB each, and what an offset cuts off is neither.
    assert beyond(files, "query", "FILE", "T", f"SORT(text DESC) OFFSET({ROWS - 10})") < 4
