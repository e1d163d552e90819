"""Durations in arithmetic: what a timedelta counts, beside points in time, durations and times of day."""
from __future__ import annotations

import operator
import random
from collections.abc import Iterator
from datetime import date, datetime, time, timedelta, timezone
from typing import Any, Optional

import pytest

import motte
from motte import errors

START = datetime(2020, 1, 1, tzinfo=timezone.utc)
SECOND, HOUR, DAY = timedelta(seconds=1), timedelta(hours=1), timedelta(days=1)


class Job(motte.Model):
    id: int = motte.field(primary_key=True)
    begun: datetime
    ended: datetime
    due: date
    at: time
    took: timedelta
    planned: timedelta
    count: int


@pytest.fixture
def db() -> Iterator[motte.Database]:
    rng = random.Random(5)
    with motte.open(in_memory="durations", schema=[Job]) as db:
        with db.write():
            for number in range(300):
                begun = START + rng.randrange(2 * 86400) * SECOND
                db.add(Job(id=number, begun=begun, ended=begun + rng.randrange(2 * 86400) * SECOND,
                           due=(START + rng.randrange(4) * DAY).date(), at=time(rng.randrange(24)),
                           took=rng.randrange(2 * 86400) * SECOND, planned=rng.randrange(2 * 86400) * SECOND,
                           count=rng.randrange(5)))
        yield db


def midnight(day: date) -> datetime:
    return datetime.combine(day, time(), timezone.utc)


def since_midnight(at: time) -> timedelta:
    return timedelta(hours=at.hour)


