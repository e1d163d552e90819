"""Files larger than the memory that is given for them: every way of going through one stays within it."""
from __future__ import annotations

import pathlib
import random
import subprocess
import sys

import pytest

import motte
from motte import Model, errors, field

BUDGET = 2 << 20
ROWS = 60_000

PROGRAM = """
import gc, pathlib, sys
import motte

def anonymous():
    for line in pathlib.Path("/proc/self/status").read_text().splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) << 10
    raise SystemExit("the system does not say what the process takes")

path, what, memory = sys.argv[1], sys.argv[2], int(sys.argv[3])
db = motte.open(path, memory=memory, query_threads=int(sys.argv[4]))
entry = db.model("Entry")
everything = db.objects(entry)
assert len(everything.where("number == -1")) == 0 or what == "count"
before = anonymous()
if what == "count":
    found = len(everything.where("text CONTAINS 'never there'")) + len(everything.where("number >= 0"))
elif what == "sum":
    found = everything.sum("number")
elif what == "loop":
    found = 0
    for each in everything:
        found += len(each.text) > 0
elif what == "random":
    import random
    numbers, found = random.Random(1), 0
    for _ in range(30_000):
        found += db.get(entry, numbers.randrange(len(everything))).number >= 0
elif what == "sort":
    found = len(everything.sorted("-text").object_keys())
elif what == "order":
    order = everything.sorted("kind", "-other")
    found = order[0].number + 1
elif what == "groups":
    groups = everything.group_by("kind").agg(count=motte.count(), least=motte.min("text"))
    found = sum(row["count"] for row in groups)
elif what == "distinct":
    found = len(everything.distinct("text"))
elif what == "verify":
    found = db.verify().is_sound
elif what == "copy":
    db.copy_to(path + ".copy")
    found = 1
most = anonymous()
print(int(found), most - before)
"""


class Entry(Model):
    number: int = field(primary_key=True)
    text: str
    kind: str
    other: float


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    path = tmp_path_factory.mktemp("memory") / "large.motte"
    letters = random.Random(7)
    with motte.open(path, schema=[Entry]) as db:
        for first in range(0, ROWS, 10_000):
            with db.write():
                db.add_all([Entry(number=number, text=letters.randbytes(300).hex(), kind=str(number % 50),
                                  other=number / 3) for number in range(first, first + 10_000)])
    assert path.stat().st_size > 16 * BUDGET
    return path


@pytest.mark.parametrize("what, expected, threads", [
    ("count", ROWS, 1), ("count", ROWS, 4), ("sum", ROWS * (ROWS - 1) // 2, 4), ("loop", ROWS, 1),
    ("random", 30_000, 1), ("verify", 1, 1), ("copy", 1, 1), ("sort", ROWS, 4), ("order", ROWS - 49, 4),
    ("groups", ROWS, 4), ("distinct", ROWS, 1),
])
def test_a_file_of_many_budgets(path: pathlib.Path, what: str, expected: int, threads: int) -> None:
    def run(memory: int) -> tuple[int, int]:
        done = subprocess.run([sys.executable, "-c", PROGRAM, str(path), what, str(memory), str(threads)],
                              capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        found, grown = done.stdout.split()
        return int(found), int(grown)

    found, grown = run(BUDGET)
    assert found == expected
    # What Python, the keys of a result and buffers take is not pages of the file; a copy is written and read back in
    # pieces of 16 MB.
    assert grown < BUDGET + ((48 if what == "copy" else 20) << 20), f"{what} took {grown >> 20} MB"


def test_a_sort_without_room_for_its_file(path: pathlib.Path, tmp_path: pathlib.Path) -> None:
    program = """
import pathlib, resource, sys
import motte

db = motte.open(sys.argv[1], memory=1 << 20)
entries = db.objects("Entry").sorted("text")
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, resource.RLIM_INFINITY))
try:
    entries[0]
except motte.errors.DiskFullError as error:
    print(error)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
print(len(entries), entries[0].text <= entries[1].text <= entries[-1].text)
"""
    done = subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    message, result = done.stdout.splitlines()
    assert "no room for a temporary file" in message and "TMPDIR" in message
    assert result == f"{ROWS} True"
    # Nor is anything left of it.
    assert [found.name for found in path.parent.iterdir() if "spill" in found.name] == []


def test_what_is_refused(tmp_path: pathlib.Path) -> None:
    with pytest.raises(errors.InvalidArgumentError, match="'memory' is at least 65536"):
        motte.open(tmp_path / "a.motte", schema=[Entry], memory=1000)
    with motte.open(tmp_path / "a.motte", schema=[Entry], memory=65536) as db:
        with db.write():
            db.add(Entry(number=1, text="x" * 100_000, kind="", other=0.5))
        assert len(db.objects(Entry)) == 1
