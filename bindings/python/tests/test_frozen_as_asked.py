"""Frozen groups and sections are those that were asked for: with the arguments, the time and the keys of then."""
from __future__ import annotations

import threading
import time
from datetime import datetime, timezone
from typing import Any

import pytest

import motte
from motte import errors


class Mark(motte.Model):
    number: int = motte.field(primary_key=True)
    made: datetime
    text: str = ""


@pytest.fixture
def db() -> Any:
    with motte.open(in_memory="as asked", schema=[Mark]) as opened:
        with opened.write():
            for number in range(5):
                opened.add(Mark(number=number, made=datetime.now(timezone.utc), text="ab"[number % 2]))
        yield opened


def test_lists_that_the_program_changes_later(db: motte.Database) -> None:
    marks, wanted, named, data = db.objects(Mark), [1, 2], [1, 2, 3], {1, 2}
    text = marks.query("number IN $0 GROUP() COUNT", wanted)
    by_name = marks.query("number IN $some GROUP() COUNT", some=named)
    having = marks.group_by("number").count().having("number IN $0", wanted)
    of_set = marks.group_by("number").count().having("number IN $0", data)
    frozen = having.freeze()
    for each in (wanted, named, data):
        each.clear()
    assert text.freeze()[0][0] == text[0][0] == 2 and by_name.freeze()[0][0] == 3
    for groups in (having, frozen, having.freeze(), having.limit(9), having.sorted("-number"), frozen.limit(9),
                   having.sorted("number").limit(9).freeze(), of_set.freeze(), of_set.limit(9)):
        assert sorted(groups.column("number")) == [1, 2]


def test_now_is_when_it_was_asked(db: motte.Database) -> None:
    marks = db.objects(Mark)
    with db.write():
        for mark in marks:
            mark.made = datetime.now(timezone.utc)
    text = marks.query("made > now() - 1s GROUP() COUNT")
    latest = marks.group_by("number").agg(made=motte.max("made"))
    having = latest.having("made > NOW ( ) - 1s")
    assert len(having) == text[0][0] == 5
    time.sleep(1.2)
    assert text[0][0] == text.freeze()[0][0] == 5
    for groups in (having, having.freeze(), having.limit(9), having.sorted("-made"), having.freeze().limit(9)):
        assert len(groups) == 5
    assert len(latest.having("made > now() - 1s")) == 0


def test_now_in_texts_and_names_is_none(db: motte.Database) -> None:
    groups = db.objects(Mark).group_by("text").agg(**{"now() it is": motte.count()})
    assert groups.having("`now() it is` > 2 AND text != 'now()' AND text != \"now()\"").column("text") == ["a"]
    latest = db.objects(Mark).group_by("text").agg(made=motte.max("made"))
    with pytest.raises(errors.QueryArgumentError, match=r"now\(\) AND text != \$1"):
        latest.having("text == $0 AND made < now() AND text != $1", "a").limit(1)


def test_keys_are_those_that_a_function_gave(db: motte.Database) -> None:
    marks, by = db.objects(Mark), {"divisor": 2}
    sections = marks.sectioned(lambda mark: mark.number % by["divisor"])
    assert sections.keys == [0, 1]
    snapshot = db.freeze()
    frozen, of_frozen = sections.freeze(), snapshot.objects(Mark).sectioned(
        lambda mark: mark.number % by["divisor"]).freeze()
    by["divisor"] = 5
    snapshot.close()
    assert of_frozen.keys == [0, 1] and of_frozen[0][0].number == 0
    assert frozen.keys == frozen.freeze().keys == [0, 1] and [mark.number for mark in frozen[1]] == [1, 3]
    assert frozen[1].freeze()[0].number == 1 and frozen.find(1) is not None and frozen.place(3) == (1, 1)
    with db.write():
        db.delete(marks[0])
    thawed = frozen.thaw()
    assert thawed is not None and thawed.keys == [1, 2, 3, 4]


def test_sections_by_a_function_freeze_within_a_write(db: motte.Database) -> None:
    marks = db.objects(Mark)
    sections = marks.sectioned(lambda mark: mark.number % 2)
    odd = sections[1]
    with db.write():
        db.delete(marks[0])
        marks[0].text = "c"
        assert sections.keys == [1, 0] and [mark.number for mark in odd] == [1, 3]
        frozen, alone = sections.freeze(), odd.freeze()
        assert frozen.keys == [0, 1]
        assert [[mark.number for mark in section] for section in frozen] == [[0, 2, 4], [1, 3]]
        assert [mark.number for mark in alone] == [1, 3] and alone[0].text == "b"


def test_a_key_function_of_something_frozen_runs_on_several_threads() -> None:
    class Name(motte.Model):
        text: str

    with motte.open(in_memory="keys on threads", schema=[Name]) as db:
        with db.write():
            db.add_all([Name(text=f"{number // 100:03} is a longer text") for number in range(3_000)])
        with db.freeze() as frozen:
            for _ in range(8):
                sections = frozen.objects(Name).sectioned(lambda name: name.text)
                counts: list[object] = []

                def look(sections: Any = sections, counts: list[object] = counts) -> None:
                    try:
                        counts.append(len(sections))
                    except errors.Error as error:
                        counts.append(error)
                threads = [threading.Thread(target=look) for _ in range(3)]
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()
                assert counts == [30] * 3
                assert list(sections.keys) == [f"{number:03} is a longer text" for number in range(30)]
