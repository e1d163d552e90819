"""`motte changes` and `motte apply`: a copy that follows another file."""
from __future__ import annotations

import pathlib
import subprocess

import motte

TOOL = pathlib.Path(__file__).parents[2] / "build" / "tool" / "motte"


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([TOOL, *map(str, arguments)], capture_output=True, text=True, timeout=120)


def test_a_copy_follows(tmp_path: pathlib.Path) -> None:
    leader, copy = tmp_path / "leader.motte", tmp_path / "copy.motte"
    with motte.open(leader, schema="Person { id: int key, name: string }") as db:
        person = db.model("Person")
        with db.write():
            db.add(person(id=1, name="Ada"))
        kept = run("changes", leader, "--keep")
        assert kept.returncode == 0 and "keeping all changes after version" in kept.stdout
        first = run("changes", leader, "--output", tmp_path / "first")
        assert first.returncode == 0 and first.stdout.startswith("everything up to version")
        applied = run("apply", copy, tmp_path / "first")
        assert applied.returncode == 0 and applied.stdout.startswith("applied everything"), applied.stderr
        db.refresh()
        with db.write():
            db.add(person(id=2, name="Bo"))
        assert run("changes", leader, "--for", copy, "--output", tmp_path / "second").returncode == 0
        both = run("apply", copy, tmp_path / "first", tmp_path / "second")
        assert both.returncode == 0, both.stderr
        assert "passed over" in both.stdout and "applied changes after version" in both.stdout
    with motte.open(copy) as found:
        assert [each.name for each in found.objects("Person").sorted("id")] == ["Ada", "Bo"]


def test_what_is_refused_says_so(tmp_path: pathlib.Path) -> None:
    leader = tmp_path / "leader.motte"
    with motte.open(leader, schema="Person { id: int key }") as db, db.write():
        db.add(db.model("Person")(id=1))
    assert run("changes", leader).returncode == 2
    assert run("changes", leader, "--keep", "--no-keep").returncode == 2
    assert run("changes", leader, "--no-keep").returncode == 0
    none = run("changes", leader, "--since", "99", "--output", tmp_path / "batch")
    assert none.returncode == 1 and "no version 99" in none.stderr
    assert not (tmp_path / "batch").exists()
    (tmp_path / "text").write_text("no batch")
    wrong = run("apply", tmp_path / "copy.motte", tmp_path / "text")
    assert wrong.returncode == 1 and "MOTTECHG" in wrong.stderr
    assert not (tmp_path / "copy.motte").exists()
