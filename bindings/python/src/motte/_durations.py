"""What a duration counts beside a property, in predicates and in query text.

The file has durations and times of day as whole microseconds, while the query language counts the differences of points
in time in seconds. So whatever is compared with, added to or taken from something has a unit, and a timedelta or a time
of day takes that of its partner."""
from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, datetime, time, timedelta
from typing import Any, Optional

from . import errors

#: A point in time; a number of seconds; one of microseconds; a value of Python, which is any of both; None: no length.
Unit = Optional[str]
POINT, SECONDS, MICROSECONDS, DURATION = "point", "seconds", "microseconds", "duration"

_MICROSECOND = timedelta(microseconds=1)


def is_length(value: Any) -> bool:
    return isinstance(value, (timedelta, time))


def unit_of_value(value: Any) -> Unit:
    if is_length(value):
        return DURATION
    # A datetime is one, too.
    return POINT if isinstance(value, date) else None


def unit_of_result(left: Unit, sign: str, right: Unit) -> Unit:
    """Of arithmetic."""
    lengths = [unit for unit in (left, right) if unit not in (None, POINT)]
    if sign in "+-":
        if POINT in (left, right):
            return SECONDS if sign == "-" and left == right else POINT
        return common_unit(left, right) if lengths else None
    if sign == "/" and right not in (None, POINT):
        # How often one goes into the other.
        return None
    if len(lengths) != 1:
        return None
    return SECONDS if lengths[0] == DURATION else lengths[0]


def common_unit(left: Unit, right: Unit) -> Unit:
    """What two sides count that are compared, added or divided: seconds, unless both can count microseconds."""
    units = {left, right}
    if MICROSECONDS in units and not units & {SECONDS, POINT}:
        return MICROSECONDS
    return SECONDS if units & {SECONDS, POINT, DURATION} else None


def counted(value: Any, unit: Unit) -> Any:
    """A timedelta or a time of day as a number; other values as they are."""
    if isinstance(value, time) and value.tzinfo is None:
        value = datetime.combine(date.min, value) - datetime.min
    if not isinstance(value, timedelta):
        return value
    return value // _MICROSECOND if unit == MICROSECONDS else value.total_seconds()


# ------------------------------------------------------------------------------------------------ query text

_QUOTED = re.compile(r"'(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\"", re.DOTALL)
_CONDITION = re.compile(
    r"(?<!`)\b(?:AND|OR|HAVING|GROUP|SORT|DISTINCT|LIMIT|OFFSET)\b(?!`)|&&|\|\|", re.IGNORECASE)
_ARITHMETIC = re.compile(r"[\w`)$\]}]\s*[-+*/]")
_NAME = r"(?:`(?:\\.|[^`\\])*`|@?[^\W\d]\w*)"
#: No variable, no function.
PATH = rf"(?<![\w.$`]){_NAME}(?:\.{_NAME})*(?!\w)(?!\s*\()"
_PATH = re.compile(PATH)


def argument_unit(text: str, place: object, model: Optional[Any]) -> Unit:
    """What a timedelta or a time of day for $place counts in query text. A model is asked for `_path_unit(names)`."""
    from ._querytext import names_of

    units: set[Unit] = set()
    for condition in conditions_with(text, place):
        if not has_arithmetic(condition):
            units.add(MICROSECONDS)
            continue
        found = {None if model is None else model._path_unit(tuple(names_of(path))) for path in paths_in(condition)}
        if re.search(r"\bnow\s*\(", condition, re.IGNORECASE):
            found.add(POINT)
        units.add(found.pop() if len(found) == 1 else None)
    if units <= {MICROSECONDS}:
        return MICROSECONDS
    if units == {POINT}:
        return SECONDS
    raise errors.WrongTypeError(
        f"${place} is a length of time beside arithmetic that counts seconds, microseconds or neither; give a number: "
        "value.total_seconds() where points in time are added or subtracted, value // timedelta(microseconds=1) beside "
        "durations")


def conditions_with(text: str, place: object) -> Iterator[str]:
    """The conditions of a query that $place stands in, their texts blanked."""
    argument = re.compile(rf"\${re.escape(str(place))}\b")
    blanked = _QUOTED.sub(lambda quoted: "'" * len(quoted.group()), text)
    return (condition for condition in _CONDITION.split(blanked) if argument.search(condition))


def has_arithmetic(condition: str) -> bool:
    return _ARITHMETIC.search(condition) is not None


def paths_in(condition: str) -> list[str]:
    from ._querytext import KEYWORDS

    return [path for path in _PATH.findall(condition) if path.lower() not in KEYWORDS]
