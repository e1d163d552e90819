"""Texts of statements and scripts as they are written: lines that end as on other systems, marks that combine with a
quote before them, and literals, which mean in a statement what they mean in a query."""
from __future__ import annotations

import json
import pathlib

import pytest

import motte as library
from test_shell import script
from test_tool import motte

ACCENT = "\u0301"


@pytest.fixture
def file(tmp_path: pathlib.Path) -> pathlib.Path:
    made = tmp_path / "texts.motte"
    with library.open(made, schema="P { id: int key, s: string? }") as db, db.write():
        db.add(db.model("P")(id=1, s="a"))
        db.add(db.model("P")(id=2, s="b"))
    return made


def rows(file: pathlib.Path) -> list[dict[str, object]]:
    found: list[dict[str, object]] = json.loads(motte("query", file, "P", "--format", "json"))
    return found


# ---------------------------------------------------------------------------------------------------- ends of lines

SCRIPT = """-- nightly
.mode jsonl
begin;
update P set s = "new"
  where id == 1;
# the other one
delete from P where id == 2;
commit;
select s from P;
"""


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("way", ["input", "command", "read"])
def test_a_script_does_the_same_whatever_ends_its_lines(
    file: pathlib.Path, tmp_path: pathlib.Path, end: str, way: str
) -> None:
    text = SCRIPT.replace("\n", end)
    if way == "input":
        said = script(file, text).stdout
    elif way == "command":
        said = motte(file, f"--command={text}")
    else:
        (tmp_path / "script.txt").write_bytes(text.encode())
        said = motte(file, "--command", f".read {tmp_path}/script.txt")
    assert said == '1 updated\n1 deleted\n{"s":"new"}\n'
    assert rows(file) == [{"id": 1, "s": "new"}]


def test_a_mistake_in_lines_of_other_systems_is_one(file: pathlib.Path, tmp_path: pathlib.Path) -> None:
    (tmp_path / "script.txt").write_bytes(b'.limit 0\r\nupdate P set s = "x" where id == 1;\r\nPP;\r\nP\r\n')
    for said in (motte(file, "-c", f".read {tmp_path}/script.txt", expect=1),
                 motte(file, "-c", (tmp_path / "script.txt").read_bytes().decode(), expect=1)):
        assert "'PP' is no class" in said
    assert [row["s"] for row in rows(file)] == ["x", "b"]


def test_mistakes_of_json_say_their_line_whatever_ends_it(file: pathlib.Path) -> None:
    for end in "\n", "\r\n":
        assert "line 2: " in motte("insert", file, "P", f'{{"id": 3}}{end}{{"id": "x"}}', expect=1)
        assert "line 1: " in motte("insert", file, "P", f'{{"id": "x"}}{end}{{"id": 3}}', expect=1)
    assert len(rows(file)) == 2


# ---------------------------------------------------------------------------------------------------- combining marks


def test_a_mark_behind_a_quote_is_of_the_text(file: pathlib.Path) -> None:
    for quote in "\"'":
        done = script(file, f"update P set s = {quote}{ACCENT}x, y{quote} where id == 1;"
                            f"delete from P where s == {quote}{ACCENT}no{quote};"
                            f"count P s == {quote}{ACCENT}x, y{quote}")
        assert (done.returncode, done.stdout) == (0, "1 updated\n0 deleted\n1\n"), done.stderr
    assert [row["s"] for row in rows(file)] == [f"{ACCENT}x, y", "b"]
    motte(file, "-c", f".insert P id=3 's={ACCENT}x y'\n.insert P id=4 s='{ACCENT}z z'")
    assert [row["s"] for row in rows(file)][2:] == [f"{ACCENT}x y", f"{ACCENT}z z"]
    # Also where it stands behind a blank, which is none of it.
    assert script(file, f"update P set s = {ACCENT}x {ACCENT} where id == 1").returncode == 0
    assert rows(file)[0]["s"] == f"{ACCENT}x {ACCENT}"
    # And one that joins what is behind it.
    assert script(file, "update P set s = '\u0600' where id == 1").returncode == 0
    assert motte("query", file, "P", "id == 1", "--columns", "s") == "s\n\u0600\n"


def test_names_in_backquotes_are_no_words(tmp_path: pathlib.Path) -> None:
    file = tmp_path / "words.motte"
    with library.open(file, schema="select { `set`: int, `where`: int, `a``b`: int }"
                      .replace("``", "\\`")) as db, db.write():
        db.add(db.model("select")(set=1, where=2))
    done = script(file, "`select`; update `select` set `set` = 5, `a\\`b` = 6 where `where` == 2; select sum(`a\\`b`) "
                        "from `select`; delete from `select` where `set` == 5")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[2:] == ["1 updated", "6", "1 deleted"]


# ---------------------------------------------------------------------------------------------------- literals

LITERALS = {
    r'"x\ry\u0041z"': "x\ryAz", r"'\b\f\0'": "\b\f\0", r'"\u{1F600}\ud83d\ude00"': "\U0001f600\U0001f600",
    r'"a\\b\"c\'d\/"': "a\\b\"c'd/", r"'tab\tline\n'": "tab\tline\n", '""': "", "'null'": "null",
}


@pytest.mark.parametrize("literal", LITERALS)
def test_a_literal_means_in_a_statement_what_it_means_in_a_query(file: pathlib.Path, literal: str) -> None:
    done = script(file, f"update P set s = {literal} where id == 1;\ncount P s == {literal}")
    assert (done.returncode, done.stdout) == (0, "1 updated\n1\n"), done.stderr
    assert rows(file)[0]["s"] == LITERALS[literal]


@pytest.mark.parametrize("literal, said", [
    (r'"a\qb"', "unknown escape"), (r'"\ud800"', "no character"), (r'"\u12"', "no character"),
    ('"open', "does not end"), ('"a" b', "neither a comma nor where"), ("'it''s'", "neither a comma nor where"),
])
def test_a_literal_that_is_none_changes_nothing(file: pathlib.Path, literal: str, said: str) -> None:
    done = script(file, f"update P set s = {literal} where id == 1")
    assert done.returncode == 1 and said in done.stderr
    assert rows(file)[0]["s"] == "a"
