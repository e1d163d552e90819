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


def test_changes_are_taken_back(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "people.motte"
    with motte.open(path, schema="Person { id: int key, name: string }") as db:
        person = db.model("Person")
        db.keep_changes(db.version)
        for number, name in enumerate(("Ada", "Bo", "Cy")):
            before = db.freeze()
            with db.write():
                db.add(person(id=number, name=name))
            (tmp_path / f"{number}").write_bytes(bytes(db.changes_since(before)))
        (tmp_path / "plain").write_bytes(bytes(db.changes_since(db.version - 1)))
    back = run("apply", path, tmp_path / "1", tmp_path / "2", "--inverse")
    assert back.returncode == 0 and back.stdout.count("took back changes after version") == 2, back.stderr
    with motte.open(path) as db:
        assert [each.name for each in db.objects("Person")] == ["Ada"]
    plain = run("apply", path, tmp_path / "plain", "--inverse")
    assert plain.returncode == 1 and "no inverse" in plain.stderr
    missing = run("apply", tmp_path / "none.motte", tmp_path / "1", "--inverse")
    assert missing.returncode == 1 and not (tmp_path / "none.motte").exists()


def test_a_difference_is_a_patch(tmp_path: pathlib.Path) -> None:
    first, second, patch = tmp_path / "first.motte", tmp_path / "second.motte", tmp_path / "patch.batch"
    with motte.open(first, schema="Person { id: int key, name: string } Note { text: string }") as db:
        person, note = db.model("Person"), db.model("Note")
        with db.write():
            db.add_all([person(id=1, name="Ada"), person(id=2, name="Bo"), note(text="one")])
        db.copy_to(second)
    with motte.open(second) as db, db.write():
        db.one("Person", 1).name = "Eve"
        db.delete(db.one("Person", 2))
        db.add(db.model("Note")(text="two"))
    made = run("diff", first, second, "--output", patch)
    assert made.returncode == 1 and made.stdout.startswith("a difference of two files"), made.stderr
    applied = run("apply", first, patch)
    assert applied.returncode == 0 and applied.stdout.startswith("applied a difference"), applied.stderr
    assert run("diff", first, second).returncode == 0
    again = run("apply", first, patch)
    assert again.returncode == 1 and "no longer fits" in again.stderr
    assert run("apply", first, patch, "--inverse").returncode == 0
    with motte.open(first) as db:
        assert [each.name for each in db.objects("Person").sorted("id")] == ["Ada", "Bo"]
        assert [each.text for each in db.objects("Note")] == ["one"]
    same = run("diff", first, first, "--output", tmp_path / "none")
    assert same.returncode == 0 and "no difference" in same.stdout
    assert run("diff", first, second, "Person", "--output", patch).returncode == 2
    with motte.open(tmp_path / "other.motte", schema="Person { id: int key }"):
        pass
    refused = run("diff", first, tmp_path / "other.motte", "--output", tmp_path / "never")
    assert refused.returncode == 2 and "missing in the second" in refused.stderr
    assert not (tmp_path / "never").exists()
