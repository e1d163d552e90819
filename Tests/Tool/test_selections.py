"""What says which objects are changed: a query with a condition, or that all are meant. One that was left empty, or
says only in which order and how many, changes nothing."""
from __future__ import annotations

import pathlib

import pytest

import motte as library
from test_shell import script
from test_tool import motte

NO_CONDITION = ["", " ", "\n\t ", "SORT(id ASC)", "LIMIT(1)", "SORT(id ASC) LIMIT(1)", "DISTINCT(n)", "OFFSET(1)",
                "GROUP(n) COUNT"]
ALL = ["TRUEPREDICATE", "(TRUEPREDICATE)", "truepredicate SORT(id ASC)", "id >= $0 OR TRUEPREDICATE"]


@pytest.fixture
def file(tmp_path: pathlib.Path) -> pathlib.Path:
    made = tmp_path / "some.motte"
    with library.open(made, schema="P { id: int key, n: int }") as db, db.write():
        for number in range(4):
            db.add(db.model("P")(id=number, n=number // 2))
    return made


def ids(file: pathlib.Path) -> list[int]:
    with library.open(file) as db:
        return [each.id for each in db.objects("P")]


@pytest.mark.parametrize("query", NO_CONDITION)
def test_a_query_without_a_condition_changes_nothing(file: pathlib.Path, query: str) -> None:
    before = motte("export", file)
    for arguments in (["delete", file, "P", query], ["update", file, "P", query, "--set", "n=9"],
                      ["delete", file, "P", query, "--dry-run"]):
        said = motte(*arguments, expect=1)
        assert "no condition" in said and "--all" in said and "TRUEPREDICATE LIMIT(10)" in said
    for statement in (f"delete from P where {query}", f"update P set n = 9 where {query};"):
        done = script(file, statement)
        assert done.returncode == 1 and done.stdout == ""
        assert "no condition" in done.stderr and "TRUEPREDICATE" in done.stderr
    assert motte("export", file) == before


def test_what_says_all_is_all(file: pathlib.Path) -> None:
    assert motte("update", file, "P", "--all", "--set", "n=1") == "4 updated\n"
    for query in ALL:
        assert motte("update", file, "P", query, *["0"] * ("$0" in query), "--set", "n=2") == "4 updated\n", query
    assert script(file, "update P set n = 3 where TRUEPREDICATE").stdout == "4 updated\n"
    assert motte("delete", file, "P", "TRUEPREDICATE SORT(id DESC) LIMIT(1)") == "1 deleted\n"
    assert script(file, "delete from P where TRUEPREDICATE SORT(id DESC) LIMIT(1)").stdout == "1 deleted\n"
    assert ids(file) == [0, 1]
    assert motte("delete", file, "P", "--all") == "2 deleted\n"
    for arguments in (["delete", file, "P"], ["delete", file, "P", "id == 1", "--all"]):
        assert "give a query, or --all" in motte(*arguments, expect=2)
