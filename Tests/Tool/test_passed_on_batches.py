"""A leader that applies batches of a third file: whoever goes on in its place applies the next one, and none twice."""
from __future__ import annotations

import pathlib
import random

import pytest
from running import done, run

import motte

SCHEMA = "Reading { n: int, name: string, next: link<Reading>, others: list<Reading> }"


def content(path: pathlib.Path) -> dict[int, tuple[str, int | None, list[int]]]:
    with motte.open(path) as db:
        readings = list(db.objects("Reading"))
        found = {each.n: (each.name, each.next and each.next.n, [other.n for other in each.others])
                 for each in readings}
        assert len(found) == len(readings)
        return found


def write(path: pathlib.Path, chance: random.Random, numbers: list[int]) -> None:
    with motte.open(path, schema=SCHEMA) as db:
        reading = db.model("Reading")
        with db.write():
            for _ in range(chance.randrange(1, 6)):
                found = list(db.objects(reading))
                if not found or chance.random() < 0.3:
                    numbers[0] += 1
                    db.add(reading(n=numbers[0], name="new"))
                    continue
                one, two = chance.choice(found), chance.choice(found)
                what = chance.random()
                if what < 0.1:
                    db.delete(one)
                elif what < 0.5:
                    one.others.insert(chance.randrange(len(one.others) + 1), two)
                elif what < 0.7 and one.others:
                    del one.others[chance.randrange(len(one.others))]
                else:
                    one.next, one.name = two, f"name {chance.randrange(100)}"


def pass_on(source: pathlib.Path, target: pathlib.Path) -> None:
    batch = target.with_suffix(".batch")
    done("changes", source, "--for", target, "--output", batch)
    done("apply", target, batch)
    assert "has its changes" in (again := run("apply", target, batch)).stdout + again.stderr
    batch.unlink()


@pytest.mark.parametrize("seed", range(3))
def test_copies_go_on_where_their_leader_was(tmp_path: pathlib.Path, seed: int) -> None:
    chance, numbers = random.Random(seed), [0]
    source, leader, log = tmp_path / "source.motte", tmp_path / "leader.motte", tmp_path / "log"
    follower, restored = tmp_path / "follower.motte", tmp_path / "restored.motte"
    for path in (source, leader):
        with motte.open(path, schema=SCHEMA) as db:
            db.keep_changes(db.version)
    for _ in range(4):
        write(source, chance, numbers)
        pass_on(source, leader)
        done("ship", leader, "--to", log, "--name", "leader", "--once")
        if chance.random() < 0.7:
            done("follow", follower, "--from", log, "--once")
    done("follow", follower, "--from", log, "--once")
    done("restore", restored, "--from", log)
    done("follow", follower, "--stop")
    for _ in range(3):
        for path in (leader, follower, restored):
            assert content(path) == content(source)
        write(source, chance, numbers)
        for path in (leader, follower, restored):
            pass_on(source, path)
    for path in (leader, follower, restored):
        assert content(path) == content(source)
        done("verify", path)


def delete_and_undo(path: pathlib.Path, chance: random.Random) -> None:
    """The object that comes again has another key, and is the same to whoever names it."""
    with motte.open(path, schema=SCHEMA) as db:
        found = list(db.objects("Reading"))
        if not found:
            return
        with db.freeze() as before:
            with db.write():
                db.delete(chance.choice(found))
            db.apply(db.changes_since(before).inverse())


@pytest.mark.parametrize("kind", ["compacted", "fed"])
def test_differences_are_known_in_copies(tmp_path: pathlib.Path, kind: str) -> None:
    """A follower that was stopped, and a restored file, have a difference that its leader had, and undo it: also one
    that is not of the leader's own number."""
    source, leader, log = tmp_path / "source.motte", tmp_path / "leader.motte", tmp_path / "log"
    edited = tmp_path / "edited.motte"
    first = source if kind == "fed" else leader
    with motte.open(first, schema=SCHEMA) as db:
        db.keep_changes(db.version)
        with db.write():
            db.add(db.model("Reading")(n=1, name="base"))
    if kind == "fed":
        with motte.open(leader, schema=SCHEMA) as db:
            db.keep_changes(db.version)
        pass_on(source, leader)
    with motte.open(first) as db:
        db.copy_to(edited)
    with motte.open(edited, schema=SCHEMA) as db, motte.open(first) as before:
        with db.write():
            db.add(db.model("Reading")(n=2, name="made"))
        difference = before.changes_to(db)
    if kind == "compacted":
        done("compact", leader)
    done("ship", leader, "--to", log, "--name", "leader", "--once")
    with motte.open(leader) as db:
        db.apply(difference)
    done("ship", leader, "--to", log, "--name", "leader", "--once")
    follower, restored = tmp_path / "follower.motte", tmp_path / "restored.motte"
    done("follow", follower, "--from", log, "--once")
    done("restore", restored, "--from", log)
    done("follow", follower, "--stop")
    for path in (leader, follower, restored):
        with motte.open(path) as db:
            with pytest.raises(motte.Error):
                db.apply(difference)
            assert set(content(path)) == {1, 2}
            assert db.apply(difference.inverse())
            assert set(content(path)) == {1}
            assert db.apply(difference) and db.verify().is_sound


@pytest.mark.parametrize("seed", range(4))
def test_what_came_again_is_known_in_copies(tmp_path: pathlib.Path, seed: int) -> None:
    """Copies of every kind begin after undos, and the file itself is made anew."""
    chance, numbers = random.Random(seed), [0]
    source, leader, log = tmp_path / "source.motte", tmp_path / "leader.motte", tmp_path / "log"
    for path in (source, leader):
        with motte.open(path, schema=SCHEMA) as db:
            db.keep_changes(db.version)
    for _ in range(3):
        write(source, chance, numbers)
        pass_on(source, leader)
        delete_and_undo(leader, chance)
    done("ship", leader, "--to", log, "--name", "leader", "--once")
    follower, restored, copy = (tmp_path / f"{name}.motte" for name in ("follower", "restored", "copy"))
    done("follow", follower, "--from", log, "--once")
    delete_and_undo(leader, chance)
    done("ship", leader, "--to", log, "--name", "leader", "--once")
    done("follow", follower, "--from", log, "--once")
    done("restore", restored, "--from", log)
    done("follow", follower, "--stop")
    with motte.open(leader) as db:
        db.copy_to(copy)
    done("compact", leader)
    files = (leader, follower, restored, copy)
    for _ in range(4):
        for path in files:
            assert content(path) == content(source), path
            if chance.random() < 0.5:
                delete_and_undo(path, chance)
            if chance.random() < 0.3:
                done("compact", path)
        write(source, chance, numbers)
        for path in files:
            pass_on(source, path)
    for path in files:
        assert content(path) == content(source), path
        done("verify", path)