COMPARED: list[tuple[Any, Any]] = [
    (lambda j: j.took - j.planned, lambda j: j.took - j.planned),
    (lambda j: j.took + 5 * SECOND, lambda j: j.took + 5 * SECOND),
    (lambda j: DAY - j.took, lambda j: DAY - j.took),
    (lambda j: j.took * 2, lambda j: j.took * 2),
    (lambda j: j.count * SECOND, lambda j: j.count * SECOND),
    (lambda j: j.took + j.planned * j.count, lambda j: j.took + j.planned * j.count),
    (lambda j: j.ended - j.begun, lambda j: j.ended - j.begun),
    (lambda j: j.ended - (j.begun + j.planned), lambda j: j.ended - (j.begun + j.planned)),
    (lambda j: j.ended - j.begun - j.took, lambda j: j.ended - j.begun - j.took),
    (lambda j: j.ended - START, lambda j: j.ended - START),
    (lambda j: j.due - j.begun, lambda j: midnight(j.due) - j.begun),
    (lambda j: j.at + j.took, lambda j: since_midnight(j.at) + j.took),
    (lambda j: j.begun + j.took, lambda j: j.begun + j.took),
    (lambda j: j.begun + j.took - DAY, lambda j: j.begun + j.took - DAY),
    (lambda j: j.took + j.begun, lambda j: j.took + j.begun),
    (lambda j: j.due + DAY, lambda j: midnight(j.due) + DAY),
    (lambda j: j.took / SECOND, lambda j: j.took // SECOND),
]
OTHERS: dict[type[Any], list[tuple[Any, Any]]] = {
    timedelta: [(lambda j: DAY, lambda j: DAY), (lambda j: j.took, lambda j: j.took),
                (lambda j: j.ended - j.begun, lambda j: j.ended - j.begun),
                (lambda j: j.planned + j.took, lambda j: j.planned + j.took)],
    datetime: [(lambda j: START + DAY, lambda j: START + DAY), (lambda j: j.ended, lambda j: j.ended),
               (lambda j: j.ended - j.planned, lambda j: j.ended - j.planned)],
    int: [(lambda j: 5000, lambda j: 5000), (lambda j: j.count * 20000, lambda j: j.count * 20000)],
}


@pytest.mark.parametrize("number", range(len(COMPARED)))
def test_predicates_answer_as_python_does(db: motte.Database, number: int) -> None:
    queried, computed = COMPARED[number]
    jobs = list(db.objects(Job))
    for other, value in OTHERS[type(computed(jobs[0]))]:
        for compare in (operator.lt, operator.le, operator.eq, operator.gt):
            predicate = compare(queried(Job), other(Job))
            expected = [job.id for job in jobs if compare(computed(job), value(job))]
            assert [job.id for job in db.objects(Job).where(predicate)] == expected, predicate


def test_several_values_take_the_unit_of_the_other_side(db: motte.Database) -> None:
    jobs = list(db.objects(Job))
    some = [job.took - job.planned for job in jobs[:5]]
    found = db.objects(Job).where((Job.took - Job.planned).in_(some))
    assert [job.id for job in found] == [job.id for job in jobs if job.took - job.planned in some]
    found = db.objects(Job).where((Job.ended - Job.begun).between(DAY / 2, DAY))
    assert [job.id for job in found] == [job.id for job in jobs if DAY / 2 <= job.ended - job.begun <= DAY]


TEXTS: list[tuple[str, Any]] = [
    ("took > $0", lambda j: j.took > DAY),
    ("took IN {$0, 0} OR planned > $0", lambda j: j.took == DAY or j.planned > DAY),
    ("took - planned > $0", lambda j: j.took - j.planned > DAY),
    ("count == -1 || ended - begun > $0", lambda j: j.ended - j.begun > DAY),
    ("`ended` - $0 > begun && count IN {1, -2}", lambda j: j.ended - DAY > j.begun and j.count == 1),
    ("begun > now() - $0", lambda j: False),
    ("begun < now() - $0", lambda j: True),
]


@pytest.mark.parametrize("text, matches", TEXTS)
def test_query_text(db: motte.Database, text: str, matches: Any) -> None:
    expected = [job.id for job in db.objects(Job) if matches(job)]
    assert [job.id for job in db.objects(Job).where(text, DAY)] == expected
    named = db.objects(Job).where(text.replace("$0", "$day"), day=DAY)
    assert [job.id for job in named] == expected
    prepared = db.query(Job, text, 1000 * DAY)
    assert [job.id for job in prepared.bind(DAY).run()] == expected


@pytest.mark.parametrize("left, difference", [
    ("ended - begun", lambda j: j.ended - j.begun), ("took", lambda j: j.took), ("took * 2", lambda j: j.took * 2),
    ("took - planned", lambda j: j.took - j.planned)])
def test_every_spelling_of_arguments(db: motte.Database, left: str, difference: Any) -> None:
    low, high = HOUR, 30 * HOUR
    jobs = db.objects(Job)
    between = [job.id for job in jobs if low <= difference(job) <= high]
    assert 0 < len(between) < 300
    for text in ("{0} BETWEEN $0 AND $1", "{0} BETWEEN {{$0, $1}}", "{0} BETWEEN %@ AND %@", "{0} BETWEEN {{%@, %@}}",
                 "$0 <= {0} AND {0} <= $1", "NOT ({0} < %@ OR {0} > %@)", "{0} >= %@ && {0} <= %@",
                 "NOT {0} BETWEEN $1 AND $0 AND {0} BETWEEN $0 AND $1"):
        text = text.format(left)
        assert [job.id for job in jobs.where(text, low, high)] == between, text
        assert [job.id for job in db.query(Job, text, high, low).bind(low, high).run()] == between, text
    assert [job.id for job in jobs.where(f"{left} BETWEEN $low AND $high", low=low, high=high)] == between
    assert [job.id for job in jobs.where(f"{left} BETWEEN $0", (low, high))] == between
    some = sorted({difference(job) for job in jobs[:5]})
    for text in (f"{left} IN $0", f"{left} IN %@"):
        assert [job.id for job in jobs.where(text, some)] == [job.id for job in jobs if difference(job) in some]
    groups = jobs.group_by("id").agg(least=motte.min("begun"), last=motte.max("ended"), took=motte.max("took"),
                                     planned=motte.min("planned"))
    condition = left.replace("ended", "last").replace("begun", "least")
    assert [group.id for group in groups.having(f"{condition} BETWEEN $0 AND $1", low, high)] == between


def test_a_number_of_elements_is_no_length_of_time(db: motte.Database) -> None:
    for text in ("took > 0 LIMIT($0)", "GROUP(id) MAX(took) AS took LIMIT($0)"):
        with pytest.raises(errors.WrongTypeError, match="give a number"):
            db.objects(Job).query(text, DAY)


class Rule(motte.Model):
    limit: datetime
    group: timedelta


class Case(motte.Model):
    id: int = motte.field(primary_key=True)
    begun: datetime
    rule: Optional[Rule]
    rules: list[Rule] = motte.field(default_factory=list)


def test_properties_that_are_called_as_clauses_are() -> None:
    with motte.open(in_memory="clauses", schema=[Case, Rule]) as db:
        with db.write():
            for number in range(10):
                rule = Rule(limit=START + number * HOUR, group=number * HOUR)
                db.add(Case(id=number, begun=START, rule=rule, rules=[rule]))
        for text in ("rule.limit - begun > $0", "rule.`limit` - begun > %@", "begun + $0 < rule.limit",
                     "rule.group > $0", "rule.group * 1 > $0", "ANY rules.group > $0",
                     "SUBQUERY(rules, $limit, $limit.group > $0).@count > 0",
                     "SUBQUERY(rules, $r, $r.limit - $r.limit + $r.group * 1 > $0).@count > 0",
                     "SUBQUERY(rules, $r, $r.limit + $0 < $r.limit).@count == 0 AND rule.group > $0"):
            if text.startswith(("SUBQUERY(rules, $r, $r.limit -", "SUBQUERY(rules, $r, $r.limit +")):
                with pytest.raises(errors.WrongTypeError):
                    db.objects(Case).where(text, 5 * HOUR)
                continue
            assert [case.id for case in db.objects(Case).where(text, 5 * HOUR)] == [6, 7, 8, 9], text


def test_a_place_counts_the_same_everywhere(db: motte.Database) -> None:
    with pytest.raises(errors.WrongTypeError, match=r"\$0 is a length of time beside arithmetic"):
        db.objects(Job).where("took > $0 AND ended - begun > $0", DAY)
    found = db.objects(Job).where("took > $0 AND ended - begun > $1", DAY, DAY)
    assert [job.id for job in found] == [
        job.id for job in db.objects(Job) if job.took > DAY and job.ended - job.begun > DAY]


@pytest.mark.parametrize("text", ["took - count > $0", "ended - begun > took - $0", "took + count - $0 > planned"])
def test_what_could_count_both_is_refused(db: motte.Database, text: str) -> None:
    with pytest.raises(errors.WrongTypeError, match="give a number"):
        db.objects(Job).where(text, DAY)
    assert db.objects(Job).where(text, 1).count() >= 0


def test_groups(db: motte.Database) -> None:
    groups = db.objects(Job).group_by("count").agg(most=motte.max("took"))
    expected = {job.count for job in db.objects(Job) if job.took > 1.9 * DAY}
    assert {group["count"] for group in groups.having("most > $0", 1.9 * DAY)} == expected
    with pytest.raises(errors.WrongTypeError, match="beside arithmetic"):
        groups.having("most - count > $0", DAY)


def test_times_of_day_are_lengths_beside_points_in_time(db: motte.Database) -> None:
    jobs = list(db.objects(Job))
    two = time(2)
    for found, matches in [
            (db.objects(Job).where(Job.begun + two > Job.ended), lambda j: j.begun + 2 * HOUR > j.ended),
            (db.objects(Job).where(Job.ended - Job.begun > two), lambda j: j.ended - j.begun > 2 * HOUR),
            (db.objects(Job).where("ended - begun > $0", two), lambda j: j.ended - j.begun > 2 * HOUR),
            (db.objects(Job).where("begun + $0 > ended", two), lambda j: j.begun + 2 * HOUR > j.ended),
            (db.objects(Job).where(Job.at - two > time(12)), lambda j: j.at.hour - 2 > 12),
            (db.objects(Job).where("at > $0", two), lambda j: j.at > two),
            (db.objects(Job).where(Job.at > two), lambda j: j.at > two)]:
        assert [job.id for job in found] == [job.id for job in jobs if matches(job)]
    with pytest.raises(errors.WrongTypeError, match="time zone"):
        db.objects(Job).where(Job.begun + time(2, tzinfo=timezone.utc) > Job.ended)
