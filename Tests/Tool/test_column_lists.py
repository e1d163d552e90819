"""Columns that --columns and select name: with commas between them, and in backquotes where a name has one itself."""
from __future__ import annotations

import csv
import io
import json
import pathlib

import pytest

from test_shell import script
from test_tool import motte

SCHEMA = ("P { id: int key, `Last, First`: string?, Last: string?, First: string?, ` First`: string?, `a\\`b`: int?, "
          "boss: link<P> }")


@pytest.fixture
def file(tmp_path: pathlib.Path) -> pathlib.Path:
    rows = [{"id": 1, "Last, First": "both", "Last": "L", "First": "F", " First": "spaced", "a`b": 5, "boss": 2},
            {"id": 2, "Last, First": "other", "Last": "M", "First": "G", " First": "more", "a`b": 6, "boss": None}]
    (tmp_path / "rows.json").write_text(json.dumps(rows))
    made = tmp_path / "names.motte"
    motte("import", made, "P", tmp_path / "rows.json", "--schema", SCHEMA)
    return made


@pytest.mark.parametrize("columns, cells", [
    ("Last, First", {"Last": "L", "First": "F"}), (" Last ,First ", {"Last": "L", "First": "F"}),
    ("`Last, First`", {"Last, First": "both"}), ("id, `Last, First` ,Last", {"id": "1", "Last, First": "both",
                                                                              "Last": "L"}),
    ("boss.`Last, First`,boss.First", {"boss.Last, First": "other", "boss.First": "G"}),
    ("`boss`.`First`", {"boss.First": "G"}), ("` First`", {" First": "spaced"}), ("First,", {"First": "F"}),
    ("First,.", None), ("a`b", {"a`b": "5"}), ("`a\\`b`,`\\u0069d`", {"a`b": "5", "id": "1"}),
])
def test_columns_are_the_ones_that_are_named(
    file: pathlib.Path, tmp_path: pathlib.Path, columns: str, cells: dict[str, str] | None
) -> None:
    query = ["query", file, "P", "id == 1", "--columns", columns, "--format", "csv"]
    export = ["export", file, "P", "--where", "id == 1", "--columns", columns, "--format", "csv"]
    select = [file, "-c", f".mode csv\nselect {columns} from P where id == 1"]
    # In a statement a backquote begins a name wherever it stands.
    for arguments in (query, export) if columns.startswith("a`") else (query, export, select):
        if cells is None:
            assert "has no property ''" in motte(*arguments, expect=1)
        else:
            assert list(csv.DictReader(io.StringIO(motte(*arguments)))) == [cells], arguments
    if cells is not None:
        found = json.loads(motte(*export[:-1], "json"))
        assert list(found[0]) == list(cells)
        arrow = pytest.importorskip("pyarrow.ipc")
        motte(*export[:-1], "arrow", "--output", tmp_path / "columns.arrow")
        assert arrow.open_file(tmp_path / "columns.arrow").schema.names == list(cells)


@pytest.mark.parametrize("columns, said", [
    ("", "names none"), (",", "names none"), (" , ", "names none"), ("`Last, First` x", "a comma or a dot"),
    ("`Last", "does not end"), ("`a\\q`", "unknown escape"),
])
def test_what_names_no_columns_is_refused(file: pathlib.Path, columns: str, said: str) -> None:
    assert said in motte("query", file, "P", "--columns", columns, expect=2)
    assert said in motte("export", file, "P", "--format", "csv", "--columns", columns, expect=2)
    if columns.strip():
        done = script(file, f"select {columns} from P")
        assert done.returncode == 1 and done.stdout == ""


def test_totals_of_names_that_need_quotes(file: pathlib.Path) -> None:
    assert script(file, "select sum(`a\\`b`) from P; select max( id ) from P").stdout.split() == ["11", "2"]
    for text in "max(id, First)", "max(count(id))", "max()", "max(id":
        assert script(file, f"select {text} from P").returncode == 1, text
