"""What rows are printed as: tables for people, JSON and CSV for programs; colours; and output that fails."""
from __future__ import annotations

import json
import os
import pathlib
import pty
import subprocess

import pytest

from test_tool import TOOL, motte

SCHEMA = ("Person { id: int key, name: string, age: int?, seen: timestamp?, friend: link<Person>, tags: list<string>, "
          "rank: decimal?, any: mixed, raw: data?, ok: bool, size: double }")
ROWS = [
    {"id": 1, "name": "Ada", "age": 36, "seen": "2013-01-01T10:00:00.25Z", "friend": 2, "tags": ["a", "b"],
     "rank": "1.50", "any": [1, "x"], "raw": "AQI=", "ok": True, "size": 1.5},
    {"id": 2, "name": "日本 | \u001b[31mred\nline", "age": None, "seen": None, "friend": None, "tags": [],
     "rank": None, "any": None, "raw": None, "ok": False, "size": -2.0},
]


@pytest.fixture
def people(tmp_path: pathlib.Path) -> pathlib.Path:
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    file = tmp_path / "people.motte"
    motte("import", file, "Person", tmp_path / "rows.jsonl", "--schema", SCHEMA)
    return file


def test_boxes_and_markdown_line_up(people: pathlib.Path) -> None:
    # Letters of East Asia take two places, and nothing of a value reaches the terminal as a command to it.
    assert motte("query", people, "Person", "--columns", "id,name,tags", "--format", "box") == (
        "┌────┬──────────────────────┬──────┐\n"
        "│ id │ name                 │ tags │\n"
        "├────┼──────────────────────┼──────┤\n"
        "│  1 │ Ada                  │    2 │\n"
        "│  2 │ 日本 | \ufffd[31mred line │    0 │\n"
        "└────┴──────────────────────┴──────┘\n")
    assert motte("query", people, "Person", "--columns", "id,name", "--format", "markdown") == (
        "|  id | name                  |\n"
        "|----:|-----------------------|\n"
        "|   1 | Ada                   |\n"
        "|   2 | 日本 \\| \ufffd[31mred line |\n")


def test_json_is_an_array_and_jsonl_are_lines(people: pathlib.Path) -> None:
    array = json.loads(motte("query", people, "Person", "--format", "json", "--columns", "id,friend.name,any"))
    assert array == [{"id": 1, "friend.name": ROWS[1]["name"], "any": [1, "x"]},
                     {"id": 2, "friend.name": None, "any": None}]
    lines = motte("query", people, "Person", "--format", "jsonl", "--columns", "id").splitlines()
    assert lines == ['{"id":1}', '{"id":2}']
    assert json.loads(motte("query", people, "Person", "id > 5", "--format", "json")) == []


def test_parquet_is_refused_with_a_way_to_it() -> None:
    for command in [["query", "x.motte", "T"], ["export", "x.motte", "T"]]:
        said = " ".join(motte(*command, "--format", "parquet", expect=2).split())
        assert "Parquet is not written here" in said and "write arrow" in said


def test_formats_that_are_none_are_refused(people: pathlib.Path) -> None:
    assert "there are table, box, markdown, json" in motte("query", people, "Person", "--format", "xml", expect=2)
    assert "watch are table" in motte("watch", people, "Person", "--format", "box", expect=2)


@pytest.mark.parametrize("form", ["table", "box", "json", "jsonl", "csv", "arrow", "arrows"])
def test_a_full_disk_is_a_failure(people: pathlib.Path, form: str) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run([str(TOOL), "query", str(people), "Person", "--format", form], stdout=full,
                              stderr=subprocess.PIPE, text=True, timeout=60)
    assert done.returncode == 1
    assert done.stderr == "motte: cannot write to standard output: No space left on device\n"


def test_nobody_reads_on(tmp_path: pathlib.Path) -> None:
    (tmp_path / "rows.csv").write_text("id\n" + "".join(f"{n}\n" for n in range(50_000)))
    motte("import", tmp_path / "rows.motte", "Row", tmp_path / "rows.csv")
    for form in ["box", "jsonl", "arrows"]:
        command = f"{TOOL} query {tmp_path}/rows.motte Row --limit 0 --format {form} | head -c 100"
        done = subprocess.run(command, shell=True, capture_output=True, timeout=60)
        assert done.returncode == 0 and len(done.stdout) == 100 and done.stderr == b""


def on_a_terminal(arguments: list[str], environment: dict[str, str]) -> bytes:
    """What a command writes to a terminal."""
    parent, child = pty.openpty()
    done = subprocess.run([str(TOOL), *arguments], stdout=child, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE,
                          timeout=60, env={"PATH": os.environ["PATH"], **environment})
    os.close(child)
    assert done.returncode == 0, done.stderr
    written = b""
    try:
        while part := os.read(parent, 1 << 16):
            written += part
    except OSError:
        # How Linux says that the other end is closed.
        pass
    os.close(parent)
    return written


def test_colours_are_for_terminals(people: pathlib.Path) -> None:
    query = ["query", str(people), "Person", "--columns", "id"]
    assert b"\x1b[1m" in on_a_terminal(query, {"TERM": "xterm"})
    assert b"\x1b" not in on_a_terminal(query, {"TERM": "xterm", "NO_COLOR": "1"})
    assert b"\x1b" not in on_a_terminal(query, {"TERM": "dumb"})
    assert "\x1b" not in motte(*query)


def test_groups_in_every_format(people: pathlib.Path, tmp_path: pathlib.Path) -> None:
    query = ["query", people, "Person", "GROUP(ok, friend) COUNT, AVG(age), SUM(size) AS size"]
    assert motte(*query, "--format", "box") == (
        "┌───────┬────────┬───────┬──────────┬──────┐\n"
        "│ ok    │ friend │ COUNT │ AVG(age) │ size │\n"
        "├───────┼────────┼───────┼──────────┼──────┤\n"
        "│ false │        │     1 │          │ -2.0 │\n"
        "│ true  │ 2      │     1 │     36.0 │  1.5 │\n"
        "└───────┴────────┴───────┴──────────┴──────┘\n")
    assert motte(*query, "--format", "csv") == "ok,friend,COUNT,AVG(age),size\nfalse,,1,,-2.0\ntrue,2,1,36.0,1.5\n"
    rows = [{"ok": False, "friend": None, "COUNT": 1, "AVG(age)": None, "size": -2.0},
            {"ok": True, "friend": 2, "COUNT": 1, "AVG(age)": 36.0, "size": 1.5}]
    assert json.loads(motte(*query, "--format", "json")) == rows
    assert [json.loads(line) for line in motte(*query, "--format", "jsonl").splitlines()] == rows
    assert motte(*query, "--count") == "2\n"
    assert motte(*query, "--limit", "1").endswith("... 1 more; --limit 0 prints all\n")
    assert "leave out" in motte(*query, "--columns", "id", expect=1)
    pyarrow = pytest.importorskip("pyarrow")
    with open(tmp_path / "groups.arrow", "wb") as file:
        subprocess.run([TOOL, *map(str, query), "--format", "arrow"], stdout=file, check=True)
    with pyarrow.ipc.open_file(tmp_path / "groups.arrow") as batches:
        assert [row["COUNT"] for row in batches.read_all().to_pylist()] == [1, 1]
